"""Fiduccia–Mattheyses search: short chains of best moves that may first make the cut worse.

From one border node a chain grows into its neighborhood, always making the best available move, and
moving each node once. The chain is then rolled back to its smallest value, as Kernighan and Lin
(1970) do with exchanges and Fiduccia and Mattheyses (1982) with moves. Theirs run over the entire
graph; these start at one node and end soon, so that many fit into the same time. Single moves stop
at the first local minimum, whereas chains can leave shallow ones.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.containers import pop, push
from leastcut.kernels.moves import TOLERANCE, apply_move, best_move, node_links

FREE, WAITING, USED = 0, 1, 2
"""The status of a node: available, in the heap of the chain, or already moved."""


@kernel
def fm_search(
    problem, state, scratch, seeds, patience, max_edges, chain, cannot_link=None, limits=None
):
    """Run one chain from every node of ``seeds`` in turn; return (decrease, edges visited).

    A chain ends after ``patience`` moves without a new smallest value, and the call after
    ``max_edges``. Changes the state; the value never rises, no cluster is emptied and each node
    moves at most once. Scratch of n: ``chain``, that is, a heap of ``keys`` and ``nodes``, the
    ``status`` of every node (FREE, that is, zero, on entry; not reset), the ``trail`` of moved
    nodes, and the ``origin`` of each.
    """
    indptr, indices, _, node_weights = problem
    labels, _, _, _, ratio, _ = state
    keys, nodes, status, trail, origin = chain
    decrease = 0.0
    edges = 0
    for s in range(seeds.shape[0]):
        # 1. Start at a seed that no chain has moved.
        if edges > max_edges:
            break
        i = seeds[s]
        if status[i] != FREE:
            continue
        edges += indptr[i + 1] - indptr[i]
        change, k, _, _, _ = best_move(i, problem, state, scratch, cannot_link, limits)
        if k < 0:
            continue
        size = push(keys, nodes, 0, change, i)
        status[i] = WAITING
        # The numbers of moves in total and up to the smallest value, and the changes of the value
        # since the chain began, in total and at its smallest.
        length = 0
        best_length = 0
        change_sum = 0.0
        lowest = 0.0
        while size > 0 and length - best_length < patience:
            # 2. Take the node of the best move. Earlier moves may have changed its value: if
            #    another node is better now, push it back.
            i = nodes[0]
            size = pop(keys, nodes, size)
            edges += indptr[i + 1] - indptr[i]
            change, k, total, link_a, link_k = best_move(
                i, problem, state, scratch, cannot_link, limits
            )
            if k < 0:
                # It leaves the heap, but a later move of a neighbor may bring it back.
                status[i] = FREE
                continue
            if size > 0 and change > keys[0]:
                size = push(keys, nodes, size, change, i)
                continue
            # 3. Make the move, even if it raises the value, and record the smallest value. ``step``
            #    bounds the rounding of the two terms that change.
            step = TOLERANCE * (ratio[labels[i]] + ratio[k])
            # Used for the rest of the call, even if the move is undone below: this bounds the work.
            status[i] = USED
            trail[length] = i
            origin[length] = labels[i]
            length += 1
            apply_move(i, k, total, link_a, link_k, node_weights, state)
            change_sum += change
            if change_sum < lowest - step:
                lowest = change_sum
                best_length = length
            # 4. Push its free neighbors.
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if status[j] != FREE:
                    continue
                edges += indptr[j + 1] - indptr[j]
                change, k, _, _, _ = best_move(j, problem, state, scratch, cannot_link, limits)
                if k >= 0:
                    status[j] = WAITING
                    size = push(keys, nodes, size, change, j)
        # Nodes still waiting have not moved and are available to the next chain.
        for q in range(size):
            status[nodes[q]] = FREE
        # 5. Undo the moves after the smallest value, last first.
        for q in range(length - 1, best_length - 1, -1):
            i = trail[q]
            k = origin[q]
            # The state is as just after this move; e, s_a and s_k are for the reverse move. The
            # partitions on the way back occurred before, none with an empty cluster.
            total, link_a, link_k = node_links(i, k, problem, labels)
            apply_move(i, k, total, link_a, link_k, node_weights, state)
        decrease -= lowest
    return decrease, edges
