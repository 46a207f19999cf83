"""Graphs of other libraries, converted to a matrix with the names of its nodes.

They are recognized by the names of their types, so that no library is imported for it:

- networkx: the names are the nodes, in their order. Weights are the edge attribute "weight", or 1
  if no edge has it; parallel edges add up.
- igraph: the same, and names are the vertex attribute "name" if there is one.
- ``(edge_index, edge_weight)`` and objects with ``edge_index``, as in torch_geometric: every edge
  is listed in both directions, nodes are numbers. A third entry is the number of nodes.
- AnnData: ``obsp["connectivities"]``, and names are ``obs_names``.
- data frames of pandas and polars: an edge list, or a square matrix.

A self-loop counts as in the library's own adjacency matrix: once, but twice in an undirected graph
of igraph without weights (``get_adjacency()``; with weights igraph counts it once as well).

A data frame is an edge list if it has columns "source" and "target", or if it has two or three
columns (sources, targets and weights) and is not square or names nodes by words. Its nodes are
sorted if they have an order. The list is undirected if no pair is listed in both directions, and
each pair is then one edge; or if all pairs are listed in both directions with equal weights, and
each two rows are then one edge. Otherwise it is directed. No row may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.formatting import counted
from leastcut.validation import as_floats, as_plain, check_count

CONNECTIVITIES = "connectivities"  # the matrix of an AnnData that holds its affinities
SOURCE, TARGET, WEIGHT = "source", "target", "weight"  # columns of an edge list
AGREES = 1e-8  # relative difference up to which weights of both directions are the same number


class Read(NamedTuple):
    """A converted graph."""

    matrix: Any  # weights from row to column
    names: tuple[Any, ...] | None  # of the nodes
    is_directed: bool  # so that the matrix need not be symmetric


class Edges:
    """Edges by the numbers of their nodes, shape (2, m).

    Messages about an edge have the names of its nodes, if they have names, and its row in a table.
    """

    def __init__(self, ends: Any, n_nodes: int, names: Any = None, in_rows: bool = False) -> None:
        self.ends, self.n_nodes, self.names, self.in_rows = ends, n_nodes, names, in_rows
        self.is_loop = ends[0] == ends[1]
        # Edges as numbers, and those of the other direction.
        self.forth, self.back = (rows * n_nodes + columns for rows, columns in (ends, ends[::-1]))

    def _name(self, edge: int) -> str:
        u, v = self.ends[:, edge].tolist()
        pair = f"({u}, {v})" if self.names is None else f"({self.names[u]!r}, {self.names[v]!r})"
        return f"{pair} in row {edge}" if self.in_rows else pair

    def weights(self, values: Any) -> np.ndarray:
        """Return the weights, 1 if no edge has any; raise if one is missing or bad."""
        if isinstance(values, list):
            missing = [edge for edge, value in enumerate(values) if value is None]
            if len(missing) == len(values):
                return np.ones(len(values))
            if missing:
                raise ValueError(
                    f"The graph has {len(missing)} of {len(values)} edges without a weight; the "
                    f"first is {self._name(missing[0])}. Give every edge a weight, or none."
                )
        weights = as_floats("The edge weights of the graph", values)
        for bad, what, remedy in (
            (~np.isfinite(weights), "NaN or infinite", "Remove or replace them."),
            (weights < 0, "negative", "A cut needs non-negative affinities; clip or shift them."),
        ):
            edges = np.flatnonzero(bad)
            if edges.size:
                raise ValueError(
                    f"The graph has {counted(edges.size, f'{what} edge weight')}; the first is "
                    f"{weights[edges[0]]} of edge {self._name(edges[0])}. {remedy}"
                )
        return weights

    def check_repeated(self, remedy: str) -> None:
        """Raise if an edge is listed twice in the same direction."""
        order = np.argsort(self.forth, kind="stable")
        again = order[1:][self.forth[order[1:]] == self.forth[order[:-1]]]
        if again.size:
            raise ValueError(
                f"The graph lists {counted(again.size, 'edge')} more than once; the first is "
                f"{self._name(int(again.min()))}. {remedy}"
            )

    def graph(self, weights: np.ndarray, is_directed: bool, both_listed: bool = False) -> Read:
        """Return the graph, in which weights of the same edge add up.

        Edges of an undirected graph are listed once, unless ``both_listed``.
        """
        (rows, columns), n = self.ends, self.n_nodes
        if not (is_directed or both_listed):
            # A self-loop is its own other direction.
            other = ~self.is_loop
            rows, columns = np.append(rows, columns[other]), np.append(columns, rows[other])
            weights = np.append(weights, weights[other])
        matrix = sp.coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()
        return Read(matrix, self.names, bool(is_directed))


def is_foreign(graph: Any) -> bool:
    """Return whether a graph is of another library; arrays, sparse matrices and lists are not."""
    return _reader_of(graph) is not None


def as_matrix(graph: Any) -> Read:
    """Convert a graph of another library; the matrix is not checked any further."""
    reader = _reader_of(graph)
    if reader is None:
        raise TypeError(
            f"graph is {type(graph).__name__}, which is not a graph of a library that is known: "
            "networkx, igraph, torch_geometric, pandas, polars or anndata. Pass a matrix of "
            "affinities."
        )
    return reader(graph)


def _reader_of(graph: Any) -> Callable[[Any], Read] | None:
    """Return the function that converts such a graph, or None."""
    # The usual case comes first, and costs nothing.
    if isinstance(graph, np.ndarray) or sp.issparse(graph):
        return None
    if isinstance(graph, list | tuple):
        # Rows of a matrix have one dimension, an edge index has two.
        is_pair = len(graph) in (2, 3) and _n_dimensions(graph[0]) == 2
        return (lambda pair: _from_edge_index(*pair)) if is_pair else None
    for kind in type(graph).__mro__:
        reader = LIBRARIES.get((kind.__module__.partition(".")[0], kind.__name__))
        if reader is not None:
            return reader
    return _from_data if hasattr(graph, "edge_index") else None


def _n_dimensions(value: Any) -> int:
    """Return the dimensions of an array, or the depth of a list by its first entries."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    if not isinstance(value, list | tuple):
        return 0
    return 1 + (_n_dimensions(value[0]) if value else 0)


