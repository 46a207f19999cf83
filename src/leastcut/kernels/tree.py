"""A k-d tree: points in the order of its leaves, and exact nearest neighbors.

Points are stored in blocks of ``LANES``, coordinate by coordinate, so that the distances to a block
are computed together. Nodes are numbered as in a heap: the root is 1, the children of v are 2v and
2v + 1, and the leaves are the last ``n_leaves``, a power of two. With B blocks in all, node j of
the level of 2^t nodes holds the blocks ⌊Bj / 2^t⌋ to ⌊B(j + 1) / 2^t⌋ − 1, so a leaf holds one or
two, and the start of a node is computed, not stored.

``tree`` is the tuple of

- ``blocks`` (B, n_features, LANES): the points, and infinity after the last point;
- ``numbers`` (B · LANES,): the sample index of each position, and the largest integer at the end;
- ``boxes`` (2 n_leaves, 2, n_features): the smallest and largest coordinates in every node;
- ``first`` (2 n_leaves,): the smallest sample index in every node.

Coordinate differences are squared and summed in double precision, even and odd ones separately, for
points and for boxes alike. Rounding is monotone, so the computed distance to a box is at most the
computed distance to any point in it: pruned points are provably not nearer. Ties go to the smaller
sample index, by which ``first`` prunes: a million equal points cost no more than others.
"""

from __future__ import annotations

from leastcut.kernels import inlined, kernel
from leastcut.kernels.containers import insert, sort_pairs

LANES = 8  # points per block: a cache line of coordinates in double precision

SAMPLED = 9  # number of points of which a pivot is the median


@kernel
def build_subtree(tree, top, bottom, node, n_points, sample):
    """Split ``node``, of level ``top``, and the nodes below it down to the level before ``bottom``.

    Each of these nodes gets its box and its smallest index, and unless it is a leaf, it is split in
    the middle of its blocks along its longest side. Changes the part of ``tree`` below ``node``;
    ``sample`` is scratch of SAMPLED positions. O(points · levels) on average.
    """
    blocks, numbers, boxes, first = tree
    n_blocks, n_features = blocks.shape[0], blocks.shape[1]
    n_leaves = first.shape[0] // 2
    for level in range(top, bottom):
        below = level - top
        for v in range(node << below, (node + 1) << below):
            # 1. The points of node j of its level.
            j = v - (1 << level)
            start = ((n_blocks * j) >> level) * LANES
            stop = min(((n_blocks * (j + 1)) >> level) * LANES, n_points)
            # 2. Their box, and their smallest index.
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
            # 3. Move the smaller half along the longest side to the left, ties by index.
            if v < n_leaves:
                middle = ((n_blocks * (2 * j + 1)) >> (level + 1)) * LANES
                # Converted to int, as Numba would also compile it for the literal 0.
                _select(blocks, numbers, int(axis), start, middle, stop, sample)


@kernel
def _select(blocks, numbers, axis, start, middle, stop, sample):
    """Reorder points so that those before ``middle`` are the smallest along ``axis`` (quickselect).

    They are ordered by coordinate and then by sample index, so that no two are equal.
    """
    low = start
    high = stop - 1
    while low < high:
        # 1. A pivot: the median of points at irregular positions, so that no regular order is slow.
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
        # 2. Smaller points to the left of the pivot, larger ones to the right.
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
        # 3. Continue in the part that contains the middle; between the parts is only the pivot.
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def _before(blocks, numbers, axis, p, q):
    """Return whether the point at p comes before that at q along ``axis``."""
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
    """Fill ``sums`` with two partial sums of the squared distances to the points of block b."""
    sums[:] = 0.0
    for f in range(query.shape[0]):
        x = query[f]
        for q in range(LANES):
            difference = blocks[b, f, q] - x
            sums[f % 2, q] += difference * difference


