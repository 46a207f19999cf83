"""Exact vertex moves: the state of a partition, the best move of a node, and settling a queue.

The state is ``labels`` and, for every cluster k, ``boundary[k]`` (weight of the edges that leave
it), ``cluster_weights[k]`` = b(C_k), ``count[k]`` (nodes) and ``ratio[k]``, the boundary divided by
b(C_k), whose sum is the cut value. With e the weight of all of node i's edges and s_k that of those
into cluster k, taking i out of a and putting it into k changes the value by

    (2 s_a − e + ratio_a b_i) / (b(C_a) − b_i)  +  (e − 2 s_k − ratio_k b_i) / (b(C_k) + b_i).

Self-loops never cross, so every kernel skips them. ``bounds`` holds the largest ratio and the
largest and smallest cluster weight, which tell in O(1) whether a cluster that i has no edge to
could be worth looking at. In ``scratch``, ``link`` is c zeros and is left zero, and ``touched``
holds c integers.

``cannot_link`` is None, or a graph in CSR form without weights, whose edges join nodes that must be
in different clusters. They are in the state given, and so they stay. ``limits`` is None, or what
every cluster must weigh at least and may weigh at most, which holds in the state given and so goes
on to hold. A kernel that is compiled for None has no trace of either.

Rounding. Sums of non-negative terms are right to a few units in the last place; only differences
can lose more. b(C_a) − b_i does where node i holds nearly all of its cluster, and no other
difference matters: s_k is at most the boundary of k, so what rounding does to the second term is a
part of the ratio that k has, and so with the first as long as b(C_a) − b_i keeps its digits. Such a
node, of which a cluster can have one, is left where it is, and so is one whose weight times a ratio
could overflow: ``State.finish`` moves them.
"""

from __future__ import annotations

from leastcut.kernels import inlined, kernel
from leastcut.kernels.containers import enqueue

TOLERANCE = 1e-12
"""A move must gain more than this fraction of the two clusters' terms: rounding cannot cycle."""

HEAVY = 1.0 - 2.0**-20
"""A node with more than this part of its cluster's weight is heavy: to take its weight away would
cost 20 of 53 bits, and more would show in the ninth digit of a cut value."""

LARGEST = 2.0**1000  # products above this are not formed, as they could overflow


@kernel
def measure(problem, state, offset=0.0):
    """Fill the state from its labels, and return the cut value.

    Every cluster weighs ``offset`` besides its nodes. O(edges). The value is infinite when a
    cluster is empty.
    """
    indptr, indices, weights, node_weights = problem
    labels, boundary, cluster_weights, count, ratio, bounds = state
    n_clusters = boundary.shape[0]
    boundary[:] = 0.0
    cluster_weights[:] = offset
    count[:] = 0
    for i in range(labels.shape[0]):
        a = labels[i]
        crossing = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            if labels[indices[p]] != a:
                crossing += weights[p]
        boundary[a] += crossing
        cluster_weights[a] += node_weights[i]
        count[a] += 1
    value = 0.0
    bounds[0] = 0.0
    bounds[1] = 0.0
    bounds[2] = cluster_weights[0]
    for k in range(n_clusters):
        if count[k] == 0:
            ratio[k] = 0.0
            value += float("inf")
            continue
        ratio[k] = boundary[k] / cluster_weights[k]
        value += ratio[k]
        bounds[0] = max(bounds[0], ratio[k])
        bounds[1] = max(bounds[1], cluster_weights[k])
        bounds[2] = min(bounds[2], cluster_weights[k])
    return value


@inlined
def sum_links(i, problem, labels, scratch):
    """Sum node i's edges by cluster; return (how many other clusters, e, s_a).

    These are listed in ``touched`` and have s_k in ``link``, for the caller to clear. A cluster
    whose entry in ``link`` was not 0 is not listed. O(deg(i)).
    """
    indptr, indices, weights, _ = problem
    link, touched = scratch
    a = labels[i]
    n_touched = 0
    total = 0.0
    own = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if j == i:
            continue
        k = labels[j]
        total += weights[p]
        if k == a:
            own += weights[p]
            continue
        # Weights are positive, so 0 means that k has not been met yet.
        if link[k] == 0.0:
            touched[n_touched] = k
            n_touched += 1
        link[k] += weights[p]
    return n_touched, total, own


