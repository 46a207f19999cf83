"""Lanczos on the inverse, by a sparse factorization: for thin graphs, whose factor stays sparse."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from leastcut.spectral.eigensolvers.dense import dense
from leastcut.spectral.eigensolvers.interface import MAX_ITER, TOLERANCE, Eigenpairs
from leastcut.spectral.eigensolvers.krylov import Budget
from leastcut.spectral.eigensolvers.lanczos import Found, iterate, smallest_size

# Added to the diagonal before factorizing: small beside any eigenvalue, enough for a pivot.
SHIFT = 1e-9
# Eigenvalues below this, the norm of A being 1, are small beside what residuals leave open.
TINY = 1e-6


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
    """Lanczos on (A + shift)⁻¹: few products, each two triangular solves with the factor.

    The inverse turns the smallest eigenvalues into the largest and drives them apart, so that a
    space of little more than twice ``count`` vectors is enough.
    """
    dimension = max(20, 2 * count + 2)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, tol=tol, max_iter=max_iter, deadline=deadline)
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

    budget = Budget(max_iter, deadline)
    return iterate(
        "shift_invert", factor.solve, beyond, matrix, null, count, dimension, rng, tol, budget,
        smooth_below=TINY,
    )  # fmt: skip
