"""Proofs of optimality: a sequence of bounds, until one reaches the value of the partition.

Every bound implements :class:`RisingBound`; ``bound_factories`` defines which are used, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from leastcut.bounds.branch_and_bound import LARGEST_BRANCHED, BranchAndBound
from leastcut.bounds.dual_prices import DualPriceBound
from leastcut.bounds.incumbent import Incumbent, is_enumerable
from leastcut.bounds.semidefinite import SemidefiniteBound, recent_gain
from leastcut.budget import Budget
from leastcut.formatting import PROVEN, one_line
from leastcut.multilevel.exact import exact_problem
from leastcut.problem import Problem
from leastcut.spectral.relax import relax_problem
from leastcut.threads import single_threaded
from leastcut.validation import number_by_appearance

LARGEST_SEMIDEFINITE = 15_000  # nodes: the proof factorizes an n × n matrix, 4 GiB
SEMIDEFINITE_FIRST = 600  # nodes; up to this number it is the first bound: tight, in seconds
PRICE_FRACTION = 0.6  # of the remaining time is for dual prices, as they may prove nothing
EARLY_BRANCHING = 150  # nodes up to which branching is cheap enough to replace slow progress
# A bound is slow if, at its pace over PACE_ROUNDS, SOON rounds do not reach the target.
PACE_ROUNDS, SOON = 6, 100


class ProofProgress(NamedTuple):
    """Progress of a proof, passed to the ``callback`` of :func:`leastcut.certify`.

    Attributes
    ----------
    lower_bound : float
        The bound proven so far.
    cut_value : float
        The smallest cut value so far.
    n_open : int
        Number of open subproblems: 1 before the first branching, 0 when the proof is complete.
    seconds : float
        The time since the start of the call.

    See Also
    --------
    certify : Pass ``callback`` to receive the progress.
    exact_partition : Pass ``callback`` to receive the progress.

    Notes
    -----
    If the callback returns True, the proof stops: ``certify`` returns the bound proven so far, and
    ``exact_partition`` raises an error.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> history = []
    >>> _ = leastcut.certify(S, [0, 0, 1, 1], callback=history.append)
    >>> history[-1].n_open, history[-1].lower_bound == history[-1].cut_value
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
        """Run one round within the budget, and return whether another may raise the bound.

        A bound of ``target`` is sufficient. Raises TimeoutError, with nothing changed, if there is
        no time for a round.
        """
        ...


class BoundFactory(NamedTuple):
    """Creates a bound from the previous ones, with a fraction of the budget."""

    make: Callable[[list[RisingBound], Budget], RisingBound]
    fraction: float = 1.0


