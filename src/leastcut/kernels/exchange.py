"""Exchanges: nodes that stand in each other's way change places.

Where nodes must be apart, a node cannot move to a cluster that holds one of those, which in turn
cannot move to where the first is: single moves are stuck, and with two clusters always. Two steps
lead on from there, and both keep all pairs apart:

- Node i moves to cluster k, after the nodes there that it must be apart from have each moved to
  whatever third cluster is best.
- Let i be in cluster a, and follow the pairs from i through clusters a and k only. What is reached
  is a chain (Kempe's, of the four colours), and no pair leads from it to the rest of a and k. The
  two clusters exchange all nodes of the chain.
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

MOST_EJECTED = 3  # nodes that make room for one, at most: more hardly ever gain what they cost


@kernel
def find_kempe_chain(i, k, labels, cannot_link, stamp, members, seen):
    """List the chain of node i with cluster k; return how many it has in i's cluster and in k.

    Both are 0 where the chain has a node smaller than i, from which it is found as well. ``seen``
    marks by ``stamp`` what is listed in ``members``. O(pairs of the chain).
    """
    indptr, indices = cannot_link
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
def best_target(i, problem, state, link, cannot_link):
    """Return the cluster, other than its own, that it costs least to put node i into.

    -1 where each holds a node that i must be apart from. ``link`` is c zeros and is left zero.
    O(deg(i) + c).
    """
    labels = state[0]
    total = add_links(i, problem, labels, link)
    for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
        link[labels[cannot_link[1][p]]] = -1.0
    best = -1
    best_join = 0.0
    for k in range(link.shape[0]):
        if k != labels[i] and link[k] >= 0.0:
            join = insertion_change(k, link[k], total, problem[3][i], state)
            if best < 0 or join < best_join:
                best = k
                best_join = join
    for k in range(link.shape[0]):
        link[k] = 0.0
    return best


@kernel
def move_with_ejections(i, k, problem, state, cannot_link, scratch):
    """Move node i to cluster k, and what it must be apart from there elsewhere; return the change.

    Where that does not lower the value, or is not possible, everything stays as it was, and what is
    returned is positive. ``scratch`` is ``members`` and ``origin``, integers for who was moved from
    where, ``link``, c zeros, and ``saved``, three rows of c numbers. O(edges of all that move + c).
    """
    labels, boundary, cluster_weights, _, ratio, _ = state
    members, origin, link, saved = scratch
    before = 0.0
    for q in range(ratio.shape[0]):
        saved[0, q] = boundary[q]
        saved[1, q] = cluster_weights[q]
        saved[2, q] = ratio[q]
        before += ratio[q]
    # 1. Those that i must be apart from leave k, each for the best of the clusters it may join.
    #    None joins that of i, which is still there.
    n_moved = 0
    is_free = True
    for p in range(cannot_link[0][i], cannot_link[0][i + 1]):
        j = cannot_link[1][p]
        if labels[j] != k:
            continue
        target = best_target(j, problem, state, link, cannot_link) if n_moved < MOST_EJECTED else -1
        if target < 0 or not try_move(j, target, problem, state):
            is_free = False
            break
        members[n_moved] = j
        origin[n_moved] = k
        n_moved += 1
    # 2. Then i moves there.
    if is_free:
        members[n_moved] = i
        origin[n_moved] = labels[i]
        is_free = try_move(i, k, problem, state)
        n_moved += 1
    # 3. Keep what lowers the value, and put back everything else as it was.
    after = 0.0
    for q in range(ratio.shape[0]):
        after += ratio[q]
    if is_free and before - after > TOLERANCE * before:
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
    """Make the exchanges from ``nodes`` that lower the value; return what came of it.

    That is (decrease, exchanges, edges visited). Chains are found from their smallest nodes, so
    ``nodes`` should have those. ``scratch`` is ``members``, ``seen`` and ``origin``, integers of n,
    the second zero, ``tried``, integers of c, zero, ``link``, c zeros, which are left zero, and
    ``saved``, three rows of c numbers. Changes the state; every exchange lowers the value, no
    cluster is emptied, and pairs that are apart stay apart. Ends after ``max_edges``.
    """
    indptr = problem[0]
    labels, boundary, cluster_weights, count, ratio, _ = state
    apart_indptr, apart_indices = cannot_link
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
        for p in range(apart_indptr[i], apart_indptr[i + 1]):
            # 1. Clusters that i may not simply move to are those of the nodes it is apart from.
            k = labels[apart_indices[p]]
            if tried[k] == s + 1:
                continue
            tried[k] = s + 1
            # 2. Let those in k make room, where there is a third cluster for them.
            if n_clusters > 2:
                edges += indptr[i + 1] - indptr[i] + n_clusters
                change = move_with_ejections(
                    i, k, problem, state, cannot_link, (members, origin, link, saved)
                )
                if change < 0.0:
                    decrease -= change
                    exchanges += 1
                    break
            # 3. Follow the chain. Where it is all of both clusters, they would only swap names.
            stamp += 1
            n_own, n_other = find_kempe_chain(i, k, labels, cannot_link, stamp, members, seen)
            size = n_own + n_other
            edges += apart_indptr[i + 1] - apart_indptr[i] + size
            if size == 0 or (n_own == count[a] and n_other == count[k]):
                continue
            # 4. Move its nodes over, and first those of the cluster that others stay behind in.
            before = ratio[a] + ratio[k]
            old_a = boundary[a], cluster_weights[a]
            old_k = boundary[k], cluster_weights[k]
            first, second = (k, a) if n_other < count[k] else (a, k)
            n_moved = 0
            for source, target in ((first, second), (second, first)):
                for q in range(size):
                    j = members[q]
                    # Those that have come over in the first round are marked by a negative stamp.
                    if labels[j] != source or seen[j] != stamp:
                        continue
                    edges += indptr[j + 1] - indptr[j]
                    if not try_move(j, target, problem, state):
                        break
                    seen[j] = -stamp
                    n_moved += 1
            # 5. Keep what lowers the value, and put back everything else as it was.
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
