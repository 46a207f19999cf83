"""Conversion of graphs of other libraries to matrices with node names.

Libraries are recognized by type names, so none is imported:

- networkx: node names are the nodes, in their order. Weights are the edge attribute "weight", or 1
  if no edge has it; parallel edges are added up.
- igraph: the same, with the vertex attribute "name" as node names, if there is one.
- ``(edge_index, edge_weight)`` and objects with ``edge_index``, as in torch_geometric: every edge
  is listed in both directions, and nodes are numbers. A third entry is the number of nodes.
- AnnData: ``obsp["connectivities"]``, with ``obs_names`` as node names.
- data frames of pandas and polars: an edge list, or a square matrix.

A self-loop counts as in the adjacency matrix of the library: once, but twice in an undirected
igraph graph without weights (as in ``get_adjacency()``).

A data frame is an edge list if it has columns "source" and "target", or if it has two or three
columns (sources, targets and weights) and is not square, or has non-numeric entries. Nodes are
sorted if possible. The list is undirected if no pair is listed in both directions, or if all pairs
are listed in both directions with equal weights; otherwise it is directed. Rows must not be
repeated.
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
AGREES = 1e-8  # relative difference up to which weights of both directions count as equal


class Converted(NamedTuple):
    """A graph converted to a matrix."""

    matrix: Any  # weights from row to column
    names: tuple[Any, ...] | None  # of the nodes
    is_directed: bool  # whether the matrix may be asymmetric


class Edges:
    """Edges as node numbers, of shape (2, m).

    Error messages identify an edge by the names of its nodes and by its row in a table, if known.
    """

    def __init__(self, ends: Any, n_nodes: int, names: Any = None, in_rows: bool = False) -> None:
        self.ends, self.n_nodes, self.names, self.in_rows = ends, n_nodes, names, in_rows
        self.is_loop = ends[0] == ends[1]
        # A unique number of every edge, and of the edge in the opposite direction.
        self.forward, self.backward = (
            rows * n_nodes + columns for rows, columns in (ends, ends[::-1])
        )

    def _name(self, edge: int) -> str:
        u, v = self.ends[:, edge].tolist()
        pair = f"({u}, {v})" if self.names is None else f"({self.names[u]!r}, {self.names[v]!r})"
        return f"{pair} in row {edge}" if self.in_rows else pair

    def weights(self, values: Any) -> np.ndarray:
        """Return the weights, or ones if no edge has a weight; raise if one is not valid."""
        if isinstance(values, list):
            missing = [edge for edge, value in enumerate(values) if value is None]
            if len(missing) == len(values):
                return np.ones(len(values))
            if missing:
                raise ValueError(
                    f"The graph has {len(missing)} of {len(values)} edges without a weight; the "
                    f"first is {self._name(missing[0])}. Set a weight for every edge, or for none."
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
        order = np.argsort(self.forward, kind="stable")
        repeated = order[1:][self.forward[order[1:]] == self.forward[order[:-1]]]
        if repeated.size:
            raise ValueError(
                f"The graph lists {counted(repeated.size, 'edge')} more than once; the first is "
                f"{self._name(int(repeated.min()))}. {remedy}"
            )

    def graph(self, weights: np.ndarray, is_directed: bool, both_listed: bool = False) -> Converted:
        """Return the graph; weights of repeated edges are added up.

        Edges of an undirected graph are listed once, unless ``both_listed``.
        """
        (rows, columns), n = self.ends, self.n_nodes
        if not (is_directed or both_listed):
            other = ~self.is_loop
            rows, columns = np.append(rows, columns[other]), np.append(columns, rows[other])
            weights = np.append(weights, weights[other])
        matrix = sp.coo_array((weights, (rows, columns)), shape=(n, n)).tocsr()
        return Converted(matrix, self.names, bool(is_directed))


def is_foreign(graph: Any) -> bool:
    """Return whether a graph is an object of another library, and not a matrix."""
    return _reader_of(graph) is not None


def as_matrix(graph: Any) -> Converted:
    """Convert a graph of another library; the matrix is not checked."""
    reader = _reader_of(graph)
    if reader is None:
        raise TypeError(
            f"graph is {type(graph).__name__}, which is not supported; pass a matrix of "
            "affinities, or a graph of networkx, igraph, torch_geometric, pandas, polars or "
            "anndata."
        )
    return reader(graph)


def _reader_of(graph: Any) -> Callable[[Any], Converted] | None:
    """Return the function that converts a graph; None if there is none."""
    if isinstance(graph, np.ndarray) or sp.issparse(graph):
        return None
    if isinstance(graph, list | tuple):
        # The rows of a matrix have one dimension, an edge index has two.
        is_pair = len(graph) in (2, 3) and _n_dimensions(graph[0]) == 2
        return (lambda pair: _from_edge_index(*pair)) if is_pair else None
    for kind in type(graph).__mro__:
        reader = LIBRARIES.get((kind.__module__.partition(".")[0], kind.__name__))
        if reader is not None:
            return reader
    return _from_data if hasattr(graph, "edge_index") else None


def _n_dimensions(value: Any) -> int:
    """Return the number of dimensions of an array or of a nested list."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    if not isinstance(value, list | tuple):
        return 0
    return 1 + (_n_dimensions(value[0]) if value else 0)


