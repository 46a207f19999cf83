"""The state of a search: the best partition so far, the work done, and what it may still cost."""

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

SECONDS_PER_EDGE = 8e-9  # time of a visit of an edge, which is only used under a time limit
# The fraction of a time limit that is kept for the lower bound at most, if it is wanted.
BOUND_SHARE = 0.5
# Times the work of an effort that a search has if it counts edges under a balance: starts are
# worse there, and more has to come from recombination.
EDGES_TIMES = 2
# Time between two reports of a first pass, at least; a loop over all edges is not interrupted.
REPORT_SECONDS = 1.0
# The fraction of a first pass that is reported as done at most while it is under way.
PASS_FRACTION = 0.9


@dataclass(frozen=True, eq=False)
class Level:
    """The level that is searched in place of a huge problem.

    ``steps`` lead from the problem to it, and ``candidates`` are the results of its first stage.
    """

    steps: list[Step]
    search: Search
    candidates: list[Candidate]


class Search:
    """One search, whose stages go on from each other.

    Tasks are numbered, and each draws from its own generator, made from the seed and the number, so
    that the threads that run them decide nothing. Work is counted in edges visited.
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
        self.noted: dict[str, np.ndarray] = {}
        self.level: Level | None = None
        self.numbering: Numbering | None = None
        self.relaxation: Relaxation | None = None
        self.is_solved = False
        # The search of the problem that this one is a level of, which has the clock.
        self._above = above
        # What was reported last.
        self._stage, self._fraction, self._value, self._looks = "", 0.0, math.inf, 0
        self._reported = time.monotonic()
        self._lower_bound = lower_bound
        # Reserved for the eigenproblem of the bound: twice what it is estimated to take, as what
        # comes too late is lost, and nothing where it would be.
        self._reserve = self._eigenproblem_work = 0.0
        self._clocks = time.monotonic(), time.process_time()
        if above is None and budget.time_limit is not None:
            self._eigenproblem_work = eigenproblem_work(problem, n_clusters)
            seconds = SECONDS_PER_EDGE * self._eigenproblem_work
            most = BOUND_SHARE * budget.time_limit
            self._reserve = min(2.0 * seconds, most) if lower_bound else 0.0

    def renumber(self) -> Numbering:
        """Go on with the same problem under numbers that are near each other for neighbors."""
        self.numbering = numbered_anew(self.problem, self.n_threads)
        self.problem = self.numbering.problem
        self.scaled = self.problem.within_range()
        return self.numbering

    def below(self, problem: Problem) -> Search:
        """Return a search of a level of the problem: with other seeds, and the same clock."""
        seed, c = [*self.seed, self.n_tasks], self.n_clusters
        budget = self.budget.share(translate=self._report_level)
        return Search(problem, c, seed, self.n_threads, budget, False, self)

    def next_generator(self) -> np.random.Generator:
        """Return the generator of the next task."""
        # By number and not by time: tasks of a batch may run in any order.
        self.n_tasks += 1
        return np.random.default_rng([*self.seed, self.n_tasks])

    def consider(self, candidate: Candidate) -> bool:
        """Count a candidate's work, keep it if it is the best so far, and say whether it is."""
        self.work += candidate.work
        if candidate.beats(self.best):
            self.best = candidate
            return True
        return False

    def note(self, stage: str) -> None:
        """Remember the best partition at the end of a stage."""
        if self.best is not None:
            self.noted[stage] = self.best.labels

    def passes(self, rng: np.random.Generator, rule: str, n_threads: int | None = None) -> Passes:
        """Return the passes over the scaled problem that aggregate nodes by a rule."""
        n_threads = self.n_threads if n_threads is None else n_threads
        coarsening = Coarsening(COARSENING_RULES[rule], n_threads, lambda: self.is_late)
        return Passes(self.scaled, self.n_clusters, rng, coarsening)

    def allowed(self, labels: np.ndarray) -> np.ndarray:
        """Return labels close to these that the constraints allow."""
        if not self.scaled.constraints.restrict_moves:
            return labels
        kept = respecting(self.scaled, labels, self.n_clusters)
        assert kept is not None  # as there is a coloring, or a packing
        return kept

    # -- time and work

    @property
    def seconds_left(self) -> float:
        """The time left to search: until the limit, less what the lower bound will take of it."""
        if self._above is not None:
            return self._above.seconds_left
        left = self.budget.seconds_left
        if left == math.inf:
            return left
        enough = not self.is_solved and self.estimated(self._eigenproblem_work) <= self._reserve
        return left - self._reserve if enough else left

    def estimated(self, work: float) -> float:
        """Return the seconds that so much work takes, with the fraction of a core there was."""
        wall, used = time.monotonic() - self._clocks[0], time.process_time() - self._clocks[1]
        # On a busy machine a process has to wait for its turn.
        return SECONDS_PER_EDGE * work * max(1.0, wall / max(used, 1e-6))

    @property
    def work_left(self) -> float:
        """The edges that can be visited in the time left to search."""
        left = self.seconds_left
        return left if left == math.inf else max(0.0, left) / self.estimated(1.0)

    @property
    def is_late(self) -> bool:
        """Whether the time limit has passed, or the search was stopped."""
        return self.budget.is_stopped or self.seconds_left <= 0.0

    def never_late(self) -> bool:
        """Return False, for work that is always done, and report that it goes on.

        Raises if nobody waits for it any more.
        """
        if self._above is not None:
            return self._above.never_late()
        if not self.budget.is_waited_for:
            return False
        self.budget.check_waited_for()
        has_callback = self.budget.callback is not None
        if has_callback and time.monotonic() > self._reported + REPORT_SECONDS:
            # Each level takes a fraction of the one before it.
            self._looks += 1
            self._report(self._stage, PASS_FRACTION * (1.0 - 0.5**self._looks), self._value)
        return False

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to gain or no time left to gain it."""
        return self.is_late or (self.best is not None and self.best.value == 0.0)

    def work_limit(self, stage: str) -> float:
        """Return the edges that may have been visited in all when a later stage ends."""
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
        """Whether the work of a stage is spent before it begins."""
        return EFFORTS[stage].idle_populations == 0 and self.work >= self.work_limit(stage)

    # -- the relaxed solution and the lower bound

    def relax(self) -> Relaxation | None:
        """Return the relaxed solution of the full problem, solved once; None if it took too long.

        An attempt that fails is not repeated: there is less time now. As a start it need not have
        converged.
        """
        if not self.is_solved:
            self.is_solved = True
            self.relaxation = self._solved(most_products(self.n_clusters))
        return self.relaxation

    def relax_for_bound(self) -> None:
        """Let the relaxed solution converge if a bound is wanted and there is time for it."""
        # Where no edge is cut there is nothing to bound, and nobody waits for a stopped search.
        is_cut = self.best is not None and self.best.value > 0.0
        if self._lower_bound and is_cut and not self.budget.is_stopped:
            found = self.relax()
            if found is not None and not found.converged:
                self.relaxation = self._solved(None)

    def _solved(self, most: int | None) -> Relaxation | None:
        """Return the relaxed solution after so many products, or None if it takes too long."""
        if self.estimated(self._eigenproblem_work) > self.budget.seconds_left:
            return None
        c, budget = self.n_clusters, self.budget
        try:
            return relax_problem(self.problem, c, random_state=0, max_iter=most, budget=budget)
        except TimeoutError:  # which is what None says
            return None

    @property
    def bound(self) -> float | None:
        """The lower bound, if it is wanted and there was time for it."""
        if not self._lower_bound or self.relaxation is None:
            return None
        if self.problem.offset == 0.0:
            return self.relaxation.lower_bound
        # Of edge cuts; 0 if too little is known.
        limits, floors = self.problem.limits, self.relaxation.floors
        assert limits is not None
        if not self.relaxation.converged or floors is None:
            return 0.0
        return limits.least_edge_cut(floors, float(self.problem.node_weights.sum()))

    # -- reports

    def begin(self, stage: str) -> None:
        """Report under the name of a stage from now on."""
        self._stage = stage

    def report(self, stage: str, fraction: float) -> None:
        """Report the progress of the search."""
        if self.budget.callback is None or self.best is None:
            return
        # In the user's numbers, not in the scaled ones, and by fresh sums, unless that takes long.
        is_same = self.budget.is_waited_for and self.scaled is self.problem
        value = self.best.value if is_same else self.problem.value(self.best.labels)
        self._report(stage, fraction, value)

    def report_nothing(self, stage: str) -> None:
        """Report that work on a stage goes on, without a partition yet."""
        self._report(stage, 0.0, math.inf)

    def _report_level(self, progress: Progress) -> None:
        """Report the progress of a level; its values are those of the full problem."""
        value = progress.cut_value if self.scaled is self.problem else self._value
        self._report(progress.stage, progress.fraction, value)

    def _report(self, stage: str, fraction: float, value: float) -> None:
        # An estimate may fall, as when a population finds a new best; what is done stays done.
        before = self._fraction if stage == self._stage else 0.0
        self._stage, self._fraction = stage, max(before, min(fraction, 1.0))
        # The result of a level is refined on the way up before it counts.
        self._value, self._reported = min(self._value, value), time.monotonic()
        self.budget.report(Progress(stage, self._fraction, self._value, self.budget.seconds))
