"""Sort pairs in place, by the first and then by the second: short runs and long ones."""

from __future__ import annotations

from leastcut.kernels import kernel

SHORT = 32
"""Up to so many pairs insertion is faster than a heap."""


@kernel
def sort_pairs(keys, others, start, stop):
    """Sort ``keys[start:stop]``, and ``others`` with them, ties by ``others``. O(m log m) for m."""
    # 1. A few pairs: each is inserted into those before it.
    if stop - start <= SHORT:
        for p in range(start + 1, stop):
            key, other = keys[p], others[p]
            q = p
            while q > start and (
                keys[q - 1] > key or (keys[q - 1] == key and others[q - 1] > other)
            ):
                keys[q] = keys[q - 1]
                others[q] = others[q - 1]
                q -= 1
            keys[q] = key
            others[q] = other
        return
    # 2. Many: a heap with the largest on top. The first half of the steps builds it, then the
    #    largest is put behind those left, one by one.
    size = stop - start
    for step in range(size // 2 + size - 1):
        if step < size // 2:
            hole = size // 2 - 1 - step
            end = size
            key, other = keys[start + hole], others[start + hole]
        else:
            hole = 0
            end = size - 1 - (step - size // 2)
            key, other = keys[start + end], others[start + end]
            keys[start + end] = keys[start]
            others[start + end] = others[start]
        # The pair sinks below all that are larger.
        while True:
            child = 2 * hole + 1
            if child >= end:
                break
            p = start + child
            if child + 1 < end and (
                keys[p + 1] > keys[p] or (keys[p + 1] == keys[p] and others[p + 1] > others[p])
            ):
                child += 1
                p += 1
            if keys[p] < key or (keys[p] == key and others[p] < other):
                break
            keys[start + hole] = keys[p]
            others[start + hole] = others[p]
            hole = child
        keys[start + hole] = key
        others[start + hole] = other
