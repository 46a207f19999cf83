"""The graph: a symmetric matrix of non-negative affinities, checked once and carried on.

:func:`as_graph` checks and converts what a user passed; the reasons why a graph is refused stand in
:func:`leastcut.validation.check_graph`. It costs O(edges) for a matrix and nothing for a
:class:`Graph`, which is trusted. The caller's matrix is never changed; it is shared, not copied,
when it already is what is needed (float64 CSR, sorted, no duplicates, no stored zeros).
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

# Entries of lists up to which SciPy makes a graph of them as fast as compiled kernels do, which
# take seconds to compile: 50,000 in 2.7 ms and 3.0 ms, 10 million in 1.1 s and 0.8 s.
FEW_LISTED = 2**16
ROWS = 2**15  # rows of a graph that a thread works on at once
BUCKET = 2**12  # rows, at least, whose entries a transpose collects at once: they stay in cache
MOST_PARTS = 256  # buckets, about, at most: memory is slow to write to at too many places in turn


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted undirected graph, known to be valid: symmetric, finite, positive where stored.

    The affinities S are in CSR form, as compiled kernels read them: the neighbors of node i are
    ``indices[indptr[i]:indptr[i + 1]]``. Columns are sorted in the graph that a user passed, and in
    any order in one made by contraction. What else is asked of it is computed when it is first
    asked for, and kept. Only a graph that was passed has ``names`` of its nodes, and ``idle``, the
    stored entries of weight 0 that join a node without edges to others, in both directions.
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
        """The affinities S as a sparse array; it shares the memory of the graph."""
        n = self.n_nodes
        # From its arrays as they are: nothing is copied, so nobody may change the matrix in place.
        return sp.csr_array((self.weights, self.indices, self.indptr), shape=(n, n))

    @cached_property
    def degrees(self) -> np.ndarray:
        """The row sums d = S·1, self-loops included once."""
        return np.asarray(self.matrix.sum(axis=1), dtype=np.float64).reshape(-1)

    @property
    def outward(self) -> np.ndarray:
        """The weight of every node's edges to others, summed: no self-loop is subtracted."""
        rows = self.rows
        outward = np.where(rows == self.indices, 0.0, self.weights)
        return np.bincount(rows, outward, minlength=self.n_nodes)

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
        # Labels 0..count-1, as int32; self-loops make no difference.
        return int(count), component

    def symmetrized(self) -> Graph:
        """Return the graph with sorted columns and S_ij equal to S_ji to the last bit.

        Contraction adds the same weights up in different orders, and rounds them differently.
        """
        matrix = symmetrized(canonical_csr(self.matrix))
        return Graph(matrix.indptr, matrix.indices, matrix.data)

    def restrict(self, nodes: np.ndarray) -> Graph:
        """Return the graph between some of the nodes, in the order given."""
        inside = sp.csr_array(self.matrix[nodes][:, nodes])
        # Choosing columns leaves them in the order chosen.
        inside.sort_indices()
        return Graph(inside.indptr, inside.indices, inside.data)

    def __repr__(self) -> str:
        return one_line(self, n_nodes=self.n_nodes, n_stored=self.n_stored)


class FactoredGraph(ABC):
    """A graph whose edges are not stored."""

    @abstractmethod
    def as_problem(self, cut: Any, **options: Any) -> Any:
        """Return the problem of cutting it, as :func:`leastcut.problem.as_problem` does."""


def as_graph(graph: Any, symmetrize: str | None = None) -> Graph:
    """Check an affinity matrix, or a graph of another library, and return it as a :class:`Graph`.

    The matrix is symmetric, finite and non-negative, with self-loops allowed; a directed one is
    made symmetric as ``symmetrize`` says (see :func:`leastcut.partition`). The libraries are those
    of :mod:`leastcut.integrations.graphs`.
    """
    symmetrize = check_symmetrize(symmetrize)
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, FactoredGraph):
        raise TypeError(
            f"{graph!r} stores no edges, and this needs them. partition, refine, cut_value, relax "
            "and lower_bound take it as it is; for anything else pass graph.to_sparse(), if it is "
            "small enough for its edges to be stored."
        )
    names, is_directed = None, False
    if not (isinstance(graph, np.ndarray) or sp.issparse(graph)):
        from leastcut.integrations.graphs import as_matrix, is_foreign  # which few calls need

        if is_foreign(graph):
            graph, names, is_directed = as_matrix(graph)
    matrix = check_graph(graph, symmetrize, names, is_directed)
    return Graph(matrix.indptr, matrix.indices, matrix.data, names, _idle(graph, matrix))


