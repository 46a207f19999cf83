"""Coarsening: aggregate nodes, and contract the aggregates into a smaller graph.

Only edges between coarse nodes are kept: an edge inside a coarse node is never cut, and the cut
value depends on cut edges and node weights only, so every coarse partition has the same value on
both levels. ``aggregate_of[i]`` is the aggregate of node i, identified by one of its nodes, its
root: ``aggregate_of[root] == root``.
"""

from __future__ import annotations

from leastcut.kernels import kernel

FEW_MOVES = 50  # label propagation ends after a round that moves less than one node in this many


@kernel
def aggregate(problem, inverse, labels, order, most_nodes, max_weight, aggregates):
    """Let every node, in the given order, join the neighbor with the largest edge score.

    The score is S_ij (1/b_i + 1/b_j), where ``inverse`` is 1/b; candidates have the same entry in
    ``labels`` and an aggregate that stays within ``most_nodes`` nodes and ``max_weight``. Fills
    ``aggregates``: ``aggregate_of``, and for roots the ``size`` and ``aggregate_weight``. O(edges).
    """
    indptr, indices, weights, node_weights = problem
    aggregate_of, size, aggregate_weight = aggregates
    # ``size`` and ``aggregate_weight`` are only read for roots, after they are written.
    aggregate_of[:] = -1
    for q in range(order.shape[0]):
        i = order[q]
        # Node i is already in the pair of an earlier node.
        if aggregate_of[i] >= 0:
            continue
        # The largest weight of an aggregate that i may join.
        capacity = max_weight - node_weights[i]
        inverse_i = inverse[i]
        best = -1
        best_score = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            score = weights[p] * (inverse_i + inverse[j])
            # Ties go to the first neighbor.
            if score <= best_score or j == i or labels[j] != labels[i]:
                continue
            # A node without an aggregate forms a pair with i; otherwise i joins its aggregate.
            r = aggregate_of[j]
            if (r < 0 and node_weights[j] <= capacity) or (
                r >= 0 and size[r] < most_nodes and aggregate_weight[r] <= capacity
            ):
                best = j
                best_score = score
        # No neighbor to join: i is a single aggregate, which later nodes may join.
        if best < 0:
            aggregate_of[i] = i
            size[i] = 1
            aggregate_weight[i] = node_weights[i]
        elif aggregate_of[best] < 0:
            # Both were free: a pair with root i.
            aggregate_of[i] = i
            aggregate_of[best] = i
            size[i] = 2
            aggregate_weight[i] = node_weights[i] + node_weights[best]
        else:
            r = aggregate_of[best]
            aggregate_of[i] = r
            size[r] += 1
            aggregate_weight[r] += node_weights[i]


@kernel
def aggregate_leaves(problem, labels, order, max_weight, aggregate_of, size, waiting):
    """Pair nodes that :func:`aggregate` left single and that share a neighbor, as leaves of a hub.

    ``waiting`` is scratch of n. Changes ``aggregate_of`` and ``size``. O(edges).
    """
    indptr, indices, weights, node_weights = problem
    waiting[:] = -1
    for q in range(order.shape[0]):
        i = order[q]
        # A single node that no other node has joined.
        if aggregate_of[i] != i or size[i] != 1:
            continue
        hub = -1
        best_score = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i or labels[j] != labels[i]:
                continue
            score = weights[p] / node_weights[j]
            if score > best_score:
                hub = j
                best_score = score
        if hub < 0:
            continue
        # At most one leaf waits at every hub; the next one is paired with it.
        other = waiting[hub]
        if other < 0:
            waiting[hub] = i
        # If both are too heavy together, the first keeps waiting, and i stays single.
        elif node_weights[other] + node_weights[i] <= max_weight:
            aggregate_of[i] = other
            size[other] = 2
            waiting[hub] = -1


@kernel
def propagate(
    problem,
    labels,
    order,
    span,
    max_weight,
    most_rounds,
    fewest_aggregates,
    aggregate_of,
    sums,
    scratch,
):
    """Let every node, in the given order, join the aggregate with the heaviest edges to it.

    Candidates have the same entry in ``labels`` and stay within ``max_weight``; ties go to the
    current aggregate. Nodes start..stop-1 of ``span``, which ``order`` has at these positions, are
    aggregated as if there were no others. Ends after ``most_rounds`` rounds, when few nodes move,
    or when ``fewest_aggregates`` are left. Fills ``aggregate_of``; ``sums`` are the weight of every
    aggregate, on entry the node weights, and its number of nodes; ``scratch`` is n zeros, left
    zero, and n integers. O(edges) per round.
    """
    indptr, indices, weights, node_weights = problem
    aggregate_weight, size = sums
    link, touched = scratch
    start, stop = span
    n = stop - start
    # Until the end ``aggregate_of`` is the node that an aggregate began with.
    for i in range(start, stop):
        aggregate_of[i] = i
        size[i] = 1
    n_aggregates = n
    for _ in range(most_rounds):
        moved = 0
        for q in range(start, stop):
            i = order[q]
            # 1. Sum the edges of i by aggregate.
            n_touched = start
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if j == i or j < start or j >= stop or labels[j] != labels[i]:
                    continue
                k = aggregate_of[j]
                if link[k] == 0.0:
                    touched[n_touched] = k
                    n_touched += 1
                link[k] += weights[p]
            # 2. Choose the heaviest sum within the capacity, the first of equal ones.
            a = aggregate_of[i]
            best = a
            capacity = max_weight - node_weights[i]
            for q_touched in range(start, n_touched):
                k = touched[q_touched]
                if link[k] > link[best] and aggregate_weight[k] <= capacity:
                    best = k
            for q_touched in range(start, n_touched):
                link[touched[q_touched]] = 0.0
            if best == a:
                continue
            # 3. Move there.
            aggregate_of[i] = best
            aggregate_weight[a] -= node_weights[i]
            aggregate_weight[best] += node_weights[i]
            size[a] -= 1
            size[best] += 1
            moved += 1
            if size[a] == 0:
                n_aggregates -= 1
                if n_aggregates <= fewest_aggregates:
                    break
        if n_aggregates <= fewest_aggregates or moved * FEW_MOVES < n:
            break
    # Identify every aggregate by its first node: the node it began with may have left.
    touched[start:stop] = -1
    for i in range(start, stop):
        if touched[aggregate_of[i]] < 0:
            touched[aggregate_of[i]] = i
    for i in range(start, stop):
        aggregate_of[i] = touched[aggregate_of[i]]


