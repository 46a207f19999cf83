"""The greedy sweep of improved spectral rotation, the first-order method and direct cut.

It increases ⟨T, G(Y)⟩ = Σ_k score_sums_k / √b(C_k), where score_sums_k = Σ_{i∈C_k} score_ik and
score_ik = √b_i T_ik: each row moves to the cluster of largest gain (the paper's δ_ij).
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
def sweep(scores, node_weights, labels, score_sums, cluster_weights, count, term, gain):
    """Visit the rows in order, move each to the cluster of largest gain; return moves, objective.

    Changed in place: labels (n,). Scratch (c,): score_sums, cluster_weights, count, term, gain;
    sums are recomputed, so rounding errors do not accumulate over sweeps. The objective never falls
    (ties go to the first cluster), and no cluster is emptied. O(n c).
    """
    n, c = scores.shape
    # 1. The sums of the current partition.
    score_sums[:] = 0.0
    cluster_weights[:] = 0.0
    count[:] = 0
    for i in range(n):
        k = labels[i]
        score_sums[k] += scores[i, k]
        cluster_weights[k] += node_weights[i]
        count[k] += 1
    # term_k is the term of cluster k in the objective. The initial labels leave no cluster empty.
    for k in range(c):
        term[k] = score_sums[k] / sqrt(cluster_weights[k])

    # 2. Visit the rows. The sums, terms and counts are always those of the current labels.
    moves = 0
    for i in range(n):
        a = labels[i]
        b = node_weights[i]
        # Without a heavy node i, the weight of its cluster may round to nothing; then i stays.
        remaining = cluster_weights[a] - b
        if count[a] == 1 or remaining <= 0.0:
            continue
        row = scores[i]
        # The paper's δ_ij: how much i adds to the term of k, by joining another cluster or by
        # staying in a. The best move adds δ_i,best − δ_i,a ≥ 0.
        for k in range(c):
            gain[k] = (score_sums[k] + row[k]) / sqrt(cluster_weights[k] + b) - term[k]
        gain[a] = term[a] - (score_sums[a] - row[a]) / sqrt(remaining)
        # Conditional moves instead of branches, as the best cluster is unpredictable.
        best, top = 0, gain[0]
        for k in range(1, c):
            value = gain[k]
            best = k if value > top else best
            top = value if value > top else top
        # 3. Move i, and update the terms of the two clusters, O(1).
        if best != a:
            labels[i] = best
            score_sums[a] -= row[a]
            cluster_weights[a] = remaining
            count[a] -= 1
            term[a] = score_sums[a] / sqrt(remaining)
            score_sums[best] += row[best]
            cluster_weights[best] += b
            count[best] += 1
            term[best] = score_sums[best] / sqrt(cluster_weights[best])
            moves += 1

    objective = 0.0
    for k in range(c):
        objective += term[k]
    return moves, objective
