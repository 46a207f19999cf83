"""Precomputed affinities, and neighbors from precomputed distances.

Affinities are averaged with their transpose if they are not symmetric. For distances, S_ij = 1 if
d_ij is among the k smallest in row i, averaged with the transpose. This module also warns if a
graph or a distance matrix is passed as samples: it is square and exactly symmetric, as samples
hardly ever are.
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

FEWEST = 3  # samples; smaller matrices may be symmetric by chance
BLOCK = 2**20  # entries compared at once


def precomputed_graph(X: Any) -> Any:
    """Return the symmetric matrix of precomputed affinities, which must be finite and non-negative.

    If X is symmetric (and has sorted indices, if sparse), the result is X or shares its memory.
    Otherwise it is (X + Xᵀ) / 2, with a warning. A matrix that looks like distances also warns.
    """
    if isinstance(X, Graph):
        return X.matrix  # checked already
    X = _square(
        X,
        "affinity='precomputed' needs a square matrix of affinities between samples, but X has "
        "shape {}. For samples with features use affinity='adaptive_neighbors'.",
    )
    check_real(X)
    # Single precision is kept: it has its own tolerance.
    if X.dtype not in SYMMETRY_TOLERANCE:
        X = X.astype(np.float64)
    X = canonical_csr(X) if sp.issparse(X) else X
    if not np.isfinite(_entries(X)).all():
        check_weights(sp.csr_array(X))  # raises, and names the first non-finite entry
    smallest = float(_entries(X).min(initial=0.0))
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed as affinities; the smallest is {smallest:.6g}. A cut "
            "needs non-negative affinities; clip or shift them."
        )
    X = _symmetric(X)
    if looks_like_distances(X):
        warn_caller(
            "X looks like a distance matrix, not an affinity matrix: its diagonal is 0, and "
            "samples with a small entry between them have similar rows. The clusters would join "
            "the most distant samples. Convert distances to affinities, "
            "np.exp(-D**2 / (2 * scale**2)), pass affinity='precomputed_nearest_neighbors', "
            "which takes distances, or pass the samples themselves. If these are affinities, "
            "ignore or filter this warning."
        )
    return X


def precomputed_rows(X: Any) -> Rows:
    """Return a function that returns the precomputed affinities of new samples unchanged."""
    return _canonical


def _canonical(new: Any) -> Any:
    # With sorted indices, sums over a cluster have the same order as for dense rows.
    return canonical_csr(new) if sp.issparse(new) else new


def _entries(X: Any) -> np.ndarray:
    """Return the stored entries of a sparse matrix, or all entries of an array."""
    return np.asarray(X.data if sp.issparse(X) else X)


def _symmetric(X: Any) -> Any:
    """Return X if it is symmetric up to rounding; otherwise warn and return (X + Xᵀ) / 2.

    The tolerance is relative to the largest entry. That of scikit-learn's ``check_symmetric`` would
    depend on the scale and the format of the graph.
    """
    transpose = X.T.tocsr() if sp.issparse(X) else X.T
    # Most sparse graphs are exactly symmetric, which is cheap to check.
    if sp.issparse(X) and (
        np.array_equal(X.indptr, transpose.indptr)
        and np.array_equal(X.indices, transpose.indices)
        and np.array_equal(X.data, transpose.data)
    ):
        return X
    asymmetry = float(_entries(abs(X - transpose)).max(initial=0.0))
    # SciPy's maximum sorts indices in place, which fails for read-only arrays.
    if asymmetry <= SYMMETRY_TOLERANCE[X.dtype] * float(_entries(X).max(initial=0.0)):
        return X
    warn_caller(
        "The precomputed affinities are not symmetric; they are averaged with their transpose."
    )
    half = (X + transpose) * X.dtype.type(0.5)
    return sp.csr_array(half) if sp.issparse(X) else half


def precomputed_neighbors_graph(X: Any, n_neighbors: int = 10) -> sp.csr_array:
    """Return the k-nearest-neighbors graph of a matrix of distances.

    Weights are ½ and 1; ties are broken by index. A sample is its own neighbor if the diagonal is
    stored. In a sparse matrix, stored zeros are distances and entries that are not stored are
    unknown.
    """
    X = _square(
        X,
        "affinity='precomputed_nearest_neighbors' needs a square matrix of distances between "
        "samples, but X has shape {}.",
    )
    k = check_count("n_neighbors", n_neighbors)
    if k > X.shape[0]:
        raise ValueError(
            f"n_neighbors={k} is greater than the number of samples, {X.shape[0]}; choose between "
            f"1 and {X.shape[0]}."
        )
    directed = _smallest(k, X)
    indices = directed.indices.copy()  # it may be shared
    return symmetric_graph(directed.indptr.astype(np.int64), indices, directed.data)


def precomputed_neighbors_rows(X: Any, n_neighbors: int = 10) -> Rows:
    """Return a function that gives weight 1 to the k smallest of the distances of new samples."""
    return partial(_smallest, n_neighbors)


def _smallest(k: int, distances: Any) -> sp.csr_array:
    # Unlike scikit-learn's search with metric="precomputed", ties are broken by index, so that the
    # result does not depend on the format of the matrix or the machine.
    if not sp.issparse(distances):
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return sparse_rows(nearest, np.ones(nearest.shape), distances.shape[1])
    X = sp.csr_array(distances)  # stored zeros are distances, and stay
    stored = np.diff(X.indptr)
    if stored.min() < k:
        raise ValueError(
            f"{k} neighbors are required for some samples, but row {int(np.argmin(stored))} of X "
            f"stores only {stored.min()} distances; store more distances or lower n_neighbors."
        )
    # Sort by row, then by distance, then by index. The rank of an entry is its position minus the
    # start of its row.
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
    """Warn if X, passed as samples, is a symmetric matrix: it may be meant as a graph."""
    if X.shape[0] >= FEWEST and is_symmetric(X):
        n = X.shape[0]
        warn_caller(
            f"X is a symmetric matrix of shape ({n}, {n}) and was interpreted as {n} samples with "
            f"{n} features. If it is a graph, pass affinity='precomputed'; if it holds distances, "
            "pass affinity='precomputed_nearest_neighbors'. If these are samples, ignore or filter "
            "this warning."
        )


def is_symmetric(X: Any) -> bool:
    """Return whether a square matrix is exactly equal to its transpose."""
    if sp.issparse(X):
        matrix = canonical_csr(X)
        return bool((matrix != matrix.T.tocsr()).nnz == 0)
    if is_on_gpu(X):
        return bool((X == X.T).all())
    X = np.asarray(X)
    n = X.shape[0]
    step = max(1, BLOCK // n)
    # Block by block: most matrices differ in the first block, and none is copied.
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
