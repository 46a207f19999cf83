"""Exact moves of nodes that several graphs share: one partition, and a cut value in every view.

What is minimised is Σ_v f_v √cut_v where ``rooted``, and Σ_v f_v cut_v else, with a factor f_v for
every view. Arrays that belong together travel as tuples:

- ``views``: indptr of shape (V, n + 1), indices, weights, node_weights of shape (V, n): the graphs
  in CSR form one behind the other, row v of ``indptr`` pointing to where view v's edges are;
- ``state``: labels, members of shape (c,), boundary, cluster_weights and weighing of shape (V, c),
  crossing and cuts of shape (V,): the nodes of every cluster, and in every view the weight of the
  edges that leave it, the weight of its nodes and how many of them weigh something; then the stored
  edges that cross, and the cut value;
- ``objective``: factors of shape (V,), and whether roots are taken;
- ``scratch``: link and met of shape (V, c), zeros that are left zero, and degree, left and before
  of shape (V,).

A cluster without a node that weighs something in a view has no term in it. Crossing edges are
counted besides their weights being summed, so that a view in which no edge is cut has the value 0
exactly: near 0 a root makes of rounding in the sixteenth digit an error in the eighth. For what is
not said here see ``moves``, whose local search is not this one of a single view: that took 2.2
times as long (50,000 nodes, 20 clusters), as here all clusters are tried and all views summed.
"""

from __future__ import annotations

import math

from leastcut.kernels import inlined, kernel
from leastcut.kernels.containers import enqueue
from leastcut.kernels.moves import HEAVY, TOLERANCE


@kernel
def measure_views(views, state):
    """Fill the state from its labels: sums, counts and the cut value of every view. O(edges)."""
    indptr, indices, weights, node_weights = views
    labels, members, boundary, cluster_weights, weighing, crossing, cuts = state
    n_views, n_clusters = boundary.shape
    members[:] = 0
    for i in range(labels.shape[0]):
        members[labels[i]] += 1
    for v in range(n_views):
        for k in range(n_clusters):
            boundary[v, k] = 0.0
            cluster_weights[v, k] = 0.0
            weighing[v, k] = 0
        crossing[v] = 0
        for i in range(labels.shape[0]):
            a = labels[i]
            outward = 0.0
            for p in range(indptr[v, i], indptr[v, i + 1]):
                if labels[indices[p]] != a:
                    outward += weights[p]
                    crossing[v] += 1
            boundary[v, a] += outward
            cluster_weights[v, a] += node_weights[v, i]
            weighing[v, a] += node_weights[v, i] > 0.0
        cuts[v] = 0.0
        for k in range(n_clusters):
            if weighing[v, k] > 0:
                cuts[v] += boundary[v, k] / cluster_weights[v, k]


@inlined
def sum_view_links(i, views, labels, scratch):
    """Fill the scratch with node i's edges into every cluster of every view: weights and numbers.

    ``degree`` gets the weight of those into all clusters. :func:`clear_view_links` undoes the rest.
    O(edges of i).
    """
    indptr, indices, weights, _ = views
    link, met, degree, _, _ = scratch
    for v in range(link.shape[0]):
        degree[v] = 0.0
        for p in range(indptr[v, i], indptr[v, i + 1]):
            j = indices[p]
            if j != i:
                link[v, labels[j]] += weights[p]
                met[v, labels[j]] += 1
                degree[v] += weights[p]


@inlined
def clear_view_links(i, views, labels, scratch):
    """Make the scratch zero again where node i's edges lead. O(edges of i)."""
    indptr, indices, _, _ = views
    link, met, _, _, _ = scratch
    for v in range(link.shape[0]):
        for p in range(indptr[v, i], indptr[v, i + 1]):
            link[v, labels[indices[p]]] = 0.0
            met[v, labels[indices[p]]] = 0


