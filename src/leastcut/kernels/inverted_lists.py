"""Nearest-neighbor search with inverted lists (IVF): matrix products, and exact distances."""

from __future__ import annotations

from functools import partial

import numpy as np

# np.dot compiles to this; loaded here, before a caller limits the threads of BLAS.
import scipy.linalg.cython_blas  # noqa: F401

from leastcut.kernels import kernel

HALVINGS = 16
"""The number of bisections of a limit before it is reset to the range of the remaining values."""

FNV_OFFSET = np.uint64(14695981039346656037)
"""The initial hash of a row (the 64-bit Fowler–Noll–Vo hash, one word at a time)."""

FNV_PRIME = np.uint64(1099511628211)  # the factor of the hash after each word


@partial(kernel, _nrt=True)  # np.dot allocates its result
def search_inverted_lists(
    lists, list_ids, n_probed, queries, self_ids, list_distances, pool, scratch
):
    """Merge points of the ``n_probed`` nearest lists, or a few more, into the pool of each query.

    The key of a point y for a query x is |y|²/2 + w_y − xᵀy, half the squared distance plus w_y,
    without |x|²/2. ``lists``: points (n, d), half_norms |y|²/2 + w_y, and starts of the lists;
    ``list_ids`` (n_near,): disjoint lists to choose from, with ``list_distances`` (n_queries,
    n_near). ``self_ids``: the point that each query is, or -1. Changes ``pool``: values and indices
    (n_queries, width) of the smallest keys so far; ties keep the earlier point. ``scratch``: picked
    (n_queries, most ≥ n_probed), counts (n_queries,), ends (n_near + 1,), chosen (n_queries *
    most,), gathered (n_gathered, d), and products (n_gathered times the longest list,). One matrix
    product for ``n_gathered`` queries and a list: 2d BLAS operations per pair, and almost nothing
    for a pair that is not near.
    """
    points, half_norms, starts = lists
    values, indices = pool
    picked, counts, ends, chosen, gathered, products = scratch
    n_queries, width = values.shape
    n_gathered, d = gathered.shape
    # 1. The lists that each query probes, and from them the queries that probe each list.
    ends[:] = 0
    for r in range(n_queries):
        counts[r] = _select_lists(list_distances[r], n_probed, picked[r])
        for q in range(counts[r]):
            ends[picked[r, q] + 1] += 1
    for u in range(list_ids.size):
        ends[u + 1] += ends[u]
    for r in range(n_queries):
        for q in range(counts[r]):
            u = picked[r, q]
            chosen[ends[u]] = r
            ends[u] += 1
    for u in range(list_ids.size):
        # By now ends[u - 1] is where the queries of list u begin.
        begin_chosen = ends[u - 1] if u else 0
        start, stop = starts[list_ids[u]], starts[list_ids[u] + 1]
        half = half_norms[start:stop]
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
            # 3. Insert the keys below the largest of the pool.
            for q in range(count):
                r = chosen[first + q]
                row, row_values, row_indices = product[q], values[r], indices[r]
                worst = limit = row_values[width - 1]
                # Counting is vectorized, and most counts are 0.
                better = 0
                for c in range(size):
                    better += half[c] - row[c] < worst
                c = 0
                while better > 0:
                    key = half[c] - row[c]
                    if key < limit:
                        better -= 1
                        if key < worst and start + c != self_ids[r]:
                            place = width - 1
                            while place > 0 and row_values[place - 1] > key:
                                row_values[place] = row_values[place - 1]
                                row_indices[place] = row_indices[place - 1]
                                place -= 1
                            row_values[place] = key
                            row_indices[place] = start + c
                            worst = row_values[width - 1]
                    c += 1


@kernel
def _select_lists(list_distances, n_probed, selected):
    """Write the nearest lists, and return their number.

    It is ``n_probed``, or up to an eighth more if that ends the search for a limit sooner, or more
    if lists are equally near.
    """
    n_near = list_distances.size
    if n_probed >= n_near:
        for u in range(n_near):
            selected[u] = u
        return n_near
    # Fewer than n_probed lists are within ``low``, and at least n_probed within ``high``. Limits
    # have the type of the values, which otherwise would be converted at every comparison.
    infinity = list_distances.dtype.type(np.inf)
    low, high = -infinity, infinity
    n_within = n_near
    while n_within > n_probed + n_probed // 8:
        # 1. The range of the values between the limits, which may contain a distant outlier.
        nearest, farthest = infinity, -infinity
        for u in range(n_near):
            if list_distances[u] > low and list_distances[u] <= high:
                nearest = min(nearest, list_distances[u])
                farthest = max(farthest, list_distances[u])
        high = farthest
        if nearest == farthest:
            break
        limit = nearest
        for _ in range(HALVINGS):
            # 2. Bisect it a few times; counting is vectorized.
            count = 0
            for u in range(n_near):
                count += list_distances[u] <= limit
            if count < n_probed:
                low = limit
            else:
                high, n_within = limit, count
                if n_within <= n_probed + n_probed // 8:
                    break
            limit = max(low, nearest)
            limit += (high - limit) * list_distances.dtype.type(0.5)
    # 3. Lists within both limits come first; of equally near ones at the limit, some may be
    #    dropped.
    count = 0
    for u in range(n_near):
        if list_distances[u] <= low and count < selected.size:
            selected[count] = u
            count += 1
    for u in range(n_near):
        if list_distances[u] > low and list_distances[u] <= high and count < selected.size:
            selected[count] = u
            count += 1
    return count


@kernel
def rank_candidates(points, rows, candidates, indices, squared):
    """Write the nearest candidates (n_rows, width) of the given rows, nearest first, ties by index.

    Fills ``indices`` and ``squared`` (n_rows, count ≤ width). Squared differences are summed in
    double precision in the order of the features, so (i, j) and (j, i) have equal distances, and
    equal points exactly 0. With ``containers.insert`` it would be slower.
    """
    n_features = points.shape[1]
    width, count = candidates.shape[1], indices.shape[1]
    for r in range(rows.size):
        x = points[rows[r]]
        n_listed = 0
        for q in range(0, width, 4):
            # Four at a time, to hide the latency of additions.
            j0 = candidates[r, q]
            j1 = candidates[r, min(q + 1, width - 1)]
            j2 = candidates[r, min(q + 2, width - 1)]
            j3 = candidates[r, min(q + 3, width - 1)]
            y0, y1, y2, y3 = points[j0], points[j1], points[j2], points[j3]
            s0 = s1 = s2 = s3 = 0.0
            for f in range(n_features):
                coordinate = np.float64(x[f])
                e0 = coordinate - np.float64(y0[f])
                e1 = coordinate - np.float64(y1[f])
                e2 = coordinate - np.float64(y2[f])
                e3 = coordinate - np.float64(y3[f])
                s0 += e0 * e0
                s1 += e1 * e1
                s2 += e2 * e2
                s3 += e3 * e3
            for lane in range(min(4, width - q)):
                j = candidates[r, q + lane]
                distance = s0 if lane == 0 else s1 if lane == 1 else s2 if lane == 2 else s3
                place = min(n_listed, count - 1)
                if n_listed == count and not (
                    distance < squared[r, place]
                    or (distance == squared[r, place] and j < indices[r, place])
                ):
                    continue
                n_listed = place + 1
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
    """Write a hash of every row, equal for rows of equal numbers.

    ``words`` are the bits of the numbers, as unsigned integers, and ``sign`` those of -0.0.
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
