"""Refinement of partitions on the exact cut value.

:class:`State` is a partition that is improved, also on the levels of a multilevel pass, by

1. local search: improving moves of single nodes until there are none;
2. Fiduccia–Mattheyses (FM) search: chains of moves, of which the best prefix is kept;
3. exchanges of nodes between clusters, if constraints forbid moves;
4. flow refinement: minimum cuts along the borders of clusters with weight limits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from leastcut.kernels.balance import exchange_within_limits, list_moves
from leastcut.kernels.exchange import exchange
from leastcut.kernels.flow_refinement import refine_borders
from leastcut.kernels.fm_search import fm_search
from leastcut.kernels.moves import HEAVY, LARGEST, local_search, mark_border, measure
from leastcut.multilevel.coarsening import never
from leastcut.problem import AnyProblem, CutLike, Problem, as_any_problem, unsupported_problem
from leastcut.reductions import join_neighbors
from leastcut.results import Partition
from leastcut.validation import check_labels

# Limit on the visits of a local search, per node: rounding accumulates in the sums until they are
# recomputed. Most runs need fewer than half as many.
VISITS_PER_NODE = 20
MOST_STALLED = 5  # consecutive local searches that may end without a smaller value
EXCHANGE_EDGES = 10  # limit on the edges visited in a round of exchanges, per stored edge
FLOW_EDGES = 200  # limit on the edges visited in a flow refinement, per stored edge
# Smallest relative decrease of the value for a move of a heavy node: far above rounding of sums.
VISIBLE = 1e-10


def refine(
    graph: Any,
    labels: npt.ArrayLike,
    cut: CutLike = "normalized",
    *,
    symmetrize: str | None = None,
    isolated: str = "error",
) -> Partition:
    """Improve a partition by moving single nodes until no move decreases its cut value.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities, or a graph of a library that
        :func:`leastcut.partition` accepts.
    labels : array-like of shape (n,)
        The partition to improve, computed by any tool, as integers or strings.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    symmetrize : {"mean", "max"} or None, default=None
        How to make a directed graph symmetric: by the mean of both directions, (S + Sᵀ) / 2, or by
        their maximum. With None a directed graph raises an error.
    isolated : {"error", "ignore"}, default="error"
        How to treat nodes without edges, for which the normalized cut is undefined: raise an error,
        or ignore them: they keep their labels, and nodes with edges move between the clusters that
        contain nodes with edges. The cut value refers to these nodes.

    Returns
    -------
    Partition
        A partition with the same number of clusters. Its cut value is never larger than the cut
        value of ``labels``, and no move of one node to another cluster decreases it.

    See Also
    --------
    partition : Search for the smallest cut from scratch, or from initial partitions.
    certify : Prove how close a partition is to the optimum, and improve it.
    cut_value : Compute the cut value of a partition.

    Notes
    -----
    Each move is evaluated by the exact change of the cut value, which depends only on the edges of
    the node and on sums per cluster. After a move, the neighbors of the node are evaluated again.
    The cost is O(edges) plus the cost of the moves.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> leastcut.refine(S, [0, 0, 1, 1, 1, 1], cut="ratio").labels
    array([0, 0, 0, 1, 1, 1])
    """
    problem = as_any_problem(graph, cut, symmetrize=symmetrize, isolated=isolated)
    result: Partition = refine_problem(problem, check_labels(labels, problem.n_nodes))
    return result.named(problem.names)


@singledispatch
def refine_problem(problem: AnyProblem, labels: np.ndarray) -> Partition:
    """Move single nodes of a partition, labels 0..k-1, until no move decreases its value."""
    raise unsupported_problem("refine", problem)


@refine_problem.register(Problem)
def refine_graph(problem: Problem, labels: np.ndarray) -> Partition:
    """Move single nodes of a graph until no move decreases the value.

    Values are compared in the original scale, so the result is never worse than the start even if
    the problem is scaled for the moves. Isolated nodes of weight 0 keep their labels, or follow
    their neighbors by stored entries of weight 0.
    """
    if not problem.node_weights.min() > 0:
        return _refine_core(problem, labels)
    before = problem.value(labels)
    state = State(problem.within_range(), labels.astype(np.int32), int(labels.max()) + 1)
    state.finish()
    refined = state.labels.astype(np.int64)
    after = problem.value(refined)
    # With equal values, return the refined labels: a move may still improve the initial ones.
    return Partition(refined, after) if after <= before else Partition(labels, before)


def _refine_core(problem: Problem, labels: np.ndarray) -> Partition:
    """Refine the partition of the nodes with positive weight, and let the others follow.

    Isolated nodes follow unless their cluster has isolated nodes only.
    """
    nodes = np.flatnonzero(problem.node_weights > 0)
    if nodes.size == 0:
        return Partition(labels, 0.0)
    clusters, in_core = np.unique(labels[nodes], return_inverse=True)
    moved = labels.copy()
    moved[nodes] = clusters[refine_graph(problem.restrict(nodes), in_core.reshape(-1)).labels]
    idle = problem.graph.idle
    if idle is not None:
        free = (problem.node_weights == 0) & (np.diff(idle.indptr) > 0) & np.isin(labels, clusters)
        placed = join_neighbors(problem, np.where(free, -1, moved), free, idle)
        moved = np.where(placed < 0, moved, placed)
    return Partition(moved, problem.value(moved))


class State:
    """A partition, with sums per cluster that are updated with every move.

    Methods change ``labels`` in place. For every cluster, ``boundary`` is the weight of the edges
    that leave it, ``cluster_weights`` the weight of its nodes plus the problem's offset, ``count``
    the number of its nodes, and ``ratio`` the boundary divided by the weight. ``value`` is the cut
    value, computed by :meth:`measure` and updated by moves; ``work`` counts visited edges.
    """

    def __init__(
        self, problem: Problem, labels: np.ndarray, n_clusters: int, same: State | None = None
    ) -> None:
        """Compute the sums, or copy them from ``same``, the same partition on another level."""
        self.problem = problem
        self.labels = labels
        self.boundary = np.empty(n_clusters)
        self.cluster_weights = np.empty(n_clusters)
        self.count = np.empty(n_clusters, dtype=np.int64)
        self.ratio = np.empty(n_clusters)
        self.value: float = np.inf
        self.work = 0
        # The tuples that kernels take. The bounds are the largest ratio and the largest and
        # smallest cluster weight.
        self.arrays, bounds = problem.arrays, np.empty(3)
        self.sums = (
            labels, self.boundary, self.cluster_weights, self.count, self.ratio, bounds
        )  # fmt: skip
        self.scratch = np.zeros(n_clusters), np.empty(n_clusters, dtype=np.int32)
        # With None the kernels are compiled without the code for constraints.
        self.cannot_link = None if problem.cannot_link is None else problem.cannot_link.arrays
        self.limits = None
        if problem.limits is not None:
            self.limits = problem.limits.of_moves(n_clusters, problem.offset)
        if same is None:
            self.measure()
        else:
            # All sums except the node counts are the same on every level.
            for target, source in zip(self.sums[1:], same.sums[1:], strict=True):
                target[:] = source
            self.count[:] = np.bincount(labels, minlength=n_clusters)
            self.value = same.value

    def measure(self) -> float:
        """Recompute all sums from the labels and return the cut value."""
        self.work += self.problem.graph.n_stored
        self.value = float(measure(self.arrays, self.sums, self.problem.offset))
        return self.value

    def on_border(self) -> np.ndarray:
        """Return 1 for every node with a neighbor in another cluster, else 0."""
        graph = self.problem.graph
        is_border = np.empty(graph.n_nodes, dtype=np.uint8)
        mark_border(graph.indptr, graph.indices, self.labels, is_border)
        self.work += graph.n_stored
        return is_border

    def local_search(self, nodes: np.ndarray | None = None) -> int:
        """Make improving moves, starting at ``nodes`` (default: all); return their number."""
        n = self.problem.n_nodes
        # A node is in the queue at most once, so the ring buffer of size n cannot overflow.
        queue, queued = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
        first = np.arange(n, dtype=np.int32) if nodes is None else nodes
        queue[: first.size] = first
        queued[first] = 1
        decrease, moves, edges = local_search(
            self.arrays, self.sums, self.scratch, queue, first.size, queued, VISITS_PER_NODE * n,
            self.cannot_link, self.limits,
        )  # fmt: skip
        return self._record(decrease, moves, edges)

    def fm_search(self, seeds: np.ndarray, patience: int, max_edges: int) -> float:
        """Run a chain of moves from each seed; return the decrease of the value."""
        n = self.problem.n_nodes
        keys, (nodes, trail) = np.empty(n), np.empty((2, n), dtype=np.int32)
        chain = keys, nodes, np.zeros(n, dtype=np.uint8), trail, np.empty(n, dtype=np.int64)
        decrease, edges = fm_search(
            self.arrays, self.sums, self.scratch, seeds, patience, max_edges, chain,
            self.cannot_link, self.limits,
        )  # fmt: skip
        self._record(decrease, 0, edges)
        return float(decrease)

    def exchange(self, max_edges: int | None = None) -> int:
        """Make improving exchanges if constraints forbid moves; return their number.

        Moves are forbidden by cannot-links, and into clusters at their weight limit.
        """
        if max_edges is None:
            max_edges = EXCHANGE_EDGES * self.problem.graph.n_stored
        if self.limits is not None:
            return self._exchange_within_limits(max_edges)
        if self.problem.cannot_link is None:
            return 0
        n, n_clusters = self.problem.n_nodes, self.count.size
        members, seen, origin = np.zeros((3, n), dtype=np.int32)
        tried, saved = np.zeros(n_clusters, dtype=np.int32), np.empty((3, n_clusters))
        scratch = members, seen, origin, tried, self.scratch[0], saved
        nodes = self.problem.cannot_link.nodes
        return self._record(
            *exchange(self.arrays, self.sums, self.cannot_link, nodes, max_edges, scratch)
        )

    def _exchange_within_limits(self, max_edges: int) -> int:
        # 1. Find the best move of every border node if limits are ignored.
        nodes = np.flatnonzero(self.on_border()).astype(np.int32)
        change, target = np.empty(nodes.size), np.empty(nodes.size, dtype=np.int32)
        list_moves(self.arrays, self.sums, self.scratch, nodes, change, target)
        self.work += self.problem.graph.n_stored
        # 2. Sort the moves by cluster, the best first.
        order = np.lexsort((change, self.labels[nodes]))
        order = order[target[order] >= 0]
        listed = nodes[order], change[order], target[order]
        first = self._first_of_clusters(listed[0])
        return self._record(
            *exchange_within_limits(self.arrays, self.sums, self.limits, listed, first, max_edges)
        )

    def refine_by_flows(
        self, before: np.ndarray | None = None, is_late: Callable[[], bool] = never
    ) -> None:
        """Optimize the borders of pairs of clusters by minimum cuts until none improves.

        The value never increases. Without limits nothing is done, as single moves are enough. Sums
        must be recomputed before, and are recomputed after. With ``before``, start with the
        clusters that differ from these labels. Stops once ``is_late`` returns True.
        """
        if self.limits is None or is_late():
            return
        active = np.ones(self.count.size, dtype=np.uint8)
        if before is not None:
            changed = self.labels != before
            active[:] = 0
            active[self.labels[changed]] = active[before[changed]] = 1
        if self._move_borders(active, is_late) > 0:
            self.measure()
            self.local_search()
            self.measure()

    def _move_borders(self, active: np.ndarray, is_late: Callable[[], bool]) -> int:
        """Optimize borders of ``active`` clusters, then of changed ones; return how many moved."""
        n_stored = self.problem.graph.n_stored
        scratch = flow_scratch(self.problem.n_nodes, n_stored)
        total, left = 0, FLOW_EDGES * n_stored
        while active.any() and left > 0:
            # 1. Sort the border nodes by cluster, and list the pairs of adjacent clusters.
            nodes = np.flatnonzero(self.on_border()).astype(np.int32)
            pairs = self._touching(nodes)
            listed = nodes[np.argsort(self.labels[nodes], kind="stable")]
            borders = listed, self._first_of_clusters(nodes)
            # 2. Process the pairs in batches, because a kernel cannot be interrupted.
            changed, at = np.zeros_like(active), 0
            while at < len(pairs) and left > 0:
                if is_late():
                    return total
                decrease, improved, edges, at = refine_borders(
                    self.arrays, self.sums, self.limits, pairs, borders, (active, changed),
                    (at, n_stored), scratch,
                )  # fmt: skip
                total += self._record(decrease, improved, edges)
                left -= int(edges)
            self.work += n_stored
            active = changed
        return total

    def _touching(self, nodes: np.ndarray) -> np.ndarray:
        """Return the pairs of adjacent clusters, given all border nodes."""
        graph, n_clusters = self.problem.graph, self.count.size
        begin, sizes = graph.indptr[nodes], np.diff(graph.indptr)[nodes]
        # The positions of the edges of these nodes.
        offset = np.cumsum(sizes) - sizes
        edges = np.arange(int(sizes.sum())) + np.repeat(begin - offset, sizes)
        one = np.repeat(self.labels[nodes].astype(np.int64), sizes)
        other = self.labels[graph.indices[edges]]
        codes = np.unique((one * n_clusters + other)[one < other])
        return np.column_stack([codes // n_clusters, codes % n_clusters])

    def _first_of_clusters(self, nodes: np.ndarray) -> np.ndarray:
        """Return the start of each cluster in these nodes sorted by cluster."""
        count = np.bincount(self.labels[nodes], minlength=self.count.size)
        return np.concatenate(([0], np.cumsum(count)))

    def _record(self, decrease: float, count: int, edges: int) -> int:
        """Record the result of a kernel; the value is rounded until the next :meth:`measure`."""
        self.value -= decrease
        self.work += int(edges)
        return int(count)

    def finish(self) -> float:
        """Search until no node can move, on recomputed sums; return the value.

        Call :meth:`measure` first.
        """
        value, stalled = self.value, 0
        while True:
            # A local search may stop at its limit, so repeat it. Moves below the rounding of sums
            # may enable larger ones, so a few searches may end without a smaller value.
            while stalled < MOST_STALLED and self.local_search() > 0:
                before, value = value, self.measure()
                stalled = 0 if value < before else stalled + 1
            # Stop after exchanges that do not decrease the recomputed value, too.
            if not self._move_heavy() and (self.exchange() == 0 or not self.measure() < value):
                return self.value
            value, stalled = self.measure(), 0

    def _move_heavy(self) -> bool:
        """Move one node that is too heavy for the kernels, if that decreases the value.

        Call :meth:`measure` first. If a node has nearly all of its cluster's weight, the remaining
        weight is summed instead of subtracted, to avoid cancellation. The cost is O(n) without
        heavy nodes, else O(edges) plus O(edges of i + c) for every heavy node i.
        """
        labels, node_weights, graph = self.labels, self.problem.node_weights, self.problem.graph
        heavy = node_weights > HEAVY * self.cluster_weights[labels]
        heavy &= self.count[labels] > 1
        with np.errstate(over="ignore"):
            unsafe = (self.ratio.max() * node_weights > LARGEST) & (self.count[labels] > 1)
        candidates = np.flatnonzero(heavy | unsafe)
        if candidates.size == 0:
            return False
        # A cluster has at most one heavy node, so one pass gives the sums of all clusters without
        # heavy nodes. Edges to heavy nodes count as boundary.
        rows, n_clusters = graph.rows, self.count.size
        outside = (labels[rows] != labels[graph.indices]) | heavy[graph.indices]
        stays = outside & ~heavy[rows]
        left_boundary = np.bincount(labels[rows[stays]], graph.weights[stays], n_clusters)
        left_weight = np.bincount(labels[~heavy], node_weights[~heavy], n_clusters)
        for i in candidates:
            a, near = labels[i], slice(graph.indptr[i], graph.indptr[i + 1])
            edges = np.where(graph.indices[near] == i, 0.0, graph.weights[near])
            link = np.bincount(labels[graph.indices[near]], edges, n_clusters)
            joined = self.boundary + (edges.sum() - link) - link
            change = joined / (self.cluster_weights + node_weights[i]) - self.ratio
            if heavy[i]:
                left = left_boundary[a] / left_weight[a]
            else:
                left = self.boundary[a] - (edges.sum() - link[a]) + link[a]
                left /= self.cluster_weights[a] - node_weights[i]
            change += left - self.ratio[a]
            change[a] = np.inf
            if self.problem.cannot_link is not None:
                change[labels[self.problem.cannot_link.partners(i)]] = np.inf
            if self.limits is not None:
                lightest, heaviest = self.limits
                change[self.cluster_weights + node_weights[i] > heaviest] = np.inf
                rest = left_weight[a] if heavy[i] else self.cluster_weights[a] - node_weights[i]
                if rest < lightest[a]:
                    continue
            k = int(np.argmin(change))
            # The decrease is relative to the value, so there are finitely many such moves.
            if -change[k] > VISIBLE * self.value:
                labels[i] = k
                return True
        return False


def flow_scratch(n: int, n_stored: int) -> tuple[object, ...]:
    """Return the scratch arrays of ``refine_borders``."""
    nodes, local, level, queue = np.empty((4, n), dtype=np.int32)
    bias, third, costs, excess = np.empty((4, n))
    starts, path = np.empty((2, n + 1), dtype=np.int64)
    neighbors, reverse = np.empty(n_stored, dtype=np.int32), np.empty(n_stored, dtype=np.int64)
    capacity, residual = np.empty((2, n_stored))
    strip = starts, neighbors, capacity, reverse
    flow = residual, excess, level, np.empty(n, dtype=np.int64), queue, path
    marks = np.zeros(n, dtype=np.uint8), *np.zeros((2, n), dtype=np.int8)
    return nodes, local, strip, (bias, third, costs), marks, flow
