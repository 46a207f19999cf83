"""Proofs of optimality, in slices: one bound after the other, until one has reached the value."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from leastcut.bounds.cases import Cases
from leastcut.bounds.root_bounds import RisingBound, root_bounds
from leastcut.bounds.rounding import Best
from leastcut.formatting import PROVEN, one_line
from leastcut.problem import Problem
from leastcut.threads import single_threaded
from leastcut.validation import is_true

HURRIED_NODES = 150
"""Nodes up to which cases cost so little that the problem is split once its bound rises slowly."""

PACE_ROUNDS, SOON = 6, 100
"""Over how many rounds the pace is taken, and in how many it must lead to the value to go on."""


class ProofProgress(NamedTuple):
    """What the ``callback`` of a proof receives.

    Attributes
    ----------
    lower_bound : float
        What is proven so far: no partition has a smaller value.
    cut_value : float
        The smallest value so far.
    n_open : int
        Cases that are open: 1 before the problem is split, 0 when nothing is left to prove.
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


class Proof:
    """A proof that can be gone on with at any time.

    Parameters
    ----------
    problem : Problem
        Reduced: its constraints are known to be feasible.
    n_clusters : int
    labels : ndarray of shape (n,)
        The best partition known, 0..c-1, which the constraints allow.
    gap : float
        Part of the value that may be left between it and the bound.
    bound : float
        What is proven already.

    Attributes
    ----------
    bound : float
        What is proven: no partition has a smaller value. It never falls.
    is_over : bool
        Whether there is nothing more to do: the gap is reached, or there is no more progress.
    """

    def __init__(
        self,
        problem: Problem,
        n_clusters: int,
        labels: np.ndarray,
        gap: float = 0.0,
        bound: float = 0.0,
    ) -> None:
        self._best = Best(problem, n_clusters, labels)
        uncut = problem.uncut_labels(n_clusters)
        if uncut is not None and problem.allows(uncut):
            self._best.consider(uncut)
        self._gap = max(gap, PROVEN)
        self.bound, self.is_over = bound, False
        # Of one partition there is nothing better, and nothing is below 0.
        if n_clusters in (1, problem.n_nodes) or self.value == 0.0:
            self.bound = self.value
        self._made: list[RisingBound] = []
        self._makers = root_bounds(self._best, self._gap)
        self._has_more, self._share = False, 1.0
        self._history: list[float] = []

    @property
    def labels(self) -> np.ndarray:
        """The best partition known."""
        return self._best.labels

    @property
    def value(self) -> float:
        """Its value."""
        return self._best.value

    @property
    def is_proven(self) -> bool:
        """Whether the bound has come as near to the value as was asked for."""
        return self.bound >= self._target

    @property
    def _target(self) -> float:
        return self.value * (1.0 - self._gap)

    @property
    def n_open(self) -> int:
        """Cases that are open: 1 before the problem is split."""
        if self.is_proven:
            return 0
        last = self._made[-1] if self._made else None
        return last.n_open if isinstance(last, Cases) else 1

    @property
    def n_cases(self) -> int:
        """Cases that were looked at."""
        last = self._made[-1] if self._made else None
        return last.n_cases if isinstance(last, Cases) else 0

    def run(self, deadline: float = np.inf, tell: Callable[[Proof], object] | None = None) -> None:
        """Go on until ``deadline``, on the monotonic clock, or the end.

        ``tell`` is called with the proof after every round; where it returns True, that was the
        last.
        """
        until = self._until(deadline)
        while not self.is_over and time.monotonic() <= deadline:
            if self.is_proven or not (self._has_more or self._makers):
                self.is_over = True
            elif not self._has_more:
                try:
                    with single_threaded():  # as the sums of several threads round differently
                        self._made.append(self._makers[0].make(self._made, deadline))
                except TimeoutError:  # later bounds take longer
                    return
                # Once it is made, so that an interrupt loses nothing.
                self._share = self._makers.pop(0).share
                self._has_more, self._history = True, []
                until = self._until(deadline)
            else:
                try:
                    with single_threaded():
                        more = self._made[-1].improve(until, self._target)
                except TimeoutError:
                    if until == deadline:  # no other bound has more time
                        return
                    more = False
                self._history.append(self._made[-1].bound)
                # Where time was up, there may be more whatever it says.
                self._has_more = (more and not self._is_slow()) or time.monotonic() > deadline
            if self._made:
                self.bound = max(self.bound, self._made[-1].bound)
            if tell is not None and is_true(tell(self)):
                return

    def _until(self, deadline: float) -> float:
        """Return the time at which the bound that is being raised must end."""
        if self._share == 1.0:
            return deadline
        now = time.monotonic()
        return now + self._share * (deadline - now)

    def _is_slow(self) -> bool:
        """Return whether a small problem had better be split than its bound be raised further."""
        is_split = not self._makers
        if is_split or self._best.problem.n_nodes > HURRIED_NODES:
            return False
        if len(self._history) <= PACE_ROUNDS:
            return False
        gained = self._history[-1] - self._history[-1 - PACE_ROUNDS]
        return gained * (SOON / PACE_ROUNDS) < self._target - self._history[-1]
