"""Refinement of partitions on the exact cut value.

:class:`State` is a partition that is being improved, also on the levels of a pass, by

1. local search: improving moves of single nodes until none is left;
2. Fiduccia–Mattheyses (FM) search: chains of moves, of which the best beginning is kept;
3. exchanges of nodes between clusters, if constraints bar moves;
4. flow refinement: minimum cuts along the borders of clusters that keep to limits.
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

# One local search may visit this many times the nodes there are: more lets rounding add up in the
# sums, fewer takes them afresh more often, and hardly any run visits half as many.
VISITS_PER_NODE = 20
MOST_STALLED = 5  # local searches in a row that may end without a smaller value
# A round of exchanges may visit this many times the stored edges; most visit fewer than one.
EXCHANGE_EDGES = 10
# A flow refinement may visit this many times the stored edges.
FLOW_EDGES = 200
# Part of the cut value that the move of a heavy node must gain: far above the rounding of sums.
VISIBLE = 1e-10


def refine(
    graph: Any,
    labels: npt.ArrayLike,
    cut: CutLike = "normalized",
    *,
    symmetrize: str | None = None,
    isolated: str = "error",
) -> Partition:
    """Improve a partition by moving nodes until no single move makes its cut smaller.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities. Libraries: as for :func:`leastcut.partition`.
    labels : array-like of shape (n,)
        The partition to start from, by whatever tool it was made; any labels will do.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.
    isolated : {"error", "ignore"}, default="error"
        What becomes of nodes without edges, which the normalized cut does not weigh: an error, or
        they stay where they are. The others are moved between the clusters that hold some of them,
        and from none of these the last; the value is theirs.

    Returns
    -------
    Partition
        With as many clusters as ``labels`` has. Its value is never above that of ``labels``, and
        no move of one node to another cluster lowers it.

    Notes
    -----
    A move is judged by the exact change of the cut value, which takes only the node's own edges;
    a node that moves brings its neighbors back for another look. The cost is O(edges) plus that of
    the moves.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> leastcut.refine(S, [0, 0, 1, 1, 1, 1], cut="ratio").labels
    array([0, 0, 0, 1, 1, 1])
    """
    problem = as_any_problem(graph, cut, symmetrize=symmetrize, isolated=isolated)
    found: Partition = refine_problem(problem, check_labels(labels, problem.n_nodes))
    return found.named(problem.names)


@singledispatch
def refine_problem(problem: AnyProblem, labels: np.ndarray) -> Partition:
    """Move single nodes of a partition, labels 0..k-1, until no such move lowers its value."""
    raise unsupported_problem("refine", problem)


@refine_problem.register(Problem)
def refine_graph(problem: Problem, labels: np.ndarray) -> Partition:
    """Move single nodes of a graph until no such move lowers the value.

    The value is compared in the problem's own numbers, so the result is never worse than the start
    even where the problem has to be scaled for the moves. Isolated nodes that weigh nothing stay
    where they are, or follow their neighbors by stored entries of weight 0.
    """
    if not problem.node_weights.min() > 0:
        return _refine_core(problem, labels)
    before = problem.value(labels)
    # astype copies, so the caller's labels stay as they are.
    state = State(problem.within_range(), labels.astype(np.int32), int(labels.max()) + 1)
    state.finish()
    refined = state.labels.astype(np.int64)
    after = problem.value(refined)
    # An equal value may be that of other labels, which no move improves; those given, one may.
    return Partition(refined, after) if after <= before else Partition(labels, before)


def _refine_core(problem: Problem, labels: np.ndarray) -> Partition:
    """Refine the partition of the nodes that weigh something, and let the others follow.

    An isolated node follows unless it is all there is of a cluster.
    """
    nodes = np.flatnonzero(problem.node_weights > 0)
    if nodes.size == 0:
        return Partition(labels, 0.0)
    # The clusters that hold any of them, and these numbered without gaps.
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
    """Labels of a problem's nodes and the sums that give their value, kept through every move.

    ``labels`` is changed in place by the methods. For every cluster, ``boundary`` is the weight of
    the edges that leave it, ``cluster_weights`` that of its nodes with the problem's offset,
    ``count`` their number, and ``ratio`` the first divided by the second. ``value`` is the cut
    value, as of the last :meth:`measure` and the moves since; ``work`` counts edges visited.
    """

    def __init__(
        self, problem: Problem, labels: np.ndarray, n_clusters: int, same: State | None = None
    ) -> None:
        """Take the sums from the labels, or from the ``same`` partition of another level."""
        self.problem = problem
        self.labels = labels
        self.boundary = np.empty(n_clusters)
        self.cluster_weights = np.empty(n_clusters)
        self.count = np.empty(n_clusters, dtype=np.int64)
        self.ratio = np.empty(n_clusters)
        self.value: float = np.inf
        self.work = 0
        # The tuples that kernels take: the largest ratio and the largest and smallest cluster
        # weight are the bounds, and the last two arrays are scratch.
        self.arrays, bounds = problem.arrays, np.empty(3)
        self.sums = (
            labels, self.boundary, self.cluster_weights, self.count, self.ratio, bounds
        )  # fmt: skip
        self.scratch = np.zeros(n_clusters), np.empty(n_clusters, dtype=np.int32)
        # None lets the kernels be compiled without a trace of it.
        self.cannot_link = None if problem.cannot_link is None else problem.cannot_link.arrays
        self.limits = None
        if problem.limits is not None:
            self.limits = problem.limits.of_moves(n_clusters, problem.offset)
        if same is None:
            self.measure()
        else:
            # All sums but the count of nodes are the same on every level.
            for mine, other in zip(self.sums[1:], same.sums[1:], strict=True):
                mine[:] = other
            self.count[:] = np.bincount(labels, minlength=n_clusters)
            self.value = same.value

    def measure(self) -> float:
        """Take all sums afresh from the labels and return the cut value."""
        self.work += self.problem.graph.n_stored
        self.value = float(measure(self.arrays, self.sums, self.problem.offset))
        return self.value

    def on_border(self) -> np.ndarray:
        """Return 1 for every node with a neighbor in another cluster, else 0."""
        graph = self.problem.graph
        found = np.empty(graph.n_nodes, dtype=np.uint8)
        mark_border(graph.indptr, graph.indices, self.labels, found)
        self.work += graph.n_stored
        return found

    def local_search(self, nodes: np.ndarray | None = None) -> int:
        """Make improving moves, starting at ``nodes`` (default: all); return how many."""
        n = self.problem.n_nodes
        # A node is queued once at a time, so the ring of n places cannot overflow.
        queue, queued = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
        first = np.arange(n, dtype=np.int32) if nodes is None else nodes
        queue[: first.size] = first
        queued[first] = 1
        decrease, moves, edges = local_search(
            self.arrays, self.sums, self.scratch, queue, first.size, queued, VISITS_PER_NODE * n,
            self.cannot_link, self.limits,
        )  # fmt: skip
        return self._made(decrease, moves, edges)

    def fm_search(self, seeds: np.ndarray, patience: int, max_edges: int) -> float:
        """Run one chain of moves from each seed; return by how much the value fell."""
        n = self.problem.n_nodes
        keys, (nodes, trail) = np.empty(n), np.empty((2, n), dtype=np.int32)
        chain = keys, nodes, np.zeros(n, dtype=np.uint8), trail, np.empty(n, dtype=np.int64)
        decrease, edges = fm_search(
            self.arrays, self.sums, self.scratch, seeds, patience, max_edges, chain,
            self.cannot_link, self.limits,
        )  # fmt: skip
        self._made(decrease, 0, edges)
        return float(decrease)

    def exchange(self, max_edges: int | None = None) -> int:
        """Make the exchanges between clusters that help, if moves are barred; return how many.

        They are barred by cannot-links, and into clusters that are full.
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
        return self._made(
            *exchange(self.arrays, self.sums, self.cannot_link, nodes, max_edges, scratch)
        )

    def _exchange_within_limits(self, max_edges: int) -> int:
        # 1. Where every node on a border would best move if others made room.
        nodes = np.flatnonzero(self.on_border()).astype(np.int32)
        change, target = np.empty(nodes.size), np.empty(nodes.size, dtype=np.int32)
        list_moves(self.arrays, self.sums, self.scratch, nodes, change, target)
        self.work += self.problem.graph.n_stored
        # 2. By cluster, and the best of each first.
        order = np.lexsort((change, self.labels[nodes]))
        order = order[target[order] >= 0]
        listed = nodes[order], change[order], target[order]
        first = self._first_of_clusters(listed[0])
        return self._made(
            *exchange_within_limits(self.arrays, self.sums, self.limits, listed, first, max_edges)
        )

    def refine_by_flows(
        self, before: np.ndarray | None = None, is_late: Callable[[], bool] = never
    ) -> None:
        """Move borders of two clusters to the best place near by, until none moves; never worse.

        Without limits single moves are enough, and nothing is done. Sums are fresh before and
        after. Only clusters that have changed since the labels ``before``, if there are any, are
        looked at to begin with. ``is_late`` is asked again and again; once it says so, the borders
        stay where they are by then.
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
        """Move borders of ``active`` clusters, then of those that changed; return how many."""
        n_stored = self.problem.graph.n_stored
        scratch = flow_scratch(self.problem.n_nodes, n_stored)
        total, left = 0, FLOW_EDGES * n_stored
        while active.any() and left > 0:
            # 1. The nodes on borders by cluster, and the pairs of clusters that touch.
            nodes = np.flatnonzero(self.on_border()).astype(np.int32)
            pairs = self._touching(nodes)
            listed = nodes[np.argsort(self.labels[nodes], kind="stable")]
            borders = listed, self._first_of_clusters(nodes)
            # 2. In portions of pairs: a kernel cannot be interrupted.
            changed, at = np.zeros_like(active), 0
            while at < len(pairs) and left > 0:
                if is_late():
                    return total
                decrease, improved, edges, at = refine_borders(
                    self.arrays, self.sums, self.limits, pairs, borders, (active, changed),
                    (at, n_stored), scratch,
                )  # fmt: skip
                total += self._made(decrease, improved, edges)
                left -= int(edges)
            self.work += n_stored
            active = changed
        return total

    def _touching(self, nodes: np.ndarray) -> np.ndarray:
        """Return the pairs of clusters with edges between them, given all nodes on borders."""
        graph, n_clusters = self.problem.graph, self.count.size
        begin, sizes = graph.indptr[nodes], np.diff(graph.indptr)[nodes]
        # The edges of these nodes, one behind the other.
        behind = np.cumsum(sizes) - sizes
        edges = np.arange(int(sizes.sum())) + np.repeat(begin - behind, sizes)
        one = np.repeat(self.labels[nodes].astype(np.int64), sizes)
        other = self.labels[graph.indices[edges]]
        codes = np.unique((one * n_clusters + other)[one < other])
        return np.column_stack([codes // n_clusters, codes % n_clusters])

    def _first_of_clusters(self, nodes: np.ndarray) -> np.ndarray:
        """Return where each cluster begins if these nodes are listed by cluster."""
        count = np.bincount(self.labels[nodes], minlength=self.count.size)
        return np.concatenate(([0], np.cumsum(count)))

    def _made(self, decrease: float, count: int, edges: int) -> int:
        """Count what a kernel has done; rounding adds up in the value until the next measure."""
        self.value -= decrease
        self.work += int(edges)
        return int(count)

    def finish(self) -> float:
        """Search until a round over every node, on fresh sums, finds no move; return the value.

        To be called on fresh sums.
        """
        # A local search may end at its limit with moves left. The next one makes them.
        value, stalled = self.value, 0
        while True:
            # A move too small to be seen may open the way to one that is not; a few of them in a
            # row say that what is left to gain is below the rounding of the sums.
            while stalled < MOST_STALLED and self.local_search() > 0:
                before, value = value, self.measure()
                stalled = 0 if value < before else stalled + 1
            # Exchanges that fresh sums do not see end it too: they gain less than rounding.
            if not self._move_heavy() and (self.exchange() == 0 or not self.measure() < value):
                return self.value
            value, stalled = self.measure(), 0

    def _move_heavy(self) -> bool:
        """Move one node that is too heavy for the kernels, if that lowers the value.

        To be called on fresh sums. What a node leaves behind that holds nearly all of its cluster's
        weight is summed, not subtracted. O(n) where no node is heavy, else O(edges), and
        O(edges of i + c) for every such node i.
        """
        labels, node_weights, graph = self.labels, self.problem.node_weights, self.problem.graph
        own_weights = self.cluster_weights[labels]
        heavy = (node_weights > HEAVY * own_weights) & (self.count[labels] > 1)
        with np.errstate(over="ignore"):
            unsafe = (self.ratio.max() * node_weights > LARGEST) & (self.count[labels] > 1)
        careful = np.flatnonzero(heavy | unsafe)
        if careful.size == 0:
            return False
        # No cluster has two of them, so one pass gives what every cluster is without its own. Edges
        # to it then leave the cluster as well.
        rows, n_clusters = graph.rows, self.count.size
        outside = (labels[rows] != labels[graph.indices]) | heavy[graph.indices]
        stays = outside & ~heavy[rows]
        left_boundary = np.bincount(labels[rows[stays]], graph.weights[stays], n_clusters)
        left_weight = np.bincount(labels[~heavy], node_weights[~heavy], n_clusters)
        for i in careful:
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
            # Of the whole value: it falls with every such move, so there is an end to them.
            if -change[k] > VISIBLE * self.value:
                labels[i] = k
                return True
        return False


def flow_scratch(n: int, n_stored: int) -> tuple[object, ...]:
    """Return the arrays that ``refine_borders`` works in."""
    nodes, local, level, queue = np.empty((4, n), dtype=np.int32)
    lean, third, prices, excess = np.empty((4, n))
    starts, path = np.empty((2, n + 1), dtype=np.int64)
    neighbors, reverse = np.empty(n_stored, dtype=np.int32), np.empty(n_stored, dtype=np.int64)
    capacity, residual = np.empty((2, n_stored))
    strip = starts, neighbors, capacity, reverse
    flow = residual, excess, level, np.empty(n, dtype=np.int64), queue, path
    marks = np.zeros(n, dtype=np.uint8), *np.zeros((2, n), dtype=np.int8)
    return nodes, local, strip, (lean, third, prices), marks, flow
