"""A population of partitions that improves by recombination.

Tasks are numbered, and each draws from a generator of its own, made from the seed and its number.
Tasks of one batch know only what was there before the batch, and are added in order: the threads
that run them decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from firstcut.partitioning import hierarchy
from firstcut.partitioning.multilevel import Candidate, fresh, recombine
from firstcut.partitioning.refinement import Level

SIZE = 16
"""Members of a full population."""

BATCH = 4
"""Tasks that are done side by side."""

IMMIGRATION = 5
"""Every so many recombinations, the second parent is new."""

SMALLER = 1.0 - 1e-9
"""A value counts as smaller below this fraction of the other; the rest is rounding."""

THREADED_EDGES = 30_000
"""Below this many stored edges a batch is faster in one thread."""

Task = Callable[[np.random.Generator], Candidate]


class Population:
    """Partitions of one level into ``n_clusters`` clusters, the best of them, and their cost.

    Attributes
    ----------
    members : list of Candidate
    best : Candidate or None
        The best ever added, member or not.
    work : int
        Edges visited so far by all tasks.
    """

    def __init__(
        self, level: Level, n_clusters: int, seed: Sequence[int], out_of_time: Callable[[], bool]
    ) -> None:
        self.level = level
        self.n_clusters = n_clusters
        self.members: list[Candidate] = []
        self.best: Candidate | None = None
        self.work = 0
        self.out_of_time = out_of_time
        self._seed = list(seed)
        self._tasks = 0
        self._choices = self.next_generator()

    def next_generator(self) -> np.random.Generator:
        """Return the generator of the next task."""
        self._tasks += 1
        return np.random.default_rng([*self._seed, self._tasks])

    def consider(self, candidate: Candidate) -> bool:
        """Count a candidate's work, keep it if it is the best ever, and say whether it is."""
        self.work += candidate.work
        if self.best is None or candidate.value < SMALLER * self.best.value:
            self.best = candidate
            return True
        return False

    def add(self, candidate: Candidate) -> None:
        """Make a candidate a member."""
        self.consider(candidate)
        self.members.append(candidate)

    def start(self, count: int) -> None:
        """Add ``count`` partitions from nothing."""
        for found in self._run([self._fresh] * count):
            if found is not None:
                self.add(found)

    def breed(self, count: int = BATCH) -> bool:
        """Recombine ``count`` pairs; children replace worse parents. Say if the best improved."""
        pairs = []
        tasks: list[Task] = []
        for _ in range(count):
            first, second = self._choices.choice(len(self.members), 2, replace=False)
            if self.members[second].value < self.members[first].value:
                first, second = second, first
            pairs.append(second)
            number = self._tasks + len(tasks)
            tasks.append(self._child(self.members[first], self.members[second], number))
        improved = False
        for second, child in zip(pairs, self._run(tasks), strict=True):
            if child is None:
                continue
            improved |= self.consider(child)
            if child.value < SMALLER * self.members[second].value and not any(
                abs(child.value - member.value) <= (1.0 - SMALLER) * member.value
                for member in self.members
            ):
                self.members[second] = child
        return improved

    def _child(self, better: Candidate, other: Candidate, number: int) -> Task:
        def task(rng: np.random.Generator) -> Candidate:
            mate, work = other.labels, 0
            if number % IMMIGRATION == 0:
                new = self._fresh(rng)
                mate, work = new.labels, new.work
            child = recombine(
                self.level, better.labels, mate, self.n_clusters, rng, regrow=number % 2 == 0
            )
            return Candidate(child.labels, child.value, child.work + work)

        return task

    def _fresh(self, rng: np.random.Generator) -> Candidate:
        c, n = self.n_clusters, self.level.n_nodes
        fewest = max(2 * c, min(10 * c, n // 4))
        most = max(fewest, min(100 * c, n))
        smallest = int(np.exp(rng.uniform(np.log(fewest), np.log(most))))
        return fresh(self.level, c, rng, smallest)

    def _run(self, tasks: Sequence[Task]) -> list[Candidate | None]:
        """Run tasks, side by side where that pays; None for those the time did not reach."""
        generators = [self.next_generator() for _ in tasks]

        def run(task: Task, rng: np.random.Generator) -> Candidate | None:
            return None if self.out_of_time() else task(rng)

        threads = min(hierarchy.available_threads(), len(tasks))
        if threads <= 1 or self.level.n_stored < THREADED_EDGES:
            return [run(task, rng) for task, rng in zip(tasks, generators, strict=True)]
        pool = ThreadPoolExecutor(threads)
        try:
            return list(pool.map(run, tasks, generators))
        finally:  # an interrupt must not wait for tasks that have not begun
            pool.shutdown(cancel_futures=True)
