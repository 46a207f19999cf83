"""What each effort does: three parts of one search, each going on from the one before.

One random stream, read in one order, whatever the effort: ``balanced`` begins with exactly what
``fast`` does and goes on, ``thorough`` goes on from ``balanced``. Effort is counted in edges
visited, not in seconds, so a seed fixes the answer; a time limit only cuts the same search short.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from firstcut.cuts import CutLike, cut_value
from firstcut.graph import Graph
from firstcut.partitioning.multilevel import (
    Candidate,
    cycle,
    fresh,
    spectral_start,
    within_eigensolvers_range,
)
from firstcut.partitioning.population import BATCH, SIZE, Population
from firstcut.partitioning.refinement import State
from firstcut.relaxation import Relaxation, relax

BALANCED_EDGES = 60_000_000
"""Edges that ``balanced`` may visit, about half a second's worth. Large graphs get more:"""

BALANCED_PASSES = 4
"""this many times what the first pass has visited."""

STARTS_SHARE = 0.4
"""The part of that work that goes into starts, before they are recombined."""

SPECTRAL_NODES = {"balanced": 8000, "thorough": 20_000}
"""Largest graph whose own spectral solution takes part."""

DIRECT_NODES = 3000
"""Up to this size the first pass agglomerates the nodes themselves."""

START_NODES = 40
"""Above it, nodes are first gathered to this many per cluster."""

STALE_TASKS = 3 * SIZE
"""Recombinations without a new best after which a population has given what it had."""

IDLE_EPOCHS = 2
"""Populations in a row without a new best after which ``thorough`` ends."""


@dataclass(frozen=True)
class Progress:
    """What ``callback`` receives.

    Attributes
    ----------
    stage : str
        The effort whose part of the search is running.
    fraction : float
        How much of that part is done, from 0 to 1; an estimate for "thorough".
    cut_value : float
        The smallest value so far.
    seconds : float
        Since the call began.
    """

    stage: str
    fraction: float
    cut_value: float
    seconds: float


class Clock:
    """Seconds since it was made, and whether a limit has passed."""

    def __init__(self, limit: float | None) -> None:
        if limit is not None and not limit >= 0:
            raise ValueError(f"time_limit={limit!r} must be a number of seconds >= 0, or None.")
        self._start = time.monotonic()
        self.limit = limit

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def is_over(self) -> bool:
        return self.limit is not None and self.seconds() >= self.limit


class Search:
    """The three parts of the search, each going on from the one before."""

    def __init__(
        self,
        graph: Graph,
        cut: CutLike,
        population: Population,
        clock: Clock,
        callback: Callable[[Progress], object] | None,
    ) -> None:
        self.graph = graph
        self.cut = cut
        self.population = population
        self.clock = clock
        self.callback = callback
        self._relaxation: Relaxation | None = None

    @property
    def solved(self) -> bool:
        """Whether there is nothing left to gain or no time left to gain it."""
        best = self.population.best
        return self.clock.is_over() or (best is not None and best.value == 0.0)

    def relaxation(self) -> Relaxation:
        """The relaxed solution of the whole graph, solved once."""
        if self._relaxation is None:
            self._relaxation = relax(
                self.graph, self.population.n_clusters, self.cut, random_state=0
            )
        return self._relaxation

    def report(self, stage: str, fraction: float) -> None:
        """Tell the callback where the search stands."""
        best = self.population.best
        if self.callback is not None and best is not None:
            value = cut_value(self.graph, best.labels, self.cut)
            self.callback(Progress(stage, min(fraction, 1.0), value, self.clock.seconds()))

    def fast(self, given: list[np.ndarray]) -> None:
        """Make one pass, and a V-cycle from each given partition."""
        level, c = self.population.level, self.population.n_clusters
        rng = self.population.next_generator()
        n = level.n_nodes
        smallest = n if n <= DIRECT_NODES else START_NODES * c
        found = fresh(level, c, rng, smallest, spectral=True)
        self.population.add(found)
        for labels in given:
            rng = self.population.next_generator()
            if not self.solved:
                self.population.add(cycle(level, labels.astype(np.int32), c, rng))
        self.first_pass = self.population.work
        self.report("fast", 1.0)

    def balanced(self) -> None:
        """Add the spectral solution and more starts, and recombine, within a fixed work."""
        population = self.population
        budget = max(BALANCED_EDGES, BALANCED_PASSES * population.work)
        self._spectral(0, SPECTRAL_NODES["balanced"])
        while not self.solved and len(population.members) < SIZE:
            if population.work > STARTS_SHARE * budget and len(population.members) > 1:
                break
            population.start(self._batch(STARTS_SHARE * budget))
            self.report("balanced", population.work / budget)
        stale = 0
        while not self.solved and population.work < budget and stale < STALE_TASKS:
            stale = 0 if population.breed(self._batch(budget)) else stale + BATCH
            self.report("balanced", population.work / budget)
        self._finish()

    def _spectral(self, above: int, most: int) -> None:
        """Add the spectral solution of the whole graph if its size is within these bounds."""
        population, level = self.population, self.population.level
        rng = population.next_generator()
        if above < level.n_nodes <= most and not self.solved and within_eigensolvers_range(level):
            found = spectral_start(level, population.n_clusters, rng, self.relaxation())
            population.add(found)

    def _batch(self, budget: float) -> int:
        """Tasks in the next batch: no more than the work left pays for."""
        affordable = (budget - self.population.work) / max(1, self.first_pass)
        return int(np.clip(np.ceil(affordable), 1, BATCH))

    def thorough(self) -> None:
        """Recombine one population after another, until they find nothing new."""
        population = self.population
        if self.clock.limit is None:  # an eigenproblem of this size cannot be cut short
            self._spectral(*SPECTRAL_NODES.values())
        idle = 0
        while not self.solved and idle < IDLE_EPOCHS:
            before = population.best.value if population.best is not None else np.inf
            while not self.solved and len(population.members) < SIZE:
                population.start(min(BATCH, SIZE - len(population.members)))
                self.report("thorough", idle / IDLE_EPOCHS)
            self._evolve(STALE_TASKS, idle)
            if population.best is not None:
                population.members.append(population.best)
                self._evolve(SIZE, idle)
                idle = 0 if population.best.value < before else idle + 1
            population.members = []
        self._finish()

    def _evolve(self, patience: int, idle: int) -> None:
        """Recombine until ``patience`` tasks in a row bring no new best."""
        stale = 0
        while not self.solved and stale < patience:
            stale = 0 if self.population.breed() else stale + BATCH
            self.report("thorough", (idle + stale / (patience + 1)) / IDLE_EPOCHS)

    def _finish(self) -> None:
        """Make the last single moves there are from the best."""
        best = self.population.best
        if best is not None and not self.solved:
            state = State(self.population.level, best.labels.copy(), self.population.n_clusters)
            self.population.consider(Candidate(state.labels, state.finish(), state.work))

    def answer(self, given: list[np.ndarray]) -> tuple[np.ndarray, float]:
        """Return the best labels and their true value; a given partition where none is better."""
        best = self.population.best
        assert best is not None
        labels = best.labels.astype(np.int64)
        value = cut_value(self.graph, labels, self.cut)
        for other in given:
            other_value = cut_value(self.graph, other, self.cut)
            if other_value < value:
                labels, value = other, other_value
        return labels, value
