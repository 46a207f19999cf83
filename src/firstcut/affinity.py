"""From samples to a graph: sparse affinities on exact nearest neighbours.

With d_ij the squared Euclidean distance, d_i^(1) ≤ d_i^(2) ≤ … those of sample i in order, and
S symmetrised in the end:

====================  =========================================================================
adaptive_neighbors    S_ij = max(t_i − d_ij, 0) / Σ_{j≤k} (t_i − d_i^(j)),  t_i = d_i^(k+1) + offset
nearest_neighbors     S_ij = 1 if j is among the k nearest of i
self_tuning           S_ij = exp(−d_ij / (σ_i σ_j)), σ_i the distance to the s-th neighbour
====================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.inputs import check_count
from firstcut.neighbors import Neighborhoods, nearest_others


def adaptive_neighbors_graph(
    X: Any,
    n_neighbors: int = 10,
    include_self: bool = True,
    offset: float = 0.0,
    *,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """Return the graph of adaptive neighbours: weights that fall linearly to 0 at the (k+1)-th.

    Each sample spreads a total weight of 1 over its k nearest, the most to the nearest; this is
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
    points = _samples(X)
    n = points.shape[0]
    k = check_count("n_neighbors", n_neighbors)
    offset = _check_offset(offset)
    others = k if include_self else k + 1
    _check_enough(n, others, "n_neighbors", k, include_self)
    points, offset = _scaled(points, offset)
    near = nearest_others(points, others, offset, n_jobs)

    starts = near.indptr[:-1]
    counts = np.diff(near.indptr)
    threshold = near.squared[starts + others - 1] + offset
    gap = np.repeat(threshold, counts) - near.squared
    rank = np.arange(gap.size) - np.repeat(starts, counts)
    counted = rank < others - 1  # with the sample itself, where it counts, these are the k nearest
    total = np.add.reduceat(np.where(counted, gap, 0.0), starts)
    if include_self:
        total += threshold
    even = total == 0
    with np.errstate(invalid="ignore"):
        weights = np.where(np.repeat(even, counts), counted / k, gap / np.repeat(total, counts))
    graph = _directed(near, weights)
    if include_self:
        own = np.divide(threshold, total, out=np.full(n, 1 / k), where=~even)
        graph = graph + sp.diags_array(own, format="csr")
    return _average(graph)


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
    points = _samples(X)
    k = check_count("n_neighbors", n_neighbors)
    others = k - 1 if include_self else k
    _check_enough(points.shape[0], others, "n_neighbors", k, include_self)
    points, _ = _scaled(points)
    near = nearest_others(points, others, n_jobs=n_jobs)
    graph = _directed(near, np.ones(near.indices.size))
    if include_self:
        graph = graph + sp.eye_array(points.shape[0], format="csr")
    return _average(graph)


def self_tuning_graph(
    X: Any, n_neighbors: int = 10, scale_neighbor: int = 7, *, n_jobs: int | None = None
) -> sp.csr_array:
    """Return the Gaussian k-nearest-neighbour graph whose width adapts to the density around.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        The samples.
    n_neighbors : int, default=10
        k; two samples are joined if either is among the k nearest others of the other.
    scale_neighbor : int, default=7
        The distance to this neighbour is the scale σ_i of a sample.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The graph does not depend on it.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, without self-loops. Duplicates are joined by weight 1; a weight too small for a
        float is the smallest normal float instead of 0, so every neighbour stays joined.

    References
    ----------
    L. Zelnik-Manor, P. Perona, "Self-tuning spectral clustering", NIPS 2004.

    Examples
    --------
    >>> import firstcut
    >>> X = [[0.0], [1.0], [3.0]]
    >>> firstcut.self_tuning_graph(X, n_neighbors=1, scale_neighbor=1).toarray().round(3)
    array([[0.   , 0.368, 0.   ],
           [0.368, 0.   , 0.135],
           [0.   , 0.135, 0.   ]])
    """
    points = _samples(X)
    k = check_count("n_neighbors", n_neighbors)
    s = check_count("scale_neighbor", scale_neighbor)
    _check_enough(points.shape[0], k, "n_neighbors", k, False)
    _check_enough(points.shape[0], s, "scale_neighbor", s, False)
    points, _ = _scaled(points)
    n, width = points.shape[0], max(k, s)
    near = nearest_others(points, width, n_jobs=n_jobs)
    scale = np.sqrt(near.squared.reshape(n, width)[:, s - 1])
    squared = near.squared.reshape(n, width)[:, :k].reshape(-1)
    indices = near.indices.reshape(n, width)[:, :k].reshape(-1)
    exponent = np.zeros(squared.size)
    with np.errstate(divide="ignore", over="ignore"):
        product = np.repeat(scale, k) * scale[indices]
        np.divide(squared, product, out=exponent, where=squared > 0)
    weights = np.maximum(np.exp(-exponent), np.finfo(np.float64).tiny)
    graph = _directed(Neighborhoods(np.arange(0, n * k + 1, k), indices, squared), weights)
    return sp.csr_array(graph.maximum(graph.T.tocsr()))


