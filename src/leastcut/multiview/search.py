"""The search for one partition of several views.

1. It begins with the partition of all views added up, with that of every view by itself, and with
   those given; each is improved by moves of single nodes on the objective itself.
2. From the best so far every view is weighed by α_v, the views are added up with these weights, and
   :func:`leastcut.partition`'s search goes on from the best in that graph. Where views weigh nodes
   alike its answer is never worse; else it is a proposal, which moves improve.
3. Some nodes of the best are scattered, few or many, and brought to rest by moves.
4. What was found is recombined: nodes that two partitions have together become one, in every view,
   and moves of such groups improve the better of the two.

Steps 2 to 4 are repeated until nothing falls any more. Only labels whose objective is smaller, as
taken from the graphs themselves, take the place of the best. All of it is done with every effort
up to the one asked for, each going on from the one before, so that more effort is never worse.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leastcut.isolated import clusters_of_core, label_isolated
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.search import partition_problem
from leastcut.multiview.problem import Views
from leastcut.multiview.state import refined, settled_near
from leastcut.problem import Problem
from leastcut.progress import Listener
from leastcut.results import Partition
from leastcut.validation import RandomState, as_generator, number_by_appearance

MOST_ROUNDS = 50
"""Rounds of weighing with one effort at most; hardly any takes ten."""

IDLE_ROUNDS = {"fast": 1, "auto": 1, "balanced": 2, "thorough": 4}
"""Rounds in a row that may end without a smaller objective, each with other seeds."""

SHAKES = {"fast": 8, "auto": 8, "balanced": 32, "thorough": 128}
"""Times that some nodes of the best are scattered in a round, before moves bring them to rest."""

KEPT = 8
"""Partitions that are kept to be recombined with the best."""

STAGE = "views"
"""What the stage is called that callbacks hear of."""


class Options(NamedTuple):
    """The options of a search, as :func:`leastcut.partition_views` takes them, checked."""

    effort: str
    time_limit: float | None
    lower_bound: bool
    random_state: RandomState
    callback: Listener | None
    n_jobs: int | None
    began: float


class Found(NamedTuple):
    """What a search found.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    history : list of float
        The smallest objective after every start and every round.
    n_iter : int
        Rounds of weighing.
    converged : bool
        Whether it ended because nothing fell any more.
    bounds : list of (float or None)
        What no cut is below, of the views that the search has bounded on its way.
    """

    labels: np.ndarray
    history: list[float]
    n_iter: int
    converged: bool
    bounds: list[float | None]


def search_views(
    views: Views, n_clusters: int, given: Sequence[np.ndarray], options: Options
) -> Found:
    """Search for the partition of the smallest objective; every node weighs something somewhere."""
    search = _Search(views, n_clusters, options)
    for labels in given:
        search.take(labels)
    converged = False
    for effort in EFFORTS[options.effort].stages:
        converged = search.go_on(effort)
    if converged:
        search.tell(1.0)
    return Found(search.best, search.history, search.n_iter, converged, search.bounds)


class _Search:
    """A search and where it stands: the best partition, and others to recombine it with."""

    def __init__(self, views: Views, n_clusters: int, options: Options) -> None:
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
        self._n_tasks = self._n_told = 0
        self._n_expected = sum(views.n_views + 2 + IDLE_ROUNDS[stage] for stage in stages)
        self._stopped = False
        limit = options.time_limit
        self._deadline = math.inf if limit is None else options.began + limit

    # -- the steps

    def go_on(self, effort: str) -> bool:
        """Go on with an effort until nothing falls any more; return whether it came to that."""
        if self.history and (self.value == 0.0 or self.is_late):
            return self.value == 0.0
        self._effort = effort
        self._begin()
        return self._weigh()

    def _begin(self) -> None:
        """Make the starts; the first of all is made whatever the time."""
        views = self.views
        # The same weight for all is what nothing is known about any of them.
        equal = np.ones(views.n_views) if views.given is None else views.given
        self._add(self._cut(views.combined(equal).problem, is_start=True).labels)
        for v, problem in enumerate(views.problems):
            if not self.is_late:
                self._add(self._cut_view(v, problem))

    def _weigh(self) -> bool:
        """Weigh and recombine until nothing falls any more; return whether it came to that."""
        idle, most = 0, IDLE_ROUNDS[self._effort]
        for _ in range(MOST_ROUNDS):
            if self.value == 0.0 or idle == most:
                return True
            if self.is_late:
                return False
            before = self.value
            weights = self.views.finite_weights(self.views.cuts(self.best))
            self.n_iter += 1
            labels = self._cut(self.views.combined(weights).problem, [self.best]).labels
            self.take(labels)
            self._shake()
            self._recombine()
            self.history.append(self.value)
            self._tell_step()
            idle = 0 if self.value < before else idle + 1
        return False

    def _shake(self) -> None:
        """Scatter some nodes of the best over the clusters, few or many, and improve what comes."""
        rng = np.random.default_rng([self._seed, self.n_iter, 1])
        n, most = self.views.n_nodes, math.log(max(self.views.n_nodes / 2, 1.0))
        for _ in range(SHAKES[self._effort]):
            if self.is_late:
                return
            labels, count = self.best.copy(), round(math.exp(rng.uniform(0.0, most)))
            nodes = rng.choice(n, count, replace=False)
            labels[nodes] = rng.integers(self.n_clusters, size=count)
            # Where a cluster was emptied there are too few of them.
            if np.unique(labels).size < self.n_clusters:
                continue
            labels = settled_near(self.views, labels, nodes)
            # What is no better is the best again, or so near to it that it is not worth keeping.
            if self.views.value(labels) < self.value:
                self.take(labels)

    def _recombine(self) -> None:
        """Improve the best by groups of nodes that it and another partition have together."""
        for _, other in list(self.others):
            if self.is_late:
                return
            pairs = self.best * self.n_clusters + other
            groups = number_by_appearance(pairs)
            own = np.empty(int(groups.max()) + 1, dtype=np.int64)
            own[groups] = self.best
            self.take(refined(self.views.contracted(groups), own)[groups])

    # -- single partitions

    def _add(self, labels: np.ndarray) -> None:
        self.take(labels)
        self.history.append(self.value)
        self._tell_step()

    def take(self, labels: np.ndarray) -> None:
        """Improve a partition by moves, and keep it: as the best, or beside it."""
        labels = refined(self.views, labels)
        value = self.views.value(labels)
        if value < self.value:
            self.best, labels, self.value, value = labels, self.best, value, self.value
        if labels.size and all(value != known for known, _ in self.others):
            self.others = sorted([*self.others, (value, labels)], key=lambda pair: pair[0])[:KEPT]

    def _cut_view(self, v: int, problem: Problem) -> np.ndarray:
        """Return the partition of a view by itself; nodes without edges there join its clusters."""
        if problem.node_weights.min() > 0:
            is_last = self._effort == self.options.effort
            bounded = self.options.lower_bound and is_last
            found = self._cut(problem, is_start=True, lower_bound=bounded)
            self.bounds[v] = found.lower_bound
            return found.labels
        nodes = np.flatnonzero(problem.node_weights > 0)
        if nodes.size == 0:
            return self.best
        c = clusters_of_core(self.n_clusters, nodes.size, problem.n_nodes - nodes.size)
        found = self._cut(problem.restrict(nodes), is_start=True, n_clusters=c)
        return label_isolated(problem, nodes, found.labels, self.n_clusters)

    def _cut(
        self,
        problem: Problem,
        given: Sequence[np.ndarray] = (),
        *,
        is_start: bool = False,
        n_clusters: int | None = None,
        lower_bound: bool = False,
    ) -> Partition:
        """Partition one graph, in its share of the time that is left."""
        options, now = self.options, time.monotonic()
        left = max(1, self._n_expected - self._n_tasks)
        limit = None if options.time_limit is None else max(0.0, self._deadline - now) / left
        self._n_tasks += 1
        return partition_problem(
            problem,
            self.n_clusters if n_clusters is None else n_clusters,
            effort=self._effort,
            given=given,
            time_limit=limit,
            lower_bound=lower_bound,
            random_state=np.random.default_rng(
                self._seed if is_start else [self._seed, self.n_iter]
            ),
            callback=None if options.callback is None else self._hear,
            n_jobs=options.n_jobs,
            began=now,
        )

    # -- time, and who listens

    @property
    def is_late(self) -> bool:
        return self._stopped or time.monotonic() > self._deadline

    def _hear(self, _: Progress) -> bool:
        """Tell that it goes on; what a single graph's value is means nothing to the listener."""
        self.tell(min(self._n_told / self._n_expected, 0.99))
        return self._stopped

    def _tell_step(self) -> None:
        self._n_told += 1
        self.tell(min(self._n_told / self._n_expected, 0.99))

    def tell(self, fraction: float) -> None:
        callback = self.options.callback
        if callback is not None:
            seconds = time.monotonic() - self.options.began
            self._stopped = callback(Progress(STAGE, fraction, self.value, seconds))
