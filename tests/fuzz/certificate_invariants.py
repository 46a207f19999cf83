"""Laws of certificates: what is proven is not above what rational arithmetic finds."""

from __future__ import annotations

import leastcut
from fuzz.cases import GraphCase
from fuzz.exact import MOST_ENUMERATED
from fuzz.outcome import at_most, only_if, require, shown
from leastcut.bounds.dual_prices import DualPriceBound
from leastcut.bounds.semidefinite import SemidefiniteBound
from leastcut.problem import as_problem

MOST_CERTIFIED = 300
"""Nodes up to which a certificate is tried: a round takes longer than a law may, beyond."""

SECONDS = 1.0
"""Time that a certificate gets."""

ROUNDS = 5
"""Rounds of each bound that are made."""


def certificate_is_below_cuts(case: GraphCase) -> None:
    """The bound of `certify` is not above any cut known, and its labels are never worse."""
    only_if(case.n <= MOST_CERTIFIED)
    call = f"leastcut.certify(S, labels, cut, time_limit={SECONDS}, random_state=0)"
    proven = leastcut.certify(
        case.matrix, case.labels, case.cut, time_limit=SECONDS, random_state=0
    )
    given, found = case.exact.value(case.labels), case.exact.value(case.found.labels)
    own, bound = case.exact.value(proven.labels), proven.lower_bound
    require(bound is not None and bound >= 0, f"the bound is {bound!r}", call)
    least = min(given, found, own)
    require(at_most(bound, least), f"{bound!r} above a cut of {shown(least)}", call)
    require(at_most(float(own), given), f"{shown(own)} above {shown(given)}, which was given", call)


def bounds_are_below_optimum(case: GraphCase) -> None:
    """No round of the semidefinite bound, nor of prices, is above the optimum (≤ 7 nodes)."""
    only_if(case.n <= MOST_ENUMERATED and 1 < case.n_clusters < case.n)
    only_if(case.exact.value(case.labels) > 0)
    problem, c, optimum = as_problem(case.matrix, case.cut), case.n_clusters, case.exact.optimum
    bounds = {
        "SemidefiniteBound": SemidefiniteBound(problem, c),
        "PriceBound": DualPriceBound(problem, c, case.labels),
    }
    for name, rising in bounds.items():
        before = 0.0
        for _ in range(ROUNDS):
            going = rising.improve()
            require(rising.bound >= before, f"{name} fell to {rising.bound!r}", name)
            require(
                at_most(rising.bound, optimum),
                f"{name} is {rising.bound!r}, above the optimum {shown(optimum)}",
                name,
            )
            before = rising.bound
            if not going:
                break
