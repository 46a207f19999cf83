"""Matrices: which of them is a graph, which are points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.io.columns import column_index
from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.source import Source
from leastcut.sparse_check import check_sparse


def graph_of_matrix(points: Loaded) -> Loaded:
    """Return a square matrix that was read as points as the affinities of a graph.

    Raises
    ------
    ValueError
        If it is not square.
    """
    n, width = points.data.shape
    if n != width:
        raise ValueError(
            f"{points.source} holds a table of {n} rows and {width} columns, which is no graph: "
            "affinities are a square matrix, and a list of edges has two nodes and a weight in "
            "every line. Leave --as graph out to read it as points."
        )
    names = points.names
    # a header names the nodes, where rows have no names of their own
    if isinstance(names, range) and points.columns is not None:
        numbered = tuple(str(number) for number in range(1, n + 1))
        names = names if points.columns == numbered else points.columns
    return replace(points, kind="graph", names=names, columns=None)


def loaded_matrix(
    source: Source, matrix: Any, wanted: Wanted, usual: str, first: int | None = None
) -> Loaded:
    """Return a matrix as points or as a graph.

    Parameters
    ----------
    source : Source
    matrix : ndarray or sparse matrix
    wanted : Wanted
    usual : {"points", "graph"}
        What it is where nothing else is wanted.
    first : int, optional
        What its rows are counted from, where that is not 0.

    Raises
    ------
    ValueError
        If it is no matrix of finite real numbers, or a graph is wanted and it is not square.
    """
    if sp.issparse(matrix):
        check_sparse(source.name, matrix)
    else:
        matrix = np.asarray(matrix)
        if matrix.ndim == 1:
            matrix = matrix[:, None]
    if matrix.dtype.kind not in "biuf" or matrix.ndim != 2 or 0 in matrix.shape:
        kind = "complex numbers" if matrix.dtype.kind == "c" else f"entries of type {matrix.dtype}"
        what = f"an array of shape {matrix.shape}" if matrix.dtype.kind in "biuf" else kind
        raise ValueError(
            f"{source.name} holds {what}; it must hold a matrix of real numbers, a row per point "
            "or the affinities between nodes."
        )
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
    if matrix.dtype.kind != "f" or matrix.dtype.itemsize not in (4, 8):
        matrix = matrix.astype(np.float64)
    names = None if first is None else range(first, first + matrix.shape[0])
    _check_finite(source, matrix)
    loaded = Loaded("points", matrix, source.name, names)
    if (wanted.kind or usual) == "graph":
        if wanted.names_columns:
            raise ValueError(
                f"{source.name} is read as a graph, which has no columns to name; --as points "
                "reads its rows as points."
            )
        return graph_of_matrix(loaded)
    return _without_columns(source, loaded, wanted)


def _check_finite(source: Source, matrix: Any) -> None:
    """Raise for the first entry that is not finite."""
    if not sp.issparse(matrix):
        rows, columns = np.nonzero(~np.isfinite(matrix))
    else:
        coordinates = matrix.tocoo()
        bad = ~np.isfinite(coordinates.data)
        rows, columns = coordinates.row[bad], coordinates.col[bad]
    if rows.size:
        raise ValueError(
            f"{source.name} holds {rows.size} entries that are NaN or infinite; the first is "
            f"in row {rows[0] + 1}, column {columns[0] + 1}. Fill them in, or drop their rows."
        )


def _without_columns(source: Source, loaded: Loaded, wanted: Wanted) -> Loaded:
    """Return points less the columns of classes and names, which are known by number."""
    if not wanted.names_columns:
        return loaded
    columns = tuple(str(number) for number in range(1, loaded.data.shape[1] + 1))

    def index(name: str) -> int:
        return column_index(name, columns, source.name)

    def values(name: str | None) -> np.ndarray | None:
        if name is None:
            return None
        column = loaded.data[:, [index(name)]]
        dense = np.asarray(column.toarray() if sp.issparse(column) else column).reshape(-1)
        return dense.astype(np.int64) if (dense == np.round(dense)).all() else dense

    taken = [name for name in (wanted.label_column, wanted.name_column) if name is not None]
    gone = {index(name) for name in (*taken, *wanted.without)}
    left = [i for i in range(len(columns)) if i not in gone]
    if not left:
        raise ValueError(f"{source.name} has no columns of numbers left to cluster by.")
    names = values(wanted.name_column)
    return replace(
        loaded,
        data=loaded.data[:, left],
        classes=values(wanted.label_column),
        names=loaded.names if names is None else names.tolist(),
    )
