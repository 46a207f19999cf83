"""Self-tuning affinity: exp(−d_ij / (σ_i σ_j)), with σ_i the distance to neighbor s of sample i."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Rows, defaults_of, neighbor_affinity, sparse_rows
from leastcut.affinity.neighbors.index import (
    NeighborIndex,
    check_search,
    checked_samples,
    find_neighborhoods,
)
from leastcut.graph import ROWS, symmetric_graph
from leastcut.results import NeighborSearch
from leastcut.seeds import RandomState
from leastcut.threads import in_blocks
from leastcut.validation import check_neighbors


def self_tuning_graph(
    X: Any,
    n_neighbors: int = 10,
    scale_neighbor: int = 7,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: str = "auto",
    device: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    callback: Callable[[NeighborSearch], object] | None = None,
) -> sp.csr_array:
    """Return the Gaussian k-nearest-neighbors graph whose width adapts to the local density.

    The weight of an edge is S_ij = exp(−d_ij / (σ_i σ_j)), with the local scales σ_i and σ_j.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n_samples, n_features)
        The samples.
    n_neighbors : int, default=10
        Number k of neighbors, a sample itself not included. Two samples are connected if one is
        among the k nearest neighbors of the other.
    scale_neighbor : int, default=7
        Rank s of the neighbor whose distance is the local scale σ_i.
    metric : str or callable, default="euclidean"
        The distance between samples: "euclidean", "cosine", "correlation", another metric of
        scikit-learn's ``pairwise_distances`` ("manhattan", "chebyshev", "minkowski", "canberra",
        "braycurtis", "hamming", "jaccard", "haversine", ...), or a function of two samples that
        returns their distance. See Notes.
    metric_params : dict or None, default=None
        Parameters of the metric, such as ``{"p": 3}`` for "minkowski".
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        The nearest-neighbor search. "exact" finds every neighbor; "approximate" finds nearly all
        of them, and is faster for many samples and features. "auto" searches exactly if the
        estimated time is a few seconds, or less than that of the approximate search.
    device : {"auto", "cpu", "cuda"}, default="auto"
        The device that runs the search. "cuda" needs ``leastcut[gpu]`` and searches exactly.
        "auto" uses a GPU if X is on it, or if the search would take the CPU long.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the approximate search and of the sample of rows on which recall is measured.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all available cores. The graph does not depend on it.
    callback : callable or None, default=None
        Called once with a :class:`leastcut.NeighborSearch`, which has the method of the search,
        its recall and its time.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        The symmetric graph, without self-loops. Duplicates have weight 1. A weight that would
        underflow is the smallest normal float, so every neighbor stays connected.

    See Also
    --------
    adaptive_neighbors_graph : Weights without a kernel width.
    nearest_neighbors_graph : Weights 1 and ½.
    SpectralClustering : Estimator with ``affinity="self_tuning"``.

    Notes
    -----
    d_ij is the squared Euclidean distance; for "cosine" and "correlation" that of the unit rows,
    2 (1 − cos); for any other metric the square of its distance, so that "minkowski" with p=2
    gives the same graph as "euclidean".

    Metrics are treated as in :func:`leastcut.adaptive_neighbors_graph`, whose notes describe them.

    References
    ----------
    L. Zelnik-Manor, P. Perona, "Self-tuning spectral clustering", NIPS 2004.

    Examples
    --------
    >>> import leastcut
    >>> X = [[0.0], [1.0], [3.0]]
    >>> leastcut.self_tuning_graph(X, n_neighbors=1, scale_neighbor=1).toarray().round(3)
    array([[0.   , 0.368, 0.   ],
           [0.368, 0.   , 0.135],
           [0.   , 0.135, 0.   ]])
    """
    search = check_search(metric, metric_params, neighbors, device, random_state, n_jobs, callback)
    points = checked_samples(X)
    n = points.shape[0]
    k = check_neighbors("n_neighbors", n_neighbors, n)
    s = check_neighbors("scale_neighbor", scale_neighbor, n)
    width = max(k, s)
    near = find_neighborhoods(points, width, search)
    indices, squared = near.indices.reshape(n, width), near.squared.reshape(n, width)
    # In the units of the index, like the squared distances: they cancel in the quotient.
    scales = np.sqrt(squared[:, s - 1])

    # Weights replace the distances; they are 0, and not stored, beyond the k nearest.
    def set_weights(start: int, stop: int) -> None:
        rows = slice(start, stop)
        neighbor_scales = scales[indices[rows, :k]]
        squared[rows, :k] = _gaussian(squared[rows, :k], scales[rows, None], neighbor_scales)
        squared[rows, k:] = 0.0

    in_blocks(set_weights, n, ROWS, near.n_threads)
    # An edge has the same weight in both directions, or is stored in one of them only.
    return symmetric_graph(
        near.indptr, near.indices, near.squared, larger=True, n_threads=near.n_threads
    )


def self_tuning_rows(
    X: Any,
    n_neighbors: int = 10,
    scale_neighbor: int = 7,
    **options: Any,
) -> Rows:
    """Return a function that computes the Gaussian weights of new samples on X.

    A sample of X at distance 0 has weight 1, and is counted neither among the k neighbors nor for
    the scale, like a training sample itself.
    """
    index = NeighborIndex(X, **options)
    near = index.neighborhoods(scale_neighbor)
    scales = np.sqrt(near.squared.reshape(-1, scale_neighbor)[:, -1])
    return partial(_weights, index, scales, n_neighbors, scale_neighbor)


def _weights(index: NeighborIndex, scales: np.ndarray, k: int, s: int, new: Any) -> sp.csr_array:
    n = scales.size
    # One extra neighbor, as the first may be the new sample itself.
    indices, squared = index.nearest(new, min(max(k, s) + 1, n))
    last = indices.shape[1] - 1
    # 1 if the nearest sample is at distance 0 and is skipped: ranks then count from the next.
    skipped = (squared[:, 0] == 0).astype(np.int64)
    scale = np.sqrt(np.take_along_axis(squared, np.minimum(s - 1 + skipped, last)[:, None], 1))
    weights = _gaussian(squared, scale, scales[indices])
    # Zeros are stored, as all rows have one length.
    weights[np.arange(indices.shape[1]) >= k + skipped[:, None]] = 0.0
    return sparse_rows(indices, weights, n)


def _gaussian(squared: np.ndarray, scale: np.ndarray, neighbor_scales: np.ndarray) -> np.ndarray:
    """Return exp(−d / (σ_i σ_j)), 1 if d = 0, and at least the smallest normal float."""
    # For equal samples the exponent stays 0, so 0/0 is not computed. With d > 0 and a scale of 0
    # exp(−∞) = 0 becomes the smallest normal float.
    exponent = np.zeros(squared.shape)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(squared, scale * neighbor_scales, out=exponent, where=squared > 0)
    return np.asarray(np.maximum(np.exp(-exponent), np.finfo(np.float64).tiny))


DEFAULTS = defaults_of(self_tuning_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Reduce k and s to the number of other samples."""
    parameters = {**DEFAULTS, **parameters}
    for name in ("n_neighbors", "scale_neighbor"):
        parameters[name] = min(parameters[name], n_samples - 1)
    return parameters


SELF_TUNING = neighbor_affinity(self_tuning_graph, self_tuning_rows, _limited)
