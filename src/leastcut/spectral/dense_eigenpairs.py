"""Some eigenpairs of a dense symmetric matrix, whatever the span of its entries."""

from __future__ import annotations

import contextlib

import numpy as np
import scipy.linalg

# Largest product of two different unit vectors, per row.
ORTHOGONAL = 4.0 * float(np.finfo(np.float64).eps)


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
