"""Exchanges: two clusters swap nodes that stand in each other's way.

Where nodes must be apart, a node cannot move to a cluster that holds one of those, which in turn
cannot move to where the first is: single moves are stuck, and with two clusters always. Let i be in
cluster a, and follow the pairs from i through clusters a and k only. What is reached is a chain
(Kempe's, of the four colours), and no pair leads from it to the rest of a and k. Exchanging a and k
on the whole chain keeps all pairs apart.
"""

from __future__ import annotations

from firstcut.kernels import kernel
from firstcut.kernels.moves import HEAVY, LARGEST, TOLERANCE, apply_move


@kernel
def move_over(i, k, problem, state):
    """Move node i to cluster k whatever it is worth; False, and nothing changed, if it is heavy.

    O(deg(i)).
    """
    indptr, indices, weights, node_weights = problem
    labels, _, cluster_weights, count, _, bounds = state
    a = labels[i]
    weight = node_weights[i]
    # As in ``best_move``: what it would leave behind cannot be told by a difference.
    if count[a] == 1 or weight > HEAVY * cluster_weights[a] or bounds[0] * weight > LARGEST:
        return False
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
    apply_move(i, k, total, own, into, node_weights, state)
    return True


@kernel
def find_chain(i, k, labels, apart, stamp, members, seen):
    """List the chain of node i with cluster k; return how many it has in i's cluster and in k.

    Both are 0 where the chain has a node smaller than i, from which it is found as well. ``seen``
    marks by ``stamp`` what is listed in ``members``. O(pairs of the chain).
    """
    indptr, indices = apart
    a = labels[i]
    members[0] = i
    seen[i] = stamp
    size = 1
    n_own = 0
    # Nodes before ``done`` have had their pairs followed.
    done = 0
    while done < size:
        j = members[done]
        done += 1
        if labels[j] == a:
            n_own += 1
        for p in range(indptr[j], indptr[j + 1]):
            u = indices[p]
            if seen[u] != stamp and (labels[u] == a or labels[u] == k):
                if u < i:
                    return 0, 0
                seen[u] = stamp
                members[size] = u
                size += 1
    return n_own, size - n_own


@kernel
def exchange(problem, state, apart, nodes, max_edges, scratch):
    """Make the exchanges of chains from ``nodes`` that lower the value; return what came of it.

    That is (decrease, exchanges, edges visited). Chains are found from their smallest nodes, so
    ``nodes`` should have those. ``scratch`` is ``members`` and ``seen``, integers of n, the second
    zero, and ``tried``, integers of c, zero. Changes the state; every exchange lowers the value, no
    cluster is emptied, and pairs that are apart stay apart. Ends after ``max_edges``.
    """
    indptr = problem[0]
    labels, boundary, cluster_weights, count, ratio, _ = state
    apart_indptr, apart_indices = apart
    members, seen, tried = scratch
    decrease = 0.0
    exchanges = 0
    edges = 0
    stamp = 0
    for s in range(nodes.shape[0]):
        if edges > max_edges:
            break
        i = nodes[s]
        a = labels[i]
        for p in range(apart_indptr[i], apart_indptr[i + 1]):
            # 1. Clusters that i may not simply move to are those of the nodes it is apart from.
            k = labels[apart_indices[p]]
            if tried[k] == s + 1:
                continue
            tried[k] = s + 1
            # 2. Follow the chain. Where it is all of both clusters, they would only swap names.
            stamp += 1
            n_own, n_other = find_chain(i, k, labels, apart, stamp, members, seen)
            size = n_own + n_other
            edges += apart_indptr[i + 1] - apart_indptr[i] + size
            if size == 0 or (n_own == count[a] and n_other == count[k]):
                continue
            # 3. Move its nodes over, and first those of the cluster that others stay behind in.
            before = ratio[a] + ratio[k]
            old_a = boundary[a], cluster_weights[a], ratio[a], count[a]
            old_k = boundary[k], cluster_weights[k], ratio[k], count[k]
            first, second = (k, a) if n_other < count[k] else (a, k)
            n_moved = 0
            for source, target in ((first, second), (second, first)):
                for q in range(size):
                    j = members[q]
                    # Those that have come over in the first round are marked by a negative stamp.
                    if labels[j] != source or seen[j] != stamp:
                        continue
                    edges += indptr[j + 1] - indptr[j]
                    if not move_over(j, target, problem, state):
                        break
                    seen[j] = -stamp
                    n_moved += 1
            # 4. Keep what lowers the value, and put back everything else as it was.
            change = ratio[a] + ratio[k] - before
            if n_moved == size and -change > TOLERANCE * before:
                decrease -= change
                exchanges += 1
                break
            for q in range(size):
                j = members[q]
                if seen[j] == -stamp:
                    labels[j] = a if labels[j] == k else k
            boundary[a], cluster_weights[a], ratio[a], count[a] = old_a
            boundary[k], cluster_weights[k], ratio[k], count[k] = old_k
    return decrease, exchanges, edges
