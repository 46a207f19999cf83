"""Affinities that are given: checked, and averaged with their transpose if not symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity, Rows
from leastcut.distance_check import looks_like_distances
from leastcut.graph import Graph
from leastcut.validation import (
    SYMMETRY_TOLERANCE,
    canonical_csr,
    check_matrix,
    check_real,
    check_weights,
    warn_caller,
)


def precomputed_graph(X: Any) -> Any:
    """Return a square matrix of affinities made symmetric, in the form it has.

    It warns where the matrix is not symmetric, and where it looks like distances.

    Parameters
    ----------
    X : Graph, array-like or sparse matrix of shape (n, n)
        Finite affinities, none negative.

    Returns
    -------
    ndarray or csr_array
        X itself, or CSR arrays that share its memory, where it is symmetric and (if sparse) has
        sorted indices; if it is not symmetric, (X + Xᵀ) / 2.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut.affinity.precomputed import precomputed_graph
    >>> S = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> precomputed_graph(S) is S
    True
    """
    if isinstance(X, Graph):
        return X.matrix  # checked already
    check_matrix("X", X)
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"affinity='precomputed' needs a square matrix of affinities between samples, but X "
            f"has shape {X.shape}. For samples with features use affinity='adaptive_neighbors'."
        )
    check_real(X)
    # Single precision stays as it is: it is held to a tolerance of its own.
    if X.dtype not in SYMMETRY_TOLERANCE:
        X = X.astype(np.float64)
    X = canonical_csr(X) if sp.issparse(X) else X
    if not np.isfinite(_entries(X)).all():
        check_weights(sp.csr_array(X))  # which names the first that is not
    smallest = float(_entries(X).min(initial=0.0))
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed as affinities, down to {smallest:.6g}. A cut needs "
            "non-negative affinities; clip or shift them."
        )
    X = _symmetric(X)
    if looks_like_distances(X):
        warn_caller(
            "X looks like distances, not affinities: its diagonal is 0, and samples with a small "
            "entry between them see the others alike. A cut would join the farthest. Turn "
            "distances into affinities, np.exp(-D**2 / (2 * scale**2)); or pass "
            "affinity='precomputed_nearest_neighbors', which takes distances, or the samples "
            "themselves. If these are affinities, ignore this warning or filter it."
        )
    return X


def precomputed_rows(X: Any) -> Rows:
    """Return the function from new samples, given as their affinities to X, to just those."""
    return _as_given


def _as_given(new: Any) -> Any:
    # Sorted, so that sums over a cluster are added up in the same order in both forms.
    return canonical_csr(new) if sp.issparse(new) else new


def _entries(X: Any) -> np.ndarray:
    """Return the stored entries of a sparse matrix, or all of an array."""
    return np.asarray(X.data if sp.issparse(X) else X)


def _symmetric(X: Any) -> Any:
    """Return X, or (X + Xᵀ) / 2 and a warning if it is not symmetric up to rounding.

    scikit-learn's ``check_symmetric`` does not do: its tolerance is absolute for sparse matrices
    and 1e-5 of every single entry for arrays, so that a graph would pass it, and then be refused as
    asymmetric, or not, depending on its scale and on the form it comes in.
    """
    transpose = X.T.tocsr() if sp.issparse(X) else X.T
    # Most sparse graphs are symmetric to the last bit, which shows without making a difference.
    if sp.issparse(X) and (
        np.array_equal(X.indptr, transpose.indptr)
        and np.array_equal(X.indices, transpose.indices)
        and np.array_equal(X.data, transpose.data)
    ):
        return X
    asymmetry = float(_entries(abs(X - transpose)).max(initial=0.0))
    # SciPy's own maximum sorts indices in place, which fails on the caller's read-only arrays.
    if asymmetry <= SYMMETRY_TOLERANCE[X.dtype] * float(_entries(X).max(initial=0.0)):
        return X
    warn_caller(
        "The precomputed affinities are not symmetric; they are averaged with their transpose."
    )
    half = (X + transpose) * X.dtype.type(0.5)
    return sp.csr_array(half) if sp.issparse(X) else half


PRECOMPUTED = Affinity(precomputed_graph, precomputed_rows, {}, takes="affinities")
