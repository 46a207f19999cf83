"""Lanczos on the inverse: by a sparse factorization, or by conjugate gradients.

The inverse turns the smallest eigenvalues into the largest and drives them apart, so that a search
space of little more than twice as many vectors as are wanted is enough. A factorization is for thin
graphs, whose factor stays sparse, and conjugate gradients for diagonals of very uneven size.
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
from leastcut.spectral.eigensolvers.lanczos import Found, iterate, smallest_size

SHIFT = 1e-9  # added to the diagonal before factorizing: small, but enough for a pivot
TINY = 1e-6  # eigenvalues below this are small beside what residuals leave open: the norm of A is 1
# Of a step of conjugate gradients, in steps of Lanczos, which orthogonalize as well.
CG_PRICE = 0.25
EPSILON = float(np.finfo(np.float64).eps)
LONGEST = 1e12  # largest entry of a solution beyond which rounding makes up much of it
FEWEST_STEPS = 10  # steps of a solve even if all is spent, for vectors worth returning


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
    """Lanczos on (A + shift)⁻¹: few products, each two triangular solves with the factor."""
    dimension = max(20, 2 * count + 2)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    # A by itself is singular. The shift leaves eigenvectors as they are, and values are taken from
    # A, so that it need not be undone.
    shifted = sp.csc_array(matrix + SHIFT * sp.eye_array(null.size, format="csr"))
    factor = splu(
        shifted,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,  # positive definite: no pivoting, so the ordering stands
        options={"SymmetricMode": True},
    )

    # How the spectrum of A shows in that of the inverse; the factor's rounding is that of A.
    def beyond(found: Found) -> float:
        return 1.0 / found.top - SHIFT

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
    """Lanczos on A⁻¹, each product solved for, with the diagonal as the preconditioner.

    Where a few nodes have a diagonal far above the others (hubs under the ratio cut, node weights
    of very different size), they stretch the spectrum, and Lanczos on the matrix itself crawls.
    """
    dimension = max(20, 2 * count + 2)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    # At most ½, as the block is scaled; an entry that vanishes beside that must not divide.
    inverse_diagonal = 1.0 / np.maximum(matrix.diagonal(), EPSILON)
    system = _unchecked(null.size, matrix.__matmul__)
    preconditioner = _unchecked(null.size, inverse_diagonal.__mul__)
    plan = Plan(dimension, tol, rng, max_iter, deadline)

    # Lanczos counts its own step as one product; the steps within a solve are paid here.
    def pay(_: np.ndarray) -> None:
        plan.spent += CG_PRICE
        if time.monotonic() > deadline:
            raise TimeoutError(OUT_OF_TIME)

    def apply(right_side: np.ndarray) -> np.ndarray:
        # A is singular, but the right side has no part in its null space, so there is a solution.
        most = max(FEWEST_STEPS, ceil((plan.limit - plan.spent) / CG_PRICE))
        with np.errstate(divide="ignore", invalid="ignore"):
            solution, _ = cg(
                system, right_side, rtol=tol, maxiter=most, M=preconditioner, callback=pay
            )
        # Where A takes another direction to 0, up to rounding, there is no inverse to speak of, and
        # the search ends without an answer. (The right side has length 1.)
        largest = float(np.abs(solution).max())
        if not largest <= LONGEST:
            plan.spent = plan.limit
            return right_side.copy()
        # What rounding leaves of a residual grows with the solution.
        plan.noise = max(plan.noise, tol, EPSILON * float(np.linalg.norm(solution)))
        # Rounding adds a part along the null vector, which Lanczos must not see grow.
        return np.asarray(solution - null * (null @ solution))

    # A solve leaves a residual of up to the tolerance, which A⁻¹ makes larger by ``top`` at most
    # outside of what was found.
    def beyond(found: Found) -> float:
        return 1.0 / (found.top * (1.0 + 2.0 * tol))

    return iterate("cg_invert", apply, beyond, matrix, null, count, plan)


def _unchecked(n: int, product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
    """Return an operator that ``cg`` calls as it is.

    SciPy's own checks every vector first, which was 5 to 8% of the time at 800 to 2000 nodes.
    """
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    # On the instance it hides the method of the class, which checks before it multiplies.
    operator.matvec = product
    return operator
