"""Graphs of other libraries, read into a matrix with the names of its nodes.

They are recognised by the names of their types, so that no library is imported for it; a graph of
a library can only be there where the library is. What each is read as:

- networkx: nodes in the order in which they are iterated, names are the nodes. Weights are the edge
  attribute "weight" where edges have it, else 1; parallel edges add up.
- igraph: the same, and names are the vertex attribute "name" where there is one.
- ``(edge_index, edge_weight)`` and objects with ``edge_index``, as torch_geometric has them: every
  edge is listed in both directions, nodes are numbers. A third entry is the number of nodes.
- data frames of pandas and polars: an edge list, or a square matrix
  (:mod:`leastcut.integrations.graphs.edge_tables`).
- AnnData: ``obsp["connectivities"]``, names are ``obs_names``.

A self-loop counts as in the library's own adjacency matrix: once, but twice in an undirected graph
of igraph without weights (``get_adjacency()``; with weights igraph counts it once as well).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.integrations.graphs.edges import assemble, check_edge_weights, refuse_repeated
from leastcut.validation import as_floats, as_plain, check_count

CONNECTIVITIES = "connectivities"
"""The pairwise matrix of an AnnData that holds its affinities."""


class Read(NamedTuple):
    """A graph that was read.

    Attributes
    ----------
    matrix : array-like or sparse array of shape (n, n)
        The weights from row to column; both directions of an undirected graph.
    names : tuple or None
        The names of the nodes, in their order.
    is_directed : bool
        Whether edges have a direction, so that the matrix need not be symmetric.
    """

    matrix: Any
    names: tuple[Any, ...] | None
    is_directed: bool


def is_foreign(graph: Any) -> bool:
    """Tell whether this is a graph of another library, which :func:`as_matrix` reads.

    Parameters
    ----------
    graph : object
        Anything. Arrays, sparse matrices and lists of rows are not of another library.

    Returns
    -------
    bool

    Examples
    --------
    >>> from leastcut.integrations.graphs import is_foreign
    >>> is_foreign([[0, 1], [1, 0]]), is_foreign(([[0, 1], [1, 0]], None))
    (False, True)
    """
    return _reader_of(graph) is not None


def as_matrix(graph: Any) -> Read:
    """Read a graph of another library.

    Parameters
    ----------
    graph : object
        One that :func:`is_foreign` recognises. It is not changed.

    Returns
    -------
    Read
        The tuple ``(matrix, names, is_directed)``. Whether the matrix is symmetric and its numbers
        are good for a cut is for :func:`leastcut.validation.check_graph` to check.

    Examples
    --------
    >>> from leastcut.integrations.graphs import as_matrix
    >>> matrix, names, is_directed = as_matrix(([[0, 1, 1, 2], [1, 0, 2, 1]], [3, 3, 2, 2]))
    >>> matrix.toarray(), names, is_directed
    (array([[0., 3., 0.],
           [3., 0., 2.],
           [0., 2., 0.]]), None, False)
    """
    reader = _reader_of(graph)
    if reader is None:
        raise TypeError(
            f"graph is {type(graph).__name__}, which is not a graph of a library that is known: "
            "networkx, igraph, torch_geometric, pandas, polars or anndata. Pass a matrix of "
            "affinities."
        )
    return reader(graph)


def _reader_of(graph: Any) -> Callable[[Any], Read] | None:
    """Return the function that reads such a graph, or None."""
    # What most people pass comes first: it costs nothing.
    if isinstance(graph, np.ndarray) or sp.issparse(graph):
        return None
    if isinstance(graph, list | tuple):
        # Rows of a matrix have one dimension, an edge index has two.
        return _from_pair if len(graph) in (2, 3) and _dimensions(graph[0]) == 2 else None
    for kind in type(graph).__mro__:
        known = LIBRARIES.get((kind.__module__.partition(".")[0], kind.__name__))
        if known is not None:
            return known
    return _from_data if hasattr(graph, "edge_index") else None


def _dimensions(value: Any) -> int:
    """Return the dimensions of an array, or how deep a list is, looking at first entries only."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    if not isinstance(value, list | tuple):
        return 0
    return 1 + (_dimensions(value[0]) if value else 0)


# -- the libraries


