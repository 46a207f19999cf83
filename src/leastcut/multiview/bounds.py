"""Lower bounds for several views, from lower bounds for each.

Let cut_v ≥ l_v in every view, and Σ_v α_v cut_v ≥ β for weights α that are finite. Roots are
concave, so that Σ_v √x_v over all x with x_v ≥ l_v and Σ_v α_v x_v ≥ β is smallest in a corner:
all x_v = l_v but for one, which makes up for what is missing of β. This β comes from eigenvalues of
one graph, Σ_v α_v S_v, whose nodes weigh what they do in all views or, where these differ, the most
that they do in any, which makes no cut larger; or β is Σ_v α_v l_v, if that is more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from leastcut.budget import Budget
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
    budget: Budget | None = None,
) -> Bounds:
    """Return the bounds that a partition with these cuts allows to prove.

    ``known`` has bounds of some views that were computed before. There are no bounds if there is
    not enough time for all of them.
    """
    weights, known = views.weights(cuts), known or {}
    is_finite = np.isfinite(weights)
    finite = np.where(is_finite, weights, 0.0)
    # Rounding may have added as much to sums over clusters and views.
    less = 1.0 - ROUNDING * (n_clusters + views.n_views)
    try:
        bounds = np.empty(views.n_views)
        for v, problem in enumerate(views.problems):
            bound = known.get(v)
            bounds[v] = bound_of(problem, n_clusters, budget) if bound is None else bound
        counts = (weights > 0) | (views.view_weights is None)
        if np.all(cuts[counts] <= bounds[counts]):
            # Every view that counts is cut as well as it can be: this is proven, whatever rounding.
            weighted = float(np.sum(weights[is_finite] * cuts[is_finite]))
            return Bounds(views.objective(cuts), weighted, bounds)
        weighted = float(np.sum(finite * bounds))
        if finite.any():
            combined = views.combined(finite, is_bound=True)
            bound = bound_of(combined.problem, n_clusters, budget) / combined.scale
            weighted = max(weighted, bound)
    except TimeoutError:  # there was not enough time
        return Bounds()
    weighted *= less
    if views.view_weights is not None:
        return Bounds(weighted, weighted, bounds)
    # The smallest sum of roots is in a corner.
    roots, missing = np.sqrt(bounds), weighted - float(np.sum(finite * bounds))
    corners = [
        roots.sum() - roots[v] + np.sqrt(bounds[v] + missing / finite[v])
        for v in np.flatnonzero(finite > 0)
        if missing > 0
    ]
    return Bounds(float(min(corners, default=roots.sum())) * less, weighted, bounds)


def bound_of(problem: Problem, n_clusters: int, budget: Budget | None = None) -> float:
    """Return a lower bound on the cut value of every partition of all nodes.

    Nodes that weigh nothing may be clusters by themselves, which have no term: of the others there
    are as many clusters less at least. Raises TimeoutError if the budget is not enough.
    """
    nodes = np.flatnonzero(problem.node_weights > 0)
    least = n_clusters - (problem.n_nodes - nodes.size)
    if least < 2:
        return 0.0
    core = problem.restrict(nodes)
    return relax_problem(core, least, random_state=0, budget=budget).lower_bound
