"""The search for one partition of several views.

1. Start from the partitions of the sum of all views and of every single view, and from initial
   partitions, each improved by moves of single nodes on the objective.
2. Weight every view by α_v of the best partition, and continue the search from it on the weighted
   sum of the views. If all views have the same node weights the result is never worse; otherwise it
   is a proposal, which moves improve.
3. Move random nodes of the best partition to random clusters, and refine.
4. Recombine: contract the intersections of two partitions in every view, and improve the better of
   the two by moves of these groups.

Steps 2 to 4 are repeated until the objective no longer decreases. The best partition is replaced
only if the objective, evaluated on the graphs, is smaller. The search runs every effort up to the
requested one, each from the results of the previous one, so that more effort is never worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from leastcut.budget import Budget
from leastcut.kernels.moves import HEAVY
from leastcut.kernels.view_moves import local_search_views, measure_views
from leastcut.multilevel.efforts import EFFORTS, Progress, SearchOptions
from leastcut.multilevel.partition import solve
from leastcut.multilevel.search import partition_problem
from leastcut.multiview.bounds import Bounds, lower_bounds
from leastcut.multiview.problem import MultiViewProblem, PartitionOfViews, stacked
from leastcut.problem import Problem
from leastcut.reductions import Reduced, Start, solve_reduced
from leastcut.results import Partition
from leastcut.seeds import as_generator
from leastcut.validation import number_by_appearance

MOST_ROUNDS = 50  # limit on the rounds of one effort; rarely more than ten are needed
IDLE_ROUNDS = {"fast": 1, "auto": 1, "balanced": 2, "thorough": 4}
"""Consecutive rounds without a smaller objective after which an effort ends."""

PERTURBATIONS = {"fast": 8, "auto": 8, "balanced": 32, "thorough": 128}
"""Random perturbations of the best partition per round, each refined by moves."""

KEPT = 8  # partitions that are kept to be recombined with the best
VISITS_PER_NODE = 20  # limit on the visits of a local search per node, before sums are recomputed
STAGE = "views"  # the name of the stage in progress reports


class Outcome(NamedTuple):
    """The result of a search over views in which every node has a positive weight somewhere."""

    labels: np.ndarray
    history: list[float]  # the smallest objective after every start and every round
    n_iter: int  # number of rounds
    converged: bool
    bounds: list[float | None]  # lower bounds of single views, or None


@solve.register(MultiViewProblem)
def solve_views(
    problem: MultiViewProblem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> PartitionOfViews:
    """Search for one partition of all views, and compute lower bounds."""
    # 1. Drop views of weight 0.
    weights, used = problem.view_weights, np.arange(problem.n_views)
    if weights is not None:
        used = np.flatnonzero(weights > 0)
        weights = weights[used]
    views = MultiViewProblem(tuple(problem.problems[v] for v in used), weights)
    # 2. Search, without nodes of weight 0 in all views.
    wants_bound = options.wants_bound(problem.n_nodes)
    options = replace(options, lower_bound=wants_bound)
    outcome = Outcome(np.empty(0, dtype=np.int64), [0.0], 0, True, [None] * views.n_views)
    bounds = outcome.bounds

    def solve_core(reduced: Reduced) -> Partition:
        nonlocal outcome, bounds
        core: Any = reduced.problem  # a MultiViewProblem
        outcome = _solve_core(core, reduced.n_clusters, reduced.starts, options, budget)
        # Bounds of a reduced problem may be for another number of clusters.
        bounds = bounds if reduced.steps else outcome.bounds
        return Partition(outcome.labels, core.value(outcome.labels))

    labels = solve_reduced(cast(Any, views), n_clusters, solve_core, starts).labels
    cuts = problem.cuts(labels)
    # 3. Compute lower bounds in the remaining time.
    proven = Bounds()
    if wants_bound and not budget.is_stopped:
        known = dict(zip(used.tolist(), bounds, strict=True))
        proven = lower_bounds(problem, cuts, n_clusters, known, budget)
    return PartitionOfViews(
        labels,
        problem.objective(cuts),
        cuts,
        problem.weights(cuts),
        proven.objective,
        proven.weighted,
        proven.views,
        np.array(outcome.history),
        outcome.n_iter,
        outcome.converged,
        problem.names,
    )


def _solve_core(
    views: MultiViewProblem,
    n_clusters: int,
    starts: Sequence[np.ndarray],
    options: SearchOptions,
    budget: Budget,
) -> Outcome:
    """Search views in which every node has a positive weight somewhere."""
    n = views.n_nodes
    if n_clusters in (1, n):
        only = np.arange(n) if n_clusters > 1 else np.zeros(n, dtype=np.int64)
        return Outcome(only, [views.value(only)], 0, True, views.cuts(only).tolist())
    if views.n_views == 1:
        one = partition_problem(
            views.problems[0], n_clusters, starts=starts, budget=budget, **vars(options)
        )
        ended = not budget.is_exhausted
        return Outcome(one.labels, [views.value(one.labels)], 0, ended, [one.lower_bound])
    search = _Search(views, n_clusters, options, budget)
    for labels in starts:
        search.take(labels)
    converged = False
    for effort in EFFORTS[options.effort].stages:
        converged = search.run(effort)
    if converged:
        budget.report(search.progress(1.0))
    labels = number_by_appearance(search.best)
    return Outcome(labels, search.history, search.n_iter, converged, search.bounds)


class _Search:
    """The state of a search: the best partition, and others to recombine with it."""

    def __init__(
        self, views: MultiViewProblem, n_clusters: int, options: SearchOptions, budget: Budget
    ) -> None:
        self.views, self.n_clusters, self.options = views, n_clusters, options
        self.best = np.empty(0, dtype=np.int64)
        self.value = math.inf
        self.others: list[tuple[float, np.ndarray]] = []
        self.history: list[float] = []
        self.bounds: list[float | None] = [None] * views.n_views
        self.n_iter = 0
        stages = EFFORTS[options.effort].stages
        self._effort = stages[0]
        # Starts use the seed itself, so that they are the results of leastcut.partition.
        seed = options.random_state
        if not isinstance(seed, int | np.integer):
            seed = as_generator(seed).integers(2**32)
        self._seed = int(seed)
        self._n_tasks = self._n_steps = 0
        self._n_expected = sum(views.n_views + 2 + IDLE_ROUNDS[stage] for stage in stages)
        self._budget = budget

    # -- the steps

    def run(self, effort: str) -> bool:
        """Search with an effort until the objective no longer decreases; return whether it did."""
        if self.history and (self.value == 0.0 or self._budget.is_exhausted):
            return self.value == 0.0
        self._effort = effort
        # 1. Start from the sum of all views with equal weights, regardless of the time limit, and
        #    from each view.
        views, weights = self.views, self.views.view_weights
        equal = np.ones(views.n_views) if weights is None else weights
        self.take(self._cut(views.combined(equal).problem, is_start=True).labels)
        self._end_step()
        for v, problem in enumerate(views.problems):
            if not self._budget.is_exhausted:
                self.take(self._cut_view(v, problem))
                self._end_step()
        # 2. Weight the views and recombine until the objective no longer decreases.
        idle, most = 0, IDLE_ROUNDS[effort]
        for _ in range(MOST_ROUNDS):
            if self.value == 0.0 or idle == most:
                return True
            if self._budget.is_exhausted:
                return False
            before = self.value
            self.n_iter += 1
            combined = views.combined(views.finite_weights(views.cuts(self.best)))
            self.take(self._cut(combined.problem, [self.best]).labels)
            self._perturb()
            self._recombine()
            self._end_step()
            idle = 0 if self.value < before else idle + 1
        return False

    def _perturb(self) -> None:
        """Move random nodes of the best partition to random clusters, and refine the result."""
        rng = np.random.default_rng([self._seed, self.n_iter, 1])
        n, most = self.views.n_nodes, math.log(max(self.views.n_nodes / 2, 1.0))
        for _ in range(PERTURBATIONS[self._effort]):
            if self._budget.is_exhausted:
                return
            labels, count = self.best.copy(), round(math.exp(rng.uniform(0.0, most)))
            nodes = rng.choice(n, count, replace=False)
            labels[nodes] = rng.integers(self.n_clusters, size=count)
            # Skip if a cluster became empty.
            if np.unique(labels).size < self.n_clusters:
                continue
            labels = refine_near(self.views, labels, nodes)
            # Other results are too similar to the best to be kept.
            if self.views.value(labels) < self.value:
                self.take(labels)

    def _recombine(self) -> None:
        """Improve the best partition by moving its intersections with other partitions."""
        for _, other in list(self.others):
            if self._budget.is_exhausted:
                return
            groups = number_by_appearance(self.best * self.n_clusters + other)
            coarse = np.empty(int(groups.max()) + 1, dtype=np.int64)
            coarse[groups] = self.best
            self.take(refine_labels(self.views.contracted(groups), coarse)[groups])

    # -- single partitions

    def take(self, labels: np.ndarray) -> None:
        """Improve a partition by moves, and keep it as the best or for recombination."""
        labels = refine_labels(self.views, labels)
        value = self.views.value(labels)
        if value < self.value:
            self.best, labels, self.value, value = labels, self.best, value, self.value
        if labels.size and all(value != known for known, _ in self.others):
            self.others = sorted([*self.others, (value, labels)], key=lambda pair: pair[0])[:KEPT]

    def _cut_view(self, v: int, problem: Problem) -> np.ndarray:
        """Return the partition of a single view; its isolated nodes join its clusters."""
        if problem.node_weights.min() > 0:
            is_bounded = bool(self.options.lower_bound) and self._effort == self.options.effort
            partition = self._cut(problem, is_start=True, lower_bound=is_bounded)
            self.bounds[v] = partition.lower_bound
            return partition.labels
        if not problem.node_weights.any():
            return self.best

        def solve(reduced: Reduced) -> Partition:
            return self._cut(reduced.problem, is_start=True, n_clusters=reduced.n_clusters)

        return solve_reduced(problem, self.n_clusters, solve).labels

    def _cut(
        self,
        problem: Problem,
        starts: Sequence[np.ndarray] = (),
        *,
        is_start: bool = False,
        n_clusters: int | None = None,
        lower_bound: bool = False,
    ) -> Partition:
        """Partition one graph in a fraction of the remaining time."""
        left = max(1, self._n_expected - self._n_tasks)
        budget = self._budget.part(1.0 / left, lambda _: self.progress())
        self._n_tasks += 1
        seed = self._seed if is_start else [self._seed, self.n_iter]
        return partition_problem(
            problem,
            self.n_clusters if n_clusters is None else n_clusters,
            effort=self._effort,
            starts=starts,
            budget=budget,
            lower_bound=lower_bound,
            random_state=np.random.default_rng(seed),
            n_jobs=self.options.n_jobs,
        )

    # -- reports

    def _end_step(self) -> None:
        self.history.append(self.value)
        self._n_steps += 1
        self._budget.report(self.progress())

    def progress(self, fraction: float | None = None) -> Progress:
        """Return the progress of the search over all views."""
        if fraction is None:
            fraction = min(self._n_steps / self._n_expected, 0.99)
        return Progress(STAGE, fraction, self.value, self._budget.seconds)


# -- moves of single nodes


class ViewsState:
    """A partition that is improved by moves of single nodes, with sums per cluster in every view.

    Very small numbers are scaled up, view by view and by powers of two, which the factors of the
    objective undo.
    """

    def __init__(self, views: MultiViewProblem, labels: np.ndarray, n_clusters: int) -> None:
        self.views = views
        self.labels = labels.astype(np.int32)  # a copy
        scaled = [problem.within_range() for problem in views.problems]
        self._arrays = stacked(scaled)
        shape = views.n_views, n_clusters
        self._sums = (
            self.labels,
            np.empty(n_clusters, dtype=np.int64),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape, dtype=np.int64),
            np.empty(views.n_views, dtype=np.int64),
            np.empty(views.n_views),
        )
        self._scratch = (
            np.zeros(shape),
            np.zeros(shape, dtype=np.int64),
            *np.empty((3, views.n_views)),
        )
        scales = np.array([_scale(*pair) for pair in zip(views.problems, scaled, strict=True)])
        weights = views.view_weights
        factors = 1.0 / np.sqrt(scales) if weights is None else weights / scales
        self._objective = np.ascontiguousarray(factors), weights is None

    def local_search(self, nodes: np.ndarray | None = None) -> int:
        """Recompute the sums, and make improving moves from ``nodes`` (default: all).

        Returns the number of moves. Each move adds the neighbors of the node to the queue.
        """
        state = self._arrays, self._sums
        measure_views(*state)
        n = self.views.n_nodes
        first = np.arange(n) if nodes is None else nodes
        queue, queued = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
        queue[: first.size], queued[first] = first, 1
        work = queue, first.size, queued, VISITS_PER_NODE * n
        moves, _ = local_search_views(*state, self._objective, self._scratch, *work)
        return int(moves)

    def finish(self) -> np.ndarray:
        """Search while the recomputed objective decreases; return labels, never worse."""
        views = self.views
        best, value = self.labels.astype(np.int64), views.value(self.labels)
        while self.local_search() > 0 or self._move_heavy(value):
            after = views.value(self.labels)
            if not after < value:
                break
            best, value = self.labels.astype(np.int64), after
        return best

    def _move_heavy(self, value: float) -> bool:
        """Move one node that is too heavy for the kernels, if that decreases the value.

        Such a node has nearly all of its cluster's weight in some view, so there are few. Each of
        its moves is evaluated on all labels, in O(edges).
        """
        _, members, _, cluster_weights, weighing, _, _ = self._sums
        heavy = self._arrays[3] > HEAVY * cluster_weights[:, self.labels]
        heavy &= weighing[:, self.labels] > 1
        for i in np.flatnonzero(heavy.any(axis=0) & (members[self.labels] > 1)):
            before = int(self.labels[i])
            for k in range(members.size):
                self.labels[i] = k
                if self.views.value(self.labels) < value:
                    return True
            self.labels[i] = before
        return False


def refine_labels(views: MultiViewProblem, labels: np.ndarray) -> np.ndarray:
    """Return labels 0..c-1 improved by moves of single nodes."""
    return ViewsState(views, labels, int(labels.max()) + 1).finish()


def refine_near(views: MultiViewProblem, labels: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return labels after local search from ``nodes`` and their neighbors in any view."""
    near = np.zeros(views.n_nodes, dtype=bool)
    near[nodes] = True
    for problem in views.problems:
        graph = problem.graph
        near[graph.indices[np.repeat(near, np.diff(graph.indptr))]] = True
    state = ViewsState(views, labels, int(labels.max()) + 1)
    state.local_search(np.flatnonzero(near))
    return state.labels.astype(np.int64)


def _scale(problem: Problem, scaled: Problem) -> float:
    """Return the power of two by which cut values were scaled up."""
    if scaled is problem or problem.graph.n_stored == 0:
        return 1.0
    edge = scaled.graph.weights[0] / problem.graph.weights[0]
    heaviest = int(np.argmax(problem.node_weights))
    return float(edge / (scaled.node_weights[heaviest] / problem.node_weights[heaviest]))
