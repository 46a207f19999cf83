"""The greedy sweep that improved rotation, first order and direct cut share.

It climbs ⟨T, G(Y)⟩ = Σ_k score_sums_k / √b(C_k) with score_sums_k = Σ_{i∈C_k} score_ik, where
score_ik = √b_i T_ik: row by row, each to the cluster where it gains most (the paper's δ_ij).
"""

from __future__ import annotations

from math import sqrt

from leastcut.kernels import kernel


@kernel
def cluster_sums(rows, node_weights, labels, sums, cluster_weights, count):
    """Sum rows and node weights by cluster, and count. Overwritten: the last three. O(n p)."""
    sums[:] = 0.0
    cluster_weights[:] = 0.0
    count[:] = 0
    for i in range(rows.shape[0]):
        k = labels[i]
        cluster_weights[k] += node_weights[i]
        count[k] += 1
        for p in range(rows.shape[1]):
            sums[k, p] += rows[i, p]


@kernel
def sweep(scores, node_weights, labels, score_sums, cluster_weights, count, share, gain):
    """Visit the rows in order, move each to the cluster of largest gain; return moves, objective.

    Changed in place: labels (n,). Scratch (c,): score_sums, cluster_weights, count, share, gain;
    sums are taken afresh, so rounding cannot drift from one sweep to the next. Guaranteed: the
    objective never falls (ties go to the first cluster), and no cluster is emptied. O(n c).
    """
    n, c = scores.shape
    # 1. The sums of the partition as it is.
    score_sums[:] = 0.0
    cluster_weights[:] = 0.0
    count[:] = 0
    for i in range(n):
        k = labels[i]
        score_sums[k] += scores[i, k]
        cluster_weights[k] += node_weights[i]
        count[k] += 1
    # share_k is the term of cluster k in the objective. The caller's labels leave no cluster empty.
    for k in range(c):
        share[k] = score_sums[k] / sqrt(cluster_weights[k])

    # 2. Every row in turn. At its head the sums, shares and counts are those of the labels, which
    #    rows before have changed.
    moves = 0
    for i in range(n):
        a = labels[i]
        b = node_weights[i]
        # What is left of a cluster without i may round to nothing beside a heavy node; i then
        # stays.
        rest = cluster_weights[a] - b
        if count[a] == 1 or rest <= 0.0:
            continue
        row = scores[i]
        # The paper's δ_ij: what the term of k gains by having i, another cluster's by i joining it,
        # its own by i not leaving. A move to the largest adds δ_i,best − δ_i,own ≥ 0.
        for k in range(c):
            gain[k] = (score_sums[k] + row[k]) / sqrt(cluster_weights[k] + b) - share[k]
        gain[a] = share[a] - (score_sums[a] - row[a]) / sqrt(rest)
        best, top = 0, gain[0]
        for k in range(1, c):
            value = gain[k]  # selects, not branches: which cluster wins is unpredictable
            best = k if value > top else best
            top = value if value > top else top
        # 3. Move it, and bring the terms of the two clusters up to date, O(1).
        if best != a:
            labels[i] = best
            score_sums[a] -= row[a]
            cluster_weights[a] = rest
            count[a] -= 1
            share[a] = score_sums[a] / sqrt(rest)
            score_sums[best] += row[best]
            cluster_weights[best] += b
            count[best] += 1
            share[best] = score_sums[best] / sqrt(cluster_weights[best])
            moves += 1

    objective = 0.0
    for k in range(c):
        objective += share[k]
    return moves, objective
