"""Distances that are given: S_ij = 1 if d_ij is among the k smallest of row i, averaged."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity, Rows, defaults_of
from leastcut.affinity.neighbors.index import rows_of
from leastcut.graph import symmetric_graph
from leastcut.validation import check_count, check_matrix


def precomputed_neighbors_graph(X: Any, n_neighbors: int = 10) -> sp.csr_array:
    """Return the graph that joins every sample to those at the k smallest distances.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n)
        Distances. Of a sparse matrix the stored entries count, zeros too; others are unknown.
    n_neighbors : int, default=10
        k, the number of neighbours of a sample, itself included if its distance is there.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, with weights ½ and 1. Of equal distances those of lower index are taken.

    Examples
    --------
    >>> from leastcut.affinity.precomputed_neighbors import precomputed_neighbors_graph
    >>> D = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    >>> precomputed_neighbors_graph(D, n_neighbors=2).toarray()
    array([[1. , 1. , 0. ],
           [1. , 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    check_matrix("X", X)
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"affinity='precomputed_nearest_neighbors' needs a square matrix of distances "
            f"between samples, but X has shape {X.shape}."
        )
    k = check_count("n_neighbors", n_neighbors)
    if k > X.shape[0]:
        raise ValueError(
            f"n_neighbors={k} is more than the {X.shape[0]} samples there are; choose between 1 "
            f"and {X.shape[0]}."
        )
    joined = _weights(k, X)
    indices = joined.indices.copy()  # which may be shared
    return symmetric_graph(joined.indptr.astype(np.int64), indices, joined.data)


def precomputed_neighbors_rows(X: Any, n_neighbors: int = 10) -> Rows:
    """Return the function from (n_new, n) distances to weight 1 for the k smallest of every row."""
    return partial(_weights, n_neighbors)


def _weights(k: int, distances: Any) -> sp.csr_array:
    # scikit-learn's search with metric="precomputed" takes any of equal distances; here the first
    # are taken, so that the form of the matrix and the machine do not matter.
    if not sp.issparse(distances):
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return rows_of(nearest, np.ones(nearest.shape), distances.shape[1])
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
    return rows_of(nearest, np.ones(nearest.shape), X.shape[1])


DEFAULTS = defaults_of(precomputed_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Cut k down to the samples there are."""
    parameters = {**DEFAULTS, **parameters}
    parameters["n_neighbors"] = min(parameters["n_neighbors"], n_samples)
    return parameters


PRECOMPUTED_NEIGHBORS = Affinity(
    precomputed_neighbors_graph,
    precomputed_neighbors_rows,
    DEFAULTS,
    _limited,
    takes="distances",
)
