"""Sorted lists, heaps and queues in arrays, for other kernels."""

from __future__ import annotations

from leastcut.kernels import inlined, kernel

SHORT = 32  # up to this many pairs, insertion sort is used


@inlined
def insert(keys, others, first, place, key, other, gap=1):
    """Insert a pair into the pairs sorted from ``first`` to before ``place``, ties by ``others``.

    Only every ``gap``-th entry belongs to the list. O(larger pairs), which move up by one place.
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
    """Sort ``keys[start:stop]``, and ``others`` along with them, ties by ``others``.

    Shell sort: insertion sort of pairs that are ``gap`` places apart, for decreasing gaps. O(m) for
    the m ≤ SHORT pairs of most lists, and at most O(m^1.5).
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
    # Move the hole at the end towards the root, past larger parents, and fill it.
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[parent] <= key:
            break
        keys[hole] = keys[parent]
        nodes[hole] = nodes[parent]
        hole = parent
    keys[hole] = key
    nodes[hole] = node
    return size + 1


@kernel
def pop(keys, nodes, size):
    """Remove the smallest entry, at index 0; return the new size."""
    # The last entry replaces the root: move the hole down, past the smaller child each time.
    size -= 1
    key = keys[size]
    node = nodes[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[hole] = keys[child]
        nodes[hole] = nodes[child]
        hole = child
    keys[hole] = key
    nodes[hole] = node
    return size


@inlined
def enqueue(i, queue, head, n_queued, queued):
    """Append i to a ring buffer unless ``queued[i]`` is 1; return the new number of entries.

    No index is in the ring twice, so a ring of n places cannot overflow.
    """
    if queued[i] == 0:
        queued[i] = 1
        tail = head + n_queued
        if tail >= queue.shape[0]:
            tail -= queue.shape[0]
        queue[tail] = i
        n_queued += 1
    return n_queued
