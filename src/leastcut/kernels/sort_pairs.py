"""Sort pairs in place, by the first and then by the second."""

from __future__ import annotations

from leastcut.kernels import kernel

SHORT = 32
"""Up to so many pairs are sorted by plain insertion."""


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
            key, other = keys[p], others[p]
            q = p
            while q - gap >= start and (
                keys[q - gap] > key or (keys[q - gap] == key and others[q - gap] > other)
            ):
                keys[q] = keys[q - gap]
                others[q] = others[q - gap]
                q -= gap
            keys[q] = key
            others[q] = other
        gap //= 3
