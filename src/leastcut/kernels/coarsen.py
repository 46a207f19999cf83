"""Coarsening: gather nodes into groups, and contract the groups into a smaller graph.

Only what crosses between coarse nodes is kept: an edge inside a coarse node can never be cut, and
the cut value is made of crossing edges and node weights alone, so both levels give every coarse
partition the same value. ``aggregate_of[i]`` is the aggregate of node i, named after one of its
nodes, its root: ``aggregate_of[root] == root``.
"""

from __future__ import annotations

from leastcut.kernels import kernel

FEW_MOVES = 50  # a round of propagation that moves less than one in so many nodes is the last


@kernel
def aggregate(problem, inverse, parts, order, most_nodes, max_weight, groups):
    """Let every node, in the given order, join the neighbour of its heaviest edge.

    Heaviest by S_ij (1/b_i + 1/b_j), where ``inverse`` is 1/b, among the neighbours of the same
    part whose group stays within ``most_nodes`` nodes and ``max_weight``. Fills ``groups``:
    ``aggregate_of``, and for the roots the ``size`` and ``group_weight`` of their groups. O(edges).
    """
    indptr, indices, weights, node_weights = problem
    aggregate_of, size, group_weight = groups
    # ``size`` and ``group_weight`` are read for leaders only, which write them first.
    aggregate_of[:] = -1
    for q in range(order.shape[0]):
        i = order[q]
        # An earlier node has paired with i.
        if aggregate_of[i] >= 0:
            continue
        # What a group may weigh before i joins it.
        room = max_weight - node_weights[i]
        own = inverse[i]
        best = -1
        best_score = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            score = weights[p] * (own + inverse[j])
            # Of equal scores the first neighbour is taken.
            if score <= best_score or j == i or parts[j] != parts[i]:
                continue
            # A node without a group makes a pair with i; one that has a group takes i in.
            r = aggregate_of[j]
            if (r < 0 and node_weights[j] <= room) or (
                r >= 0 and size[r] < most_nodes and group_weight[r] <= room
            ):
                best = j
                best_score = score
        # No neighbour to join: i stays alone, and a later node may still join it.
        if best < 0:
            aggregate_of[i] = i
            size[i] = 1
            group_weight[i] = node_weights[i]
        elif aggregate_of[best] < 0:
            # Both were free: a pair, led by i.
            aggregate_of[i] = i
            aggregate_of[best] = i
            size[i] = 2
            group_weight[i] = node_weights[i] + node_weights[best]
        else:
            r = aggregate_of[best]
            aggregate_of[i] = r
            size[r] += 1
            group_weight[r] += node_weights[i]


@kernel
def aggregate_leaves(problem, parts, order, max_weight, aggregate_of, size, waiting):
    """Pair nodes that :func:`aggregate` left alone and that share a neighbor, as at a hub.

    ``waiting`` is scratch of n. Changes ``aggregate_of`` and ``size``. O(edges).
    """
    indptr, indices, weights, node_weights = problem
    waiting[:] = -1
    for q in range(order.shape[0]):
        i = order[q]
        # Alone, and not joined by anyone.
        if aggregate_of[i] != i or size[i] != 1:
            continue
        hub = -1
        best_score = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i or parts[j] != parts[i]:
                continue
            score = weights[p] / node_weights[j]
            if score > best_score:
                hub = j
                best_score = score
        if hub < 0:
            continue
        # At most one leaf waits at every hub; the next one takes it along.
        other = waiting[hub]
        if other < 0:
            waiting[hub] = i
        # Where both are too heavy together the first goes on waiting, and i stays alone.
        elif node_weights[other] + node_weights[i] <= max_weight:
            aggregate_of[i] = other
            size[other] = 2
            waiting[hub] = -1


@kernel
def propagate(
    problem,
    parts,
    order,
    stretch,
    max_weight,
    most_rounds,
    fewest_groups,
    aggregate_of,
    sums,
    scratch,
):
    """Let every node, in the given order, join the group that it has the heaviest edges into.

    Among the groups of its own part that stay within ``max_weight``; its own wins a tie. Nodes
    start..stop-1 of ``stretch``, which ``order`` has at these places, are gathered as if there were
    no others. Ends after ``most_rounds`` rounds, when hardly any node moves, or when
    ``fewest_groups`` are left. Fills ``aggregate_of``; ``sums`` are the weight of every group, at
    first that of its node, and the number of its nodes; ``scratch`` is n zeros, left zero, and n
    integers. O(edges) per round.
    """
    indptr, indices, weights, node_weights = problem
    group_weight, size = sums
    link, touched = scratch
    start, stop = stretch
    n = stop - start
    # Until the end ``aggregate_of`` is the number of a group: that of the node it began with.
    for i in range(start, stop):
        aggregate_of[i] = i
        size[i] = 1
    groups = n
    for _ in range(most_rounds):
        moved = 0
        for q in range(start, stop):
            i = order[q]
            # 1. Sum the edges of i into every group.
            n_touched = start
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if j == i or j < start or j >= stop or parts[j] != parts[i]:
                    continue
                k = aggregate_of[j]
                if link[k] == 0.0:
                    touched[n_touched] = k
                    n_touched += 1
                link[k] += weights[p]
            # 2. Take the heaviest that has room, the first of equal ones.
            a = aggregate_of[i]
            best = a
            room = max_weight - node_weights[i]
            for q_touched in range(start, n_touched):
                k = touched[q_touched]
                if link[k] > link[best] and group_weight[k] <= room:
                    best = k
            for q_touched in range(start, n_touched):
                link[touched[q_touched]] = 0.0
            if best == a:
                continue
            # 3. Move there.
            aggregate_of[i] = best
            group_weight[a] -= node_weights[i]
            group_weight[best] += node_weights[i]
            size[a] -= 1
            size[best] += 1
            moved += 1
            if size[a] == 0:
                groups -= 1
                if groups <= fewest_groups:
                    break
        if groups <= fewest_groups or moved * FEW_MOVES < n:
            break
    # Name every group by its first node: the one it began with may be elsewhere by now.
    touched[start:stop] = -1
    for i in range(start, stop):
        if touched[aggregate_of[i]] < 0:
            touched[aggregate_of[i]] = i
    for i in range(start, stop):
        aggregate_of[i] = touched[aggregate_of[i]]


