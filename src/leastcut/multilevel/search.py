"""The search over multilevel passes for the smallest cut, which ``partition`` is made of.

A search begins with the passes of ``first_stage``. Efforts with further stages go on from them
(``later_stages``): more passes, more of the spectral solution, and recombinations of all that was
found. The steps of a pass are in ``passes``, and what each effort does in ``efforts``. The
constants were set as those are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leastcut.memory import LITTLE_MEMORY, check_memory
from leastcut.multilevel.coarsening import COARSENING_RULES
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.first_stage import begin
from leastcut.multilevel.interface import Level
from leastcut.multilevel.levels import BLOCK_EDGES, Coarsening
from leastcut.multilevel.passes import Trial
from leastcut.multilevel.spectral_start import eigenproblem_work, most_products
from leastcut.problem import ORDINARY, Problem
from leastcut.results import Partition, Relaxation
from leastcut.spectral.relax import relax_problem
from leastcut.threads import count_threads
from leastcut.validation import RandomState, as_generator, is_true, number_by_appearance

if TYPE_CHECKING:
    from leastcut.interrupts import Waiting
    from leastcut.multilevel.ordering import Numbering

ENUMERATED_NODES, ENUMERATED_PARTITIONS = 20, 50_000
"""Problems of no more nodes and partitions are solved by going through them all: 2 ms, and 10 at
worst, where all weights are alike."""

SECONDS_PER_EDGE = 8e-9
"""Time of a visit, which is taken only where there is a time limit to be kept."""

BOUND_SHARE = 0.5
"""The part of a time limit that is kept for the lower bound at most, where it is wanted."""

FREE_SHARE = 0.4
"""The part of a time limit for the search that first leaves out what is not allowed."""

EDGES_SHARE = 0.6
"""The part by which a search that counts edges ends, where clusters are to be balanced."""

EDGES_TIMES = 2
"""Times the work of an effort that a search has where edges are counted in balance: starts are
worse there, and more has to come from recombination."""

MOST_THREADS = 8
"""Threads used by default: more gain little on what memory has to bring."""

THREADED_EDGES = 30_000
"""Stored edges below which a batch of passes is faster in one thread."""

EDGE_BYTES, NODE_BYTES = 36, 60
"""Bytes that a search takes for a stored weight, three times what a graph does, and for a node."""

LONG_EDGES = 5_000_000
"""Stored edges from which on a loop over them takes so long that Ctrl-C should not wait for it."""

NUMBERED_NODES = 150_000
"""Nodes above which those in scattered order are numbered anew: what is less fits fast memory."""

REPORT_SECONDS = 1.0
"""Time between two reports of a first pass, at least; a loop over all edges is not broken off."""

PASS_SHARE = 0.9
"""What a first pass counts as done at most while it is under way."""


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
    apart: np.ndarray | None = None,
) -> Partition:
    """Search for the smallest cut of a problem, with options that :func:`leastcut.partition` would
    accept.

    ``given`` is ``init``, as labels 0..n_clusters-1, and ``began`` the time, on the monotonic
    clock, from which the limit counts. ``apart`` are pairs of nodes, of shape (m, 2) and of two
    different nodes each, that are in different clusters of the result, and of those given; a
    ValueError says so where no ``n_clusters`` clusters can hold them. A problem with limits has a
    packing, and those given keep to them.
    """
    options = _Options(
        effort, time_limit, lower_bound, on_interrupt, random_state, callback, n_jobs, began
    )
    if apart is None or len(apart) == 0:
        return _searched(problem, n_clusters, given, options)
    from leastcut.multilevel.links import Contraction, sides, with_apart  # which few fits need

    problem = with_apart(problem, apart, n_clusters, given)
    if n_clusters > 2:
        return _searched(problem, n_clusters, given, options)
    # Of two clusters more is known: what must be apart from the same node is together.
    contraction = Contraction.of(problem, sides(problem))
    given = [contraction.carry(labels) for labels in given]
    return contraction.expanded(_searched(contraction.problem, 2, given, options))


class _Options(NamedTuple):
    """The options of a search, as :func:`partition_problem` takes them."""

    effort: str
    time_limit: float | None
    lower_bound: bool | None
    on_interrupt: str
    random_state: RandomState
    callback: Callable[[Progress], object] | None
    n_jobs: int | None
    began: float | None


def _searched(
    problem: Problem, n_clusters: int, given: Sequence[np.ndarray], options: _Options
) -> Partition:
    """Search for the smallest cut of a problem among the partitions that it allows."""
    effort, time_limit, lower_bound, on_interrupt, random_state, callback, n_jobs, began = options
    # Drawn whatever comes, so that the caller's generator always moves on alike.
    seed = as_generator(random_state).integers(2**32, size=4).tolist()
    began = time.monotonic() if began is None else began
    n = problem.n_nodes
    if n_clusters in (1, n):
        only = np.arange(n) if n_clusters > 1 else np.zeros(n, dtype=np.int64)
        value = problem.value(only)
        return Partition(only, value, value)  # as there is no other
    proven = _enumerated(problem, n_clusters) if n <= ENUMERATED_NODES else None
    if proven is not None:
        labels, value = _unless_given(problem, proven, given)
        if callback is not None:
            callback(Progress(effort, 1.0, value, time.monotonic() - began))
        return Partition(labels, value, value)
    if lower_bound is None:
        lower_bound = n <= EFFORTS[effort].bound_nodes
    _check_memory(problem)
    n_threads = _count_threads(problem, effort, n_jobs)
    search = _Search(problem, n_clusters, seed, n_threads, began, time_limit, lower_bound, callback)
    try:
        if problem.graph.n_stored < LONG_EDGES:
            search.run_whole(EFFORTS[effort].stages, given)
        else:
            search.run_beside(EFFORTS[effort].stages, given)
    except KeyboardInterrupt:
        # Interrupted in its first pass, a search has nothing to return.
        if on_interrupt == "raise" or search.best is None:
            raise
    assert search.best is not None
    labels, value = _unless_given(problem, search.own_labels(search.best), given)
    # Nothing is below 0.
    return Partition(labels, value, 0.0 if value == 0.0 else search.bound)


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
    starts : dict of list of ndarray
        Partitions that join at a stage, besides those that the caller has given.
    level : Level or None
        What is searched in place of a huge problem, once it is there.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        seed: list[int],
        n_threads: int,
        began: float,
        time_limit: float | None,
        lower_bound: bool,
        callback: Callable[[Progress], object] | None,
        above: _Search | None = None,
    ) -> None:
        self.scaled = problem.within_range()
        self.best: Trial | None = None
        self.work = 0
        self.n_tasks = 0
        self.starts: dict[str, list[np.ndarray]] = {}
        self.level: Level | None = None
        # The search of the problem that this one is a level of, which has the clock.
        self._above = above
        # Set where nodes have been numbered anew, and where the caller waits in another thread.
        self._numbering: Numbering | None = None
        self._waiting: Waiting | None = None
        self._noted: dict[str, np.ndarray] = {}
        self._problem = problem
        self.n_clusters = n_clusters
        self._seed = seed
        self._n_threads = n_threads
        self._began = began
        self._deadline = math.inf if time_limit is None else began + time_limit
        self._stopped = False
        self._callback = callback
        self._first_work = 0
        # What the callback was told last.
        self._stage, self._fraction, self._value, self._looks = "", 0.0, math.inf, 0
        self._told = time.monotonic()
        self._relaxation: Relaxation | None = None
        self._unsolved = True
        self._lower_bound = lower_bound
        # Kept for the eigenproblem of the bound: twice what it is foreseen to take, as what comes
        # too late is lost, and nothing where it would.
        self._reserve = self._eigenproblem_work = 0.0
        self._clocks = time.monotonic(), time.process_time()
        if time_limit is not None:
            self._eigenproblem_work = eigenproblem_work(problem, n_clusters)
            seconds = SECONDS_PER_EDGE * self._eigenproblem_work
            self._reserve = min(2.0 * seconds, BOUND_SHARE * time_limit) if lower_bound else 0.0

    @property
    def seconds_left(self) -> float:
        """The time left to search: until the limit, less what the lower bound will take of it."""
        if self._above is not None:
            return self._above.seconds_left
        if self._deadline == math.inf:  # asked often, and clocks take time
            return math.inf
        left = self._deadline - time.monotonic()
        enough = self._unsolved and self.foreseen(self._eigenproblem_work) <= self._reserve
        return left - self._reserve if enough else left

    def foreseen(self, work: float) -> float:
        """Return the seconds that so much work takes, with the part of a core that there was."""
        wall, used = time.monotonic() - self._clocks[0], time.process_time() - self._clocks[1]
        # On a busy machine a process has to wait for its turn.
        return SECONDS_PER_EDGE * work * max(1.0, wall / max(used, 1e-6))

    @property
    def work_left(self) -> float:
        """The edges that can be visited in the time left to search."""
        left = self.seconds_left
        return left if left == math.inf else max(0.0, left) / self.foreseen(1.0)

    @property
    def is_late(self) -> bool:
        """Whether the time limit has passed, or the search was stopped."""
        return self.is_stopped or self.seconds_left <= 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether the search was stopped, or the one that it is a level of."""
        return self._stopped or (self._above is not None and self._above.is_stopped)

    def never_late(self) -> bool:
        """Say that there is time left, for what is always done, and report that it goes on.

        Raises where nobody waits for it any more.
        """
        if self._above is not None:
            return self._above.never_late()
        if self._waiting is None:
            return False
        self._waiting.go_on()
        if self._callback is not None and time.monotonic() > self._told + REPORT_SECONDS:
            # Each level takes a fraction of the one before it.
            self._looks += 1
            self._tell(self._stage, PASS_SHARE * (1.0 - 0.5**self._looks), self._value)
        return False

    def stop(self) -> None:
        """End whatever is under way, as if time were up."""
        self._stopped = True

    def below(self, problem: Problem) -> _Search:
        """Return a search of a level of the problem: of other seeds, and with the same clock."""
        seed, c = [*self._seed, self.n_tasks], self.n_clusters
        heard = None if self._callback is None else self._hear
        return _Search(problem, c, seed, self._n_threads, self._began, None, False, heard, self)

    def own_labels(self, trial: Trial) -> np.ndarray:
        """Return the labels of a trial by the numbers that the caller's nodes have."""
        return trial.labels if self._numbering is None else self._numbering.carry_back(trial.labels)

    def relax(self) -> Relaxation | None:
        """Return the relaxed solution of the whole problem, solved once; None if it took too long.

        An attempt that fails is not repeated: there is less time now. As a start it need not have
        converged.
        """
        if self._unsolved:
            self._unsolved = False
            self._relaxation = self._solved(most_products(self.n_clusters))
        return self._relaxation

    def _relax_for_bound(self) -> None:
        """Let the relaxed solution converge, if there is time: a bound needs that."""
        found = self.relax()
        if found is not None and not found.converged:
            self._relaxation = self._solved(None)

    def _solved(self, most: int | None) -> Relaxation | None:
        """Return the relaxed solution after so many products, or None if it takes too long."""
        if time.monotonic() + self.foreseen(self._eigenproblem_work) > self._deadline:
            return None
        c, end = self.n_clusters, self._deadline
        try:
            return relax_problem(self._problem, c, random_state=0, max_iter=most, deadline=end)
        except TimeoutError:  # which is what None says
            return None

    @property
    def bound(self) -> float | None:
        """The lower bound, if it is wanted and there was time for it."""
        if not self._lower_bound or self._relaxation is None:
            return None
        if self._problem.offset > 0.0:
            return _least_edge_cut(self._problem, self._relaxation)
        return self._relaxation.lower_bound

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to gain or no time left to gain it."""
        return self.is_late or (self.best is not None and self.best.value == 0.0)

    def budget(self, stage: str) -> float:
        """Return the edges that may have been visited in all when a later stage ends."""
        effort = EFFORTS[stage]
        budget = float(max(effort.edges, effort.passes * self._first_work))
        if effort.eigenproblem_share > 0.0:
            share = effort.eigenproblem_share * eigenproblem_work(self.scaled, self.n_clusters)
            budget = max(budget, share)
        if self._problem.offset > 0.0:
            budget *= EDGES_TIMES
        if self.level is not None and effort.huge_share > 0.0:
            budget = min(budget, (1.0 + effort.huge_share) * self._first_work)
        return budget

    def is_spent(self, stage: str) -> bool:
        """Whether the budget of a stage is spent before it begins."""
        return EFFORTS[stage].idle_populations == 0 and self.work >= self.budget(stage)

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

    def note(self, stage: str) -> None:
        """Remember the best partition at the end of a stage."""
        if self.best is not None:
            self._noted[stage] = self.best.labels

    def look_unbound(self, stages: Sequence[str]) -> None:
        """Search as if every partition were allowed first, and make starts of what that finds.

        What it has found by the end of a stage, repaired, joins the same stage of this search: no
        result is then above it, and where no repair was needed, pairs and limits have cost nothing.
        """
        problem, counts_edges = self._problem, self._problem.offset > 0.0
        # Balanced clusters that cut few edges are not near those: there a first look is enough.
        free = self._look_beside(
            replace(problem, apart=None, limits=None, offset=0.0),
            stages[:1] if counts_edges else stages,
            FREE_SHARE,
        )
        if free._relaxation is not None:  # which is that of the same graph
            self._relaxation, self._unsolved = free._relaxation, False
        assert free.best is not None  # as its first pass is never late
        if problem.limits is None or counts_edges or problem.allows(free.best.labels):
            return
        # Where limits are tight clusters weigh about the same, and few edges are a small value.
        if float(problem.graph.weights.sum()) <= ORDINARY:
            self._look_beside(problem.counting_edges(), stages, EDGES_SHARE)

    def _look_beside(self, problem: Problem, stages: Sequence[str], share: float) -> _Search:
        """Search another problem of the same nodes, and make starts of what that finds.

        It ends at ``share`` of the time limit.
        """
        from leastcut.multilevel.repair import respecting  # which few searches need

        left = self._deadline - self._began

        def hear(_: Progress) -> None:
            # Of what is allowed there is nothing yet.
            self._tell(stages[0], 0.0, math.inf)
            if self.is_stopped:
                other.stop()

        other = _Search(
            problem,
            self.n_clusters,
            self._seed,
            self._n_threads,
            self._began,
            None if left == math.inf else share * left,
            False,
            None if self._callback is None else hear,
        )
        try:
            other.run(stages, ())
        except KeyboardInterrupt:
            if other.best is not None:
                kept = respecting(self.scaled, other.best.labels, self.n_clusters)
                assert kept is not None  # as there is a colouring, or a packing
                self.consider(Trial(kept, self.scaled.value(kept), 0))
            raise
        before = None
        for stage, labels in other._noted.items():
            if before is None or not np.array_equal(labels, before):
                kept = respecting(self.scaled, labels, self.n_clusters)
                assert kept is not None  # as there is a colouring, or a packing
                self.starts.setdefault(stage, []).append(kept)
            before = labels
        return other

    def report(self, stage: str, fraction: float) -> None:
        """Tell the callback where the search stands."""
        if self._callback is None or self.best is None:
            return
        # In the user's own numbers, not in the scaled ones, and by the user's own sums, unless to
        # take these takes long.
        is_same = self._waiting is not None and self.scaled is self._problem
        value = self.best.value if is_same else self._problem.value(self.best.labels)
        self._tell(stage, fraction, value)

    def _hear(self, progress: Progress) -> None:
        """Pass on what the search of a level reports; its values are those of the whole."""
        value = progress.cut_value if self.scaled is self._problem else self._value
        self._tell(progress.stage, progress.fraction, value)

    def _tell(self, stage: str, fraction: float, value: float) -> None:
        callback = self._callback
        assert callback is not None
        # An estimate may fall, as when a population finds a new best; what is done stays done.
        before = self._fraction if stage == self._stage else 0.0
        self._stage, self._fraction = stage, max(before, min(fraction, 1.0))
        # What a level has found, is refined on the way up before it counts.
        self._value, self._told = min(self._value, value), time.monotonic()
        progress = Progress(stage, self._fraction, self._value, self._told - self._began)

        def ask() -> None:
            # Between two batches: no task that is under way is cut short by an answer.
            if is_true(callback(progress)):
                self.stop()

        if self._waiting is None:
            ask()
        else:
            self._waiting.call(ask)

    def run_beside(self, stages: Sequence[str], given: Sequence[np.ndarray]) -> None:
        """Run the whole in another thread, which an interrupt need not wait for."""
        from leastcut.interrupts import Waiting  # which few searches need

        self._waiting = Waiting()
        self._waiting.run(lambda: self.run_whole(stages, given), self.stop)

    def run_whole(self, stages: Sequence[str], given: Sequence[np.ndarray]) -> None:
        """Number the nodes anew where that helps, look unbound if anything is bound, and run."""
        self._stage = stages[0]
        if self._problem.n_nodes > NUMBERED_NODES:
            from leastcut.multilevel.ordering import is_scattered, numbered_anew

            if is_scattered(self._problem.graph):
                self._numbering = numbered_anew(self._problem, self._n_threads)
                self._problem = self._numbering.problem
                self.scaled = self._problem.within_range()
                given = [self._numbering.carry(labels) for labels in given]
        if self._problem.is_bound:
            self.look_unbound(stages)
        self.run(stages, given)

    def run(self, stages: Sequence[str], given: Sequence[np.ndarray]) -> None:
        """Run all stages, and solve the eigenproblem of the lower bound if none of them has."""
        first, *others = stages
        # Taken by every effort, used or not: tasks then have the same numbers in all of them.
        parents = self.next_generator()
        trials = begin(self, first, given)
        self.report(first, 1.0)
        self._first_work = self.work
        if all(self.is_spent(stage) and stage not in self.starts for stage in others):
            for stage in others:
                self.report(stage, 1.0)
        else:
            from leastcut.multilevel.later_stages import go_on  # which few fits need

            go_on(self, others, trials, parents)
        # Where no edge is cut there is nothing to bound, and who has stopped it waits no longer.
        is_cut = self.best is not None and self.best.value > 0.0
        if self._lower_bound and is_cut and not self.is_stopped:
            self._relax_for_bound()

    def coarsening(self, rule: str) -> Coarsening:
        """Return how hierarchies are made by a rule."""
        return Coarsening(COARSENING_RULES[rule], self._n_threads, lambda: self.is_late)


def _count_threads(problem: Problem, effort: str, n_jobs: int | None) -> int:
    """Return how many threads to use; counting cores takes longer than a small graph does."""
    # A single pass has threads for its contractions only, and these split from two blocks on.
    alone = 2 * BLOCK_EDGES if len(EFFORTS[effort].stages) == 1 else THREADED_EDGES
    if problem.graph.n_stored < alone:
        return 1
    return min(MOST_THREADS, count_threads(None)) if n_jobs is None else count_threads(n_jobs)


def _enumerated(problem: Problem, n_clusters: int) -> np.ndarray | None:
    """Return the labels of the smallest cut there is, if few milliseconds are enough to prove it.

    None where there are more partitions, or where doubles cannot tell which of them is best.
    """
    from leastcut.multilevel.exact import exact_problem, stirling  # for few graphs

    if stirling(problem.n_nodes, n_clusters) > ENUMERATED_PARTITIONS:
        return None
    best = exact_problem(problem, n_clusters)
    return best.labels if best.gap == 0.0 else None


def _check_memory(problem: Problem) -> None:
    """Raise MemoryError if a search needs more memory than there is."""
    n, n_stored = problem.n_nodes, problem.graph.n_stored
    needed = EDGE_BYTES * n_stored + NODE_BYTES * n
    if needed > LITTLE_MEMORY:
        check_memory(
            needed,
            f"A search of a graph of {n} nodes and {n_stored} stored weights",
            "Cut a graph of fewer neighbours, or leave its lightest edges out.",
        )


def _least_edge_cut(problem: Problem, relaxation: Relaxation) -> float:
    """Return what no balanced partition cuts less than; 0 where too little is known."""
    limits, floors = problem.limits, relaxation.floors
    assert limits is not None
    if not relaxation.converged or floors is None:
        return 0.0
    return limits.least_edge_cut(floors, float(problem.node_weights.sum()))


def _unless_given(
    problem: Problem, labels: np.ndarray, given: Sequence[np.ndarray]
) -> tuple[np.ndarray, float]:
    """Return labels, numbered by first appearance, and their value, or a given partition's.

    A given partition is returned itself where it is the same, or no worse.
    """
    labels = number_by_appearance(labels)
    value = problem.value(labels)
    if given:
        values = [problem.value(own) for own in given]
        best = int(np.argmin(values))
        # The same partition under other numbers may differ from it by rounding.
        if values[best] <= value or np.array_equal(number_by_appearance(given[best]), labels):
            return given[best], values[best]
    return labels, value
