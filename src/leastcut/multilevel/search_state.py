"""The state of a search: the best partition so far, the work done and its limits."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from leastcut.budget import Budget
from leastcut.multilevel.coarsening import COARSENING_RULES, Coarsening, Step
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.node_order import Numbering, numbered_anew
from leastcut.multilevel.passes import Candidate, Passes
from leastcut.multilevel.repair import respecting
from leastcut.multilevel.spectral_start import eigenproblem_work, most_products
from leastcut.problem import Problem
from leastcut.results import Relaxation
from leastcut.spectral.relax import relax_problem

SECONDS_PER_EDGE = 8e-9  # time to visit an edge; used only with a time limit
BOUND_SHARE = 0.5  # largest fraction of a time limit reserved for the lower bound
# Factor on the work limit of the edge cut, whose starts are worse and need more recombination.
EDGES_TIMES = 2
REPORT_SECONDS = 1.0  # shortest time between progress reports of a first pass
PASS_FRACTION = 0.9  # largest fraction reported during a first pass


@dataclass(frozen=True, eq=False)
class Level:
    """The coarse level on which a huge problem is searched.

    ``steps`` are the coarsening steps to it, ``candidates`` the results of its first stage.
    """

    steps: list[Step]
    search: Search
    candidates: list[Candidate]


class Search:
    """The state of a search, which its stages share.

    Each task has its own generator, created from the seed and the number of the task, so that
    results do not depend on the threads. Work is counted in visited edges.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        seed: list[int],
        n_threads: int,
        budget: Budget,
        lower_bound: bool,
        above: Search | None = None,
    ) -> None:
        self.problem = problem
        self.scaled = problem.within_range()
        self.n_clusters = n_clusters
        self.n_threads = n_threads
        self.seed = seed
        self.budget = budget
        self.best: Candidate | None = None
        self.work = self.first_work = 0
        self.n_tasks = 0
        self.starts: dict[str, list[np.ndarray]] = {}
        self.stage_labels: dict[str, np.ndarray] = {}
        self.level: Level | None = None
        self.numbering: Numbering | None = None
        self.relaxation: Relaxation | None = None
        self.is_solved = False
        # The search of the finer problem if this one is on a coarse level; it has the clock.
        self._above = above
        # The last progress report.
        self._stage, self._fraction, self._value, self._n_checks = "", 0.0, math.inf, 0
        self._reported = time.monotonic()
        self._lower_bound = lower_bound
        # Time reserved for the eigenproblem of the bound: twice the estimate, as a bound that comes
        # too late is lost.
        self._reserve = self._eigenproblem_work = 0.0
        self._clocks = time.monotonic(), time.process_time()
        if above is None and budget.time_limit is not None:
            self._eigenproblem_work = eigenproblem_work(problem, n_clusters)
            seconds = SECONDS_PER_EDGE * self._eigenproblem_work
            most = BOUND_SHARE * budget.time_limit
            self._reserve = min(2.0 * seconds, most) if lower_bound else 0.0

    def renumber(self) -> Numbering:
        """Renumber the nodes so that neighbors are close in memory."""
        self.numbering = numbered_anew(self.problem, self.n_threads)
        self.problem = self.numbering.problem
        self.scaled = self.problem.within_range()
        return self.numbering

    def below(self, problem: Problem) -> Search:
        """Return a search on a coarse level of the problem, with other seeds and the same clock."""
        seed, c = [*self.seed, self.n_tasks], self.n_clusters
        budget = self.budget.share(translate=self._report_level)
        return Search(problem, c, seed, self.n_threads, budget, False, self)

    def next_generator(self) -> np.random.Generator:
        """Return the generator of the next task."""
        self.n_tasks += 1
        return np.random.default_rng([*self.seed, self.n_tasks])

    def consider(self, candidate: Candidate) -> bool:
        """Add a candidate's work, and keep it if it is the best; return whether it was kept."""
        self.work += candidate.work
        if candidate.beats(self.best):
            self.best = candidate
            return True
        return False

    def store(self, stage: str) -> None:
        """Store the best partition at the end of a stage."""
        if self.best is not None:
            self.stage_labels[stage] = self.best.labels

    def passes(self, rng: np.random.Generator, rule: str, n_threads: int | None = None) -> Passes:
        """Return passes over the scaled problem with a coarsening rule."""
        n_threads = self.n_threads if n_threads is None else n_threads
        coarsening = Coarsening(COARSENING_RULES[rule], n_threads, lambda: self.is_late)
        return Passes(self.scaled, self.n_clusters, rng, coarsening)

    def allowed(self, labels: np.ndarray) -> np.ndarray:
        """Return labels close to ``labels`` that satisfy the constraints."""
        if not self.scaled.constraints.restrict_moves:
            return labels
        kept = respecting(self.scaled, labels, self.n_clusters)
        assert kept is not None  # there is a coloring or a packing
        return kept

    # -- time and work

    @property
    def seconds_left(self) -> float:
        """The time left for the search: until the limit, minus the reserve for the lower bound."""
        if self._above is not None:
            return self._above.seconds_left
        left = self.budget.seconds_left
        if left == math.inf:
            return left
        enough = not self.is_solved and self.estimated(self._eigenproblem_work) <= self._reserve
        return left - self._reserve if enough else left

    def estimated(self, work: float) -> float:
        """Return the estimated seconds for some work, given the CPU time of the process so far."""
        elapsed, used = time.monotonic() - self._clocks[0], time.process_time() - self._clocks[1]
        return SECONDS_PER_EDGE * work * max(1.0, elapsed / max(used, 1e-6))

    @property
    def work_left(self) -> float:
        """The number of edges that can be visited in the time left."""
        left = self.seconds_left
        return left if left == math.inf else max(0.0, left) / self.estimated(1.0)

    @property
    def is_late(self) -> bool:
        """Whether the time limit has passed, or the search was stopped."""
        return self.budget.is_stopped or self.seconds_left <= 0.0

    def never_late(self) -> bool:
        """Return False, for passes that are always completed, and report progress.

        Raises Stopped if the caller no longer waits.
        """
        if self._above is not None:
            return self._above.never_late()
        if not self.budget.is_waited_for:
            return False
        self.budget.check_waited_for()
        has_callback = self.budget.callback is not None
        if has_callback and time.monotonic() > self._reported + REPORT_SECONDS:
            # Each level takes a fraction of the time of the previous one.
            self._n_checks += 1
            self._report(self._stage, PASS_FRACTION * (1.0 - 0.5**self._n_checks), self._value)
        return False

    @property
    def is_done(self) -> bool:
        """Whether the value is 0 or the time is up."""
        return self.is_late or (self.best is not None and self.best.value == 0.0)

    def work_limit(self, stage: str) -> float:
        """Return the total work at which a later stage ends."""
        effort = EFFORTS[stage]
        limit = float(max(effort.edges, effort.passes * self.first_work))
        if effort.eigenproblem_share > 0.0:
            share = effort.eigenproblem_share * eigenproblem_work(self.scaled, self.n_clusters)
            limit = max(limit, share)
        if self.problem.offset > 0.0:
            limit *= EDGES_TIMES
        if self.level is not None and effort.huge_share > 0.0:
            limit = min(limit, (1.0 + effort.huge_share) * self.first_work)
        return limit

    def is_spent(self, stage: str) -> bool:
        """Whether the work limit of a stage is reached before it starts."""
        return EFFORTS[stage].idle_populations == 0 and self.work >= self.work_limit(stage)

    # -- the relaxed solution and the lower bound

    def relax(self) -> Relaxation | None:
        """Return the relaxed solution of the full problem, computed once; None if time is short.

        It need not have converged, as it is used as a start.
        """
        if not self.is_solved:
            self.is_solved = True
            self.relaxation = self._solved(most_products(self.n_clusters))
        return self.relaxation

    def relax_for_bound(self) -> None:
        """Compute a converged relaxed solution if a bound is required and there is time."""
        # A value of 0 needs no bound.
        is_cut = self.best is not None and self.best.value > 0.0
        if self._lower_bound and is_cut and not self.budget.is_stopped:
            relaxation = self.relax()
            if relaxation is not None and not relaxation.converged:
                self.relaxation = self._solved(None)

    def _solved(self, most: int | None) -> Relaxation | None:
        """Return the relaxed solution after at most ``most`` products; None if time is short."""
        if self.estimated(self._eigenproblem_work) > self.budget.seconds_left:
            return None
        c, budget = self.n_clusters, self.budget
        try:
            return relax_problem(self.problem, c, random_state=0, max_iter=most, budget=budget)
        except TimeoutError:
            return None

    @property
    def bound(self) -> float | None:
        """The lower bound, or None if it was not required or there was no time for it."""
        if not self._lower_bound or self.relaxation is None:
            return None
        if self.problem.offset == 0.0:
            return self.relaxation.lower_bound
        # The bound of the edge cut.
        limits, floors = self.problem.limits, self.relaxation.floors
        assert limits is not None
        if not self.relaxation.converged or floors is None:
            return 0.0
        return limits.least_edge_cut(floors, float(self.problem.node_weights.sum()))

    # -- reports

    def begin(self, stage: str) -> None:
        """Set the stage of progress reports."""
        self._stage = stage

    def report(self, stage: str, fraction: float) -> None:
        """Report the progress of the search."""
        if self.budget.callback is None or self.best is None:
            return
        # Report the value of the unscaled problem; recompute it unless that takes long.
        is_same = self.budget.is_waited_for and self.scaled is self.problem
        value = self.best.value if is_same else self.problem.value(self.best.labels)
        self._report(stage, fraction, value)

    def report_nothing(self, stage: str) -> None:
        """Report a stage without a partition so far."""
        self._report(stage, 0.0, math.inf)

    def _report_level(self, progress: Progress) -> None:
        """Report the progress of a coarse level, whose values equal the values of the problem."""
        value = progress.cut_value if self.scaled is self.problem else self._value
        self._report(progress.stage, progress.fraction, value)

    def _report(self, stage: str, fraction: float, value: float) -> None:
        # The estimated fraction may decrease after a new best; the reported one does not.
        before = self._fraction if stage == self._stage else 0.0
        self._stage, self._fraction = stage, max(before, min(fraction, 1.0))
        self._value, self._reported = min(self._value, value), time.monotonic()
        self.budget.report(Progress(stage, self._fraction, self._value, self.budget.seconds))
