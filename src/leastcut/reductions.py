"""Reductions: smaller problems whose answers are answers of the problem that they were made of.

As in the presolve of integer programming, a reduction maps a problem to a smaller one, starts to
starts of that, and labels back. :func:`reduce` composes those that a problem calls for:

1. contract what must-links join, which is exact: a group of nodes is one node that weighs as much,
   and edges inside it are never cut;
2. find the limits that a balance means, and weigh clusters so that the value counts edges;
3. drop the isolated nodes, which take no part in the cut, and label them afterwards;
4. color the cannot-links; for two clusters, contract what they force together.

Search, proofs and the estimators all use it: :func:`solve_reduced` is "reduce, solve, expand" with
everything that can go wrong on the way back.
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

# Of the sums of a contraction, relative, per edge and node.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
NEARLY = 2.0**22  # edge cuts are distinguished if they differ by more than one in so many
BLOCK_EDGES = 200_000  # stored edges per thread, below which starting it takes longer
# Weight that a node of weight 0 gets, relative to the lightest of the others: too little to be seen
# in a cut value, and more than rounding.
SLIGHT = 2.0**-30

Start = tuple[str, np.ndarray]  # a partition to start from, and its name in errors


class NoPlace(Exception):
    """An isolated node is paired by cannot-links with a node of every cluster."""


# -- contraction


@dataclass(frozen=True, eq=False)
class Contraction:
    """A reduction that makes every group of nodes one node."""

    whole: Problem
    problem: Problem
    groups: np.ndarray  # of every node, numbered by first appearance

    @classmethod
    def of(cls, problem: Problem, groups: np.ndarray) -> Contraction:
        """Contract groups, none of which holds a cannot-link."""
        coarse = contracted_by_labels(problem, groups).symmetrized()
        if problem.graph.idle is not None:
            rows, columns = (groups[ends] for ends in problem.graph.idle.tocoo().coords)
            idle = joined_pairs(rows, columns, coarse.n_nodes)
            coarse = replace(coarse, graph=replace(coarse.graph, idle=idle))
        return cls(problem, coarse, groups)

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of the groups, given those of nodes, equal within every group."""
        coarse = np.empty(self.problem.n_nodes, dtype=labels.dtype)
        coarse[self.groups] = labels
        return coarse

    def expand(self, found: Partition) -> Partition:
        """Return the partition of the nodes, with its value by their edges."""
        rounding = ROUNDING * (self.whole.graph.n_stored + self.whole.n_nodes)
        return _lifted(self.whole, found, found.labels[self.groups], rounding)


def _lifted(whole: Problem, found: Partition, labels: np.ndarray, rounding: float) -> Partition:
    """Return labels of the larger problem with their value, and with the bound of a smaller one."""
    value, bound = whole.value(labels), found.lower_bound
    if bound == found.cut_value:
        # A value that is proven is so in whichever order its terms are added up.
        bound = value
    elif bound is not None:
        bound *= 1.0 - rounding
    return replace(found, labels=labels, cut_value=value, lower_bound=bound)


def contracted(
    problem: Problem, aggregate_of: np.ndarray, n_threads: int = 1
) -> tuple[Problem, np.ndarray]:
    """Return the problem in which all nodes with one leader are one node, and each node's number.

    ``aggregate_of[i]`` is a node that leads itself; coarse nodes come in the order of the leaders.
    """
    n = problem.n_nodes
    parent = np.empty(n, dtype=np.int32)
    first = np.empty(n + 1, dtype=np.int32)
    size = int(number_aggregates(aggregate_of, parent, first))
    return _contracted(problem, parent, first[: size + 1], n_threads), parent


def contracted_by_labels(problem: Problem, labels: np.ndarray) -> Problem:
    """Return the problem in which every cluster 0..k-1, none empty, is one node, in their order."""
    first = np.concatenate(([0], np.cumsum(np.bincount(labels)))).astype(np.int32)
    return _contracted(problem, labels.astype(np.int32), first)


