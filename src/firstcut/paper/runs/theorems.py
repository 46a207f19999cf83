"""The paper's two theorems, measured: how tight are they on real data?

With M = GᵀF, whose singular values σ lie in [0, 1], the loss of k-means on F is
J_km = Σ (1 − σ²) and that of rotation J_ISR = 2 Σ (1 − σ), for the ratio cut.

Theorem 1: J_km ≤ J_ISR ≤ (1 + √ε)² J_km with ε = max (1 − σ)/(1 + σ) ≤ 1, so a factor of 4 at most.

Theorem 2: ρ²(Δ*) ≤ (λ_max/λ_min) ρ²(Δ†) + 2 Σλ/λ_min, where ρ(Δ) is the length of the residual
Δ = G − F R outside the null space of A; the last term is the O(1), spelled out from the proof.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

import firstcut
from firstcut.cuts import indicator
from firstcut.paper.runs.protocol import Problem
from firstcut.paper.runs.records import Record

NULL = 1e-10
"""Eigenvalues below this part of the c-th one count as zeros: above rounding, and below the others
of the paper's graphs, of which COIL20 and MSRA have some near 1e-10."""


def first_theorem(problem: Problem, labels: np.ndarray) -> Record:
    """Return J_ISR / J_km of a partition (``value``) and the theorem's limit for it.

    Parameters
    ----------
    problem : Problem
        With the ratio cut, for which the theorem is stated.
    labels : ndarray of shape (n,)
        Clusters 0..c-1.
    """
    relaxation = problem.relaxation
    overlap = indicator(labels, relaxation.node_weights).T @ relaxation.eigenvectors
    # both have orthonormal columns, so more than 1 is rounding
    sigma = np.minimum(np.linalg.svd(overlap, compute_uv=False), 1.0)
    # J_km and J_ISR by the singular values, so that no rotation has to be found
    kmeans, rotation = float(np.sum(1.0 - sigma**2)), float(2.0 * np.sum(1.0 - sigma))
    epsilon = float(np.max((1.0 - sigma) / (1.0 + sigma)))
    return {
        "value": rotation / kmeans,
        "j_kmeans": kmeans,
        "j_isr": rotation,
        "limit": (1.0 + epsilon**0.5) ** 2,
    }


def second_theorem(problem: Problem, best: np.ndarray, closest: np.ndarray) -> Record:
    """Return both sides of the inequality, for the best and the closest partition known.

    Parameters
    ----------
    problem : Problem
    best, closest : ndarray of shape (n,)
        Clusters 0..c-1 of the smallest cut, and of the smallest distance to the relaxed solution.

    Returns
    -------
    dict
        ``value`` is the right side divided by the left: how many times larger the limit is.
    """
    relaxation = problem.relaxation
    values = relaxation.eigenvalues
    operator = firstcut.operator(problem.graph, problem.cut)
    # λ_min is the smallest eigenvalue that is not 0; every component of the graph has a 0
    nonzero = values > NULL * max(float(values[-1]), 1e-300)
    smallest = float(values[nonzero][0])
    start = np.cos(np.arange(relaxation.n_nodes))  # any fixed vector, for a fixed answer
    largest = float(
        eigsh(operator, k=1, which="LA", tol=1e-6, v0=start, return_eigenvectors=False)[0]
    )
    left = _outside_null_space(relaxation, ~nonzero, best)
    right = _outside_null_space(relaxation, ~nonzero, closest)
    # the right side: (λ_max/λ_min) ρ²(Δ†), and what the paper calls O(1)
    constant = 2.0 * float(values.sum()) / smallest
    limit = largest / smallest * right + constant
    return {
        "value": limit / left,
        "rho2_best": left,
        "rho2_closest": right,
        "ratio": largest / smallest,
        "constant": constant,
        "limit": limit,
    }


def _outside_null_space(
    relaxation: firstcut.Relaxation, null: np.ndarray, labels: np.ndarray
) -> float:
    """Return ρ²(Δ) of a partition."""
    found = indicator(labels, relaxation.node_weights)
    # R is the rotation of the smallest residual, U Vᵀ of the SVD of FᵀG
    left, _, right = np.linalg.svd(relaxation.eigenvectors.T @ found)
    residual = found - relaxation.eigenvectors @ (left @ right)
    # what lies in the null space costs nothing, and is taken off again
    inside = relaxation.eigenvectors[:, null].T @ residual
    return float(np.sum(residual**2) - np.sum(inside**2))
