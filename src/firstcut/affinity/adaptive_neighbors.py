"""Adaptive neighbours: weights that fall linearly to 0 at the (k+1)-th neighbour.

With d_ij the squared distance and d_i^(1) ≤ d_i^(2) ≤ … those of sample i in order,

    S_ij = max(t_i − d_ij, 0) / Σ_{j≤k} (t_i − d_i^(j)),   t_i = d_i^(k+1) + offset.
"""

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
from firstcut.validation import check_flag, check_neighbors, check_number, check_samples


def adaptive_neighbors_graph(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    offset: float = 0.0,
    *,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """Return the graph of adaptive neighbours: weights that fall linearly to 0 at the (k+1)-th.

    Each sample gives a total weight of 1 to its k nearest, the most to the nearest; this is
    the closest that a row of weights with k entries can come to the distances (in the sense of
    the reference). Nothing has to be tuned but k.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The samples. They are not scaled; features in different units should be, beforehand.
    n_neighbors : int, default=10
        k, the number of samples that get a weight.
    include_self : bool, default=True
        Whether a sample counts among its own k nearest, at distance 0; the graph then has
        self-loops.
    offset : float, default=0.0
        Added to the (k+1)-th squared distance. Every sample nearer than the sum gets a weight,
        so a positive offset can connect more than k and rows then sum to more than 1.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, with positive weights only.

    Notes
    -----
    A sample whose k + 1 nearest are all equally far (duplicates, above all) gives 1/k to the k
    nearest of lowest index: the limit of the formula, which reads 0/0 there. The paper's protocol
    is ``adaptive_neighbors_graph(X / X.max(), n_neighbors=10, offset=1e-6)``.

    References
    ----------
    F. Nie, X. Wang, H. Huang, "Clustering and projected clustering with adaptive neighbors",
    KDD 2014.

    Examples
    --------
    >>> import firstcut
    >>> S = firstcut.adaptive_neighbors_graph([[0.0], [1.0], [3.0], [4.0]], n_neighbors=2)
    >>> S.toarray().round(3)
    array([[0.529, 0.45 , 0.   , 0.   ],
           [0.45 , 0.571, 0.   , 0.   ],
           [0.   , 0.   , 0.571, 0.45 ],
           [0.   , 0.   , 0.45 , 0.529]])
    """
    include_self = check_flag("include_self", include_self)
    offset = check_number("offset", offset)
    points = check_samples(X)
    n = points.shape[0]
    # A sample that counts itself as the first of its k has its (k+1)-th at the k-th other.
    beyond = 0 if include_self else 1
    k = check_neighbors("n_neighbors", n_neighbors, n, beyond, include_self)
    index = NeighborIndex(points, n_jobs)
    offset = index.scaled(offset)
    others = k + beyond  # the last of them sets the threshold
    near = index.nearest_others(others, offset)
    del index  # and its tree, or its copy of the samples: what follows needs the memory

    # Lists are of different length where there is an offset; ``starts`` is where each begins.
    starts = near.indptr[:-1]
    counts = np.diff(near.indptr)
    # t_i, and t_i − d_ij for everyone listed, which is never negative.
    threshold = near.squared[starts + others - 1] + offset
    gap = np.repeat(threshold, counts) - near.squared
    rank = np.arange(gap.size) - np.repeat(starts, counts)
    counted = rank < others - 1  # with the sample itself, where it counts, these are the k nearest
    # The denominator. No list is empty, which reduceat would not sum to 0.
    total = np.add.reduceat(np.where(counted, gap, 0.0), starts)
    if include_self:
        # The sample itself is at distance 0, and so its own t_i − d_ii is t_i.
        total += threshold
    # Where the formula reads 0/0, its limit: 1/k for each of the k that count.
    even = total == 0
    with np.errstate(invalid="ignore"):
        weights = np.where(np.repeat(even, counts), counted / k, gap / np.repeat(total, counts))
    graph = near.directed(weights)
    if include_self:
        own = np.divide(threshold, total, out=np.full(n, 1 / k), where=~even)
        graph = graph + sp.diags_array(own, format="csr")
    return averaged(graph)


def adaptive_neighbors_rows(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    offset: float = 0.0,
    *,
    n_jobs: int | None = None,
) -> Rows:
    """Return the function from new samples to their weights, which sum to 1 in every row.

    Only the k nearest get one, whatever the offset; a new sample is not among its own.
    """
    index = NeighborIndex(X, n_jobs)
    return partial(_weights, index, n_neighbors, index.scaled(offset))


def _weights(index: NeighborIndex, k: int, offset: float, new: Any) -> sp.csr_array:
    n = index.points.shape[0]
    found, squared = index.nearest(new, min(k + 1, n))
    # The formula for rows of equal length: the last column, k + 1, only sets t_i.
    gap = squared[:, -1:] + offset - squared
    gap[:, k:] = 0.0
    total = gap.sum(axis=1, keepdims=True)
    even = (np.arange(gap.shape[1]) < k) / k
    with np.errstate(invalid="ignore"):
        weights = np.where(total > 0, gap / total, even)
    return rows_of(found, weights, n)


DEFAULTS = defaults_of(adaptive_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Cut k down so that a further sample is left to set the threshold."""
    parameters = {**DEFAULTS, **parameters}
    if n_samples == 2:
        parameters["include_self"] = True  # two samples leave no third
    most = n_samples - (1 if parameters["include_self"] or n_samples == 1 else 2)
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    return parameters


ADAPTIVE_NEIGHBORS = Affinity(
    partial(graph_or_loop, adaptive_neighbors_graph),
    partial(rows_or_ones, adaptive_neighbors_rows),
    DEFAULTS,
    _limited,
)
