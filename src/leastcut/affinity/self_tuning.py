"""Self-tuning: S_ij = exp(−d_ij / (σ_i σ_j)), with σ_i the distance to the s-th neighbor of i."""

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
    """Return the Gaussian k-nearest-neighbor graph whose width adapts to the density around.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n, n_features)
        The samples.
    n_neighbors : int, default=10
        k; two samples are joined if either is among the k nearest others of the other.
    scale_neighbor : int, default=7
        The distance to this neighbor is the scale σ_i of a sample.
    metric : str or callable, default="euclidean"
        What near means: "euclidean", "cosine", "correlation", a further name in scikit-learn's
        ``pairwise_distances`` ("manhattan", "chebyshev", "minkowski", "canberra", "braycurtis",
        "hamming", "jaccard", "haversine", ...), or a function of two samples. See the notes.
    metric_params : dict, optional
        Parameters of the metric, such as ``{"p": 3}`` of "minkowski".
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbors are found. "exact" misses none; "approximate" finds nearly all, and is faster
        for many samples and features. "auto" is exact where that is estimated to take seconds.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where they are searched. On a GPU the search is exact and needs ``leastcut[gpu]``. "auto" is
        where X lies, or a GPU if there is one and the CPU would take long.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the approximate search and of the rows that recall is measured on.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.
    callback : callable, optional
        Called once with a :class:`leastcut.NeighborSearch`: how neighbors were found, and what
        fraction of them.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, without self-loops. Duplicates are joined by weight 1; a weight too small for a
        float is the smallest normal float instead of 0, so every neighbor stays joined.

    Notes
    -----
    d_ij is the squared Euclidean distance; under "cosine" and "correlation" that of unit rows,
    2 (1 − cos); under any other metric the square of its distance, so that "minkowski" with p=2 is
    "euclidean" and weights fall with the distance alike.

    Under "cosine" and "correlation" samples are compared as unit rows (centered ones), by the same
    searches as under "euclidean"; sparse rows exactly, by products of all pairs. A row without a
    direction (all zeros, or constant under "correlation") counts as equal to other such rows and at
    right angles to all others, with a warning. Under any other metric neighbors are found exactly,
    on the CPU: by a ball tree where features are few and the metric has one, else block by block,
    in n² distances and memory that is linear in n. "jaccard", "dice", "rogerstanimoto",
    "russellrao", "sokalsneath" and "yule" see only which coordinates are 0.

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
    # In the units of the index, as the squared distances are: in the quotient they cancel.
    scales = np.sqrt(squared[:, s - 1])

    # Weights take the place of the distances; beyond the k nearest they are 0, and not stored.
    def weigh(start: int, stop: int) -> None:
        rows = slice(start, stop)
        others = scales[indices[rows, :k]]
        squared[rows, :k] = _gaussian(squared[rows, :k], scales[rows, None], others)
        squared[rows, k:] = 0.0

    in_blocks(weigh, n, ROWS, near.n_threads)
    # An edge has the same weight from both of its ends, so the larger is the one there is.
    return symmetric_graph(
        near.indptr, near.indices, near.squared, larger=True, n_threads=near.n_threads
    )


def self_tuning_rows(
    X: Any,
    n_neighbors: int = 10,
    scale_neighbor: int = 7,
    **options: Any,
) -> Rows:
    """Return the function from new samples to Gaussian weights of the scales around both samples.

    A sample of X at distance 0 gets weight 1, but counts neither among the k nearest nor among
    those that set the scale, as a training sample does not count among its own.
    """
    index = NeighborIndex(X, **options)
    near = index.nearest_others(scale_neighbor)
    scales = np.sqrt(near.squared.reshape(-1, scale_neighbor)[:, -1])
    return partial(_weights, index, scales, n_neighbors, scale_neighbor)


def _weights(index: NeighborIndex, scales: np.ndarray, k: int, s: int, new: Any) -> sp.csr_array:
    n = scales.size
    # One more than is asked for, in case the first is the new sample itself, come again.
    found, squared = index.nearest(new, min(max(k, s) + 1, n))
    last = found.shape[1] - 1
    # 1 where the nearest is at distance 0 and is passed over: ranks then count from the next.
    again = (squared[:, 0] == 0).astype(np.int64)
    scale = np.sqrt(np.take_along_axis(squared, np.minimum(s - 1 + again, last)[:, None], 1))
    weights = _gaussian(squared, scale, scales[found])
    # Zeros are stored: rows have to be of one length.
    weights[np.arange(found.shape[1]) >= k + again[:, None]] = 0.0
    return sparse_rows(found, weights, n)


def _gaussian(squared: np.ndarray, own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return exp(−d / (σ_i σ_j)), 1 where d is 0, and never less than the smallest normal float."""
    # Equal samples keep the exponent 0, whatever the scales: d = 0 over σ = 0 is not computed. With
    # d > 0 a scale of 0 gives exp(−∞) = 0, which becomes the smallest normal float.
    exponent = np.zeros(squared.shape)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(squared, own * others, out=exponent, where=squared > 0)
    return np.asarray(np.maximum(np.exp(-exponent), np.finfo(np.float64).tiny))


DEFAULTS = defaults_of(self_tuning_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Cut k and s down to the others there are."""
    parameters = {**DEFAULTS, **parameters}
    for name in ("n_neighbors", "scale_neighbor"):
        parameters[name] = min(parameters[name], n_samples - 1)
    return parameters


SELF_TUNING = neighbor_affinity(self_tuning_graph, self_tuning_rows, _limited)
