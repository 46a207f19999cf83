"""What a precomputed matrix may be: affinities, checked and made symmetric; or distances.

The mistake to catch is a distance matrix passed as affinities, which would join the farthest
samples. It has a zero diagonal, as a graph without self-loops has, too. But of the two samples that
a row has its smallest and its largest entry for, the one that sees the others as the row does is
the first among distances and the second among affinities. And distances obey the triangle
inequality: no sample is close to both ends of a large one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.graph import SYMMETRY_TOLERANCE

ROWS_TRIED = 64
"""Rows whose largest entry is examined."""

FEWEST = 10
"""Nodes below which there is too little evidence."""

AGREEING = 0.9
"""The part of those rows that must look like distances."""


def check_affinities(X: Any) -> Any:
    """Return a square matrix of affinities made symmetric, in the form it has.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n)

    Returns
    -------
    ndarray or csr_array
        X itself, or CSR arrays that share its memory, where it is symmetric and (if sparse) has
        sorted indices; if it is not symmetric, (X + Xᵀ) / 2, with a warning.
    """
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"affinity='precomputed' needs a square matrix of affinities between samples, but X "
            f"has shape {X.shape}. For samples with features use affinity='adaptive_neighbors'."
        )
    X = _canonical(X) if sp.issparse(X) else X
    smallest = float((X.data if sp.issparse(X) else X).min(initial=0.0))
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to SpectralClustering as affinities, down to "
            f"{smallest:.6g}. A cut needs non-negative affinities; clip or shift them."
        )
    if _looks_like_distances(X):
        raise ValueError(
            "X looks like distances, not affinities: its diagonal is 0, and samples with a large "
            "entry between them are the ones far apart from the others' view. Turn distances "
            "into affinities, np.exp(-D**2 / (2 * scale**2)); or pass the samples themselves, or "
            "affinity='precomputed_nearest_neighbors', which takes distances."
        )
    transpose = X.T.tocsr() if sp.issparse(X) else X.T
    if _asymmetry(X, transpose) == 0:
        return X
    warnings.warn(
        "The precomputed affinities are not symmetric; they are averaged with their transpose.",
        UserWarning,
        stacklevel=5,
    )
    half = (X + transpose) * X.dtype.type(0.5)
    return sp.csr_array(half) if sp.issparse(X) else half


def neighbors_of_distances(X: Any, n_neighbors: int) -> sp.csr_array:
    """Return 1 for the ``n_neighbors`` smallest distances of every row, the other entries 0.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n)
        Distances. Of a sparse matrix the stored entries count, zeros too; others are unknown.
    n_neighbors : int

    Returns
    -------
    csr_array of shape (n_rows, n)
        Of equal distances those of lower index are taken.
    """
    if not sp.issparse(X):
        nearest = np.argsort(X, axis=1, kind="stable")[:, :n_neighbors].reshape(-1)
    else:
        stored = np.diff(X.indptr)
        if stored.min() < n_neighbors:
            raise ValueError(
                f"{n_neighbors} neighbors are required for some samples, but row "
                f"{int(np.argmin(stored))} of X stores only {stored.min()} distances; store more "
                "or lower n_neighbors."
            )
        row = np.repeat(np.arange(X.shape[0]), stored)
        order = np.lexsort((X.indices, X.data, row))
        rank = np.arange(order.size) - np.repeat(X.indptr[:-1], stored)
        nearest = X.indices[order[rank < n_neighbors]]
    indptr = np.arange(0, nearest.size + 1, n_neighbors)
    return sp.csr_array((np.ones(nearest.size), nearest, indptr), shape=X.shape)


def _canonical(X: Any) -> sp.csr_array:
    """Return CSR arrays with sorted indices and no duplicates, copied only where X has not."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _asymmetry(X: Any, transpose: Any) -> float:
    """Return the largest |X − Xᵀ| beyond rounding, relative to the largest entry; 0 if none is."""
    if X.shape[0] == 0 or (sp.issparse(X) and X.nnz == 0):
        return 0.0
    if sp.issparse(X) and (
        np.array_equal(X.indptr, transpose.indptr)
        and np.array_equal(X.indices, transpose.indices)
        and np.array_equal(X.data, transpose.data)
    ):
        return 0.0
    difference = abs(X - transpose)
    # SciPy's own maximum sorts indices in place, which fails on the caller's read-only arrays.
    largest = float((X.data if sp.issparse(X) else X).max())
    difference = float((difference.data if sp.issparse(X) else difference).max(initial=0.0))
    tolerance = SYMMETRY_TOLERANCE.get(X.dtype, 0.0)
    return 0.0 if difference <= tolerance * largest else difference / largest


def _looks_like_distances(X: Any) -> bool:
    n = X.shape[0]
    if n < FEWEST or np.any(X.diagonal() != 0):
        return False
    if sp.issparse(X) and X.nnz < n * (n - 1):
        return False
    rows = np.unique(np.linspace(0, n - 1, ROWS_TRIED).astype(np.int64))
    tried = _dense_rows(X, rows)
    scale = float(tried.max())
    if not 0 < scale < np.inf:
        return False
    tried /= scale
    others = tried.copy()
    others[np.arange(rows.size), rows] = np.inf
    near, far = np.argmin(others, axis=1), np.argmax(tried, axis=1)
    from_near, from_far = _dense_rows(X, near) / scale, _dense_rows(X, far) / scale
    nearer = _unlikeness(tried, from_near, rows, near) < _unlikeness(tried, from_far, rows, far)
    if np.mean(nearer) < AGREEING:
        return False
    # The square roots of squared distances obey it, and those of distances do all the more.
    around = np.sqrt(tried) + np.sqrt(from_far) - np.sqrt(tried.max(axis=1, keepdims=True))
    return bool(np.mean(around.min(axis=1) >= -1e-4) >= AGREEING)


def _unlikeness(
    tried: np.ndarray, others: np.ndarray, rows: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """Return how differently the nodes ``rows`` and ``other`` are tied to all the rest."""
    difference = tried - others
    position = np.arange(rows.size)
    difference[position, rows] = difference[position, other] = 0.0
    return np.asarray(np.square(difference).sum(axis=1))


def _dense_rows(X: Any, rows: np.ndarray) -> np.ndarray:
    picked = X[rows]
    return np.asarray(picked.toarray() if sp.issparse(X) else picked, dtype=np.float64)
