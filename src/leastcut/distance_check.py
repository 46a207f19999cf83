"""Does a matrix that was passed as affinities hold distances? A cut would join the farthest.

A sample of the matrix is examined. Distances have a zero diagonal, as affinities without self-loops
have, and entries of different size. Two properties tell them from affinities.

1. If most entries are positive: distances obey the triangle inequality, and so do their square
   roots, which covers squared distances. And near samples see the others alike: if
   d_ij ≈ m + a_i + a_j + E_ij, the product of the three sides of a triangle in E is negative on
   average. Among affinities it is positive, and among independent entries 0.
2. If most entries are 0, as in lists of neighbors: the nearer a neighbor is, the more neighbors it
   shares with the sample, so that distances fall with the number in common and affinities rise.

In ``benchmarks/ways_in.py`` all 110 full matrices of distances and 72 of 80 lists are recognized,
and none of 420 graphs is taken for distances. What is missed: lists in many dimensions, long lists
of few samples, distances with few different values, and matrices of fewer than 10 samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.validation import warn_caller

FEWEST, MOST = 10, 64  # samples of a full matrix: fewer are no evidence, and more are not needed
TOLERANCE = 0.05  # of the triangle inequality, relative to the largest root: distances are rounded
VIOLATED = 0.01  # fraction of the entries that may violate it
ROUNDING = 1e-9  # of sums of entries, the largest of which is 1
SIGNIFICANT = 4.0  # standard deviations of the products of E below 0, or √n if that is less
FEWEST_LISTS, MOST_LISTS = 20, 48  # lists of neighbors that are examined
MOST_WORK = 2**15  # entries in the lists of the neighbors of one sample
DISTINCT = 0.85  # fraction of the entries that must differ: weights that repeat are counts
FALLING = -2.5  # mean correlation with the neighbors in common, times √(number of lists)


def warn_of_distances(matrix: sp.csr_array) -> None:
    """Warn if a graph that was passed looks like distances."""
    if looks_like_distances(matrix):
        warn_caller(
            "The graph looks like distances, not affinities: nodes with a small entry between them "
            "see the others alike. A cut would join the farthest. Turn distances into affinities, "
            "np.exp(-D**2 / (2 * scale**2)), or build a graph from points with "
            "leastcut.adaptive_neighbors_graph(X). If these are affinities, ignore this warning or "
            "filter it."
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
        found = _are_listed(sp.csr_array(X))
    else:
        found = positive.min() < positive.max() and _are_full(D / np.float64(positive.max()))
    # The diagonal comes last, as it takes a look at every row.
    return bool(found and not np.any(X.diagonal() != 0))


def _spread(n: int, most: int) -> np.ndarray:
    """Return some samples, evenly spread, as they may be sorted by class."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.int64))


def _are_full(D: np.ndarray) -> bool:
    """Return whether the triangle inequality holds, and near samples see the others alike."""
    m, roots = D.shape[0], np.sqrt(D)
    shortest = (roots[:, :, None] + roots).min(axis=1)  # min_k (root_ik + root_kj)
    if np.mean(roots > shortest + TOLERANCE) > VIOLATED:
        return False
    # At least half of the samples see all others as their nearest does rather than the farthest,
    # so that a single odd entry does not decide: Σ_k (d_ik − d_jk)² over all third samples k.
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
    # tr E³ is 6 times the sum of the products of all triangles, uncorrelated if entries are
    # independent. If all entries are equal, nothing but rounding is left.
    unit = np.sqrt(6 * m * (m - 1) * (m - 2)) * deviation**3
    return bool(deviation > ROUNDING and -np.sum(E @ E * E) >= min(SIGNIFICANT, np.sqrt(m)) * unit)


def _are_listed(X: sp.csr_array) -> bool:
    """Return whether weights in lists of neighbors fall with the number of neighbors in common."""
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
    # Neighbors in common, relative to the root of the neighbor's own: the cosine of both lists.
    common = (of_list @ joined)[owner, column] / np.sqrt(degree[lists.indices])
    found = _correlations(owner, lists.data / lists.data.max(), common)
    return found.size >= FEWEST_LISTS and bool(found.mean() * np.sqrt(found.size) <= FALLING)


def _correlations(owner: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation of x and y within every group in which neither is constant."""
    count = np.maximum(np.bincount(owner), 1)
    x, y = (z - (np.bincount(owner, z) / count)[owner] for z in (x, y))
    xx, yy, xy = (np.bincount(owner, z) for z in (x * x, y * y, x * y))
    varies = (xx > 1e-12) & (yy > 1e-12)
    return np.asarray(xy[varies] / np.sqrt(xx[varies] * yy[varies]))