# -- the libraries


def _from_networkx(graph: Any) -> Read:
    names = tuple(graph)
    place = {node: number for number, node in enumerate(names)}
    # Parallel edges of a multigraph come one by one.
    edges = [(place[u], place[v], weight) for u, v, weight in graph.edges(data="weight")]
    ends = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2).T
    checked = Edges(ends, len(names), names)
    return checked.graph(checked.weights([edge[2] for edge in edges]), graph.is_directed())


def _from_igraph(graph: Any) -> Read:
    names = tuple(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    edges, is_directed = Edges(ends, graph.vcount(), names), graph.is_directed()
    if "weight" in graph.es.attributes():
        return edges.graph(edges.weights(graph.es["weight"]), is_directed)
    return edges.graph(np.where(edges.is_loop & (not is_directed), 2.0, 1.0), is_directed)


def _from_anndata(graph: Any) -> Read:
    if CONNECTIVITIES not in graph.obsp:
        there = ", ".join(map(repr, graph.obsp)) or "nothing"
        raise ValueError(
            f"The graph is an AnnData whose obsp has no {CONNECTIVITIES!r} (it has {there}). Run "
            "scanpy.pp.neighbors(adata) first, or pass the matrix of affinities itself."
        )
    return Read(graph.obsp[CONNECTIVITIES], tuple(graph.obs_names), False)


def _from_data(graph: Any) -> Read:
    # The edge_attr of torch_geometric may be weights or features of edges.
    weights = getattr(graph, "edge_weight", None)
    if weights is None:
        weights = getattr(graph, "edge_attr", None)
    return _from_edge_index(graph.edge_index, weights, getattr(graph, "num_nodes", None))


def _from_edge_index(edge_index: Any, edge_weight: Any, n_nodes: Any = None) -> Read:
    """Convert pairs of numbers in which both directions are listed."""
    ends = as_plain("The edge_index of the graph", _on_host(edge_index))
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise ValueError(
            f"The edge_index of the graph must have shape (2, m), a row of sources and a row of "
            f"targets, but its shape is {ends.shape}. Transpose it if it lists pairs."
        )
    if ends.dtype.kind not in "iu" and ends.size:
        raise TypeError(
            f"The edge_index of the graph must hold node numbers, which are integers, but its "
            f"dtype is {ends.dtype}; convert it first."
        )
    ends, n_edges = ends.astype(np.int64), ends.shape[1]
    n = int(ends.max(initial=-1)) + 1
    if n_nodes is not None:
        n = check_count("num_nodes of the graph", n_nodes, minimum=0)
    outside = np.flatnonzero((ends < 0).any(axis=0) | (ends >= n).any(axis=0))
    if outside.size:
        u, v = ends[:, outside[0]].tolist()
        raise ValueError(
            f"The edge_index of the graph has edge {outside[0]} from {u} to {v}, but its nodes are "
            f"numbered from 0 to {n - 1}; number them so, or pass a larger number of nodes."
        )
    edges, weights = Edges(ends, n), np.ones(n_edges)
    if edge_weight is not None:
        values = as_plain("The edge weights of the graph", _on_host(edge_weight))
        if values.shape not in {(n_edges,), (n_edges, 1)}:
            raise ValueError(
                f"The graph has {n_edges} edges, and its edge weights have shape {values.shape}; "
                "one weight for every edge is needed. If they are features of edges, pass "
                "(edge_index, None) or weights made of them."
            )
        weights = edges.weights(values.reshape(-1))
    edges.check_repeated("Add their weights up first, as torch_geometric.utils.coalesce.")
    is_directed = not np.array_equal(np.sort(edges.forth), np.sort(edges.back))
    return edges.graph(weights, is_directed, both_listed=True)


def _on_host(array: Any) -> Any:
    """Return a tensor of PyTorch as an array; anything else as it is."""
    if not hasattr(array, "detach"):
        return array
    array = array.detach().cpu()
    # NumPy does not have all of its floating types.
    return (array.double() if array.is_floating_point() else array).numpy()


# -- data frames


def _from_table(frame: Any) -> Read:
    columns = list(frame.columns)
    n_rows, n_columns = frame.shape
    if SOURCE in columns and TARGET in columns:
        others = [name for name in columns if name not in (SOURCE, TARGET)]
        if len(others) == 1 and others != [WEIGHT]:
            raise ValueError(
                f"The graph is an edge list with the columns {SOURCE!r}, {TARGET!r} and "
                f"{others[0]!r}. Name the last {WEIGHT!r} if it holds the weights of edges, or "
                "drop it."
            )
        return _from_edge_list(frame, SOURCE, TARGET, WEIGHT if WEIGHT in columns else None)
    if n_columns in (2, 3) and n_rows != n_columns:
        return _from_edge_list(frame, *columns, *[None] * (3 - n_columns))
    # A matrix has numbers only.
    has_words = any(np.asarray(frame[name]).dtype.kind not in "fiubc" for name in columns[:2])
    if n_columns in (2, 3) and has_words:
        return _from_edge_list(frame, *columns, *[None] * (3 - n_columns))
    if n_columns > 3 and has_words:
        raise ValueError(
            f"The graph is a data frame of {n_columns} columns, some of words, so that it can only "
            f"be an edge list. Name the columns of its nodes {SOURCE!r} and {TARGET!r}, and that "
            f"of its weights {WEIGHT!r}; further ones are left out."
        )
    return _from_square(frame, columns)


def _from_edge_list(frame: Any, source: Any, target: Any, weight: Any) -> Read:
    """Convert an edge list, from the columns with these names."""
    # 1. The names of nodes, and the numbers of both ends of every edge.
    names, numbers = _numbered(np.concatenate([_nodes(frame, name) for name in (source, target)]))
    edges = Edges(numbers.reshape(2, -1), len(names), names, in_rows=True)
    forth, back, is_loop = edges.forth, edges.back, edges.is_loop
    # 2. Weights.
    weights = np.ones(forth.size)
    if weight is not None:
        values = as_floats(f"Column {weight!r} of the graph", _column(frame, weight))
        weights = edges.weights(values)
    edges.check_repeated(
        f"Add them up first, as frame.groupby([{source!r}, {target!r}]).sum() of pandas does."
    )
    # 3. Rows that have another one for the other direction, and rows that have none.
    order = np.argsort(forth)
    position = np.minimum(np.searchsorted(forth, back, sorter=order), forth.size - 1)
    partner = order[position]
    is_paired = (forth[partner] == back) & ~is_loop
    if not is_paired.any():
        return edges.graph(weights, is_directed=False)
    agree = np.abs(weights - weights[partner]) <= AGREES * weights.max()
    is_directed = not (is_paired | is_loop).all() or not agree[is_paired].all()
    return edges.graph(weights, is_directed, both_listed=True)


def _nodes(frame: Any, column: Any) -> np.ndarray:
    """Return the nodes in a column of an edge list."""
    nodes = _column(frame, column)
    if nodes.dtype.kind in "mM":
        return np.array(frame[column].to_list(), dtype=object)  # NumPy would name dates by numbers
    if nodes.dtype.kind == "f":
        fractions = np.flatnonzero(~(nodes == np.floor(nodes)))
        if fractions.size:
            row, value = int(fractions[0]), nodes[fractions[0]]
            if np.isnan(value):
                raise ValueError(_missing(column, row))
            raise ValueError(
                f"Column {column!r} of the graph, an edge list, holds {value} in row {row}, "
                "which names no node. If these are points, build a graph of them with "
                "leastcut.adaptive_neighbors_graph(X)."
            )
    return nodes


def _column(frame: Any, column: Any) -> np.ndarray:
    """Return a column as an array in which nothing is missing."""
    values = frame[column]
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"The graph has several columns named {column!r}; name each otherwise.")
    # polars has a different method, and would convert missing values to NaN.
    nulls = values.is_null() if hasattr(values, "is_null") else values.isna()
    if nulls.any():
        raise ValueError(_missing(column, int(np.argmax(np.asarray(nulls)))))
    return as_plain(f"Column {column!r} of the graph", values.to_numpy())


