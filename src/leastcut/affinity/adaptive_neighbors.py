"""Adaptive neighbors: weights that fall linearly to 0 at the (k+1)-th neighbor.

With d_ij the squared distance (under other metrics than the Euclidean see ``neighbors.metrics``)
and d_i^(1) ≤ d_i^(2) ≤ … those of sample i in order,

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
    """Return the graph of adaptive neighbors: weights that fall linearly to 0 at the (k+1)-th.

    Each sample gives a total weight of 1 to its k nearest, the most to the nearest; this is
    the closest that a row of weights with k entries can come to the distances (in the sense of
    the reference). Nothing has to be tuned but k.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n, n_features)
        The samples. They are not scaled; features in different units should be, beforehand.
    n_neighbors : int, default=10
        k, the number of samples that get a weight.
    include_self : bool, default=True
        Whether a sample counts among its own k nearest, at distance 0; the graph then has
        self-loops.
    offset : float, default=0.0
        Added to the (k+1)-th squared distance. Every sample nearer than the sum gets a weight,
        so a positive offset can connect more than k and rows then sum to more than 1.
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
        Symmetric, with positive weights only.

    Notes
    -----
    A sample whose k + 1 nearest are all equally far (duplicates, above all) gives 1/k to the k
    nearest of lowest index: the limit of the formula, which reads 0/0 there. The paper's protocol
    is ``adaptive_neighbors_graph(X / X.max(), n_neighbors=10, offset=1e-6)``.

    d_ij is the squared Euclidean distance; under "cosine" and "correlation" that of unit rows,
    2 (1 − cos); under any other metric the square of its distance, so that "minkowski" with p=2 is
    "euclidean" and weights fall with the distance alike. An offset is in the same units.

    Under "cosine" and "correlation" samples are compared as unit rows (centered ones), by the same
    searches as under "euclidean"; sparse rows exactly, by products of all pairs. A row without a
    direction (all zeros, or constant under "correlation") counts as equal to other such rows and at
    right angles to all others, with a warning. Under any other metric neighbors are found exactly,
    on the CPU: by a ball tree where features are few and the metric has one, else block by block,
    in n² distances and memory that is linear in n. "jaccard", "dice", "rogerstanimoto",
    "russellrao", "sokalsneath" and "yule" see only which coordinates are 0.

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
    # A sample that counts itself as the first of its k has its (k+1)-th at the k-th other.
    beyond = 0 if include_self else 1
    k = check_neighbors("n_neighbors", n_neighbors, n, beyond, include_self)
    others = k + beyond  # the last of them sets the threshold
    near = find_neighborhoods(points, others, search, offset)
    # Weights take the place of the distances, block by block.
    loops = np.empty(n) if include_self else None

    def weigh(start: int, stop: int) -> None:
        own = None if loops is None else loops[start:stop]
        _weigh(near, start, stop, others, k, own)

    in_blocks(weigh, n, ROWS, near.n_threads)
    return symmetric_graph(near.indptr, near.indices, near.squared, loops, n_threads=near.n_threads)


def _weigh(
    near: Neighborhoods,
    start: int,
    stop: int,
    others: int,
    k: int,
    loops: np.ndarray | None,
) -> None:
    """Replace the squared distances of the samples start..stop-1 by weights.

    ``others`` is the rank of the neighbor that sets the threshold, and ``loops``, where samples
    count among their own k nearest, becomes their weights to themselves.
    """
    offset = near.offset
    begin, end = near.indptr[start], near.indptr[stop]
    squared = near.squared[begin:end]
    # Lists are of different length where there is an offset; ``starts`` is where each begins.
    starts = near.indptr[start:stop] - begin
    counts = np.diff(near.indptr[start : stop + 1])
    # 1. t_i, and t_i − d_ij for everyone listed, which is not negative.
    threshold = squared[starts + others - 1] + offset
    gap = np.subtract(np.repeat(threshold, counts), squared, out=squared)
    if offset > 0:
        np.maximum(gap, 0.0, out=gap)  # a right angle that was rounded may pass the threshold
    # 2. The denominator, over the k nearest; without an offset whatever comes after them is at the
    #    threshold and adds 0. No list is empty, which reduceat would not sum to 0.
    rank = np.arange(gap.size) - np.repeat(starts, counts) if offset > 0 else None
    total = np.add.reduceat(gap if rank is None else np.where(rank < others - 1, gap, 0.0), starts)
    if loops is not None:
        # The sample itself is at distance 0, and so its own t_i − d_ii is t_i.
        total += threshold
    # 3. The weights. Where the formula reads 0/0, its limit: 1/k for each of the k that count.
    even = np.flatnonzero(total == 0)
    total[even] = 1.0
    np.divide(gap, np.repeat(total, counts), out=gap)
    gap[starts[even, None] + np.arange(others - 1)] = 1 / k
    if loops is not None:
        np.divide(threshold, total, out=loops)
        loops[even] = 1 / k


def adaptive_neighbors_rows(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    offset: float = 0.0,
    **options: Any,
) -> Rows:
    """Return the function from new samples to their weights, which sum to 1 in every row.

    Only the k nearest get one, whatever the offset; a new sample is not among its own.
    """
    index = NeighborIndex(X, **options)
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
    return sparse_rows(found, weights, n)


DEFAULTS = defaults_of(adaptive_neighbors_graph)


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Cut k down so that a further sample is left to set the threshold."""
    parameters = {**DEFAULTS, **parameters}
    if n_samples == 2:
        parameters["include_self"] = True  # two samples leave no third
    most = n_samples - (1 if parameters["include_self"] or n_samples == 1 else 2)
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    return parameters


ADAPTIVE_NEIGHBORS = neighbor_affinity(adaptive_neighbors_graph, adaptive_neighbors_rows, _limited)
