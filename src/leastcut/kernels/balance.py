"""Limits on cluster weights: exchanges within the limits, and repair of partitions outside them.

If clusters are full, no single node can move into any of them, but an exchange may be possible:
node i moves from a to k while a node j moves from k to a cluster m, which may be a.

A partition outside the limits is repaired by moving nodes from clusters that are too heavy to
adjacent clusters closer to spare capacity, so that nodes stay close to their neighbors. Clusters
that are too light are filled in the same way, with nodes of adjacent clusters closer to spare
weight.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.containers import pop, push
from leastcut.kernels.moves import (
    TOLERANCE,
    add_links,
    apply_move,
    insertion_change,
    node_links,
    relabel,
    removal_change,
    set_sums,
    sum_links,
    try_move,
)

MOST_TRIED = 12
"""The largest number of nodes tried as partners in an exchange with one node, cheapest first."""

FAR = 2**30  # the distance if no path leads to a cluster with spare capacity


@kernel
def list_moves(problem, state, scratch, nodes, change, target):
    """Compute for each of ``nodes`` the best move, judged by edges alone, and the change.

    The effect on cluster weights is ignored, as another node is to move in exchange. Fills
    ``change`` and ``target``, which is -1 if there is no move. O(edges of the nodes).
    """
    labels, _, cluster_weights, _, _, _ = state
    link, touched = scratch
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n_touched, total, link_a = sum_links(i, problem, labels, scratch)
        change[q] = 0.0
        target[q] = -1
        for r in range(n_touched):
            k = touched[r]
            insertion = (total - 2.0 * link[k]) / cluster_weights[k]
            if target[q] < 0 or insertion < change[q]:
                change[q] = insertion
                target[q] = k
            link[k] = 0.0
        change[q] += (2.0 * link_a - total) / cluster_weights[labels[i]]


@kernel
def exchange_within_limits(problem, state, limits, listed, first, max_edges):
    """Make moves and exchanges that lower the value; return (decrease, number made, edges visited).

    ``listed`` is ``nodes``, ``change`` and ``target`` from :func:`list_moves`, sorted by cluster
    and then by change; the nodes of cluster k begin at ``first[k]``. Changes the state, which stays
    within the limits, and sets ``target`` to -1 for moved nodes.
    """
    indptr, _, _, node_weights = problem
    labels, boundary, cluster_weights, count, ratio, _ = state
    nodes, change, target = listed
    lightest, heaviest = limits
    decrease = 0.0
    n_made = 0
    edges = 0
    for q in range(nodes.shape[0]):
        if edges > max_edges:
            break
        i = nodes[q]
        k = target[q]
        # A node that moves into a full cluster must gain more than its partner loses.
        if k < 0 or change[q] >= 0.0:
            continue
        a = labels[i]
        weight = node_weights[i]
        # 1. Earlier moves may have freed capacity for a single move.
        edges += indptr[i + 1] - indptr[i]
        may_leave = count[a] > 1 and cluster_weights[a] - weight >= lightest[a]
        if may_leave and cluster_weights[k] + weight <= heaviest[k]:
            before = ratio[a] + ratio[k]
            old_a = boundary[a], cluster_weights[a]
            old_k = boundary[k], cluster_weights[k]
            if not try_move(i, k, problem, state):
                continue
            gain = before - ratio[a] - ratio[k]
            if gain > TOLERANCE * before:
                decrease += gain
                n_made += 1
                target[q] = -1
            else:
                relabel(i, a, state)
                set_sums(a, *old_a, state)
                set_sums(k, *old_k, state)
            continue
        # 2. Try the cheapest nodes of k as partners, as long as both moves together could gain.
        tried = 0
        for r in range(first[k], first[k + 1]):
            if tried == MOST_TRIED or change[q] + change[r] >= 0.0:
                break
            j = nodes[r]
            m = target[r]
            if m < 0 or labels[j] != k:
                continue
            other = node_weights[j]
            # 3. All three clusters must be within the limits after both moves.
            new_a = cluster_weights[a] - weight + (other if m == a else 0.0)
            new_k = cluster_weights[k] + weight - other
            if new_a < lightest[a] or new_a > heaviest[a]:
                continue
            if new_k < lightest[k] or new_k > heaviest[k]:
                continue
            if m != a and cluster_weights[m] + other > heaviest[m]:
                continue
            tried += 1
            edges += indptr[i + 1] - indptr[i] + indptr[j + 1] - indptr[j]
            before = ratio[a] + ratio[k] + (ratio[m] if m != a else 0.0)
            old_a = boundary[a], cluster_weights[a]
            old_k = boundary[k], cluster_weights[k]
            old_m = boundary[m], cluster_weights[m]
            # 4. Make both moves, and undo them unless the value falls. The first move must not
            #    empty its cluster.
            n_moved = 0
            if count[a] > 1:
                if try_move(i, k, problem, state):
                    n_moved += 1
                    if try_move(j, m, problem, state):
                        n_moved += 1
            elif m == a and count[k] > 1 and try_move(j, m, problem, state):
                n_moved += 1
                if try_move(i, k, problem, state):
                    n_moved += 1
            after = ratio[a] + ratio[k] + (ratio[m] if m != a else 0.0)
            if n_moved == 2 and before - after > TOLERANCE * before:
                decrease += before - after
                n_made += 1
                target[q] = -1
                target[r] = -1
                break
            relabel(i, a, state)
            relabel(j, k, state)
            set_sums(m, *old_m, state)
            set_sums(a, *old_a, state)
            set_sums(k, *old_k, state)
    return decrease, n_made, edges


@kernel
def propagate_distances(problem, labels, distance):
    """Lower ``distance`` until it differs by at most 1 along every edge between two clusters.

    Entries of 0 are sources. O(edges) per round, and at most as many rounds as the longest path.
    """
    indptr, indices, _, _ = problem
    changed = True
    while changed:
        changed = False
        for i in range(labels.shape[0]):
            a = labels[i]
            for p in range(indptr[i], indptr[i + 1]):
                k = labels[indices[p]]
                if distance[k] + 1 < distance[a]:
                    distance[a] = distance[k] + 1
                    changed = True


@kernel
def best_receiver(i, problem, state, link, distance, heaviest):
    """Return (cost, k): the cluster k to which node i should move from a cluster that is too heavy.

    Candidates are the clusters with an edge to i that are closer to spare capacity or, if none can
    be reached, all with spare capacity. k minimizes the growth of the value, or is -1 if there is
    no candidate; the cost is the change of the value, divided by the weight of i as a fraction of
    the limit. ``link`` is c zeros, left zero. O(deg(i) + c).
    """
    indptr, indices, _, node_weights = problem
    labels, _, cluster_weights, count, _, _ = state
    a = labels[i]
    weight = node_weights[i]
    best = -1
    best_insertion = 0.0
    if count[a] == 1 or not cluster_weights[a] - weight > 0.0:
        return 0.0, best
    total = add_links(i, problem, labels, link)
    for k in range(link.shape[0]):
        if k == a or (link[k] == 0.0 and distance[a] < FAR):
            continue
        # A cluster with spare capacity must have enough of it; others pass nodes on later.
        if distance[k] >= distance[a] or (
            distance[k] == 0 and cluster_weights[k] + weight > heaviest[k]
        ):
            continue
        insertion = insertion_change(k, link[k], total, weight, state)
        if best < 0 or insertion < best_insertion:
            best = k
            best_insertion = insertion
    removal = removal_change(a, link[a], total, weight, state)
    for p in range(indptr[i], indptr[i + 1]):
        link[labels[indices[p]]] = 0.0
    return (removal + best_insertion) / (weight / heaviest[a]), best


@kernel
def lighten_clusters(problem, state, limits, link, distance, members, first, status, heap):
    """Move nodes from clusters that are too heavy towards spare capacity; return how many moved.

    This is one round. ``members`` lists the nodes by cluster, beginning at ``first[k]`` for cluster
    k, and ``distance`` is the distance of each cluster to one with spare capacity. Changes the
    state; clusters on the path may become too heavy. Scratch: ``link`` (c,) and ``status`` (n,),
    zeros left zero, and ``heap``.
    """
    indptr, indices, _, node_weights = problem
    labels, _, cluster_weights, _, _, _ = state
    keys, nodes = heap
    moved = 0
    for a in range(distance.shape[0]):
        if cluster_weights[a] <= limits[1][a]:
            continue
        size = 0
        for q in range(first[a], first[a + 1]):
            i = members[q]
            if labels[i] != a:
                continue
            cost, k = best_receiver(i, problem, state, link, distance, limits[1])
            if k >= 0:
                status[i] = 1
                size = push(keys, nodes, size, cost, i)
        while size > 0 and cluster_weights[a] > limits[1][a]:
            i = nodes[0]
            size = pop(keys, nodes, size)
            # Moves since it entered the heap may have changed its cost.
            cost, k = best_receiver(i, problem, state, link, distance, limits[1])
            if k < 0:
                status[i] = 0
                continue
            if size > 0 and cost > keys[0]:
                size = push(keys, nodes, size, cost, i)
                continue
            total, link_a, link_k = node_links(i, k, problem, labels)
            apply_move(i, k, total, link_a, link_k, node_weights, state)
            status[i] = 0
            moved += 1
            # Its neighbors now have an edge to k.
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if status[j] == 0 and labels[j] == a:
                    cost, k = best_receiver(j, problem, state, link, distance, limits[1])
                    if k >= 0:
                        status[j] = 1
                        size = push(keys, nodes, size, cost, j)
        for q in range(size):
            status[nodes[q]] = 0
    return moved


@kernel
def filling_cost(i, k, problem, state, distance, lightest):
    """Return (cost, whether allowed) of moving node i to cluster k, which is too light.

    The cost is the change of the value, divided by the weight of i as a fraction of the limit. The
    move is allowed if the cluster of i is closer to one with spare weight than k is, or can spare i
    itself. O(deg(i)).
    """
    node_weights = problem[3]
    labels, _, cluster_weights, count, _, _ = state
    a = labels[i]
    weight = node_weights[i]
    remaining = cluster_weights[a] - weight
    if a == k or count[a] == 1 or not remaining > 0.0 or distance[a] >= distance[k]:
        return 0.0, False
    if distance[a] == 0 and remaining < lightest[a]:
        return 0.0, False
    total, link_a, link_k = node_links(i, k, problem, labels)
    cost = removal_change(a, link_a, total, weight, state)
    cost += insertion_change(k, link_k, total, weight, state)
    return cost / (weight / lightest[k]), True


@kernel
def fill_clusters(problem, state, limits, distance, status, heap):
    """Move nodes into clusters that are too light; return how many moved.

    This is one round. ``distance`` is the distance of each cluster to one with spare weight, or FAR
    if no path leads to one: then any node is a candidate. Changes the state; clusters on the path
    may become too light. Scratch: ``status`` (n,), zeros left zero, and ``heap``. One loop for this
    kernel and :func:`lighten_clusters` would be shorter, but slower.
    """
    indptr, indices, _, node_weights = problem
    labels, _, cluster_weights, _, _, _ = state
    keys, nodes = heap
    moved = 0
    for k in range(distance.shape[0]):
        if cluster_weights[k] >= limits[0][k]:
            continue
        size = 0
        for i in range(labels.shape[0]):
            is_adjacent = distance[k] >= FAR
            for p in range(indptr[i], indptr[i + 1]):
                if labels[indices[p]] == k:
                    is_adjacent = True
                    break
            if is_adjacent:
                cost, is_allowed = filling_cost(i, k, problem, state, distance, limits[0])
                if is_allowed:
                    status[i] = 1
                    size = push(keys, nodes, size, cost, i)
        while size > 0 and cluster_weights[k] < limits[0][k]:
            i = nodes[0]
            size = pop(keys, nodes, size)
            cost, is_allowed = filling_cost(i, k, problem, state, distance, limits[0])
            if not is_allowed or cluster_weights[k] + node_weights[i] > limits[1][k]:
                status[i] = 0
                continue
            if size > 0 and cost > keys[0]:
                size = push(keys, nodes, size, cost, i)
                continue
            total, link_a, link_k = node_links(i, k, problem, labels)
            apply_move(i, k, total, link_a, link_k, node_weights, state)
            status[i] = 0
            moved += 1
            # Its neighbors now have an edge to k.
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if status[j] == 0:
                    cost, is_allowed = filling_cost(j, k, problem, state, distance, limits[0])
                    if is_allowed:
                        status[j] = 1
                        size = push(keys, nodes, size, cost, j)
        for q in range(size):
            status[nodes[q]] = 0
    return moved
