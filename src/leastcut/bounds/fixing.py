"""Pairs of nodes that the multipliers of a bound decide: what better partitions must keep to.

A partition's value is at least the bound that multipliers y prove, plus Σ y_t ⟨T_t, Z⟩ over their
inequalities ⟨T_t, Z⟩ ≥ 0. One that holds with room in a partition lifts its value by y_t times that
room; if this is above the best value known, the partition is not better.
"""

from __future__ import annotations

import numpy as np

from leastcut.bounds.semidefinite import SemidefiniteBound

CAREFUL = 1.0 - 1e-9
"""Part of what a decision would pay that is counted: the rest is for rounding."""


def pairs_apart(
    bound: SemidefiniteBound, value: float, most: np.ndarray | None = None
) -> np.ndarray:
    """Return pairs of nodes that no partition with a cut value below ``value`` has together.

    Together they have Z_ij ≥ √(b_i b_j) / (what a cluster can weigh), which is the room of
    Z_ij ≥ 0. ``most`` (n, n) is what is known of how much a cluster with both can weigh.
    """
    multipliers = bound.multipliers
    if multipliers is None:
        return np.zeros((0, 2), dtype=np.int64)
    both = np.triu(multipliers.pairs, 1) + np.tril(multipliers.pairs, -1).T
    i, j = np.nonzero(both)
    weights = bound.problem.node_weights
    heaviest: float | np.ndarray = _heaviest(weights, bound.n_clusters)
    if most is not None:
        heaviest = np.minimum(most[i, j], heaviest)
    paid = both[i, j] * (np.sqrt(weights[i]) * np.sqrt(weights[j]) / heaviest)
    certain = bound.proven + paid * CAREFUL > value
    return np.column_stack([i[certain], j[certain]])


def pairs_together(bound: SemidefiniteBound, value: float) -> np.ndarray:
    """Return pairs of nodes that no partition with a cut value below ``value`` has apart.

    Apart, the star of centre i and the one leaf j has the room Z_ii ≥ b_i / (what a cluster can
    weigh).
    """
    multipliers = bound.multipliers
    if multipliers is None:
        return np.zeros((0, 2), dtype=np.int64)
    single = multipliers.leaves[:, 1] < 0
    i, j = multipliers.centres[single], multipliers.leaves[single, 0]
    weights = bound.problem.node_weights
    paid = multipliers.stars[single] * (weights[i] / _heaviest(weights, bound.n_clusters))
    certain = bound.proven + paid * CAREFUL > value
    return np.column_stack([i[certain], j[certain]])


def _heaviest(weights: np.ndarray, n_clusters: int) -> float:
    """Return what a cluster can weigh, as each of the others has a node."""
    return float(weights.sum() - np.sort(weights)[: n_clusters - 1].sum())
