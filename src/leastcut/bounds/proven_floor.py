"""A proven lower bound of ⟨B, Z⟩ over all Z with Zu = u, tr Z = c and 0 ⪯ Z ⪯ I.

Z = uuᵀ + Z' with Z'u = 0, so that ⟨B, Z⟩ = uᵀBu + ⟨B + uvᵀ + vuᵀ, Z'⟩ for every v. Take any μ and
any Y ⪰ 0. If S = B + uvᵀ + vuᵀ − μI + Y ⪰ −εI then

    ⟨B, Z⟩ ≥ uᵀBu + (c − 1) (μ − ε) − tr Y,

as tr Z' = c − 1 and Z' ⪯ I. With v that takes u out of B, μ the (c−1)-th smallest eigenvalue on u⊥
and Y what lifts the smaller ones to μ, this is uᵀBu plus the c − 1 smallest eigenvalues: the best
there is. But it holds whatever eigenvalues and vectors were found: only S ⪰ −εI needs a proof, and
that is a Cholesky factorization of S + εI which ends (Rump 2006, *Verification of positive
definiteness*): then no eigenvalue is below −(n + 1) · eps · trace. What rounding adds by forming S
is counted with it.
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

SAFETY = 4.0  # rounding errors per row that sums and products are trusted to stay within; 2 occur
FURTHER_ROWS = 16  # rows that stand for the rounding which does not grow with the matrix
BLOCK_ROWS = 512  # rows of a matrix that are changed at a time
ESTIMATED_ROWS = 3000  # rows from which on ε is estimated before it is tried
ESTIMATE_STEPS = 60  # Lanczos steps of this estimate
ESTIMATE_MARGIN = 1.1  # ratio of the first ε tried to the estimate
WIDER = 4.0  # by what ε grows after a failed factorization
MOST_FACTORIZATIONS = 12  # before all eigenvalues are computed
FACTOR_COLUMNS, FACTOR_ROWS = 768, 2304  # factorized at a time, between two looks at the clock
ALL_EIGENVALUES = 8.0  # what all eigenvalues cost, in factorizations

Apply = Callable[[np.ndarray], np.ndarray]  # the product of an operator and a block of columns


class Floor(NamedTuple):
    """The bound, and what dual prices are made of: v outside u, the eigenvalues' mean, uᵀBu."""

    bound: float
    vector: np.ndarray
    mean: float
    value: float


def proven_floor(
    matrix: np.ndarray, unit: np.ndarray, n_clusters: int, size: float, budget: Budget
) -> Floor:
    """Return a lower bound of ⟨B, Z⟩ that is proven, rounding counted, from LAPACK's eigenpairs.

    Of ``matrix``, B, the lower triangle counts; ``unit`` is u, of length 1, and 2 ≤ c ≤ n. ``size``
    is the sum of the absolute values of the terms that B was added up from, beyond what stands in
    it. Raises TimeoutError if it does not end within the budget.
    """
    vector, _ = _cancelling(matrix, unit)
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
    """Return a proven lower bound from c − 1 or more of what may be the smallest eigenpairs.

    They may be wrong: the bound is then lower, and −inf if they are not finite. ``matrix`` is
    overwritten. Raises TimeoutError if it does not end within the budget.
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
        budget.require()
        rows = slice(start, start + BLOCK_ROWS)
        matrix[rows] += unit[rows, None] * vector
        matrix[rows] += vector[rows, None] * unit
        matrix[rows] += (vectors[rows] * lift) @ vectors.T
    matrix[np.diag_indices(n)] -= lowest
    diagonal = float(np.abs(np.diagonal(matrix)).sum())
    unknown = SAFETY * EPSILON * (n + FURTHER_ROWS) * (diagonal + terms)
    # 3. The smallest ε, roughly, for which S + εI ⪰ 0 is proven.
    below = _proven_negative_part(matrix, unknown, budget)
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


def _proven_negative_part(matrix: np.ndarray, smallest: float, budget: Budget) -> float:
    """Return an ε ≥ ``smallest`` such that matrix + εI ⪰ 0, less what ``smallest`` counts."""
    n = matrix.shape[0]
    # Of the rounding of a factorization, ``smallest`` counts what goes with the matrix itself.
    shifted = 1.0 + SAFETY * EPSILON * (n + FURTHER_ROWS) * n
    shift, diagonal = smallest, np.diag_indices(n)
    # A failure costs as much as a proof: on large matrices, an estimate comes first.
    if n > ESTIMATED_ROWS:
        start = np.asarray(np.random.default_rng(0).standard_normal(n))

        def apply(block: np.ndarray) -> np.ndarray:
            budget.require()
            return np.asarray(matrix @ block)

        low = lowest_estimate(apply, start, ESTIMATE_STEPS, 0.0)
        shift = max(smallest, -ESTIMATE_MARGIN * low)
    for _ in range(MOST_FACTORIZATIONS):
        candidate = matrix.copy()
        candidate[diagonal] += shift
        began = time.monotonic()
        if is_factorized(candidate, budget):
            return float(shift * shifted)
        shift *= WIDER
    budget.require(ALL_EIGENVALUES * (time.monotonic() - began))
    # LAPACK's eigenvalues are right to some roundings of the norm, which ``smallest`` counts.
    return smallest - min(float(scipy.linalg.eigvalsh(matrix, check_finite=False)[0]), 0.0)


def is_factorized(matrix: np.ndarray, budget: Budget) -> bool:
    """Overwrite the lower triangle by its Cholesky factor, and return whether there is one.

    It works in blocks, with looks at the clock, and may raise TimeoutError.
    """
    n = matrix.shape[0]
    for first in range(0, n, FACTOR_COLUMNS):
        last = min(first + FACTOR_COLUMNS, n)
        done = matrix[first:last, :first]
        # 1. What the columns before take from these.
        for start in range(first, n, FACTOR_ROWS):
            budget.require()
            rows = slice(start, start + FACTOR_ROWS)
            matrix[rows, first:last] -= matrix[rows, :first] @ done.T
        # 2. The block on the diagonal. Its transpose is in LAPACK's order of memory.
        factor, failed = scipy.linalg.lapack.dpotrf(
            matrix[first:last, first:last].T, lower=0, clean=0
        )
        if failed != 0:
            return False
        matrix[first:last, first:last] = factor.T
        # 3. The rows below it.
        for start in range(last, n, FACTOR_ROWS):
            budget.require()
            rows = slice(start, start + FACTOR_ROWS)
            matrix[rows, first:last] = scipy.linalg.solve_triangular(
                factor, matrix[rows, first:last].T, trans="T", check_finite=False
            ).T
    return True


def lowest_estimate(
    apply: Apply, start: np.ndarray, n_steps: int = 12, margin: float = 1.0
) -> float:
    """Return an estimate of the smallest eigenvalue, by a few steps of Lanczos.

    The Ritz value is above it, and is lowered by ``margin`` times the bound of its residual.
    """
    vector, before, coupling = start / np.linalg.norm(start), np.zeros_like(start), 0.0
    diagonal: list[float] = []
    couplings: list[float] = []
    for _ in range(n_steps):
        product = apply(vector[:, None])[:, 0] - coupling * before
        diagonal.append(float(vector @ product))
        product -= diagonal[-1] * vector
        coupling = float(np.linalg.norm(product))
        couplings.append(coupling)
        if coupling < 1e-12:
            break
        before, vector = vector, product / coupling
    low = scipy.linalg.eigvalsh_tridiagonal(np.array(diagonal), np.array(couplings[:-1]))[0]
    # The residual of a Ritz value is at most the last coupling.
    return float(low) - margin * couplings[-1]