@kernel
def aggregate_pairs(source, target, most_merges, aggregate_of, size):
    """Merge the end points of the listed edges in order, up to ``most_merges`` times.

    Each node takes part in one merge. If that gives less than half of ``most_merges``, as in stars,
    single nodes then join existing aggregates. Fills ``aggregate_of`` and, for roots, ``size``.
    O(nodes + edges).
    """
    for i in range(aggregate_of.shape[0]):
        aggregate_of[i] = i
        size[i] = 1
    merges = 0
    for p in range(source.shape[0]):
        if merges == most_merges:
            return
        i = source[p]
        j = target[p]
        # Both ends are single: a root of a pair has size 2, and its other node another root.
        if (
            i != j
            and aggregate_of[i] == i
            and aggregate_of[j] == j
            and size[i] == 1
            and size[j] == 1
        ):
            aggregate_of[j] = i
            size[i] = 2
            merges += 1
    for p in range(source.shape[0]):
        if 2 * merges >= most_merges:
            return
        i = source[p]
        j = target[p]
        # At most one end is single: two single ends would have formed a pair.
        if aggregate_of[j] == j and size[j] == 1:
            i, j = j, i
        if i != j and aggregate_of[i] == i and size[i] == 1:
            r = aggregate_of[j]
            aggregate_of[i] = r
            size[r] += 1
            merges += 1


@kernel
def number_aggregates(aggregate_of, parent, first):
    """Number the aggregates in the order of their roots, and return their number.

    Fills ``parent``, the number of every node's aggregate, and ``first``, the start of each
    aggregate in a list of all nodes by aggregate (one entry more than aggregates). O(n).
    """
    n = aggregate_of.shape[0]
    n_aggregates = 0
    # 1. Number the roots.
    for i in range(n):
        if aggregate_of[i] == i:
            parent[i] = n_aggregates
            n_aggregates += 1
    # 2. Every node takes the number of its root and is counted one place further on, so that the
    #    cumulative sums are the starts of the aggregates.
    first[: n_aggregates + 1] = 0
    for i in range(n):
        parent[i] = parent[aggregate_of[i]]
        first[parent[i] + 1] += 1
    for r in range(n_aggregates):
        first[r + 1] += first[r]
    return n_aggregates


@kernel
def list_members(parent, first, node_weights, members, coarse_node_weights):
    """Fill ``members``, all nodes by aggregate, and the weight of every aggregate.

    ``coarse_node_weights`` must be zero; ``first`` is used as a counter and restored. O(n).
    """
    # A counting sort: first[r] is the place of the next node of aggregate r, and in the end the
    # start of aggregate r + 1. The nodes of an aggregate stay in order.
    for i in range(parent.shape[0]):
        r = parent[i]
        members[first[r]] = i
        first[r] += 1
        coarse_node_weights[r] += node_weights[i]
    # Shift the starts back by one; first[n_aggregates], the end, is unchanged.
    for r in range(coarse_node_weights.shape[0] - 1, 0, -1):
        first[r] = first[r - 1]
    first[0] = 0


@kernel
def contract(graph, aggregates, start, stop, place, coarse):
    """Write the coarse rows start..stop-1 consecutively from position 0; return their length.

    ``aggregates``: parent, first, members of :func:`number_aggregates` and :func:`list_members`.
    ``place`` is one scratch entry per coarse node, all -1, and left so. ``coarse_indptr[r + 1]``
    becomes the end of row r, relative to this block. Edges between the same two coarse nodes are
    summed, and edges inside a coarse node dropped. O(edges of the block).
    """
    indptr, indices, weights = graph
    parent, first, members = aggregates
    coarse_indptr, coarse_indices, coarse_weights = coarse
    filled = 0
    # Invariant: ``place`` is -1 everywhere, and rows before r are written up to ``filled``.
    for r in range(start, stop):
        row = filled
        for m in range(first[r], first[r + 1]):
            i = members[m]
            for p in range(indptr[i], indptr[i + 1]):
                # 1. Every edge of the aggregate leads to a coarse node k.
                k = parent[indices[p]]
                if k == r:
                    continue
                q = place[k]
                # 2. The first edge to k creates an entry of the row; further ones are added to it.
                if q < 0:
                    place[k] = filled
                    coarse_indices[filled] = k
                    coarse_weights[filled] = weights[p]
                    filled += 1
                else:
                    coarse_weights[q] += weights[p]
        # 3. Reset the entries of this row only: resetting all of ``place`` would cost O(n) per row.
        for q in range(row, filled):
            place[coarse_indices[q]] = -1
        coarse_indptr[r + 1] = filled
    return filled
