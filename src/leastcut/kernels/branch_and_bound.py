"""Branch and bound over all partitions: depth first, every partition once, whatever its names.

Nodes are taken in order. A node may join a cluster that is open or open the next one, so that
partitions which differ only in the names of their clusters are met once (restricted growth
strings). A branch ends when its lower bound, less a safety for rounding, reaches the best value.

The lower bound. Let a_k be the boundary of cluster k among the nodes taken so far, b(C_k) its
weight, R the weight of the nodes still to come, and s_uk the affinity of such a node u to cluster
k. Whether u joins k or not, the boundary of k grows by at least m_uk = min(s_uk, Σ_{l≠k} s_ul). The
clusters share R, so the value is at least the minimum of Σ_k (a_k + Σ_u m_uk) / (b(C_k) + x_k) over
x ≥ 0 with Σ_k x_k = R, which is found by water-filling: without x ≥ 0 it is
(Σ_k √·)² / Σ_k (b(C_k) + x_k) by the Cauchy-Schwarz inequality, and clusters that would want a
negative x_k keep x_k = 0.

Sums are of non-negative terms only and what a move changed is restored, not subtracted, so every
number is right to a relative error of about n · epsilon, however many moves were made.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels import kernel

DEPTH, DONE = 0, 1  # what the entries of ``cursor`` hold


@kernel
def lower_bound(boundary, cluster_weights, rest, root, shut):
    """Return the minimum of Σ_k boundary_k / (b(C_k) + x_k) over x ≥ 0 with Σ_k x_k = rest.

    Scratch (k,): square roots ``root``, and ``shut``, which clusters keep x_k = 0. O(k) when
    nothing is shut, O(k²) at worst.
    """
    k_open = boundary.shape[0]
    for k in range(k_open):
        root[k] = np.sqrt(boundary[k])
        # Without a boundary a cluster adds 0 whatever it weighs: none of ``rest`` should go to it.
        shut[k] = boundary[k] == 0.0
    # Water-filling: shut the clusters whose best share would be negative, until none is.
    while True:
        # At the minimum over the clusters that are not shut, b(C_k) + x_k is in proportion to
        # root_k, and all of them together weigh ``total``.
        total, roots = rest, 0.0
        for k in range(k_open):
            if not shut[k]:
                total += cluster_weights[k]
                roots += root[k]
        changed = False
        # x_k < 0. Shutting those leaves less for the others, and for themselves if they were opened
        # again: none ever has to be, and after at most k rounds nothing changes.
        for k in range(k_open):
            if not shut[k] and cluster_weights[k] / total > root[k] / roots:
                shut[k] = True
                changed = True
        if not changed:
            break
    # The Cauchy-Schwarz value of those that share ``rest``; the shut ones keep their weight.
    # The square of a quotient: roots / total alone could overflow where both are small.
    share = roots / np.sqrt(total)
    value = share * share
    for k in range(k_open):
        if shut[k] and boundary[k] > 0.0:
            value += boundary[k] / cluster_weights[k]
    return value


@kernel
def branch(
    later,
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
    """Search on for the partition of smallest cut value, for at most ``max_visits`` steps.

    ``later`` is the graph with every edge at its earlier end only. ``nodes``: the weight of all
    edges of every node without self-loops, the weights b, and the weight of the nodes from i on
    (n + 1,). ``safety`` is the relative error that the bound may have.

    Changed: ``cursor`` (the depth, and whether the search is over), ``best_value`` and
    ``best_labels``; ``path``: the cluster of each node taken or -1, the next to try, and how many
    are open before it; ``tables``: boundary and cluster weights (n + 1, c) before node i is taken,
    s_uk (n, c), and what it held before at every edge. The search starts from labels of -1 and
    zeros elsewhere. ``scratch``: grown, root and shut (c,). ``cannot_link`` and ``limits`` are
    as in ``moves``, and every cluster weighs ``offset`` besides its nodes.

    When ``cursor[DONE]`` is 1 no partition into c non-empty clusters is below ``best_value``. A
    step costs O(later neighbours + later nodes · c); most are deep, where few nodes are left.
    """
    indptr, indices, weights = later
    degrees, node_weights, rest = nodes
    labels, trial, opened = path
    boundary, cluster_weights, affinity, saved = tables
    grown, root, shut = scratch
    n, c = affinity.shape
    i = cursor[DEPTH]
    # At its head nodes 0..i-1 are in their clusters, row i of ``boundary`` and ``cluster_weights``
    # is theirs, and so are the affinities of all nodes to come, but for node i's own trial.
    for _ in range(max_visits):
        # 1. Take node i out of the cluster it was tried in last.
        if labels[i] >= 0:
            # Put back what was there, which a subtraction would do only up to rounding.
            k = labels[i]
            for p in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
                affinity[indices[p], k] = saved[p]
            labels[i] = -1

        # 2. Choose the next cluster for it; where none is left, go back to the node before.
        k = trial[i]
        trial[i] += 1
        # It may open the next cluster only, and never more than c.
        if k > opened[i] or k == c:
            if i == 0:
                cursor[DONE] = 1
                break
            i -= 1
            continue
        # Nor join one of those that it must be apart from. Nodes to come are in none, -1.
        is_barred = False
        if cannot_link is not None:
            for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
                if labels[cannot_link[1][p]] == k:
                    is_barred = True
        if limits is not None:
            before = cluster_weights[i, k] if k < opened[i] else offset
            is_barred |= before + node_weights[i] > limits[1][k]
        if is_barred:
            continue
        n_open = opened[i] + 1 if k == opened[i] else opened[i]
        if c - n_open > n - i - 1:  # too few nodes are left to open the other clusters
            continue

        # 3. Put it there: boundaries and weights of the clusters, affinities of the nodes to come.
        #    A cluster that opens has nothing yet; row i holds what another branch left there.
        if k == opened[i]:
            boundary[i, k] = 0.0
            cluster_weights[i, k] = offset
        # Node i's edges to any other cluster cross from now on: each adds to the boundary of that
        # cluster, and their sum to the boundary of k.
        added = 0.0
        for other in range(n_open):
            boundary[i + 1, other] = boundary[i, other] + affinity[i, other]
            cluster_weights[i + 1, other] = cluster_weights[i, other]
            if other != k:
                added += affinity[i, other]
        boundary[i + 1, k] = boundary[i, k] + added
        cluster_weights[i + 1, k] = cluster_weights[i, k] + node_weights[i]
        labels[i] = k
        # Each edge has a place of its own in ``saved``, so no deeper node overwrites it.
        for p in range(indptr[i], indptr[i + 1]):
            saved[p] = affinity[indices[p], k]
            affinity[indices[p], k] += weights[p]

        # 4. Where every node to come must be a cluster of its own, the partition is complete.
        if c - n_open == n - i - 1:
            # The nodes to come add their affinities to the clusters there are. Each has all its own
            # edges cut, as a cluster by itself.
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

        # 5. Otherwise bound it from below: a_k + Σ_u m_uk is ``grown``. Only the cluster that u is
        #    drawn to most can have s_uk > Σ_{l≠k} s_ul.
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
            rest[i + 1],
            root[:n_open],
            shut[:n_open],
        )

        # 6. Go on to the next node only if something better can come of it.
        #    The bound may be too large by its rounding, which must not rule out the optimum.
        if bound * (1.0 - safety) >= best_value[0]:
            continue
        # There is a next node: the last one always ends at step 2 or 4.
        i += 1
        trial[i] = 0
        opened[i] = n_open
    cursor[DEPTH] = i
