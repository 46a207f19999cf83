"""Hill climbing: short chains of best moves that may first make the cut worse.

From one border node a chain grows over its neighbourhood, always taking the best move at hand,
each node once; the chain is then cut back to where the value was smallest. Single moves stop at
the first local minimum, chains step over the low walls around it.
"""

from __future__ import annotations

from firstcut.kernels import kernel
from firstcut.kernels.moves import TOLERANCE, apply_move, best_move

FREE, WAITING, USED = 0, 1, 2


@kernel
def push(keys, nodes, size, key, node):
    """Insert (key, node) into the binary min-heap of ``size`` entries; return the new size."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        nodes[at] = nodes[up]
        at = up
    keys[at] = key
    nodes[at] = node
    return size + 1


@kernel
def pop(keys, nodes, size):
    """Remove the smallest entry, which the caller has read at 0; return the new size."""
    size -= 1
    key = keys[size]
    node = nodes[size]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        if down + 1 < size and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= key:
            break
        keys[at] = keys[down]
        nodes[at] = nodes[down]
        at = down
    keys[at] = key
    nodes[at] = node
    return size


@kernel
def climb(
    indptr,
    indices,
    weights,
    node_weights,
    labels,
    boundary,
    mass,
    count,
    ratio,
    bounds,
    link,
    touched,
    seeds,
    patience,
    max_edges,
    keys,
    nodes,
    state,
    trail,
    origin,
):
    """Run one chain from every node of ``seeds`` in turn; return (decrease, edges visited).

    A chain ends after ``patience`` moves without a new best, and the call after ``max_edges``.
    ``keys``, ``nodes``, ``state``, ``trail`` and ``origin`` are scratch of n; ``state`` must be
    zero and is left as it falls. Changes labels and the state of the partition; the value never
    rises and no cluster is emptied. Each node is moved at most once per call.
    """
    decrease = 0.0
    edges = 0
    for s in range(seeds.shape[0]):
        if edges > max_edges:
            break
        i = seeds[s]
        if state[i] != FREE:
            continue
        edges += indptr[i + 1] - indptr[i]
        change, k, total, own, into = best_move(
            i, indptr, indices, weights, node_weights, labels, mass, count, ratio, bounds, link,
            touched,
        )  # fmt: skip
        if k < 0:
            continue
        size = push(keys, nodes, 0, change, i)
        state[i] = WAITING
        length = 0
        best_length = 0
        climbed = 0.0
        lowest = 0.0
        while size > 0 and length - best_length < patience:
            i = nodes[0]
            size = pop(keys, nodes, size)
            edges += indptr[i + 1] - indptr[i]
            change, k, total, own, into = best_move(
                i, indptr, indices, weights, node_weights, labels, mass, count, ratio, bounds,
                link, touched,
            )  # fmt: skip
            if k < 0:
                state[i] = FREE
                continue
            if size > 0 and change > keys[0]:  # its turn came on an old key: wait again
                size = push(keys, nodes, size, change, i)
                if nodes[0] != i:
                    continue
                size = pop(keys, nodes, size)
            step = TOLERANCE * (ratio[labels[i]] + ratio[k])
            state[i] = USED
            trail[length] = i
            origin[length] = labels[i]
            length += 1
            apply_move(
                i, k, total, own, into, node_weights, labels, boundary, mass, count, ratio, bounds
            )
            climbed += change
            if climbed < lowest - step:
                lowest = climbed
                best_length = length
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if state[j] != FREE:
                    continue
                edges += indptr[j + 1] - indptr[j]
                change, k, total, own, into = best_move(
                    j, indptr, indices, weights, node_weights, labels, mass, count, ratio, bounds,
                    link, touched,
                )  # fmt: skip
                if k >= 0:
                    state[j] = WAITING
                    size = push(keys, nodes, size, change, j)
        for q in range(size):
            state[nodes[q]] = FREE
        for q in range(length - 1, best_length - 1, -1):
            i = trail[q]
            a = labels[i]
            k = origin[q]
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
            apply_move(
                i, k, total, own, into, node_weights, labels, boundary, mass, count, ratio, bounds
            )
        decrease -= lowest
    return decrease, edges