def _missing(column: Any, row: int) -> str:
    return (
        f"Column {column!r} of the graph, an edge list, is missing in row {row}; fill it in, or "
        "drop the row."
    )


def _numbered(nodes: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the distinct nodes, sorted if they can be, and the number of each entry."""
    try:
        names, numbers = np.unique(nodes, return_inverse=True)
        return tuple(names.tolist()), numbers.reshape(-1)
    except TypeError:  # words and numbers have no common order
        place: dict[Any, int] = {}
        numbers = np.array([place.setdefault(name, len(place)) for name in nodes.tolist()])
        return tuple(place), numbers


def _from_square(frame: Any, columns: list[Any]) -> Read:
    """Convert a frame that is a matrix; nodes have names if rows and columns have the same."""
    matrix = as_plain("graph", frame)
    index = getattr(frame, "index", None)
    if index is None or matrix.shape[0] != len(columns):
        # polars has no labels of rows, and a matrix that is not square is refused later.
        return Read(matrix, None, False)
    labels = index.tolist()
    if labels in (columns, list(range(len(labels)))):
        return Read(matrix, tuple(columns), False)
    pairs = zip(labels, columns, strict=True)
    different = next(i for i, (row, column) in enumerate(pairs) if row != column)
    raise ValueError(
        f"The graph is a square data frame whose rows and columns have different labels: at "
        f"{different}, {labels[different]!r} and {columns[different]!r}. Bring them into one "
        "order, frame.loc[frame.columns], or pass frame.to_numpy()."
    )


# The functions that convert graphs, by the names of the library and of a type or its base.
LIBRARIES: dict[tuple[str, str], Callable[[Any], Read]] = {
    ("networkx", "Graph"): _from_networkx,
    ("igraph", "Graph"): _from_igraph,
    ("anndata", "AnnData"): _from_anndata,
    ("pandas", "DataFrame"): _from_table,
    ("polars", "DataFrame"): _from_table,
}
