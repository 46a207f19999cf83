"""Reductions: smaller problems whose solutions extend to the original problem.

As in the presolve of integer programming, a reduction maps a problem and its starts to a smaller
one, and labels back. :func:`reduce` composes the reductions that a problem needs:

1. contract must-links, which is exact: a group of nodes becomes one node with the sum of their
   weights, and edges inside it are never cut;
2. compute the limits that a balance defines, and, for the edge cut, weights that count edges;
3. remove isolated nodes, which do not affect the cut, and label them afterwards;
4. color the cannot-links; for two clusters, contract nodes that must be together.

The search, the bounds and the estimators use :func:`solve_reduced`: reduce, solve, expand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.feasibility import check_n_clusters, color, colored, limits_of
from leastcut.graph import Graph, joined_pairs
from leastcut.kernels.coarsen import contract, list_members, number_aggregates
from leastcut.problem import Problem
from leastcut.results import Partition
from leastcut.threads import Threads
from leastcut.validation import number_by_appearance

# Relative rounding error of sums in a contraction, per edge and node.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
# Edge cuts are distinguished if they differ by more than one in this many.
EDGE_RESOLUTION = 2.0**22
BLOCK_EDGES = 200_000  # fewest stored edges per thread; below, starting a thread takes longer
# Weight given to a node of weight 0, relative to the lightest other node: above rounding errors,
# but too small to change a cut value noticeably.
SLIGHT_WEIGHT = 2.0**-30

Start = tuple[str, np.ndarray]  # the name of an initial partition in errors, and its labels


class NoAllowedCluster(Exception):
    """An isolated node has cannot-links to every cluster."""


# -- contraction


@dataclass(frozen=True, eq=False)
class Contraction:
    """A reduction that contracts each group of nodes to one node."""

    original: Problem
    problem: Problem
    groups: np.ndarray  # the group of every node, numbered by first appearance

    @classmethod
    def of(cls, problem: Problem, groups: np.ndarray) -> Contraction:
        """Contract groups; no group may contain a cannot-link."""
        coarse = contracted_by_labels(problem, groups).symmetrized()
        if problem.graph.idle is not None:
            rows, columns = (groups[ends] for ends in problem.graph.idle.tocoo().coords)
            idle = joined_pairs(rows, columns, coarse.n_nodes)
            coarse = replace(coarse, graph=replace(coarse.graph, idle=idle))
        return cls(problem, coarse, groups)

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of the groups, given labels of nodes that are equal in each group."""
        coarse = np.empty(self.problem.n_nodes, dtype=labels.dtype)
        coarse[self.groups] = labels
        return coarse

    def expand(self, partition: Partition) -> Partition:
        """Return the partition of the original nodes."""
        rounding = ROUNDING * (self.original.graph.n_stored + self.original.n_nodes)
        return _lifted(self.original, partition, partition.labels[self.groups], rounding)


def _lifted(
    original: Problem, partition: Partition, labels: np.ndarray, rounding: float
) -> Partition:
    """Return the partition of ``original`` with these labels and the bound of ``partition``."""
    value, bound = original.value(labels), partition.lower_bound
    if bound == partition.cut_value:
        bound = value  # a proven value stays proven; the two differ by rounding only
    elif bound is not None:
        bound *= 1.0 - rounding
    return replace(partition, labels=labels, cut_value=value, lower_bound=bound)


def contracted(
    problem: Problem, aggregate_of: np.ndarray, n_threads: int = 1
) -> tuple[Problem, np.ndarray]:
    """Return the problem with each aggregate contracted, and the coarse node of every node.

    ``aggregate_of[i]`` is the root of the aggregate of i, one of its nodes. Coarse nodes are in the
    order of the roots.
    """
    n = problem.n_nodes
    parent = np.empty(n, dtype=np.int32)
    first = np.empty(n + 1, dtype=np.int32)
    size = int(number_aggregates(aggregate_of, parent, first))
    return _contracted(problem, parent, first[: size + 1], n_threads), parent


