"""Recombination: a population of partitions that improves by combining them.

Tasks of one batch know only what was there before the batch, and are added in order: the threads
that run them decide nothing. The constants were set as those of the passes were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from leastcut.multilevel.coarsening import varied_level
from leastcut.multilevel.passes import SMALLER, Candidate, Passes
from leastcut.multilevel.refinement import State
from leastcut.multilevel.search_state import Search
from leastcut.threads import Threads

SIZE = 16  # members of a full population: more take longer to agree, on something better
BATCH = 4  # tasks that are done side by side: more occupy more threads, and know less of each other
STARTS_SHARE = 0.25  # the part of a budget that goes into starts, before they are recombined
# Every so many recombinations, the second parent is new: variety, at the price of a pass.
IMMIGRATION = 10
# Recombinations without a new best after which a population has given what it had.
STALE_TASKS = 3 * SIZE
# Populations in a row without a new best after which a budget is not spent any further.
MOST_IDLE = 2
Task = Callable[[Passes], Candidate | None]


class Population:
    """Candidates of a search; every task draws one of ``rules``, to aggregate nodes by."""

    def __init__(
        self,
        search: Search,
        members: list[Candidate],
        parents: np.random.Generator,
        rules: Sequence[str] = (),
    ) -> None:
        """Take over the members; ``parents`` draws who is recombined with whom."""
        self.members = members
        self.rules = rules
        self._search = search
        self._parents = parents

    def add(self, candidate: Candidate) -> None:
        """Make a candidate a member."""
        self._search.consider(candidate)
        self.members.append(candidate)

    def spend(self, stage: str, budget: float, pass_work: int) -> None:
        """Add starts and recombine them, until about ``budget`` edges have been visited in all.

        ``pass_work`` is what one pass visits: batches are no larger than the work left pays for. A
        population that has given what it had makes room for a new one, and the second in a row
        that brings no new best ends the search before its budget.
        """
        search, idle = self._search, 0

        # At least one, or a loop that has work left would not go on.
        def affordable(limit: float) -> int:
            return int(np.clip(np.ceil((limit - search.work) / max(1, pass_work)), 1, BATCH))

        while not search.is_done and search.work < budget and idle < MOST_IDLE:
            before = search.best.value if search.best is not None else np.inf
            # 1. Make starts: for their part of the budget, and at least two of them, to be parents.
            starts = search.work + STARTS_SHARE * (budget - search.work)
            while not search.is_done and len(self.members) < SIZE:
                if search.work > starts and len(self.members) > 1:
                    break
                self.start(min(affordable(starts), SIZE - len(self.members)))
                search.report(stage, search.work / budget)
            # 2. Recombine them for the rest of it, or until they have given what they had.
            stale = 0
            while not search.is_done and search.work < budget and stale < STALE_TASKS:
                stale = 0 if self.breed(affordable(budget)) else stale + BATCH
                search.report(stage, search.work / budget)
            # 3. Go on with a new one, which the best of all is a member of.
            if stale >= STALE_TASKS and search.best is not None:
                idle = 0 if search.best.value < before else idle + 1
                self.members = [search.best]

    def exhaust(self, stage: str, idle_populations: int) -> None:
        """Breed one population after another, until so many in a row bring no new best.

        Each is bred alone first, and only then with the best so far: it would take over at once.
        """
        # The first population takes over the members that earlier stages have left.
        search, idle = self._search, 0
        while not search.is_done and idle < idle_populations:
            before = search.best.value if search.best is not None else np.inf
            # 1. Fill the population.
            while not search.is_done and len(self.members) < SIZE:
                self.start(min(BATCH, SIZE - len(self.members)))
                search.report(stage, idle / idle_populations)
            # 2. Breed it alone.
            self._breed_until_stale(stage, STALE_TASKS, idle, idle_populations)
            # 3. Let the best of all populations join, and see whether that brings a new best.
            if search.best is not None:
                self.members.append(search.best)
                self._breed_until_stale(stage, SIZE, idle, idle_populations)
                idle = 0 if search.best.value < before else idle + 1
            # 4. Begin another one.
            self.members = []

    def finish(self) -> None:
        """Make the last single moves there are from the best."""
        best = self._search.best
        if best is not None and not self._search.is_done:
            # A copy: moves change labels in place, and the best is a member too.
            state = State(self._search.scaled, best.labels.copy(), self._search.n_clusters)
            self._search.consider(Candidate(state.labels, state.finish(), state.work))

    def start(self, count: int) -> None:
        """Add ``count`` partitions from nothing."""
        for candidate in self._run([self._fresh] * count):
            if candidate is not None:
                self.add(candidate)

    def breed(self, count: int = BATCH) -> bool:
        """Recombine two members, ``count`` times over, and say if the best so far improved.

        A child takes the place of its worse parent, if it is better and no member is as good.
        """
        # 1. Draw all parents first, from one stream in one order.
        replaced = []
        tasks: list[Task] = []
        for _ in range(count):
            better, other = self._parents.choice(len(self.members), 2, replace=False)
            if self.members[other].value < self.members[better].value:
                better, other = other, better
            replaced.append(other)
            # Counted over the whole search: the ways to recombine come round whatever the batches.
            number = self._search.n_tasks + len(tasks)
            tasks.append(self._child(self.members[better], self.members[other], number))
        # 2. Run the tasks and take their children in order, however the threads were scheduled.
        improved = False
        for other, child in zip(replaced, self._run(tasks), strict=True):
            if child is None:
                continue
            improved |= self._search.consider(child)
            # Of the same value is taken to be the same partition: a second copy of a member would
            # have nothing to give. An earlier child of the batch may be in the place by now.
            if child.value < SMALLER * self.members[other].value and not any(
                abs(child.value - member.value) <= (1.0 - SMALLER) * member.value
                for member in self.members
            ):
                self.members[other] = child
        return improved

    def _breed_until_stale(self, stage: str, patience: int, idle: int, most_idle: int) -> None:
        """Recombine until ``patience`` tasks in a row bring no new best."""
        stale = 0
        while not self._search.is_done and stale < patience:
            stale = 0 if self.breed() else stale + BATCH
            self._search.report(stage, (idle + stale / (patience + 1)) / most_idle)

    def _fresh(self, passes: Passes) -> Candidate | None:
        """Find a partition from nothing, on a smallest level of random size."""
        return passes.fresh(varied_level(passes.problem.n_nodes, passes.n_clusters, passes.rng))

    def _child(self, better: Candidate, other: Candidate, number: int) -> Task:
        """Return the task of recombining two members; its number says in which way."""

        def task(passes: Passes) -> Candidate | None:
            mate, work = other.labels, 0
            # The newcomer only mates: what may become a member is the child.
            if number % IMMIGRATION == 0:
                new = self._fresh(passes)
                if new is None:
                    return None
                mate, work = new.labels, new.work
            child = passes.recombine(better.labels, mate, regrow=number % 2 == 0)
            return replace(child, work=child.work + work)

        return task

    def _run(self, tasks: Sequence[Task]) -> list[Candidate | None]:
        """Run tasks in parallel, and return None for those that time did not reach.

        Threads that are more than the tasks are shared out among them.
        """
        search = self._search
        # Handed out before any thread runs: what a task draws is fixed by its number.
        generators = [search.next_generator() for _ in tasks]
        workers = min(search.n_threads, len(tasks))

        def run(task: Task, rng: np.random.Generator) -> Candidate | None:
            rule = self.rules[int(rng.integers(len(self.rules)))]
            if search.is_late:
                return None
            return task(search.passes(rng, rule, search.n_threads // workers))

        if workers == 1:
            return [run(task, rng) for task, rng in zip(tasks, generators, strict=True)]
        with Threads(workers) as each:
            try:
                return each(run, tasks, generators)
            except BaseException:  # an interrupt: tasks under way end as if time were up
                search.budget.stop()
                raise