@inlined
def add_links(i, problem, labels, link):
    """Add node i's edges to ``link`` by cluster, its own too, and return e. O(deg(i))."""
    indptr, indices, weights, _ = problem
    total = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if j != i:
            total += weights[p]
            link[labels[j]] += weights[p]
    return total


@inlined
def removal_change(a, own, total, weight, state):
    """Return the first term of the change: what the ratio of cluster a grows by."""
    _, _, cluster_weights, _, ratio, _ = state
    return (2.0 * own - total + ratio[a] * weight) / (cluster_weights[a] - weight)


@inlined
def insertion_change(k, into, total, weight, state):
    """Return the second term of the change: what the ratio of cluster k grows by."""
    _, _, cluster_weights, _, ratio, _ = state
    return (total - 2.0 * into - ratio[k] * weight) / (cluster_weights[k] + weight)


@inlined
def is_immovable(i, node_weights, state):
    """Return whether node i is alone in its cluster, or too heavy for differences to be right."""
    labels, _, cluster_weights, count, _, bounds = state
    a = labels[i]
    weight = node_weights[i]
    return count[a] == 1 or weight > HEAVY * cluster_weights[a] or bounds[0] * weight > LARGEST


@inlined
def best_move(i, problem, state, scratch, cannot_link=None, limits=None):
    """Return (change, k, e, s_a, s_k) for node i's best move to another cluster k.

    ``change`` is what the move adds to the cut value; k is -1 where there is no move to make: i is
    held, or all its edges stay inside and no other cluster can gain from it, or ``cannot_link`` and
    ``limits`` allow none. Clusters that i has no edge to are looked at only where a move there
    could lower the value. Changes nothing; O(deg(i)), with its pairs, and O(deg(i) + c) when
    ``bounds`` cannot rule them out.
    """
    labels, _, cluster_weights, _, _, bounds = state
    link, touched = scratch
    a = labels[i]
    weight = problem[3][i]
    if is_immovable(i, problem[3], state):
        return 0.0, -1, 0.0, 0.0, 0.0
    if limits is not None and cluster_weights[a] - weight < limits[0][a]:
        return 0.0, -1, 0.0, 0.0, 0.0
    # Where i may not go, ``link`` says that k has been met, and so k is never listed nor tried.
    if cannot_link is not None:
        for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
            link[labels[cannot_link[1][p]]] = float("inf")
    n_touched, total, own = sum_links(i, problem, labels, scratch)
    best = -1
    best_join = 0.0
    best_link = 0.0
    for q in range(n_touched):
        k = touched[q]
        if limits is not None and cluster_weights[k] + weight > limits[1][k]:
            continue
        join = insertion_change(k, link[k], total, weight, state)
        if best < 0 or join < best_join:
            best = k
            best_join = join
            best_link = link[k]
    # It is the same for all k, so the best move has the least second term.
    leave = removal_change(a, own, total, weight, state)

    # For a cluster without such an edge, ``far`` is no more than the second term can be.
    # There s_k = 0, which leaves (e − ratio_k b_i) / (b(C_k) + b_i). The largest ratio makes the
    # numerator least; then the largest weight makes it small if positive, the smallest if negative.
    far = total - bounds[0] * weight
    far /= (bounds[1] if far > 0.0 else bounds[2]) + weight
    # Only where such a cluster could improve the cut, and more than those with an edge.
    if leave + far < 0.0 and (best < 0 or far < best_join):
        for k in range(cluster_weights.shape[0]):
            if limits is not None and cluster_weights[k] + weight > limits[1][k]:
                continue
            # The own cluster a has no link either, and so has to be named.
            if k != a and link[k] == 0.0:
                join = insertion_change(k, 0.0, total, weight, state)
                if best < 0 or join < best_join:
                    best = k
                    best_join = join
                    best_link = 0.0
    for q in range(n_touched):
        link[touched[q]] = 0.0
    if cannot_link is not None:
        for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
            link[labels[cannot_link[1][p]]] = 0.0
    return leave + best_join, best, total, own, best_link


