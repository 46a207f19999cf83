"""A k-d tree: points in the order of its leaves, and the nearest of each, exactly.

Points stand in blocks of ``LANES``, coordinate by coordinate, so that the distances of a block are
computed together. Nodes are numbered like a heap: the root is 1, the children of v are 2v and
2v + 1, and the leaves are the last ``n_leaves``, a power of two. With B blocks in all, node j of
the level of 2^t nodes holds the blocks ⌊Bj / 2^t⌋ to ⌊B(j + 1) / 2^t⌋ − 1, so a leaf holds one or
two, and where a node begins is computed, not stored.

``tree`` is the tuple of

- ``blocks`` (B, n_features, LANES): the points, and infinity where the last block is not full;
- ``numbers`` (B · LANES,): which sample stands where, and the largest integer where none does;
- ``boxes`` (2 n_leaves, 2, n_features): the smallest and largest coordinates in every node;
- ``first`` (2 n_leaves,): the smallest number of a sample in every node.

Coordinates are subtracted, squared and added in double precision, the even ones apart from the odd
ones, for points and for boxes alike. Rounding is monotone, so the computed distance to a box is at
most the computed distance to any point in it: what is pruned is provably not nearer. Ties go to the
smaller number, for which ``first`` prunes: a million equal points cost no more than others.
"""

from __future__ import annotations

from leastcut.kernels import inlined, kernel
from leastcut.kernels.containers import insert, sort_pairs

LANES = 8  # points in a block: a cache line of coordinates in double precision

SAMPLED = 9  # points that a pivot is the median of


