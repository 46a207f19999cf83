"""Invariants of partitions of several views."""

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
from fuzz.outcome import assume, close, require, shown

MOST_NODES = 40
"""Nodes up to which cases are checked with several views."""

SLACK = 1e-9
"""Relative rounding error of an objective, which is a sum of square roots."""

PARTITION = "leastcut.partition_views(views, n_clusters, weights, cut=cut, effort='fast')"


def objective_is_exact(case: GraphCase) -> None:
    """`partition_views` reports exact cut values (to 1e-12) and their objective (to 1e-9)."""
    views, result = _views(case), _partition(case)
    require(
        np.array_equal(np.unique(result.labels), np.arange(case.n_clusters)),
        f"clusters {np.unique(result.labels).tolist()}, expected {case.n_clusters}",
        PARTITION,
    )
    expected = [view.exact.value(result.labels) for view in views]
    for value, exact in zip(result.cuts, expected, strict=True):
        message = f"the cut of a view is {value!r}, expected {shown(exact)}"
        require(close(value, exact, VALUE_SLACK, 2 * case.n_clusters), message, PARTITION)
    objective = _objective(case, expected)
    require(
        math.isclose(result.objective, objective, rel_tol=SLACK),
        f"the objective is {result.objective!r}, expected {objective!r}",
        PARTITION,
    )
    require(bool((np.diff(result.history) <= 0).all()), "the history rises", PARTITION)


def no_partition_is_below_the_bound_of_views(case: GraphCase) -> None:
    """The `lower_bound` of views is at most the objective of every partition."""
    assume(case.n <= MOST_ENUMERATED)
    views, result = _views(case), _partition(case, lower_bound=True)
    assert result.lower_bound is not None
    assert result.view_bounds is not None
    for labels in partitions(case.n, case.n_clusters):
        cuts = [view.exact.value(labels) for view in views]
        objective = _objective(case, cuts)
        require(
            result.lower_bound <= objective * (1 + SLACK),
            f"the bound is {result.lower_bound!r}, but {labels} have {objective!r}",
            PARTITION,
        )
        for bound, value in zip(result.view_bounds, cuts, strict=True):
            message = f"the bound of a view is {bound!r}, above {shown(value)}"
            require(Fraction(float(bound)) <= value * (1 + VALUE_SLACK), message, PARTITION)


def views_lose_nothing(case: GraphCase) -> None:
    """More effort or an initial partition never increases the objective of views."""
    assume(case.number % 3 == 0)
    views, before = _views(case), math.inf
    initial = _objective(case, [view.exact.value(case.labels) for view in views])
    for effort in ("fast", "balanced"):
        result = _partition(case, effort=effort)
        now = _objective(case, [view.exact.value(result.labels) for view in views])
        require(now <= before * (1 + SLACK), f"{effort} gives {now!r} after {before!r}", PARTITION)
        before = now
    result = _partition(case, init=case.labels)
    now = _objective(case, [view.exact.value(result.labels) for view in views])
    require(now <= initial * (1 + SLACK), f"{now!r} from an init of {initial!r}", PARTITION)


def views_are_cut_alike_again(case: GraphCase) -> None:
    """A seed determines the labels of views on one and two threads, and nodes may be permuted."""
    assume(case.number % 3 == 1)
    one, two = (_partition(case, n_jobs=n_jobs) for n_jobs in (1, 2))
    require(np.array_equal(one.labels, two.labels), "other labels with n_jobs=2", PARTITION)
    # Labels may differ for permuted nodes, but the objective may not be larger than that of init.
    order = np.random.default_rng(case.number).permutation(case.n)
    views = [sp.csr_array(view.matrix[order][:, order]) for view in _views(case)]
    cut = case.cut if isinstance(case.cut, str) else case.cut[order]
    result = leastcut.partition_views(
        views, case.n_clusters, _weights(case), cut=cut, init=one.labels[order], effort="fast",
        random_state=0, isolated="ignore",
    )  # fmt: skip
    require(
        result.objective <= one.objective * (1 + SLACK),
        f"{result.objective!r} in another order, from an init of {one.objective!r}",
        PARTITION,
    )


def _views(case: GraphCase) -> list[GraphCase]:
    """Return the case and one or two permuted copies with perturbed weights."""
    assume(1 < case.n <= MOST_NODES)
    # With weights of very different magnitude, one view is below the rounding error of another.
    assume(case.weights.min(initial=1.0) > 1e-100 and case.weights.max(initial=1.0) < 1e100)
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
    factors = [1.0] * len(cuts) if isinstance(weights, str) else weights.tolist()
    return float(sum(Fraction(w) * value for w, value in zip(factors, cuts, strict=True)))


def _partition(case: GraphCase, **options: Any) -> leastcut.PartitionOfViews:
    views = [view.matrix for view in _views(case)]
    chosen = {"effort": "fast", "random_state": 0, "isolated": "ignore", **options}
    return leastcut.partition_views(views, case.n_clusters, _weights(case), cut=case.cut, **chosen)
