"""The flagship: ``partition``, a search over multilevel passes for the smallest cut.

A search begins with one pass from nothing. Efforts with further stages go on from it: more passes,
the spectral solution of the whole graph, and recombinations of all that was found. The steps of a
pass are in ``passes``, and what each effort does in ``efforts``. The constants were set as those
are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from firstcut.cuts import CutLike, Problem, as_problem
from firstcut.partitioning.coarsening import COARSENING_RULES
from firstcut.partitioning.efforts import EFFORTS, Progress
from firstcut.partitioning.levels import BLOCK_EDGES, Coarsening
from firstcut.partitioning.passes import Trial, cycle, fresh, spectral_start
from firstcut.relaxation.relax import relax_problem, within_solvers_range
from firstcut.results import Partition, Relaxation
from firstcut.threads import count_threads
from firstcut.validation import (
    RandomState,
    as_generator,
    check_choice,
    check_init,
    check_n_clusters,
)

DIRECT_NODES = 3000
"""Up to this size the first pass agglomerates the nodes themselves, which is slower than to gather
them first and finds better clusters."""

START_NODES = 40
"""Above that size nodes are first gathered to this many per cluster: more is slower and better."""

TIMED_NODES = 8000
"""Largest graph whose eigenproblem is begun under a time limit: it cannot be cut short."""

MOST_THREADS = 8
"""Threads used by default: more gain little on what memory has to bring."""

THREADED_EDGES = 30_000
"""Stored edges below which a batch of passes is faster in one thread."""


def partition(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    effort: str = "balanced",
    init: npt.ArrayLike | list[npt.ArrayLike] | None = None,
    time_limit: float | None = None,
    lower_bound: bool | None = None,
    on_interrupt: str = "raise",
    random_state: RandomState = None,
    callback: Callable[[Progress], object] | None = None,
    n_jobs: int | None = None,
) -> Partition:
    """Partition a graph into ``n_clusters`` clusters with the smallest cut that can be found.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities; self-loops allowed, connected or not.
    n_clusters : int
        Number of clusters, from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        ``fast`` makes one multilevel pass; ``balanced`` adds passes, recombinations and, on graphs
        of a few thousand nodes, the spectral solution; ``thorough`` recombines populations until
        they stop improving. With the same seed, more effort never gives a larger value.
    init : array-like of shape (n,), or list of such, optional
        Partitions to take part, each into exactly ``n_clusters`` clusters; the result is never
        worse than the best of them.
    time_limit : float, optional
        Seconds after which no further pass is begun.
    lower_bound : bool, optional
        Whether to compute the lower bound Σλ, an eigenproblem. By default only on small graphs.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does: raise, or return the best so far once there is one.
    random_state : int, Generator, RandomState or None
        Seed. With an integer the labels are the same every time, on any number of threads.
    callback : callable, optional
        Called with a :class:`Progress` after every batch of passes.
    n_jobs : int, optional
        Threads; -1 is one per available core. By default as many as there are cores, at most 8,
        where the graph is large enough to gain by them.

    Returns
    -------
    Partition

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> found = firstcut.partition(S, 2, cut="ratio", random_state=0)
    >>> found.cut_value, bool(found.labels[0] == found.labels[2])
    (0.6666666666666666, True)
    """
    # The limit counts from here: to check a large graph takes time as well.
    began = time.monotonic()
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit={time_limit!r} must be a number of seconds >= 0, or None.")
    problem = as_problem(graph, cut)
    n_clusters = check_n_clusters(n_clusters, problem.n_nodes)
    return partition_problem(
        problem,
        n_clusters,
        effort=check_choice("effort", effort, EFFORTS),
        given=_given(init, problem.n_nodes, n_clusters),
        time_limit=time_limit,
        lower_bound=lower_bound,
        on_interrupt=check_choice("on_interrupt", on_interrupt, ("raise", "return")),
        random_state=random_state,
        callback=callback,
        n_jobs=n_jobs if n_jobs is None else count_threads(n_jobs),
        began=began,
    )


def partition_problem(
    problem: Problem,
    n_clusters: int,
    *,
    effort: str = "balanced",
    given: Sequence[np.ndarray] = (),
    time_limit: float | None = None,
    lower_bound: bool | None = None,
    on_interrupt: str = "raise",
    random_state: RandomState = None,
    callback: Callable[[Progress], object] | None = None,
    n_jobs: int | None = None,
    began: float | None = None,
) -> Partition:
    """Search for the smallest cut of a problem, with options that :func:`partition` would accept.

    ``given`` is ``init``, as labels 0..n_clusters-1, and ``began`` the time, on the monotonic
    clock, from which the limit counts.
    """
    # Drawn whatever comes, so that the caller's generator always moves on alike.
    seed = as_generator(random_state).integers(2**32, size=4).tolist()
    n = problem.n_nodes
    if n_clusters in (1, n):
        only = np.arange(n) if n_clusters > 1 else np.zeros(n, dtype=np.int64)
        value = problem.value(only)
        return Partition(only, value, value)
    began = time.monotonic() if began is None else began
    n_threads = _count_threads(problem, effort, n_jobs)
    search = _Search(problem, n_clusters, seed, n_threads, began, time_limit, callback)
    try:
        search.run(EFFORTS[effort].stages, given)
    except KeyboardInterrupt:
        # Interrupted in its first pass, a search has nothing to return.
        if on_interrupt == "raise" or search.best is None:
            raise
    assert search.best is not None
    # A given partition is returned itself where nothing better was found, rounding included.
    found = [search.best.labels.astype(np.int64), *given]
    values = [problem.value(labels) for labels in found]
    best = int(np.argmin(values))
    if lower_bound is None:
        lower_bound = n <= EFFORTS[effort].bound_nodes and within_solvers_range(search.scaled)
    # Nothing is below 0. Else an eigenproblem, which a stage of the search may have solved.
    bound = 0.0 if values[best] == 0.0 else search.relaxation.lower_bound if lower_bound else None
    return Partition(found[best], values[best], bound)


class _Search:
    """One search: its stages, each going on from the one before, and where it stands.

    Tasks are numbered, and each draws from a generator of its own, made from the seed and its
    number, so that the threads that run them decide nothing.

    Attributes
    ----------
    scaled : Problem
        The problem, scaled where sums could overflow.
    best : Trial or None
        The best partition so far.
    work : int
        Edges visited so far.
    n_tasks : int
        Tasks that have been given a generator.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        seed: list[int],
        n_threads: int,
        began: float,
        time_limit: float | None,
        callback: Callable[[Progress], object] | None,
    ) -> None:
        self.scaled = problem.within_range()
        self.best: Trial | None = None
        self.work = 0
        self.n_tasks = 0
        self._problem = problem
        self._n_clusters = n_clusters
        self._seed = seed
        self._n_threads = n_threads
        self._began = began
        self._time_limit = time_limit
        self._callback = callback

    @cached_property
    def relaxation(self) -> Relaxation:
        """The relaxed solution of the whole problem, solved once."""
        return relax_problem(self._problem, self._n_clusters, random_state=0)

    @property
    def is_late(self) -> bool:
        """Whether the time limit has passed."""
        seconds = time.monotonic() - self._began
        return self._time_limit is not None and seconds >= self._time_limit

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to gain or no time left to gain it."""
        return self.is_late or (self.best is not None and self.best.value == 0.0)

    def next_generator(self) -> np.random.Generator:
        """Return the generator of the next task."""
        # By number and not by time: tasks of a batch may run in any order.
        self.n_tasks += 1
        return np.random.default_rng([*self._seed, self.n_tasks])

    def consider(self, trial: Trial) -> bool:
        """Count a trial's work, keep it if it is the best so far, and say whether it is."""
        self.work += trial.work
        if trial.beats(self.best):
            self.best = trial
            return True
        return False

    def report(self, stage: str, fraction: float) -> None:
        """Tell the callback where the search stands."""
        if self._callback is not None and self.best is not None:
            # In the user's own numbers, not in the scaled ones.
            value = self._problem.value(self.best.labels)
            seconds = time.monotonic() - self._began
            self._callback(Progress(stage, min(fraction, 1.0), value, seconds))

    def run(self, stages: Sequence[str], given: Sequence[np.ndarray]) -> None:
        """Run all stages."""
        first, *others = stages
        # Taken by every effort, used or not: tasks then have the same numbers in all of them.
        parents = self.next_generator()
        trials = self._first_pass(first, given)
        self.report(first, 1.0)
        if others:
            self._go_on(others, trials, parents)

    def _first_pass(self, stage: str, given: Sequence[np.ndarray]) -> list[Trial]:
        """Make one pass, and a V-cycle from each given partition."""
        n, c = self.scaled.n_nodes, self._n_clusters
        coarsening = self._coarsening(stage)
        # A smallest level of n nodes is the graph itself: nothing is gathered first.
        smallest = n if n <= DIRECT_NODES else START_NODES * c
        rng = self.next_generator()
        trials = [fresh(self.scaled, c, rng, smallest, spectral=True, coarsening=coarsening)]
        self.consider(trials[0])
        for labels in given:
            rng = self.next_generator()
            # Its number is used up all the same, and what follows draws what it always draws.
            if not self.is_done:
                start = labels.astype(np.int32)
                trials.append(cycle(self.scaled, start, c, rng, coarsening=coarsening))
                self.consider(trials[-1])
        return trials

    def _go_on(self, stages: list[str], trials: list[Trial], parents: np.random.Generator) -> None:
        """Let what the first pass found, the spectral solution and further passes recombine."""
        from firstcut.partitioning.population import Population  # which one pass does not need

        problem, c, pass_work = self.scaled, self._n_clusters, self.work
        population = Population(problem, c, self, trials, parents, self._coarsening(stages[0]))
        # Up to this size an earlier stage has tried the spectral solution already.
        tried = 0
        for stage in stages:
            effort = EFFORTS[stage]
            budget = max(effort.edges, effort.passes * self.work)
            population.coarsening = self._coarsening(stage)
            # On some graphs the relaxed solution of the whole finds what no level shows.
            rng = self.next_generator()
            if tried < problem.n_nodes <= effort.spectral_nodes and self._may_relax():
                population.add(spectral_start(problem, c, rng, self.relaxation))
            tried = max(tried, effort.spectral_nodes)
            if effort.edges > 0:
                population.spend(stage, budget, pass_work)
            if effort.idle_populations > 0:
                population.exhaust(stage, effort.idle_populations)
            population.finish()

    def _coarsening(self, stage: str) -> Coarsening:
        """Return how hierarchies are made in a stage, which is the same whatever follows it."""
        return Coarsening(COARSENING_RULES[EFFORTS[stage].coarsening], self._n_threads)

    def _may_relax(self) -> bool:
        """Whether the eigenproblem of the whole graph can be solved, in the time there is."""
        in_time = self._time_limit is None or self.scaled.n_nodes <= TIMED_NODES
        return in_time and not self.is_done and within_solvers_range(self.scaled)


def _count_threads(problem: Problem, effort: str, n_jobs: int | None) -> int:
    """Return how many threads to use; counting cores takes longer than a small graph does."""
    # A single pass has threads for its contractions only, and these split from two blocks on.
    alone = 2 * BLOCK_EDGES if len(EFFORTS[effort].stages) == 1 else THREADED_EDGES
    if problem.graph.n_stored < alone:
        return 1
    return min(MOST_THREADS, count_threads(None)) if n_jobs is None else count_threads(n_jobs)


def _given(init: Any, n_nodes: int, n_clusters: int) -> list[np.ndarray]:
    """Return the initial partitions as a list of labels 0..n_clusters-1."""
    if init is None:
        return []
    # A list of numbers is one partition, a list of arrays or lists is several.
    several = isinstance(init, list | tuple) and len(init) > 0 and np.ndim(init[0]) > 0
    if not several:
        return [check_init(init, n_nodes, n_clusters)]
    return [
        check_init(labels, n_nodes, n_clusters, f"init[{number}]")
        for number, labels in enumerate(init)
    ]
