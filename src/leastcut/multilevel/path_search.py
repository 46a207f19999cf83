"""Joint search for partitions into many numbers of clusters.

The best partitions into k - 1 and into k + 1 clusters are good starts for k clusters. So the
partitions of a path form one population, in which improvements propagate to other numbers.

1. Search for every number with the least effort.
2. With more effort, search for small numbers and at both ends of every run of close numbers. A
   number without close ones is a run.
3. Sweep: for each number, in descending and ascending order in turn, coarsen inside the
   intersections of its partition, the partitions of adjacent numbers and, in later stages, a new
   partition. Start from the best of these, merged if they have more clusters, and of a new
   partition of the coarsest level, and uncoarsen.
4. Merge once more in descending order, so that the values are non-decreasing in k.

*Merging two clusters never increases the value.* Let x and y be the boundaries of two clusters, p
and q their weights, and w the weight of the edges between them. Merging replaces the terms
x/p + y/q by (x + y − 2w)/(p + q) ≤ (x + y)/(p + q), the mean of x/p and y/q weighted by p and q,
which is at most the larger of the two; neither is negative, and no other term changes. So step 4
gives a partition into k clusters that is no worse than the one for the next larger number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leastcut.budget import Budget
from leastcut.formatting import one_line
from leastcut.multilevel.coarsening import agglomerate, coarse_labels, varied_level
from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.passes import Candidate, Passes
from leastcut.multilevel.refinement import State, refine_problem
from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels
from leastcut.results import Partition
from leastcut.validation import number_by_appearance

NEAR = 0.25  # largest relative difference of close numbers; consecutive numbers are always close


@dataclass(frozen=True)
class Sweeps:
    """The sweeps of a stage."""

    rounds: int  # sweeps over all numbers, in descending and ascending order in turn
    edges: int  # edges visited per number after which no further sweep starts
    new_partitions: bool  # whether to add a new partition for every number


# Tuned on toy data, digits, five of the paper's graphs and three networks, so that no value of a
# path is 2% larger than that of a separate search.
SWEEPS: dict[str, Sweeps] = {
    "fast": Sweeps(rounds=1, edges=0, new_partitions=False),
    "auto": Sweeps(rounds=1, edges=0, new_partitions=True),
    "balanced": Sweeps(rounds=8, edges=50_000_000, new_partitions=True),
    "thorough": Sweeps(rounds=16, edges=1_000_000_000, new_partitions=True),
}


class PathProgress(NamedTuple):
    """The progress of a path, as passed to the ``callback`` of :func:`leastcut.cut_path`.

    Attributes
    ----------
    stage : str
        The effort whose stage of the search is running.
    fraction : float
        The completed fraction of the stage, from 0 to 1, relative to its largest number of steps.
    n_clusters : int
        The number of clusters that was searched for last.
    cut_value : float
        The smallest cut value for this number of clusters so far.
    seconds : float
        The time since the start of the call.

    See Also
    --------
    cut_path : Pass ``callback`` to receive the progress.

    Notes
    -----
    If the callback returns True, the search stops with the best partitions so far.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> seen = []
    >>> _ = leastcut.cut_path(S, [1, 2], affinity="precomputed", callback=seen.append)
    >>> [(progress.n_clusters, progress.cut_value) for progress in seen][:2]
    [(1, 0.0), (2, 0.4)]
    """

    stage: str
    fraction: float
    n_clusters: int
    cut_value: float
    seconds: float

    def __repr__(self) -> str:
        return one_line(self, **self._asdict())


def path_partitions(
    problem: Problem,
    numbers: Sequence[int],
    *,
    effort: str,
    seed: int,
    starts: Mapping[int, np.ndarray] | None = None,
    n_jobs: int | None = None,
    budget: Budget | None = None,
) -> list[Partition]:
    """Partition a problem into each of several numbers of clusters, in ascending order.

    Up to rounding, values are non-decreasing in the number of clusters. No move of one node
    decreases a value. With the same seed, more effort never gives a larger value, and with the
    least effort no value is larger than the result of :func:`leastcut.partition`. ``starts`` are
    initial partitions by number of clusters. The callback is called after every search for one
    number; if it stops the search, numbers without a partition get one by a single pass.
    """
    path = _Path(problem, numbers, seed, n_jobs, budget or Budget())
    for stage in EFFORTS[effort].stages:
        path.begin(stage)
        # 1. and 2. Search for single numbers; in the first stage, for all.
        path.fit(stage)
        if stage == EFFORTS[effort].stages[0]:
            for k, labels in (starts or {}).items():
                path.consider(k, labels)
        # 3. Sweep.
        path.sweep(SWEEPS[stage])
        path.report(1.0)
    # 4. Merge down.
    return path.finished()


class _Path:
    """The state of a joint search; ``best`` has the best labels by number of clusters."""

    def __init__(
        self,
        problem: Problem,
        numbers: Sequence[int],
        seed: int,
        n_jobs: int | None,
        budget: Budget,
    ) -> None:
        self.best: dict[int, np.ndarray] = {}
        self._problem = problem
        self._scaled = problem.within_range()
        self._numbers = numbers
        self._values: dict[int, float] = {}
        # Other numbers have a partition that cuts no edge, or a single partition.
        n, (n_components, _) = problem.n_nodes, problem.graph.components
        self._open = [k for k in numbers if n_components < k < n]
        self._seed = seed
        self._n_jobs = n_jobs
        self._n_tasks = 0
        self._budget = budget
        # Progress: the stage, the last number, and the completed and the largest number of steps.
        self._stage, self._last, self._done, self._most = "", numbers[0], 0, 0

    def begin(self, stage: str) -> None:
        """Start a stage, and compute its largest number of steps for progress reports."""
        n_fits = len(self._ends() if self.best else self._numbers)
        self._stage, self._done = stage, 0
        self._most = n_fits + SWEEPS[stage].rounds * len(self._open)

    def _step(self, k: int) -> None:
        """Report that a step for k clusters is complete."""
        self._last, self._done = k, self._done + 1
        if self._done < self._most:  # the end of a stage is reported separately
            self.report(self._done / self._most)

    def report(self, fraction: float) -> None:
        """Report the completed fraction of the stage."""
        k, seconds = self._last, self._budget.seconds
        self._budget.report(PathProgress(self._stage, fraction, k, self._values[k], seconds))

    def consider(self, k: int, labels: np.ndarray) -> None:
        """Keep a partition if it is the best into k clusters."""
        value = self._problem.value(labels)
        if k not in self._values or value < self._values[k]:
            self.best[k], self._values[k] = labels.astype(np.int32), value

    def fit(self, stage: str) -> None:
        """Search for every number separately or, in later stages, at the ends of every run."""
        is_first = not self.best
        for k in self._numbers if is_first else self._ends():
            if self._budget.is_stopped and not is_first:
                break
            if is_first and k not in self._open:
                uncut = self._problem.uncut_labels(k)
                self.consider(k, np.arange(self._problem.n_nodes) if uncut is None else uncut)
                self._step(k)
                continue
            partition = partition_problem(
                self._problem,
                k,
                effort=stage,
                lower_bound=False,
                random_state=self._seed,
                n_jobs=self._n_jobs,
                # After a stop, only the first pass is made.
                budget=Budget(time_limit=0.0 if self._budget.is_stopped else None),
            )
            self.consider(k, partition.labels)
            # Proven optima cannot be improved.
            if partition.lower_bound is not None and partition.cut_value <= partition.lower_bound:
                self._open.remove(k)
            self._step(k)

    def _ends(self) -> list[int]:
        """Return the open numbers without a close one below or above, and small numbers."""
        # For small numbers, partitions into k - 1 and k + 1 clusters are poor starts.
        return [k for k in self._open if NEAR * k < 1 or len(self._near(k)) < 2]

    def _near(self, k: int) -> list[int]:
        """Return the open numbers next to k, below and above, if they are close."""
        i = self._open.index(k)
        adjacent = (*self._open[max(i - 1, 0) : i], *self._open[i + 1 : i + 2])
        return [other for other in adjacent if abs(other - k) <= max(1, NEAR * min(other, k))]

    def sweep(self, sweeps: Sweeps) -> None:
        """Improve every open number by its neighbors, in several rounds."""
        work = 0
        for number in range(sweeps.rounds):
            before = work
            # Descending first, by merging.
            for k in self._open if number % 2 else self._open[::-1]:
                if self._budget.is_stopped:
                    return
                work += self._improve(k, sweeps.new_partitions)
                self._step(k)
            # Start a round only if one as long as the last fits into the limit.
            if 2 * work - before > sweeps.edges * len(self._open):
                break

    def _improve(self, k: int, new_partitions: bool) -> int:
        """Recombine the partition into k clusters with close ones; return the work."""
        self._n_tasks += 1
        near = self._near(k)
        if not near:
            return 0
        problem, current, work = self._scaled, self.best[k], 0
        passes = Passes(problem, k, np.random.default_rng([self._seed, self._n_tasks]))
        # 1. Collect the partitions of close numbers, and a new one.
        others, starts = [], [current]
        for other in near:
            others.append(self.best[other])
            if other > k:
                starts.append(merged(problem, self.best[other], k))
        if new_partitions:
            new = passes.fresh(varied_level(problem.n_nodes, k, passes.rng))
            assert new is not None
            others.append(new.labels)
            starts.append(new.labels)
            work += new.work
        # 2. Coarsen inside the intersections of all partitions.
        steps = passes.coarsen_inside(_intersections([current, *others]))
        low = steps[-1].problem if steps else problem
        # 3. Take the best of the refined starts and a new partition of the coarsest level.
        candidates: list[State | Candidate] = []
        for labels in starts:
            state = State(low, coarse_labels(steps, labels), k)
            passes.improve(state)
            candidates.append(state)
        grown = passes.initial(low)
        assert grown is not None
        candidates.append(grown)
        best = min(candidates, key=lambda candidate: candidate.value)
        # 4. Uncoarsen.
        child = passes.refined(best.labels, steps)
        self.consider(k, child.labels)
        return work + child.work + sum(candidate.work for candidate in candidates)

    def finished(self) -> list[Partition]:
        """Return the refined partitions, with values that are non-decreasing in k."""
        results: list[Partition] = []
        for k in reversed(self._numbers):
            best = refine_problem(self._problem, self.best[k].astype(np.int64))
            if results and results[-1].cut_value < best.cut_value:
                joined = merged(self._scaled, results[-1].labels, k).astype(np.int64)
                best = min(best, refine_problem(self._problem, joined), key=lambda p: p.cut_value)
            labels = number_by_appearance(best.labels)
            # Renumbering changes the order of summation, and so the rounding.
            results.append(Partition(labels, self._problem.value(labels)))
        return results[::-1]


def merged(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Merge clusters greedily until ``n_clusters`` are left, more than the graph has components.

    No merge increases the value.
    """
    groups = np.arange(int(labels.max()) + 1, dtype=np.int32)
    steps = agglomerate(contracted_by_labels(problem, labels), n_clusters)
    assert steps is not None
    for step in steps:
        groups = step.parent[groups]
    return np.asarray(groups[labels])


def _intersections(partitions: Sequence[np.ndarray]) -> np.ndarray:
    """Return the intersection of clusters, one of each partition, that every node is in."""
    intersections = np.zeros(partitions[0].size, dtype=np.int64)
    for labels in partitions:
        # Renumber after every step, so that the product fits into an int64.
        intersections = intersections * (int(labels.max()) + 1) + labels
        intersections = np.unique(intersections, return_inverse=True)[1].reshape(-1)
    return intersections.astype(np.int32)
