"""Laws of several views: the objective in rational numbers, bounds, effort, starts and seeds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.bound_invariants import VALUE_SLACK
from fuzz.cases import GraphCase
from fuzz.exact import MOST_ENUMERATED, partitions
from fuzz.outcome import close, only_if, require, shown

MOST_NODES = 40
"""Nodes up to which cases are cut as views."""

SLACK = 1e-9
"""Relative rounding of an objective, which is a sum of roots."""

FOUND = "leastcut.partition_views(views, n_clusters, weights, cut=cut, effort='fast')"


def objective_is_exact(case: GraphCase) -> None:
    """`partition_views` reports the cut of every view, and their objective, to 1e-12 and 1e-9."""
    views, found = _views(case), _found(case)
    require(
        np.array_equal(np.unique(found.labels), np.arange(case.n_clusters)),
        f"clusters {np.unique(found.labels).tolist()} where {case.n_clusters} are wanted",
        FOUND,
    )
    true = [view.exact.value(found.labels) for view in views]
    for got, value in zip(found.cuts, true, strict=True):
        require(close(got, value, VALUE_SLACK, 2 * case.n_clusters), f"{got!r}, {shown(value)}")
    whole = _objective(case, true)
    require(
        math.isclose(found.objective, whole, rel_tol=SLACK),
        f"objective {found.objective!r}, and truly {whole!r}",
        FOUND,
    )
    require(bool((np.diff(found.history) <= 0).all()), "the history rises", FOUND)


def no_partition_is_below_the_bound_of_views(case: GraphCase) -> None:
    """No partition into c clusters has a smaller objective than the `lower_bound` of views."""
    only_if(case.n <= MOST_ENUMERATED)
    views, found = _views(case), _found(case, lower_bound=True)
    assert found.lower_bound is not None
    assert found.view_bounds is not None
    for labels in partitions(case.n, case.n_clusters):
        cuts = [view.exact.value(labels) for view in views]
        whole = _objective(case, cuts)
        require(
            found.lower_bound <= whole * (1 + SLACK),
            f"bound {found.lower_bound!r}, and {labels} have {whole!r}",
            FOUND,
        )
        for bound, value in zip(found.view_bounds, cuts, strict=True):
            require(Fraction(float(bound)) <= value * (1 + VALUE_SLACK), f"{bound!r} of a view")


def views_lose_nothing(case: GraphCase) -> None:
    """More effort, or a partition to begin with, never makes the objective of views larger."""
    only_if(case.number % 3 == 0)
    views, before = _views(case), math.inf
    given = _objective(case, [view.exact.value(case.labels) for view in views])
    for effort in ("fast", "balanced"):
        found = _found(case, effort=effort)
        now = _objective(case, [view.exact.value(found.labels) for view in views])
        require(now <= before * (1 + SLACK), f"{effort} gives {now!r} after {before!r}", FOUND)
        before = now
    found = _found(case, init=case.labels)
    now = _objective(case, [view.exact.value(found.labels) for view in views])
    require(now <= given * (1 + SLACK), f"{now!r} from an init of {given!r}", FOUND)


def views_are_cut_alike_again(case: GraphCase) -> None:
    """A seed fixes the labels of views, on one thread and on two; nodes may come in any order."""
    only_if(case.number % 3 == 1)
    one, two = (_found(case, n_jobs=n_jobs) for n_jobs in (1, 2))
    require(np.array_equal(one.labels, two.labels), "other labels with n_jobs=2", FOUND)
    # Labels may differ in another order, but what they are said to cost must be what they cost.
    order = np.random.default_rng(case.number).permutation(case.n)
    views = [sp.csr_array(view.matrix[order][:, order]) for view in _views(case)]
    cut = case.cut if isinstance(case.cut, str) else case.cut[order]
    found = leastcut.partition_views(
        views, case.n_clusters, _weights(case), cut=cut, init=one.labels[order], effort="fast",
        random_state=0, isolated="ignore",
    )  # fmt: skip
    require(
        found.objective <= one.objective * (1 + SLACK),
        f"{found.objective!r} in another order, from an init of {one.objective!r}",
        FOUND,
    )


def _views(case: GraphCase) -> list[GraphCase]:
    """Return the case and one or two others of its nodes, with other edges or weights."""
    only_if(1 < case.n <= MOST_NODES)
    # Far apart, one view is rounding beside another: that is for the laws of one graph.
    only_if(case.weights.min(initial=1.0) > 1e-100 and case.weights.max(initial=1.0) < 1e100)
    rng = np.random.default_rng([case.number, case.seed % 2**32])
    views = [case]
    for _ in range(1 + case.number % 2):
        order = rng.permutation(case.n)
        i, j = order[case.i], order[case.j]
        weights = case.weights * rng.uniform(0.5, 2.0, size=case.i.size)
        views.append(replace(case, i=np.minimum(i, j), j=np.maximum(i, j), weights=weights))
    return views


def _weights(case: GraphCase) -> Any:
    n_views = 2 + case.number % 2
    return ("auto", "equal", np.arange(n_views) + 0.5)[case.number % 3]


def _objective(case: GraphCase, cuts: list[Fraction]) -> float:
    """Return the objective of exact cuts: Σ √cut_v, or Σ w_v cut_v."""
    weights = _weights(case)
    if isinstance(weights, str) and weights == "auto":
        return math.fsum(math.sqrt(value) for value in cuts)
    own = [1.0] * len(cuts) if isinstance(weights, str) else weights.tolist()
    return float(sum(Fraction(w) * value for w, value in zip(own, cuts, strict=True)))


def _found(case: GraphCase, **options: Any) -> leastcut.PartitionOfViews:
    views = [view.matrix for view in _views(case)]
    chosen = {"effort": "fast", "random_state": 0, "isolated": "ignore", **options}
    return leastcut.partition_views(views, case.n_clusters, _weights(case), cut=case.cut, **chosen)
