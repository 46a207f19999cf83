"""Exchanges of nodes between clusters under cannot-link constraints.

A node cannot move to a cluster with a node it must be separated from, nor can that node move to its
cluster: single moves get stuck, with two clusters always. Two compound moves remain possible and
violate no pair:

- Ejection: node i moves to cluster k after its conflicting nodes there moved to third clusters.
- Kempe chain: let i be in cluster a. The nodes reached from i along pairs within clusters a and k
  form a chain, and no pair joins it to the other nodes of a and k. The two clusters exchange all
  nodes of the chain.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.moves import (
    TOLERANCE,
    add_links,
    insertion_change,
    relabel,
    set_sums,
    try_move,
)

MOST_EJECTED = 3  # conflicting nodes ejected for one move; more hardly ever pay off


@kernel
def find_kempe_chain(i, k, labels, cannot_link, stamp, members, seen):
    """List the Kempe chain of node i with cluster k; return its numbers of nodes in a and in k.

    Both are 0 if the chain has a node smaller than i, from which the same chain is found. Nodes
    listed in ``members`` have the mark ``stamp`` in ``seen``. O(pairs of the chain).
    """
    indptr, indices = cannot_link
    a = labels[i]
    members[0] = i
    seen[i] = stamp
    size = 1
    n_a = 0
    # The pairs of the first ``n_expanded`` nodes have been followed.
    n_expanded = 0
    while n_expanded < size:
        j = members[n_expanded]
        n_expanded += 1
        if labels[j] == a:
            n_a += 1
        for p in range(indptr[j], indptr[j + 1]):
            u = indices[p]
            if seen[u] != stamp and (labels[u] == a or labels[u] == k):
                if u < i:
                    return 0, 0
                seen[u] = stamp
                members[size] = u
                size += 1
    return n_a, size - n_a


@kernel
def best_target(i, problem, state, link, cannot_link):
    """Return the other cluster that node i can join at the smallest growth of the value.

    It is -1 if each has a conflicting node. ``link`` is c zeros, left zero. O(deg(i) + c).
    """
    labels = state[0]
    total = add_links(i, problem, labels, link)
    for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
        link[labels[cannot_link[1][p]]] = -1.0
    best = -1
    best_insertion = 0.0
    for k in range(link.shape[0]):
        if k != labels[i] and link[k] >= 0.0:
            insertion = insertion_change(k, link[k], total, problem[3][i], state)
            if best < 0 or insertion < best_insertion:
                best = k
                best_insertion = insertion
    for k in range(link.shape[0]):
        link[k] = 0.0
    return best


@kernel
def move_with_ejections(i, k, problem, state, cannot_link, scratch):
    """Move node i to cluster k and its conflicting nodes in k elsewhere; return the change.

    If that is impossible or does not lower the value, the state is restored and the result is
    positive. ``scratch`` is ``members`` and ``origin``, integers for the moved nodes and their
    clusters, ``link``, c zeros, and ``saved`` (3, c). O(edges of all moved nodes + c).
    """
    labels, boundary, cluster_weights, _, ratio, _ = state
    members, origin, link, saved = scratch
    before = 0.0
    for q in range(ratio.shape[0]):
        saved[0, q] = boundary[q]
        saved[1, q] = cluster_weights[q]
        saved[2, q] = ratio[q]
        before += ratio[q]
    # 1. Move each conflicting node of k to its best cluster, other than the cluster of i.
    n_moved = 0
    is_possible = True
    for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
        j = cannot_link[1][p]
        if labels[j] != k:
            continue
        target = best_target(j, problem, state, link, cannot_link) if n_moved < MOST_EJECTED else -1
        if target < 0 or not try_move(j, target, problem, state):
            is_possible = False
            break
        members[n_moved] = j
        origin[n_moved] = k
        n_moved += 1
    # 2. Move i.
    if is_possible:
        members[n_moved] = i
        origin[n_moved] = labels[i]
        is_possible = try_move(i, k, problem, state)
        n_moved += 1
    # 3. Keep the moves if the value falls, and undo them otherwise.
    after = 0.0
    for q in range(ratio.shape[0]):
        after += ratio[q]
    if is_possible and before - after > TOLERANCE * before:
        return after - before
    for q in range(n_moved):
        relabel(members[q], origin[q], state)
    for q in range(ratio.shape[0]):
        boundary[q] = saved[0, q]
        cluster_weights[q] = saved[1, q]
        ratio[q] = saved[2, q]
    return 1.0


@kernel
def exchange(problem, state, cannot_link, nodes, max_edges, scratch):
    """Make exchanges from ``nodes`` that lower the value; return (decrease, number, edges visited).

    A chain is found from its smallest node only, which ``nodes`` should contain. ``scratch`` is
    ``members``, ``seen`` and ``origin``, integers of n, the second zero, ``tried``, integers of c,
    zero, ``link``, c zeros, left zero, and ``saved`` (3, c). Changes the state; every exchange
    lowers the value, no cluster is emptied, and no pair is violated. Ends after ``max_edges``.
    """
    indptr = problem[0]
    labels, boundary, cluster_weights, count, ratio, _ = state
    pair_indptr, pair_indices = cannot_link
    members, seen, origin, tried, link, saved = scratch
    n_clusters = link.shape[0]
    decrease = 0.0
    exchanges = 0
    edges = 0
    stamp = 0
    for s in range(nodes.shape[0]):
        if edges > max_edges:
            break
        i = nodes[s]
        a = labels[i]
        for p in range(pair_indptr[i], pair_indptr[i + 1]):
            # 1. The candidates are the clusters of nodes that i must be separated from.
            k = labels[pair_indices[p]]
            if tried[k] == s + 1:
                continue
            tried[k] = s + 1
            # 2. Try ejections, if there is a third cluster.
            if n_clusters > 2:
                edges += indptr[i + 1] - indptr[i] + n_clusters
                change = move_with_ejections(
                    i, k, problem, state, cannot_link, (members, origin, link, saved)
                )
                if change < 0.0:
                    decrease -= change
                    exchanges += 1
                    break
            # 3. Find the chain. If it is all of both clusters, the exchange would only swap labels.
            stamp += 1
            n_a, n_k = find_kempe_chain(i, k, labels, cannot_link, stamp, members, seen)
            size = n_a + n_k
            edges += pair_indptr[i + 1] - pair_indptr[i] + size
            if size == 0 or (n_a == count[a] and n_k == count[k]):
                continue
            # 4. Move its nodes, beginning with a cluster that this does not empty.
            before = ratio[a] + ratio[k]
            old_a = boundary[a], cluster_weights[a]
            old_k = boundary[k], cluster_weights[k]
            first, second = (k, a) if n_k < count[k] else (a, k)
            n_moved = 0
            for source, target in ((first, second), (second, first)):
                for q in range(size):
                    j = members[q]
                    # Nodes moved in the first pass have a negative stamp.
                    if labels[j] != source or seen[j] != stamp:
                        continue
                    edges += indptr[j + 1] - indptr[j]
                    if not try_move(j, target, problem, state):
                        break
                    seen[j] = -stamp
                    n_moved += 1
            # 5. Keep the exchange if the value falls, and undo it otherwise.
            change = ratio[a] + ratio[k] - before
            if n_moved == size and -change > TOLERANCE * before:
                decrease -= change
                exchanges += 1
                break
            for q in range(size):
                j = members[q]
                if seen[j] == -stamp:
                    relabel(j, a if labels[j] == k else k, state)
            set_sums(a, *old_a, state)
            set_sums(k, *old_k, state)
    return decrease, exchanges, edges