# -- the libraries


def _from_networkx(graph: Any) -> Converted:
    names = tuple(graph)
    number_of = {node: number for number, node in enumerate(names)}
    edges = [(number_of[u], number_of[v], weight) for u, v, weight in graph.edges(data="weight")]
    ends = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2).T
    checked = Edges(ends, len(names), names)
    return checked.graph(checked.weights([edge[2] for edge in edges]), graph.is_directed())


def _from_igraph(graph: Any) -> Converted:
    names = tuple(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    edges, is_directed = Edges(ends, graph.vcount(), names), graph.is_directed()
    if "weight" in graph.es.attributes():
        return edges.graph(edges.weights(graph.es["weight"]), is_directed)
    return edges.graph(np.where(edges.is_loop & (not is_directed), 2.0, 1.0), is_directed)


def _from_anndata(graph: Any) -> Converted:
    if CONNECTIVITIES not in graph.obsp:
        existing = ", ".join(map(repr, graph.obsp)) or "nothing"
        raise ValueError(
            f"The graph is an AnnData whose obsp has no {CONNECTIVITIES!r} (it has {existing}). "
            "Run scanpy.pp.neighbors(adata) first, or pass the matrix of affinities itself."
        )
    return Converted(graph.obsp[CONNECTIVITIES], tuple(graph.obs_names), False)


def _from_data(graph: Any) -> Converted:
    # The edge_attr of torch_geometric may be weights or features of edges.
    weights = getattr(graph, "edge_weight", None)
    if weights is None:
        weights = getattr(graph, "edge_attr", None)
    return _from_edge_index(graph.edge_index, weights, getattr(graph, "num_nodes", None))


def _from_edge_index(edge_index: Any, edge_weight: Any, n_nodes: Any = None) -> Converted:
    """Convert pairs of node numbers, with both directions of every edge."""
    ends = as_plain("The edge_index of the graph", _on_host(edge_index))
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise ValueError(
            f"The edge_index of the graph must have shape (2, m), a row of sources and a row of "
            f"targets, but its shape is {ends.shape}. Transpose it if it lists pairs."
        )
    if ends.dtype.kind not in "iu" and ends.size:
        raise TypeError(
            f"The edge_index of the graph must contain integers, but its dtype is {ends.dtype}; "
            "convert it first."
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
            f"numbered from 0 to {n - 1}; renumber the nodes, or pass a larger number of nodes."
        )
    edges, weights = Edges(ends, n), np.ones(n_edges)
    if edge_weight is not None:
        values = as_plain("The edge weights of the graph", _on_host(edge_weight))
        if values.shape not in {(n_edges,), (n_edges, 1)}:
            raise ValueError(
                f"The graph has {n_edges} edges, but its edge weights have shape {values.shape}; "
                "pass one weight per edge, or (edge_index, None) if they are features of edges."
            )
        weights = edges.weights(values.reshape(-1))
    edges.check_repeated("Add up their weights first, as torch_geometric.utils.coalesce does.")
    is_directed = not np.array_equal(np.sort(edges.forward), np.sort(edges.backward))
    return edges.graph(weights, is_directed, both_listed=True)


def _on_host(array: Any) -> Any:
    """Return a PyTorch tensor as an array; other objects are returned unchanged."""
    if not hasattr(array, "detach"):
        return array
    array = array.detach().cpu()
    # NumPy lacks some of the floating-point types of PyTorch.
    return (array.double() if array.is_floating_point() else array).numpy()


# -- data frames


def _from_table(frame: Any) -> Converted:
    columns = list(frame.columns)
    n_rows, n_columns = frame.shape
    if SOURCE in columns and TARGET in columns:
        others = [name for name in columns if name not in (SOURCE, TARGET)]
        if len(others) == 1 and others != [WEIGHT]:
            raise ValueError(
                f"The graph is an edge list with the columns {SOURCE!r}, {TARGET!r} and "
                f"{others[0]!r}. Rename the last to {WEIGHT!r} if it contains edge weights, or "
                "drop it."
            )
        return _from_edge_list(frame, SOURCE, TARGET, WEIGHT if WEIGHT in columns else None)
    if n_columns in (2, 3) and n_rows != n_columns:
        return _from_edge_list(frame, *columns, *[None] * (3 - n_columns))
    has_words = any(np.asarray(frame[name]).dtype.kind not in "fiubc" for name in columns[:2])
    if n_columns in (2, 3) and has_words:
        return _from_edge_list(frame, *columns, *[None] * (3 - n_columns))
    if n_columns > 3 and has_words:
        raise ValueError(
            f"The graph is a data frame of {n_columns} columns, some of which are not numeric, so "
            f"it must be an edge list. Name the columns of its nodes {SOURCE!r} and {TARGET!r}, "
            f"and the column of its weights {WEIGHT!r}; other columns are ignored."
        )
    return _from_square(frame, columns)


def _from_edge_list(frame: Any, source: Any, target: Any, weight: Any) -> Converted:
    """Convert an edge list in the columns with these names."""
    # 1. Number the nodes.
    names, numbers = _numbered(np.concatenate([_nodes(frame, name) for name in (source, target)]))
    edges = Edges(numbers.reshape(2, -1), len(names), names, in_rows=True)
    forward, backward, is_loop = edges.forward, edges.backward, edges.is_loop
    # 2. Check the weights.
    weights = np.ones(forward.size)
    if weight is not None:
        values = as_floats(f"Column {weight!r} of the graph", _column(frame, weight))
        weights = edges.weights(values)
    edges.check_repeated(
        f"Add them up first, as frame.groupby([{source!r}, {target!r}]).sum() of pandas does."
    )
    # 3. Match the rows of both directions.
    order = np.argsort(forward)
    position = np.minimum(np.searchsorted(forward, backward, sorter=order), forward.size - 1)
    partner = order[position]
    is_paired = (forward[partner] == backward) & ~is_loop
    if not is_paired.any():
        return edges.graph(weights, is_directed=False)
    agree = np.abs(weights - weights[partner]) <= AGREES * weights.max()
    is_directed = not (is_paired | is_loop).all() or not agree[is_paired].all()
    return edges.graph(weights, is_directed, both_listed=True)


def _nodes(frame: Any, column: Any) -> np.ndarray:
    """Return the nodes in a column of an edge list."""
    nodes = _column(frame, column)
    if nodes.dtype.kind in "mM":
        return np.array(frame[column].to_list(), dtype=object)  # NumPy converts dates to numbers
    if nodes.dtype.kind == "f":
        fractions = np.flatnonzero(~(nodes == np.floor(nodes)))
        if fractions.size:
            row, value = int(fractions[0]), nodes[fractions[0]]
            if np.isnan(value):
                raise ValueError(_missing(column, row))
            raise ValueError(
                f"Column {column!r} of the graph, an edge list, holds {value} in row {row}, which "
                "is not a node. If the rows are samples, construct a graph with "
                "leastcut.adaptive_neighbors_graph(X)."
            )
    return nodes


def _column(frame: Any, column: Any) -> np.ndarray:
    """Return a column as an array without missing entries."""
    values = frame[column]
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"The graph has several columns named {column!r}; rename them.")
    # The method of polars has another name.
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
    """Return the distinct nodes, sorted if possible, and the number of every entry."""
    try:
        names, numbers = np.unique(nodes, return_inverse=True)
        return tuple(names.tolist()), numbers.reshape(-1)
    except TypeError:  # strings and numbers cannot be sorted together
        number_of: dict[Any, int] = {}
        numbers = np.array([number_of.setdefault(name, len(number_of)) for name in nodes.tolist()])
        return tuple(number_of), numbers


