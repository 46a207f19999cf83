"""Recombination: a population of partitions that are combined in pairs.

Tasks of a batch use only results of previous batches, and their results are added in order, so the
result does not depend on the threads. The constants were tuned like those of the passes.
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

SIZE = 16  # members of a full population: more converge later, to better partitions
BATCH = 4  # tasks that run in parallel: more use more threads, but fewer results of each other
STARTS_SHARE = 0.25  # fraction of the work for new members, before they are recombined
IMMIGRATION = 10  # one in this many recombinations has a new partition as second parent
STALE_TASKS = 3 * SIZE  # recombinations without a new best after which a population ends
MOST_IDLE = 2  # consecutive populations without a new best after which the search ends
Task = Callable[[Passes], Candidate | None]


class Population:
    """Candidates of a search; every task samples one of the coarsening ``rules``."""

    def __init__(
        self,
        search: Search,
        members: list[Candidate],
        parents: np.random.Generator,
        rules: Sequence[str] = (),
    ) -> None:
        """Start with ``members``; ``parents`` samples the pairs that are recombined."""
        self.members = members
        self.rules = rules
        self._search = search
        self._parents = parents

    def add(self, candidate: Candidate) -> None:
        """Make a candidate a member."""
        self._search.consider(candidate)
        self.members.append(candidate)

    def spend(self, stage: str, budget: float, pass_work: int) -> None:
        """Add members and recombine them, until about ``budget`` edges were visited in total.

        ``pass_work`` is the work of one pass, which limits the size of batches. A population that
        no longer improves is replaced by a new one; after two without a new best the search ends.
        """
        search, idle = self._search, 0

        def affordable(limit: float) -> int:
            return int(np.clip(np.ceil((limit - search.work) / max(1, pass_work)), 1, BATCH))

        while not search.is_done and search.work < budget and idle < MOST_IDLE:
            before = search.best.value if search.best is not None else np.inf
            # 1. Add members, at least two.
            starts = search.work + STARTS_SHARE * (budget - search.work)
            while not search.is_done and len(self.members) < SIZE:
                if search.work > starts and len(self.members) > 1:
                    break
                self.start(min(affordable(starts), SIZE - len(self.members)))
                search.report(stage, search.work / budget)
            # 2. Recombine them until the work is spent or they no longer improve.
            stale = 0
            while not search.is_done and search.work < budget and stale < STALE_TASKS:
                stale = 0 if self.breed(affordable(budget)) else stale + BATCH
                search.report(stage, search.work / budget)
            # 3. Start a new population with the best candidate.
            if stale >= STALE_TASKS and search.best is not None:
                idle = 0 if search.best.value < before else idle + 1
                self.members = [search.best]

    def exhaust(self, stage: str, idle_populations: int) -> None:
        """Run populations until ``idle_populations`` in a row bring no new best.

        Each is recombined without the best candidate first, which would dominate it.
        """
        # The first population starts with the members of earlier stages.
        search, idle = self._search, 0
        while not search.is_done and idle < idle_populations:
            before = search.best.value if search.best is not None else np.inf
            # 1. Fill the population.
            while not search.is_done and len(self.members) < SIZE:
                self.start(min(BATCH, SIZE - len(self.members)))
                search.report(stage, idle / idle_populations)
            # 2. Recombine its members.
            self._breed_until_stale(stage, STALE_TASKS, idle, idle_populations)
            # 3. Add the best candidate of all populations, and recombine again.
            if search.best is not None:
                self.members.append(search.best)
                self._breed_until_stale(stage, SIZE, idle, idle_populations)
                idle = 0 if search.best.value < before else idle + 1
            # 4. Start a new population.
            self.members = []

    def finish(self) -> None:
        """Move single nodes of the best candidate until no move decreases its value."""
        best = self._search.best
        if best is not None and not self._search.is_done:
            state = State(self._search.scaled, best.labels.copy(), self._search.n_clusters)
            self._search.consider(Candidate(state.labels, state.finish(), state.work))

    def start(self, count: int) -> None:
        """Add ``count`` new partitions."""
        for candidate in self._run([self._fresh] * count):
            if candidate is not None:
                self.add(candidate)

    def breed(self, count: int = BATCH) -> bool:
        """Recombine ``count`` pairs of members; return whether the best candidate improved.

        A child replaces its worse parent if it is better and no member has the same value.
        """
        # 1. Sample all pairs first.
        replaced = []
        tasks: list[Task] = []
        for _ in range(count):
            better, other = self._parents.choice(len(self.members), 2, replace=False)
            if self.members[other].value < self.members[better].value:
                better, other = other, better
            replaced.append(other)
            # The number of the task in the search determines how to recombine.
            number = self._search.n_tasks + len(tasks)
            tasks.append(self._child(self.members[better], self.members[other], number))
        # 2. Run the tasks, and add the children in order.
        improved = False
        for other, child in zip(replaced, self._run(tasks), strict=True):
            if child is None:
                continue
            improved |= self._search.consider(child)
            # Equal values are assumed to be equal partitions, which would be useless as parents.
            if child.value < SMALLER * self.members[other].value and not any(
                abs(child.value - member.value) <= (1.0 - SMALLER) * member.value
                for member in self.members
            ):
                self.members[other] = child
        return improved

    def _breed_until_stale(self, stage: str, patience: int, idle: int, most_idle: int) -> None:
        """Recombine until ``patience`` consecutive tasks bring no new best."""
        stale = 0
        while not self._search.is_done and stale < patience:
            stale = 0 if self.breed() else stale + BATCH
            self._search.report(stage, (idle + stale / (patience + 1)) / most_idle)

    def _fresh(self, passes: Passes) -> Candidate | None:
        """Make a pass from scratch, with a smallest level of random size."""
        return passes.fresh(varied_level(passes.problem.n_nodes, passes.n_clusters, passes.rng))

    def _child(self, better: Candidate, other: Candidate, number: int) -> Task:
        """Return the task of recombining two members; ``number`` determines the variant."""

        def task(passes: Passes) -> Candidate | None:
            partner, work = other.labels, 0
            if number % IMMIGRATION == 0:
                new = self._fresh(passes)
                if new is None:
                    return None
                partner, work = new.labels, new.work
            child = passes.recombine(better.labels, partner, regrow=number % 2 == 0)
            return replace(child, work=child.work + work)

        return task

    def _run(self, tasks: Sequence[Task]) -> list[Candidate | None]:
        """Run tasks in parallel, and return None for tasks after the time limit.

        If there are more threads than tasks, tasks use several threads each.
        """
        search = self._search
        # Created in order, so that random numbers do not depend on the threads.
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
            except BaseException:  # Ctrl-C: running tasks stop as at a time limit
                search.budget.stop()
                raise
