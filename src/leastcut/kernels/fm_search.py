"""Fiduccia–Mattheyses search: short chains of best moves that may first make the cut worse.

From one border node a chain grows over its neighbourhood, always taking the best move at hand,
each node once; the chain is then cut back to where the value was smallest, as Kernighan and Lin
(1970) do with exchanges and Fiduccia and Mattheyses (1982) with moves. Theirs run over the whole
graph; these start at one node and end soon, so that many of them fit into the same time. Single
moves stop at the first local minimum, chains step over the low walls around it.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.containers import pop, push
from leastcut.kernels.moves import TOLERANCE, apply_move, best_move, node_links

FREE, WAITING, USED = 0, 1, 2
"""What a node can be in a call: to be had, in the heap of the chain, or moved already."""


@kernel
def fm_search(
    problem, state, scratch, seeds, patience, max_edges, chain, cannot_link=None, limits=None
):
    """Run one chain from every node of ``seeds`` in turn; return (decrease, edges visited).

    A chain ends after ``patience`` moves without a new best, and the call after ``max_edges``.
    Changes the state; the value never rises, no cluster is emptied and each node is moved once at
    most. Scratch of n: ``chain``, a heap of ``keys`` and ``nodes``, the ``status`` of every node,
    which must be zero (FREE) and is not left so, the ``trail`` of moved nodes, the ``origin`` of
    each.
    """
    indptr, indices, _, node_weights = problem
    labels, _, _, _, ratio, _ = state
    keys, nodes, status, trail, origin = chain
    decrease = 0.0
    edges = 0
    for s in range(seeds.shape[0]):
        # 1. Begin at a seed that no chain has moved yet.
        if edges > max_edges:
            break
        i = seeds[s]
        if status[i] != FREE:
            continue
        edges += indptr[i + 1] - indptr[i]
        change, k, total, own, into = best_move(i, problem, state, scratch, cannot_link, limits)
        if k < 0:
            continue
        size = push(keys, nodes, 0, change, i)
        status[i] = WAITING
        # Moves of the chain, and those up to its smallest value; what the value has changed by
        # since the chain began, and by how much at its smallest.
        length = 0
        best_length = 0
        climbed = 0.0
        lowest = 0.0
        while size > 0 and length - best_length < patience:
            # 2. Take the waiting node of the best move. Moves since it was keyed may have changed
            #    what its move is worth: if another now comes first, it waits again.
            i = nodes[0]
            size = pop(keys, nodes, size)
            edges += indptr[i + 1] - indptr[i]
            change, k, total, own, into = best_move(i, problem, state, scratch, cannot_link, limits)
            if k < 0:
                # Out of the heap, but a later move beside it may bring it back.
                status[i] = FREE
                continue
            if size > 0 and change > keys[0]:
                size = push(keys, nodes, size, change, i)
                continue
            # 3. Make the move, for better or worse, and remember where the value was smallest.
            #    ``step`` is what rounding may be of the two terms that change.
            step = TOLERANCE * (ratio[labels[i]] + ratio[k])
            # For the whole call, even if it is taken back below: that bounds the work.
            status[i] = USED
            trail[length] = i
            origin[length] = labels[i]
            length += 1
            apply_move(i, k, total, own, into, node_weights, state)
            climbed += change
            if climbed < lowest - step:
                lowest = climbed
                best_length = length
            # 4. Its free neighbours join the wait.
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if status[j] != FREE:
                    continue
                edges += indptr[j + 1] - indptr[j]
                change, k, total, own, into = best_move(
                    j, problem, state, scratch, cannot_link, limits
                )
                if k >= 0:
                    status[j] = WAITING
                    size = push(keys, nodes, size, change, j)
        # Those still waiting were not moved, and are to be had by the next chain.
        for q in range(size):
            status[nodes[q]] = FREE
        # 5. Take back, last first, what came after the smallest value.
        for q in range(length - 1, best_length - 1, -1):
            i = trail[q]
            k = origin[q]
            # The state is what it was just after this move; e, s_a and s_k are those of the way
            # back. It leads through partitions that were there before, none with an empty cluster.
            total, own, into = node_links(i, k, problem, labels)
            apply_move(i, k, total, own, into, node_weights, state)
        decrease -= lowest
    return decrease, edges
