"""Does a matrix of samples look like a graph?

The mistake to catch is an adjacency matrix, or distances, passed where samples are expected: its
rows would be taken for coordinates. It is square and symmetric to the last bit, which samples
hardly ever are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.validation import canonical_csr, is_on_gpu, warn_caller

FEWEST = 3
"""Samples from which on symmetry is no accident: any 1 by 1 matrix has it."""

BLOCK = 2**20
"""Entries that are compared at once."""


def warn_of_graph(X: Any) -> None:
    """Warn if samples are a square matrix that is symmetric: they may be meant as a graph."""
    if X.shape[0] >= FEWEST and is_symmetric(X):
        n = X.shape[0]
        warn_caller(
            f"X is a symmetric matrix of shape ({n}, {n}), and it was taken for {n} samples with "
            f"{n} features. If it is a graph, pass affinity='precomputed'; if it holds distances, "
            "affinity='precomputed_nearest_neighbors'. If these are samples, ignore this warning "
            "or filter it."
        )


def is_symmetric(X: Any) -> bool:
    """Whether a square matrix equals its transpose to the last bit."""
    if sp.issparse(X):
        own = canonical_csr(X)
        return bool((own != own.T.tocsr()).nnz == 0)
    if is_on_gpu(X):
        return bool((X == X.T).all())
    X = np.asarray(X)
    n = X.shape[0]
    step = max(1, BLOCK // n)
    # Block by block: most matrices differ in the first, and no copy is made of any.
    return all(
        np.array_equal(X[start : start + step], X[:, start : start + step].T)
        for start in range(0, n, step)
    )
