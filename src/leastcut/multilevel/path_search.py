"""Partitions into many numbers of clusters, each of which helps to find the others.

A search for one number needs many starts, as it knows nothing. The best partitions into k - 1 and
into k + 1 clusters are nearly what is best for k: the path is one population, and what one number
has found goes up and down through all of them.

1. Fit every number at the least effort.
2. Where more effort is wanted, search in full for small numbers and at both ends of every run of
   numbers that are near one another, so for every number that has no near ones.
3. Sweep: for one number after another, downwards and upwards in turn, coarsen inside the
   intersections of its own partition, those of its neighbors and, in later stages, one from
   nothing. That level offers all of them, those into more clusters merged, and what can be grown
   out of the intersections, among it splits of those into fewer. The best goes up again, refined.
4. Merge down once more, so that the values never fall as the number grows.

*Merging two clusters never raises the value.* Let x and y be the boundaries of two clusters, p and
q their weights, and w the weight of the edges between them. Their terms x/p + y/q give way to
(x + y − 2w)/(p + q) ≤ (x + y)/(p + q), which is the mean of x/p and y/q weighted by p and q, so no
more than the larger of the two; and neither is negative. No other term changes. So the partition
into k clusters that step 4 takes at worst is no worse than that into the next larger number.
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

# Part of a number within which the next one is near: a partition into so many clusters tells much
# about those into this many. Consecutive numbers always are.
NEAR = 0.25


@dataclass(frozen=True)
class Sweeps:
    """What a stage of a path does after its fits."""

    rounds: int  # sweeps over all numbers, downwards and upwards in turn
    edges: int  # visited for every number, on average, after which no further round begins
    newcomers: bool  # whether a partition from nothing takes part for every number


# Set on toy sets, digits, five of the paper's graphs and three networks, so that no value of a path
# is 2% above that of a search for its number alone.
SWEEPS: dict[str, Sweeps] = {
    "fast": Sweeps(rounds=1, edges=0, newcomers=False),
    "auto": Sweeps(rounds=1, edges=0, newcomers=True),
    "balanced": Sweeps(rounds=8, edges=50_000_000, newcomers=True),
    "thorough": Sweeps(rounds=16, edges=1_000_000_000, newcomers=True),
}


class PathProgress(NamedTuple):
    """What the ``callback`` of a path receives.

    Attributes
    ----------
    stage : str
        The effort whose part of the search is running.
    fraction : float
        How much of that part is done, from 0 to 1, in steps that it may take at most.
    n_clusters : int
        The number of clusters that was searched for last.
    cut_value : float
        The smallest value of so many clusters so far.
    seconds : float
        Since the call began.

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
    """Cut a problem into each of many numbers of clusters, ascending.

    Values never fall as the number grows, but for the last digits; no move of one node lowers any
    of them, and none has a lower bound. With the same seed more effort never gives a larger value;
    at the least effort no value is above that of :func:`leastcut.partition` with this seed.
    ``starts`` are partitions that take part, by number of clusters. The callback of the budget is
    called after every search for one number; if it stops the search, numbers without a partition
    get that of a single pass.
    """
    path = _Path(problem, numbers, seed, n_jobs, budget or Budget())
    for stage in EFFORTS[effort].stages:
        path.begin(stage)
        # 1. and 2. Search for single numbers: in the first stage for all of them.
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
    """Partitions of one problem that are being improved; ``best`` has the best labels by number."""

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
        # Where no edge need be cut, or nothing is left to choose, there is nothing to search.
        n, (n_components, _) = problem.n_nodes, problem.graph.components
        self._open = [k for k in numbers if n_components < k < n]
        self._seed = seed
        self._n_jobs = n_jobs
        self._n_tasks = 0
        self._budget = budget
        # What was done last, and how many steps of how many a stage has made.
        self._stage, self._last, self._done, self._most = "", numbers[0], 0, 0

    def begin(self, stage: str) -> None:
        """Count the steps that a stage may take: its fits, and its sweeps over all numbers."""
        n_fits = len(self._ends() if self.best else self._numbers)
        self._stage, self._done = stage, 0
        self._most = n_fits + SWEEPS[stage].rounds * len(self._open)

    def _step(self, k: int) -> None:
        """Report that one more step is done."""
        self._last, self._done = k, self._done + 1
        if self._done < self._most:  # the last is reported as the end
            self.report(self._done / self._most)

    def report(self, fraction: float) -> None:
        """Report that so much of the stage is done."""
        k, seconds = self._last, self._budget.seconds
        self._budget.report(PathProgress(self._stage, fraction, k, self._values[k], seconds))

    def consider(self, k: int, labels: np.ndarray) -> None:
        """Keep a partition if it is the best into so many clusters."""
        value = self._problem.value(labels)
        if k not in self._values or value < self._values[k]:
            self.best[k], self._values[k] = labels.astype(np.int32), value

    def fit(self, stage: str) -> None:
        """Search for every number by itself or, in later stages, for the ends of every run."""
        is_first = not self.best
        for k in self._numbers if is_first else self._ends():
            if self._budget.is_stopped and not is_first:
                break
            if is_first and k not in self._open:
                uncut = self._problem.uncut_labels(k)
                self.consider(k, np.arange(self._problem.n_nodes) if uncut is None else uncut)
                self._step(k)
                continue
            found = partition_problem(
                self._problem,
                k,
                effort=stage,
                lower_bound=False,
                random_state=self._seed,
                n_jobs=self._n_jobs,
                # After a stop there is time for no more than the pass that is always made.
                budget=Budget(time_limit=0.0 if self._budget.is_stopped else None),
            )
            self.consider(k, found.labels)
            # Small problems come with a proof: no sweep can lower those.
            if found.lower_bound is not None and found.cut_value <= found.lower_bound:
                self._open.remove(k)
            self._step(k)

    def _ends(self) -> list[int]:
        """Return the open numbers that have no near one below them, or none above, or are small."""
        # Partitions into 2 and into 4 clusters tell little about those into 3.
        return [k for k in self._open if NEAR * k < 1 or len(self._near(k)) < 2]

    def _near(self, k: int) -> list[int]:
        """Return the open numbers next to k, below and above, if they are near."""
        i = self._open.index(k)
        around = (*self._open[max(i - 1, 0) : i], *self._open[i + 1 : i + 2])
        return [other for other in around if abs(other - k) <= max(1, NEAR * min(other, k))]

    def sweep(self, plan: Sweeps) -> None:
        """Improve every open number by its neighbors, round after round."""
        work = 0
        for number in range(plan.rounds):
            before = work
            # Downwards first: what the largest number has found goes down by merging.
            for k in self._open if number % 2 else self._open[::-1]:
                if self._budget.is_stopped:
                    return
                work += self._improve(k, plan.newcomers)
                self._step(k)
            # By the edges of the last round: a round is begun only if it can be ended.
            if 2 * work - before > plan.edges * len(self._open):
                break

    def _improve(self, k: int, newcomers: bool) -> int:
        """Recombine the partition into k with those around it; return the edges visited."""
        self._n_tasks += 1
        near = self._near(k)
        # Alone it has been searched for in full, and there is nobody to learn from.
        if not near:
            return 0
        problem, own, work = self._scaled, self.best[k], 0
        passes = Passes(problem, k, np.random.default_rng([self._seed, self._n_tasks]))
        # 1. Collect what is known: the neighbors' partitions, and one from nothing.
        others, starts = [], [own]
        for other in near:
            others.append(self.best[other])
            if other > k:
                starts.append(merged(problem, self.best[other], k))
        if newcomers:
            new = passes.fresh(varied_level(problem.n_nodes, k, passes.rng))
            assert new is not None
            others.append(new.labels)
            starts.append(new.labels)
            work += new.work
        # 2. Coarsen inside the intersections: each of the partitions is made of entire ones.
        steps = passes.coarsen_inside(_intersections([own, *others]))
        low = steps[-1].problem if steps else problem
        # 3. Take the best of the starts, refined, and of clusters grown out of the intersections.
        found: list[State | Candidate] = []
        for labels in starts:
            state = State(low, coarse_labels(steps, labels), k)
            passes.improve(state)
            found.append(state)
        grown = passes.initial(low)
        assert grown is not None
        found.append(grown)
        best = min(found, key=lambda one: one.value)
        # 4. Uncoarsen.
        child = passes.refined(best.labels, steps)
        self.consider(k, child.labels)
        return work + child.work + sum(one.work for one in found)

    def finished(self) -> list[Partition]:
        """Return the partitions, from the largest number down none worse than the one before."""
        found: list[Partition] = []
        for k in reversed(self._numbers):
            own = refine_problem(self._problem, self.best[k].astype(np.int64))
            if found and found[-1].cut_value < own.cut_value:
                joined = merged(self._scaled, found[-1].labels, k).astype(np.int64)
                own = min(own, refine_problem(self._problem, joined), key=lambda one: one.cut_value)
            labels = number_by_appearance(own.labels)
            # Under other numbers the same terms may add up to other last digits.
            found.append(Partition(labels, self._problem.value(labels)))
        return found[::-1]


def merged(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Join clusters until ``n_clusters`` are left, more than there are components, greedily.

    Each merge is one of the best by the value that it leaves, and none raises it.
    """
    groups = np.arange(int(labels.max()) + 1, dtype=np.int32)
    steps = agglomerate(contracted_by_labels(problem, labels), n_clusters)
    assert steps is not None
    for step in steps:
        groups = step.parent[groups]
    return np.asarray(groups[labels])


def _intersections(partitions: Sequence[np.ndarray]) -> np.ndarray:
    """Number the nonempty intersections of clusters, one of each partition."""
    cells = np.zeros(partitions[0].size, dtype=np.int64)
    for labels in partitions:
        # There are at most n after every step, so the product of two numbers fits an int64.
        cells = cells * (int(labels.max()) + 1) + labels
        cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
    return cells.astype(np.int32)
