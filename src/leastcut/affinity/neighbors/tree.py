"""Exact neighbors with a k-d tree, for few features or a low intrinsic dimension.

Points are stored, and searched, in the order of the leaves, so that consecutive queries find their
data in the cache. The lists equal those of coordinate differences in double precision and do not
depend on the shape of the tree or the number of threads; see ``leastcut.kernels.tree``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.kernels.tree import LANES, SAMPLED, build_subtree, list_nearest, list_within_radius
from leastcut.threads import in_blocks
from leastcut.validation import index_type

# Time of a visit of a node, and per feature: measured with 10 neighbors on 20,000 to 1,000,000
# uniform points of 2 to 16 features, between 42 ns and 250 ns.
VISIT_SECONDS = 30e-9, 6e-9
PROBES, PROBED_COUNT = 64, 10  # queries that estimate the cost, and their number of neighbors
SUBTREE = 2**16  # points of a subtree that a single thread builds in its cache
COPIED = 2**18  # coordinates copied at once
# Entries of lists computed at once, halved for every feature, and the minimum number of rows: a
# fraction of a second, so that threads share the work evenly and Ctrl-C is handled.
LISTED, FEWEST_ROWS = 2**17, 64


class TreeSearch:
    """A k-d tree of finite float32 or float64 points with safe squared distances."""

    method, recall = "tree", 1.0

    def __init__(self, points: np.ndarray, n_threads: int) -> None:
        n, n_features = points.shape
        index = index_type(n)
        n_blocks = -(-n // LANES)
        self._n, self._n_features, self._n_threads = n, n_features, n_threads
        self._depth = n_blocks.bit_length() - 1
        n_nodes = 2 << self._depth
        blocks = np.empty((n_blocks, n_features, LANES), dtype=points.dtype)
        numbers = np.arange(n_blocks * LANES, dtype=index)
        numbers[n:] = np.iinfo(index).max
        blocks[-1] = np.inf  # padding of the last block
        boxes = np.empty((n_nodes, 2, n_features), dtype=points.dtype)
        self._tree = blocks, numbers, boxes, np.empty(n_nodes, dtype=index)

        # 1. Copy the points, coordinate by coordinate within each block.
        def copy(start: int, stop: int) -> None:
            part = points[start * LANES : min(stop, n // LANES) * LANES]
            full = part.reshape(-1, LANES, n_features).transpose(0, 2, 1)
            blocks[start : start + full.shape[0]] = full
            if stop * LANES > n:
                blocks[-1, :, : n % LANES] = points[n - n % LANES :].T

        in_blocks(copy, n_blocks, COPIED // (LANES * n_features), n_threads)
        # 2. Split the top of the tree level by level, and the rest subtree by subtree. The number
        #    of top levels depends only on the points.
        top = min(max(0, (n // SUBTREE).bit_length()), self._depth)
        for level in range(top):
            self._grow(level, level + 1)
        self._grow(top, self._depth + 1)

    def _grow(self, level: int, bottom: int) -> None:
        """Split the nodes of the levels from ``level`` to ``bottom - 1``."""

        def grow_one(j: int, _: int) -> None:
            node = (1 << level) + j
            build_subtree(
                self._tree, level, bottom, node, self._n, np.empty(SAMPLED, dtype=np.int64)
            )

        in_blocks(grow_one, 1 << level, 1, self._n_threads)

    def is_faster(self, seconds: float) -> bool:
        """Return whether a query takes less than ``seconds``, estimated from some queries."""
        n_probes = min(PROBES, self._n)
        allowed = n_probes * seconds / (VISIT_SECONDS[0] + VISIT_SECONDS[1] * self._n_features)
        # One by one, as a single query may exceed the limit.
        for p in np.arange(n_probes) * self._n // n_probes:
            query = self._tree[0][p // LANES, :, p % LANES].astype(np.float64)[None]
            count = min(PROBED_COUNT, self._n)
            lists = _empty_lists((1, count), self._n)
            allowed -= list_nearest(self._tree, query, 0, 1, *lists, self._scratch(count))
            if allowed < 0:
                return False
        return True

    def neighborhoods(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """Return the lists of the points themselves; see ``NeighborIndex``."""
        indices, squared = _empty_lists((self._n, count), self._n)
        no_queries = np.empty((0, self._n_features))

        def search_block(start: int, stop: int) -> None:
            scratch = self._scratch(count)
            list_nearest(self._tree, no_queries, start, stop, indices, squared, scratch)

        in_blocks(search_block, self._n, self._most_rows(count), self._n_threads)
        if offset > 0:
            return self._extended(indices, squared, offset)
        indptr = np.arange(self._n + 1, dtype=np.int64) * count
        return indptr, indices.reshape(-1), squared.reshape(-1)

    def _extended(
        self, nearest: np.ndarray, distances: np.ndarray, offset: float
    ) -> tuple[np.ndarray, ...]:
        """Extend lists to all points strictly nearer than their last entry plus an offset."""
        count = nearest.shape[1]
        needed = distances[:, -1] + offset
        indptr = np.zeros(self._n + 1, dtype=np.int64)
        indices, squared = _empty_lists(0, self._n)

        def search_block(start: int, stop: int) -> None:
            scratch = self._scratch(count)
            list_within_radius(self._tree, start, stop, needed, indptr, indices, squared, scratch)

        # 1. Count the points, at least those that are listed already, and allocate.
        in_blocks(search_block, self._n, self._most_rows(count), self._n_threads)
        short = np.flatnonzero(indptr[1:] < count)
        np.maximum(indptr[1:], count, out=indptr[1:])
        np.cumsum(indptr, out=indptr)
        if indptr[-1] == nearest.size:
            return indptr, nearest.reshape(-1), distances.reshape(-1)
        indices = np.empty(indptr[-1], dtype=nearest.dtype)
        squared = np.empty(indptr[-1])
        # 2. Fill. If the offset is lost to rounding, some listed points are not strictly nearer.
        positions = indptr[short, None] + np.arange(count)
        indices[positions], squared[positions] = nearest[short], distances[short]
        in_blocks(search_block, self._n, self._most_rows(count), self._n_threads)
        return indptr, indices, squared

    def nearest(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` points nearest to every query, and their squared distances."""
        indices, squared = _empty_lists((queries.shape[0], count), self._n)

        def search_block(start: int, stop: int) -> None:
            # A copy in double precision, so that a single compiled function is enough.
            part = np.array(queries[start:stop], dtype=np.float64, order="C")
            lists = indices[start:stop], squared[start:stop]
            list_nearest(self._tree, part, 0, stop - start, *lists, self._scratch(count))

        in_blocks(search_block, queries.shape[0], self._most_rows(count), self._n_threads)
        return indices, squared

    def _most_rows(self, count: int) -> int:
        """Return the number of lists of this length that are computed at once."""
        return max(FEWEST_ROWS, min(LISTED // count, LISTED >> int(self._n_features)))

    def _scratch(self, count: int) -> tuple[np.ndarray, ...]:
        """Return the scratch arrays of :func:`list_nearest` for one thread."""
        stack = self._depth + 2
        return (
            np.empty(self._n_features),
            np.empty((2, LANES)),
            np.empty(stack, dtype=np.int64),
            np.empty(stack),
            np.empty(count, dtype=index_type(self._n)),
            np.empty(count),
        )


def _empty_lists(shape: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(shape, dtype=index_type(n_samples)), np.empty(shape)
