"""What a reader is asked for, what it returns, and matrices as points or as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.io.rows import is_integer
from leastcut.io.source import Source
from leastcut.sparse_check import check_sparse

# What a file holds: a row of numbers per sample, edges between nodes, or a picture.
Kind = Literal["points", "graph", "image"]

LISTED = 20  # columns that an error lists


@dataclass(frozen=True)
class Wanted:
    """How a file is to be read, where that is not left to the reader.

    Columns are given by name or by number, from 1 or from the end by -1.
    """

    kind: str | None = None  # points or graph
    label_column: str | None = None  # known classes; of named arrays, the name of one
    name_column: str | None = None
    without: tuple[str, ...] = ()
    header: bool | None = None
    directed: bool = False  # an edge of a list is one direction only
    array: str | None = None  # of several named arrays

    @property
    def names_columns(self) -> bool:
        """Whether some column is asked for."""
        return bool(self.label_column or self.name_column or self.without)


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a file holds: points, a graph or a picture.

    ``data`` are points, one per row; affinities of shape (n, n), not checked any further; or a
    picture of shape (height, width) or (height, width, 3). ``names`` are those of rows or nodes,
    None where they count from 0. A note is a decision that a user may want otherwise.
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


class Roles(NamedTuple):
    """Indices of columns by what they are for; those that are in none are left out."""

    label: int | None
    name: int | None
    features: list[int]

    @classmethod
    def of(cls, columns: tuple[str, ...], wanted: Wanted, source: str) -> Roles:
        """Return what columns are wanted for; raise if one is not there."""
        label, name = (
            None if column is None else column_index(column, columns, source)
            for column in (wanted.label_column, wanted.name_column)
        )
        dropped = {column_index(column, columns, source) for column in wanted.without}
        left = [i for i in range(len(columns)) if i not in {label, name, *dropped}]
        if not left:
            raise ValueError(f"{source} has no columns of numbers left to cluster by.")
        return cls(label, name, left)


def column_index(name: str, columns: tuple[str, ...], source: str) -> int:
    """Return the index of a column by its name, or its number from 1, or from the end by -1."""
    if name in columns:
        return columns.index(name)
    lowered = [column.lower() for column in columns]
    if lowered.count(name.lower()) == 1:
        return lowered.index(name.lower())
    if is_integer(name) and 1 <= abs(int(name)) <= len(columns):
        return int(name) - 1 if int(name) > 0 else len(columns) + int(name)
    listed = ", ".join(map(repr, columns[:LISTED])) + (", ..." if len(columns) > LISTED else "")
    raise ValueError(
        f"{source} has no column {name!r}; it has {listed}. Columns may also be named by number, "
        "from 1, or from the end by -1."
    )


def graph_of_matrix(points: Loaded) -> Loaded:
    """Return a square matrix that was read as points as the affinities of a graph."""
    n, width = points.data.shape
    if n != width:
        raise ValueError(
            f"{points.source} holds a table of {n} rows and {width} columns, which is no graph: "
            "affinities are a square matrix, and a list of edges has two nodes and a weight in "
            "every line. Leave --as graph out to read it as points."
        )
    names = points.names
    # a header names the nodes, unless rows have names
    if isinstance(names, range) and points.columns not in (None, _numbered(n)):
        names = points.columns
    return replace(points, kind="graph", names=names, columns=None)


def loaded_matrix(
    source: Source, matrix: Any, wanted: Wanted, usual: str, first: int | None = None
) -> Loaded:
    """Return a matrix as points or as a graph: what is wanted, or else what is ``usual``.

    ``first`` is the number of the first row, where that is not 0.
    """
    if sp.issparse(matrix):
        check_sparse(source.name, matrix)
    else:
        matrix = np.asarray(matrix)
        if matrix.ndim == 1:
            matrix = matrix[:, None]
    is_real = matrix.dtype.kind in "biuf"
    if not is_real or matrix.ndim != 2 or 0 in matrix.shape:
        what = f"an array of shape {matrix.shape}" if is_real else f"entries of type {matrix.dtype}"
        what = "complex numbers" if matrix.dtype.kind == "c" else what
        raise ValueError(
            f"{source.name} holds {what}; it must hold a matrix of real numbers, a row per point "
            "or the affinities between nodes."
        )
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
    if matrix.dtype.kind != "f" or matrix.dtype.itemsize not in (4, 8):
        matrix = matrix.astype(np.float64)
    bad = ~np.isfinite(matrix.data if sp.issparse(matrix) else matrix)
    if bad.any():
        places = np.nonzero(bad) if bad.ndim == 2 else (matrix.tocoo().row, matrix.tocoo().col)
        rows, columns = places if bad.ndim == 2 else (place[bad] for place in places)
        raise ValueError(
            f"{source.name} holds {rows.size} entries that are NaN or infinite; the first is "
            f"in row {rows[0] + 1}, column {columns[0] + 1}. Fill them in, or drop their rows."
        )
    names = None if first is None else range(first, first + matrix.shape[0])
    loaded = Loaded("points", matrix, source.name, names)
    if (wanted.kind or usual) != "graph":
        return _without_columns(loaded, wanted) if wanted.names_columns else loaded
    if wanted.names_columns:
        raise ValueError(
            f"{source.name} is read as a graph, which has no columns to name; --as points reads "
            "its rows as points."
        )
    return graph_of_matrix(loaded)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, n + 1))


def _without_columns(points: Loaded, wanted: Wanted) -> Loaded:
    """Return points less the columns of classes and names, which are known by number."""
    roles = Roles.of(_numbered(points.data.shape[1]), wanted, points.source)

    def values(index: int | None) -> np.ndarray | None:
        if index is None:
            return None
        column = points.data[:, [index]]
        dense = np.asarray(column.toarray() if sp.issparse(column) else column).reshape(-1)
        return dense.astype(np.int64) if (dense == np.round(dense)).all() else dense

    names = values(roles.name)
    return replace(
        points,
        data=points.data[:, roles.features],
        classes=values(roles.label),
        names=points.names if names is None else names.tolist(),
    )
