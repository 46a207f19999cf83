"""Moves of points on an anchor graph, through the table of clusters and anchors alone.

With T_jk the weight that cluster k has at anchor j and Λ_j = Σ_k T_jk, cluster k has

    n_k = Σ_j T_jk points,    boundary_k = Σ_j T_jk (Λ_j − T_jk) / Λ_j,

and the value of the cut is Σ_k boundary_k / n_k. A point with weights w_j is tied to cluster k by
t_k = Σ_j w_j T_jk / Λ_j; these add up to 1. With z = Σ_j w_j² / Λ_j, its move from a to k changes

    boundary_a by 2 t_a − 1 − z    and    boundary_k by 1 − 2 t_k − z.

A point that is tied to its own cluster by more than (1 + z + r) / 2, r the largest of the ratios
boundary_k / n_k, cannot gain by any move: no other tie is above 1 − t_a. Most points are so, and
cost no more than that.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel
from leastcut.kernels.containers import insert

LANES = 16  # sums that are carried side by side, so that adding up does not wait for itself


# -- anchors of points, and their weights


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
                insert(keys[i], listed[i], 0, k - 1, key, j)
                worst = keys[i, k - 1]


@kernel
def sort_by_distance(points, anchors, listed, squared, sums):
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
            insert(squared[i], listed[i], 0, q, distance, j)


@kernel
def compute_anchor_weights(squared, unit, weights):
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
def add_to_centers(points, nearest, sums, counts):
    """Add every point to the sums of its nearest centre. O(m d).

    In: points (m, d), nearest (m, 1). Changed in place: sums (p, d), counts (p,).
    """
    for i in range(points.shape[0]):
        j = nearest[i, 0]
        counts[j] += 1
        for f in range(points.shape[1]):
            sums[j, f] += points[i, f]


# -- sums over points


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
def compress_rows(sums, indptr, indices, values):
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


# -- the table, and moves


@kernel
def add_to_table(anchors, weights, labels, table):
    """Add the weights of points to the table. Changed in place: table (p, c). O(m K)."""
    for i in range(anchors.shape[0]):
        k = labels[i]
        for q in range(anchors.shape[1]):
            table[anchors[i, q], k] += weights[i, q]


@kernel
def add_to_masses(anchors, weights, masses):
    """Add the weights of points to the masses of anchors. Changed in place: masses (p,). O(m K)."""
    for i in range(anchors.shape[0]):
        for q in range(anchors.shape[1]):
            masses[anchors[i, q]] += weights[i, q]


@kernel
def assign_by_anchors(anchors, weights, label_of_anchor, labels, ties):
    """Give points the cluster that most of their weight lies in, ties to the smaller number.

    In: label_of_anchor (p,). Overwritten: labels (m,). Scratch: ties (c,). O(m K).
    """
    ties[:] = 0.0
    for i in range(anchors.shape[0]):
        best = label_of_anchor[anchors[i, 0]]
        for q in range(anchors.shape[1]):
            k = label_of_anchor[anchors[i, q]]
            ties[k] += weights[i, q]
            if ties[k] > ties[best] or (ties[k] == ties[best] and k < best):
                best = k
        labels[i] = best
        for q in range(anchors.shape[1]):
            ties[label_of_anchor[anchors[i, q]]] = 0.0


@kernel
def sweep_points(anchors, weights, labels, inverse, sums, copies, tolerance, change, ties):
    """Visit points in order, move each to the cluster where the value falls most; count the moves.

    Every point that moves is taken to move with ``copies`` others like it, elsewhere: the tables
    that later points see anticipate what other blocks do at the same time. With 1 they are exact.
    Changed in place: labels (m,); sums, which are table (p, c), boundary (c,), size (c,); and
    change (p, c), to which exactly what moved is added. Scratch: ties (c,). Moves gain more than
    ``tolerance`` and empty no cluster. O(m K), and O(K c) for points that might move.
    """
    table, boundary, size = sums
    m, count = anchors.shape
    c = boundary.shape[0]
    moves = 0
    largest = 0.0
    for k in range(c):
        largest = max(largest, boundary[k] / size[k])
    for i in range(m):
        a = labels[i]
        # 1. Its tie to its own cluster. Most points are inside, and stay.
        own = 0.0
        z = 0.0
        for q in range(count):
            w = weights[i, q] * inverse[anchors[i, q]]
            own += w * table[anchors[i, q], a]
            z += w * weights[i, q]
        if own >= 0.5 * (1.0 + z + largest) or size[a] <= copies:
            continue
        # 2. Its ties to all, and what the value falls by.
        ties[:] = 0.0
        for q in range(count):
            j = anchors[i, q]
            w = weights[i, q] * inverse[j]
            for k in range(c):
                ties[k] += w * table[j, k]
        leaving = (1.0 - 2.0 * own + z - boundary[a] / size[a]) / (size[a] - 1.0)
        best = a
        gain = tolerance
        for k in range(c):
            joining = (1.0 - 2.0 * ties[k] - z - boundary[k] / size[k]) / (size[k] + 1.0)
            if k != a and leaving - joining > gain:
                best = k
                gain = leaving - joining
        if best == a:
            continue
        # 3. Move it, and its copies with it: between themselves they are tied by z each way.
        labels[i] = best
        moves += 1
        among = copies * copies * z
        boundary[a] += copies * (2.0 * own - 1.0) - among
        boundary[best] += copies * (1.0 - 2.0 * ties[best]) - among
        size[a] -= copies
        size[best] += copies
        for q in range(count):
            j = anchors[i, q]
            w = weights[i, q]
            table[j, a] -= copies * w
            table[j, best] += copies * w
            change[j, a] -= w
            change[j, best] += w
        largest = max(largest, boundary[a] / size[a], boundary[best] / size[best])
    return moves


@kernel
def assign_new_points(anchors, weights, inverse, clusters, labels, ties):
    """Give new points the cluster where the value grows least, ties to the smaller number.

    ``clusters``: the table (p, c) divided by masses, the ratios of boundary and size, and the sizes
    (c,). Overwritten: labels (m,). Scratch: ties (c,). O(m K c).
    """
    shares, ratio, size = clusters
    m, count = anchors.shape
    c = ratio.shape[0]
    for i in range(m):
        ties[:] = 0.0
        z = 0.0
        for q in range(count):
            j = anchors[i, q]
            w = weights[i, q]
            z += w * w * inverse[j]
            for k in range(c):
                ties[k] += w * shares[j, k]
        best = 0
        least = (1.0 - 2.0 * ties[0] - z - ratio[0]) / (size[0] + 1.0)
        for k in range(1, c):
            grown = (1.0 - 2.0 * ties[k] - z - ratio[k]) / (size[k] + 1.0)
            if grown < least:
                best = k
                least = grown
        labels[i] = best