@inlined
def node_links(i, k, problem, labels):
    """Return e, s_a and s_k of node i for one cluster k. O(deg(i))."""
    indptr, indices, weights, _ = problem
    a = labels[i]
    total = 0.0
    own = 0.0
    into = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if j != i:
            total += weights[p]
            if labels[j] == a:
                own += weights[p]
            elif labels[j] == k:
                into += weights[p]
    return total, own, into


@inlined
def set_sums(k, boundary_k, weight_k, state):
    """Set the boundary and weight of cluster k, and what follows from them. O(1).

    The bounds only ever widen: what they rule out stays ruled out, until the next measure.
    """
    _, boundary, cluster_weights, _, ratio, bounds = state
    boundary[k] = boundary_k
    cluster_weights[k] = weight_k
    ratio[k] = boundary_k / weight_k
    bounds[0] = max(bounds[0], ratio[k])
    bounds[1] = max(bounds[1], weight_k)
    bounds[2] = min(bounds[2], weight_k)


@inlined
def relabel(i, k, state):
    """Give node i the label k and count it there; sums stay. O(1)."""
    labels, _, _, count, _, _ = state
    count[labels[i]] -= 1
    count[k] += 1
    labels[i] = k


@inlined
def apply_move(i, k, total, own, into, node_weights, state):
    """Move node i to cluster k, given e, s_a and s_k, and update the state. O(1)."""
    labels, boundary, cluster_weights, _, _, _ = state
    a = labels[i]
    relabel(i, k, state)
    # Edges of i to other clusters no longer leave a, those into a now do; for k the reverse.
    # Rounding must not make a boundary negative, which would look like a gain.
    left = max(boundary[a] - (total - own) + own, 0.0)
    joined = max(boundary[k] + (total - into) - into, 0.0)
    set_sums(a, left, cluster_weights[a] - node_weights[i], state)
    set_sums(k, joined, cluster_weights[k] + node_weights[i], state)


@kernel
def try_move(i, k, problem, state):
    """Move node i to cluster k whatever it is worth, and return whether: not if it is held.

    O(deg(i)).
    """
    if is_immovable(i, problem[3], state):
        return False
    total, own, into = node_links(i, k, problem, state[0])
    apply_move(i, k, total, own, into, problem[3], state)
    return True


@kernel
def local_search(
    problem, state, scratch, queue, n_queued, queued, max_visits, cannot_link=None, limits=None
):
    """Make improving moves until the queue is empty; return (decrease, moves, edges visited).

    ``queue`` is a ring of n places whose first ``n_queued`` are filled, and ``queued[i]`` is 1 for
    the nodes in it. A node that moves brings its neighbours back, and those that it stood in the
    way of. Changes the state; leaves ``queued`` zero. Every move lowers the cut value and no
    cluster is emptied. Stops early after ``max_visits`` nodes.
    """
    indptr, indices, _, node_weights = problem
    labels, _, _, _, ratio, _ = state
    n = labels.shape[0]
    head = 0
    decrease = 0.0
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
        edges += indptr[i + 1] - indptr[i]
        change, k, total, own, into = best_move(i, problem, state, scratch, cannot_link, limits)
        # In this form it also refuses a change that is not a number.
        if k < 0 or not -change > TOLERANCE * (ratio[labels[i]] + ratio[k]):
            continue
        apply_move(i, k, total, own, into, node_weights, state)
        decrease -= change
        moves += 1
        # The neighbours' moves are worth something else now, and so (through the two ratios) are
        # those of other nodes, which the next call has to find: queueing all would cost O(n) a
        # move.
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] != i:
                n_queued = enqueue(indices[p], queue, head, n_queued, queued)
        if cannot_link is not None:
            for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
                n_queued = enqueue(cannot_link[1][p], queue, head, n_queued, queued)
    return decrease, moves, edges


@kernel
def mark_border(indptr, indices, labels, on_border):
    """Set on_border[i] to 1 where node i has a neighbour in another cluster, else 0. O(edges)."""
    for i in range(labels.shape[0]):
        a = labels[i]
        found = 0
        for p in range(indptr[i], indptr[i + 1]):
            if labels[indices[p]] != a:
                found = 1
                break
        on_border[i] = found