@kernel
def aggregate_pairs(source, target, most_merges, aggregate_of, size):
    """Merge the ends of the listed edges, first come first served, up to ``most_merges`` times.

    A node takes part in one merge only, unless that leaves less than half as many merges, as where
    all nodes hang on few hubs: then further nodes join the groups that there are. Fills
    ``aggregate_of`` and, for the roots, ``size``. O(nodes + edges).
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
        # Both ends untouched: a node that leads a pair has size 2, one that was led another leader.
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
        # Only one end is untouched: of two that are, the edge would have made a pair.
        if aggregate_of[j] == j and size[j] == 1:
            i, j = j, i
        if i != j and aggregate_of[i] == i and size[i] == 1:
            r = aggregate_of[j]
            aggregate_of[i] = r
            size[r] += 1
            merges += 1


@kernel
def number_aggregates(aggregate_of, parent, first):
    """Number the groups in the order of their leaders; a leader leads itself. Return how many.

    Fills ``parent``, the number of every node's group, and ``first``, where a group's nodes will
    begin in a list of all nodes by group (one more entry than groups). O(n).
    """
    n = aggregate_of.shape[0]
    groups = 0
    # 1. Number the leaders.
    for i in range(n):
        if aggregate_of[i] == i:
            parent[i] = groups
            groups += 1
    # 2. Every node takes the number of its leader (a leader its own again), and is counted one
    #    place further on, so that the running sums are where groups begin.
    first[: groups + 1] = 0
    for i in range(n):
        parent[i] = parent[aggregate_of[i]]
        first[parent[i] + 1] += 1
    for r in range(groups):
        first[r + 1] += first[r]
    return groups


@kernel
def list_members(parent, first, node_weights, members, coarse_node_weights):
    """Fill ``members``, all nodes by group, and the weight of every group.

    ``coarse_node_weights`` must be zero; ``first`` is used as a counter and left as it was. O(n).
    """
    # A counting sort: first[r] is where the next node of group r goes, and ends where group r + 1
    # begins. Nodes of a group stay in their order.
    for i in range(parent.shape[0]):
        r = parent[i]
        members[first[r]] = i
        first[r] += 1
        coarse_node_weights[r] += node_weights[i]
    # Shift the beginnings back by one group; first[n_groups], the end of all, was never touched.
    for r in range(coarse_node_weights.shape[0] - 1, 0, -1):
        first[r] = first[r - 1]
    first[0] = 0


@kernel
def contract(graph, groups, start, stop, place, coarse):
    """Write the coarse rows start..stop-1 one after another from position 0; return their length.

    ``groups``: parent, first, members of :func:`number_aggregates` and :func:`list_members`.
    ``place`` is one scratch entry per coarse node, all -1, and left so. ``coarse_indptr[r + 1]``
    becomes the end of row r, counted from this block's beginning. Edges between the same two coarse
    nodes are summed, those inside one are dropped. O(edges of the block).
    """
    indptr, indices, weights = graph
    parent, first, members = groups
    coarse_indptr, coarse_indices, coarse_weights = coarse
    filled = 0
    # Here ``place`` is -1 everywhere, and the rows before r are written up to ``filled``.
    for r in range(start, stop):
        row = filled
        for m in range(first[r], first[r + 1]):
            i = members[m]
            for p in range(indptr[i], indptr[i + 1]):
                # 1. Every edge of every node in the group leads to a coarse node k.
                k = parent[indices[p]]
                if k == r:
                    continue
                q = place[k]
                # 2. The first edge to k opens an entry in the row; further ones are added to it.
                if q < 0:
                    place[k] = filled
                    coarse_indices[filled] = k
                    coarse_weights[filled] = weights[p]
                    filled += 1
                else:
                    coarse_weights[q] += weights[p]
        # 3. Only the entries of this row are cleared: all of ``place`` would cost O(n) per row.
        for q in range(row, filled):
            place[coarse_indices[q]] = -1
        coarse_indptr[r + 1] = filled
    return filled
