"""Reordering of nodes for locality: neighbors get close numbers, so memory is read sequentially."""

from __future__ import annotations

from leastcut.kernels import kernel


@kernel
def number_by_locality(indptr, indices, block, order, new_number, is_done):
    """Number nodes block by block, each grown breadth first from a neighbor of earlier blocks.

    Fills ``order``, the nodes by their new numbers; ``new_number``, -1 on entry, becomes the new
    number of every node. ``is_done`` is n zeros on entry: by new number, whether all neighbors are
    numbered. Each row is read at most twice: O(nodes + edges).
    """
    n = order.shape[0]
    size = 0
    # Invariant: rows before that of node ``outer`` in the new order have no unnumbered neighbor,
    # nor has that row before position ``next_p``, where -1 is its beginning.
    outer = 0
    next_p = -1
    # All nodes before ``first`` are numbered.
    first = 0
    while size < n:
        # 1. A block starts at an unnumbered neighbor of the earliest numbers.
        seed = -1
        while seed < 0 and outer < size:
            # Reading memory is slow, so finished rows are not read again.
            if is_done[outer] == 1:
                outer += 1
                continue
            i = order[outer]
            p = indptr[i] if next_p < 0 else next_p
            while p < indptr[i + 1] and new_number[indices[p]] >= 0:
                p += 1
            if p < indptr[i + 1]:
                seed = indices[p]
                next_p = p
            else:
                outer += 1
                next_p = -1
        # The component is complete: continue with the first node of another one.
        if seed < 0:
            while new_number[first] >= 0:
                first += 1
            seed = first
        # 2. It adds neighbors of its nodes until it is full or none is left.
        stop = min(size + block, n)
        head = size
        new_number[seed] = size
        order[size] = seed
        size += 1
        while head < size and size < stop:
            i = order[head]
            is_done[head] = 1
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if new_number[j] < 0:
                    # Full, with neighbors left.
                    if size == stop:
                        is_done[head] = 0
                        break
                    new_number[j] = size
                    order[size] = j
                    size += 1
            head += 1


@kernel
def renumber_rows(graph, order, new_number, start, stop, numbered):
    """Write the rows start..stop-1 of a graph whose node q was node ``order[q]``.

    ``graph`` and ``numbered`` are CSR arrays (indptr, indices, weights); the indptr of the second
    is filled already. ``new_number`` is the inverse of ``order``. O(edges of the rows).
    """
    indptr, indices, weights = graph
    new_indptr, new_indices, new_weights = numbered
    for q in range(start, stop):
        i = order[q]
        shift = new_indptr[q] - indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            new_indices[p + shift] = new_number[indices[p]]
            new_weights[p + shift] = weights[p]
