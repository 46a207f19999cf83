"""Exact vertex moves: the state of a partition, the best move of a node, and a local search.

The state is ``labels`` and, for every cluster k, ``boundary[k]`` (the weight of the edges that
leave it), ``cluster_weights[k]`` = b(C_k), ``count[k]`` (its number of nodes) and ``ratio[k]`` =
boundary[k] / b(C_k). The sum of the ratios is the cut value. With e the weight of all edges of node
i and s_k the weight of its edges into cluster k, moving i from a to k changes the value by

    (2 s_a − e + ratio_a b_i) / (b(C_a) − b_i)  +  (e − 2 s_k − ratio_k b_i) / (b(C_k) + b_i).

Self-loops are never cut, so every kernel skips them. ``bounds`` holds the largest ratio and the
largest and smallest cluster weight, from which it follows in O(1) whether moving i to a cluster
without an edge to i could lower the value. In ``scratch``, ``link`` is c zeros and is left zero,
and ``touched`` holds c integers.

``cannot_link`` is None, or a graph in CSR form without weights whose edges join nodes that must be
in different clusters. ``limits`` is None, or the smallest and largest weight of every cluster. The
initial state must satisfy both, and every kernel maintains them. A kernel compiled for None
contains no code for either.

Rounding. Sums of non-negative terms are accurate to a few units in the last place; only differences
can lose more. b(C_a) − b_i does so if node i holds nearly all of the weight of its cluster. No
other difference matters: s_k is at most the boundary of k, so the rounding error of the second term
is small relative to the ratio of k, and likewise for the first term as long as b(C_a) − b_i is
accurate. Such a node, of which a cluster has at most one, is not moved, and neither is a node whose
weight times a ratio could overflow: ``State.finish`` moves those.
"""

from __future__ import annotations

from leastcut.kernels import inlined, kernel
from leastcut.kernels.containers import enqueue

TOLERANCE = 1e-12
"""A move must gain more than this fraction of the two clusters' terms, so that rounding cannot
cause cycles."""

HEAVY = 1.0 - 2.0**-20
"""A node with more than this fraction of the weight of its cluster is heavy: subtracting its weight
would lose 20 of 53 bits, and losing more would affect the ninth digit of a cut value."""

LARGEST = 2.0**1000  # larger products are not formed, as they could overflow


@kernel
def measure(problem, state, offset=0.0):
    """Compute the state from its labels, and return the cut value.

    Every cluster weighs ``offset`` plus its nodes. The value is infinite if one is empty. O(edges).
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
    """Sum node i's edges by cluster; return (number of other clusters, e, s_a).

    The other clusters are listed in ``touched``, and ``link`` holds their s_k, which the caller
    must clear. A cluster whose entry in ``link`` was not 0 is not listed. O(deg(i)).
    """
    indptr, indices, weights, _ = problem
    link, touched = scratch
    a = labels[i]
    n_touched = 0
    total = 0.0
    link_a = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if j == i:
            continue
        k = labels[j]
        total += weights[p]
        if k == a:
            link_a += weights[p]
            continue
        # Weights are positive, so 0 means that k is new.
        if link[k] == 0.0:
            touched[n_touched] = k
            n_touched += 1
        link[k] += weights[p]
    return n_touched, total, link_a


@inlined
def add_links(i, problem, labels, link):
    """Add node i's edges to ``link`` by cluster, including its cluster, and return e. O(deg(i))."""
    indptr, indices, weights, _ = problem
    total = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if j != i:
            total += weights[p]
            link[labels[j]] += weights[p]
    return total


@inlined
def removal_change(a, link_a, total, weight, state):
    """Return the first term of the change: by how much removing the node changes ratio a."""
    _, _, cluster_weights, _, ratio, _ = state
    return (2.0 * link_a - total + ratio[a] * weight) / (cluster_weights[a] - weight)


@inlined
def insertion_change(k, link_k, total, weight, state):
    """Return the second term of the change: by how much inserting the node changes ratio k."""
    _, _, cluster_weights, _, ratio, _ = state
    return (total - 2.0 * link_k - ratio[k] * weight) / (cluster_weights[k] + weight)


@inlined
def is_immovable(i, node_weights, state):
    """Return whether node i is alone in its cluster, or too heavy for accurate differences."""
    labels, _, cluster_weights, count, _, bounds = state
    a = labels[i]
    weight = node_weights[i]
    return count[a] == 1 or weight > HEAVY * cluster_weights[a] or bounds[0] * weight > LARGEST


