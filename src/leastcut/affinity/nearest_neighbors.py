"""Nearest-neighbors affinity: S_ij = 1 if j is among the k nearest neighbors of i, symmetrized."""

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
from leastcut.graph import symmetric_graph
from leastcut.results import NeighborSearch
from leastcut.seeds import RandomState
from leastcut.validation import check_flag, check_neighbors


def nearest_neighbors_graph(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: str = "auto",
    device: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    callback: Callable[[NeighborSearch], object] | None = None,
) -> sp.csr_array:
    """Return the k-nearest-neighbors graph.

    The weight is 1 between mutual neighbors and ½ if only one sample is a neighbor of the other.
    This is the graph of scikit-learn's ``SpectralClustering``, with ties broken by index.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n_samples, n_features)
        The samples.
    n_neighbors : int, default=10
        Number k of neighbors of a sample.
    include_self : bool, default=True
        Whether a sample is the first of its own k nearest neighbors. If so, the graph has
        self-loops.
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
        The symmetric graph, with weights ½ and 1.

    See Also
    --------
    adaptive_neighbors_graph : Weights that decrease with the distance.
    self_tuning_graph : Gaussian weights with a local scale.
    SpectralClustering : Estimator with ``affinity="nearest_neighbors"``.

    Notes
    -----
    Metrics are treated as in :func:`leastcut.adaptive_neighbors_graph`, whose notes describe them.

    Examples
    --------
    >>> import leastcut
    >>> leastcut.nearest_neighbors_graph([[0.0], [1.0], [3.0]], 1, include_self=False).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    include_self = check_flag("include_self", include_self)
    search = check_search(metric, metric_params, neighbors, device, random_state, n_jobs, callback)
    points = checked_samples(X)
    n = points.shape[0]
    # A sample that is its own first neighbor has k - 1 others.
    extra = -1 if include_self else 0
    k = check_neighbors("n_neighbors", n_neighbors, n, extra, include_self)
    near = find_neighborhoods(points, k + extra, search)
    near.squared.fill(1.0)  # weights replace the distances
    loops = np.ones(n) if include_self else None
    return symmetric_graph(near.indptr, near.indices, near.squared, loops, n_threads=near.n_threads)


def nearest_neighbors_rows(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    **options: Any,
) -> Rows:
    """Return a function that gives weight 1 to the k samples of X nearest to each new sample."""
    return partial(_weights, NeighborIndex(X, **options), n_neighbors)


def _weights(index: NeighborIndex, k: int, new: Any) -> sp.csr_array:
    n = index.points.shape[0]
    indices, _ = index.nearest(new, min(k, n))
    return sparse_rows(indices, np.ones(indices.shape), n)


DEFAULTS = defaults_of(nearest_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Reduce k to the number of samples."""
    parameters = {**DEFAULTS, **parameters}
    most = n_samples if parameters["include_self"] else n_samples - 1
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    return parameters


NEAREST_NEIGHBORS = neighbor_affinity(nearest_neighbors_graph, nearest_neighbors_rows, _limited)
