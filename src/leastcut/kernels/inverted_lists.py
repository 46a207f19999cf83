"""Nearest neighbours by products with lists of points, and their exact distances."""

from __future__ import annotations

from functools import partial

import numpy as np

# What np.dot compiles to. It is loaded here, before a caller limits the threads of BLAS.
import scipy.linalg.cython_blas  # noqa: F401

from leastcut.kernels import kernel

HALVINGS = 16
"""Times that the range of a limit is halved before it is drawn in to the values there are."""

FNV_OFFSET = np.uint64(14695981039346656037)
"""Where the hash of a row begins (the 64-bit hash of Fowler, Noll and Vo, a word at a time)."""

FNV_PRIME = np.uint64(1099511628211)  # what the hash is multiplied by after each word


@partial(kernel, _nrt=True)  # np.dot returns an array
def search_inverted_lists(lists, near, n_probed, queries, own, nearness, pool, scratch):
    """Offer to every query the points of the ``n_probed`` lists, or a few more, nearest to it.

    A point y is offered to a query x at |y|²/2 + w_y − xᵀy, half their squared distance but for
    |x|²/2. ``lists``: points (n, d), their halves |y|²/2 + w_y, and starts of the lists; ``near``
    (n_near,) are those to choose from, which must not share points, and ``nearness`` (n_queries,
    n_near) how far they are. ``own``: the point that a query is, or -1. Changes ``pool``: values
    and found (n_queries, width), the best offers so far and their points; of equal offers the
    earlier stays. ``scratch``: picked (n_queries, most ≥ n_probed), counts (n_queries,), ends
    (n_near + 1,), chosen (n_queries * most,), gathered (n_gathered, d), and products, room for
    n_gathered times the longest list. One product of matrices for ``n_gathered`` queries and a
    list: 2d operations of BLAS per pair, and nearly nothing for a pair that is not near.
    """
    points, halves, starts = lists
    values, found = pool
    picked, counts, ends, chosen, gathered, products = scratch
    n_queries, width = values.shape
    n_gathered, d = gathered.shape
    # 1. The lists that every query probes, and from them the queries that probe a list.
    ends[:] = 0
    for r in range(n_queries):
        counts[r] = _pick(nearness[r], n_probed, picked[r])
        for q in range(counts[r]):
            ends[picked[r, q] + 1] += 1
    for u in range(near.size):
        ends[u + 1] += ends[u]
    for r in range(n_queries):
        for q in range(counts[r]):
            u = picked[r, q]
            chosen[ends[u]] = r
            ends[u] += 1
    for u in range(near.size):
        # The end of a list's queries has come to stand where the next one's began.
        begin_chosen = ends[u - 1] if u else 0
        start, stop = starts[near[u]], starts[near[u] + 1]
        half = halves[start:stop]
        size = stop - start
        for first in range(begin_chosen, ends[u], n_gathered):
            count = min(n_gathered, ends[u] - first)
            # 2. The products of these queries with the points of the list.
            for q in range(count):
                r = chosen[first + q]
                for f in range(d):
                    gathered[q, f] = queries[r, f]
            product = products[: count * size].reshape((count, size))
            np.dot(gathered[:count], points[start:stop].T, product)
            # 3. Those below the worst of the pool take its place.
            for q in range(count):
                r = chosen[first + q]
                row, value, index = product[q], values[r], found[r]
                worst = limit = value[width - 1]
                # Counting compiles to vector instructions; most counts are 0.
                better = 0
                for c in range(size):
                    better += half[c] - row[c] < worst
                c = 0
                while better > 0:
                    offer = half[c] - row[c]
                    if offer < limit:
                        better -= 1
                        if offer < worst and start + c != own[r]:
                            place = width - 1
                            while place > 0 and value[place - 1] > offer:
                                value[place] = value[place - 1]
                                index[place] = index[place - 1]
                                place -= 1
                            value[place] = offer
                            index[place] = start + c
                            worst = value[width - 1]
                    c += 1


