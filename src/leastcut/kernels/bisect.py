"""Splitting a small problem into two sides of given weights: one grows, chains improve both."""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.containers import pop, push
from leastcut.kernels.fm_search import fm_search
from leastcut.kernels.moves import mark_border, measure


@kernel
def grow_side(problem, order, wanted, labels, heap):
    """Let cluster 0 grow from a node, until it weighs about ``wanted``; cluster 1 is the rest.

    Always by the node that the cut grows least by, beginning with the first of ``order``, and the
    next of it where no edges lead on. Fills ``labels``; ``heap`` is two arrays of as many places as
    stored edges and nodes. Returns the edges visited. O(edges log edges), times those of a node.
    """
    indptr, indices, weights, node_weights = problem
    keys, nodes = heap
    labels[:] = 1
    weight = 0.0
    size = 0
    at = 0
    edges = 0
    while weight < wanted:
        # 1. The next node: of the heap, where a node is once for every edge that leads to it, or
        #    the next of the order.
        if size > 0:
            i = nodes[0]
            size = pop(keys, nodes, size)
        elif at < order.shape[0]:
            i = order[at]
            at += 1
        else:
            break
        # 2. Not one that is there already, nor one that leads further away than it brings near.
        if labels[i] == 0 or weight + node_weights[i] - wanted > wanted - weight:
            continue
        labels[i] = 0
        weight += node_weights[i]
        # 3. Those beside it cost less now.
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
    """Try to split a problem once for each row of ``orders``; return (value, edges visited).

    Side 0 begins to grow at the first node of the row, until it weighs about as wanted; ``weight``
    is that and what each side weighs besides its nodes. FM search within ``limits`` improves it;
    ``chains`` is its patience and most rounds. The best sides that have ``fewest`` nodes each are
    put into ``best``; the value is infinite where there are none. Changes ``state``. ``scratch``:
    two arrays of 2 for moves, the five of a chain, the heap of :func:`grow_side`, and n bytes and n
    integers for the border.
    """
    indptr, indices, _, _ = problem
    labels, _, cluster_weights, count, _, _ = state
    wanted, offset = weight
    patience, most_rounds = chains
    link, chain, heap, on_border, seeds = scratch
    status = chain[2]
    n = labels.shape[0]
    stored = indices.shape[0]
    best_value = float("inf")
    edges = 0
    for t in range(orders.shape[0]):
        # 1. Grow a side. It may be too heavy by a node: moves do not mend that, so it is left.
        edges += grow_side(problem, orders[t], wanted, labels, heap)
        value = measure(problem, state, offset)
        edges += stored
        if count[0] < fewest[0] or count[1] < fewest[1]:
            continue
        if cluster_weights[0] > limits[1][0] or cluster_weights[1] > limits[1][1]:
            continue
        # 2. Chains from all of the border, in the order of the row, as often as that helps.
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
        # 3. Keep the best, by fresh sums.
        value = measure(problem, state, offset)
        edges += stored
        if value < best_value and count[0] >= fewest[0] and count[1] >= fewest[1]:
            best_value = value
            for i in range(n):
                best[i] = labels[i]
    return best_value, edges
