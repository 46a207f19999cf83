"""LAPACK on the matrix in full: what small blocks are solved by, and what the others must match."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from leastcut.spectral.eigensolvers.interface import MAX_ITER, OUT_OF_TIME, TOLERANCE, Eigenpairs

LIFT = 2.0  # added to the known eigenvalue 0: any number above 1 takes it out of the way
# To reduce the matrix to tridiagonal form, for every n³, on one core of 2024.
SECONDS_PER_CUBE = 1e-10
SECONDS_PER_PAIR = 4e-10  # what a wanted eigenpair adds to that for every n²
ORTHOGONAL = 4.0 * float(np.finfo(np.float64).eps)  # largest product of two vectors, per row


def dense(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
    deadline: float = np.inf,
) -> Eigenpairs:
    """LAPACK on the matrix in full: exact to rounding, in O(n³) time and O(n²) memory."""
    n = null.size
    seconds = n**2 * (SECONDS_PER_CUBE * n + SECONDS_PER_PAIR * count)
    if time.monotonic() + seconds > deadline:
        raise TimeoutError(OUT_OF_TIME)
    full = matrix.toarray()
    # A + LIFT · null nullᵀ has the same eigenvectors; only the null vector's value has moved, from
    # 0 to beyond all others, so that the smallest are those wanted.
    full += LIFT * np.outer(null, null)
    values, vectors = eigenpairs(full, 0, count - 1)
    # All eigenvalues were there to choose from, and the others are no smaller than the last.
    return Eigenpairs(values, vectors, float(values[-1]), True, "dense")


def eigenpairs(matrix: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues from number ``first`` to ``last``, ascending, and their vectors.

    LAPACK's fastest driver may lose orthogonality where entries differ by very much, and fail or
    return too few pairs where eigenvalues repeat by the dozen. Then the divide-and-conquer driver
    computes all pairs.
    """
    with contextlib.suppress(scipy.linalg.LinAlgError):
        values, vectors = scipy.linalg.eigh(
            matrix, subset_by_index=(first, last), check_finite=False
        )
        products = vectors.T @ vectors
        if values.size == last - first + 1 and (
            np.abs(products - np.eye(values.size)).max() <= ORTHOGONAL * matrix.shape[0]
        ):
            return values, vectors
    values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
    return values[first : last + 1], vectors[:, first : last + 1]
