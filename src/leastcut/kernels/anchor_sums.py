"""Sums over points for graphs of the size of the anchors, in arrays that are then compressed."""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel


@kernel
def add_anchor_products(anchors, weights, sums):
    """Add what points contribute to ZᵀZ, in their order. Changed in place: sums (p, p). O(m K²)."""
    for i in range(anchors.shape[0]):
        for q in range(anchors.shape[1]):
            # In double precision: products of weights have twice as many bits as they.
            w = np.float64(weights[i, q])
            for r in range(anchors.shape[1]):
                sums[anchors[i, q], anchors[i, r]] += w * weights[i, r]


@kernel
def number_keys(keys, places, found):
    """Number the keys that there are, ascending, and return how many.

    In: keys (m,). Overwritten: places (n_keys,), the number of every key, -1 of one that is not
    there, and found (n_keys,), the keys in order. O(m + n_keys).
    """
    places[:] = -1
    for i in range(keys.shape[0]):
        places[keys[i]] = 0
    count = 0
    for key in range(places.shape[0]):
        if places[key] == 0:
            places[key] = count
            found[count] = key
            count += 1
    return count


@kernel
def add_to_groups(anchors, weights, keys, places, sums):
    """Add the weights of points to their groups. Changed in place: sums (n_groups, p). O(m K)."""
    for i in range(anchors.shape[0]):
        group = places[keys[i]]
        for q in range(anchors.shape[1]):
            sums[group, anchors[i, q]] += weights[i, q]


@kernel
def compress(sums, indptr, indices, values):
    """Put the entries that are not 0 in CSR form; without room for them, count them row by row.

    In: sums (n, p). Overwritten: indptr (n + 1,) if ``indices`` is empty, else indices and values.
    """
    counts = indices.shape[0] == 0
    if counts:
        indptr[0] = 0
    for i in range(sums.shape[0]):
        place = indptr[i]
        for j in range(sums.shape[1]):
            if sums[i, j] != 0.0:
                if not counts:
                    indices[place] = j
                    values[place] = sums[i, j]
                place += 1
        if counts:
            indptr[i + 1] = place
