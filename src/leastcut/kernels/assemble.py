"""From lists of neighbours to a symmetric graph: each row of S merged with that of its transpose.

Entries of S are brought to the nodes they point to in two stages, so that writing stays in the
cache: first into buckets of 2^shift nodes, then, bucket by bucket, to their rows. ``assemble`` does
one of four steps for a chunk of rows or a bucket, which several threads may share; the graph is the
same however many they are. Its arrays travel as

- ``lists``: indptr, indices, weights of S, and ``ends``, where rows end once zeros are dropped;
- ``buckets``: ``places`` (n_chunks, n_buckets), and the row, column and weight of every entry;
- ``graph``: indptr, indices, weights of the result;
- ``loops``: a positive weight for every node to itself, which lists then do not hold; or nothing;
- ``scratch``: for a bucket, as many places as nodes, and as many indices and weights as entries.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.sort_pairs import sort_pairs

SORT, SCATTER, MEASURE, MERGE = range(4)
"""The steps, in their order."""


@kernel
def assemble(step, which, start, stop, shift, lists, buckets, graph, loops, larger, scratch):
    """Do one step for the rows start..stop-1: chunk or bucket number ``which``.

    - SORT drops zeros from the rows of a chunk and sorts them by column, in place; fills ``ends``
      and adds to ``places[which]``, zero before, how many entries go to every bucket.
    - SCATTER fills the buckets from a chunk. ``places[which]`` must be where its entries begin in
      every bucket, chunk after chunk, and becomes where they end.
    - MEASURE sets ``indptr[i + 1]`` of ``graph`` to the length of row i, for a bucket.
    - MERGE fills the rows of a bucket, sorted: (S_ij + S_ji) / 2, or the larger if ``larger``.

    Each takes all chunks, or all buckets, to have been through the step before. O(entries).
    """
    if step == SORT:
        _sort(which, start, stop, shift, lists, buckets)
    elif step == SCATTER:
        _scatter(which, start, stop, shift, lists, buckets)
    else:
        _transpose(which, start, stop, buckets, scratch)
        _merge(step == MERGE, start, stop, lists, graph, loops, larger, scratch)


@kernel
def _sort(chunk, start, stop, shift, lists, buckets):
    indptr, indices, weights, ends = lists
    places = buckets[0]
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
def _scatter(chunk, start, stop, shift, lists, buckets):
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
def _transpose(bucket, start, stop, buckets, scratch):
    """Fill ``scratch`` with the rows start..stop-1 of the transpose, and where they end."""
    places, rows, columns, bucket_weights = buckets
    ends, sources, weights = scratch
    last = places.shape[0] - 1
    begin = places[last, bucket - 1] if bucket > 0 else 0
    end = places[last, bucket]
    # 1. Count, and from that where every row begins.
    ends[: stop - start] = 0
    for p in range(begin, end):
        ends[columns[p] - start] += 1
    before = 0
    for j in range(stop - start):
        count = ends[j]
        ends[j] = before
        before += count
    # 2. In the order of the rows of S, so that those of the transpose come sorted.
    for p in range(begin, end):
        q = ends[columns[p] - start]
        ends[columns[p] - start] = q + 1
        sources[q] = rows[p]
        weights[q] = bucket_weights[p]


@kernel
def _merge(fill, start, stop, lists, graph, loops, larger, scratch):
    indptr, indices, weights, ends = lists
    graph_indptr, graph_indices, graph_weights = graph
    transposed_ends, sources, transposed_weights = scratch
    n = ends.shape[0]
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
