"""The graph: a symmetric matrix of non-negative affinities, checked once and carried on.

:func:`as_graph` is the one place where a graph is checked and converted, and where the reasons
stand why one is refused. It costs O(edges) for a matrix and nothing for a :class:`Graph`, which is
trusted. The caller's matrix is never changed; it is shared, not copied, when it already is what is
needed (float64 CSR, sorted, no duplicates, no stored zeros).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.validation import canonical_csr

SYMMETRY_TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-8}
"""Asymmetry, relative to the largest weight, that counts as rounding and is averaged away."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted undirected graph, known to be valid: symmetric, finite, positive where stored.

    It holds the arrays that compiled kernels read. What else is asked of it is made from them when
    it is first asked for, and kept.

    Attributes
    ----------
    indptr, indices, weights : ndarray
        The affinities S in CSR form: the neighbours of node i are
        ``indices[indptr[i]:indptr[i + 1]]``, with these weights. Columns are sorted in the graph
        that a user passed, and in any order in one made by contraction.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return int(self.indptr.shape[0]) - 1

    @property
    def n_stored(self) -> int:
        """Number of stored entries: every edge twice, every self-loop once."""
        return int(self.indptr[-1])

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The affinities S as a sparse array; it shares the memory of the graph."""
        n = self.n_nodes
        return sp.csr_array((self.weights, self.indices, self.indptr), shape=(n, n))

    @cached_property
    def degrees(self) -> np.ndarray:
        """The row sums d = S·1, self-loops included once."""
        return np.asarray(self.matrix.sum(axis=1), dtype=np.float64).reshape(-1)

    @property
    def rows(self) -> np.ndarray:
        """The row of every stored entry, as ``indices`` is its column; made afresh every time."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))

    @property
    def connected(self) -> np.ndarray:
        """The nodes that have edges, self-loops counted; the others are isolated."""
        return np.flatnonzero(self.degrees > 0)

    @cached_property
    def components(self) -> tuple[int, np.ndarray]:
        """How many connected components there are, and the component of every node."""
        count, component = sp.csgraph.connected_components(self.matrix, directed=False)
        return int(count), component

    def restrict(self, nodes: np.ndarray) -> Graph:
        """Return the graph between some of the nodes, in the order given."""
        inside = sp.csr_array(self.matrix[nodes][:, nodes])
        inside.sort_indices()
        return Graph(inside.indptr, inside.indices, inside.data)


def as_graph(graph: Any) -> Graph:
    """Check an affinity matrix and return it as a :class:`Graph`.

    Parameters
    ----------
    graph : Graph, sparse matrix or array, or array-like of shape (n, n)
        Symmetric, finite, non-negative affinities; self-loops allowed.

    Returns
    -------
    Graph

    Examples
    --------
    >>> from firstcut.graph import as_graph
    >>> as_graph([[0.0, 2.0], [2.0, 1.0]]).degrees
    array([2., 3.])
    """
    if isinstance(graph, Graph):
        return graph
    matrix = _as_csr(graph)
    _check_weights(matrix)
    matrix = _symmetric(matrix)
    return Graph(matrix.indptr, matrix.indices, matrix.data)


def _as_csr(graph: Any) -> sp.csr_array:
    """Return canonical real CSR arrays for any matrix, sharing memory where that is possible."""
    if not sp.issparse(graph):
        graph = np.asarray(graph)
    shape = graph.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"The graph must be a square matrix of affinities between nodes, but its shape is "
            f"{shape}. Build one from points with firstcut.adaptive_neighbors_graph(X)."
        )
    if shape[0] == 0:
        raise ValueError("The graph has no nodes; it must have at least one.")
    if graph.dtype.kind not in "fiub":
        raise ValueError(
            f"The graph must hold real numbers, but its dtype is {graph.dtype}; convert it first."
        )
    matrix = sp.csr_array(graph)
    if matrix.dtype not in SYMMETRY_TOLERANCE:
        matrix = matrix.astype(np.float64)
    matrix = canonical_csr(matrix)
    if np.count_nonzero(matrix.data) != matrix.nnz:
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    fits = max(matrix.nnz, shape[0]) < np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    return sp.csr_array(
        (
            matrix.data,
            matrix.indices.astype(index, copy=False),
            matrix.indptr.astype(index, copy=False),
        ),
        shape=shape,
    )


def _check_weights(matrix: sp.csr_array) -> None:
    """Raise if any stored weight is not finite or is negative, naming the first."""
    data = matrix.data
    if data.size == 0:
        return
    low, high = data.min(), data.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = ~np.isfinite(data)
        _raise_at(matrix, bad, "NaN or infinite", "Remove or replace them.")
    if low < 0:
        _raise_at(
            matrix,
            data < 0,
            "negative",
            "A cut needs non-negative affinities; clip or shift them, or turn distances into "
            "affinities.",
        )


def _raise_at(matrix: sp.csr_array, bad: np.ndarray, what: str, remedy: str) -> None:
    position = int(np.argmax(bad))
    row = int(np.searchsorted(matrix.indptr, position, side="right")) - 1
    column = int(matrix.indices[position])
    count = int(np.count_nonzero(bad))
    raise ValueError(
        f"The graph has {count} {what} {'entry' if count == 1 else 'entries'}; the first is "
        f"{matrix.data[position]} at ({row}, {column}). {remedy}"
    )


def _symmetric(matrix: sp.csr_array) -> sp.csr_array:
    """Return the matrix in float64 if it is symmetric, up to rounding, which is averaged away."""
    relative = SYMMETRY_TOLERANCE[matrix.dtype]
    transpose = matrix.T.tocsr()
    same_pattern = np.array_equal(matrix.indptr, transpose.indptr) and np.array_equal(
        matrix.indices, transpose.indices
    )
    if same_pattern and np.array_equal(matrix.data, transpose.data):
        return matrix.astype(np.float64, copy=False)
    matrix, transpose = matrix.astype(np.float64), transpose.astype(np.float64)
    difference = abs(matrix - transpose)
    asymmetry = float(difference.max())
    largest = float(matrix.data.max())
    if asymmetry > relative * largest:
        row, column = divmod(int(difference.argmax()), matrix.shape[0])
        raise ValueError(
            f"The graph is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ "
            f"by {asymmetry:.6g}, the largest weight being {largest:.6g}. "
            "Pass (S + S.T) / 2 if that is what you mean."
        )
    half = matrix * 0.5 + transpose * 0.5
    half.sort_indices()
    return half
