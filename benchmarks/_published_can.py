"""CAN with full matrices, as published: slow and simple, for comparison.

γ is the mean of the γ_i and the initial λ. After each iteration λ is doubled if there are too few
components, and halved, with the previous eigenvectors, if there are too many. Weights are on the k
nearest neighbors.

References
----------
F. Nie, X. Wang, H. Huang, "Clustering and projected clustering with adaptive neighbors", KDD 2014.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances

TURNS = 30
"""Maximum number of iterations."""


class Published(NamedTuple):
    """Component labels, the number of components, and the number of iterations."""

    labels: np.ndarray
    n_components: int
    n_iter: int


def published_can(X: np.ndarray, n_clusters: int, n_neighbors: int = 10) -> Published:
    """Return the components of the final graph."""
    n, k = len(X), n_neighbors
    d = pairwise_distances(X, metric="sqeuclidean")
    np.fill_diagonal(d, -1.0)  # first in its row, whatever duplicates there are
    near = np.argsort(d, axis=1, kind="stable")[:, 1 : k + 2]
    sorted_d = np.take_along_axis(d, near, axis=1)
    gamma = float(np.mean(0.5 * (k * sorted_d[:, k] - sorted_d[:, :k].sum(axis=1))))
    near, sorted_d, penalty = near[:, :k], sorted_d[:, :k], gamma

    def graph_of(distances: np.ndarray) -> np.ndarray:
        S = np.zeros((n, n))
        for i in range(n):
            S[i, near[i]] = _on_simplex(-distances[i] / (2.0 * gamma))
        return (S + S.T) / 2.0

    S = graph_of(sorted_d)
    vectors = _smallest(S, n_clusters)
    n_iter = n_components = 0
    while n_iter < TURNS:
        n_iter += 1
        gaps = np.sum((vectors[:, None] - vectors[near]) ** 2, axis=2)
        S = graph_of(sorted_d + penalty * gaps)
        n_components, labels = connected_components(S, directed=False)
        if n_components == n_clusters:
            break
        if n_components < n_clusters:
            vectors, penalty = _smallest(S, n_clusters), 2.0 * penalty
        else:
            penalty /= 2.0
    return Published(labels, int(n_components), n_iter)


def _smallest(S: np.ndarray, count: int) -> np.ndarray:
    laplacian = np.diag(S.sum(axis=1)) - S
    return np.asarray(scipy.linalg.eigh(laplacian, subset_by_index=[0, count - 1])[1])


def _on_simplex(point: np.ndarray) -> np.ndarray:
    """Project onto the simplex by sorting."""
    ordered = np.sort(point)[::-1]
    thresholds = (np.cumsum(ordered) - 1.0) / np.arange(1, point.size + 1)
    return np.maximum(point - thresholds[np.flatnonzero(ordered > thresholds)[-1]], 0.0)
