"""The graph: a symmetric matrix of non-negative affinities, checked once and carried on.

:func:`as_graph` checks and converts what a user passed; the reasons why a graph is refused stand in
:func:`firstcut.validation.check_graph`. It costs O(edges) for a matrix and nothing for a
:class:`Graph`, which is trusted. The caller's matrix is never changed; it is shared, not copied,
when it already is what is needed (float64 CSR, sorted, no duplicates, no stored zeros).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.validation import average_rounding, canonical_csr, check_graph


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

    def symmetrised(self) -> Graph:
        """Return the graph with sorted columns and S_ij equal to S_ji to the last bit.

        Contraction adds the same weights up in different orders, and rounds them differently.
        """
        matrix = average_rounding(canonical_csr(self.matrix))
        return Graph(matrix.indptr, matrix.indices, matrix.data)

    def restrict(self, nodes: np.ndarray) -> Graph:
        """Return the graph between some of the nodes, in the order given."""
        inside = sp.csr_array(self.matrix[nodes][:, nodes])
        # Choosing columns leaves them in the order chosen.
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
    matrix = check_graph(graph)
    return Graph(matrix.indptr, matrix.indices, matrix.data)
