"""From lists of neighbours to a symmetric graph: each row of S merged with that of its transpose.

Entries of S are brought to the nodes they point to in two stages, so that writing stays in the
cache: first into buckets of 2^shift nodes, then, bucket by bucket, to their rows. A kernel takes
one chunk of rows or one bucket, once all of these have been through the kernel before. Several
threads may share them, and the graph is the same however many there are. Arrays travel as

- ``lists``: indptr, indices, weights of S, and ``ends``, where rows end once zeros are dropped;
- ``buckets``: ``places`` (n_chunks, n_buckets), and the row, column and weight of every entry;
- ``graph``: indptr, indices, weights of the result.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.containers import sort_pairs


@kernel
def sort_lists(chunk, start, stop, shift, lists, places):
    """Drop zeros from the rows start..stop-1 of a chunk and sort them by column, in place.

    Fills ``ends`` and adds to ``places[chunk]`` how many entries go to every bucket. O(entries).
    """
    indptr, indices, weights, ends = lists
    for i in range(start, stop):
        end = indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            if weights[p] != 0.0:
                places[chunk, indices[p] >> shift] += 1
                indices[end] = indices[p]
                weights[end] = weights[p]
                end += 1
        ends[i] = end
        sort_pairs(indices, weights, indptr[i], end)


@kernel
def fill_buckets(chunk, start, stop, shift, lists, buckets):
    """Fill the buckets from the rows start..stop-1 of a chunk. O(entries).

    ``places[chunk]`` must be where its entries begin in every bucket, chunk after chunk; it becomes
    where they end.
    """
    indptr, indices, weights, ends = lists
    places, rows, columns, bucket_weights = buckets
    for i in range(start, stop):
        for p in range(indptr[i], ends[i]):
            j = indices[p]
            q = places[chunk, j >> shift]
            places[chunk, j >> shift] = q + 1
            rows[q] = i
            columns[q] = j
            bucket_weights[q] = weights[p]


@kernel
def merge_bucket(fill, bucket, start, stop, lists, buckets, graph, loops, larger, scratch):
    """Merge the rows start..stop-1, those of a bucket, with the same rows of the transpose.

    If ``fill``, fills the rows of ``graph``, sorted: (S_ij + S_ji) / 2, or the larger of both if
    ``larger``. Otherwise sets ``indptr[i + 1]`` to the length of row i. ``loops``: for every node a
    positive weight to itself, which lists then do not hold; or nothing. Scratch: as many places as
    rows, and as many indices and weights as entries of the bucket. O(entries).
    """
    indptr, indices, weights, ends = lists
    places, rows, columns, bucket_weights = buckets
    graph_indptr, graph_indices, graph_weights = graph
    transposed_ends, sources, transposed_weights = scratch
    n = ends.shape[0]
    # 1. Where every row of the transpose begins.
    last = places.shape[0] - 1
    begin = places[last, bucket - 1] if bucket > 0 else 0
    end = places[last, bucket]
    transposed_ends[: stop - start] = 0
    for p in range(begin, end):
        transposed_ends[columns[p] - start] += 1
    before = 0
    for i in range(stop - start):
        count = transposed_ends[i]
        transposed_ends[i] = before
        before += count
    # 2. The transpose, in the order of the rows of S, so that its rows come sorted.
    for p in range(begin, end):
        q = transposed_ends[columns[p] - start]
        transposed_ends[columns[p] - start] = q + 1
        sources[q] = rows[p]
        transposed_weights[q] = bucket_weights[p]
    # 3. Both merged.
    q = 0
    for i in range(start, stop):
        p = indptr[i]
        filled = graph_indptr[i] if fill else 0
        looped = loops.shape[0] == 0
        while True:
            # The next column of each row, or n where there is none.
            j = indices[p] if p < ends[i] else n
            k = sources[q] if q < transposed_ends[i - start] else n
            column = min(j, k)
            weight = 0.0
            if not looped and column > i:
                column = i
                looped = True
                weight = loops[i]
            elif column == n:
                break
            elif j == k:
                if larger:
                    weight = max(weights[p], transposed_weights[q])
                else:
                    weight = (weights[p] + transposed_weights[q]) * 0.5
                p += 1
                q += 1
            elif j < k:
                weight = weights[p] if larger else weights[p] * 0.5
                p += 1
            else:
                weight = transposed_weights[q] if larger else transposed_weights[q] * 0.5
                q += 1
            if fill:
                graph_indices[filled] = column
                graph_weights[filled] = weight
            filled += 1
        if not fill:
            graph_indptr[i + 1] = filled