AFFINITIES: dict[str, Callable[..., sp.csr_array]] = {
    "adaptive_neighbors": adaptive_neighbors_graph,
    "nearest_neighbors": nearest_neighbors_graph,
    "self_tuning": self_tuning_graph,
}
"""The named ways from samples to a graph; all start with ``(X, n_neighbors)``."""


def _directed(near: Neighborhoods, weights: np.ndarray) -> sp.csr_array:
    """Return the matrix with these weights from every sample to those it lists; no zeros stored."""
    n = near.indptr.size - 1
    fits = 2 * weights.size + n < np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    indices, indptr = near.indices.astype(index), near.indptr.astype(index)
    graph = sp.csr_array((weights, indices, indptr), shape=(n, n))
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def _average(graph: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((graph + graph.T.tocsr()) * 0.5)


def _samples(X: Any) -> Any:
    """Return X as finite float64 in C order (or CSR), not changing the caller's."""
    points = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if points.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, one row per sample, but its shape is {points.shape}. "
            "Use X.reshape(-1, 1) for a single feature, X.reshape(len(X), -1) for images."
        )
    if 0 in points.shape:
        raise ValueError(f"X has shape {points.shape}: there is nothing to compare.")
    if points.dtype.kind not in "fiubO":
        raise ValueError(
            f"X must hold real numbers, but its dtype is {points.dtype}; convert it first."
        )
    if sp.issparse(points):
        points = points.astype(np.float64)
    else:
        points = np.ascontiguousarray(points, dtype=np.float64)
    _check_finite(points)
    return points


def _check_finite(points: Any) -> None:
    """Raise if a value is NaN or infinite, saying how many are and where the first is."""
    bad = ~np.isfinite(points.data if sp.issparse(points) else points)
    count = int(np.count_nonzero(bad))
    if count == 0:
        return
    rows, columns = points.tocoo().coords if sp.issparse(points) else np.indices(points.shape)
    row, column = int(rows[bad][0]), int(columns[bad][0])
    raise ValueError(
        f"X has {count} NaN or infinite {'value' if count == 1 else 'values'}; the first is "
        f"{points[row, column]} at ({row}, {column}). Drop those samples or fill the values in."
    )


def _scaled(points: Any, offset: float = 0.0) -> tuple[Any, float]:
    """Scale by a power of two, which rounds nothing, if squares would overflow or vanish.

    The offset is scaled along. Beside an offset, samples too small to be squared are all equal.
    """
    largest = max(float(points.max()), -float(points.min()))
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) <= 250 or (offset > 0 and exponent < 0):
        return points, offset
    offset = float(np.ldexp(offset, -2 * exponent))
    if not sp.issparse(points):
        return np.ldexp(points, -exponent), offset
    points = points.copy()
    points.data = np.ldexp(points.data, -exponent)
    return points, offset


def _check_offset(offset: float) -> float:
    if not (isinstance(offset, Real) and np.isfinite(offset) and offset >= 0):
        raise ValueError(f"offset={offset!r} must be a finite number, 0 or more.")
    return float(offset)


def _check_enough(n: int, others: int, name: str, value: int, include_self: bool) -> None:
    if others > n - 1:
        most = value - (others - (n - 1))
        raise ValueError(
            f"{name}={value} needs at least {others + 1} samples"
            f"{' (the sample itself counts as one)' if include_self else ''}, but X has {n}; "
            + (f"pass {name}={most} or less." if most >= 1 else "pass more samples.")
        )
