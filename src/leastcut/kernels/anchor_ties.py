"""Points and their nearest anchors: candidates from products, distances from differences, weights.

Weights fall with the squared distance: of a point with squared distances d_1 ≤ … ≤ d_K to its
anchors and d_{K+1} to the next, anchor q has d_{K+1} − d_q over the sum of these, rounded to a
multiple of a unit so that every row adds up to exactly 1.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel

LANES = 16
"""Sums that are carried side by side, so that adding up does not wait for itself."""


@kernel
def nearest_by_products(products, halves, listed, keys):
    """List, for every row of products, the anchors with the smallest h_j − xᵀa_j, ties by number.

    In: products (m, p) of points and anchors, halves (p,) half the squared norms of anchors.
    Overwritten: listed (m, k) and keys (m, k). Keys are half the squared distances less |x|²/2,
    which is the same for all anchors. O(m p).
    """
    m, p = products.shape
    k = listed.shape[1]
    for i in range(m):
        for q in range(k):
            keys[i, q] = np.inf
            listed[i, q] = 0
        worst = keys[i, k - 1]
        for j in range(p):
            key = halves[j] - products[i, j]
            if key < worst:
                q = k - 1
                while q > 0 and keys[i, q - 1] > key:
                    keys[i, q] = keys[i, q - 1]
                    listed[i, q] = listed[i, q - 1]
                    q -= 1
                keys[i, q] = key
                listed[i, q] = j
                worst = keys[i, k - 1]


@kernel
def settle_distances(points, anchors, listed, squared, sums):
    """Compute squared distances to listed anchors by differences, and sort by them, ties by number.

    In: points (m, d), anchors (p, d). Changed in place: listed (m, k). Overwritten: squared (m, k).
    Scratch: sums (LANES,). O(m k d).
    """
    m, d = points.shape
    k = listed.shape[1]
    whole = d - d % LANES
    for i in range(m):
        for q in range(k):
            j = listed[i, q]
            sums[:] = 0.0
            for f in range(0, whole, LANES):
                for lane in range(LANES):
                    difference = points[i, f + lane] - anchors[j, f + lane]
                    sums[lane] += difference * difference
            for f in range(whole, d):
                difference = points[i, f] - anchors[j, f]
                sums[f - whole] += difference * difference
            distance = 0.0
            for lane in range(LANES):
                distance += sums[lane]
            # Those before it are in order; it goes where it belongs among them.
            r = q
            while r > 0 and (
                squared[i, r - 1] > distance
                or (squared[i, r - 1] == distance and listed[i, r - 1] > j)
            ):
                squared[i, r] = squared[i, r - 1]
                listed[i, r] = listed[i, r - 1]
                r -= 1
            squared[i, r] = distance
            listed[i, r] = j


@kernel
def weigh_ties(squared, unit, weights):
    """Turn squared distances, nearest first, into weights that are multiples of ``unit``.

    In: squared (m, K + 1) or more columns, ascending. Overwritten: weights (m, K), adding up to
    exactly 1 in every row. Where all K + 1 are equally far, so are the weights. O(m K).
    """
    m, count = weights.shape
    whole = round(1.0 / unit)
    for i in range(m):
        beyond = squared[i, count]
        total = 0.0
        for q in range(count):
            total += beyond - squared[i, q]
        # Also where distances are beyond the range of numbers: no order can be told then.
        equal = not 0.0 < total < np.inf
        rest = whole
        for q in range(1, count):
            share = 1.0 / count if equal else (beyond - squared[i, q]) / total
            units = int(share * whole + 0.5)
            weights[i, q] = units * unit
            rest -= units
        # The nearest has the largest share, which takes what rounding leaves.
        weights[i, 0] = rest * unit


@kernel
def add_to_centres(points, nearest, sums, counts):
    """Add every point to the sums of its nearest centre. O(m d).

    In: points (m, d), nearest (m, 1). Changed in place: sums (p, d), counts (p,).
    """
    for i in range(points.shape[0]):
        j = nearest[i, 0]
        counts[j] += 1
        for f in range(points.shape[1]):
            sums[j, f] += points[i, f]