@inlined
def best_move(i, problem, state, scratch, cannot_link=None, limits=None):
    """Return (change, k, e, s_a, s_k) for node i's best move to another cluster k.

    ``change`` is what the move adds to the cut value. k is -1 if there is no move: i is immovable,
    or ``cannot_link`` and ``limits`` allow none, or all its edges stay inside and no other cluster
    can gain from it. Clusters without an edge to i are examined only if a move there could lower
    the value. Changes nothing. O(deg(i) + its pairs), plus O(c) unless ``bounds`` rules these out.
    """
    labels, _, cluster_weights, _, _, bounds = state
    link, touched = scratch
    a = labels[i]
    weight = problem[3][i]
    if is_immovable(i, problem[3], state):
        return 0.0, -1, 0.0, 0.0, 0.0
    if limits is not None and cluster_weights[a] - weight < limits[0][a]:
        return 0.0, -1, 0.0, 0.0, 0.0
    # A cluster that i may not join gets an infinite link, so that it is never listed nor tried.
    if cannot_link is not None:
        for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
            link[labels[cannot_link[1][p]]] = float("inf")
    n_touched, total, link_a = sum_links(i, problem, labels, scratch)
    best = -1
    best_insertion = 0.0
    link_k = 0.0
    for q in range(n_touched):
        k = touched[q]
        if limits is not None and cluster_weights[k] + weight > limits[1][k]:
            continue
        insertion = insertion_change(k, link[k], total, weight, state)
        if best < 0 or insertion < best_insertion:
            best = k
            best_insertion = insertion
            link_k = link[k]
    # The first term is the same for all k, so the best move has the smallest second term.
    removal = removal_change(a, link_a, total, weight, state)

    # For a cluster without an edge to i, ``bound`` is at most the second term. There s_k = 0, which
    # leaves (e − ratio_k b_i) / (b(C_k) + b_i). The largest ratio minimizes the numerator; then the
    # largest weight minimizes a positive quotient, and the smallest weight a negative one.
    bound = total - bounds[0] * weight
    bound /= (bounds[1] if bound > 0.0 else bounds[2]) + weight
    # Only if such a cluster could improve the cut, and by more than those with an edge.
    if removal + bound < 0.0 and (best < 0 or bound < best_insertion):
        for k in range(cluster_weights.shape[0]):
            if limits is not None and cluster_weights[k] + weight > limits[1][k]:
                continue
            # Cluster a has no entry in ``link`` either, so it is excluded explicitly.
            if k != a and link[k] == 0.0:
                insertion = insertion_change(k, 0.0, total, weight, state)
                if best < 0 or insertion < best_insertion:
                    best = k
                    best_insertion = insertion
                    link_k = 0.0
    for q in range(n_touched):
        link[touched[q]] = 0.0
    if cannot_link is not None:
        for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
            link[labels[cannot_link[1][p]]] = 0.0
    return removal + best_insertion, best, total, link_a, link_k


@inlined
def node_links(i, k, problem, labels):
    """Return e, s_a and s_k of node i for one cluster k. O(deg(i))."""
    indptr, indices, weights, _ = problem
    a = labels[i]
    total = 0.0
    link_a = 0.0
    link_k = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        j = indices[p]
        if j != i:
            total += weights[p]
            if labels[j] == a:
                link_a += weights[p]
            elif labels[j] == k:
                link_k += weights[p]
    return total, link_a, link_k


@inlined
def set_sums(k, boundary_k, weight_k, state):
    """Set the boundary and weight of cluster k, and update its ratio and the bounds. O(1).

    The bounds only widen until the next call of :func:`measure`, so they stay valid.
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
    """Assign node i to cluster k and update the counts, but not the sums. O(1)."""
    labels, _, _, count, _, _ = state
    count[labels[i]] -= 1
    count[k] += 1
    labels[i] = k


@inlined
def apply_move(i, k, total, link_a, link_k, node_weights, state):
    """Move node i to cluster k, given e, s_a and s_k, and update the state. O(1)."""
    labels, boundary, cluster_weights, _, _, _ = state
    a = labels[i]
    relabel(i, k, state)
    # Edges from i to other clusters no longer leave a, and those into a now do; for k the reverse.
    # Rounding must not make a boundary negative, which would look like a gain.
    boundary_a = max(boundary[a] - (total - link_a) + link_a, 0.0)
    boundary_k = max(boundary[k] + (total - link_k) - link_k, 0.0)
    set_sums(a, boundary_a, cluster_weights[a] - node_weights[i], state)
    set_sums(k, boundary_k, cluster_weights[k] + node_weights[i], state)


@kernel
def try_move(i, k, problem, state):
    """Move node i to cluster k unless it is immovable; return whether it moved. O(deg(i))."""
    if is_immovable(i, problem[3], state):
        return False
    total, link_a, link_k = node_links(i, k, problem, state[0])
    apply_move(i, k, total, link_a, link_k, problem[3], state)
    return True


@kernel
def local_search(
    problem, state, scratch, queue, n_queued, queued, max_visits, cannot_link=None, limits=None
):
    """Make improving moves until the queue is empty; return (decrease, moves, edges visited).

    ``queue`` is a ring buffer of n places, the first ``n_queued`` of which are filled, and
    ``queued[i]`` is 1 for the nodes in it. When a node moves, its neighbors and the nodes paired
    with it by ``cannot_link`` are queued again. Changes the state; leaves ``queued`` zero. Every
    move lowers the cut value and no cluster is emptied. Stops early after ``max_visits`` nodes.
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
        # After the last visit the queue is only emptied, to leave ``queued`` zero.
        if visits >= max_visits:
            continue
        visits += 1
        edges += indptr[i + 1] - indptr[i]
        change, k, total, link_a, link_k = best_move(
            i, problem, state, scratch, cannot_link, limits
        )
        # This form also rejects NaN.
        if k < 0 or not -change > TOLERANCE * (ratio[labels[i]] + ratio[k]):
            continue
        apply_move(i, k, total, link_a, link_k, node_weights, state)
        decrease -= change
        moves += 1
        # The best moves of the neighbors have changed. The two ratios also change best moves of
        # other nodes, which the next call examines: queueing them here would cost O(n) per move.
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] != i:
                n_queued = enqueue(indices[p], queue, head, n_queued, queued)
        if cannot_link is not None:
            for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
                n_queued = enqueue(cannot_link[1][p], queue, head, n_queued, queued)
    return decrease, moves, edges


@kernel
def mark_border(indptr, indices, labels, on_border):
    """Set on_border[i] to 1 if node i has a neighbor in another cluster, else 0. O(edges)."""
    for i in range(labels.shape[0]):
        a = labels[i]
        crosses = 0
        for p in range(indptr[i], indptr[i + 1]):
            if labels[indices[p]] != a:
                crosses = 1
                break
        on_border[i] = crosses
