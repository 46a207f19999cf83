"""The set of nodes with the smallest boundary plus node costs, by a minimum cut.

For node costs a_i, find the set C that minimizes boundary(C) + Σ_{i ∈ C} a_i. The source has an
edge of capacity −a_i to each node of negative cost, and each node of positive cost an edge of
capacity a_i to the sink. By duality no set has a smaller value than the sum of the negative costs
plus the maximum flow, and the nodes that cannot reach the sink in the residual graph attain it.

Flow is augmented along shortest paths in rounds (Dinic's algorithm): a breadth-first search from
the sink computes distances, and a blocking flow saturates all shortest paths before the next one.
"""

from __future__ import annotations

from leastcut.kernels import kernel

EPSILON = 2.0**-52


@kernel
def minimum_cut(graph, costs, fixed, inside, scratch):
    """Return a lower bound on min boundary(C) + Σ costs, with rounding, and the edges visited.

    ``graph`` is indptr, indices, weights, reverse: the edges in CSR form without self-loops, and
    the position of each in the other direction. ``fixed`` (n,) is 1 for nodes that C must contain,
    −1 for nodes it must not contain, else 0. Fills ``inside`` (n,) with 1 for nodes of the
    minimizer. ``scratch``: residual (m,), excess (n,), level, next_edge, queue (n,), path (n + 1,).
    """
    indptr, indices, weights, reverse = graph
    residual, excess, level, next_edge, queue, path = scratch
    n = costs.shape[0]
    # 1. The capacity from the source into a node (excess > 0), or from a node to the sink (< 0). It
    #    is infinite for fixed nodes.
    total, largest, n_steps, n_rounds = 0.0, 0.0, 0, 1
    for p in range(indptr[n]):
        residual[p] = weights[p]
        largest = max(largest, weights[p])
    for i in range(n):
        if fixed[i] > 0:
            total += costs[i]
            excess[i] = float("inf")
        elif fixed[i] < 0:
            excess[i] = -float("inf")
        else:
            excess[i] = -costs[i]
            total += min(costs[i], 0.0)
        if fixed[i] >= 0:
            largest = max(largest, abs(costs[i]))

    while True:
        # 2. Distances to the sink along edges with residual capacity.
        head, tail, reached = 0, 0, False
        n_rounds += 1
        for i in range(n):
            level[i] = 0
            next_edge[i] = indptr[i]
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

        # 3. Saturate shortest paths from every node with excess, depth first.
        for start in range(n):
            while excess[start] > 0.0 and level[start] > 0:
                i, depth = start, 0
                while excess[i] >= 0.0:
                    while next_edge[i] < indptr[i + 1]:
                        p = next_edge[i]
                        if residual[p] > 0.0 and level[indices[p]] == level[i] - 1:
                            break
                        next_edge[i] += 1
                    if next_edge[i] < indptr[i + 1]:
                        path[depth] = next_edge[i]
                        i = indices[next_edge[i]]
                        depth += 1
                    elif depth > 0:  # a dead end: backtrack
                        depth -= 1
                        i = indices[reverse[path[depth]]]
                        next_edge[i] += 1
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

    # 4. Nodes that cannot reach the sink are inside. Every step may have rounded a capacity.
    for i in range(n):
        inside[i] = 1 if level[i] == 0 or fixed[i] > 0 else 0
    bound = total - EPSILON * (n_steps + 2 * n) * largest - EPSILON * n * abs(total)
    # A round visits every edge for the distances; paths visit theirs again.
    return bound, n_rounds * indptr[n] + n_steps
