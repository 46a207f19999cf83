"""Refinement: move nodes on the exact cut value until no single move helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from firstcut.cuts import CutLike, cut_value, node_weights
from firstcut.graph import Graph, as_graph
from firstcut.inputs import check_labels
from firstcut.kernels.climb import climb
from firstcut.kernels.moves import border, measure, settle
from firstcut.result import Partition

LARGEST = 1e280
"""Sums of weights are kept below this, with room for what is done with them."""

VISITS_PER_NODE = 20
"""One settling may visit this many times the nodes there are; the sums are then taken afresh."""


@dataclass(frozen=True, eq=False)
class Level:
    """A graph as the compiled kernels read it; self-loops may be stored and mean nothing here.

    Attributes
    ----------
    indptr, indices, weights : ndarray
        The affinities in CSR form; columns need not be sorted.
    node_weights : ndarray of shape (n,)
        The node weights b of the cut.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    node_weights: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.node_weights.shape[0])

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return int(self.indptr[-1])

    @property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The four arrays, in the order in which the kernels take them."""
        return self.indptr, self.indices, self.weights, self.node_weights


class State:
    """A partition of a level that is being improved: the labels and the sums that give its value.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        The cluster of every node; changed in place by the methods.
    value : float
        The cut value, as the last :meth:`measure` or the moves since then give it.
    work : int
        Edges visited so far.
    """

    def __init__(
        self, level: Level, labels: np.ndarray, n_clusters: int, same: State | None = None
    ) -> None:
        """Take the sums from the labels, or from the ``same`` partition of another level."""
        self.level = level
        self.labels = labels
        self.n_clusters = n_clusters
        self.boundary = np.empty(n_clusters)
        self.mass = np.empty(n_clusters)
        self.count = np.empty(n_clusters, dtype=np.int64)
        self.ratio = np.empty(n_clusters)
        self.bounds = np.empty(3)
        self.link = np.zeros(n_clusters)
        self.touched = np.empty(n_clusters, dtype=np.int32)
        self.work = 0
        self.value: float = np.inf
        if same is None:
            self.measure()
        else:
            self.boundary[:], self.mass[:], self.ratio[:] = same.boundary, same.mass, same.ratio
            self.count[:] = np.bincount(labels, minlength=n_clusters)
            self.bounds[:] = same.bounds
            self.value = same.value

    @property
    def _sums(self) -> tuple[np.ndarray, ...]:
        return self.boundary, self.mass, self.count, self.ratio, self.bounds

    def measure(self) -> float:
        """Take all sums afresh from the labels and return the cut value."""
        self.work += self.level.n_stored
        self.value = float(measure(*self.level.csr, self.labels, *self._sums))
        return self.value

    def on_border(self) -> np.ndarray:
        """Return 1 for every node with a neighbour in another cluster, else 0."""
        found = np.empty(self.level.n_nodes, dtype=np.uint8)
        border(self.level.indptr, self.level.indices, self.labels, found)
        self.work += self.level.n_stored
        return found

    def settle(self, nodes: np.ndarray | None = None) -> int:
        """Make improving moves, starting at ``nodes`` (default: all); return how many."""
        n = self.level.n_nodes
        queue = np.empty(n, dtype=np.int32)
        queued = np.zeros(n, dtype=np.uint8)
        if nodes is None:
            queue[:] = np.arange(n, dtype=np.int32)
            queued[:] = 1
            size = n
        else:
            size = nodes.shape[0]
            queue[:size] = nodes
            queued[nodes] = 1
        decrease, moves, edges = settle(
            *self.level.csr, self.labels, *self._sums, self.link, self.touched,
            queue, size, queued, VISITS_PER_NODE * n,
        )  # fmt: skip
        self.value -= decrease
        self.work += edges
        return int(moves)

    def climb(self, seeds: np.ndarray, patience: int, max_edges: int) -> float:
        """Run one chain of moves from each seed; return by how much the value fell."""
        n = self.level.n_nodes
        decrease, edges = climb(
            *self.level.csr, self.labels, *self._sums, self.link, self.touched,
            seeds, patience, max_edges,
            np.empty(n), np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.uint8),
            np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32),
        )  # fmt: skip
        self.value -= decrease
        self.work += edges
        return float(decrease)

    def finish(self) -> float:
        """Settle until a round over every node, on fresh sums, finds no move; return the value.

        To be called on fresh sums.
        """
        value = self.value
        while self.settle() > 0:
            before, value = value, self.measure()
            if not value < before:  # what is left to gain is below the rounding of the sums
                break
        return value


def as_level(graph: Graph, cut: CutLike) -> Level:
    """Return a graph and the node weights of a cut as one level, scaled where sums could overflow.

    Both scales are powers of two, so the smallest cut is the same one.
    """
    matrix = graph.matrix
    b = node_weights(graph, cut)
    return Level(
        matrix.indptr,
        matrix.indices,
        _within_range(matrix.data),
        _within_range(b),
    )


def _within_range(values: np.ndarray) -> np.ndarray:
    """Scale positive numbers by a power of two so that neither sums nor inverses overflow.

    Numbers that would vanish beside the largest become the smallest that count: an edge is an edge.
    """
    if values.size == 0:
        return values
    largest = float(values.max())
    ceiling = LARGEST / values.size
    if 1.0 / LARGEST < largest < ceiling:
        return values
    target = 1.0 if largest < 1.0 else ceiling
    exponent = int(np.frexp(target)[1]) - int(np.frexp(largest)[1]) - 1
    scaled: np.ndarray = np.maximum(np.ldexp(values, exponent), np.finfo(np.float64).tiny)
    return scaled


def refine(graph: Any, labels: npt.ArrayLike, cut: CutLike = "normalized") -> Partition:
    """Improve a partition by moving nodes until no single move makes its cut smaller.

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities.
    labels : array-like of shape (n,)
        The partition to start from, by whatever tool it was made; any labels will do.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.

    Returns
    -------
    Partition
        With as many clusters as ``labels`` has. Its value is never above that of ``labels``, and
        no move of one node to another cluster lowers it.

    Notes
    -----
    A move is judged by the exact change of the cut value, which takes only the node's own edges;
    a node that moves brings its neighbours back for another look. The cost is O(edges) plus that of
    the moves.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> firstcut.refine(S, [0, 0, 1, 1, 1, 1], cut="ratio").labels
    array([0, 0, 0, 1, 1, 1])
    """
    graph = as_graph(graph)
    labels = check_labels(labels, graph.n_nodes)
    before = cut_value(graph, labels, cut)
    state = State(as_level(graph, cut), labels.astype(np.int32), int(labels.max()) + 1)
    state.finish()
    refined = state.labels.astype(np.int64)
    after = cut_value(graph, refined, cut)
    if not after < before:
        return Partition(labels, before)
    return Partition(refined, after)
