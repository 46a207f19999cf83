"""Anchor graphs: anchors and weights of points, sums over points, and moves between clusters.

Moves need only the table of anchors and clusters. With T_jk the weight of cluster k at anchor j and
Λ_j = Σ_k T_jk, cluster k has

    n_k = Σ_j T_jk points,    boundary_k = Σ_j T_jk (Λ_j − T_jk) / Λ_j,

and the cut value is Σ_k boundary_k / n_k. A point with anchor weights w_j has the edge weight t_k =
Σ_j w_j T_jk / Λ_j into cluster k; the t_k sum to 1. With z = Σ_j w_j² / Λ_j, a move from a to k
changes

    boundary_a by 2 t_a − 1 − z    and    boundary_k by 1 − 2 t_k − z.

No move of a point can lower the value if t_a is above (1 + z + r) / 2, where r is the largest ratio
boundary_k / n_k, because no other t_k is above 1 − t_a. This holds for most points, which then cost
no more than this test.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel
from leastcut.kernels.containers import insert

LANES = 16  # partial sums that are accumulated in parallel, to hide the latency of additions


# -- anchors of points, and their weights


@kernel
def nearest_by_products(products, half_norms, indices, keys):
    """List, for every row of products, the anchors with the smallest h_j − xᵀa_j, ties by index.

    In: products (m, p) of points and anchors, half_norms (p,), half the squared norms of the
    anchors. Overwritten: indices (m, k) and keys (m, k). Keys are half the squared distances minus
    |x|²/2, which is the same for all anchors. O(m p).
    """
    m, p = products.shape
    k = indices.shape[1]
    for i in range(m):
        for q in range(k):
            keys[i, q] = np.inf
            indices[i, q] = 0
        worst = keys[i, k - 1]
        for j in range(p):
            key = half_norms[j] - products[i, j]
            if key < worst:
                insert(keys[i], indices[i], 0, k - 1, key, j)
                worst = keys[i, k - 1]


@kernel
def sort_by_distance(points, anchors, indices, squared, sums):
    """Compute squared distances to the listed anchors from differences, and sort, ties by index.

    In: points (m, d), anchors (p, d). Changed in place: indices (m, k). Overwritten: squared (m,
    k). Scratch: sums (LANES,). O(m k (d + k)).
    """
    m, d = points.shape
    k = indices.shape[1]
    n_full = d - d % LANES
    for i in range(m):
        for q in range(k):
            j = indices[i, q]
            sums[:] = 0.0
            for f in range(0, n_full, LANES):
                for lane in range(LANES):
                    difference = points[i, f + lane] - anchors[j, f + lane]
                    sums[lane] += difference * difference
            for f in range(n_full, d):
                difference = points[i, f] - anchors[j, f]
                sums[f - n_full] += difference * difference
            distance = 0.0
            for lane in range(LANES):
                distance += sums[lane]
            # The entries before it are sorted.
            insert(squared[i], indices[i], 0, q, distance, j)


@kernel
def compute_anchor_weights(squared, unit, weights):
    """Convert squared distances, nearest first, to weights that are multiples of ``unit``.

    In: squared (m, K + 1) or more columns, ascending. Overwritten: weights (m, K), each row of
    which sums to exactly 1. If all K + 1 distances are equal, so are the weights. O(m K).
    """
    m, count = weights.shape
    total_units = round(1.0 / unit)
    for i in range(m):
        next_distance = squared[i, count]
        total = 0.0
        for q in range(count):
            total += next_distance - squared[i, q]
        # Weights are also equal if distances overflow, as differences are then meaningless.
        equal = not 0.0 < total < np.inf
        remaining_units = total_units
        for q in range(1, count):
            weight = 1.0 / count if equal else (next_distance - squared[i, q]) / total
            units = int(weight * total_units + 0.5)
            weights[i, q] = units * unit
            remaining_units -= units
        # The nearest anchor, of largest weight, absorbs the rounding.
        weights[i, 0] = remaining_units * unit


@kernel
def add_to_centers(points, nearest, sums, counts):
    """Add every point to the sums of its nearest center. O(m d).

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
    """Add the contribution of the points to ZᵀZ. Changed in place: sums (p, p). O(m K²)."""
    for i in range(anchors.shape[0]):
        for q in range(anchors.shape[1]):
            # Double precision, as products of weights have twice as many bits.
            w = np.float64(weights[i, q])
            for r in range(anchors.shape[1]):
                sums[anchors[i, q], anchors[i, r]] += w * weights[i, r]


@kernel
def number_keys(keys, key_numbers, distinct):
    """Number the distinct keys in ascending order, and return their count.

    In: keys (m,), each below n_keys. Overwritten: key_numbers (n_keys,), the number of every key,
    or -1 if it does not occur, and distinct (n_keys,), the keys in order. O(m + n_keys).
    """
    key_numbers[:] = -1
    for i in range(keys.shape[0]):
        key_numbers[keys[i]] = 0
    count = 0
    for key in range(key_numbers.shape[0]):
        if key_numbers[key] == 0:
            key_numbers[key] = count
            distinct[count] = key
            count += 1
    return count