def _from_square(frame: Any, columns: list[Any]) -> Converted:
    """Convert a frame that is a matrix; its labels are node names."""
    matrix = as_plain("graph", frame)
    index = getattr(frame, "index", None)
    if index is None or matrix.shape[0] != len(columns):
        # polars has no row labels, and a matrix that is not square raises later.
        return Converted(matrix, None, False)
    labels = index.tolist()
    if labels in (columns, list(range(len(labels)))):
        return Converted(matrix, tuple(columns), False)
    pairs = zip(labels, columns, strict=True)
    different = next(i for i, (row, column) in enumerate(pairs) if row != column)
    raise ValueError(
        f"The graph is a square data frame whose rows and columns have different labels: "
        f"{labels[different]!r} and {columns[different]!r} at position {different}. Reorder it by "
        "frame.loc[frame.columns], or pass frame.to_numpy()."
    )


# Converters by the names of the library and of a type or one of its bases.
LIBRARIES: dict[tuple[str, str], Callable[[Any], Converted]] = {
    ("networkx", "Graph"): _from_networkx,
    ("igraph", "Graph"): _from_igraph,
    ("anndata", "AnnData"): _from_anndata,
    ("pandas", "DataFrame"): _from_table,
    ("polars", "DataFrame"): _from_table,
}
