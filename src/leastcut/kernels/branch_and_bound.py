"""Branch and bound over all partitions: depth first, each partition once up to relabeling.

Nodes are assigned in order. A node may join an open cluster or open the next one, so that
partitions that differ only in cluster labels are visited once (restricted growth strings). A branch
is pruned when its lower bound, reduced by a bound on rounding errors, reaches the best value.

The lower bound. Let a_k be the boundary of cluster k among the assigned nodes, b(C_k) its weight, R
the weight of the unassigned nodes, and s_uk the affinity of an unassigned node u to cluster k.
Whether u joins k or not, the boundary of k grows by at least m_uk = min(s_uk, Σ_{l≠k} s_ul). The
clusters share R, so the value is at least the minimum of Σ_k (a_k + Σ_u m_uk) / (b(C_k) + x_k) over
x ≥ 0 with Σ_k x_k = R, which is found by water-filling: without x ≥ 0 it is (Σ_k √·)² / Σ_k (b(C_k)
+ x_k) by the Cauchy–Schwarz inequality, and clusters whose x_k would be negative keep x_k = 0.

All sums are of non-negative terms, and changes are undone by restoring values instead of
subtracting, so relative errors are about n · epsilon, however many moves were made.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel

DEPTH, DONE = 0, 1  # the entries of ``cursor``


@kernel
def lower_bound(boundary, cluster_weights, remaining, root, inactive):
    """Return the minimum of Σ_k boundary_k / (b(C_k) + x_k) over x ≥ 0 with Σ_k x_k = remaining.

    Scratch (k,): square roots ``root``, and ``inactive``, the clusters that keep x_k = 0. O(k) if
    no cluster becomes inactive, O(k²) at worst.
    """
    n_open = boundary.shape[0]
    for k in range(n_open):
        root[k] = np.sqrt(boundary[k])
        # A cluster without a boundary adds 0 at any weight, so it should get nothing.
        inactive[k] = boundary[k] == 0.0
    # Water-filling: deactivate clusters with x_k < 0 until there are none.
    while True:
        # At the minimum over the active clusters, b(C_k) + x_k is proportional to root_k, and the
        # active clusters weigh ``total`` together.
        total, roots = remaining, 0.0
        for k in range(n_open):
            if not inactive[k]:
                total += cluster_weights[k]
                roots += root[k]
        changed = False
        # x_k < 0. Deactivating a cluster leaves less for the others, and for itself if it became
        # active again. So none ever does, and at most k rounds are needed.
        for k in range(n_open):
            if not inactive[k] and cluster_weights[k] / total > root[k] / roots:
                inactive[k] = True
                changed = True
        if not changed:
            break
    # The Cauchy–Schwarz value of the active clusters, as the square of a quotient, as roots / total
    # alone could overflow if both are small; inactive clusters keep their weight.
    quotient = roots / np.sqrt(total)
    value = quotient * quotient
    for k in range(n_open):
        if inactive[k] and boundary[k] > 0.0:
            value += boundary[k] / cluster_weights[k]
    return value


@kernel
def branch(
    forward_edges,
    nodes,
    safety,
    max_visits,
    cursor,
    best_value,
    best_labels,
    path,
    tables,
    scratch,
    cannot_link=None,
    limits=None,
    offset=0.0,
):
    """Continue the search for the smallest cut value, for at most ``max_visits`` steps.

    ``forward_edges`` is the graph with every edge stored at its earlier end only. ``nodes``: the
    weight of all edges of each node without self-loops, the weights b, and the total weight of the
    nodes from i on (n + 1,). ``safety`` is an upper bound on the relative error of the lower bound.

    Changed: ``cursor`` (the depth, and whether the search is complete), ``best_value`` and
    ``best_labels``; ``path``: the cluster of each assigned node or -1, the next cluster to try, and
    the number of open clusters before it; ``tables``: boundary and cluster weights (n + 1, c)
    before node i is assigned, s_uk (n, c), and its previous value at every edge. The search starts
    from labels of -1 and zeros elsewhere. ``scratch``: grown, root and inactive (c,).
    ``cannot_link`` and ``limits`` are as in ``moves``, and every cluster weighs ``offset`` plus its
    nodes.

    When ``cursor[DONE]`` is 1, no partition into c non-empty clusters is below ``best_value``. A
    step costs O(later neighbors + later nodes · c); most steps are deep, where few nodes are left.
    """
    indptr, indices, weights = forward_edges
    degrees, node_weights, remaining = nodes
    labels, next_cluster, n_open_before = path
    boundary, cluster_weights, affinity, saved = tables
    grown, root, inactive = scratch
    n, c = affinity.shape
    i = cursor[DEPTH]
    # Invariant: nodes 0..i-1 are assigned, row i of ``boundary`` and ``cluster_weights`` has their
    # sums, and the affinities of later nodes are to their clusters, except the cluster tried for i.
    for _ in range(max_visits):
        # 1. Remove node i from the last cluster tried.
        if labels[i] >= 0:
            # Restore the values; subtracting would do so only up to rounding.
            k = labels[i]
            for p in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
                affinity[indices[p], k] = saved[p]
            labels[i] = -1

        # 2. Choose the next cluster; if there is none, backtrack.
        k = next_cluster[i]
        next_cluster[i] += 1
        # It may open the next cluster only, and at most c in total.
        if k > n_open_before[i] or k == c:
            if i == 0:
                cursor[DONE] = 1
                break
            i -= 1
            continue
        # It may not violate a pair. Unassigned nodes have the label -1.
        is_forbidden = False
        if cannot_link is not None:
            for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
                if labels[cannot_link[1][p]] == k:
                    is_forbidden = True
        if limits is not None:
            weight_before = cluster_weights[i, k] if k < n_open_before[i] else offset
            is_forbidden |= weight_before + node_weights[i] > limits[1][k]
        if is_forbidden:
            continue
        n_open = n_open_before[i] + 1 if k == n_open_before[i] else n_open_before[i]
        if c - n_open > n - i - 1:  # too few nodes are left to open the other clusters
            continue

        # 3. Assign it: update the boundaries and weights of the clusters and the affinities of
        #    later nodes. A cluster that opens is empty; row i holds values of another branch.
        if k == n_open_before[i]:
            boundary[i, k] = 0.0
            cluster_weights[i, k] = offset
        # All edges of i to other clusters are now cut: each adds to the boundary of its cluster,
        # and their sum to the boundary of k.
        added = 0.0
        for other in range(n_open):
            boundary[i + 1, other] = boundary[i, other] + affinity[i, other]
            cluster_weights[i + 1, other] = cluster_weights[i, other]
            if other != k:
                added += affinity[i, other]
        boundary[i + 1, k] = boundary[i, k] + added
        cluster_weights[i + 1, k] = cluster_weights[i, k] + node_weights[i]
        labels[i] = k
        # ``saved`` has an entry per edge, so no deeper node overwrites it.
        for p in range(indptr[i], indptr[i + 1]):
            saved[p] = affinity[indices[p], k]
            affinity[indices[p], k] += weights[p]

        # 4. If every later node must be a single cluster, the partition is complete.
        if c - n_open == n - i - 1:
            # Later nodes add their affinities to the boundaries of existing clusters, and all their
            # edges are cut.
            value = 0.0
            for other in range(n_open):
                total = boundary[i + 1, other]
                for u in range(i + 1, n):
                    total += affinity[u, other]
                value += total / cluster_weights[i + 1, other]
            for u in range(i + 1, n):
                value += degrees[u] / (node_weights[u] + offset)
            if limits is not None:
                for other in range(n_open):
                    if cluster_weights[i + 1, other] < limits[0][other]:
                        value = np.inf
                for u in range(i + 1, n):
                    alone = node_weights[u] + offset
                    if alone < limits[0][0] or alone > limits[1][0]:
                        value = np.inf
            if value < best_value[0]:
                best_value[0] = value
                for u in range(n):
                    best_labels[u] = labels[u] if u <= i else n_open + u - i - 1
            continue

        # 5. Otherwise compute the lower bound: a_k + Σ_u m_uk is ``grown``. Only the cluster with
        #    the largest affinity to u can have s_uk > Σ_{l≠k} s_ul.
        for other in range(n_open):
            grown[other] = boundary[i + 1, other]
        for u in range(i + 1, n):
            top = 0
            for other in range(1, n_open):
                if affinity[u, other] > affinity[u, top]:
                    top = other
            others = 0.0
            for other in range(n_open):
                if other != top:
                    others += affinity[u, other]
                    grown[other] += affinity[u, other]
            grown[top] += min(affinity[u, top], others)
        bound = lower_bound(
            grown[:n_open],
            cluster_weights[i + 1, :n_open],
            remaining[i + 1],
            root[:n_open],
            inactive[:n_open],
        )

        # 6. Descend only if a better partition is possible. The bound may exceed the exact one by
        #    rounding, which must not exclude the optimum.
        if bound * (1.0 - safety) >= best_value[0]:
            continue
        # There is a next node: at the last one, step 2 or 4 applies.
        i += 1
        next_cluster[i] = 0
        n_open_before[i] = n_open
    cursor[DEPTH] = i
