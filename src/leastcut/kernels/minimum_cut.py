"""The set of nodes with the smallest boundary plus a price for every node in it: a minimum cut.

For a price a_i of every node, find the set C that minimises boundary(C) + Σ_{i ∈ C} a_i. A node of
negative price is worth having, and the source can send −a_i through it; one of positive price lets
a_i go to the sink. By duality no set is below the sum of the negative prices plus the largest flow
from source to sink through the edges, and the nodes that cannot send anything more to the sink are
such a set.

Flow goes along shortest paths in rounds (Dinic's algorithm): a search from the sink tells every
node's distance to it, and all paths of that length are filled before the next search.
"""

from __future__ import annotations

from leastcut.kernels import kernel

EPSILON = 2.0**-52


@kernel
def minimum_cut(graph, prices, fixed, inside, scratch):
    """Return a lower bound of the smallest boundary(C) + Σ prices, and the edges visited.

    Rounding is counted in.
    ``graph`` is indptr, indices, weights, reverse: the edges in CSR form without self-loops, and
    where each stands in the other direction. ``fixed`` (n,) is 1 for nodes that C must hold, −1 for
    those it must not, else 0. Fills ``inside`` (n,) with 1 for the nodes of the set that was found.
    ``scratch``: residual (m,), excess (n,), level, place, queue (n,), path (n + 1,).
    """
    indptr, indices, weights, reverse = graph
    residual, excess, level, place, queue, path = scratch
    n = prices.shape[0]
    # 1. What the source can send into a node (excess > 0), or the sink take from it (< 0).
    #    No flow can fill an edge that must not be cut.
    total, largest, n_steps, n_rounds = 0.0, 0.0, 0, 1
    for p in range(indptr[n]):
        residual[p] = weights[p]
        largest = max(largest, weights[p])
    for i in range(n):
        if fixed[i] > 0:
            total += prices[i]
            excess[i] = float("inf")
        elif fixed[i] < 0:
            excess[i] = -float("inf")
        else:
            excess[i] = -prices[i]
            total += min(prices[i], 0.0)
        if fixed[i] >= 0:
            largest = max(largest, abs(prices[i]))

    while True:
        # 2. Distances to the sink, along edges that are not full.
        head, tail, reached = 0, 0, False
        n_rounds += 1
        for i in range(n):
            level[i] = 0
            place[i] = indptr[i]
            if excess[i] < 0.0:
                level[i] = 1
                queue[tail] = i
                tail += 1
        while head < tail:
            i = queue[head]
            head += 1
            if excess[i] > 0.0:
                reached = True
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if level[j] == 0 and residual[reverse[p]] > 0.0:
                    level[j] = level[i] + 1
                    queue[tail] = j
                    tail += 1
        if not reached:
            break

        # 3. Fill shortest paths from every node that the source reaches, depth first.
        for start in range(n):
            while excess[start] > 0.0 and level[start] > 0:
                i, depth = start, 0
                while excess[i] >= 0.0:
                    while place[i] < indptr[i + 1]:
                        p = place[i]
                        if residual[p] > 0.0 and level[indices[p]] == level[i] - 1:
                            break
                        place[i] += 1
                    if place[i] < indptr[i + 1]:
                        path[depth] = place[i]
                        i = indices[place[i]]
                        depth += 1
                    elif depth > 0:  # a dead end: back by one
                        depth -= 1
                        i = indices[reverse[path[depth]]]
                        place[i] += 1
                    else:
                        level[start] = 0
                        break
                if level[start] == 0:
                    break
                amount = min(excess[start], -excess[i])
                for q in range(depth):
                    amount = min(amount, residual[path[q]])
                for q in range(depth):
                    residual[path[q]] -= amount
                    residual[reverse[path[q]]] += amount
                excess[start] -= amount
                excess[i] += amount
                total += amount
                n_steps += depth + 2

    # 4. What cannot send to the sink is inside. Every step may have rounded a capacity.
    for i in range(n):
        inside[i] = 1 if level[i] == 0 or fixed[i] > 0 else 0
    bound = total - EPSILON * (n_steps + 2 * n) * largest - EPSILON * n * abs(total)
    # A round looks at every edge to tell distances, and again at those along paths.
    return bound, n_rounds * indptr[n] + n_steps
