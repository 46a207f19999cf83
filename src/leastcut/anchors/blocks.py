"""Blocks of points, each tied to its nearest anchors: what an anchor graph is made of.

Weights are whole multiples of 2⁻²² that add up to exactly 1 in every row. Sums of them are exact in
double precision for up to 2³¹ points, whatever the order they are added in: tables of clusters and
anchors, and so all labels, do not depend on who adds up what first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

UNIT = 2.0**-22
"""What weights are multiples of: single precision holds them, and sums of 2³¹ rows are exact."""

MOST_POINTS = 2**31
"""Points whose weights add up without rounding."""


class Block(NamedTuple):
    """Some consecutive points, each with its nearest anchors.

    Attributes
    ----------
    anchors : int32 ndarray of shape (n_points, n_neighbors)
        The anchors of every point, nearest first.
    weights : float32 ndarray of shape (n_points, n_neighbors)
        The weights of its ties: multiples of 2⁻²², not negative, 1 in every row.
    """

    anchors: np.ndarray
    weights: np.ndarray

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.anchors.shape[0])

    def to_sparse(self, n_anchors: int) -> sp.csr_array:
        """Return the rows of Z in double precision, of shape (n_points, n_anchors)."""
        n, count = self.anchors.shape
        indptr = np.arange(0, n * count + 1, count)
        entries = self.weights.reshape(-1).astype(np.float64), self.anchors.reshape(-1), indptr
        return sp.csr_array(entries, shape=(n, n_anchors))