@kernel
def build_subtree(tree, top, bottom, node, n_points, sample):
    """Split ``node``, of level ``top``, and what is below it down to the level before ``bottom``.

    Each of these nodes gets its box and its first number, and unless it is a leaf it is then split
    in the middle of its blocks, along its longest side. Changes the part of ``tree`` that is below
    ``node``; ``sample`` is scratch of SAMPLED positions. O(points · levels) on average.
    """
    blocks, numbers, boxes, first = tree
    n_blocks, n_features = blocks.shape[0], blocks.shape[1]
    n_leaves = first.shape[0] // 2
    for level in range(top, bottom):
        below = level - top
        for v in range(node << below, (node + 1) << below):
            # 1. Which points: node j of its level.
            j = v - (1 << level)
            start = ((n_blocks * j) >> level) * LANES
            stop = min(((n_blocks * (j + 1)) >> level) * LANES, n_points)
            # 2. Their box, and the first of them.
            longest = -1.0
            axis = 0
            for f in range(n_features):
                low = blocks[start // LANES, f, 0]
                high = low
                for p in range(start, stop):
                    x = blocks[p // LANES, f, p % LANES]
                    low = min(low, x)
                    high = max(high, x)
                boxes[v, 0, f] = low
                boxes[v, 1, f] = high
                length = float(high) - float(low)
                if length > longest:
                    longest = length
                    axis = f
            smallest = numbers[start]
            for p in range(start, stop):
                smallest = min(smallest, numbers[p])
            first[v] = smallest
            # 3. The smaller half along the longest side to the left, ties by number.
            if v < n_leaves:
                middle = ((n_blocks * (2 * j + 1)) >> (level + 1)) * LANES
                # As an int, or Numba compiles it for the literal 0 as well.
                _select(blocks, numbers, int(axis), start, middle, stop, sample)


@kernel
def _select(blocks, numbers, axis, start, middle, stop, sample):
    """Reorder points so that none before ``middle`` comes after one behind it, along ``axis``.

    They are ordered by coordinate and then by number, so that no two are equal.
    """
    low = start
    high = stop - 1
    while low < high:
        # 1. A pivot: the median of points at irregular places, so that no regular order is slow.
        if high - low < 4 * SAMPLED:
            pivot = (low + high) // 2
        else:
            for m in range(SAMPLED):
                # The fractional part of multiples of the golden ratio.
                place = low + (((high - low) * ((2654435769 * (m + 1)) % 4294967296)) >> 32)
                q = m
                while q > 0 and _before(blocks, numbers, axis, place, sample[q - 1]):
                    sample[q] = sample[q - 1]
                    q -= 1
                sample[q] = place
            pivot = sample[SAMPLED // 2]
        value = blocks[pivot // LANES, axis, pivot % LANES]
        number = numbers[pivot]
        # 2. What comes before the pivot to the left, what comes after it to the right.
        i = low
        j = high
        while i <= j:
            while True:
                x = blocks[i // LANES, axis, i % LANES]
                if x > value or (x == value and numbers[i] >= number):
                    break
                i += 1
            while True:
                x = blocks[j // LANES, axis, j % LANES]
                if x < value or (x == value and numbers[j] <= number):
                    break
                j -= 1
            if i <= j:
                for f in range(blocks.shape[1]):
                    x = blocks[i // LANES, f, i % LANES]
                    blocks[i // LANES, f, i % LANES] = blocks[j // LANES, f, j % LANES]
                    blocks[j // LANES, f, j % LANES] = x
                other = numbers[i]
                numbers[i] = numbers[j]
                numbers[j] = other
                i += 1
                j -= 1
        # 3. Go on in the part that the middle is in; between the two there is only the pivot.
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def _before(blocks, numbers, axis, p, q):
    """Tell whether the point at p comes before that at q along ``axis``."""
    x = blocks[p // LANES, axis, p % LANES]
    y = blocks[q // LANES, axis, q % LANES]
    return x < y or (x == y and numbers[p] < numbers[q])


@inlined
def _distance_to_box(query, boxes, v):
    """Return the squared distance of a query to the box of node v."""
    even, odd = 0.0, 0.0
    for f in range(query.shape[0]):
        outside = max(boxes[v, 0, f] - query[f], query[f] - boxes[v, 1, f], 0.0)
        if f % 2 == 0:
            even += outside * outside
        else:
            odd += outside * outside
    return even + odd


@inlined
def _distances_to_block(query, blocks, b, sums):
    """Fill ``sums`` with what adds up to the squared distances to the points of block b."""
    sums[:] = 0.0
    for f in range(query.shape[0]):
        x = query[f]
        for q in range(LANES):
            difference = blocks[b, f, q] - x
            sums[f % 2, q] += difference * difference


@kernel
def list_nearest(tree, queries, start, stop, indices, squared, scratch):
    """List the nearest points of the queries start..stop-1, nearest first, ties by number.

    Without ``queries`` the points at the positions start..stop-1 are asked for, and none lists
    itself. Fills the rows of ``indices`` and ``squared``, that of a point under its number; there
    must be as many points as a row is long. ``scratch``: a query, the distances of a block
    (2, LANES), a stack of nodes and one of their distances, of two entries more than there are
    levels, and a row of each list. Returns how many nodes were visited.
    """
    blocks, numbers, boxes, first = tree
    query, sums, nodes, distances, listed, lengths = scratch
    n_blocks, n_features = blocks.shape[0], blocks.shape[1]
    n_leaves = first.shape[0] // 2
    last = indices.shape[1] - 1
    themselves = queries.shape[0] == 0
    visits = 0
    for r in range(start, stop):
        row = r
        own = -1
        if themselves:
            row = numbers[r]
            own = r
            for f in range(n_features):
                query[f] = blocks[r // LANES, f, r % LANES]
        else:
            for f in range(n_features):
                query[f] = queries[r, f]
        for q in range(last + 1):
            listed[q] = -1
            lengths[q] = float("inf")
        # From the root, at distance 0 as far as anybody knows.
        nodes[0] = 1
        distances[0] = 0.0
        waiting = 1
        while waiting > 0:
            # 1. The nearest node that waits. The list may have improved since it was put aside: it
            #    must be nearer than the last, or as near and hold a smaller number.
            waiting -= 1
            v = nodes[waiting]
            worst = lengths[last]
            if distances[waiting] > worst or (
                distances[waiting] == worst and first[v] >= listed[last]
            ):
                continue
            visits += 1
            # 2. Its children: the nearer comes first; if both are as near, the smaller number.
            if v < n_leaves:
                near = 2 * v
                far = near + 1
                near_distance = _distance_to_box(query, boxes, near)
                far_distance = _distance_to_box(query, boxes, far)
                if far_distance < near_distance or (
                    far_distance == near_distance and first[far] < first[near]
                ):
                    near, far = far, near
                    near_distance, far_distance = far_distance, near_distance
                if far_distance <= worst:
                    nodes[waiting] = far
                    distances[waiting] = far_distance
                    waiting += 1
                if near_distance <= worst:
                    nodes[waiting] = near
                    distances[waiting] = near_distance
                    waiting += 1
                continue
            # 3. A leaf: the distances of a block at once, then those that improve the list.
            j = v - n_leaves
            for b in range(n_blocks * j // n_leaves, n_blocks * (j + 1) // n_leaves):
                _distances_to_block(query, blocks, b, sums)
                for lane in range(LANES):
                    distance = sums[0, lane] + sums[1, lane]
                    p = b * LANES + lane
                    if distance > worst or p == own:
                        continue
                    number = numbers[p]
                    if distance == worst and number >= listed[last]:
                        continue
                    insert(lengths, listed, 0, last, distance, number)
                    worst = lengths[last]
        for q in range(last + 1):
            indices[row, q] = listed[q]
            squared[row, q] = lengths[q]
    return visits


@kernel
def list_within_radius(tree, start, stop, needed, indptr, indices, squared, scratch):
    """List, for the points at the positions start..stop-1, all others nearer than ``needed``.

    Nearest first, ties by number. Without ``indices`` they are counted: ``indptr[i + 1]`` becomes
    how many point i has. Else its list is put from ``indptr[i]`` on. ``scratch`` is that of
    :func:`list_nearest`.
    """
    blocks, numbers, boxes, first = tree
    query, sums, nodes = scratch[0], scratch[1], scratch[2]
    n_blocks, n_features = blocks.shape[0], blocks.shape[1]
    n_leaves = first.shape[0] // 2
    fill = indices.shape[0] > 0
    for own in range(start, stop):
        i = numbers[own]
        for f in range(n_features):
            query[f] = blocks[own // LANES, f, own % LANES]
        found = indptr[i] if fill else 0
        nodes[0] = 1
        waiting = 1
        while waiting > 0:
            # 1. A node; whatever is in it is at least as far as its box.
            waiting -= 1
            v = nodes[waiting]
            if _distance_to_box(query, boxes, v) >= needed[i]:
                continue
            # 2. Its children.
            if v < n_leaves:
                nodes[waiting] = 2 * v
                nodes[waiting + 1] = 2 * v + 1
                waiting += 2
                continue
            # 3. A leaf.
            j = v - n_leaves
            for b in range(n_blocks * j // n_leaves, n_blocks * (j + 1) // n_leaves):
                _distances_to_block(query, blocks, b, sums)
                for lane in range(LANES):
                    distance = sums[0, lane] + sums[1, lane]
                    p = b * LANES + lane
                    if distance < needed[i] and p != own:
                        if fill:
                            indices[found] = numbers[p]
                            squared[found] = distance
                        found += 1
        if fill:
            sort_pairs(squared, indices, indptr[i], found)
        else:
            indptr[i + 1] = found
