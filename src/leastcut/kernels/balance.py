"""Clusters that may not weigh more, or less, than so much: exchanges within the limits, and repair.

Where clusters are full a single node cannot move into any of them. It can if another makes room:
node i moves from a to k, and at once a node j of k moves to a cluster m, which may be a.

A partition that breaks the limits is repaired by shedding. Clusters that are too heavy hand nodes
to neighbours that are nearer to one with room, along the edges between clusters, so that what moves
stays beside what it has edges to. Clusters that are too light are filled the other way round.
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
"""Nodes that are asked to make room for one, at most: those that it costs least come first."""

FAR = 2**30  # the distance to a cluster with room, where no edges lead there


@kernel
def list_moves(problem, state, scratch, nodes, change, target):
    """Fill in where each of ``nodes`` had best move, and what that is worth by its edges alone.

    What a move does to the weight of clusters is left out, as another node is to move the other
    way. Fills ``change`` and ``target``, -1 where there is none. O(edges of the nodes).
    """
    labels, _, cluster_weights, _, _, _ = state
    link, touched = scratch
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n_touched, total, own = sum_links(i, problem, labels, scratch)
        change[q] = 0.0
        target[q] = -1
        for r in range(n_touched):
            k = touched[r]
            joined = (total - 2.0 * link[k]) / cluster_weights[k]
            if target[q] < 0 or joined < change[q]:
                change[q] = joined
                target[q] = k
            link[k] = 0.0
        change[q] += (2.0 * own - total) / cluster_weights[labels[i]]


@kernel
def exchange_within_limits(problem, state, limits, listed, first, max_edges):
    """Make the moves and exchanges that lower the value; return (decrease, made, edges visited).

    ``listed`` is ``nodes``, ``change`` and ``target`` of moves as :func:`list_moves` found them, by
    cluster and the best of each cluster first; ``first[k]`` is where those of cluster k begin.
    Changes the state, which keeps to the limits, and sets ``target`` to -1 for what has moved.
    """
    indptr, _, _, node_weights = problem
    labels, boundary, cluster_weights, count, ratio, _ = state
    nodes, change, target = listed
    lightest, heaviest = limits
    decrease = 0.0
    made = 0
    edges = 0
    for q in range(nodes.shape[0]):
        if edges > max_edges:
            break
        i = nodes[q]
        k = target[q]
        # What moves into a full cluster must gain more than the other loses.
        if k < 0 or change[q] >= 0.0:
            continue
        a = labels[i]
        weight = node_weights[i]
        # 1. There may be room by now.
        edges += indptr[i + 1] - indptr[i]
        is_free = count[a] > 1 and cluster_weights[a] - weight >= lightest[a]
        if is_free and cluster_weights[k] + weight <= heaviest[k]:
            before = ratio[a] + ratio[k]
            old_a = boundary[a], cluster_weights[a]
            old_k = boundary[k], cluster_weights[k]
            if not try_move(i, k, problem, state):
                continue
            gain = before - ratio[a] - ratio[k]
            if gain > TOLERANCE * before:
                decrease += gain
                made += 1
                target[q] = -1
            else:
                relabel(i, a, state)
                set_sums(a, *old_a, state)
                set_sums(k, *old_k, state)
            continue
        # 2. Ask the nodes of k that it costs least, as long as both together could gain.
        tried = 0
        for r in range(first[k], first[k + 1]):
            if tried == MOST_TRIED or change[q] + change[r] >= 0.0:
                break
            j = nodes[r]
            m = target[r]
            if m < 0 or labels[j] != k:
                continue
            other = node_weights[j]
            # 3. All three clusters must keep to the limits when both have moved.
            left = cluster_weights[a] - weight + (other if m == a else 0.0)
            middle = cluster_weights[k] + weight - other
            if left < lightest[a] or left > heaviest[a]:
                continue
            if middle < lightest[k] or middle > heaviest[k]:
                continue
            if m != a and cluster_weights[m] + other > heaviest[m]:
                continue
            tried += 1
            edges += indptr[i + 1] - indptr[i] + indptr[j + 1] - indptr[j]
            before = ratio[a] + ratio[k] + (ratio[m] if m != a else 0.0)
            old_a = boundary[a], cluster_weights[a]
            old_k = boundary[k], cluster_weights[k]
            old_m = boundary[m], cluster_weights[m]
            # 4. Make both moves, and take them back unless the value falls. The one that leaves a
            #    node behind goes first.
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
                made += 1
                target[q] = -1
                target[r] = -1
                break
            relabel(i, a, state)
            relabel(j, k, state)
            set_sums(m, *old_m, state)
            set_sums(a, *old_a, state)
            set_sums(k, *old_k, state)
    return decrease, made, edges


@kernel
def propagate_distances(problem, labels, distance):
    """Lower ``distance`` of clusters, until it grows by 1 at most along every edge between two.

    O(edges) a round; as many rounds as the longest way is long.
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
    """Return (cost, k): the cluster that node i of one that is too heavy had best be handed to.

    Of those it has an edge to and that are nearer to room, or else of all with room, the one that
    the value grows least by; the cost is per fraction of the limit. k is -1 where there is none.
    ``link`` is c zeros, left zero. O(deg(i) + c).
    """
    indptr, indices, _, node_weights = problem
    labels, _, cluster_weights, count, _, _ = state
    a = labels[i]
    weight = node_weights[i]
    best = -1
    best_join = 0.0
    if count[a] == 1 or not cluster_weights[a] - weight > 0.0:
        return 0.0, best
    total = add_links(i, problem, labels, link)
    for k in range(link.shape[0]):
        if k == a or (link[k] == 0.0 and distance[a] < FAR):
            continue
        # A cluster with room must have enough of it; others hand on what they cannot hold.
        if distance[k] >= distance[a] or (
            distance[k] == 0 and cluster_weights[k] + weight > heaviest[k]
        ):
            continue
        join = insertion_change(k, link[k], total, weight, state)
        if best < 0 or join < best_join:
            best = k
            best_join = join
    leave = removal_change(a, link[a], total, weight, state)
    for p in range(indptr[i], indptr[i + 1]):
        link[labels[indices[p]]] = 0.0
    return (leave + best_join) / (weight / heaviest[a]), best


