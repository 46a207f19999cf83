"""Does a sparse graph look like distances from samples to their neighbours?

The mistake to catch is ``kneighbors_graph(X, mode="distance")`` and its like passed as affinities.
Between neighbours of one sample the triangle inequality holds, for roots of squared distances too;
but among weights that are much alike it always does. What tells the two apart is whom a sample and
its neighbour both have for neighbours: the nearer they are, the more of them. So within the row of
a sample the weights of distances fall as the neighbours in common become more, in number and as a
part of all; those of affinities rise, or do neither.

It is asked of a few rows. Weights that repeat within a row, such as counts, are no distances.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

MOST_ROWS = 48
"""Rows that are examined."""

FEWEST_ROWS = 20
"""Rows with anything to tell, below which there is too little evidence."""

WIDEST, LONGEST = 24, 256
"""Neighbours of a row that are examined, at most, and their own, beyond which they are left out."""

FEWEST_TRIANGLES = 200
"""Neighbours of one row that are neighbours themselves, below which there is too little
evidence."""

VIOLATED = 1e-3
"""Part of the triangles that may violate the inequality: the mean of both directions may."""

ROUNDING = 1e-4
"""What the inequality may be off by, as a part of a root."""

NUMBER, PART = -2.5, -1.5
"""What the mean correlation with the number of neighbours in common, and with their part, must be
at most, times the root of the rows: no graph of affinities that was tried has less than −1 of both,
but for weights that repeat."""


def look_like_listed_distances(X: sp.csr_array) -> bool:
    """Tell whether the weights of a symmetric sparse graph look like distances of neighbours.

    Parameters
    ----------
    X : csr_array of shape (n, n)
        Non-negative, with sorted indices.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from leastcut.distance_check.listed import look_like_listed_distances
    >>> x = np.random.default_rng(0).random(200)
    >>> distances = abs(x[:, None] - x)
    >>> near = distances * (distances < 0.1)
    >>> far = np.exp(-10 * near) * (near > 0)
    >>> [look_like_listed_distances(sp.csr_array(S)) for S in (near, far)]
    [True, False]
    """
    n = X.shape[0]
    rows = np.unique(np.linspace(0, n - 1, MOST_ROWS).astype(np.int64))
    # 1. The neighbours of each row, evenly spread where they are many: pairs (row, neighbour).
    position, owner = entries_of(X, rows)
    start, stop = X.indptr[rows], X.indptr[rows + 1]
    step = np.maximum(1, -(-(stop - start) // WIDEST))[owner]
    near = X.indices[position].astype(np.int64)
    kept = ((position - start[owner]) % step == 0) & (near != rows[owner])
    kept &= X.indptr[near + 1] - X.indptr[near] <= LONGEST
    owner, near, weights = owner[kept], near[kept], X.data[position[kept]].astype(np.float64)
    # Rows in which more than half of the weights are different, and any pair of them.
    told = _different(owner, weights, rows.size) > 0.5 * np.bincount(owner, minlength=rows.size)
    told &= np.bincount(owner, minlength=rows.size) >= 3
    kept = told[owner]
    owner, near, weights = owner[kept], near[kept], weights[kept]
    if np.count_nonzero(told) < FEWEST_ROWS:
        return False
    # 2. The neighbours that a row and its neighbour both have: triangles of two pairs and an edge.
    #    Pairs come row by row, and by neighbour within a row: as keys they are sorted.
    position, first = entries_of(X, near)
    keys = owner * n + near
    wanted = owner[first] * n + X.indices[position]
    second = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    is_there = (keys[second] == wanted) & (second != first)
    first, second, position = first[is_there], second[is_there], position[is_there]
    if first.size < FEWEST_TRIANGLES:
        return False
    # 3. The triangle inequality.
    roots = np.sqrt(weights)
    around = (1.0 + ROUNDING) * (roots[first] + roots[second])
    if np.mean(np.sqrt(X.data[position]) > around) > VIOLATED:
        return False
    # 4. Weights fall with the neighbours in common.
    number = np.bincount(first, minlength=keys.size).astype(np.float64)
    part = number / (X.indptr[near + 1] - X.indptr[near])
    order = np.empty(keys.size)
    order[np.lexsort((weights, owner))] = np.arange(keys.size)
    return (
        _together(order, number, owner, rows.size) <= NUMBER
        and _together(order, part, owner, rows.size) <= PART
    )


def entries_of(X: sp.csr_array, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of all entries of some rows, and to which of the nodes each belongs."""
    start = X.indptr[nodes].astype(np.int64)
    length = X.indptr[nodes + 1].astype(np.int64) - start
    owner = np.repeat(np.arange(nodes.size), length)
    before = np.cumsum(length) - length
    return np.arange(owner.size) + (start - before)[owner], owner


def _different(owner: np.ndarray, weights: np.ndarray, n_rows: int) -> np.ndarray:
    """Return how many different weights every row has."""
    order = np.lexsort((weights, owner))
    rows, values = owner[order], weights[order]
    is_new = np.append(True, (rows[1:] != rows[:-1]) | (values[1:] != values[:-1]))
    return np.bincount(rows, is_new[: rows.size], minlength=n_rows)


def _together(x: np.ndarray, y: np.ndarray, owner: np.ndarray, n_rows: int) -> float:
    """Return the mean correlation of x and y within rows, times the root of the number of rows."""
    count = np.maximum(np.bincount(owner, minlength=n_rows), 1)
    x, y = (z - (np.bincount(owner, z, n_rows) / count)[owner] for z in (x, y))
    square_x, square_y, product = (np.bincount(owner, z, n_rows) for z in (x * x, y * y, x * y))
    # Rows in which neither is constant, but for rounding.
    told = (square_x > 0) & (square_y > 1e-12)
    if np.count_nonzero(told) < FEWEST_ROWS:
        return 0.0
    correlation = product[told] / np.sqrt(square_x[told] * square_y[told])
    return float(correlation.mean() * np.sqrt(correlation.size))