@kernel
def add_to_groups(anchors, weights, keys, key_numbers, sums):
    """Add the weights of points to their groups. Changed in place: sums (n_groups, p). O(m K)."""
    for i in range(anchors.shape[0]):
        group = key_numbers[keys[i]]
        for q in range(anchors.shape[1]):
            sums[group, anchors[i, q]] += weights[i, q]


@kernel
def compress_rows(sums, indptr, indices, values):
    """Write the nonzero entries in CSR form, or count them per row if ``indices`` is empty.

    In: sums (n, p). Overwritten: indptr (n + 1,) when counting, else indices and values. O(n p).
    """
    is_counting = indices.shape[0] == 0
    if is_counting:
        indptr[0] = 0
    for i in range(sums.shape[0]):
        position = indptr[i]
        for j in range(sums.shape[1]):
            if sums[i, j] != 0.0:
                if not is_counting:
                    indices[position] = j
                    values[position] = sums[i, j]
                position += 1
        if is_counting:
            indptr[i + 1] = position


# -- the table of anchors and clusters, and moves


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
def assign_by_anchors(anchors, weights, label_of_anchor, labels, links):
    """Assign each point to the cluster of most of its anchor weight, ties to the smaller label.

    In: label_of_anchor (p,). Overwritten: labels (m,). Scratch: links (c,). O(m K).
    """
    links[:] = 0.0
    for i in range(anchors.shape[0]):
        best = label_of_anchor[anchors[i, 0]]
        for q in range(anchors.shape[1]):
            k = label_of_anchor[anchors[i, q]]
            links[k] += weights[i, q]
            if links[k] > links[best] or (links[k] == links[best] and k < best):
                best = k
        labels[i] = best
        for q in range(anchors.shape[1]):
            links[label_of_anchor[anchors[i, q]]] = 0.0


@kernel
def sweep_points(anchors, weights, labels, inverse, sums, copies, tolerance, change, links):
    """Visit points in order, move each to the cluster where the value falls most; count the moves.

    A moving point is counted as ``copies`` points, so that the sums later points see anticipate the
    simultaneous moves of other blocks; with copies = 1 they are exact. Changed in place: labels
    (m,); sums, that is, table (p, c), boundary (c,), size (c,); and change (p, c), to which the
    actual moves are added. Scratch: links (c,). A move gains more than ``tolerance`` and empties no
    cluster. O(m K), plus O(K c) per point that might move.
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
        # 1. The edge weight into the current cluster. Most points are interior, and stay.
        link_a = 0.0
        z = 0.0
        for q in range(count):
            w = weights[i, q] * inverse[anchors[i, q]]
            link_a += w * table[anchors[i, q], a]
            z += w * weights[i, q]
        if link_a >= 0.5 * (1.0 + z + largest) or size[a] <= copies:
            continue
        # 2. The edge weights into all clusters, and the decrease of the value.
        links[:] = 0.0
        for q in range(count):
            j = anchors[i, q]
            w = weights[i, q] * inverse[j]
            for k in range(c):
                links[k] += w * table[j, k]
        removal = (1.0 - 2.0 * link_a + z - boundary[a] / size[a]) / (size[a] - 1.0)
        best = a
        gain = tolerance
        for k in range(c):
            insertion = (1.0 - 2.0 * links[k] - z - boundary[k] / size[k]) / (size[k] + 1.0)
            if k != a and removal - insertion > gain:
                best = k
                gain = removal - insertion
        if best == a:
            continue
        # 3. Move it and its copies, which have edges of weight z to each other, in both directions.
        labels[i] = best
        moves += 1
        internal = copies * copies * z
        boundary[a] += copies * (2.0 * link_a - 1.0) - internal
        boundary[best] += copies * (1.0 - 2.0 * links[best]) - internal
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
def assign_new_points(anchors, weights, inverse, clusters, labels, links):
    """Assign new points to the cluster where the value grows least, ties to the smaller label.

    ``clusters``: the table (p, c) divided by the masses of the anchors, the ratios boundary / size,
    and the sizes (c,). Overwritten: labels (m,). Scratch: links (c,). O(m K c).
    """
    table, ratio, size = clusters
    m, count = anchors.shape
    c = ratio.shape[0]
    for i in range(m):
        links[:] = 0.0
        z = 0.0
        for q in range(count):
            j = anchors[i, q]
            w = weights[i, q]
            z += w * w * inverse[j]
            for k in range(c):
                links[k] += w * table[j, k]
        best = 0
        least = (1.0 - 2.0 * links[0] - z - ratio[0]) / (size[0] + 1.0)
        for k in range(1, c):
            growth = (1.0 - 2.0 * links[k] - z - ratio[k]) / (size[k] + 1.0)
            if growth < least:
                best = k
                least = growth
        labels[i] = best
