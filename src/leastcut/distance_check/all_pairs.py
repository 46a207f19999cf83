"""Does a matrix look like distances?

The mistake to catch is a distance matrix passed as affinities, which would join the farthest
samples. It has a zero diagonal, as a graph without self-loops has, too. But distances differ from
affinities in two ways.

1. They obey the triangle inequality, d_ij ≤ d_ik + d_kj, and so do the roots of squared distances
   (and of distances all the more). A sparse graph does not, by far: where d_ij = 0 is not an edge,
   the rows i and j would have to be equal.
2. Samples that are near each other see the others alike. With E the matrix less what rows and
   columns explain by themselves, d_ij ≈ m + a_i + a_j + E_ij, near samples have E_ij < 0 and
   parallel rows of E: tr E³ = Σ_ij E_ij (E²)_ij is negative. Among affinities it is positive. If
   entries were independent it would be 0 on average, which says how much is significant.

Both are asked of a few rows and the columns of the same samples. Where these are mostly zeros, the
question is whether the others are distances of neighbours (see ``listed``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.distance_check.listed import entries_of, look_like_listed_distances
from leastcut.validation import warn_caller

FEWEST = 10
"""Samples below which there is too little evidence."""

MOST = 64
"""Samples that are examined; so many tell distances in a hundred dimensions from noise."""

SPARSE = 0.5
"""Part of the entries that are not 0, below which a matrix lists neighbours."""

TOLERANCE = 0.05
"""What the triangle inequality may be off by, as a fraction of the largest root in the row, so that
distances rounded to three digits pass."""

ROUNDING = 1e-9
"""What sums of entries, the largest of which is 1, are off by at most."""

METRIC = 0.9
"""The part of the rows that must obey the triangle inequality everywhere."""

SIGNIFICANT = 4.0
"""How many standard deviations −tr E³ must be above 0, or √n if that is less: independent weights
pass once in 200 times for n = 10 and none of 7200 times for n from 16 to 64."""

SEEING = 0.5
"""The part of the rows that must see as their nearest does more than as their farthest does, so
that a single odd entry does not decide."""


def warn_of_distances(matrix: sp.csr_array) -> None:
    """Warn where a graph that was passed looks like distances."""
    if looks_like_distances(matrix):
        warn_caller(
            "The graph looks like distances, not affinities: the triangle inequality holds, and "
            "nodes with a small entry between them see the others alike. A "
            "cut would join the farthest. Turn distances into affinities, np.exp(-D**2 / (2 * "
            "scale**2)), or build a graph from points with leastcut.adaptive_neighbors_graph(X). "
            "If these are affinities, ignore this warning or filter it."
        )


def looks_like_distances(X: Any) -> bool:
    """Tell whether a symmetric, non-negative matrix looks like distances or squared distances.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, n)

    Returns
    -------
    bool
        The same for both forms.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut.distance_check import looks_like_distances
    >>> x = np.arange(20.0)
    >>> distances = abs(x[:, None] - x)
    >>> looks_like_distances(distances), looks_like_distances(np.exp(-distances))
    (True, False)
    """
    n = X.shape[0]
    if n < FEWEST:
        return False
    # Evenly spread over the samples, which may be sorted by class.
    chosen = np.unique(np.linspace(0, n - 1, MOST).astype(np.int64))
    D = _between(X, chosen)
    positive = D[D > 0]
    if positive.size < SPARSE * D.size:
        # Sparse, in whichever form.
        return look_like_listed_distances(X if sp.issparse(X) else sp.csr_array(X))
    # A graph without weights is a graph. The diagonal comes last, as it takes a look at every row.
    if positive.min() == positive.max() or np.any(X.diagonal() != 0):
        return False
    # The largest entry is 1 from here on, which ROUNDING refers to.
    D = D / D.max()
    significant = min(SIGNIFICANT, np.sqrt(D.shape[0]))
    return bool(_obeys_triangles(D) and _sees_alike(D) and _third_moment(D) >= significant)


def _between(X: Any, chosen: np.ndarray) -> np.ndarray:
    """Return the entries between some samples, which are in order, from a look at their rows."""
    if not sp.issparse(X):
        return np.asarray(X[np.ix_(chosen, chosen)], dtype=np.float64)
    position, row = entries_of(X, chosen)
    column = np.minimum(np.searchsorted(chosen, X.indices[position]), chosen.size - 1)
    inside = chosen[column] == X.indices[position]
    D = np.zeros((chosen.size, chosen.size))
    D[row[inside], column[inside]] = X.data[position[inside]]
    return D


def _obeys_triangles(D: np.ndarray) -> bool:
    """Tell whether almost no row has an entry that a way round a third sample is shorter than."""
    roots = np.sqrt(D)
    # around_ij = min_k (root_ik + root_kj). For k = i it is root_ij itself, so that no excess is
    # negative.
    around = np.full(D.shape, np.inf)
    for row in roots:
        np.minimum(around, row[:, None] + row, out=around)
    excess = (roots - around).max(axis=1)
    return bool(np.mean(excess <= TOLERANCE * roots.max(axis=1)) >= METRIC)


def _sees_alike(D: np.ndarray) -> bool:
    """Tell whether rows are more like those of the nearest sample than those of the farthest."""
    rows = np.arange(D.shape[0])
    # A sample is not its own nearest, so the diagonal is out of the running.
    nearest = np.argmin(D + np.diag(np.full(rows.size, np.inf)), axis=1)
    farthest = np.argmax(D, axis=1)
    norms = np.square(D).sum(axis=1)
    # Σ_k (d_ik − d_jk)² over all third samples k
    unlike = norms[:, None] + norms - 2 * D @ D - 2 * np.square(D)
    return bool(np.mean(unlike[rows, nearest] < unlike[rows, farthest] - ROUNDING) >= SEEING)


def _third_moment(D: np.ndarray) -> float:
    """Return −tr E³ in standard deviations of what independent entries would give."""
    m = D.shape[0]
    # The least-squares fit of mean + a_i + a_j to the entries off the diagonal, with Σ_i a_i = 0.
    mean = D.sum() / (m * (m - 1))
    own = (D.sum(axis=1) - (m - 1) * mean) / (m - 2)
    E = D - mean - own[:, None] - own
    np.fill_diagonal(E, 0.0)
    deviation = np.sqrt(np.square(E).sum() / (m * (m - 1)))
    if deviation <= ROUNDING:
        return 0.0
    # Scaled to variance 1, tr E³ is 6 times a sum over m (m−1) (m−2) / 6 triangles, whose terms are
    # uncorrelated if entries are independent: its variance is 6 m (m−1) (m−2).
    E /= deviation
    return float(-np.sum(E @ E * E) / np.sqrt(6 * m * (m - 1) * (m - 2)))
