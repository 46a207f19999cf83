"""Rows scaled to length 1: where k-means (KM-norm) and spectral rotation look for clusters."""

from __future__ import annotations

import numpy as np


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the rows scaled to length 1; rows of zeros stay."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    # Where the length is 0 the zeros of ``out`` stand; a division would give NaN.
    units: np.ndarray = np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)
    return units
