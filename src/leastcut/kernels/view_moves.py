"""Exact vertex moves for several graphs over the same nodes: one partition, one cut per view.

The objective is Σ_v f_v √cut_v if ``rooted``, and Σ_v f_v cut_v otherwise, with a factor f_v for
every view. Related arrays are passed as tuples:

- ``views``: indptr of shape (V, n + 1), indices, weights, node_weights of shape (V, n): the graphs
  in CSR form one after the other, where row v of ``indptr`` points to the edges of view v;
- ``state``: labels, count of shape (c,), boundary, cluster_weights and n_weighted of shape (V, c),
  crossing and cuts of shape (V,): the number of nodes of every cluster, and in every view the
  weight of the edges that leave it, the weight of its nodes and the number of nodes of positive
  weight; then the number of stored edges that are cut, and the cut value;
- ``objective``: factors of shape (V,), and whether roots are taken;
- ``scratch``: link and n_links of shape (V, c), zeros that are left zero, and degree, left and
  before of shape (V,).

A cluster without a node of positive weight in a view has no term in it. Cut edges are counted in
addition to summing their weights, so that a view in which no edge is cut has the value 0 exactly:
near 0, a root turns rounding errors in the sixteenth digit into errors in the eighth. See ``moves``
for everything else. Its local search is a separate kernel, as this one takes longer on a
single view: it tries all clusters and sums all views.
"""

from __future__ import annotations

import math

from leastcut.kernels import inlined, kernel
from leastcut.kernels.containers import enqueue
from leastcut.kernels.moves import HEAVY, TOLERANCE


@kernel
def measure_views(views, state):
    """Compute the state from its labels: sums, counts and the cut value of every view. O(edges)."""
    indptr, indices, weights, node_weights = views
    labels, count, boundary, cluster_weights, n_weighted, crossing, cuts = state
    n_views, n_clusters = boundary.shape
    count[:] = 0
    for i in range(labels.shape[0]):
        count[labels[i]] += 1
    for v in range(n_views):
        for k in range(n_clusters):
            boundary[v, k] = 0.0
            cluster_weights[v, k] = 0.0
            n_weighted[v, k] = 0
        crossing[v] = 0
        for i in range(labels.shape[0]):
            a = labels[i]
            boundary_i = 0.0
            for p in range(indptr[v, i], indptr[v, i + 1]):
                if labels[indices[p]] != a:
                    boundary_i += weights[p]
                    crossing[v] += 1
            boundary[v, a] += boundary_i
            cluster_weights[v, a] += node_weights[v, i]
            n_weighted[v, a] += node_weights[v, i] > 0.0
        cuts[v] = 0.0
        for k in range(n_clusters):
            if n_weighted[v, k] > 0:
                cuts[v] += boundary[v, k] / cluster_weights[v, k]


@inlined
def sum_view_links(i, views, labels, scratch):
    """Sum node i's edges by cluster in every view: weights in ``link``, numbers in ``n_links``.

    ``degree`` gets the weight of all its edges. :func:`clear_view_links` clears the rest. O(edges
    of i).
    """
    indptr, indices, weights, _ = views
    link, n_links, degree, _, _ = scratch
    for v in range(link.shape[0]):
        degree[v] = 0.0
        for p in range(indptr[v, i], indptr[v, i + 1]):
            j = indices[p]
            if j != i:
                link[v, labels[j]] += weights[p]
                n_links[v, labels[j]] += 1
                degree[v] += weights[p]


@inlined
def clear_view_links(i, views, labels, scratch):
    """Reset the entries of the scratch for the clusters of node i's neighbors. O(edges of i)."""
    indptr, indices, _, _ = views
    link, n_links, _, _, _ = scratch
    for v in range(link.shape[0]):
        for p in range(indptr[v, i], indptr[v, i + 1]):
            link[v, labels[indices[p]]] = 0.0
            n_links[v, labels[indices[p]]] = 0


