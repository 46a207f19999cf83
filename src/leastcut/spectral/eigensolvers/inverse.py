"""Lanczos with the inverse, by a sparse factorization or by conjugate gradients.

The inverse maps the smallest eigenvalues to the largest and separates them, so that a search space
of about twice the number of eigenpairs is enough. A factorization suits graphs with small
separators, whose factor is sparse; conjugate gradients suit diagonals with very uneven entries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg, splu

from leastcut.spectral.eigensolvers.dense import dense
from leastcut.spectral.eigensolvers.interface import MAX_ITER, OUT_OF_TIME, TOLERANCE, Eigenpairs
from leastcut.spectral.eigensolvers.krylov import Plan
from leastcut.spectral.eigensolvers.lanczos import RitzPairs, iterate, smallest_size

SHIFT = 1e-9  # added to the diagonal before factorizing: small, but enough for a pivot
TINY = 1e-6  # eigenvalues below this are small compared with the effect of residuals; ‖A‖ ≤ 1
CG_COST = 0.25  # of a step of conjugate gradients, in Lanczos steps, which orthogonalize as well
EPSILON = float(np.finfo(np.float64).eps)
LONGEST = 1e12  # largest entry of a solution, above which rounding errors dominate
FEWEST_STEPS = 10  # steps of a solve after the limit, for useful approximate vectors


def shift_invert(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
    deadline: float = np.inf,
) -> Eigenpairs:
    """Run Lanczos with (A + shift)⁻¹, by a sparse LU factorization."""
    dimension = max(20, 2 * count + 2)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    # A is singular. The shift does not change eigenvectors, and eigenvalues are computed from A.
    shifted = sp.csc_array(matrix + SHIFT * sp.eye_array(null.size, format="csr"))
    factor = splu(
        shifted,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,  # positive definite: no pivoting, which would change the ordering
        options={"SymmetricMode": True},
    )

    def beyond(pairs: RitzPairs) -> float:
        return 1.0 / pairs.top - SHIFT

    plan = Plan(dimension, tol, rng, max_iter, deadline)
    return iterate("shift_invert", factor.solve, beyond, matrix, null, count, plan, TINY)


def cg_invert(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
    deadline: float = np.inf,
) -> Eigenpairs:
    """Run Lanczos with A⁻¹, by conjugate gradients with the diagonal as preconditioner.

    A few nodes with a very large diagonal (hubs under the ratio cut, very uneven node weights)
    dominate the spectrum, and Lanczos with A converges slowly.
    """
    dimension = max(20, 2 * count + 2)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    # The largest entry is ½; the smallest are bounded to avoid overflow.
    inverse_diagonal = 1.0 / np.maximum(matrix.diagonal(), EPSILON)
    system = _unchecked(null.size, matrix.__matmul__)
    preconditioner = _unchecked(null.size, inverse_diagonal.__mul__)
    plan = Plan(dimension, tol, rng, max_iter, deadline)

    # Lanczos counts its own products; the steps of a solve are counted here.
    def count_step(_: np.ndarray) -> None:
        plan.spent += CG_COST
        if time.monotonic() > deadline:
            raise TimeoutError(OUT_OF_TIME)

    def apply(right_side: np.ndarray) -> np.ndarray:
        # A is singular, but the right-hand side is orthogonal to its null space.
        most = max(FEWEST_STEPS, ceil((plan.limit - plan.spent) / CG_COST))
        with np.errstate(divide="ignore", invalid="ignore"):
            solution, _ = cg(
                system, right_side, rtol=tol, maxiter=most, M=preconditioner, callback=count_step
            )
        # If A is numerically singular in another direction as well, end without convergence. The
        # right-hand side has unit length.
        largest = float(np.abs(solution).max())
        if not largest <= LONGEST:
            plan.spent = plan.limit
            return right_side.copy()
        # The residual left by rounding is proportional to the solution.
        plan.noise = max(plan.noise, tol, EPSILON * float(np.linalg.norm(solution)))
        # Remove the component along the null vector, which comes from rounding.
        return np.asarray(solution - null * (null @ solution))

    # The residual of a solve is at most the tolerance, and A⁻¹ amplifies it by at most ``top``.
    def beyond(pairs: RitzPairs) -> float:
        return 1.0 / (pairs.top * (1.0 + 2.0 * tol))

    return iterate("cg_invert", apply, beyond, matrix, null, count, plan)


def _unchecked(n: int, product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
    """Return an operator without SciPy's check of every vector.

    On small graphs the checks take a noticeable part of the time.
    """
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    operator.matvec = product  # shadows the method of the class, which checks its argument
    return operator