@kernel
def lighten_clusters(problem, state, limits, link, distance, members, first, status, heap):
    """Let clusters that are too heavy hand nodes on towards those with room; return how many moved.

    One round: ``members`` lists the nodes by cluster, those of k from ``first[k]`` on, and
    ``distance`` says how far each cluster is from one with room. Changes the state; clusters on
    the way may become too heavy. Scratch: ``link`` c and ``status`` n zeros, left so, ``heap``.
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
            # Moves since it was put there may have changed what it costs.
            cost, k = best_receiver(i, problem, state, link, distance, limits[1])
            if k < 0:
                status[i] = 0
                continue
            if size > 0 and cost > keys[0]:
                size = push(keys, nodes, size, cost, i)
                continue
            total, own, into = node_links(i, k, problem, labels)
            apply_move(i, k, total, own, into, node_weights, state)
            status[i] = 0
            moved += 1
            # Its neighbours are now beside k.
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
    """Return (cost, whether): what node i costs where cluster k, which is too light, takes it over.

    The cost is by the fraction of the limit that is taken over. It may where i's own cluster is
    nearer to one that can spare nodes, or can spare i itself. O(deg(i)).
    """
    node_weights = problem[3]
    labels, _, cluster_weights, count, _, _ = state
    a = labels[i]
    weight = node_weights[i]
    rest = cluster_weights[a] - weight
    if a == k or count[a] == 1 or not rest > 0.0 or distance[a] >= distance[k]:
        return 0.0, False
    if distance[a] == 0 and rest < lightest[a]:
        return 0.0, False
    total, own, into = node_links(i, k, problem, labels)
    cost = removal_change(a, own, total, weight, state)
    cost += insertion_change(k, into, total, weight, state)
    return cost / (weight / lightest[k]), True


@kernel
def fill_clusters(problem, state, limits, distance, status, heap):
    """Let clusters that are too light take nodes over; return how many moved.

    One round: ``distance`` says how far each cluster is from one that can spare nodes, and is FAR
    where only nodes without an edge to it are to be had. Changes the state; clusters on the way may
    become too light. Scratch: ``status`` n zeros, left so, ``heap``. One loop for
    :func:`lighten_clusters` and this one took 1.4 and 1.1 times as long, for ten lines less.
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
            near = distance[k] >= FAR
            for p in range(indptr[i], indptr[i + 1]):
                if labels[indices[p]] == k:
                    near = True
                    break
            if near:
                cost, is_free = filling_cost(i, k, problem, state, distance, limits[0])
                if is_free:
                    status[i] = 1
                    size = push(keys, nodes, size, cost, i)
        while size > 0 and cluster_weights[k] < limits[0][k]:
            i = nodes[0]
            size = pop(keys, nodes, size)
            cost, is_free = filling_cost(i, k, problem, state, distance, limits[0])
            if not is_free or cluster_weights[k] + node_weights[i] > limits[1][k]:
                status[i] = 0
                continue
            if size > 0 and cost > keys[0]:
                size = push(keys, nodes, size, cost, i)
                continue
            total, own, into = node_links(i, k, problem, labels)
            apply_move(i, k, total, own, into, node_weights, state)
            status[i] = 0
            moved += 1
            # Its neighbours are now beside k.
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if status[j] == 0:
                    cost, is_free = filling_cost(j, k, problem, state, distance, limits[0])
                    if is_free:
                        status[j] = 1
                        size = push(keys, nodes, size, cost, j)
        for q in range(size):
            status[nodes[q]] = 0
    return moved