def contracted_by_labels(problem: Problem, labels: np.ndarray) -> Problem:
    """Return the problem with every cluster 0..k-1, none empty, contracted to the node k."""
    first = np.concatenate(([0], np.cumsum(np.bincount(labels)))).astype(np.int32)
    return _contracted(problem, labels.astype(np.int32), first)


def _contracted(
    problem: Problem, parent: np.ndarray, first: np.ndarray, n_threads: int = 1
) -> Problem:
    """Contract the groups ``parent``; group r has first[r + 1] − first[r] nodes.

    On large problems several threads compute blocks of coarse rows; the result is the same.
    """
    graph, size = problem.graph, first.size - 1
    members = np.empty(problem.n_nodes, dtype=np.int32)
    node_weights = np.zeros(size)
    list_members(parent, first, problem.node_weights, members, node_weights)

    # A block writes to its own arrays. ``capacity`` is the number of stored edges of its rows.
    def block(start: int, stop: int, capacity: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        indptr = np.zeros(size + 1, dtype=graph.indptr.dtype)
        indices = np.empty(capacity, dtype=np.int32)
        weights = np.empty(capacity)
        filled = contract(
            (graph.indptr, graph.indices, graph.weights),
            (parent, first, members),
            start,
            stop,
            np.full(size, -1, dtype=graph.indptr.dtype),
            (indptr, indices, weights),
        )
        return indptr[start + 1 : stop + 1], indices[:filled], weights[:filled]

    n_threads = min(n_threads, graph.n_stored // BLOCK_EDGES)
    if n_threads <= 1:
        ends, blocks = [0, size], [block(0, size, graph.n_stored)]
    else:
        # Coarse row r sums the stored edges from row_starts[r] on, in the order of the groups.
        row_starts = np.concatenate(([0], np.cumsum(np.diff(graph.indptr)[members])))[first]
        # Blocks with similar numbers of edges.
        between = np.searchsorted(row_starts, np.linspace(0, row_starts[-1], n_threads + 1)[1:-1])
        ends = [0, *between.tolist(), size]
        capacities = np.diff(row_starts[ends]).tolist()
        with Threads(n_threads) as each:
            blocks = each(block, ends[:-1], ends[1:], capacities)
    # Concatenate the blocks.
    indptr = np.zeros(size + 1, dtype=graph.indptr.dtype)
    filled = 0
    for start, stop, rows in zip(ends[:-1], ends[1:], blocks, strict=True):
        np.add(rows[0], filled, out=indptr[start + 1 : stop + 1])
        filled += rows[1].size
    indices = np.concatenate([rows[1] for rows in blocks])
    weights = np.concatenate([rows[2] for rows in blocks])
    return replace(
        problem,
        graph=Graph(indptr, indices, weights),
        node_weights=node_weights,
        constraints=problem.constraints.contracted(parent, size),
    )


# -- counting edges


@dataclass(frozen=True, eq=False)
class EdgeCounting:
    """A reduction of the edge cut to a problem in which every cluster weighs 2."""

    original: Problem
    problem: Problem

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels unchanged."""
        return labels

    def expand(self, partition: Partition) -> Partition:
        """Return the partition with its edge cut, and a bound that holds for edge cuts."""
        value, bound = self.original.value(partition.labels), partition.lower_bound
        weights = self.original.graph.weights
        if bound == partition.cut_value:
            # Values that differ by less than the reduction's error are not ruled out, unless they
            # are integers, which differ by more, or there is only one partition.
            is_integer = value < EDGE_RESOLUTION and np.array_equal(weights, np.floor(weights))
            is_only = int(partition.labels.max()) + 1 in (1, partition.labels.size)
            bound = value if is_integer or is_only else value * (1.0 - 1.0 / EDGE_RESOLUTION)
        return replace(partition, cut_value=value, lower_bound=bound)


# -- isolated nodes


@dataclass(frozen=True, eq=False)
class WithoutIsolated:
    """A reduction to the nodes that take part in the cut; the others are labeled afterwards.

    Value and bound refer to the nodes that take part; the others do not change them. The number of
    clusters with such nodes is fixed, so that a cluster of isolated nodes cannot lower the value.
    """

    original: Problem
    problem: Problem
    nodes: np.ndarray  # the nodes of the smaller problem
    n_clusters: int  # the number of clusters of all nodes
    weighed: Problem  # the original problem, with the weights used to label the others
    # Labels to keep unless better ones are found; clusters of isolated nodes always stay.
    kept: np.ndarray | None = None

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of the nodes that take part, numbered without gaps."""
        return number_by_appearance(labels[self.nodes])

    def expand(self, partition: Partition) -> Partition:
        """Return the partition of all nodes."""
        try:
            labels = self._expanded(partition.labels)
        except NoAllowedCluster:
            if self.kept is None:
                raise
            # The bound holds, but the labels cannot be extended to all nodes.
            partition = replace(partition, cut_value=self.problem.value(self.restrict(self.kept)))
            labels = self.kept
        rounding = ROUNDING * (int(labels.max()) + 1)
        lifted = _lifted(self.original, partition, number_by_appearance(labels), rounding)
        if self.weighed is self.original or lifted.lower_bound is None:
            return lifted
        # The bound was computed for other weights.
        return replace(lifted, lower_bound=0.0)

    def _expanded(self, labels: np.ndarray) -> np.ndarray:
        """Return labels of all nodes."""
        all_labels = np.full(self.original.n_nodes, -1, dtype=np.int64)
        all_labels[self.nodes] = labels
        if self.kept is not None:
            if np.array_equal(self.restrict(self.kept), number_by_appearance(labels)):
                return self.kept
            used = np.unique(self.kept[self.nodes])
            in_isolated_clusters = np.flatnonzero(~np.isin(self.kept, used))
            numbers = np.unique(self.kept[in_isolated_clusters], return_inverse=True)[1].reshape(-1)
            all_labels[in_isolated_clusters] = used.size + numbers
        placed = np.flatnonzero(all_labels >= 0)
        one = self.weighed.as_one()
        return label_isolated(one, placed, all_labels[placed], self.n_clusters)


def number_in_core(core: Problem, n_clusters: int, n_nodes: int) -> int:
    """Return the number of clusters of the nodes that take part in the cut.

    If they are fewer than ``n_clusters``, isolated nodes form as many of the clusters as possible.
    """
    if core.n_nodes == 0:
        return 0
    # A cluster of isolated nodes has weight 0, which limits do not allow.
    if core.constraints.limits is not None:
        return min(core.n_nodes, n_clusters)
    if core.n_nodes >= n_clusters:
        count = n_clusters
    else:
        count = min(core.n_nodes, max(1, n_clusters - (n_nodes - core.n_nodes)))
    links = core.constraints.cannot_link
    # The cannot-links may need more clusters.
    while count < n_clusters and links is not None and color(links, count).colors is None:
        count += 1
    return count


def label_isolated(
    problem: Problem, nodes: np.ndarray, labels: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Return labels of all nodes in ``n_clusters`` clusters, given labels of ``nodes``.

    An isolated node joins a cluster of its neighbors by stored entries of weight 0, such as idle
    lines of a power grid, if there are any, or else the cluster whose term of the cut value it
    decreases most. ``labels`` must satisfy the cannot-links. Raises NoAllowedCluster if an isolated
    node has cannot-links to every cluster.
    """
    # 1. Keep the labels of nodes with edges.
    all_labels = np.full(problem.n_nodes, -1, dtype=np.int64)
    all_labels[nodes] = labels
    isolated = np.flatnonzero(all_labels < 0)
    outside = problem.node_weights[isolated]
    # 2. The missing clusters are single isolated nodes.
    used = int(labels.max()) + 1 if labels.size else 0
    alone = n_clusters - used
    all_labels[isolated[:alone]] = np.arange(used, n_clusters)
    # 3. Compute the sums of all clusters; a cluster of one isolated node has no boundary.
    boundary, cluster_weights = np.zeros(n_clusters), np.zeros(n_clusters)
    if labels.size:
        core = problem.restrict(nodes)
        boundary[:used] = core.boundaries(labels)
        cluster_weights[:used] = core.cluster_weights(labels)
    cluster_weights[used:] = outside[:alone]
    # 4. Label the others.
    sums = boundary, cluster_weights
    idle, light = problem.graph.idle, np.zeros(problem.n_nodes, dtype=bool)
    light[isolated] = outside <= SLIGHT_WEIGHT * problem.node_weights.max()
    if idle is None:
        return _join_others(problem, all_labels, sums)
    try:
        joined = join_neighbors(problem, all_labels.copy(), light, idle)
        return _join_others(problem, joined, (boundary, cluster_weights.copy()))
    except NoAllowedCluster:
        # Label nodes with cannot-links first, in any cluster possible.
        links = problem.constraints.cannot_link
        assert links is not None
        linked = np.setdiff1d(links.nodes, nodes)
        all_labels = _join_others(problem, all_labels, sums, linked[all_labels[linked] < 0])
        return _join_others(problem, join_neighbors(problem, all_labels, light, idle), sums)


def join_neighbors(
    problem: Problem, labels: np.ndarray, light: np.ndarray, idle: sp.csr_array
) -> np.ndarray:
    """Label nodes of weight 0 by their neighbors in ``idle``, the stored entries of weight 0.

    Breadth first, from the labeled nodes: each node joins the cluster of most of its neighbors;
    ties go to the smallest label. Unlabeled nodes are -1 in ``labels``, which is changed in place.
    """
    links = problem.constraints.cannot_link
    waiting = np.flatnonzero((labels < 0) & light & (np.diff(idle.indptr) > 0))
    while waiting.size:
        before, reached = labels.copy(), []
        for node in waiting:
            near = before[idle.indices[idle.indptr[node] : idle.indptr[node + 1]]]
            near = near[near >= 0]
            if links is not None:
                near = near[~np.isin(near, labels[links.partners(node)])]
            if near.size:
                labels[node] = np.argmax(np.bincount(near))
                reached.append(node)
        if not reached:
            break
        waiting = np.setdiff1d(waiting, reached)
    return labels


def _join_others(
    problem: Problem,
    labels: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray],
    nodes: np.ndarray | None = None,
) -> np.ndarray:
    """Add nodes to the cluster whose term each decreases most, or else to the heaviest.

    ``sums`` are the boundaries and the weights of all clusters; ``nodes`` are to be labeled, by
    default all without labels. Labels and weights are changed in place.
    """
    boundary, cluster_weights = sums
    initial = cluster_weights.copy()
    links = problem.constraints.cannot_link
    left = np.flatnonzero(labels < 0) if nodes is None else nodes
    if links is not None:
        # Nodes with most pairs first, as they have the fewest choices.
        left = left[np.argsort(-np.diff(links.indptr)[left], kind="stable")]
    barred = np.zeros(boundary.size, dtype=bool)
    for node, weight in zip(left, problem.node_weights[left], strict=True):
        if links is not None:
            barred[:] = False
            near = labels[links.partners(node)]
            barred[near[near >= 0]] = True
            if barred.all():
                raise NoAllowedCluster(int(node))
        # Boundaries do not change. A cluster of weight 0 gives 0 / 0, which counts as no gain.
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = boundary / cluster_weights - boundary / (cluster_weights + weight)
        gain = np.nan_to_num(gain)
        gain[barred] = -np.inf
        best = int(np.argmax(gain))
        if gain[best] <= 0:
            best = int(np.argmax(np.where(barred, -np.inf, initial)))
        labels[node] = best
        cluster_weights[best] += weight
    return labels


# -- composition

Reduction = Contraction | EdgeCounting | WithoutIsolated


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced problem, with its number of clusters and its starts.

    All node weights are positive, and the constraints contain a coloring and limits if needed.
    """

    problem: Problem
    n_clusters: int
    starts: list[np.ndarray]
    steps: tuple[Reduction, ...]

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of the reduced problem, given labels of all nodes."""
        for step in self.steps:
            labels = step.restrict(labels)
        return labels

    def expand(self, partition: Partition) -> Partition:
        """Return the partition of all nodes, given one of the reduced problem."""
        for step in reversed(self.steps):
            partition = step.expand(partition)
        return partition


def reduce(
    problem: Problem,
    n_clusters: int,
    starts: Sequence[Start] = (),
    *,
    take_part: np.ndarray | None = None,
    keep_isolated: bool = False,
    weigh_all: bool = False,
) -> Reduced:
    """Reduce a problem, and check that it has an allowed partition.

    Each of the ``starts`` must be allowed, and its nodes that take part must form the same number
    of clusters as in the result. ``take_part`` is a mask of these nodes, by default all nodes of
    positive weight. With ``keep_isolated`` the first start keeps its isolated nodes unless a better
    partition is found, and its clusters of isolated nodes always stay. With ``weigh_all`` isolated
    nodes with cannot-links take part too, with a slight weight.
    """
    labels = [start for _, start in starts]
    steps: list[Reduction] = []

    def append(step: Reduction) -> None:
        nonlocal problem, labels
        steps.append(step)
        problem, labels = step.problem, [step.restrict(start) for start in labels]

    # 1. Contract the must-links.
    constraints = problem.constraints
    if constraints.are_links:
        for name, start in starts:
            constraints.check_labels(start, name)
        check_n_clusters(constraints, problem.n_nodes, n_clusters, is_feasible=bool(starts))
        if constraints.must_link is not None:
            groups = constraints.groups(problem.n_nodes)
            if int(groups.max()) + 1 < problem.n_nodes:
                if take_part is not None:
                    take_part = np.bincount(groups, take_part) > 0
                append(Contraction.of(problem, groups))
            else:
                constraints = replace(constraints, must_link=None)
                problem = replace(problem, constraints=constraints)
    # 2. Compute the limits of a balance, from all nodes; reduce the edge cut.
    if problem.constraints.balance is not None and problem.constraints.limits is None:
        balance = problem.constraints.balance
        problem = problem.with_limits(limits_of(balance, problem.node_weights, n_clusters))
        for (name, _), start in zip(starts, labels, strict=True):
            _check_limits(problem, start, name)
    if problem.counts_edges:
        append(EdgeCounting(problem, problem.counting_edges()))
    # 3. Remove the isolated nodes.
    if take_part is None and not problem.node_weights.min() > 0:
        take_part = problem.node_weights > 0
    if take_part is not None and not take_part.all():
        named = [(name, start) for (name, _), start in zip(starts, labels, strict=True)]
        nodes = np.flatnonzero(take_part)
        step, n_clusters, labels = _without_isolated(
            problem, n_clusters, named, nodes, keep_isolated, weigh_all
        )
        steps.append(step)
        problem = step.problem
    # 4. Color the cannot-links.
    if problem.constraints.cannot_link is not None:
        constraints = colored(problem.constraints, problem.n_nodes, n_clusters, labels)
        problem = replace(problem, constraints=constraints)
        if n_clusters == 2:
            append(Contraction.of(problem, _forced_together(problem)))
    return Reduced(problem, n_clusters, labels, tuple(steps))


def solve_reduced(
    problem: Problem,
    n_clusters: int,
    solve: Callable[[Reduced], Partition],
    starts: Sequence[Start] = (),
    **options: Any,
) -> Partition:
    """Reduce a problem, solve the reduced one, and return the partition of all nodes.

    ``solve`` is called unless the reduced problem has no nodes. Starts and options are as in
    :func:`reduce`. The result is never worse than the best start.
    """

    def solved(reduced: Reduced) -> Partition:
        if reduced.problem.n_nodes == 0:
            return reduced.expand(Partition(np.empty(0, dtype=np.int64), 0.0, 0.0))
        return reduced.expand(solve(reduced))

    try:
        partition = solved(reduce(problem, n_clusters, starts, **options))
    except NoAllowedCluster:
        # Some isolated node could not be labeled: include those with cannot-links in the cut.
        partition = solved(reduce(problem, n_clusters, starts, **options, weigh_all=True))
    for _, start in starts:
        if problem.value(start) < partition.cut_value:
            labels = number_by_appearance(start)
            # The same partition with other numbers differs by rounding only.
            if not np.array_equal(labels, number_by_appearance(partition.labels)):
                value, bound = problem.value(labels), partition.lower_bound
                rounding = ROUNDING * (problem.graph.n_stored + problem.n_nodes)
                if bound == partition.cut_value and value >= (1.0 - rounding) * bound:
                    bound = value  # equal to the proven value up to rounding
                partition = replace(partition, labels=labels, cut_value=value, lower_bound=bound)
    return partition


def _check_limits(problem: Problem, labels: np.ndarray, name: str) -> None:
    """Raise if a start violates the limits."""
    limits, weights = problem.limits, problem.cluster_weights(labels)
    if limits is not None and not limits.allow(weights):
        raise ValueError(
            f"{name} has clusters with weights from {weights.min():g} to {weights.max():g}, but "
            f"balance allows {limits.lightest:g} to {limits.heaviest:g}. Pass a larger balance, a "
            f"balanced {name}, or none."
        )


def _without_isolated(
    problem: Problem,
    n_clusters: int,
    starts: Sequence[Start],
    nodes: np.ndarray,
    keep_isolated: bool,
    weigh_all: bool,
) -> tuple[WithoutIsolated, int, list[np.ndarray]]:
    """Return the reduction to ``nodes``, its number of clusters, and the starts for it."""
    weighed = problem
    links = problem.constraints.cannot_link
    if weigh_all:
        assert links is not None
        nodes = np.union1d(nodes, links.nodes)
        weighed = _weighing(problem)
    core, kept = weighed.restrict(nodes), starts[0][1] if keep_isolated else None
    if kept is not None:
        in_core = np.unique(kept[nodes]).size
    else:
        in_core = number_in_core(core, n_clusters, problem.n_nodes)
    step = WithoutIsolated(problem, core, nodes, n_clusters, weighed, kept)
    restricted = []
    for name, labels in starts:
        count = np.unique(labels[nodes]).size
        if count == in_core:
            restricted.append(step.restrict(labels))
        elif not weigh_all:
            raise ValueError(
                f"{name} has nodes with edges in {count} of its {n_clusters} clusters, but they "
                f"must be in {in_core}: isolated nodes form clusters only if there are too few "
                "other nodes. Change its labels, or leave it out."
            )
    return step, in_core, restricted


def _weighing(problem: Problem) -> Problem:
    """Return the problem with a slight weight for every node of weight 0."""
    weights = problem.node_weights
    least = SLIGHT_WEIGHT * np.min(weights, where=weights > 0, initial=np.inf)
    least = least if np.isfinite(least) else 1.0
    return replace(problem, node_weights=np.where(weights > 0, weights, least))


def _forced_together(problem: Problem) -> np.ndarray:
    """Return the groups of nodes that are together in every allowed partition into two clusters.

    These are the nodes of one color in each component of the cannot-links.
    """
    links = problem.constraints.cannot_link
    assert links is not None
    assert links.coloring is not None
    component = sp.csgraph.connected_components(links.matrix, directed=False)[1]
    return number_by_appearance(2 * component.astype(np.int64) + (links.coloring == 1))
