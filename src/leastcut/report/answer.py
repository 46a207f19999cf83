"""What a report is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import leastcut


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer, with all that is worth telling about it.

    Attributes
    ----------
    title : str
        What was clustered, such as the name of a file.
    graph : graph
        The graph that was cut.
    cut : {"normalized", "ratio"} or array-like of shape (n,)
        How nodes are weighed.
    found : Partition
        What was found.
    points : ndarray of shape (n, n_features) or None
        The samples, where the graph was made of some.
    names : sequence of str or None
        What nodes are called, in their order; None means by their numbers.
    path : CutPath or None
        The evidence for the number of clusters.
    comparison : Comparison or None
        Other methods on the same graph.
    seconds : dict
        What took how long, by step.
    command : str
        What gives the same answer again.
    notes : list of str
        What else is to be known: warnings, what was left out.
    picture : ndarray of shape (height, width, 3 or 4) or None
        The coloured segments, where an image was cut: bytes, or numbers from 0 to 1.
    seed : int or None
        The seed of all that was drawn at random, where it is known.
    """

    title: str
    graph: Any
    cut: Any
    found: leastcut.Partition
    points: np.ndarray | None = None
    names: Sequence[str] | None = None
    path: leastcut.CutPath | None = None
    comparison: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    command: str = ""
    notes: list[str] = field(default_factory=list)
    picture: np.ndarray | None = None
    seed: int | None = None
