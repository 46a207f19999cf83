"""Invariants of certificates, compared with rational arithmetic."""

from __future__ import annotations

import leastcut
from fuzz.cases import GraphCase
from fuzz.exact import MOST_ENUMERATED
from fuzz.outcome import assume, at_most, require, shown
from leastcut.bounds.dual_prices import DualPriceBound
from leastcut.bounds.semidefinite import SemidefiniteBound
from leastcut.problem import as_problem

MOST_CERTIFIED = 300
"""Nodes up to which certificates are checked; rounds take too long for more."""

SECONDS = 1.0
"""Time limit of a certificate."""

ROUNDS = 5
"""Rounds of each bound."""


def certificate_is_below_cuts(case: GraphCase) -> None:
    """The bound of `certify` is at most any known cut value, and its labels are never worse."""
    assume(case.n <= MOST_CERTIFIED)
    call = f"leastcut.certify(S, labels, cut, time_limit={SECONDS}, random_state=0)"
    proven = leastcut.certify(
        case.matrix, case.labels, case.cut, time_limit=SECONDS, random_state=0
    )
    initial, other = case.exact.value(case.labels), case.exact.value(case.partition.labels)
    final, bound = case.exact.value(proven.labels), proven.lower_bound
    require(bound is not None and bound >= 0, f"the bound is {bound!r}", call)
    least = min(initial, other, final)
    require(at_most(bound, least), f"{bound!r} above a cut of {shown(least)}", call)
    message = f"{shown(final)} above {shown(initial)}, the value of the initial labels"
    require(at_most(float(final), initial), message, call)


def bounds_are_below_optimum(case: GraphCase) -> None:
    """Semidefinite and column generation bounds are at most the optimum (up to 7 nodes)."""
    assume(case.n <= MOST_ENUMERATED and 1 < case.n_clusters < case.n)
    assume(case.exact.value(case.labels) > 0)
    problem, c, optimum = as_problem(case.matrix, case.cut), case.n_clusters, case.exact.optimum
    bounds = {
        "SemidefiniteBound": SemidefiniteBound(problem, c),
        "DualPriceBound": DualPriceBound(problem, c, case.labels),
    }
    for name, proof in bounds.items():
        before = 0.0
        for _ in range(ROUNDS):
            may_improve = proof.improve()
            require(proof.bound >= before, f"{name} fell to {proof.bound!r}", name)
            require(
                at_most(proof.bound, optimum),
                f"{name} is {proof.bound!r}, above the optimum {shown(optimum)}",
                name,
            )
            before = proof.bound
            if not may_improve:
                break