@kernel
def list_nearest(tree, queries, start, stop, indices, squared, scratch):
    """List the nearest points of the queries start..stop-1, nearest first, ties by index.

    If ``queries`` is empty, the queries are the points at the positions start..stop-1, each without
    itself. Fills the rows of ``indices`` and ``squared``, for a point the row of its sample index;
    there must be enough points for a row. ``scratch``: a query, the distances of a block (2,
    LANES), a stack of nodes and one of their distances, with two more entries than levels, and a
    row of each list. Returns the number of nodes visited.
    """
    blocks, numbers, boxes, first = tree
    query, sums, nodes, distances, row_indices, row_squared = scratch
    n_blocks, n_features = blocks.shape[0], blocks.shape[1]
    n_leaves = first.shape[0] // 2
    last = indices.shape[1] - 1
    is_self_search = queries.shape[0] == 0
    visits = 0
    for r in range(start, stop):
        row = r
        position = -1
        if is_self_search:
            row = numbers[r]
            position = r
            for f in range(n_features):
                query[f] = blocks[r // LANES, f, r % LANES]
        else:
            for f in range(n_features):
                query[f] = queries[r, f]
        for q in range(last + 1):
            row_indices[q] = -1
            row_squared[q] = float("inf")
        # The root, with the trivial bound 0 on its distance.
        nodes[0] = 1
        distances[0] = 0.0
        stack_size = 1
        while stack_size > 0:
            # 1. The nearest node on the stack. The list may have improved since it was pushed: the
            #    node must be nearer than the last entry, or as near with a smaller index.
            stack_size -= 1
            v = nodes[stack_size]
            worst = row_squared[last]
            if distances[stack_size] > worst or (
                distances[stack_size] == worst and first[v] >= row_indices[last]
            ):
                continue
            visits += 1
            # 2. Its children, the nearer one first, ties by the smaller index.
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
                    nodes[stack_size] = far
                    distances[stack_size] = far_distance
                    stack_size += 1
                if near_distance <= worst:
                    nodes[stack_size] = near
                    distances[stack_size] = near_distance
                    stack_size += 1
                continue
            # 3. A leaf: compute the distances of a block, then insert those that improve the list.
            j = v - n_leaves
            for b in range(n_blocks * j // n_leaves, n_blocks * (j + 1) // n_leaves):
                _distances_to_block(query, blocks, b, sums)
                for lane in range(LANES):
                    distance = sums[0, lane] + sums[1, lane]
                    p = b * LANES + lane
                    if distance > worst or p == position:
                        continue
                    number = numbers[p]
                    if distance == worst and number >= row_indices[last]:
                        continue
                    insert(row_squared, row_indices, 0, last, distance, number)
                    worst = row_squared[last]
        for q in range(last + 1):
            indices[row, q] = row_indices[q]
            squared[row, q] = row_squared[q]
    return visits


@kernel
def list_within_radius(tree, start, stop, radii, indptr, indices, squared, scratch):
    """List, for the points at the positions start..stop-1, all others nearer than ``radii``.

    ``radii`` (n,) are squared and exclusive. Lists are sorted nearest first, ties by index. If
    ``indices`` is empty, points are counted: ``indptr[i + 1]`` becomes the count of point i.
    Otherwise its list is written from ``indptr[i]`` on. ``scratch`` is that of
    :func:`list_nearest`.
    """
    blocks, numbers, boxes, first = tree
    query, sums, nodes = scratch[0], scratch[1], scratch[2]
    n_blocks, n_features = blocks.shape[0], blocks.shape[1]
    n_leaves = first.shape[0] // 2
    fill = indices.shape[0] > 0
    for position in range(start, stop):
        i = numbers[position]
        for f in range(n_features):
            query[f] = blocks[position // LANES, f, position % LANES]
        filled = indptr[i] if fill else 0
        nodes[0] = 1
        stack_size = 1
        while stack_size > 0:
            # 1. A node, whose points are at least as far as its box.
            stack_size -= 1
            v = nodes[stack_size]
            if _distance_to_box(query, boxes, v) >= radii[i]:
                continue
            # 2. Its children.
            if v < n_leaves:
                nodes[stack_size] = 2 * v
                nodes[stack_size + 1] = 2 * v + 1
                stack_size += 2
                continue
            # 3. A leaf.
            j = v - n_leaves
            for b in range(n_blocks * j // n_leaves, n_blocks * (j + 1) // n_leaves):
                _distances_to_block(query, blocks, b, sums)
                for lane in range(LANES):
                    distance = sums[0, lane] + sums[1, lane]
                    p = b * LANES + lane
                    if distance < radii[i] and p != position:
                        if fill:
                            indices[filled] = numbers[p]
                            squared[filled] = distance
                        filled += 1
        if fill:
            sort_pairs(squared, indices, indptr[i], filled)
        else:
            indptr[i + 1] = filled
