"""Every picture by name, and which of them a path, clusters, or an estimator can be drawn as."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leastcut.plot.closing_bound import closing_in
from leastcut.plot.cluster_sizes import sizes
from leastcut.plot.cut_by_number import cut_values
from leastcut.plot.embedded_nodes import embedding
from leastcut.plot.evidence_by_number import evidence
from leastcut.plot.graph_drawing import graph
from leastcut.plot.method_comparison import comparison
from leastcut.plot.ordered_affinities import affinity
from leastcut.validation import check_choice


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes
    ----------
    draw : callable
        Draws it, and returns the axes.
    shows : {"path", "clusters", "comparison", "proof"}
        What it is drawn from.
    """

    draw: Callable[..., Any]
    shows: str


PICTURES: dict[str, Picture] = {
    "evidence": Picture(evidence, "path"),
    "cut_values": Picture(cut_values, "path"),
    "embedding": Picture(embedding, "clusters"),
    "affinity": Picture(affinity, "clusters"),
    "sizes": Picture(sizes, "clusters"),
    "graph": Picture(graph, "clusters"),
    "comparison": Picture(comparison, "comparison"),
    "closing_in": Picture(closing_in, "proof"),
}
"""The pictures. A further one is a further line here, and a method can draw it at once."""


def draw(kind: str, shows: tuple[str, ...], found: Any, **options: Any) -> Any:
    """Draw the picture of a name, one of those that are drawn from what ``shows`` says."""
    known = {name: picture for name, picture in PICTURES.items() if picture.shows in shows}
    return known[check_choice("kind", kind, known)].draw(found, **options)
