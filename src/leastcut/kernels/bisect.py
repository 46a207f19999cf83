"""Bisection of a small problem into two sides of given weights: greedy growing, then FM search."""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.containers import pop, push
from leastcut.kernels.fm_search import fm_search
from leastcut.kernels.moves import mark_border, measure


@kernel
def grow_side(problem, order, target, labels, heap):
    """Grow cluster 0 until it weighs about ``target``; cluster 1 is the rest.

    Each step adds the neighbor that increases the cut least; without neighbors, the next node of
    ``order``. Fills ``labels``; ``heap`` is two arrays with one place per stored edge and per node.
    Returns the edges visited. O(edges (log edges + degree)).
    """
    indptr, indices, weights, node_weights = problem
    keys, nodes = heap
    labels[:] = 1
    weight = 0.0
    size = 0
    next_start = 0
    edges = 0
    while weight < target:
        # 1. Take the next node from the heap, which holds a node once per edge to the side, or from
        #    the order.
        if size > 0:
            i = nodes[0]
            size = pop(keys, nodes, size)
        elif next_start < order.shape[0]:
            i = order[next_start]
            next_start += 1
        else:
            break
        # 2. Skip nodes on the side, and nodes that bring its weight farther from the target.
        if labels[i] == 0 or weight + node_weights[i] - target > target - weight:
            continue
        labels[i] = 0
        weight += node_weights[i]
        # 3. Its neighbors now cost less.
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if labels[j] == 0:
                continue
            cost = 0.0
            edges += indptr[j + 1] - indptr[j]
            for q in range(indptr[j], indptr[j + 1]):
                if indices[q] != j:
                    cost += weights[q] if labels[indices[q]] == 1 else -weights[q]
            size = push(keys, nodes, size, cost, j)
    return edges


@kernel
def split(problem, orders, weight, fewest, limits, chains, state, scratch, best):
    """Bisect a problem once for each row of ``orders``; return (best value, edges visited).

    Side 0 grows from the first node of the row until it has the target weight; ``weight`` is the
    target and the offset of each side. FM search within ``limits`` improves it; ``chains`` is its
    patience and its largest number of rounds. The best sides with at least ``fewest`` nodes each
    are written to ``best``; the value is infinite if there are none. Changes ``state``.
    ``scratch``: two arrays of 2 for moves, the five arrays of a chain, the heap of
    :func:`grow_side`, and n bytes and n integers for the border.
    """
    indptr, indices, _, _ = problem
    labels, _, cluster_weights, count, _, _ = state
    target, offset = weight
    patience, most_rounds = chains
    link, chain, heap, on_border, seeds = scratch
    status = chain[2]
    n = labels.shape[0]
    stored = indices.shape[0]
    best_value = float("inf")
    edges = 0
    for t in range(orders.shape[0]):
        # 1. Grow a side. If it is too heavy by a node, it is rejected, as moves do not repair that.
        edges += grow_side(problem, orders[t], target, labels, heap)
        value = measure(problem, state, offset)
        edges += stored
        if count[0] < fewest[0] or count[1] < fewest[1]:
            continue
        if cluster_weights[0] > limits[1][0] or cluster_weights[1] > limits[1][1]:
            continue
        # 2. Chains from all border nodes, in the order of the row, as long as they help.
        for _ in range(most_rounds):
            mark_border(indptr, indices, labels, on_border)
            size = 0
            for q in range(n):
                i = orders[t, q]
                status[i] = 0
                if on_border[i] == 1:
                    seeds[size] = i
                    size += 1
            decrease, visited = fm_search(
                problem, state, link, seeds[:size], patience, 20 * stored, chain, None, limits
            )
            edges += stored + visited
            if not decrease > 0.0:
                break
        # 3. Keep the best, by recomputed sums.
        value = measure(problem, state, offset)
        edges += stored
        if value < best_value and count[0] >= fewest[0] and count[1] >= fewest[1]:
            best_value = value
            for i in range(n):
                best[i] = labels[i]
    return best_value, edges
