"""Nearest neighbours: S_ij = 1 if j is among the k nearest of i, averaged with its transpose."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity, Rows, defaults_of
from leastcut.affinity.neighbors.index import (
    NeighborIndex,
    check_wanted,
    checked_samples,
    graph_or_loop,
    rows_of,
    rows_or_ones,
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
    """Return the k-nearest-neighbour graph: 1 between mutual neighbours, ½ if only one is.

    It is the graph that scikit-learn's ``SpectralClustering`` builds, with ties broken by index.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n, n_features)
        The samples.
    n_neighbors : int, default=10
        k, the number of neighbours of a sample.
    include_self : bool, default=True
        Whether a sample counts among its own k nearest; the graph then has self-loops.
    metric : str or callable, default="euclidean"
        What near means: "euclidean", "cosine", "correlation", a further name in scikit-learn's
        ``pairwise_distances`` ("manhattan", "chebyshev", "minkowski", "canberra", "braycurtis",
        "hamming", "jaccard", "haversine", ...), or a function of two samples. See the notes.
    metric_params : dict, optional
        Parameters of the metric, such as ``{"p": 3}`` of "minkowski".
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. "exact" misses none. "approximate" finds nearly all, sooner where
        samples and features are many. "auto" is exact wherever that is forecast to end within
        seconds.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where: on the processor, or exactly on a GPU, which needs ``leastcut[gpu]``. "auto" is where
        X lies, and a GPU if there is one and the processor would take long.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the approximate search and of the rows that recall is measured on.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.
    callback : callable, optional
        Called once with a :class:`leastcut.NeighborSearch`: how neighbours were found, and what
        part of them.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, with weights ½ and 1.

    Notes
    -----
    Under "cosine" and "correlation" samples are compared as unit rows (centred ones), by the same
    searches as under "euclidean"; sparse rows exactly, by products of all pairs that fill nothing
    in. A row of zeros, or a constant one under "correlation", has no direction: such rows count as
    equal to one another and at right angles to all others, with a warning. Under any other metric
    neighbours are found exactly, on the processor: by a ball tree where features are few and the
    metric has one, else block by block, in n² distances of time and memory that is linear in n.
    "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath" and "yule" see only which
    coordinates are 0.

    Examples
    --------
    >>> import leastcut
    >>> leastcut.nearest_neighbors_graph([[0.0], [1.0], [3.0]], 1, include_self=False).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    include_self = check_flag("include_self", include_self)
    wanted = check_wanted(neighbors, device, random_state, callback, metric, metric_params)
    points = checked_samples(X)
    n = points.shape[0]
    # A sample that counts itself has one other less to find.
    beyond = -1 if include_self else 0
    k = check_neighbors("n_neighbors", n_neighbors, n, beyond, include_self)
    index = NeighborIndex(points, n_jobs, wanted, metric, metric_params)
    near = index.nearest_others(k + beyond)
    if callback is not None:
        callback(near.told)
    n_threads = index.n_threads
    del index  # and its copies of the samples: what follows needs the memory
    # Weights take the place of the distances.
    near.squared.fill(1.0)
    loops = np.ones(n) if include_self else None
    return symmetric_graph(near.indptr, near.indices, near.squared, loops, n_threads=n_threads)


def nearest_neighbors_rows(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Rows:
    """Return the function from new samples to weight 1 for each of the k nearest samples of X."""
    return partial(_weights, NeighborIndex(X, n_jobs, None, metric, metric_params), n_neighbors)


def _weights(index: NeighborIndex, k: int, new: Any) -> sp.csr_array:
    n = index.points.shape[0]
    found, _ = index.nearest(new, min(k, n))
    return rows_of(found, np.ones(found.shape), n)


DEFAULTS = defaults_of(nearest_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Cut k down to the samples there are."""
    parameters = {**DEFAULTS, **parameters}
    most = n_samples if parameters["include_self"] else n_samples - 1
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    return parameters


NEAREST_NEIGHBORS = Affinity(
    partial(graph_or_loop, nearest_neighbors_graph),
    partial(rows_or_ones, nearest_neighbors_rows),
    DEFAULTS,
    _limited,
    searches=True,
)
