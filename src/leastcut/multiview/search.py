"""The search for one partition of several views.

1. It begins with the partition of all views added up, with that of every view by itself, and with
   those given; each is improved by moves of single nodes on the objective itself.
2. From the best so far every view is weighted by α_v, the views are added up with these weights,
   and :func:`leastcut.partition`'s search goes on from the best in that graph. If views weigh nodes
   alike the result is never worse; otherwise it is a proposal, which moves improve.
3. Some nodes of the best are moved to random clusters, few or many, and moves refine the result.
4. What was found is recombined: nodes that two partitions have together become one, in every view,
   and moves of such groups improve the better of the two.

Steps 2 to 4 are repeated until nothing falls any more. Only labels whose objective is smaller, as
taken from the graphs themselves, take the place of the best. All of it is done with every effort
up to the one asked for, each going on from the one before, so that more effort is never worse.
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

MOST_ROUNDS = 50  # of weighting with one effort; hardly any takes ten
IDLE_ROUNDS = {"fast": 1, "auto": 1, "balanced": 2, "thorough": 4}
"""Rounds in a row that may end without a smaller objective, each with other seeds."""

PERTURBATIONS = {"fast": 8, "auto": 8, "balanced": 32, "thorough": 128}
"""Random perturbations of the best partition in a round, each refined by moves."""

KEPT = 8  # partitions that are kept to be recombined with the best
VISITS_PER_NODE = 20  # of a local search, on average, before its sums are computed afresh
STAGE = "views"  # the name of the stage in reports of progress


class Outcome(NamedTuple):
    """The result of a search over views in which every node weighs something."""

    labels: np.ndarray
    history: list[float]  # the smallest objective after every start and every round of weighting
    n_iter: int  # rounds of weighting
    converged: bool
    bounds: list[float | None]  # of single views, if they were computed on the way


@solve.register(MultiViewProblem)
def solve_views(
    problem: MultiViewProblem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> PartitionOfViews:
    """Search for one partition of all views, and bound the objective of every partition."""
    # 1. Views without a weight take no part, nor do nodes that weigh nothing in any other.
    weights, used = problem.view_weights, np.arange(problem.n_views)
    if weights is not None:
        used = np.flatnonzero(weights > 0)
        weights = weights[used]
    views = MultiViewProblem(tuple(problem.problems[v] for v in used), weights)
    # 2. Search what is left.
    wants_bound = options.wants_bound(problem.n_nodes)
    options = replace(options, lower_bound=wants_bound)
    outcome = Outcome(np.empty(0, dtype=np.int64), [0.0], 0, True, [None] * views.n_views)
    bounds = outcome.bounds

    def solve_core(reduced: Reduced) -> Partition:
        nonlocal outcome, bounds
        core: Any = reduced.problem  # as many views as there are
        outcome = _solve_core(core, reduced.n_clusters, reduced.starts, options, budget)
        # What bounds the nodes with edges does so in as many clusters as they are in.
        bounds = bounds if reduced.steps else outcome.bounds
        return Partition(outcome.labels, core.value(outcome.labels))

    labels = solve_reduced(cast(Any, views), n_clusters, solve_core, starts).labels
    cuts = problem.cuts(labels)
    # 3. Bound, in the time that is left.
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
    """Search views in which every node weighs something somewhere."""
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
        converged = search.go_on(effort)
    if converged:
        budget.report(search.progress(1.0))
    labels = number_by_appearance(search.best)
    return Outcome(labels, search.history, search.n_iter, converged, search.bounds)


class _Search:
    """The state of a search: the best partition, and others to recombine it with."""

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
        # The starts have the seed as it is, so that they are what leastcut.partition finds with it.
        seed = options.random_state
        if not isinstance(seed, int | np.integer):
            seed = as_generator(seed).integers(2**32)
        self._seed = int(seed)
        self._n_tasks = self._n_steps = 0
        self._n_expected = sum(views.n_views + 2 + IDLE_ROUNDS[stage] for stage in stages)
        self._budget = budget

    # -- the steps

    def go_on(self, effort: str) -> bool:
        """Go on with an effort until nothing falls any more; return whether it came to that."""
        if self.history and (self.value == 0.0 or self._budget.is_exhausted):
            return self.value == 0.0
        self._effort = effort
        # 1. Start from all views added up, and from each; the first start is made whatever the
        #    time. Nothing is known about any of them yet, so that all weigh the same.
        views, weights = self.views, self.views.view_weights
        equal = np.ones(views.n_views) if weights is None else weights
        self.take(self._cut(views.combined(equal).problem, is_start=True).labels)
        self._end_step()
        for v, problem in enumerate(views.problems):
            if not self._budget.is_exhausted:
                self.take(self._cut_view(v, problem))
                self._end_step()
        # 2. Weigh the views and recombine until nothing falls any more.
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
        """Move some nodes of the best to random clusters, few or many, and improve the result."""
        rng = np.random.default_rng([self._seed, self.n_iter, 1])
        n, most = self.views.n_nodes, math.log(max(self.views.n_nodes / 2, 1.0))
        for _ in range(PERTURBATIONS[self._effort]):
            if self._budget.is_exhausted:
                return
            labels, count = self.best.copy(), round(math.exp(rng.uniform(0.0, most)))
            nodes = rng.choice(n, count, replace=False)
            labels[nodes] = rng.integers(self.n_clusters, size=count)
            # Where a cluster was emptied there are too few of them.
            if np.unique(labels).size < self.n_clusters:
                continue
            labels = refine_near(self.views, labels, nodes)
            # What is no better is the best again, or so near to it that it is not worth keeping.
            if self.views.value(labels) < self.value:
                self.take(labels)

    def _recombine(self) -> None:
        """Improve the best by groups of nodes that it and another partition have together."""
        for _, other in list(self.others):
            if self._budget.is_exhausted:
                return
            groups = number_by_appearance(self.best * self.n_clusters + other)
            coarse = np.empty(int(groups.max()) + 1, dtype=np.int64)
            coarse[groups] = self.best
            self.take(refine_labels(self.views.contracted(groups), coarse)[groups])

    # -- single partitions

    def take(self, labels: np.ndarray) -> None:
        """Improve a partition by moves, and keep it: as the best, or beside it."""
        labels = refine_labels(self.views, labels)
        value = self.views.value(labels)
        if value < self.value:
            self.best, labels, self.value, value = labels, self.best, value, self.value
        if labels.size and all(value != known for known, _ in self.others):
            self.others = sorted([*self.others, (value, labels)], key=lambda pair: pair[0])[:KEPT]

    def _cut_view(self, v: int, problem: Problem) -> np.ndarray:
        """Return the partition of a view by itself; nodes without edges there join its clusters."""
        if problem.node_weights.min() > 0:
            is_bounded = bool(self.options.lower_bound) and self._effort == self.options.effort
            found = self._cut(problem, is_start=True, lower_bound=is_bounded)
            self.bounds[v] = found.lower_bound
            return found.labels
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
        """Partition one graph, in its share of the time that is left."""
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
        """Return the progress; the value of a single graph means nothing to the callback."""
        if fraction is None:
            fraction = min(self._n_steps / self._n_expected, 0.99)
        return Progress(STAGE, fraction, self.value, self._budget.seconds)


# -- moves of single nodes


class ViewsState:
    """A partition that moves of single nodes improve, and in every view the sums of its cut value.

    Numbers near the ends of what doubles hold are raised first, view by view and by powers of two,
    which the factors of the objective undo.
    """

    def __init__(self, views: MultiViewProblem, labels: np.ndarray, n_clusters: int) -> None:
        self.views = views
        self.labels = labels.astype(np.int32)  # a copy
        raised = [problem.within_range() for problem in views.problems]
        self._arrays = stacked(raised)
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
        scales = np.array([_scale(*pair) for pair in zip(views.problems, raised, strict=True)])
        weights = views.view_weights
        factors = 1.0 / np.sqrt(scales) if weights is None else weights / scales
        self._objective = np.ascontiguousarray(factors), weights is None

    def local_search(self, nodes: np.ndarray | None = None) -> int:
        """Make improving moves, on fresh sums, until no queued node has one; return how many.

        The queue begins with ``nodes`` (default: all), and a move adds neighbors to it.
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
        """Settle for as long as the objective falls; return labels, never worse than before.

        What counts is the value of the labels, not what the moves say they have gained.
        """
        views = self.views
        best, value = self.labels.astype(np.int64), views.value(self.labels)
        while self.local_search() > 0 or self._move_heavy(value):
            found = views.value(self.labels)
            if not found < value:
                break
            best, value = self.labels.astype(np.int64), found
        return best

    def _move_heavy(self, value: float) -> bool:
        """Move one node that is too heavy for the kernels, if that lowers the value.

        Such a node holds nearly all of its cluster's weight in some view, so that there are few;
        each of its moves is judged by the value of all labels, O(edges).
        """
        _, members, _, cluster_weights, weighing, _, _ = self._sums
        heavy = self._arrays[3] > HEAVY * cluster_weights[:, self.labels]
        heavy &= weighing[:, self.labels] > 1
        for i in np.flatnonzero(heavy.any(axis=0) & (members[self.labels] > 1)):
            own = int(self.labels[i])
            for k in range(members.size):
                self.labels[i] = k
                if self.views.value(self.labels) < value:
                    return True
            self.labels[i] = own
        return False


def refine_labels(views: MultiViewProblem, labels: np.ndarray) -> np.ndarray:
    """Return labels 0..c-1 that moves of single nodes have improved, or as they are."""
    return ViewsState(views, labels, int(labels.max()) + 1).finish()


def refine_near(views: MultiViewProblem, labels: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return labels after moves that begin at some nodes and at their neighbors in any view."""
    near = np.zeros(views.n_nodes, dtype=bool)
    near[nodes] = True
    for problem in views.problems:
        graph = problem.graph
        near[graph.indices[np.repeat(near, np.diff(graph.indptr))]] = True
    state = ViewsState(views, labels, int(labels.max()) + 1)
    state.local_search(np.flatnonzero(near))
    return state.labels.astype(np.int64)


def _scale(problem: Problem, raised: Problem) -> float:
    """Return by how much cut values were raised: a power of two, which rounds nothing."""
    if raised is problem or problem.graph.n_stored == 0:
        return 1.0
    edge = raised.graph.weights[0] / problem.graph.weights[0]
    heaviest = int(np.argmax(problem.node_weights))
    return float(edge / (raised.node_weights[heaviest] / problem.node_weights[heaviest]))