@inlined
def best_view_move(i, node_weights, state, objective, scratch):
    """Return (change, rounding, k) for node i's best move to another cluster k, given its links.

    ``change`` is what the move adds to the objective, and ``rounding`` the sum of the terms whose
    difference it is. k is -1 if there is no move: i is alone in its cluster, or has nearly all of
    its weight in some view. Changes ``left`` and ``before``; O(V c).
    """
    labels, count, boundary, cluster_weights, n_weighted, crossing, cuts = state
    factors, rooted = objective
    link, n_links, degree, left, before = scratch
    n_views, n_clusters = boundary.shape
    a = labels[i]
    if count[a] == 1:
        return 0.0, 0.0, -1
    # The term of cluster a in every view, after and before the move; the same for all k.
    for v in range(n_views):
        weight = node_weights[v, i]
        left[v] = 0.0
        before[v] = 0.0
        if n_weighted[v, a] > 0:
            before[v] = boundary[v, a] / cluster_weights[v, a]
            left[v] = before[v]
        if weight > 0.0:
            left[v] = 0.0
            if n_weighted[v, a] > 1:
                if weight > HEAVY * cluster_weights[v, a]:
                    return 0.0, 0.0, -1
                remaining = boundary[v, a] - degree[v] + 2.0 * link[v, a]
                left[v] = max(remaining, 0.0) / (cluster_weights[v, a] - weight)
    best = -1
    best_change = 0.0
    best_rounding = 0.0
    for k in range(n_clusters):
        if k == a:
            continue
        change = 0.0
        rounding = 0.0
        for v in range(n_views):
            weight = node_weights[v, i]
            if weight == 0.0:
                continue  # without weight i has no edges either
            old = 0.0
            if n_weighted[v, k] > 0:
                old = boundary[v, k] / cluster_weights[v, k]
            joined = max(boundary[v, k] + degree[v] - 2.0 * link[v, k], 0.0)
            joined /= cluster_weights[v, k] + weight
            delta = (left[v] - before[v]) + (joined - old)
            size = left[v] + before[v] + joined + old
            if not rooted:
                change += factors[v] * delta
                rounding += factors[v] * size
                continue
            # Edges of i into a become cut, and those into k are no longer cut; all are stored
            # twice.
            if crossing[v] + 2 * (n_links[v, a] - n_links[v, k]) == 0:
                change -= factors[v] * math.sqrt(cuts[v])
                continue
            # √new − √old as a quotient, to avoid cancellation.
            roots = math.sqrt(max(cuts[v] + delta, 0.0)) + math.sqrt(cuts[v])
            if roots > 0.0:
                change += factors[v] * delta / roots
                rounding += factors[v] * size / roots
        if best < 0 or change < best_change:
            best = k
            best_change = change
            best_rounding = rounding
    return best_change, best_rounding, best


@inlined
def apply_view_move(i, k, node_weights, state, scratch):
    """Move node i to cluster k and update the state, given the links of i. O(V)."""
    labels, count, boundary, cluster_weights, n_weighted, crossing, cuts = state
    link, n_links, degree, _, _ = scratch
    a = labels[i]
    labels[i] = k
    count[a] -= 1
    count[k] += 1
    for v in range(boundary.shape[0]):
        weight = node_weights[v, i]
        if weight == 0.0:
            continue
        if n_weighted[v, a] > 0:
            cuts[v] -= boundary[v, a] / cluster_weights[v, a]
        if n_weighted[v, k] > 0:
            cuts[v] -= boundary[v, k] / cluster_weights[v, k]
        # Rounding must not make a boundary negative, which would look like a gain.
        boundary[v, a] = max(boundary[v, a] - degree[v] + 2.0 * link[v, a], 0.0)
        boundary[v, k] = max(boundary[v, k] + degree[v] - 2.0 * link[v, k], 0.0)
        cluster_weights[v, a] -= weight
        cluster_weights[v, k] += weight
        n_weighted[v, a] -= 1
        n_weighted[v, k] += 1
        crossing[v] += 2 * (n_links[v, a] - n_links[v, k])
        if n_weighted[v, a] == 0:  # exactly, without rounding errors
            boundary[v, a] = 0.0
            cluster_weights[v, a] = 0.0
        else:
            cuts[v] += boundary[v, a] / cluster_weights[v, a]
        cuts[v] += boundary[v, k] / cluster_weights[v, k]
        cuts[v] = max(cuts[v], 0.0) if crossing[v] > 0 else 0.0


@kernel
def local_search_views(views, state, objective, scratch, queue, n_queued, queued, max_visits):
    """Make improving moves until the queue is empty; return (moves, edges visited).

    ``queue`` is a ring buffer of n places, the first ``n_queued`` of which are filled, and
    ``queued[i]`` is 1 for the nodes in it. When a node moves, its neighbors in all views are queued
    again. Changes the state; leaves ``queued`` and the scratch zero. Every move lowers the
    objective by more than rounding, and no cluster is emptied. Stops after ``max_visits`` nodes.
    """
    indptr, indices, _, node_weights = views
    labels = state[0]
    n_views, n = node_weights.shape
    head = 0
    moves = 0
    edges = 0
    visits = 0
    while n_queued > 0:
        i = queue[head]
        head += 1
        if head == n:
            head = 0
        n_queued -= 1
        queued[i] = 0
        # After the last visit the queue is only emptied, to leave ``queued`` zero.
        if visits >= max_visits:
            continue
        visits += 1
        sum_view_links(i, views, labels, scratch)
        change, rounding, k = best_view_move(i, node_weights, state, objective, scratch)
        # This form also rejects NaN.
        moved = k >= 0 and -change > TOLERANCE * rounding and change < 0.0
        if moved:
            apply_view_move(i, k, node_weights, state, scratch)
            moves += 1
        clear_view_links(i, views, labels, scratch)
        for v in range(n_views):
            edges += indptr[v, i + 1] - indptr[v, i]
            if not moved:
                continue
            for p in range(indptr[v, i], indptr[v, i + 1]):
                if indices[p] != i:
                    n_queued = enqueue(indices[p], queue, head, n_queued, queued)
    return moves, edges
