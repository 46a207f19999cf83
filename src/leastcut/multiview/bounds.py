"""Lower bounds for several views, from lower bounds for each.

Let cut_v ≥ l_v in every view, and Σ_v α_v cut_v ≥ β for weights α that are finite. Roots are
concave, so that Σ_v √x_v over all x with x_v ≥ l_v and Σ_v α_v x_v ≥ β is smallest in a corner:
all x_v = l_v but for one, which makes up for what is missing of β. This β comes from eigenvalues of
one graph, Σ_v α_v S_v, whose nodes weigh what they do in all views or, where these differ, the most
that they do in any, which makes no cut larger; or β is Σ_v α_v l_v, if that is more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from leastcut.multiview.problem import MultiViewProblem
from leastcut.problem import Problem
from leastcut.spectral.relax import relax_problem

# Relative error that is allowed for every term of a sum over clusters or views.
ROUNDING = 16.0 * float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """Lower bounds on the objective, on the weighted sum of cuts, and on the cut of each view."""

    objective: float | None = None
    weighted: float | None = None
    views: np.ndarray | None = None


def lower_bounds(
    views: MultiViewProblem,
    cuts: np.ndarray,
    n_clusters: int,
    known: Mapping[int, float | None] | None = None,
    deadline: float = math.inf,
) -> Bounds:
    """Return the bounds that a partition with these cuts allows to prove.

    ``known`` has bounds of some views that were computed before. There are no bounds if there is
    not enough time for all of them.
    """
    weights = views.weights(cuts)
    try:
        found = [(known or {}).get(v) for v in range(views.n_views)]
        bounds = np.array(
            [
                bound_of(problem, n_clusters, deadline) if bound is None else bound
                for problem, bound in zip(views.problems, found, strict=True)
            ]
        )
        counts = (weights > 0) if views.view_weights is not None else np.ones(cuts.size, dtype=bool)
        if np.all(cuts[counts] <= bounds[counts]):
            # Every view that counts is cut as well as it can be: this is proven, whatever rounding.
            finite = np.isfinite(weights)
            weighted = float(np.sum(weights[finite] * cuts[finite]))
            return Bounds(views.objective(cuts), weighted, bounds)
        weighted = weighted_bound(views, weights, bounds, n_clusters, deadline)
        least = objective_bound(views, weights, bounds, weighted, n_clusters)
        return Bounds(least, weighted, bounds)
    except TimeoutError:  # which is what it says
        return Bounds()


def bound_of(problem: Problem, n_clusters: int, deadline: float) -> float:
    """Return a lower bound on the cut value of every partition of all nodes.

    Nodes that weigh nothing may be clusters by themselves, which have no term: of the others there
    are as many clusters less at least. Raises TimeoutError at the deadline.
    """
    nodes = np.flatnonzero(problem.node_weights > 0)
    least = n_clusters - (problem.n_nodes - nodes.size)
    if least < 2:
        return 0.0
    core = problem.restrict(nodes)
    return relax_problem(core, least, random_state=0, deadline=deadline).lower_bound


def weighted_bound(
    views: MultiViewProblem,
    weights: np.ndarray,
    bounds: np.ndarray,
    n_clusters: int,
    deadline: float,
) -> float:
    """Return a lower bound on Σ_v α_v cut_v over the views whose weight is finite.

    ``bounds`` are those of each view. Raises TimeoutError at the deadline.
    """
    finite = np.isfinite(weights)
    own = np.where(finite, weights, 0.0)
    found = float(np.sum(own * bounds))
    if own.any():
        combined = views.combined(own, is_bound=True)
        found = max(found, bound_of(combined.problem, n_clusters, deadline) / combined.scale)
    return _less(found, n_clusters, views)


def objective_bound(
    views: MultiViewProblem,
    weights: np.ndarray,
    bounds: np.ndarray,
    weighted: float,
    n_clusters: int,
) -> float:
    """Return a lower bound on the objective, given bounds on the cuts and on their sum."""
    if views.view_weights is not None:
        return weighted
    roots, own = np.sqrt(bounds), np.where(np.isfinite(weights), weights, 0.0)
    missing = weighted - float(np.sum(own * bounds))
    corners = [
        roots.sum() - roots[v] + np.sqrt(bounds[v] + missing / own[v])
        for v in np.flatnonzero(own > 0)
        if missing > 0
    ]
    return _less(float(min(corners, default=roots.sum())), n_clusters, views)


def _less(bound: float, n_clusters: int, views: MultiViewProblem) -> float:
    """Return a bound less what rounding may have added to it."""
    return bound * (1.0 - ROUNDING * (n_clusters + views.n_views))
