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

from leastcut.kernels import kernel


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
def follow_anchors(anchors, weights, label_of_anchor, labels, ties):
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
    that later points see foresee what other blocks do at the same time. With 1 they are exact.

    In: anchors, weights (m, K); inverse (p,) of masses. Changed in place: labels (m,); sums, which
    are table (p, c), boundary (c,), size (c,); and change (p, c), to which exactly what moved is
    added. Scratch: ties (c,). Moves gain more than ``tolerance`` and empty no cluster.
    O(m K), and O(K c) for points that might move.
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
def join_clusters(anchors, weights, inverse, clusters, labels, ties):
    """Give new points the cluster where the value grows least, ties to the smaller number.

    In: anchors, weights (m, K); inverse (p,) of masses; clusters, which are the table (p, c)
    divided by masses, the ratios of boundary and size (c,), and the sizes (c,). Overwritten:
    labels (m,). Scratch: ties (c,). O(m K c).
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