def _contracted(
    problem: Problem, parent: np.ndarray, first: np.ndarray, n_threads: int = 1
) -> Problem:
    """Contract groups that are numbered by ``parent``; group r has first[r + 1] − first[r] nodes.

    On large problems blocks of coarse rows are made by several threads, which changes nothing in
    the result: every row is made by one.
    """
    graph, size = problem.graph, first.size - 1
    members = np.empty(problem.n_nodes, dtype=np.int32)
    node_weights = np.zeros(size)
    list_members(parent, first, problem.node_weights, members, node_weights)

    # A block writes to its own arrays, so threads share nothing. It cannot fill more than ``room``,
    # the number of stored edges of its rows.
    def block(start: int, stop: int, room: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        indptr = np.zeros(size + 1, dtype=graph.indptr.dtype)
        indices = np.empty(room, dtype=np.int32)
        weights = np.empty(room)
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
        # Coarse row r is made of the stored edges reach[r]..reach[r + 1]-1, taken group by group.
        reach = np.concatenate(([0], np.cumsum(np.diff(graph.indptr)[members])))[first]
        # Blocks of about as many edges each; kernels run without the interpreter lock.
        between = np.searchsorted(reach, np.linspace(0, reach[-1], n_threads + 1)[1:-1])
        ends = [0, *between.tolist(), size]
        room = np.diff(reach[ends]).tolist()
        with Threads(n_threads) as each:
            blocks = each(block, ends[:-1], ends[1:], room)
    # Every block counts from its own beginning: add what the blocks before have filled.
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
    """A reduction that makes cut values edge cuts: clusters weigh 2 and nodes next to nothing."""

    whole: Problem
    problem: Problem

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels as they are."""
        return labels

    def expand(self, found: Partition) -> Partition:
        """Return the partition with its edge cut, and the bound that holds for edge cuts."""
        value, bound, weights = self.whole.value(found.labels), found.lower_bound, self.whole.graph
        if bound == found.cut_value:
            # What is smaller by less than the search could tell is not ruled out. Whole numbers
            # differ by more, and with one partition there is no other.
            is_integer = value < NEARLY and np.array_equal(
                weights.weights, np.floor(weights.weights)
            )
            is_only = int(found.labels.max()) + 1 in (1, found.labels.size)
            bound = value if is_integer or is_only else value * (1.0 - 1.0 / NEARLY)
        return replace(found, cut_value=value, lower_bound=bound)


# -- isolated nodes


@dataclass(frozen=True, eq=False)
class WithoutIsolated:
    """Only the nodes that take part in the cut; the others are labeled afterwards.

    Value and bound are those of the nodes with edges, which the others change neither of. The
    number of clusters of these is kept, so that a cluster of others is no way to a smaller value.
    """

    whole: Problem
    problem: Problem
    nodes: np.ndarray  # of the smaller problem
    n_clusters: int  # of all nodes
    weighed: Problem  # by which the others are labeled
    # Labels to keep unless better ones are found; clusters of isolated nodes stay in any case.
    kept: np.ndarray | None = None

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of the nodes that take part, numbered without gaps."""
        return number_by_appearance(labels[self.nodes])

    def expand(self, found: Partition) -> Partition:
        """Return the partition of all nodes."""
        try:
            labels = self._expanded(found.labels)
        except NoPlace:
            if self.kept is None:
                raise
            # The result shows how small the value could be, but not that all nodes allow it.
            found = replace(found, cut_value=self.problem.value(self.restrict(self.kept)))
            labels = self.kept
        rounding = ROUNDING * (int(labels.max()) + 1)
        lifted = _lifted(self.whole, found, number_by_appearance(labels), rounding)
        if self.weighed is self.whole or lifted.lower_bound is None:
            return lifted
        # What is proven is so for other weights: all that is known is that values are not negative.
        return replace(lifted, lower_bound=0.0)

    def _expanded(self, labels: np.ndarray) -> np.ndarray:
        """Return labels of all nodes."""
        everywhere = np.full(self.whole.n_nodes, -1, dtype=np.int64)
        everywhere[self.nodes] = labels
        if self.kept is not None:
            if np.array_equal(self.restrict(self.kept), number_by_appearance(labels)):
                return self.kept
            used = np.unique(self.kept[self.nodes])
            alone = np.flatnonzero(~np.isin(self.kept, used))
            numbers = np.unique(self.kept[alone], return_inverse=True)[1].reshape(-1)
            everywhere[alone] = used.size + numbers
        placed = np.flatnonzero(everywhere >= 0)
        one = self.weighed.as_one()
        return label_isolated(one, placed, everywhere[placed], self.n_clusters)


def number_in_core(core: Problem, n_clusters: int, n_nodes: int) -> int:
    """Return in how many clusters the nodes that take part are cut.

    If there are fewer of them than clusters, as many isolated nodes as can be are clusters.
    """
    if core.n_nodes == 0:
        return 0
    # A cluster of others weighs nothing, and if weights are limited that is not allowed.
    if core.constraints.limits is not None:
        return min(core.n_nodes, n_clusters)
    if core.n_nodes >= n_clusters:
        count = n_clusters
    else:
        count = min(core.n_nodes, max(1, n_clusters - (n_nodes - core.n_nodes)))
    links = core.constraints.cannot_link
    # Where others are clusters by themselves, these still need enough to be separated.
    while count < n_clusters and links is not None and color(links, count).colors is None:
        count += 1
    return count


def label_isolated(
    problem: Problem, nodes: np.ndarray, labels: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Return labels of all nodes, in ``n_clusters`` clusters, given those of nodes with edges.

    If the graph stores entries of weight 0, such as the idle lines of a power grid, these name the
    neighbors of an isolated node, and it joins a cluster of theirs. Other nodes join the cluster
    whose term they lower most. Nodes without edges may weigh nothing; those with edges respect the
    cannot-links. Raises NoPlace if cannot-links leave an isolated node none of the clusters.
    """
    # 1. Nodes with edges keep their labels.
    everywhere = np.full(problem.n_nodes, -1, dtype=np.int64)
    everywhere[nodes] = labels
    isolated = np.flatnonzero(everywhere < 0)
    outside = problem.node_weights[isolated]
    # 2. Clusters that the nodes with edges are too few for are single isolated nodes.
    used = int(labels.max()) + 1 if labels.size else 0
    alone = n_clusters - used
    everywhere[isolated[:alone]] = np.arange(used, n_clusters)
    # 3. Take the sums of all clusters; a cluster of one isolated node has no boundary.
    boundary, cluster_weights = np.zeros(n_clusters), np.zeros(n_clusters)
    if labels.size:
        core = problem.restrict(nodes)
        boundary[:used] = core.boundaries(labels)
        cluster_weights[:used] = core.cluster_weights(labels)
    cluster_weights[used:] = outside[:alone]
    # 4. Each of the others joins the cluster of its stored neighbors, the cluster whose term it
    #    lowers most, or else the heaviest.
    sums = boundary, cluster_weights
    idle, light = problem.graph.idle, np.zeros(problem.n_nodes, dtype=bool)
    light[isolated] = outside <= SLIGHT * problem.node_weights.max()
    if idle is None:
        return _join_others(problem, everywhere, sums)
    try:
        joined = join_neighbors(problem, everywhere.copy(), light, idle)
        return _join_others(problem, joined, (boundary, cluster_weights.copy()))
    except NoPlace:
        # Those with cannot-links go first, wherever they have a place.
        links = problem.constraints.cannot_link
        assert links is not None
        held = np.setdiff1d(links.nodes, nodes)
        everywhere = _join_others(problem, everywhere, sums, held[everywhere[held] < 0])
        return _join_others(problem, join_neighbors(problem, everywhere, light, idle), sums)


def join_neighbors(
    problem: Problem, labels: np.ndarray, light: np.ndarray, idle: sp.csr_array
) -> np.ndarray:
    """Give nodes that weigh nothing a cluster of their neighbors by stored zeros.

    Breadth first, from the nodes that have labels: each joins the cluster that most of its
    neighbors are in, of equally many the one of the smallest number. ``labels`` are -1 where a
    node has none yet, and are changed in place.
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
    some: np.ndarray | None = None,
) -> np.ndarray:
    """Give nodes without labels the cluster whose term each lowers most, or else the heaviest.

    ``sums`` are the boundaries and the weights of all clusters, and ``some`` the nodes to label, by
    default all without labels. Labels and weights are changed in place.
    """
    boundary, cluster_weights = sums
    initial = cluster_weights.copy()
    links = problem.constraints.cannot_link
    left = np.flatnonzero(labels < 0) if some is None else some
    if links is not None:
        # Those of most pairs first: the others have more of a choice.
        left = left[np.argsort(-np.diff(links.indptr)[left], kind="stable")]
    barred = np.zeros(boundary.size, dtype=bool)
    for node, weight in zip(left, problem.node_weights[left], strict=True):
        if links is not None:
            barred[:] = False
            near = labels[links.partners(node)]
            barred[near[near >= 0]] = True
            if barred.all():
                raise NoPlace(int(node))
        # Boundaries stay: the node has no edges. A cluster that weighs nothing is 0 / 0, no gain.
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


# -- all of them

Reduction = Contraction | EdgeCounting | WithoutIsolated


@dataclass(frozen=True, eq=False)
class Reduced:
    """A problem after all its reductions, with the starts and the number of clusters to find.

    Every node takes part, and the constraints have all that moves need.
    """

    problem: Problem
    n_clusters: int
    starts: list[np.ndarray]
    steps: tuple[Reduction, ...]

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of the reduced problem, given those of all nodes."""
        for step in self.steps:
            labels = step.restrict(labels)
        return labels

    def expand(self, found: Partition) -> Partition:
        """Return the partition of all nodes, given one of the reduced problem."""
        for step in reversed(self.steps):
            found = step.expand(found)
        return found


def reduce(
    problem: Problem,
    n_clusters: int,
    starts: Sequence[Start] = (),
    *,
    take_part: np.ndarray | None = None,
    keep_isolated: bool = False,
    weigh_all: bool = False,
) -> Reduced:
    """Reduce a problem, and check that some partition of it is allowed.

    Each of the ``starts`` must be allowed, and have as many clusters with nodes that take part as
    the result will. ``take_part`` marks the nodes that do, by default all that weigh something.
    With ``keep_isolated`` the first start is returned with its isolated nodes unless a better
    partition is found, and its clusters of isolated nodes stay as they are. With ``weigh_all``
    isolated nodes with cannot-links take part as well, with a slight weight.
    """
    labels = [start for _, start in starts]
    steps: list[Reduction] = []

    def append(step: Reduction) -> None:
        nonlocal problem, labels
        steps.append(step)
        problem, labels = step.problem, [step.restrict(start) for start in labels]

    # 1. Contract what must-links join.
    constraints = problem.constraints
    if constraints.are_links:
        for name, start in starts:
            constraints.check_labels(start, name)
        check_n_clusters(constraints, problem.n_nodes, n_clusters, is_shown=bool(starts))
        if constraints.must_link is not None:
            groups = constraints.groups(problem.n_nodes)
            if int(groups.max()) + 1 < problem.n_nodes:
                if take_part is not None:
                    take_part = np.bincount(groups, take_part) > 0
                append(Contraction.of(problem, groups))
            else:
                constraints = replace(constraints, must_link=None)
                problem = replace(problem, constraints=constraints)
    # 2. What a balance means, for all nodes, and the edge cut.
    if problem.constraints.balance is not None and problem.constraints.limits is None:
        balance = problem.constraints.balance
        problem = problem.with_limits(limits_of(balance, problem.node_weights, n_clusters))
        for (name, _), start in zip(starts, labels, strict=True):
            _check_limits(problem, start, name)
    if problem.counts_edges:
        append(EdgeCounting(problem, problem.counting_edges()))
    # 3. Drop the isolated nodes.
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
        found = colored(problem.constraints, problem.n_nodes, n_clusters, labels)
        problem = replace(problem, constraints=found)
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
    """Reduce a problem, solve what is left, and return the partition of all nodes.

    ``solve`` returns a partition of a reduced problem of at least one node. The result is never
    worse than the best of the starts, which are as for :func:`reduce`, as are the options.
    """

    def solved(reduced: Reduced) -> Partition:
        if reduced.problem.n_nodes == 0:
            return reduced.expand(Partition(np.empty(0, dtype=np.int64), 0.0, 0.0))
        return reduced.expand(solve(reduced))

    try:
        found = solved(reduce(problem, n_clusters, starts, **options))
    except NoPlace:
        # Isolated nodes with cannot-links take part in the cut if the clusters of the others leave
        # one no place.
        found = solved(reduce(problem, n_clusters, starts, **options, weigh_all=True))
    for _, start in starts:
        if problem.value(start) < found.cut_value:
            labels = number_by_appearance(start)
            # The same partition under other numbers differs from it by rounding only.
            if not np.array_equal(labels, number_by_appearance(found.labels)):
                value, bound = problem.value(labels), found.lower_bound
                rounding = ROUNDING * (problem.graph.n_stored + problem.n_nodes)
                if bound == found.cut_value and value >= (1.0 - rounding) * bound:
                    bound = value  # another partition of the proven value, summed differently
                found = replace(found, labels=labels, cut_value=value, lower_bound=bound)
    return found


def _check_limits(problem: Problem, labels: np.ndarray, name: str) -> None:
    """Raise if a start is not within the limits."""
    limits, weights = problem.limits, problem.cluster_weights(labels)
    if limits is not None and not limits.allow(weights):
        raise ValueError(
            f"{name} has clusters that weigh from {weights.min():g} to {weights.max():g}, and "
            f"balance allows {limits.lightest:g} to {limits.heaviest:g}. Balance it first, "
            "leave it out, or pass a larger balance."
        )


def _without_isolated(
    problem: Problem,
    n_clusters: int,
    starts: Sequence[Start],
    nodes: np.ndarray,
    keep_isolated: bool,
    weigh_all: bool,
) -> tuple[WithoutIsolated, int, list[np.ndarray]]:
    """Return the reduction to ``nodes``, their number of clusters, and the starts that fit."""
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
    fitting = []
    for name, labels in starts:
        count = np.unique(labels[nodes]).size
        if count == in_core:
            fitting.append(step.restrict(labels))
        elif not weigh_all:
            raise ValueError(
                f"{name} has nodes with edges in {count} of its {n_clusters} clusters, and "
                f"{in_core} are wanted: nodes without edges are clusters only where there are not "
                "enough others. Give it so many, or leave it out."
            )
    return step, in_core, fitting


def _weighing(problem: Problem) -> Problem:
    """Return the problem with a slight weight for every node that has none."""
    weights = problem.node_weights
    least = SLIGHT * np.min(weights, where=weights > 0, initial=np.inf)
    least = least if np.isfinite(least) else 1.0
    return replace(problem, node_weights=np.where(weights > 0, weights, least))


def _forced_together(problem: Problem) -> np.ndarray:
    """Return groups of nodes that are together in every partition into two clusters.

    Two nodes that must not share a cluster with a third are together then: of a component of the
    cannot-links all nodes of one color.
    """
    links = problem.constraints.cannot_link
    assert links is not None
    assert links.coloring is not None
    component = sp.csgraph.connected_components(links.matrix, directed=False)[1]
    return number_by_appearance(2 * component.astype(np.int64) + (links.coloring == 1))
