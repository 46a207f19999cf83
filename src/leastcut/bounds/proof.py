"""Proofs that a partition is the best: one bound after the other, until one reaches its value.

A bound has the interface of :class:`RisingBound`; ``root_bounds`` says which are tried, in their
order, and a further one is a further function there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from leastcut.bounds.branch_and_bound import LARGEST_SPLIT, BranchAndBound
from leastcut.bounds.dual_prices import DualPriceBound
from leastcut.bounds.incumbent import Incumbent, are_few
from leastcut.bounds.semidefinite import SemidefiniteBound, recent_gain
from leastcut.budget import Budget
from leastcut.formatting import PROVEN, one_line
from leastcut.multilevel.exact import exact_problem
from leastcut.problem import Problem
from leastcut.spectral.relax import relax_problem
from leastcut.threads import single_threaded
from leastcut.validation import number_by_appearance

LARGEST_PROVEN = 15_000  # nodes for a semidefinite bound: its proof factorizes n × n, 4 GiB there
LARGEST_QUICK = 600  # nodes up to which it comes first: it takes seconds, and proves more
PRICE_FRACTION = 0.6  # of the time left, for dual prices: others need some if these prove nothing
HURRIED_NODES = 150  # nodes up to which branching is so cheap that it replaces slow progress
# A bound is slow if, at the pace of its last rounds, this many do not lead to the value.
PACE_ROUNDS, SOON = 6, 100


class ProofProgress(NamedTuple):
    """What the ``callback`` of a proof receives.

    Attributes
    ----------
    lower_bound : float
        What is proven so far: no partition has a smaller value.
    cut_value : float
        The smallest value so far.
    n_open : int
        Open subproblems of branch and bound: 1 before the first branching, 0 when nothing is left
        to prove.
    seconds : float
        Since the call began.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> seen = []
    >>> _ = leastcut.certify(S, [0, 0, 1, 1], callback=seen.append)
    >>> seen[-1].n_open, seen[-1].lower_bound == seen[-1].cut_value
    (0, True)
    """

    lower_bound: float
    cut_value: float
    n_open: int
    seconds: float

    def __repr__(self) -> str:
        return one_line(self, **self._asdict())


class RisingBound(Protocol):
    """A lower bound on the cut value of every partition, which never falls."""

    bound: float

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Make one round within the budget, and return whether another may raise the bound.

        A bound of ``target`` is enough. Raises TimeoutError, with nothing changed, if there is no
        time for a round.
        """
        ...


class Maker(NamedTuple):
    """Makes a bound from those before it, within a budget, of which it gets a fraction."""

    make: Callable[[list[RisingBound], Budget], RisingBound]
    fraction: float = 1.0


