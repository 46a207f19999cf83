"""Graphs from given matrices: affinities, or distances whose k smallest are neighbors.

Affinities are averaged with their transpose if they are not symmetric. Distances give S_ij = 1 if
d_ij is among the k smallest of row i, averaged with the transpose. And the mistake the other way:
a graph or distances passed where samples are expected, whose rows would be taken for coordinates.
Such a matrix is square and symmetric to the last bit, which samples hardly ever are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity, Rows, defaults_of, sparse_rows
from leastcut.distance_check import looks_like_distances
from leastcut.graph import Graph, symmetric_graph
from leastcut.validation import (
    SYMMETRY_TOLERANCE,
    canonical_csr,
    check_count,
    check_matrix,
    check_real,
    check_weights,
    is_on_gpu,
    warn_caller,
)

FEWEST = 3  # samples from which on symmetry is no accident: any 1 by 1 matrix has it
BLOCK = 2**20  # entries that are compared at once


def precomputed_graph(X: Any) -> Any:
    """Return a square matrix of finite affinities, none negative, as a symmetric one.

    It is X itself, or CSR arrays that share its memory, where it is symmetric and (if sparse) has
    sorted indices, and else (X + Xᵀ) / 2, with a warning. There is also a warning if it looks like
    distances.
    """
    if isinstance(X, Graph):
        return X.matrix  # checked already
    X = _square(
        X,
        "affinity='precomputed' needs a square matrix of affinities between samples, but X has "
        "shape {}. For samples with features use affinity='adaptive_neighbors'.",
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

    The tolerance of scikit-learn's ``check_symmetric`` is absolute for sparse matrices and relative
    to single entries for arrays, so that it would depend on the scale and the form of a graph.
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


def precomputed_neighbors_graph(X: Any, n_neighbors: int = 10) -> sp.csr_array:
    """Return the graph that joins every sample to those at the k smallest distances.

    Weights are ½ and 1; of equal distances those of lower index are taken. A sample counts among
    its own if its distance is there. Of a sparse matrix the stored entries count, zeros too; others
    are unknown.
    """
    X = _square(
        X,
        "affinity='precomputed_nearest_neighbors' needs a square matrix of distances between "
        "samples, but X has shape {}.",
    )
    k = check_count("n_neighbors", n_neighbors)
    if k > X.shape[0]:
        raise ValueError(
            f"n_neighbors={k} is more than the {X.shape[0]} samples there are; choose between 1 "
            f"and {X.shape[0]}."
        )
    joined = _smallest(k, X)
    indices = joined.indices.copy()  # which may be shared
    return symmetric_graph(joined.indptr.astype(np.int64), indices, joined.data)


def precomputed_neighbors_rows(X: Any, n_neighbors: int = 10) -> Rows:
    """Return the function from (n_new, n) distances to weight 1 for the k smallest of every row."""
    return partial(_smallest, n_neighbors)


def _smallest(k: int, distances: Any) -> sp.csr_array:
    # scikit-learn's search with metric="precomputed" takes any of equal distances; here the first
    # are taken, so that the form of the matrix and the machine do not matter.
    if not sp.issparse(distances):
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return sparse_rows(nearest, np.ones(nearest.shape), distances.shape[1])
    # Zeros that are stored are distances, too, and stay.
    X = sp.csr_array(distances)
    stored = np.diff(X.indptr)
    if stored.min() < k:
        raise ValueError(
            f"{k} neighbors are required for some samples, but row {int(np.argmin(stored))} of X "
            f"stores only {stored.min()} distances; store more or lower n_neighbors."
        )
    # Sorted by row, then by distance, then by index. Rows stay where they were, so that an entry's
    # rank is its place less where its row begins.
    row = np.repeat(np.arange(X.shape[0]), stored)
    order = np.lexsort((X.indices, X.data, row))
    rank = np.arange(order.size) - np.repeat(X.indptr[:-1], stored)
    nearest = X.indices[order[rank < k]].reshape(-1, k)
    return sparse_rows(nearest, np.ones(nearest.shape), X.shape[1])


def _square(X: Any, message: str) -> Any:
    """Return X as an array or sparse matrix, or raise if it is not square."""
    check_matrix("X", X)
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(message.format(X.shape))
    return X


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


DEFAULTS = defaults_of(precomputed_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Reduce k to the number of samples."""
    parameters = {**DEFAULTS, **parameters}
    parameters["n_neighbors"] = min(parameters["n_neighbors"], n_samples)
    return parameters


PRECOMPUTED = Affinity(precomputed_graph, precomputed_rows, {}, takes="affinities")
PRECOMPUTED_NEIGHBORS = Affinity(
    precomputed_neighbors_graph, precomputed_neighbors_rows, DEFAULTS, _limited, takes="distances"
)
