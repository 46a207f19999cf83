"""Dense eigensolver (LAPACK), for small graphs and as the reference for the other solvers."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from leastcut.spectral.eigensolvers.interface import MAX_ITER, OUT_OF_TIME, TOLERANCE, Eigenpairs

LIFT = 2.0  # added to the known eigenvalue 0, to move it above the spectrum, which is in [0, 1]
SECONDS_PER_CUBE = 1e-10  # for the reduction to tridiagonal form, per n³, on one core of 2024
SECONDS_PER_PAIR = 4e-10  # for each eigenpair, per n²
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
    """Compute eigenpairs by LAPACK, exact to rounding, in O(n³) time and O(n²) memory."""
    n = null.size
    seconds = n**2 * (SECONDS_PER_CUBE * n + SECONDS_PER_PAIR * count)
    if time.monotonic() + seconds > deadline:
        raise TimeoutError(OUT_OF_TIME)
    full = matrix.toarray()
    # A + LIFT · null nullᵀ has the same eigenvectors; only the eigenvalue of the null vector moves,
    # from 0 to above all others.
    full += LIFT * np.outer(null, null)
    values, vectors = eigenpairs(full, 0, count - 1)
    return Eigenpairs(values, vectors, float(values[-1]), True, "dense")


def eigenpairs(matrix: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues with ranks ``first`` to ``last``, ascending, and their eigenvectors.

    LAPACK's fastest driver may lose orthogonality if entries differ by many orders of magnitude,
    and may fail or return too few pairs if eigenvalues have a high multiplicity. The
    divide-and-conquer driver then computes all pairs.
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
