"""LAPACK on the matrix in full: what small blocks are solved by, and what the others must match."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from firstcut.relaxation.solvers.interface import MAX_ITER, TOLERANCE, Eigenpairs

LIFT = 2.0
"""Added to the known eigenvalue 0: any number above 1 takes it out of the way of the others."""


def dense(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
) -> Eigenpairs:
    """LAPACK on the matrix in full: exact to rounding, in O(n³) time and O(n²) memory."""
    full = matrix.toarray()
    # A + LIFT · null nullᵀ has the same eigenvectors; only the null vector's value has moved, from
    # 0 to beyond all others, so that the smallest are those wanted.
    full += LIFT * np.outer(null, null)
    values, vectors = scipy.linalg.eigh(
        full, subset_by_index=(0, count - 1), overwrite_a=True, check_finite=False
    )
    return Eigenpairs(values, vectors, True, "dense")