@kernel
def _pick(nearness, n_probed, picked):
    """Write which lists are nearest, and return how many there are.

    It is ``n_probed``, up to an eighth more where that ends the search for a limit sooner, and
    more where lists are equally near.
    """
    n_near = nearness.size
    if n_probed >= n_near:
        for u in range(n_near):
            picked[u] = u
        return n_near
    # Fewer than n_probed lists are within ``low``, and at least so many within ``high``.
    # All limits are of the type of the values, or each of these would be converted at every count.
    infinity = nearness.dtype.type(np.inf)
    low, high = -infinity, infinity
    within = n_near
    while within > n_probed + n_probed // 8:
        # 1. The range of those between, of which an outlier can be by far the farthest.
        nearest, farthest = infinity, -infinity
        for u in range(n_near):
            if nearness[u] > low and nearness[u] <= high:
                nearest = min(nearest, nearness[u])
                farthest = max(farthest, nearness[u])
        high = farthest
        if nearest == farthest:
            break
        limit = nearest
        for _ in range(HALVINGS):
            # 2. Halve it a few times; counting compiles to vector instructions.
            count = 0
            for u in range(n_near):
                count += nearness[u] <= limit
            if count < n_probed:
                low = limit
            else:
                high, within = limit, count
                if within <= n_probed + n_probed // 8:
                    break
            limit = max(low, nearest)
            limit += (high - limit) * nearness.dtype.type(0.5)
    # 3. Those within both limits come first: of those between, equally near, some may be left out.
    count = 0
    for u in range(n_near):
        if nearness[u] <= low and count < picked.size:
            picked[count] = u
            count += 1
    for u in range(n_near):
        if nearness[u] > low and nearness[u] <= high and count < picked.size:
            picked[count] = u
            count += 1
    return count


@kernel
def rank_candidates(points, rows, candidates, indices, squared):
    """Write the nearest candidates (n_rows, width) of some rows, nearest first, ties by index.

    Fills ``indices`` and ``squared`` (n_rows, count ≤ width). Squared differences are added in
    double precision in the order of the features: the same for (i, j) and (j, i), and exactly 0
    for equal points. By ``containers.insert`` it takes 1.07 to 1.13 times as long.
    """
    n_features = points.shape[1]
    width, count = candidates.shape[1], indices.shape[1]
    for r in range(rows.size):
        x = points[rows[r]]
        listed = 0
        for q in range(0, width, 4):
            # Four at once, each with a sum of its own: one would wait for its last addition.
            j0 = candidates[r, q]
            j1 = candidates[r, min(q + 1, width - 1)]
            j2 = candidates[r, min(q + 2, width - 1)]
            j3 = candidates[r, min(q + 3, width - 1)]
            y0, y1, y2, y3 = points[j0], points[j1], points[j2], points[j3]
            s0 = s1 = s2 = s3 = 0.0
            for f in range(n_features):
                here = np.float64(x[f])
                e0 = here - np.float64(y0[f])
                e1 = here - np.float64(y1[f])
                e2 = here - np.float64(y2[f])
                e3 = here - np.float64(y3[f])
                s0 += e0 * e0
                s1 += e1 * e1
                s2 += e2 * e2
                s3 += e3 * e3
            for more in range(min(4, width - q)):
                j = candidates[r, q + more]
                distance = s0 if more == 0 else s1 if more == 1 else s2 if more == 2 else s3
                place = min(listed, count - 1)
                if listed == count and not (
                    distance < squared[r, place]
                    or (distance == squared[r, place] and j < indices[r, place])
                ):
                    continue
                listed = place + 1
                while place > 0 and (
                    squared[r, place - 1] > distance
                    or (squared[r, place - 1] == distance and indices[r, place - 1] > j)
                ):
                    squared[r, place] = squared[r, place - 1]
                    indices[r, place] = indices[r, place - 1]
                    place -= 1
                squared[r, place] = distance
                indices[r, place] = j


@kernel
def hash_rows(words, sign, hashes):
    """Write a hash of every row, the same for rows of equal numbers.

    ``words`` are the bits of the numbers, unsigned, and ``sign`` those of -0.0, equal to 0.0.
    """
    for i in range(words.shape[0]):
        value = FNV_OFFSET
        for f in range(words.shape[1]):
            word = words[i, f]
            if word != sign:
                value ^= np.uint64(word)
            value *= FNV_PRIME
            value ^= value >> np.uint64(29)
        hashes[i] = value
