"""Nearest neighbors: S_ij = 1 if j is among the k nearest of i, averaged with its transpose."""

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
    """Return the k-nearest-neighbor graph: 1 between mutual neighbors, ½ if only one is.

    It is the graph that scikit-learn's ``SpectralClustering`` builds, with ties broken by index.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n, n_features)
        The samples.
    n_neighbors : int, default=10
        k, the number of neighbors of a sample.
    include_self : bool, default=True
        Whether a sample counts among its own k nearest; the graph then has self-loops.
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
        Symmetric, with weights ½ and 1.

    Notes
    -----
    Under "cosine" and "correlation" samples are compared as unit rows (centered ones), by the same
    searches as under "euclidean"; sparse rows exactly, by products of all pairs. A row without a
    direction (all zeros, or constant under "correlation") counts as equal to other such rows and at
    right angles to all others, with a warning. Under any other metric neighbors are found exactly,
    on the CPU: by a ball tree where features are few and the metric has one, else block by block,
    in n² distances and memory that is linear in n. "jaccard", "dice", "rogerstanimoto",
    "russellrao", "sokalsneath" and "yule" see only which coordinates are 0.

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
    # A sample that counts itself has one other less to find.
    beyond = -1 if include_self else 0
    k = check_neighbors("n_neighbors", n_neighbors, n, beyond, include_self)
    near = find_neighborhoods(points, k + beyond, search)
    # Weights take the place of the distances.
    near.squared.fill(1.0)
    loops = np.ones(n) if include_self else None
    return symmetric_graph(near.indptr, near.indices, near.squared, loops, n_threads=near.n_threads)


def nearest_neighbors_rows(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    **options: Any,
) -> Rows:
    """Return the function from new samples to weight 1 for each of the k nearest samples of X."""
    return partial(_weights, NeighborIndex(X, **options), n_neighbors)


def _weights(index: NeighborIndex, k: int, new: Any) -> sp.csr_array:
    n = index.points.shape[0]
    found, _ = index.nearest(new, min(k, n))
    return sparse_rows(found, np.ones(found.shape), n)


DEFAULTS = defaults_of(nearest_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Cut k down to the samples there are."""
    parameters = {**DEFAULTS, **parameters}
    most = n_samples if parameters["include_self"] else n_samples - 1
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    return parameters


NEAREST_NEIGHBORS = neighbor_affinity(nearest_neighbors_graph, nearest_neighbors_rows, _limited)
