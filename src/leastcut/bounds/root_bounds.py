"""Which bounds of a problem are tried, one after the other, until one has reached the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from leastcut.bounds.cases import LARGEST_SPLIT, Cases
from leastcut.bounds.eigenvalue_bound import EigenvalueBound
from leastcut.bounds.enumeration import Enumeration, are_few
from leastcut.bounds.prices import PriceBound
from leastcut.bounds.rounding import Best
from leastcut.bounds.semidefinite import SemidefiniteBound

LARGEST_PROVEN = 15_000
"""Nodes up to which the semidefinite bound is tried: its proof factorises an n-by-n matrix, which
takes 4 GiB there."""

LARGEST_QUICK = 600
"""Nodes up to which the semidefinite bound comes first: it takes seconds, and proves more."""

PRICE_SHARE = 0.6
"""Part of the time left that prices may take, so that others have some where they prove nothing."""


class RisingBound(Protocol):
    """A lower bound of all partitions' cut values that rises from round to round.

    Attributes
    ----------
    bound : float
        No partition is below. It never falls.
    """

    bound: float

    def improve(self, deadline: float = np.inf, target: float = np.inf) -> bool:
        """Make one round, and return whether another may raise the bound further.

        It ends by ``deadline``, on the monotonic clock; a bound of ``target`` is enough. Raises
        TimeoutError where there is no time for a round: then nothing has changed.
        """
        ...


Made = list[RisingBound]
"""The bounds that were made so far."""


class Maker(NamedTuple):
    """What makes a bound, of those before it, and the part of the time left that it may take.

    ``make`` also gets the deadline, and raises TimeoutError where it cannot keep it.
    """

    make: Callable[[Made, float], RisingBound]
    share: float = 1.0


def root_bounds(best: Best, gap: float) -> list[Maker]:
    """Return what makes the bounds of a problem, in their order.

    Parameters
    ----------
    best : Best
        The best partition known, of the problem.
    gap : float
        Part of the value that may be left between it and the bound.
    """
    problem, c = best.problem, best.n_clusters
    links = problem.cannot_link
    apart = None if links is None else links.pairs.astype(np.int64)

    def semidefinite(made: Made, deadline: float) -> RisingBound:
        if not made:  # the first bound is computed in any case
            return SemidefiniteBound(problem, c, apart, best.value, labels=best.labels)
        known = max(bound.bound for bound in made)
        return SemidefiniteBound(
            problem, c, apart, best.value, labels=best.labels, known=known, deadline=deadline
        )

    def cases(made: Made, _: float) -> RisingBound:
        root = next(bound for bound in made if isinstance(bound, SemidefiniteBound))
        return Cases(best, gap, root, max(bound.bound for bound in made))

    def prices(_: Made, deadline: float) -> RisingBound:
        return PriceBound(problem, c, best.labels)

    def eigenvalues(_: Made, deadline: float) -> RisingBound:
        return EigenvalueBound(problem, c)

    if are_few(problem.n_nodes, c):
        return [Maker(lambda *_: Enumeration(best))]
    # A further bound of the whole problem is a further function here. Prices are quick where they
    # prove anything, and take seconds where they do not.
    makers = [Maker(semidefinite)] if problem.n_nodes <= LARGEST_PROVEN else []
    if problem.n_nodes > LARGEST_QUICK:
        makers = [Maker(eigenvalues), Maker(prices, PRICE_SHARE), *makers]
    if problem.n_nodes <= LARGEST_SPLIT:
        makers.append(Maker(cases))
    return makers
