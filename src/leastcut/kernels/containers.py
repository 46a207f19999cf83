"""Sorted lists, heaps and queues in arrays, for other kernels."""

from __future__ import annotations

from leastcut.kernels import inlined, kernel

SHORT = 32  # up to so many pairs are sorted by plain insertion


@inlined
def insert(keys, others, first, place, key, other, gap=1):
    """Insert a pair into those sorted from ``first`` to before ``place``, ties by ``others``.

    The list has every ``gap``-th entry. O(pairs that come after it), which move on by one place.
    """
    while place - gap >= first and (
        keys[place - gap] > key or (keys[place - gap] == key and others[place - gap] > other)
    ):
        keys[place] = keys[place - gap]
        others[place] = others[place - gap]
        place -= gap
    keys[place] = key
    others[place] = other


@kernel
def sort_pairs(keys, others, start, stop):
    """Sort ``keys[start:stop]``, and ``others`` with them, ties by ``others``.

    Shell's sort: insertion into pairs that are ``gap`` places apart, for smaller and smaller gaps.
    O(m) for the m ≤ SHORT pairs of most lists, and at most O(m^1.5).
    """
    gap = 1
    while SHORT * gap < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for p in range(start + gap, stop):
            insert(keys, others, start, p, keys[p], others[p], gap)
        gap //= 3


@kernel
def push(keys, nodes, size, key, node):
    """Insert (key, node) into the binary min-heap of ``size`` entries; return the new size."""
    # Move a hole from the end towards the root, past parents that are larger, and fill it.
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
    # The last entry takes the root's place: move a hole down, past the smaller child each time.
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


@inlined
def enqueue(i, queue, head, n_queued, queued):
    """Put i at the end of a ring, unless ``queued[i]`` is 1; return how many are in it.

    Every index is in the ring once at most, so a ring of n places cannot overflow.
    """
    if queued[i] == 0:
        queued[i] = 1
        tail = head + n_queued
        if tail >= queue.shape[0]:
            tail -= queue.shape[0]
        queue[tail] = i
        n_queued += 1
    return n_queued