def _idle(given: Any, matrix: sp.csr_array) -> sp.csr_array | None:
    """Return which nodes stored zeros join to nodes without edges, or None where there are none.

    ``matrix`` is made of ``given`` and has no zeros. Most graphs store none, which takes no time.
    """
    if not sp.issparse(given) or given.nnz == matrix.nnz:
        return None
    isolated = np.diff(matrix.indptr) == 0
    if not isolated.any():
        return None
    rows, columns = sp.coo_array(given).coords
    joined = (isolated[rows] | isolated[columns]) & (rows != columns)
    return joined_pairs(rows[joined], columns[joined], matrix.shape[0]) if joined.any() else None


def joined_pairs(rows: np.ndarray, columns: np.ndarray, n_nodes: int) -> sp.csr_array:
    """Return the pattern of pairs of nodes, each once in both directions."""
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
    """Return (S + Sᵀ) / 2 for the weights S of lists, or the larger of both directions.

    The neighbors listed for node i are ``indices[indptr[i]:indptr[i + 1]]``, none twice, with
    weights that are not negative; zeros are not stored. Indices and weights are sorted in place.
    ``loops`` are positive weights of nodes to themselves, if lists do not hold the node itself. The
    result is symmetric to the last bit, sorted, and does not depend on the number of threads.
    """
    n, n_listed = indptr.size - 1, weights.size
    if n_listed <= FEW_LISTED:
        return _by_scipy(indptr, indices, weights, loops, larger)
    from leastcut.kernels.assemble import fill_buckets, merge_bucket, sort_lists

    # Both directions of every edge and a self-loop per node must fit.
    index = index_type(2 * n_listed + n)
    lists = indptr, indices.astype(index, copy=False), weights, np.empty(n, dtype=np.int64)
    own = np.empty(0) if loops is None else loops
    # Chunks of rows to read from, and buckets of 2^shift rows to write to.
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
        merge_bucket(is_filling, bucket, start, stop, lists, buckets, found, own, larger, scratch)

    # 1. Rows of S by column, without zeros; and how many entries go from each chunk to each bucket.
    in_blocks(sort, n, rows, n_threads)
    # 2. Entries to the bucket of the node they point to: bucket by bucket, chunk after chunk.
    ends = np.cumsum(places.T).reshape(places.T.shape).T
    size = ends[-1, -1]
    places[:] = ends - places
    buckets = places, np.empty(size, dtype=index), np.empty(size, dtype=index), np.empty(size)
    in_blocks(fill, n, rows, n_threads)
    # 3. In every bucket the rows of the transpose, merged with those of S: first how long they are.
    found_indptr = np.zeros(n + 1, dtype=np.int64)
    found = found_indptr, np.empty(0, dtype=index), np.empty(0)
    in_blocks(partial(merge, False), n, 1 << shift, n_threads)
    np.cumsum(found_indptr, out=found_indptr)
    found = found_indptr, np.empty(found_indptr[-1], dtype=index), np.empty(found_indptr[-1])
    in_blocks(partial(merge, True), n, 1 << shift, n_threads)
    return sp.csr_array((found[2], found[1], found_indptr.astype(index)), shape=(n, n))


def _by_scipy(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    loops: np.ndarray | None,
    larger: bool,
) -> sp.csr_array:
    """Return the symmetric graph of a few lists, the same to the last bit."""
    n = indptr.size - 1
    S = sp.csr_array((weights, indices, indptr.copy()), shape=(n, n))  # zeros change it
    S.eliminate_zeros()
    S.sort_indices()
    if loops is not None:
        S = S + sp.diags_array(loops, format="csr")
    T = S.T.tocsr()
    both = S.maximum(T) if larger else (S + T) * 0.5
    index = index_type(2 * weights.size + n)
    arrays = both.data, both.indices.astype(index), both.indptr.astype(index)
    return sp.csr_array(arrays, shape=(n, n))
