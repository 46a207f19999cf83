"""Detection of distances that are passed as affinities.

A sample of the matrix is examined. Distances have a zero diagonal, like affinities without
self-loops, and varying entries. Two properties distinguish them from affinities.

1. If most entries are positive: distances obey the triangle inequality, and so do their square
   roots, which covers squared distances. Near samples also have similar rows: if
   d_ij ≈ m + a_i + a_j + E_ij, the product of the three sides of a triangle in E is negative on
   average. For affinities it is positive, and for independent entries 0.
2. If most entries are 0, as in neighbor lists: near neighbors share more neighbors with the sample,
   so distances decrease with the number of common neighbors, and affinities increase.

In ``benchmarks/ways_in.py`` all 110 dense distance matrices and 72 of 80 neighbor lists are
recognized, and none of 420 graphs is mistaken for distances. It misses neighbor lists in many
dimensions, long lists of few samples, distances with few distinct values, and matrices of fewer
than 10 samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.validation import warn_caller

FEWEST, MOST = 10, 64  # samples of a dense matrix that are needed, and that are examined
TOLERANCE = 0.05  # of the triangle inequality, relative to the largest root, for rounded distances
VIOLATED = 0.01  # fraction of the entries that may violate it
ROUNDING = 1e-9  # of sums of entries, the largest of which is 1
SIGNIFICANT = 4.0  # standard deviations of the products of E below 0, or √n if that is less
FEWEST_LISTS, MOST_LISTS = 20, 48  # neighbor lists that are needed, and that are examined
MOST_WORK = 2**15  # entries in the lists of the neighbors of one sample
DISTINCT = 0.85  # fraction of the entries that must differ: repeated weights are counts
FALLING = -2.5  # mean correlation with the common neighbors, times √(number of lists)


def warn_of_distances(matrix: sp.csr_array) -> None:
    """Warn if a graph looks like a distance matrix."""
    if looks_like_distances(matrix):
        warn_caller(
            "The graph looks like a distance matrix, not an affinity matrix: its diagonal is 0, "
            "and nodes with a small entry between them have similar rows. The clusters would join "
            "the most distant nodes. Convert distances to affinities, "
            "np.exp(-D**2 / (2 * scale**2)), or construct a graph from samples with "
            "leastcut.adaptive_neighbors_graph(X). If these are affinities, ignore or filter this "
            "warning."
        )


def looks_like_distances(X: Any) -> bool:
    """Return whether a symmetric, non-negative array or CSR matrix looks like (squared) distances.

    >>> x = np.arange(20.0)
    >>> distances = abs(x[:, None] - x)
    >>> looks_like_distances(distances), looks_like_distances(np.exp(-distances))
    (True, False)
    """
    if X.shape[0] < FEWEST:
        return False
    some = _spread(X.shape[0], MOST)
    D = X[some][:, some].toarray() if sp.issparse(X) else np.asarray(X[np.ix_(some, some)])
    positive = D[D > 0]
    if positive.size < 0.5 * D.size:
        is_alike = _are_neighbor_lists(sp.csr_array(X))
    else:
        is_alike = positive.min() < positive.max() and _is_dense(D / np.float64(positive.max()))
    # The diagonal is checked last, as it needs all rows.
    return bool(is_alike and not np.any(X.diagonal() != 0))


def _spread(n: int, most: int) -> np.ndarray:
    """Return evenly spaced indices of samples, which may be sorted by class."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.int64))


def _is_dense(D: np.ndarray) -> bool:
    """Return whether the triangle inequality holds, and near samples have similar rows."""
    m, roots = D.shape[0], np.sqrt(D)
    shortest = (roots[:, :, None] + roots).min(axis=1)  # min_k (root_ik + root_kj)
    if np.mean(roots > shortest + TOLERANCE) > VIOLATED:
        return False
    # At least half of the samples have a row more similar to that of their nearest sample than to
    # that of the farthest, by Σ_k (d_ik − d_jk)² over all third samples k.
    rows, norms = np.arange(m), np.square(D).sum(axis=1)
    unlike = norms[:, None] + norms - 2 * D @ D - 2 * np.square(D)
    nearest, farthest = np.argmin(D + np.diag(np.full(m, np.inf)), axis=1), np.argmax(D, axis=1)
    if np.mean(unlike[rows, nearest] < unlike[rows, farthest] - ROUNDING) < 0.5:
        return False
    # The least-squares fit of mean + a_i + a_j to the entries off the diagonal.
    mean = D.sum() / (m * (m - 1))
    a = (D.sum(axis=1) - (m - 1) * mean) / (m - 2)
    E = D - mean - a[:, None] - a
    np.fill_diagonal(E, 0.0)
    deviation = np.sqrt(np.square(E).sum() / (m * (m - 1)))
    # tr E³ is 6 times the sum of the products of all triangles, which are uncorrelated if entries
    # are independent. If all entries are equal, E is rounding error.
    unit = np.sqrt(6 * m * (m - 1) * (m - 2)) * deviation**3
    return bool(deviation > ROUNDING and -np.sum(E @ E * E) >= min(SIGNIFICANT, np.sqrt(m)) * unit)


def _are_neighbor_lists(X: sp.csr_array) -> bool:
    """Return whether weights in neighbor lists decrease with the number of common neighbors."""
    degree = np.diff(X.indptr)
    lists = X[_spread(X.shape[0], MOST_LISTS)]
    owner = np.repeat(np.arange(lists.shape[0]), np.diff(lists.indptr))
    work = np.bincount(owner, degree[lists.indices], minlength=lists.shape[0])
    if work.max(initial=0) > MOST_WORK:
        lists = lists[work <= MOST_WORK]
        owner = np.repeat(np.arange(lists.shape[0]), np.diff(lists.indptr))
    if np.unique(owner + 1j * lists.data).size < max(DISTINCT * owner.size, 1):
        return False
    near, column = np.unique(lists.indices, return_inverse=True)
    ones, shape = np.ones(column.size), (lists.shape[0], near.size)
    of_list = sp.csr_array((ones, column, lists.indptr), shape=shape)
    joined = X[near][:, near].astype(bool).astype(np.float64)
    # The number of common neighbors, divided by √degree of the neighbor: a cosine similarity.
    common = (of_list @ joined)[owner, column] / np.sqrt(degree[lists.indices])
    result = _correlations(owner, lists.data / lists.data.max(), common)
    return result.size >= FEWEST_LISTS and bool(result.mean() * np.sqrt(result.size) <= FALLING)


def _correlations(owner: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation of x and y within every group in which neither is constant."""
    count = np.maximum(np.bincount(owner), 1)
    x, y = (z - (np.bincount(owner, z) / count)[owner] for z in (x, y))
    xx, yy, xy = (np.bincount(owner, z) for z in (x * x, y * y, x * y))
    varies = (xx > 1e-12) & (yy > 1e-12)
    return np.asarray(xy[varies] / np.sqrt(xx[varies] * yy[varies]))
