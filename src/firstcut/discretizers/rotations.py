"""Orthogonal matrices: the best one for given labels, and where to start from."""

from __future__ import annotations

import numpy as np


def procrustes(matrix: np.ndarray) -> np.ndarray:
    """Return the orthogonal R that maximises tr(Rᵀ matrix): U Vᵀ of its SVD (the paper's Eq. R)."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ right)


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the rows scaled to length 1; rows of zeros stay."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    units: np.ndarray = np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)
    return units


def spread_rotation(rows: np.ndarray, first: int) -> np.ndarray:
    """Return an orthogonal start for unit rows: c of them, as far from parallel as can be had.

    From row ``first`` on, each next row is the one with the smallest sum of |cosines| to those
    taken (Yu & Shi, step 3); the nearest orthogonal matrix to them is returned.
    """
    c = rows.shape[1]
    columns = np.empty((c, c))
    columns[:, 0] = rows[first]
    cosines = np.zeros(rows.shape[0])
    for k in range(1, c):
        cosines += np.abs(rows @ columns[:, k - 1])
        columns[:, k] = rows[int(np.argmin(cosines))]
    return procrustes(columns)
