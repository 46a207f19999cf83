"""Options and results of readers, and matrices read as points or as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.formatting import counted
from leastcut.io.rows import is_integer
from leastcut.io.source import Source
from leastcut.sparse_check import check_sparse

Kind = Literal["points", "graph", "image"]  # the content of a file

LISTED = 20  # columns that an error lists


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file. Columns are names or numbers, from 1 or from the end by -1."""

    kind: str | None = None  # points or graph
    label_column: str | None = None  # known classes; the name of an array in .npz and .mat files
    name_column: str | None = None
    drop: tuple[str, ...] = ()
    header: bool | None = None
    directed: bool = False  # whether edges of a list are directed
    array: str | None = None  # the name of one of several arrays

    @property
    def selects_columns(self) -> bool:
        """Whether any column is selected."""
        return bool(self.label_column or self.name_column or self.drop)


@dataclass(frozen=True, eq=False)
class Loaded:
    """The content of a file: points, a graph or an image.

    ``data`` holds points, one per row; affinities of shape (n, n), which are not checked; or an
    image of shape (height, width) or (height, width, 3). ``names`` are the names of rows or nodes,
    or None if they are numbered from 0. ``notes`` report automatic decisions to the user.
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
        """Number of points, nodes or pixels."""
        shape = self.data.shape
        return int(shape[0] * shape[1]) if self.kind == "image" else int(shape[0])


class Roles(NamedTuple):
    """Indices of the columns for classes, row names and features."""

    label: int | None
    name: int | None
    features: list[int]

    @classmethod
    def of(cls, columns: tuple[str, ...], options: ReadOptions, source: str) -> Roles:
        """Return the roles of columns; raise if a selected column does not exist."""
        label, name = (
            None if column is None else column_index(column, columns, source)
            for column in (options.label_column, options.name_column)
        )
        dropped = {column_index(column, columns, source) for column in options.drop}
        left = [i for i in range(len(columns)) if i not in {label, name, *dropped}]
        if not left:
            raise ValueError(f"{source} has no feature columns left; drop fewer columns.")
        return cls(label, name, left)


def column_index(name: str, columns: tuple[str, ...], source: str) -> int:
    """Return the index of a column with a name or number (from 1, or from the end by -1)."""
    if name in columns:
        return columns.index(name)
    lower_case = [column.lower() for column in columns]
    if lower_case.count(name.lower()) == 1:
        return lower_case.index(name.lower())
    if is_integer(name) and 1 <= abs(int(name)) <= len(columns):
        return int(name) - 1 if int(name) > 0 else len(columns) + int(name)
    listed = ", ".join(map(repr, columns[:LISTED])) + (", ..." if len(columns) > LISTED else "")
    raise ValueError(
        f"{source} has no column {name!r}; it has {listed}. Columns can also be selected by "
        "number, from 1, or from the end by -1."
    )


def graph_of_matrix(points: Loaded) -> Loaded:
    """Convert a square matrix that was read as points to the affinities of a graph."""
    n, width = points.data.shape
    if n != width:
        raise ValueError(
            f"{points.source} has {n} rows and {width} columns and cannot be read as a graph: "
            "expected a square affinity matrix, or an edge list with lines u v weight. Remove --as "
            "graph to read it as points."
        )
    names = points.names
    # a header has the names of the nodes, unless there is a column of row names
    if isinstance(names, range) and points.columns not in (None, _numbered(n)):
        names = points.columns
    return replace(points, kind="graph", names=names, columns=None)


def loaded_matrix(
    source: Source, matrix: Any, options: ReadOptions, default: str, first: int | None = None
) -> Loaded:
    """Return a matrix as points or as a graph, by ``options.kind`` or else by ``default``.

    ``first`` is the number of the first row, by default 0.
    """
    if sp.issparse(matrix):
        check_sparse(source.name, matrix)
    else:
        matrix = np.asarray(matrix)
        if matrix.ndim == 1:
            matrix = matrix[:, None]
    is_real = matrix.dtype.kind in "biuf"
    if not is_real or matrix.ndim != 2 or 0 in matrix.shape:
        content = f"an array of shape {matrix.shape}"
        if not is_real:
            content = f"entries of type {matrix.dtype}"
        content = "complex numbers" if matrix.dtype.kind == "c" else content
        raise ValueError(
            f"{source.name} contains {content}; expected a matrix of real numbers, with one row "
            "per point or with the affinities between nodes."
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
            f"{source.name} has {counted(rows.size, 'NaN or infinite value')} (first: row "
            f"{rows[0] + 1}, column {columns[0] + 1}). Impute them, or drop their rows."
        )
    names = None if first is None else range(first, first + matrix.shape[0])
    loaded = Loaded("points", matrix, source.name, names)
    if (options.kind or default) != "graph":
        return _without_columns(loaded, options) if options.selects_columns else loaded
    if options.selects_columns:
        raise ValueError(
            f"{source.name} is read as a graph, whose columns cannot be selected; --as points "
            "reads its rows as points."
        )
    return graph_of_matrix(loaded)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, n + 1))


def _without_columns(points: Loaded, options: ReadOptions) -> Loaded:
    """Split the columns of classes and names off the points; columns have numbers as names."""
    roles = Roles.of(_numbered(points.data.shape[1]), options, points.source)

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
