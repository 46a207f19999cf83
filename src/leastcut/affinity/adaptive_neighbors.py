"""Adaptive-neighbors affinity: weights that decrease linearly to 0 at the (k+1)-th neighbor.

With d_ij the squared distance (for non-Euclidean metrics see ``neighbors.metrics``) and
d_i^(1) ≤ d_i^(2) ≤ … the sorted distances from sample i,

    S_ij = max(t_i − d_ij, 0) / Σ_{j≤k} (t_i − d_i^(j)),   t_i = d_i^(k+1) + offset.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Rows, defaults_of, neighbor_affinity, sparse_rows
from leastcut.affinity.neighbors.index import (
    Neighborhoods,
    NeighborIndex,
    check_search,
    checked_samples,
    find_neighborhoods,
)
from leastcut.graph import ROWS, symmetric_graph
from leastcut.results import NeighborSearch
from leastcut.seeds import RandomState
from leastcut.threads import in_blocks
from leastcut.validation import check_flag, check_neighbors, check_number


def adaptive_neighbors_graph(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    offset: float = 0.0,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: str = "auto",
    device: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    callback: Callable[[NeighborSearch], object] | None = None,
) -> sp.csr_array:
    """Return the adaptive-neighbors graph.

    The weights of a sample's k nearest neighbors decrease linearly with the squared distance, reach
    0 at the (k+1)-th neighbor and sum to 1. They are the optimal weights with k nonzero entries for
    the objective of the reference. The only parameter to tune is k.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n_samples, n_features)
        The samples. Scale features of different units before the call.
    n_neighbors : int, default=10
        Number k of neighbors with positive weight.
    include_self : bool, default=True
        Whether a sample is the first of its own k nearest neighbors, at distance 0. If so, the
        graph has self-loops.
    offset : float, default=0.0
        Value added to the (k+1)-th squared distance. Every sample nearer than the sum gets a
        weight, so a positive offset can connect more than k neighbors; the rows then sum to more
        than 1.
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
        The symmetric graph (S + Sᵀ) / 2. All stored weights are positive.

    See Also
    --------
    self_tuning_graph : Gaussian weights with a local scale.
    nearest_neighbors_graph : Weights 1 and ½.
    learned_graph : Learn the graph together with its clusters, starting from this one.
    SpectralClustering : Estimator that builds this graph by default.

    Notes
    -----
    If the k + 1 nearest neighbors of a sample are equally distant (duplicates, for example), the
    formula is 0/0; the weights are then its limit, 1/k for the k neighbors of lowest index. The
    reference uses ``adaptive_neighbors_graph(X / X.max(), n_neighbors=10, offset=1e-6)``.

    d_ij is the squared Euclidean distance; for "cosine" and "correlation" that of the unit rows,
    2 (1 − cos); for any other metric the square of its distance, so that "minkowski" with p=2
    gives the same graph as "euclidean". The offset has the same units.

    For "cosine" and "correlation", samples are scaled to unit length ("correlation" centers them
    first) and searched like Euclidean samples; sparse rows are searched exactly, by products of all
    pairs. A row without a direction (all zeros, or constant for "correlation") counts as equal to
    other such rows and orthogonal to all other rows, with a warning. For any other metric, the
    search is exact and runs on the CPU: with a ball tree if the features are few and the metric
    supports it, else block by block, with n² distances and memory linear in n. "jaccard", "dice",
    "rogerstanimoto", "russellrao", "sokalsneath" and "yule" only distinguish zero from nonzero
    coordinates.

    References
    ----------
    F. Nie, X. Wang, H. Huang, "Clustering and projected clustering with adaptive neighbors",
    KDD 2014.

    Examples
    --------
    >>> import leastcut
    >>> S = leastcut.adaptive_neighbors_graph([[0.0], [1.0], [3.0], [4.0]], n_neighbors=2)
    >>> S.toarray().round(3)
    array([[0.529, 0.45 , 0.   , 0.   ],
           [0.45 , 0.571, 0.   , 0.   ],
           [0.   , 0.   , 0.571, 0.45 ],
           [0.   , 0.   , 0.45 , 0.529]])
    """
    include_self = check_flag("include_self", include_self)
    offset = check_number("offset", offset)
    search = check_search(metric, metric_params, neighbors, device, random_state, n_jobs, callback)
    points = checked_samples(X)
    n = points.shape[0]
    # If a sample is its own first neighbor, its (k+1)-th neighbor is the k-th other sample.
    extra = 0 if include_self else 1
    k = check_neighbors("n_neighbors", n_neighbors, n, extra, include_self)
    threshold_rank = k + extra
    near = find_neighborhoods(points, threshold_rank, search, offset)
    loops = np.empty(n) if include_self else None

    def set_weights(start: int, stop: int) -> None:
        self_weights = None if loops is None else loops[start:stop]
        _set_weights(near, start, stop, threshold_rank, k, self_weights)

    in_blocks(set_weights, n, ROWS, near.n_threads)
    return symmetric_graph(near.indptr, near.indices, near.squared, loops, n_threads=near.n_threads)


def _set_weights(
    near: Neighborhoods,
    start: int,
    stop: int,
    threshold_rank: int,
    k: int,
    self_weights: np.ndarray | None,
) -> None:
    """Replace the squared distances of samples start..stop-1 by weights, in place.

    The neighbor at ``threshold_rank`` sets t_i. ``self_weights`` is filled if it is not None.
    """
    offset = near.offset
    begin, end = near.indptr[start], near.indptr[stop]
    squared = near.squared[begin:end]
    # Lists differ in length if there is an offset.
    starts = near.indptr[start:stop] - begin
    counts = np.diff(near.indptr[start : stop + 1])
    # 1. t_i, and t_i − d_ij ≥ 0 of every neighbor.
    threshold = squared[starts + threshold_rank - 1] + offset
    gap = np.subtract(np.repeat(threshold, counts), squared, out=squared)
    if offset > 0:
        np.maximum(gap, 0.0, out=gap)  # a rounded right angle may exceed the threshold
    # 2. The denominator, over the k nearest. Without an offset, later neighbors are at the
    #    threshold and add 0. No list is empty, for which reduceat would not return 0.
    rank = np.arange(gap.size) - np.repeat(starts, counts) if offset > 0 else None
    k_nearest = gap if rank is None else np.where(rank < threshold_rank - 1, gap, 0.0)
    total = np.add.reduceat(k_nearest, starts)
    if self_weights is not None:
        total += threshold  # t_i − d_ii with d_ii = 0
    # 3. The weights. If the formula is 0/0, its limit: 1/k for each of the k nearest.
    even = np.flatnonzero(total == 0)
    total[even] = 1.0
    np.divide(gap, np.repeat(total, counts), out=gap)
    gap[starts[even, None] + np.arange(threshold_rank - 1)] = 1 / k
    if self_weights is not None:
        np.divide(threshold, total, out=self_weights)
        self_weights[even] = 1 / k


def adaptive_neighbors_rows(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    offset: float = 0.0,
    **options: Any,
) -> Rows:
    """Return a function that computes the weights of new samples on X.

    Rows sum to 1. Only the k nearest samples have a weight, for any offset.
    """
    index = NeighborIndex(X, **options)
    return partial(_weights, index, n_neighbors, index.scaled(offset))


def _weights(index: NeighborIndex, k: int, offset: float, new: Any) -> sp.csr_array:
    n = index.points.shape[0]
    indices, squared = index.nearest(new, min(k + 1, n))
    # The last column, neighbor k + 1, only sets t_i.
    gap = squared[:, -1:] + offset - squared
    gap[:, k:] = 0.0
    total = gap.sum(axis=1, keepdims=True)
    even = (np.arange(gap.shape[1]) < k) / k
    with np.errstate(invalid="ignore"):
        weights = np.where(total > 0, gap / total, even)
    return sparse_rows(indices, weights, n)


DEFAULTS = defaults_of(adaptive_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Reduce k so that one more sample remains to set the threshold."""
    parameters = {**DEFAULTS, **parameters}
    if n_samples == 2:
        parameters["include_self"] = True  # there is no third sample
    most = n_samples - (1 if parameters["include_self"] or n_samples == 1 else 2)
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    return parameters


ADAPTIVE_NEIGHBORS = neighbor_affinity(adaptive_neighbors_graph, adaptive_neighbors_rows, _limited)