class Proof:
    """A resumable proof: every call of ``run`` continues it.

    ``labels`` 0..c-1 are the best known partition, which satisfies the constraints, ``gap`` is the
    relative gap to reach, and ``bound`` a bound proven before. The bound never falls;
    ``is_finished`` is True if the gap is reached or no further progress is possible.
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
        self.bound, self.is_finished = bound, False
        # There is only one partition, or its value is 0.
        if n_clusters in (1, problem.n_nodes) or self.value == 0.0:
            self.bound = self.value
        self._bounds: list[RisingBound] = []
        self._factories = bound_factories(self._incumbent, self._gap)
        self._has_more, self._fraction = False, 1.0
        self._history: list[float] = []

    @property
    def labels(self) -> np.ndarray:
        """The best known partition."""
        return self._incumbent.labels

    @property
    def value(self) -> float:
        """The value of the best known partition."""
        return self._incumbent.value

    @property
    def is_proven(self) -> bool:
        """Whether the gap is reached."""
        return self.bound >= self._target

    @property
    def _target(self) -> float:
        return self.value * (1.0 - self._gap)

    @property
    def n_open(self) -> int:
        """Number of open subproblems: 1 before the first branching."""
        if self.is_proven:
            return 0
        last = self._bounds[-1] if self._bounds else None
        return last.n_open if isinstance(last, BranchAndBound) else 1

    def run(self, budget: Budget | None = None) -> None:
        """Continue until the budget is exhausted or the proof is finished.

        Reports the proof itself to the budget after every round.
        """
        budget = budget or Budget()
        share = self._share_of(budget)
        while not self.is_finished and not budget.is_exhausted:
            if self.is_proven or not (self._has_more or self._factories):
                self.is_finished = True
            elif not self._has_more:
                try:
                    with single_threaded():  # sums of several threads are rounded differently
                        self._bounds.append(self._factories[0].make(self._bounds, budget))
                except TimeoutError:  # later bounds take even longer
                    return
                # Only now, so that an interrupt loses nothing.
                self._fraction = self._factories.pop(0).fraction
                self._has_more, self._history = True, []
                share = self._share_of(budget)
            else:
                try:
                    with single_threaded():
                        more = self._bounds[-1].improve(share, self._target)
                except TimeoutError:
                    if share is budget:  # no other bound has more time
                        return
                    more = False
                self._history.append(self._bounds[-1].bound)
                # ``more`` is unreliable if time ran out.
                self._has_more = (more and not self._is_slow()) or budget.is_exhausted
            if self._bounds:
                self.bound = max(self.bound, self._bounds[-1].bound)
            if budget.report(self):
                return

    def _share_of(self, budget: Budget) -> Budget:
        """Return the budget of the current bound."""
        return budget if self._fraction == 1.0 else budget.part(self._fraction)

    def _is_slow(self) -> bool:
        """Return whether to branch on a small problem instead of raising its bound further."""
        is_last = not self._factories
        if is_last or self._incumbent.problem.n_nodes > EARLY_BRANCHING:
            return False
        gain = recent_gain(self._history, PACE_ROUNDS)
        return gain * (SOON / PACE_ROUNDS) < self._target - self._history[-1]


def bound_factories(incumbent: Incumbent, gap: float) -> list[BoundFactory]:
    """Return the factories of the bounds of a problem, in order.

    ``gap`` is the relative gap to reach.
    """
    problem, c = incumbent.problem, incumbent.n_clusters
    links = problem.cannot_link
    pairs = None if links is None else links.pairs.astype(np.int64)

    def semidefinite(bounds: list[RisingBound], budget: Budget) -> RisingBound:
        known, limit = None, None  # the first bound is computed without a limit
        if bounds:
            known, limit = max(bound.bound for bound in bounds), budget
        labels, value = incumbent.labels, incumbent.value
        return SemidefiniteBound(problem, c, pairs, value, labels=labels, known=known, budget=limit)

    def branch_and_bound(bounds: list[RisingBound], _: Budget) -> RisingBound:
        root = next(bound for bound in bounds if isinstance(bound, SemidefiniteBound))
        return BranchAndBound(incumbent, gap, root, max(bound.bound for bound in bounds))

    if is_enumerable(problem.n_nodes, c):
        return [BoundFactory(lambda *_: Enumeration(incumbent))]
    factories = [BoundFactory(semidefinite)] if problem.n_nodes <= LARGEST_SEMIDEFINITE else []
    if problem.n_nodes > SEMIDEFINITE_FIRST:
        eigenvalues = BoundFactory(lambda *_: EigenvalueBound(problem, c))
        # Dual prices are fast if they are tight, and take seconds if not.
        prices = BoundFactory(
            lambda *_: DualPriceBound(problem, c, incumbent.labels), PRICE_FRACTION
        )
        factories = [eigenvalues, prices, *factories]
    if problem.n_nodes <= LARGEST_BRANCHED:
        factories.append(BoundFactory(branch_and_bound))
    return factories


class EigenvalueBound:
    """The sum of the c smallest eigenvalues: a quick first bound."""

    def __init__(self, problem: Problem, n_clusters: int) -> None:
        self._problem, self._n_clusters, self.bound = problem, n_clusters, 0.0

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Solve the eigenproblem; if time runs out, the bound stays 0."""
        try:
            relaxed = relax_problem(self._problem, self._n_clusters, random_state=0, budget=budget)
        except TimeoutError:
            return False
        self.bound = relaxed.lower_bound
        return False


class Enumeration:
    """The bound of a problem with few partitions: its optimum."""

    def __init__(self, incumbent: Incumbent) -> None:
        self._incumbent, self.bound = incumbent, 0.0

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Enumerate all partitions."""
        incumbent = self._incumbent
        best = exact_problem(incumbent.problem, incumbent.n_clusters)
        # The value of permuted labels may differ by rounding; keep the current ones.
        if not np.array_equal(best.labels, number_by_appearance(incumbent.labels)):
            incumbent.update(best.labels)
        assert best.lower_bound is not None
        self.bound = incumbent.value if best.gap == 0.0 else best.lower_bound
        return False
