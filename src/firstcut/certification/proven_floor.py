"""A proven lower bound of ⟨B, Z⟩ over all Z with Zu = u, tr Z = c and 0 ⪯ Z ⪯ I.

Z = uuᵀ + Z' with Z'u = 0, so that ⟨B, Z⟩ = uᵀBu + ⟨B + uvᵀ + vuᵀ, Z'⟩ for every v. Take any μ and
any Y ⪰ 0. If S = B + uvᵀ + vuᵀ − μI + Y ⪰ −εI then

    ⟨B, Z⟩ ≥ uᵀBu + (c − 1) (μ − ε) − tr Y,

as tr Z' = c − 1 and Z' ⪯ I. With v that takes u out of B, μ the (c−1)-th smallest eigenvalue on u⊥
and Y what lifts the smaller ones to μ, this is uᵀBu plus the c − 1 smallest eigenvalues: the best
there is. But it holds whatever eigenvalues and vectors were found: only S ⪰ −εI needs a proof, and
that is a Cholesky factorisation of S + εI which ends (Rump 2006, *Verification of positive
definiteness*): then no eigenvalue is below −(n + 1) · eps · trace. What rounding adds by forming S
is counted with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from firstcut.certification.eigenpairs import eigenpairs
from firstcut.certification.filtered_subspace import lowest_estimate

EPSILON = float(np.finfo(np.float64).eps)

SAFETY = 4.0
"""Rounding errors per row that sums and products are trusted to stay within; they make two."""

FURTHER_ROWS = 16
"""Rows that stand for the rounding which does not grow with the matrix."""

BLOCK_ROWS = 512
"""Rows of a matrix that are changed at a time."""

LOOK_FIRST = 3000
"""Rows from which on ε is estimated before it is tried."""

LOOK_STEPS = 60
"""Steps of Lanczos that estimate it."""

LOOK_MARGIN = 1.1
"""How much wider than the estimate the first ε tried is."""

WIDER = 4.0
"""By what ε grows where the factorisation fails."""

TRIES = 12
"""Factorisations that are tried before all eigenvalues are computed."""


class Floor(NamedTuple):
    """The bound, and what prices are made of: v outside u, the eigenvalues' mean, and uᵀBu."""

    bound: float
    vector: np.ndarray
    mean: float
    value: float


def proven_floor(matrix: np.ndarray, unit: np.ndarray, n_clusters: int, size: float) -> Floor:
    """Return a lower bound of ⟨B, Z⟩ that is proven, rounding counted, from LAPACK's eigenpairs.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        B, of which the lower triangle counts.
    unit : ndarray of shape (n,)
        u, of length 1.
    n_clusters : int
        c, at least 2 and at most n.
    size : float
        Sum of the absolute values of the terms that B was added up from, beyond what stands in it.

    Returns
    -------
    Floor
    """
    vector, _ = _cancelling(matrix, unit)
    outer = np.outer(unit, vector)
    values, vectors = eigenpairs(matrix + outer + outer.T, 0, n_clusters - 2)
    return floor_of_pairs(matrix.copy(), unit, n_clusters, size, values, vectors)


def floor_of_pairs(
    matrix: np.ndarray,
    unit: np.ndarray,
    n_clusters: int,
    size: float,
    values: np.ndarray,
    vectors: np.ndarray,
) -> Floor:
    """Return a proven lower bound from c − 1 or more of what may be the smallest eigenpairs.

    They may be wrong: the bound is then lower. ``matrix`` is overwritten.
    """
    n, count = unit.size, n_clusters - 1
    # 1. What is probably the best v, μ and Y.
    vector, value = _cancelling(matrix, unit)
    lowest = float(values[count - 1])
    lift = np.maximum(lowest - values, 0.0)
    trace = float(lift @ np.einsum("ij,ij->j", vectors, vectors))
    terms = float(np.linalg.norm(matrix)) + 2.0 * float(np.linalg.norm(vector)) + 2.0 * trace
    terms += abs(lowest) * n + size
    # 2. S, in place and a block of rows at a time, and what rounding may have done to it, to uᵀBu
    #    and to u.
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        matrix[rows] += unit[rows, None] * vector
        matrix[rows] += vector[rows, None] * unit
        matrix[rows] += (vectors[rows] * lift) @ vectors.T
    matrix[np.diag_indices(n)] -= lowest
    diagonal = float(np.abs(np.diagonal(matrix)).sum())
    unknown = SAFETY * EPSILON * (n + FURTHER_ROWS) * (diagonal + terms)
    # 3. The smallest ε, roughly, for which S + εI ⪰ 0 is proven.
    below = _proven_negative_part(matrix, unknown)
    bound = value + count * (lowest - below) - trace - n_clusters * unknown
    outside = vector - float(vector @ unit) * unit
    return Floor(bound, outside, float(values[:count].mean()), value)


def _cancelling(matrix: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, float]:
    """Return v such that u is the top eigenvector of B + uvᵀ + vuᵀ, and uᵀBu."""
    product = matrix @ unit
    value = float(unit @ product)
    # No eigenvalue is above the largest sum of a row, here of blocks of them to save memory.
    blocks = range(0, unit.size, BLOCK_ROWS)
    sums = [np.abs(matrix[start : start + BLOCK_ROWS]).sum(axis=1).max() for start in blocks]
    top = 2.0 * float(max(sums)) + 1.0
    return (value * unit - product) + (0.5 * (top - value)) * unit, value


def _proven_negative_part(matrix: np.ndarray, smallest: float) -> float:
    """Return an ε ≥ ``smallest`` such that matrix + εI has a Cholesky factorisation."""
    n = matrix.shape[0]
    shift, diagonal = smallest, np.diag_indices(n)
    # A failure costs as much as a proof: where that is long, a look at the spectrum comes first.
    if n > LOOK_FIRST:
        start = np.asarray(np.random.default_rng(0).standard_normal(n))
        low = lowest_estimate(lambda block: matrix @ block, start, LOOK_STEPS, 0.0)
        shift = max(smallest, -LOOK_MARGIN * low)
    for _ in range(TRIES):
        trial = matrix.copy()
        trial[diagonal] += shift
        # Its transpose is in LAPACK's order of memory: no further copy.
        _, failed = scipy.linalg.lapack.dpotrf(trial.T, lower=0, clean=0, overwrite_a=1)
        if failed == 0:
            return shift
        shift *= WIDER
    # LAPACK's eigenvalues are right to some roundings of the norm, which ``smallest`` counts.
    return smallest - min(float(scipy.linalg.eigvalsh(matrix, check_finite=False)[0]), 0.0)
