"""Some eigenpairs of a dense symmetric matrix, whatever the span of its entries."""

from __future__ import annotations

import contextlib

import numpy as np
import scipy.linalg


def eigenpairs(matrix: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues from number ``first`` to ``last``, ascending, and their vectors."""
    values, vectors = np.zeros(0), np.zeros((matrix.shape[0], 0))
    with contextlib.suppress(np.linalg.LinAlgError):
        values, vectors = scipy.linalg.eigh(
            matrix, subset_by_index=(first, last), check_finite=False
        )
    # LAPACK's fastest method gives up on some matrices, or finds none; its oldest does not.
    if values.size != last - first + 1:
        values, vectors = scipy.linalg.eigh(matrix, driver="ev", check_finite=False)
        values, vectors = values[first : last + 1], vectors[:, first : last + 1]
    return values, vectors
