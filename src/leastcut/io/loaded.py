"""What a reader is asked for, and what it hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["points", "graph", "image"]
"""What a file holds: a row of numbers per sample, edges between nodes, or a picture."""


@dataclass(frozen=True)
class Wanted:
    """How a file is to be read, where that is not left to the reader.

    Attributes
    ----------
    kind : {"points", "graph"} or None
        What to take it for; None is what files of its format usually hold.
    label_column : str or None
        The column of known classes, by name or by number from 1 (from -1 at the end); in files of
        named arrays the array of them.
    name_column : str or None
        The column of the names of rows, likewise.
    without : tuple of str
        Columns to leave out, likewise.
    header : bool or None
        Whether the first line of a table names its columns; None is to see for oneself.
    directed : bool
        Whether an edge of a list is one direction only, as who asks to symmetrise means it.
    array : str or None
        The array to read, in files of several named arrays.
    """

    kind: str | None = None
    label_column: str | None = None
    name_column: str | None = None
    without: tuple[str, ...] = ()
    header: bool | None = None
    directed: bool = False
    array: str | None = None

    @property
    def names_columns(self) -> bool:
        """Whether some column is asked for."""
        return bool(self.label_column or self.name_column or self.without)


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a file holds.

    Attributes
    ----------
    kind : {"points", "graph", "image"}
    data : ndarray or csr_array
        Points, one per row; affinities of shape (n, n), not checked any further; or a picture of
        shape (height, width) or (height, width, 3).
    source : str
        The name of the file.
    names : sequence or None
        The name of every row or node, where the file has them or counts otherwise than from 0.
    classes : ndarray of shape (n,) or None
        The known class of every row.
    columns : tuple of str or None
        The names of the columns of points.
    notes : tuple of str
        What was decided in reading it that a user may want otherwise, a line each.
    """

    kind: Kind
    data: Any
    source: str
    names: Sequence[Any] | None = None
    classes: np.ndarray | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """How many points, nodes or pixels there are."""
        shape = self.data.shape
        return int(shape[0] * shape[1]) if self.kind == "image" else int(shape[0])
