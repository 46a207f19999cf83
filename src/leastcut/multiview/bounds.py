"""Lower bounds for several views, from lower bounds for each view and for their sum.

Let cut_v ≥ l_v in every view v, and Σ_v α_v cut_v ≥ β for finite weights α. The square root is
concave, so the minimum of Σ_v √x_v over all x with x_v ≥ l_v and Σ_v α_v x_v ≥ β is at a vertex:
all x_v = l_v except for one, which is larger to satisfy the second constraint. β is the larger of
Σ_v α_v l_v and an eigenvalue bound of the graph Σ_v α_v S_v. If node weights differ between views,
each node of that graph has the largest of its weights, which makes no cut value larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from leastcut.budget import Budget
from leastcut.multiview.problem import MultiViewProblem
from leastcut.problem import Problem
from leastcut.spectral.relax import relax_problem

# Relative rounding error of every term of a sum over clusters or views.
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
    """Return lower bounds on all partitions, using the weights of a partition with these cuts.

    ``known`` contains bounds of single views that are already computed. All bounds are None if
    there is not enough time for all of them.
    """
    weights, known = views.weights(cuts), known or {}
    is_finite = np.isfinite(weights)
    finite = np.where(is_finite, weights, 0.0)
    # Correct for rounding in sums over clusters and views.
    correction = 1.0 - ROUNDING * (n_clusters + views.n_views)
    try:
        bounds = np.empty(views.n_views)
        for v, problem in enumerate(views.problems):
            bound = known.get(v)
            bounds[v] = bound_of(problem, n_clusters, budget) if bound is None else bound
        counts = (weights > 0) | (views.view_weights is None)
        if np.all(cuts[counts] <= bounds[counts]):
            # Every view with a weight is cut optimally, so the values are bounds, without rounding.
            weighted = float(np.sum(weights[is_finite] * cuts[is_finite]))
            return Bounds(views.objective(cuts), weighted, bounds)
        weighted = float(np.sum(finite * bounds))
        if finite.any():
            combined = views.combined(finite, is_bound=True)
            bound = bound_of(combined.problem, n_clusters, budget) / combined.scale
            weighted = max(weighted, bound)
    except TimeoutError:
        return Bounds()
    weighted *= correction
    if views.view_weights is not None:
        return Bounds(weighted, weighted, bounds)
    # The minimum of the sum of roots is at a vertex.
    roots, missing = np.sqrt(bounds), weighted - float(np.sum(finite * bounds))
    vertices = [
        roots.sum() - roots[v] + np.sqrt(bounds[v] + missing / finite[v])
        for v in np.flatnonzero(finite > 0)
        if missing > 0
    ]
    return Bounds(float(min(vertices, default=roots.sum())) * correction, weighted, bounds)


def bound_of(problem: Problem, n_clusters: int, budget: Budget | None = None) -> float:
    """Return a lower bound on the cut value of every partition of all nodes.

    Nodes of weight 0 may be clusters, which have no term, so the bound is for the smallest possible
    number of clusters of the other nodes. Raises TimeoutError if the budget is not enough.
    """
    nodes = np.flatnonzero(problem.node_weights > 0)
    least = n_clusters - (problem.n_nodes - nodes.size)
    if least < 2:
        return 0.0
    core = problem.restrict(nodes)
    return relax_problem(core, least, random_state=0, budget=budget).lower_bound
