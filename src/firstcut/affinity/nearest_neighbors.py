"""Nearest neighbours: S_ij = 1 if j is among the k nearest of i, averaged with its transpose."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.affinity.affinity import Affinity, Rows, defaults_of
from firstcut.affinity.neighbor_index import (
    NeighborIndex,
    averaged,
    graph_or_loop,
    rows_of,
    rows_or_ones,
)
from firstcut.validation import check_flag, check_neighbors, check_samples


def nearest_neighbors_graph(
    X: Any, n_neighbors: int = 10, include_self: bool = True, *, n_jobs: int | None = None
) -> sp.csr_array:
    """Return the k-nearest-neighbour graph: 1 between mutual neighbours, ½ if only one is.

    It is the graph that scikit-learn's ``SpectralClustering`` builds, with ties broken by index.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The samples.
    n_neighbors : int, default=10
        k, the number of neighbours of a sample.
    include_self : bool, default=True
        Whether a sample counts among its own k nearest; the graph then has self-loops.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, with weights ½ and 1.

    Examples
    --------
    >>> import firstcut
    >>> firstcut.nearest_neighbors_graph([[0.0], [1.0], [3.0]], 1, include_self=False).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    include_self = check_flag("include_self", include_self)
    points = check_samples(X)
    n = points.shape[0]
    # A sample that counts itself has one other less to find.
    beyond = -1 if include_self else 0
    k = check_neighbors("n_neighbors", n_neighbors, n, beyond, include_self)
    near = NeighborIndex(points, n_jobs).nearest_others(k + beyond)
    graph = near.directed(np.ones(near.indices.size))
    if include_self:
        graph = graph + sp.eye_array(n, format="csr")
    return averaged(graph)


def nearest_neighbors_rows(
    X: Any, n_neighbors: int = 10, include_self: bool = True, *, n_jobs: int | None = None
) -> Rows:
    """Return the function from new samples to weight 1 for each of the k nearest samples of X."""
    return partial(_weights, NeighborIndex(X, n_jobs), n_neighbors)


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
)
