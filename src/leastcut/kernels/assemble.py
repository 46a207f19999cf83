"""Assemble a symmetric graph from neighbor lists: merge the rows of S and its transpose.

Entries of S are distributed to the nodes they point to in two stages, so that writes stay in the
cache: first into buckets of 2^shift nodes, then, bucket by bucket, into their rows. A kernel
processes one chunk of rows or one bucket, after the previous kernel has processed all. Threads can
process them in parallel; the graph does not depend on their number. Arrays are passed as

- ``lists``: indptr, indices, weights of S, and ``ends``, the row ends after zeros are dropped;
- ``buckets``: ``offsets`` (n_chunks, n_buckets), and the row, column and weight of every entry;
- ``graph``: indptr, indices, weights of the result.
"""

from __future__ import annotations

from leastcut.kernels import kernel
from leastcut.kernels.containers import sort_pairs


@kernel
def sort_lists(chunk, start, stop, shift, lists, offsets):
    """Drop zeros from the rows start..stop-1 of a chunk and sort them by column, in place.

    Fills ``ends`` and adds to ``offsets[chunk]`` the number of entries of every bucket. O(entries).
    """
    indptr, indices, weights, ends = lists
    for i in range(start, stop):
        end = indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            if weights[p] != 0.0:
                offsets[chunk, indices[p] >> shift] += 1
                indices[end] = indices[p]
                weights[end] = weights[p]
                end += 1
        ends[i] = end
        sort_pairs(indices, weights, indptr[i], end)


@kernel
def fill_buckets(chunk, start, stop, shift, lists, buckets):
    """Write the rows start..stop-1 of a chunk to the buckets. O(entries).

    ``offsets[chunk]`` is the start of its entries in every bucket on entry, and their end on
    return.
    """
    indptr, indices, weights, ends = lists
    offsets, rows, columns, bucket_weights = buckets
    for i in range(start, stop):
        for p in range(indptr[i], ends[i]):
            j = indices[p]
            q = offsets[chunk, j >> shift]
            offsets[chunk, j >> shift] = q + 1
            rows[q] = i
            columns[q] = j
            bucket_weights[q] = weights[p]


@kernel
def merge_bucket(
    fill, bucket, start, stop, lists, buckets, graph, self_loops, take_maximum, scratch
):
    """Merge the rows start..stop-1 of a bucket with the same rows of the transpose.

    If ``fill``, write sorted rows of ``graph``: (S_ij + S_ji) / 2, or the larger of the two if
    ``take_maximum``. Otherwise set ``indptr[i + 1]`` to the length of row i. ``self_loops``: a
    positive weight per node, for lists without self-loops, or an empty array. Scratch: an integer
    per row, and an index and a weight per entry of the bucket. O(entries).
    """
    indptr, indices, weights, ends = lists
    offsets, rows, columns, bucket_weights = buckets
    graph_indptr, graph_indices, graph_weights = graph
    transposed_ends, sources, transposed_weights = scratch
    n = ends.shape[0]
    # 1. Compute the start of each row of the transpose.
    last = offsets.shape[0] - 1
    begin = offsets[last, bucket - 1] if bucket > 0 else 0
    end = offsets[last, bucket]
    transposed_ends[: stop - start] = 0
    for p in range(begin, end):
        transposed_ends[columns[p] - start] += 1
    before = 0
    for i in range(stop - start):
        count = transposed_ends[i]
        transposed_ends[i] = before
        before += count
    # 2. Fill the transpose in the order of the rows of S, so that its rows are sorted.
    for p in range(begin, end):
        q = transposed_ends[columns[p] - start]
        transposed_ends[columns[p] - start] = q + 1
        sources[q] = rows[p]
        transposed_weights[q] = bucket_weights[p]
    # 3. Merge both.
    q = 0
    for i in range(start, stop):
        p = indptr[i]
        filled = graph_indptr[i] if fill else 0
        has_self_loop = self_loops.shape[0] == 0
        while True:
            # The next column of each row, or n at its end.
            j = indices[p] if p < ends[i] else n
            k = sources[q] if q < transposed_ends[i - start] else n
            column = min(j, k)
            weight = 0.0
            if not has_self_loop and column > i:
                column = i
                has_self_loop = True
                weight = self_loops[i]
            elif column == n:
                break
            elif j == k:
                if take_maximum:
                    weight = max(weights[p], transposed_weights[q])
                else:
                    weight = (weights[p] + transposed_weights[q]) * 0.5
                p += 1
                q += 1
            elif j < k:
                weight = weights[p] if take_maximum else weights[p] * 0.5
                p += 1
            else:
                weight = transposed_weights[q] if take_maximum else transposed_weights[q] * 0.5
                q += 1
            if fill:
                graph_indices[filled] = column
                graph_weights[filled] = weight
            filled += 1
        if not fill:
            graph_indptr[i + 1] = filled
