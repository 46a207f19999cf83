"""The k-d tree: exact neighbors among few features, or samples near a surface of few dimensions.

It holds the points in the order of its leaves. Lists are made in that order, too, so that one query
finds in the cache what the one before it read. They are those of all coordinate differences in
double precision, whatever the shape of the tree and the number of threads:
``leastcut.kernels.tree`` tells why.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.kernels.tree import LANES, SAMPLED, build_subtree, list_nearest, list_within_radius
from leastcut.threads import in_blocks
from leastcut.validation import index_type

# What a node of the tree costs, and per feature: measured with 10 neighbors, from 20,000 to
# 1,000,000 uniform points of 2 to 16 features, between 42 ns and 250 ns.
VISIT_SECONDS = 30e-9, 6e-9
PROBES, PROBED_COUNT = 64, 10  # points searched for to estimate the cost, and how many neighbors
SUBTREE = 2**16  # points that one thread builds a tree of by itself: they stay in its cache
COPIED = 2**18  # coordinates that are copied at once
# Entries of lists that are made at once, halved for every feature, and the fewest rows: a fraction
# of a second, for threads to share evenly and Ctrl-C to be heard.
LISTED, FEWEST_ROWS = 2**17, 64


class TreeSearch:
    """Finite float32 or float64 points, whose squared distances are safe, in a k-d tree."""

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
        blocks[-1] = np.inf  # what is left of the last block is no point
        boxes = np.empty((n_nodes, 2, n_features), dtype=points.dtype)
        self._tree = blocks, numbers, boxes, np.empty(n_nodes, dtype=index)

        # 1. Copy the points, coordinate by coordinate within each block.
        def copy(start: int, stop: int) -> None:
            part = points[start * LANES : min(stop, n // LANES) * LANES]
            whole = part.reshape(-1, LANES, n_features).transpose(0, 2, 1)
            blocks[start : start + whole.shape[0]] = whole
            if stop * LANES > n:
                blocks[-1, :, : n % LANES] = points[n - n % LANES :].T

        in_blocks(copy, n_blocks, COPIED // (LANES * n_features), n_threads)
        # 2. Split the top of the tree, level by level, and what is below it, subtree by subtree.
        #    How many levels are the top depends on the points alone.
        top = min(max(0, (n // SUBTREE).bit_length()), self._depth)
        for level in range(top):
            self._grow(level, level + 1)
        self._grow(top, self._depth + 1)

    def _grow(self, level: int, bottom: int) -> None:
        """Split the nodes of a level, and those below it down to, but without, ``bottom``."""

        def grow_one(j: int, _: int) -> None:
            node = (1 << level) + j
            build_subtree(
                self._tree, level, bottom, node, self._n, np.empty(SAMPLED, dtype=np.int64)
            )

        in_blocks(grow_one, 1 << level, 1, self._n_threads)

    def pays(self, seconds: float) -> bool:
        """Whether lists take less than so many seconds each, as counted in visits of some."""
        n_probes = min(PROBES, self._n)
        allowed = n_probes * seconds / (VISIT_SECONDS[0] + VISIT_SECONDS[1] * self._n_features)
        # One by one, as a single one may be enough to tell that it does not.
        for p in np.arange(n_probes) * self._n // n_probes:
            query = self._tree[0][p // LANES, :, p % LANES].astype(np.float64)[None]
            count = min(PROBED_COUNT, self._n)
            found = _empty_lists((1, count), self._n)
            allowed -= list_nearest(self._tree, query, 0, 1, *found, self._scratch(count))
            if allowed < 0:
                return False
        return True

    def nearest_others(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """List the ``count`` nearest others of every point; see ``NeighborIndex``."""
        indices, squared = _empty_lists((self._n, count), self._n)
        no_queries = np.empty((0, self._n_features))

        def ask(start: int, stop: int) -> None:
            scratch = self._scratch(count)
            list_nearest(self._tree, no_queries, start, stop, indices, squared, scratch)

        in_blocks(ask, self._n, self._most_rows(count), self._n_threads)
        if offset > 0:
            return self._extended(indices, squared, offset)
        indptr = np.arange(self._n + 1, dtype=np.int64) * count
        return indptr, indices.reshape(-1), squared.reshape(-1)

    def _extended(
        self, nearest: np.ndarray, distances: np.ndarray, offset: float
    ) -> tuple[np.ndarray, ...]:
        """Let lists go on to whatever is strictly nearer than their last entry plus an offset."""
        count = nearest.shape[1]
        needed = distances[:, -1] + offset
        indptr = np.zeros(self._n + 1, dtype=np.int64)
        indices, squared = _empty_lists(0, self._n)

        def ask(start: int, stop: int) -> None:
            scratch = self._scratch(count)
            list_within_radius(self._tree, start, stop, needed, indptr, indices, squared, scratch)

        # 1. Count, and make room, at least for what is listed already.
        in_blocks(ask, self._n, self._most_rows(count), self._n_threads)
        short = np.flatnonzero(indptr[1:] < count)
        np.maximum(indptr[1:], count, out=indptr[1:])
        np.cumsum(indptr, out=indptr)
        if indptr[-1] == nearest.size:
            return indptr, nearest.reshape(-1), distances.reshape(-1)
        indices = np.empty(indptr[-1], dtype=nearest.dtype)
        squared = np.empty(indptr[-1])
        # 2. Fill. Where rounding loses the offset, some that are listed already are
        #    not strictly nearer.
        places = indptr[short, None] + np.arange(count)
        indices[places], squared[places] = nearest[short], distances[short]
        in_blocks(ask, self._n, self._most_rows(count), self._n_threads)
        return indptr, indices, squared

    def nearest(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` points nearest to every query, and their squared distances."""
        indices, squared = _empty_lists((queries.shape[0], count), self._n)

        def ask(start: int, stop: int) -> None:
            # A copy in double precision: whatever they are, the compiled code is the same.
            part = np.array(queries[start:stop], dtype=np.float64, order="C")
            found = indices[start:stop], squared[start:stop]
            list_nearest(self._tree, part, 0, stop - start, *found, self._scratch(count))

        in_blocks(ask, queries.shape[0], self._most_rows(count), self._n_threads)
        return indices, squared

    def _most_rows(self, count: int) -> int:
        """Return how many lists of this length are made at once."""
        return max(FEWEST_ROWS, min(LISTED // count, LISTED >> int(self._n_features)))

    def _scratch(self, count: int) -> tuple[np.ndarray, ...]:
        """Return what one thread of :func:`list_nearest` needs besides its arguments."""
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
