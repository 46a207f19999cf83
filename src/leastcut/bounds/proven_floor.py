"""A rigorous lower bound on ⟨B, Z⟩ over all Z with Zu = u, tr Z = c and 0 ⪯ Z ⪯ I.

Z = uuᵀ + Z' with Z'u = 0, so that ⟨B, Z⟩ = uᵀBu + ⟨B + uvᵀ + vuᵀ, Z'⟩ for every v. For any μ and Y
⪰ 0, if S = B + uvᵀ + vuᵀ − μI + Y ⪰ −εI, then

    ⟨B, Z⟩ ≥ uᵀBu + (c − 1) (μ − ε) − tr Y,

as tr Z' = c − 1 and Z' ⪯ I. If v decouples u from B, μ is the (c−1)-th smallest eigenvalue on u⊥
and Y raises the smaller ones to μ, this is uᵀBu plus the c − 1 smallest eigenvalues, which is the
minimum. The inequality holds for inexact eigenpairs as well: only S ⪰ −εI has to be proven. The
proof is a Cholesky factorization of S + εI that runs to completion (Rump 2006, *Verification of
positive definiteness*): then no eigenvalue is below −(n + 1) · eps · trace. The rounding errors of
computing S are included.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from leastcut.budget import Budget
from leastcut.spectral.eigensolvers.dense import eigenpairs

EPSILON = float(np.finfo(np.float64).eps)

SAFETY = 4.0  # assumed rounding errors per row of sums and products; 2 can occur
FURTHER_ROWS = 16  # extra rows, for rounding errors that do not grow with the matrix
BLOCK_ROWS = 512  # rows of a matrix that are updated at a time
ESTIMATED_ROWS = 3000  # rows from which on ε is estimated before the first factorization
ESTIMATE_STEPS = 60  # Lanczos steps of the estimate
ESTIMATE_MARGIN = 1.1  # ratio of the first ε tried to the estimate
WIDER = 4.0  # factor of ε after a failed factorization
MOST_FACTORIZATIONS = 12  # attempts before all eigenvalues are computed
FACTOR_COLUMNS, FACTOR_ROWS = 768, 2304  # block size of the factorization
ALL_EIGENVALUES = 8.0  # time of computing all eigenvalues, in factorizations

Apply = Callable[[np.ndarray], np.ndarray]  # the product of an operator and a block of columns


class Floor(NamedTuple):
    """The bound, and data for dual prices: v outside u, the mean of the eigenvalues, uᵀBu."""

    bound: float
    vector: np.ndarray
    mean: float
    value: float


def proven_floor(
    matrix: np.ndarray, unit: np.ndarray, n_clusters: int, size: float, budget: Budget
) -> Floor:
    """Return a rigorous lower bound on ⟨B, Z⟩, computed from LAPACK's eigenpairs.

    Only the lower triangle of ``matrix``, B, is used; ``unit`` is u, of length 1, and 2 ≤ c ≤ n.
    ``size`` is the sum of the absolute values of the terms of B, in addition to its entries. Raises
    TimeoutError if it would not end within the budget.
    """
    vector, _ = _cancelling_vector(matrix, unit)
    outer = np.outer(unit, vector)
    values, vectors = eigenpairs(matrix + outer + outer.T, 0, n_clusters - 2)
    return floor_of_pairs(matrix.copy(), unit, n_clusters, size, values, vectors, budget)


def floor_of_pairs(
    matrix: np.ndarray,
    unit: np.ndarray,
    n_clusters: int,
    size: float,
    values: np.ndarray,
    vectors: np.ndarray,
    budget: Budget,
) -> Floor:
    """Return a rigorous lower bound from c − 1 or more approximate smallest eigenpairs.

    Inaccurate ones lower the bound, to −inf if they are not finite. ``matrix`` is overwritten.
    Raises TimeoutError if it would not end within the budget.
    """
    n, count = unit.size, n_clusters - 1
    # 1. The approximately optimal v, μ and Y.
    vector, value = _cancelling_vector(matrix, unit)
    if not (np.isfinite(values).all() and np.isfinite(vectors).all()):
        return Floor(-np.inf, np.zeros(n), 0.0, value)
    lowest = float(values[count - 1])
    lift = np.maximum(lowest - values, 0.0)
    trace = float(lift @ np.einsum("ij,ij->j", vectors, vectors))
    terms = float(np.linalg.norm(matrix)) + 2.0 * float(np.linalg.norm(vector)) + 2.0 * trace
    terms += abs(lowest) * n + size
    # 2. S, in place in blocks of rows, and a bound on the rounding errors of S, uᵀBu and u.
    for start in range(0, n, BLOCK_ROWS):
        budget.require()
        rows = slice(start, start + BLOCK_ROWS)
        matrix[rows] += unit[rows, None] * vector
        matrix[rows] += vector[rows, None] * unit
        matrix[rows] += (vectors[rows] * lift) @ vectors.T
    matrix[np.diag_indices(n)] -= lowest
    diagonal = float(np.abs(np.diagonal(matrix)).sum())
    rounding = SAFETY * EPSILON * (n + FURTHER_ROWS) * (diagonal + terms)
    # 3. Approximately the smallest ε for which S + εI ⪰ 0 can be proven.
    below = _proven_negative_part(matrix, rounding, budget)
    bound = value + count * (lowest - below) - trace - n_clusters * rounding
    outside = vector - float(vector @ unit) * unit
    return Floor(bound, outside, float(values[:count].mean()), value)


def _cancelling_vector(matrix: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, float]:
    """Return v such that u is the top eigenvector of B + uvᵀ + vuᵀ, and uᵀBu."""
    product = matrix @ unit
    value = float(unit @ product)
    # The largest absolute row sum bounds the eigenvalues; in blocks, to save memory.
    blocks = range(0, unit.size, BLOCK_ROWS)
    sums = [np.abs(matrix[start : start + BLOCK_ROWS]).sum(axis=1).max() for start in blocks]
    top = 2.0 * float(max(sums)) + 1.0
    return (value * unit - product) + (0.5 * (top - value)) * unit, value


def _proven_negative_part(matrix: np.ndarray, smallest: float, budget: Budget) -> float:
    """Return an ε ≥ ``smallest`` such that matrix + εI ⪰ 0 up to the errors in ``smallest``."""
    n = matrix.shape[0]
    # ``smallest`` includes the rounding of a factorization that is proportional to the matrix.
    shifted = 1.0 + SAFETY * EPSILON * (n + FURTHER_ROWS) * n
    shift, diagonal = smallest, np.diag_indices(n)
    # A failed attempt costs as much as a proof, so large matrices start from an estimate.
    if n > ESTIMATED_ROWS:
        start = np.asarray(np.random.default_rng(0).standard_normal(n))

        def apply(block: np.ndarray) -> np.ndarray:
            budget.require()
            return np.asarray(matrix @ block)

        low = estimate_lowest(apply, start, ESTIMATE_STEPS, 0.0)
        shift = max(smallest, -ESTIMATE_MARGIN * low)
    for _ in range(MOST_FACTORIZATIONS):
        candidate = matrix.copy()
        candidate[diagonal] += shift
        began = time.monotonic()
        if is_factorized(candidate, budget):
            return float(shift * shifted)
        shift *= WIDER
    budget.require(ALL_EIGENVALUES * (time.monotonic() - began))
    # The errors of LAPACK's eigenvalues are a few roundings of the norm, included in ``smallest``.
    return smallest - min(float(scipy.linalg.eigvalsh(matrix, check_finite=False)[0]), 0.0)


def is_factorized(matrix: np.ndarray, budget: Budget) -> bool:
    """Replace the lower triangle by its Cholesky factor, and return whether it exists.

    Works in blocks, with checks of the clock; raises TimeoutError if time is up.
    """
    n = matrix.shape[0]
    for first in range(0, n, FACTOR_COLUMNS):
        last = min(first + FACTOR_COLUMNS, n)
        left_factor = matrix[first:last, :first]
        # 1. Subtract the contribution of the previous columns.
        for start in range(first, n, FACTOR_ROWS):
            budget.require()
            rows = slice(start, start + FACTOR_ROWS)
            matrix[rows, first:last] -= matrix[rows, :first] @ left_factor.T
        # 2. Factorize the diagonal block, transposed to the memory order of LAPACK.
        factor, failed = scipy.linalg.lapack.dpotrf(
            matrix[first:last, first:last].T, lower=0, clean=0
        )
        if failed != 0:
            return False
        matrix[first:last, first:last] = factor.T
        # 3. Solve for the rows below it.
        for start in range(last, n, FACTOR_ROWS):
            budget.require()
            rows = slice(start, start + FACTOR_ROWS)
            matrix[rows, first:last] = scipy.linalg.solve_triangular(
                factor, matrix[rows, first:last].T, trans="T", check_finite=False
            ).T
    return True


def estimate_lowest(
    apply: Apply, start: np.ndarray, n_steps: int = 12, margin: float = 1.0
) -> float:
    """Return an estimate of the smallest eigenvalue from a few Lanczos steps.

    The Ritz value is an upper bound; it is lowered by ``margin`` times the bound of its residual.
    """
    vector, previous, coupling = start / np.linalg.norm(start), np.zeros_like(start), 0.0
    diagonal: list[float] = []
    couplings: list[float] = []
    for _ in range(n_steps):
        product = apply(vector[:, None])[:, 0] - coupling * previous
        diagonal.append(float(vector @ product))
        product -= diagonal[-1] * vector
        coupling = float(np.linalg.norm(product))
        couplings.append(coupling)
        if coupling < 1e-12:
            break
        previous, vector = vector, product / coupling
    lowest = scipy.linalg.eigvalsh_tridiagonal(np.array(diagonal), np.array(couplings[:-1]))[0]
    # The last coupling bounds the residual of the Ritz value.
    return float(lowest) - margin * couplings[-1]
