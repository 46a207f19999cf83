"""Numbering nodes anew, so that neighbours have near numbers and memory is read in long runs."""

from __future__ import annotations

from leastcut.kernels import kernel


@kernel
def number_by_locality(indptr, indices, block, order, place, is_read):
    """Number nodes block by block, each grown along the edges from a node next to those before.

    Fills ``order``, the nodes by their new numbers; ``place``, -1 before, becomes the new number of
    every node. ``is_read`` is n zeros: by new numbers, whether all neighbours have one too. Every
    row is read at most twice: O(nodes + edges).
    """
    n = order.shape[0]
    size = 0
    # Rows before that of node ``outer`` in the new order have no neighbour left without a number,
    # nor has that row before position ``next_p``; -1 is its beginning.
    outer = 0
    next_p = -1
    # Nodes before ``first`` all have numbers.
    first = 0
    while size < n:
        # 1. A block begins next to the earliest numbers that still have a neighbour without one.
        seed = -1
        while seed < 0 and outer < size:
            # Memory is slow: what is known to have none left is not read again.
            if is_read[outer] == 1:
                outer += 1
                continue
            i = order[outer]
            p = indptr[i] if next_p < 0 else next_p
            while p < indptr[i + 1] and place[indices[p]] >= 0:
                p += 1
            if p < indptr[i + 1]:
                seed = indices[p]
                next_p = p
            else:
                outer += 1
                next_p = -1
        # Nothing is left of this component: the first node of another begins it.
        if seed < 0:
            while place[first] >= 0:
                first += 1
            seed = first
        # 2. It takes in neighbours of its own nodes until it is full or there are none.
        stop = min(size + block, n)
        head = size
        place[seed] = size
        order[size] = seed
        size += 1
        while head < size and size < stop:
            i = order[head]
            is_read[head] = 1
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if place[j] < 0:
                    # Full, with neighbours left.
                    if size == stop:
                        is_read[head] = 0
                        break
                    place[j] = size
                    order[size] = j
                    size += 1
            head += 1


@kernel
def renumber_rows(graph, order, place, start, stop, numbered):
    """Fill the rows start..stop-1 of a graph whose node q was node ``order[q]``.

    ``graph`` and ``numbered`` are CSR arrays (indptr, indices, weights), of which the second's
    indptr is filled. ``place`` is the inverse of ``order``. O(edges of the rows).
    """
    indptr, indices, weights = graph
    new_indptr, new_indices, new_weights = numbered
    for q in range(start, stop):
        i = order[q]
        shift = new_indptr[q] - indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            new_indices[p + shift] = place[indices[p]]
            new_weights[p + shift] = weights[p]