def _from_networkx(graph: Any) -> Read:
    names = tuple(graph)
    place = {node: number for number, node in enumerate(names)}
    # Of a multigraph parallel edges come one by one.
    edges = list(graph.edges(data="weight"))
    ends = np.array([(place[u], place[v]) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)

    def told(number: int) -> str:
        return f"({edges[number][0]!r}, {edges[number][1]!r})"

    weights = _weights([weight for _, _, weight in edges], told)
    is_directed = bool(graph.is_directed())
    return Read(assemble(ends.T, weights, len(names), not is_directed), names, is_directed)


def _from_igraph(graph: Any) -> Read:
    names = tuple(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    edges = graph.get_edgelist()
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)

    def told(number: int) -> str:
        u, v = edges[number]
        return f"({u}, {v})" if names is None else f"({names[u]!r}, {names[v]!r})"

    is_weighted = "weight" in graph.es.attributes()
    weights = _weights(graph.es["weight"] if is_weighted else [None] * len(edges), told)
    is_directed = bool(graph.is_directed())
    if not (is_weighted or is_directed):
        weights[ends[:, 0] == ends[:, 1]] = 2.0
    return Read(assemble(ends.T, weights, graph.vcount(), not is_directed), names, is_directed)


def _from_anndata(graph: Any) -> Read:
    if CONNECTIVITIES not in graph.obsp:
        there = ", ".join(map(repr, graph.obsp)) or "nothing"
        raise ValueError(
            f"The graph is an AnnData whose obsp has no {CONNECTIVITIES!r} (it has {there}). Run "
            "scanpy.pp.neighbors(adata) first, or pass the matrix of affinities itself."
        )
    return Read(graph.obsp[CONNECTIVITIES], tuple(graph.obs_names), False)


def _from_data(graph: Any) -> Read:
    # Of torch_geometric, whose edge_attr may be weights or features of edges.
    weights = getattr(graph, "edge_weight", None)
    if weights is None:
        weights = getattr(graph, "edge_attr", None)
    return _from_edge_index(graph.edge_index, weights, getattr(graph, "num_nodes", None))


def _from_pair(graph: Sequence[Any]) -> Read:
    return _from_edge_index(*graph)


def _from_edge_index(edge_index: Any, edge_weight: Any, n_nodes: Any = None) -> Read:
    """Read edges as torch_geometric has them: pairs of numbers, with both directions listed."""
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
    ends = ends.astype(np.int64)
    least = int(ends.max(initial=-1)) + 1
    n = least if n_nodes is None else check_count("num_nodes of the graph", n_nodes, minimum=0)
    outside = np.flatnonzero((ends < 0).any(axis=0) | (ends >= n).any(axis=0))
    if outside.size:
        u, v = ends[:, outside[0]].tolist()
        raise ValueError(
            f"The edge_index of the graph has edge {outside[0]} from {u} to {v}, but its nodes are "
            f"numbered from 0 to {n - 1}; number them so, or pass a larger number of nodes."
        )

    def told(number: int) -> str:
        u, v = ends[:, number].tolist()
        return f"({u}, {v})"

    values = None if edge_weight is None else _on_host(edge_weight)
    if values is not None:
        values = as_plain("The edge weights of the graph", values)
        if values.shape not in {(ends.shape[1],), (ends.shape[1], 1)}:
            raise ValueError(
                f"The graph has {ends.shape[1]} edges, and its edge weights have shape "
                f"{values.shape}; one weight for every edge is needed. Where they are features of "
                "edges, pass (edge_index, None) or weights made of them."
            )
        values = values.reshape(-1)
    weights = np.ones(ends.shape[1]) if values is None else _weights(values, told)
    refuse_repeated(ends, n, told, "Add their weights up first, as torch_geometric.utils.coalesce.")
    forth, back = (np.sort(a * n + b) for a, b in (ends, ends[::-1]))
    matrix = assemble(ends, weights, n, is_undirected=False)
    return Read(matrix, None, not np.array_equal(forth, back))


def _from_table(graph: Any) -> Read:
    from leastcut.integrations.graphs.edge_tables import read_table  # which few calls need

    return Read(*read_table(graph))


LIBRARIES: dict[tuple[str, str], Callable[[Any], Read]] = {
    ("networkx", "Graph"): _from_networkx,
    ("igraph", "Graph"): _from_igraph,
    ("anndata", "AnnData"): _from_anndata,
    ("pandas", "DataFrame"): _from_table,
    ("polars", "DataFrame"): _from_table,
}
"""What reads the graphs of a library, by its name and that of the type, or of one it derives from.
A further library is a further line here."""


# -- what they share


def _weights(values: Any, told: Callable[[int], str]) -> np.ndarray:
    """Return the weights of edges, 1 where none has any, or raise naming the first bad one."""
    if isinstance(values, list):
        missing = [number for number, value in enumerate(values) if value is None]
        if len(missing) == len(values):
            return np.ones(len(values))
        if missing:
            raise ValueError(
                f"The graph has {len(missing)} of {len(values)} edges without a weight; the first "
                f"is {told(missing[0])}. Give every edge a weight, or none."
            )
    weights = as_floats("The edge weights of the graph", values)
    check_edge_weights(weights, told)
    return weights


def _on_host(array: Any) -> Any:
    """Return a tensor of PyTorch as an array; anything else as it is."""
    if not hasattr(array, "detach"):
        return array
    array = array.detach().cpu()
    # NumPy does not have all of its floating types.
    return (array.double() if array.is_floating_point() else array).numpy()
