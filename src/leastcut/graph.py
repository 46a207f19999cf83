"""Graphs: symmetric matrices of non-negative affinities.

:func:`as_graph` validates and converts user input, in O(edges);
:func:`leastcut.validation.check_graph` raises its errors. A :class:`Graph` is not validated again.
The user's matrix is never changed. It is shared, not copied, if it is a sorted float64 CSR matrix
without duplicates and stored zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.formatting import one_line
from leastcut.threads import in_blocks
from leastcut.validation import (
    canonical_csr,
    check_graph,
    check_symmetrize,
    index_type,
    symmetrized,
)

# Up to this number of listed entries SciPy is used: it is as fast as the kernels, which take
# seconds to compile.
FEW_LISTED = 2**16
ROWS = 2**15  # rows of a graph that a thread processes at a time
BUCKET = 2**12  # fewest rows per bucket of the transpose, so that a bucket fits into the cache
MOST_PARTS = 256  # about the largest number of buckets; writing to too many places is slow


@dataclass(frozen=True, eq=False)
class Graph:
    """A valid weighted undirected graph: symmetric, with finite positive stored entries.

    The affinities S are in CSR format: the neighbors of node i are
    ``indices[indptr[i]:indptr[i + 1]]``. Columns are sorted in user input, and in any order after a
    contraction. Derived quantities are computed on first access and cached. ``names`` are the names
    of the nodes, and ``idle`` are the stored entries of weight 0 between isolated and other nodes,
    in both directions; both are set for user input only.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    names: tuple[Any, ...] | None = None
    idle: sp.csr_array | None = None

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
        """The affinities S as a sparse array; it shares memory with the graph."""
        n = self.n_nodes
        return sp.csr_array((self.weights, self.indices, self.indptr), shape=(n, n))

    @cached_property
    def degrees(self) -> np.ndarray:
        """The row sums d = S·1, self-loops included once."""
        return np.asarray(self.matrix.sum(axis=1), dtype=np.float64).reshape(-1)

    @property
    def outward(self) -> np.ndarray:
        """The sum of the weights of each node's edges, without self-loops."""
        rows = self.rows
        outward = np.where(rows == self.indices, 0.0, self.weights)
        return np.bincount(rows, outward, minlength=self.n_nodes)

    @property
    def rows(self) -> np.ndarray:
        """The row of every stored entry; not cached."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))

    @property
    def connected(self) -> np.ndarray:
        """The nodes with edges, including self-loops; the others are isolated."""
        return np.flatnonzero(self.degrees > 0)

    @cached_property
    def components(self) -> tuple[int, np.ndarray]:
        """The number of connected components, and the component of every node."""
        count, component = sp.csgraph.connected_components(self.matrix, directed=False)
        return int(count), component

    def symmetrized(self) -> Graph:
        """Return the graph with sorted columns and S_ij exactly equal to S_ji.

        Contraction adds the same weights in different orders, so that rounding differs.
        """
        matrix = symmetrized(canonical_csr(self.matrix))
        return Graph(matrix.indptr, matrix.indices, matrix.data)

    def restrict(self, nodes: np.ndarray) -> Graph:
        """Return the graph induced by ``nodes``, in their order."""
        inside = sp.csr_array(self.matrix[nodes][:, nodes])
        inside.sort_indices()
        return Graph(inside.indptr, inside.indices, inside.data)

    def __repr__(self) -> str:
        return one_line(self, n_nodes=self.n_nodes, n_stored=self.n_stored)


class FactoredGraph(ABC):
    """A graph whose edges are not stored."""

    @abstractmethod
    def as_problem(self, cut: Any, **options: Any) -> Any:
        """Return the problem of cutting this graph, as :func:`leastcut.problem.as_problem` does."""


def as_graph(graph: Any, symmetrize: str | None = None) -> Graph:
    """Validate an affinity matrix, or a graph of another library, and return a :class:`Graph`.

    The matrix must be finite and non-negative, and symmetric unless ``symmetrize`` is passed (see
    :func:`leastcut.partition`). :mod:`leastcut.integrations.graphs` lists the libraries.
    """
    symmetrize = check_symmetrize(symmetrize)
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, FactoredGraph):
        raise TypeError(
            f"{graph!r} stores no edges, but this function needs them. partition, refine, "
            "cut_value, relax and lower_bound accept it; for other functions pass "
            "graph.to_sparse() if the edges fit into memory."
        )
    names, is_directed = None, False
    if not (isinstance(graph, np.ndarray) or sp.issparse(graph)):
        from leastcut.integrations.graphs import as_matrix, is_foreign  # slow to import

        if is_foreign(graph):
            graph, names, is_directed = as_matrix(graph)
    matrix = check_graph(graph, symmetrize, names, is_directed)
    return Graph(matrix.indptr, matrix.indices, matrix.data, names, _idle(graph, matrix))


def _idle(original: Any, matrix: sp.csr_array) -> sp.csr_array | None:
    """Return the stored zeros of ``original`` at isolated nodes as a pattern, or None.

    ``matrix`` is ``original`` in canonical form, without zeros.
    """
    if not sp.issparse(original) or original.nnz == matrix.nnz:
        return None
    isolated = np.diff(matrix.indptr) == 0
    if not isolated.any():
        return None
    rows, columns = sp.coo_array(original).coords
    joined = (isolated[rows] | isolated[columns]) & (rows != columns)
    return joined_pairs(rows[joined], columns[joined], matrix.shape[0]) if joined.any() else None


def joined_pairs(rows: np.ndarray, columns: np.ndarray, n_nodes: int) -> sp.csr_array:
    """Return the symmetric pattern of pairs of nodes, with ones as entries."""
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    pattern = sp.coo_array((np.ones(2 * rows.size), both), shape=(n_nodes, n_nodes)).tocsr()
    pattern.data[:] = 1.0
    return pattern


def symmetric_graph(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    loops: np.ndarray | None = None,
    *,
    larger: bool = False,
    n_threads: int = 1,
) -> sp.csr_array:
    """Return (S + Sᵀ) / 2 for neighbor lists S, or the maximum of both directions.

    The neighbors listed for node i are ``indices[indptr[i]:indptr[i + 1]]``, without duplicates and
    with non-negative weights; zeros are not stored. Indices and weights are sorted in place.
    ``loops`` are positive weights of self-loops, if the lists have none. The result is exactly
    symmetric, sorted, and does not depend on the number of threads.
    """
    n, n_listed = indptr.size - 1, weights.size
    if n_listed <= FEW_LISTED:
        return _by_scipy(indptr, indices, weights, loops, larger)
    from leastcut.kernels.assemble import fill_buckets, merge_bucket, sort_lists

    # Large enough for both directions of every edge and a self-loop per node.
    index = index_type(2 * n_listed + n)
    lists = indptr, indices.astype(index, copy=False), weights, np.empty(n, dtype=np.int64)
    self_loops = np.empty(0) if loops is None else loops
    # Rows are read in chunks and written to buckets of 2^shift rows.
    rows = max(ROWS, -(-n // MOST_PARTS))
    shift = max((BUCKET - 1).bit_length(), (n // MOST_PARTS).bit_length())
    places = np.zeros((-(-n // rows), ((n - 1) >> shift) + 1), dtype=np.int64)

    def sort(start: int, stop: int) -> None:
        sort_lists(start // rows, start, stop, shift, lists, places)

    def fill(start: int, stop: int) -> None:
        fill_buckets(start // rows, start, stop, shift, lists, buckets)

    def merge(is_filling: bool, start: int, stop: int) -> None:
        bucket = start >> shift
        size = places[-1, bucket] - (places[-1, bucket - 1] if bucket else 0)
        ends = np.empty(stop - start, dtype=np.int64)
        scratch = ends, np.empty(size, dtype=index), np.empty(size)
        merge_bucket(
            is_filling, bucket, start, stop, lists, buckets, merged, self_loops, larger, scratch
        )

    # 1. Sort the rows of S, drop zeros, and count the entries from each chunk to each bucket.
    in_blocks(sort, n, rows, n_threads)
    # 2. Copy each entry to the bucket of its column, in the order of the chunks.
    ends = np.cumsum(places.T).reshape(places.T.shape).T
    size = ends[-1, -1]
    places[:] = ends - places
    buckets = places, np.empty(size, dtype=index), np.empty(size, dtype=index), np.empty(size)
    in_blocks(fill, n, rows, n_threads)
    # 3. Merge the rows of each bucket with the rows of S: count first, then fill.
    merged_indptr = np.zeros(n + 1, dtype=np.int64)
    merged = merged_indptr, np.empty(0, dtype=index), np.empty(0)
    in_blocks(partial(merge, False), n, 1 << shift, n_threads)
    np.cumsum(merged_indptr, out=merged_indptr)
    merged = merged_indptr, np.empty(merged_indptr[-1], dtype=index), np.empty(merged_indptr[-1])
    in_blocks(partial(merge, True), n, 1 << shift, n_threads)
    return sp.csr_array((merged[2], merged[1], merged_indptr.astype(index)), shape=(n, n))


def _by_scipy(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    loops: np.ndarray | None,
    larger: bool,
) -> sp.csr_array:
    """Return the result of :func:`symmetric_graph`, computed by SciPy."""
    n = indptr.size - 1
    S = sp.csr_array((weights, indices, indptr.copy()), shape=(n, n))  # eliminate_zeros changes it
    S.eliminate_zeros()
    S.sort_indices()
    if loops is not None:
        S = S + sp.diags_array(loops, format="csr")
    T = S.T.tocsr()
    both = S.maximum(T) if larger else (S + T) * 0.5
    index = index_type(2 * weights.size + n)
    arrays = both.data, both.indices.astype(index), both.indptr.astype(index)
    return sp.csr_array(arrays, shape=(n, n))
