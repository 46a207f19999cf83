"""Branch and bound over all partitions: depth first, every partition once, whatever its names.

Nodes are placed in order. A node may join a cluster that is open or open the next one, so that
partitions which differ only in the names of their clusters are met once (restricted growth
strings). A branch ends when its lower bound, less a safety for rounding, reaches the best value.

The lower bound. Let a_k be the boundary of cluster k among the placed nodes, b_k its weight, R the
weight of the nodes still to come, and s_uk the affinity of such a node u to cluster k. Whether u
joins k or not, the boundary of k grows by at least m_uk = min(s_uk, Σ_{l≠k} s_ul). The clusters
share R, so the value is at least the minimum of Σ_k (a_k + Σ_u m_uk) / (b_k + x_k) over x ≥ 0
with Σ_k x_k = R, which is found by water-filling: without x ≥ 0 it is (Σ_k √·)² / Σ_k (b_k + x_k)
by the Cauchy-Schwarz inequality, and clusters that would want a negative x_k keep x_k = 0.

Sums are of non-negative terms only and what a move changed is restored, not subtracted, so every
number is right to a relative error of about n · epsilon, however many moves were made.
"""

from __future__ import annotations

import numpy as np

from firstcut.kernels import kernel

DEPTH, DONE, VISITED = 0, 1, 2
"""What the entries of ``state`` hold."""


@kernel
def lower_bound(boundary, weight, rest, root, shut):
    """Return the minimum of Σ_k boundary_k / (weight_k + x_k) over x ≥ 0 with Σ_k x_k = rest.

    Parameters
    ----------
    boundary, weight : ndarray of shape (k,)
        Non-negative and positive numbers.
    rest : float
        What may be added to the weights in all; positive.
    root, shut : ndarray of shape (k,)
        Scratch, overwritten: square roots, and which clusters keep x_k = 0.

    Notes
    -----
    O(k) when nothing is shut, O(k²) at worst.
    """
    k_open = boundary.shape[0]
    for k in range(k_open):
        root[k] = np.sqrt(boundary[k])
        shut[k] = boundary[k] == 0.0
    while True:
        total, roots = rest, 0.0
        for k in range(k_open):
            if not shut[k]:
                total += weight[k]
                roots += root[k]
        changed = False
        for k in range(k_open):
            if not shut[k] and weight[k] / total > root[k] / roots:
                shut[k] = True
                changed = True
        if not changed:
            break
    value = roots * (roots / total)
    for k in range(k_open):
        if shut[k] and boundary[k] > 0.0:
            value += boundary[k] / weight[k]
    return value


@kernel
def branch(
    indptr,
    indices,
    data,
    degrees,
    node_weights,
    rest,
    safety,
    max_visits,
    state,
    best,
    best_labels,
    labels,
    trial,
    opened,
    boundary,
    weight,
    affinity,
    saved,
    grown,
    root,
    shut,
):
    """Search on for the partition of smallest cut value, for at most ``max_visits`` placements.

    Parameters
    ----------
    indptr, indices, data : ndarray
        For every node its neighbours that come later in the order, as CSR.
    degrees, node_weights : ndarray of shape (n,)
        The weight of all edges of every node, self-loops left out, and positive weights b.
    rest : ndarray of shape (n + 1,)
        ``rest[i]`` is the weight of the nodes from i on.
    safety : float
        Relative error that the bound may have.
    max_visits : int
        Placements to make before returning.
    state : int64 ndarray of shape (3,)
        In and out: the depth reached, whether the search is over, the placements made in all.
    best : ndarray of shape (1,)
        In and out: the smallest value known.
    best_labels : int64 ndarray of shape (n,)
        In and out: labels of that value.
    labels, trial, opened : int64 ndarray of shape (n,)
        In and out: the cluster of each placed node (-1: none), the next one to try, and how many
        clusters are open before it.
    boundary, weight : ndarray of shape (n + 1, c)
        In and out: row i is the boundary and weight of every cluster before node i is placed.
    affinity : ndarray of shape (n, c)
        In and out: s_uk, the affinity of a node to come to the nodes placed in each cluster.
    saved : ndarray of shape (n_entries,)
        In and out: what ``affinity`` held before the placements, to be put back.
    grown, root, shut : ndarray of shape (c,)
        Scratch.

    Notes
    -----
    A placement costs O(later neighbours + later nodes · c); most are deep, where few nodes are
    left. The search starts from labels of -1, zeros everywhere else, and is over when
    ``state[DONE]`` is 1; then no partition into c non-empty clusters is below ``best``.
    """
    n, c = affinity.shape
    i = state[DEPTH]
    for _ in range(max_visits):
        if labels[i] >= 0:
            k = labels[i]
            for p in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
                affinity[indices[p], k] = saved[p]
            labels[i] = -1
        k = trial[i]
        trial[i] += 1
        if k > opened[i] or k == c:
            if i == 0:
                state[DONE] = 1
                break
            i -= 1
            continue
        n_open = opened[i] + 1 if k == opened[i] else opened[i]
        if c - n_open > n - i - 1:  # too few nodes are left to open the other clusters
            continue
        state[VISITED] += 1

        if k == opened[i]:
            boundary[i, k] = 0.0
            weight[i, k] = 0.0
        added = 0.0
        for other in range(n_open):
            boundary[i + 1, other] = boundary[i, other] + affinity[i, other]
            weight[i + 1, other] = weight[i, other]
            if other != k:
                added += affinity[i, other]
        boundary[i + 1, k] = boundary[i, k] + added
        weight[i + 1, k] = weight[i, k] + node_weights[i]

        labels[i] = k
        for p in range(indptr[i], indptr[i + 1]):
            saved[p] = affinity[indices[p], k]
            affinity[indices[p], k] += data[p]
        if c - n_open == n - i - 1:  # every node to come must be a cluster of its own
            value = 0.0
            for other in range(n_open):
                total = boundary[i + 1, other]
                for u in range(i + 1, n):
                    total += affinity[u, other]
                value += total / weight[i + 1, other]
            for u in range(i + 1, n):
                value += degrees[u] / node_weights[u]
            if value < best[0]:
                best[0] = value
                for u in range(n):
                    best_labels[u] = labels[u] if u <= i else n_open + u - i - 1
            continue

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
            grown[:n_open], weight[i + 1, :n_open], rest[i + 1], root[:n_open], shut[:n_open]
        )
        if bound * (1.0 - safety) >= best[0]:
            continue
        i += 1
        trial[i] = 0
        opened[i] = n_open
    state[DEPTH] = i
