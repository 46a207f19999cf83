"""Data frames of pandas and polars as graphs: edge lists, and square matrices with labels.

A frame is an edge list if it has columns "source" and "target", or if it has two or three columns,
sources, targets and, if there is a third, weights, and is not square or names nodes by words. Any
other frame is a matrix.

1. Nodes are all that the list names, in sorted order where they have one, else as they appear. A
   node without edges cannot be told by a list.
2. A list that has no pair in both directions is undirected: each pair stands for one edge.
3. A list that has all pairs in both directions, with equal weights, is undirected, too: both rows
   of a pair are the same edge, which is not counted twice.
4. Whatever lies between is directed. No row may stand there twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.integrations.graphs.edges import assemble, check_edge_weights, refuse_repeated
from leastcut.validation import as_floats, as_plain

SOURCE, TARGET, WEIGHT = "source", "target", "weight"
"""Columns of an edge list that are known by name."""

AGREES = 1e-8
"""Relative difference up to which the weights of both directions are the same number."""


def read_table(frame: Any) -> tuple[Any, tuple[Any, ...] | None, bool]:
    """Return the matrix of a data frame, the names of its nodes and whether it is directed.

    Parameters
    ----------
    frame : DataFrame of pandas or polars

    Returns
    -------
    matrix : ndarray or csr_array of shape (n, n)
    names : tuple or None
    is_directed : bool

    Examples
    --------
    >>> import pandas as pd
    >>> from leastcut.integrations.graphs.edge_tables import read_table
    >>> frame = pd.DataFrame({"source": ["b", "a"], "target": ["c", "b"], "weight": [2.0, 1.0]})
    >>> matrix, names, _ = read_table(frame)
    >>> names, matrix.toarray()
    (('a', 'b', 'c'), array([[0., 1., 0.],
           [1., 0., 2.],
           [0., 2., 0.]]))
    """
    columns = list(frame.columns)
    n_rows, n_columns = frame.shape
    if SOURCE in columns and TARGET in columns:
        return _read_list(frame, SOURCE, TARGET, _named_weights(columns))
    # A matrix has numbers only.
    if n_columns in (2, 3) and (n_rows != n_columns or _has_words(frame, columns[:2])):
        source, target, *weight = columns
        return _read_list(frame, source, target, weight[0] if weight else None)
    if n_columns > 3 and _has_words(frame, columns[:2]):
        raise ValueError(
            f"The graph is a data frame of {n_columns} columns, some of words, so that it can only "
            f"be an edge list. Name the columns of its nodes {SOURCE!r} and {TARGET!r}, and that "
            f"of its weights {WEIGHT!r}; further ones are left out."
        )
    return _read_square(frame, columns)


def _has_words(frame: Any, columns: list[Any]) -> bool:
    """Whether one of these columns holds anything but numbers."""
    return any(np.asarray(frame[column]).dtype.kind not in "fiubc" for column in columns)


def _named_weights(columns: list[Any]) -> Any:
    """Return the column of the weights in a list whose ends are known by name, or None."""
    if WEIGHT in columns:
        return WEIGHT
    others = [name for name in columns if name not in (SOURCE, TARGET)]
    if len(others) == 1:
        raise ValueError(
            f"The graph is an edge list with the columns {SOURCE!r}, {TARGET!r} and {others[0]!r}. "
            f"Name the last {WEIGHT!r} if it holds the weights of edges, or drop it."
        )
    return None


def _read_list(
    frame: Any, source: Any, target: Any, weight: Any
) -> tuple[Any, tuple[Any, ...], bool]:
    """Read an edge list, from the columns with these names."""
    # 1. Nodes: their names, and the numbers of both ends of every edge.
    ends = [_names(frame, column) for column in (source, target)]
    names, numbers = _numbered(np.concatenate(ends))
    pairs, n = numbers.reshape(2, -1), len(names)

    def told(number: int) -> str:
        u, v = pairs[:, number].tolist()
        return f"({names[u]!r}, {names[v]!r}) in row {number}"

    # 2. Weights.
    weights = np.ones(pairs.shape[1])
    if weight is not None:
        weights = as_floats(f"Column {weight!r} of the graph", _plain(frame, weight))
        check_edge_weights(weights, told)
    remedy = f"Add them up first, as frame.groupby([{source!r}, {target!r}]).sum() of pandas does."
    refuse_repeated(pairs, n, told, remedy)
    # 3. Rows that have another one for the other direction, and rows that have none.
    forth, back = pairs[0] * n + pairs[1], pairs[1] * n + pairs[0]
    order = np.argsort(forth)
    position = np.minimum(np.searchsorted(forth, back, sorter=order), forth.size - 1)
    partner = order[position]
    is_loop = pairs[0] == pairs[1]
    is_paired = (forth[partner] == back) & ~is_loop
    if not is_paired.any():
        return assemble(pairs, weights, n, is_undirected=True), names, False
    agree = np.abs(weights - weights[partner]) <= AGREES * weights.max()
    is_directed = not (is_paired | is_loop).all() or not agree[is_paired].all()
    return assemble(pairs, weights, n, is_undirected=False), names, bool(is_directed)


def _names(frame: Any, column: Any) -> np.ndarray:
    """Return the nodes that a column of an edge list holds."""
    found = _plain(frame, column)
    if found.dtype.kind in "mM":
        return np.array(frame[column].to_list(), dtype=object)  # NumPy would name dates by numbers
    if found.dtype.kind == "f":
        fractions = np.flatnonzero(~(found == np.floor(found)))
        if fractions.size:
            row, value = int(fractions[0]), found[fractions[0]]
            if np.isnan(value):
                raise ValueError(
                    f"Column {column!r} of the graph, an edge list, is missing (NaN) in row "
                    f"{row}; fill it in, or drop the row."
                )
            raise ValueError(
                f"Column {column!r} of the graph, an edge list, holds {value} in row {row}, "
                "which names no node. If these are points, build a graph of them with "
                "leastcut.adaptive_neighbors_graph(X)."
            )
    return found


def _plain(frame: Any, column: Any) -> np.ndarray:
    """Return a column as an array in which nothing is missing."""
    values = frame[column]
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"The graph has several columns named {column!r}; name each otherwise.")
    # polars has its own word for it, and turns it into NaN.
    nulls = values.is_null() if hasattr(values, "is_null") else values.isna()
    if nulls.any():
        row = int(np.argmax(np.asarray(nulls)))
        raise ValueError(
            f"Column {column!r} of the graph, an edge list, is missing in row {row}; fill it in, "
            "or drop the row."
        )
    return as_plain(f"Column {column!r} of the graph", values.to_numpy())


def _numbered(named: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the different names, sorted where they can be, and the number of each entry."""
    try:
        names, numbers = np.unique(named, return_inverse=True)
        return tuple(names.tolist()), numbers.reshape(-1)
    except TypeError:  # words and numbers have no common order
        place: dict[Any, int] = {}
        numbers = np.array([place.setdefault(name, len(place)) for name in named.tolist()])
        return tuple(place), numbers


def _read_square(frame: Any, columns: list[Any]) -> tuple[Any, tuple[Any, ...] | None, bool]:
    """Read a frame that is a matrix, with its labels if rows and columns have the same."""
    matrix = as_plain("graph", frame)
    index = getattr(frame, "index", None)
    if index is None or matrix.shape[0] != len(columns):
        # polars has no labels of rows; and what is not square is told with the matrices.
        return matrix, None, False
    labels = index.tolist()
    if labels == columns:
        return matrix, tuple(labels), False
    if labels == list(range(len(labels))):
        return matrix, tuple(columns), False
    pairs = zip(labels, columns, strict=True)
    different = next(i for i, (row, column) in enumerate(pairs) if row != column)
    raise ValueError(
        f"The graph is a square data frame whose rows and columns have different labels: at "
        f"{different}, {labels[different]!r} and {columns[different]!r}. Bring them into one "
        "order, frame.loc[frame.columns], or pass frame.to_numpy()."
    )
