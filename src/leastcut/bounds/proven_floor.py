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

import time
from typing import NamedTuple

import numpy as np
import scipy.linalg

from leastcut.bounds.filtered_subspace import lowest_estimate
from leastcut.bounds.time_left import require_time
from leastcut.spectral.dense_eigenpairs import eigenpairs

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

FACTOR_ROWS, FACTOR_PIECE = 768, 2304
"""Columns that are factorised at a time, and rows of them between two looks at the clock."""

ALL_EIGENVALUES = 8.0
"""What all eigenvalues cost, in factorisations."""


class Floor(NamedTuple):
    """The bound, and what prices are made of: v outside u, the eigenvalues' mean, and uᵀBu."""

    bound: float
    vector: np.ndarray
    mean: float
    value: float


def proven_floor(
    matrix: np.ndarray,
    unit: np.ndarray,
    n_clusters: int,
    size: float,
    deadline: float = np.inf,
) -> Floor:
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
    deadline : float, default=inf
        When it must end, on the monotonic clock; else TimeoutError is raised.

    Returns
    -------
    Floor
    """
    vector, _ = _cancelling(matrix, unit)
    outer = np.outer(unit, vector)
    values, vectors = eigenpairs(matrix + outer + outer.T, 0, n_clusters - 2)
    return floor_of_pairs(matrix.copy(), unit, n_clusters, size, values, vectors, deadline)


def floor_of_pairs(
    matrix: np.ndarray,
    unit: np.ndarray,
    n_clusters: int,
    size: float,
    values: np.ndarray,
    vectors: np.ndarray,
    deadline: float = np.inf,
) -> Floor:
    """Return a proven lower bound from c − 1 or more of what may be the smallest eigenpairs.

    They may be wrong: the bound is then lower, and −inf where they are not finite. ``matrix`` is
    overwritten. Raises TimeoutError where it does not end by ``deadline``.
    """
    n, count = unit.size, n_clusters - 1
    # 1. What is probably the best v, μ and Y.
    vector, value = _cancelling(matrix, unit)
    if not (np.isfinite(values).all() and np.isfinite(vectors).all()):
        return Floor(-np.inf, np.zeros(n), 0.0, value)
    lowest = float(values[count - 1])
    lift = np.maximum(lowest - values, 0.0)
    trace = float(lift @ np.einsum("ij,ij->j", vectors, vectors))
    terms = float(np.linalg.norm(matrix)) + 2.0 * float(np.linalg.norm(vector)) + 2.0 * trace
    terms += abs(lowest) * n + size
    # 2. S, in place and a block of rows at a time, and what rounding may have done to it, to uᵀBu
    #    and to u.
    for start in range(0, n, BLOCK_ROWS):
        require_time(deadline)
        rows = slice(start, start + BLOCK_ROWS)
        matrix[rows] += unit[rows, None] * vector
        matrix[rows] += vector[rows, None] * unit
        matrix[rows] += (vectors[rows] * lift) @ vectors.T
    matrix[np.diag_indices(n)] -= lowest
    diagonal = float(np.abs(np.diagonal(matrix)).sum())
    unknown = SAFETY * EPSILON * (n + FURTHER_ROWS) * (diagonal + terms)
    # 3. The smallest ε, roughly, for which S + εI ⪰ 0 is proven.
    below = _proven_negative_part(matrix, unknown, deadline)
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


def _proven_negative_part(matrix: np.ndarray, smallest: float, deadline: float = np.inf) -> float:
    """Return an ε ≥ ``smallest`` such that matrix + εI ⪰ 0, less what ``smallest`` counts."""
    n = matrix.shape[0]
    # Of the rounding of a factorisation, ``smallest`` counts what goes with the matrix itself.
    shifted = 1.0 + SAFETY * EPSILON * (n + FURTHER_ROWS) * n
    shift, diagonal = smallest, np.diag_indices(n)
    # A failure costs as much as a proof: where that is long, a look at the spectrum comes first.
    if n > LOOK_FIRST:
        start = np.asarray(np.random.default_rng(0).standard_normal(n))

        def apply(block: np.ndarray) -> np.ndarray:
            require_time(deadline)
            return np.asarray(matrix @ block)

        low = lowest_estimate(apply, start, LOOK_STEPS, 0.0)
        shift = max(smallest, -LOOK_MARGIN * low)
    for _ in range(TRIES):
        trial = matrix.copy()
        trial[diagonal] += shift
        began = time.monotonic()
        if is_factorised(trial, deadline):
            return float(shift * shifted)
        shift *= WIDER
    require_time(deadline, ALL_EIGENVALUES * (time.monotonic() - began))
    # LAPACK's eigenvalues are right to some roundings of the norm, which ``smallest`` counts.
    return smallest - min(float(scipy.linalg.eigvalsh(matrix, check_finite=False)[0]), 0.0)


def is_factorised(matrix: np.ndarray, deadline: float = np.inf) -> bool:
    """Overwrite the lower triangle by its Cholesky factor, and return whether there is one.

    Columns are taken in blocks, with looks at the clock; raises TimeoutError at ``deadline``.
    """
    n = matrix.shape[0]
    for first in range(0, n, FACTOR_ROWS):
        last = min(first + FACTOR_ROWS, n)
        done = matrix[first:last, :first]
        # 1. What the columns before take from these.
        for start in range(first, n, FACTOR_PIECE):
            require_time(deadline)
            rows = slice(start, start + FACTOR_PIECE)
            matrix[rows, first:last] -= matrix[rows, :first] @ done.T
        # 2. The block on the diagonal. Its transpose is in LAPACK's order of memory.
        factor, failed = scipy.linalg.lapack.dpotrf(
            matrix[first:last, first:last].T, lower=0, clean=0
        )
        if failed != 0:
            return False
        matrix[first:last, first:last] = factor.T
        # 3. The rows below it.
        for start in range(last, n, FACTOR_PIECE):
            require_time(deadline)
            rows = slice(start, start + FACTOR_PIECE)
            matrix[rows, first:last] = scipy.linalg.solve_triangular(
                factor, matrix[rows, first:last].T, trans="T", check_finite=False
            ).T
    return True