@inlined
def best_view_move(i, node_weights, state, objective, scratch):
    """Return (change, rounding, k) for node i's best move to another cluster k, given its ties.

    ``change`` is what the move adds to the objective, and ``rounding`` the size of the terms that
    it is the difference of. k is -1 where there is no move to make: i is alone in its cluster, or
    holds nearly all of its weight in some view. Changes ``left`` and ``before``; O(V c).
    """
    labels, members, boundary, cluster_weights, weighing, crossing, cuts = state
    factors, rooted = objective
    link, met, degree, left, before = scratch
    n_views, n_clusters = boundary.shape
    a = labels[i]
    if members[a] == 1:
        return 0.0, 0.0, -1
    # What cluster a's term becomes in every view, and what it was; they are the same for all k.
    for v in range(n_views):
        weight = node_weights[v, i]
        left[v] = 0.0
        before[v] = 0.0
        if weighing[v, a] > 0:
            before[v] = boundary[v, a] / cluster_weights[v, a]
            left[v] = before[v]
        if weight > 0.0:
            left[v] = 0.0
            if weighing[v, a] > 1:
                if weight > HEAVY * cluster_weights[v, a]:
                    return 0.0, 0.0, -1
                rest = boundary[v, a] - degree[v] + 2.0 * link[v, a]
                left[v] = max(rest, 0.0) / (cluster_weights[v, a] - weight)
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
                continue  # without a weight there are no edges either, and nothing changes here
            old = 0.0
            if weighing[v, k] > 0:
                old = boundary[v, k] / cluster_weights[v, k]
            joined = max(boundary[v, k] + degree[v] - 2.0 * link[v, k], 0.0)
            joined /= cluster_weights[v, k] + weight
            delta = (left[v] - before[v]) + (joined - old)
            size = left[v] + before[v] + joined + old
            if not rooted:
                change += factors[v] * delta
                rounding += factors[v] * size
                continue
            # Edges of i into a begin to cross, and those into k no longer do, both as stored twice.
            if crossing[v] + 2 * (met[v, a] - met[v, k]) == 0:
                change -= factors[v] * math.sqrt(cuts[v])
                continue
            # √new − √old as a quotient, which cancels nothing.
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
    """Move node i to cluster k and update the state, given the ties of i. O(V)."""
    labels, members, boundary, cluster_weights, weighing, crossing, cuts = state
    link, met, degree, _, _ = scratch
    a = labels[i]
    labels[i] = k
    members[a] -= 1
    members[k] += 1
    for v in range(boundary.shape[0]):
        weight = node_weights[v, i]
        if weight == 0.0:
            continue
        if weighing[v, a] > 0:
            cuts[v] -= boundary[v, a] / cluster_weights[v, a]
        if weighing[v, k] > 0:
            cuts[v] -= boundary[v, k] / cluster_weights[v, k]
        # Rounding must not make a boundary negative, which would look like a gain.
        boundary[v, a] = max(boundary[v, a] - degree[v] + 2.0 * link[v, a], 0.0)
        boundary[v, k] = max(boundary[v, k] + degree[v] - 2.0 * link[v, k], 0.0)
        cluster_weights[v, a] -= weight
        cluster_weights[v, k] += weight
        weighing[v, a] -= 1
        weighing[v, k] += 1
        crossing[v] += 2 * (met[v, a] - met[v, k])
        if weighing[v, a] == 0:  # not what rounding has left of them
            boundary[v, a] = 0.0
            cluster_weights[v, a] = 0.0
        else:
            cuts[v] += boundary[v, a] / cluster_weights[v, a]
        cuts[v] += boundary[v, k] / cluster_weights[v, k]
        cuts[v] = max(cuts[v], 0.0) if crossing[v] > 0 else 0.0


@kernel
def local_search_views(views, state, objective, scratch, queue, n_queued, queued, max_visits):
    """Make improving moves until the queue is empty; return (moves, edges visited).

    ``queue`` is a ring of n places whose first ``n_queued`` are filled, and ``queued[i]`` is 1 for
    the nodes in it. A node that moves brings its neighbours in all views back. Changes the state;
    leaves ``queued`` and the scratch zero. Every move lowers the objective, as far as rounding
    lets it be told, and no cluster is emptied. Stops early after ``max_visits`` nodes.
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
        # Out of visits: the rest is taken out only to leave ``queued`` zero.
        if visits >= max_visits:
            continue
        visits += 1
        sum_view_links(i, views, labels, scratch)
        change, rounding, k = best_view_move(i, node_weights, state, objective, scratch)
        # In this form it also refuses a change that is not a number.
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