class Proof:
    """A proof in slices: every ``run`` continues it.

    ``labels`` 0..c-1 are the best known that the constraints allow, ``gap`` is the fraction of
    their value that may be left, and ``bound`` what is proven already. The bound never falls;
    ``is_over`` says that the gap is reached, or that there is no more progress.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        labels: np.ndarray,
        gap: float = 0.0,
        bound: float = 0.0,
    ) -> None:
        self._incumbent = Incumbent(problem, n_clusters, labels)
        uncut = problem.uncut_labels(n_clusters)
        if uncut is not None and problem.allows(uncut):
            self._incumbent.consider(uncut)
        self._gap = max(gap, PROVEN)
        self.bound, self.is_over = bound, False
        # Of one partition there is nothing better, and nothing is below 0.
        if n_clusters in (1, problem.n_nodes) or self.value == 0.0:
            self.bound = self.value
        self._made: list[RisingBound] = []
        self._makers = root_bounds(self._incumbent, self._gap)
        self._has_more, self._fraction = False, 1.0
        self._history: list[float] = []

    @property
    def labels(self) -> np.ndarray:
        """The best partition known."""
        return self._incumbent.labels

    @property
    def value(self) -> float:
        """The value of the best partition known."""
        return self._incumbent.value

    @property
    def is_proven(self) -> bool:
        """Whether the bound is as near to the value as was asked for."""
        return self.bound >= self._target

    @property
    def _target(self) -> float:
        return self.value * (1.0 - self._gap)

    @property
    def n_open(self) -> int:
        """Number of open subproblems: 1 before the first branching."""
        if self.is_proven:
            return 0
        last = self._made[-1] if self._made else None
        return last.n_open if isinstance(last, BranchAndBound) else 1

    def run(self, budget: Budget | None = None) -> None:
        """Continue until the budget is exhausted or the proof is over.

        The proof itself is reported to the budget after every round.
        """
        budget = budget or Budget()
        part = self._part_of(budget)
        while not self.is_over and not budget.is_exhausted:
            if self.is_proven or not (self._has_more or self._makers):
                self.is_over = True
            elif not self._has_more:
                try:
                    with single_threaded():  # as the sums of several threads round differently
                        self._made.append(self._makers[0].make(self._made, budget))
                except TimeoutError:  # later bounds take longer
                    return
                # Once it is made, so that an interrupt loses nothing.
                self._fraction = self._makers.pop(0).fraction
                self._has_more, self._history = True, []
                part = self._part_of(budget)
            else:
                try:
                    with single_threaded():
                        more = self._made[-1].improve(part, self._target)
                except TimeoutError:
                    if part is budget:  # no other bound has more time
                        return
                    more = False
                self._history.append(self._made[-1].bound)
                # When time is up, there may be more whatever it says.
                self._has_more = (more and not self._is_slow()) or budget.is_exhausted
            if self._made:
                self.bound = max(self.bound, self._made[-1].bound)
            if budget.report(self):
                return

    def _part_of(self, budget: Budget) -> Budget:
        """Return the budget of the bound that is being raised."""
        return budget if self._fraction == 1.0 else budget.part(self._fraction)

    def _is_slow(self) -> bool:
        """Return whether to branch on a small problem rather than raise its bound further."""
        is_last = not self._makers
        if is_last or self._incumbent.problem.n_nodes > HURRIED_NODES:
            return False
        gained = recent_gain(self._history, PACE_ROUNDS)
        return gained * (SOON / PACE_ROUNDS) < self._target - self._history[-1]


def root_bounds(incumbent: Incumbent, gap: float) -> list[Maker]:
    """Return what makes the bounds of a problem, in their order.

    ``gap`` is the fraction of the value that may be left between it and the bound.
    """
    problem, c = incumbent.problem, incumbent.n_clusters
    links = problem.cannot_link
    pairs = None if links is None else links.pairs.astype(np.int64)

    def semidefinite(made: list[RisingBound], budget: Budget) -> RisingBound:
        known, limit = None, None  # the first bound is computed in any case
        if made:
            known, limit = max(bound.bound for bound in made), budget
        labels, value = incumbent.labels, incumbent.value
        return SemidefiniteBound(problem, c, pairs, value, labels=labels, known=known, budget=limit)

    def branch_and_bound(made: list[RisingBound], _: Budget) -> RisingBound:
        root = next(bound for bound in made if isinstance(bound, SemidefiniteBound))
        return BranchAndBound(incumbent, gap, root, max(bound.bound for bound in made))

    if are_few(problem.n_nodes, c):
        return [Maker(lambda *_: Enumeration(incumbent))]
    makers = [Maker(semidefinite)] if problem.n_nodes <= LARGEST_PROVEN else []
    if problem.n_nodes > LARGEST_QUICK:
        eigenvalues = Maker(lambda *_: EigenvalueBound(problem, c))
        # Dual prices are quick if they prove anything, and take seconds if they do not.
        prices = Maker(lambda *_: DualPriceBound(problem, c, incumbent.labels), PRICE_FRACTION)
        makers = [eigenvalues, prices, *makers]
    if problem.n_nodes <= LARGEST_SPLIT:
        makers.append(Maker(branch_and_bound))
    return makers


class EigenvalueBound:
    """The sum of the c smallest eigenvalues: a first bound while others take long to begin."""

    def __init__(self, problem: Problem, n_clusters: int) -> None:
        self._problem, self._n_clusters, self.bound = problem, n_clusters, 0.0

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Solve the eigenproblem; without time for it the bound stays 0."""
        try:
            relaxed = relax_problem(self._problem, self._n_clusters, random_state=0, budget=budget)
        except TimeoutError:  # then nothing is proven
            return False
        self.bound = relaxed.lower_bound
        return False


class Enumeration:
    """The bound of a problem with few partitions: the best of them all."""

    def __init__(self, incumbent: Incumbent) -> None:
        self._incumbent, self.bound = incumbent, 0.0

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Evaluate all partitions."""
        incumbent = self._incumbent
        best = exact_problem(incumbent.problem, incumbent.n_clusters)
        # The same partition under other numbers may differ by rounding: its bound is its value.
        if not np.array_equal(best.labels, number_by_appearance(incumbent.labels)):
            incumbent.take(best.labels)
        assert best.lower_bound is not None
        self.bound = incumbent.value if best.gap == 0.0 else best.lower_bound
        return False
