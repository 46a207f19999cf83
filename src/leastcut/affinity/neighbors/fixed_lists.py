"""Searches that list a fixed number of neighbours: the approximate one, and the one on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from leastcut.affinity.neighbors.devices import as_tensor, check_gpu_memory
from leastcut.affinity.neighbors.searching import Search

LONGEST = 240
"""Lists are made longer for an offset up to this length; beyond it, the exact search takes over."""

Lists = Callable[[int], tuple[np.ndarray, np.ndarray, float] | None]
"""From a length to lists (indices and squared distances, nearest first) and their recall; None
where the samples are beyond the search, as where they lie too far apart for their precision."""


class Index(Protocol):
    """What is needed of a ``NeighborIndex``."""

    n_threads: int

    @property
    def points(self) -> Any:
        """The samples on the host."""

    @property
    def exact(self) -> Search:
        """The exact search on the processor, a k-d tree or products."""


def on_gpu(samples: Any, seed: int) -> Lists:
    """Return the lists of the exact search on a GPU."""
    from leastcut.affinity.neighbors.gpu_search import memory_needed, nearest_on_gpu

    def listed(count: int) -> tuple[np.ndarray, np.ndarray, float]:
        n, n_features = samples.shape
        check_gpu_memory(memory_needed(n, n_features, count, samples.dtype.itemsize))
        found = nearest_on_gpu(as_tensor(samples), count, seed)
        return found.indices, found.squared, found.recall

    return listed


def approximately(index: Index, seed: int) -> Lists:
    """Return the lists of the approximate search, with their recall on drawn samples."""

    def listed(count: int) -> tuple[np.ndarray, np.ndarray, float] | None:
        from leastcut.affinity.neighbors.approximate_search import approximate_neighbors
        from leastcut.affinity.neighbors.approximate_truth import PrecisionLost, sampled_recall

        points, n_threads = index.points, index.n_threads
        try:
            indices, squared = approximate_neighbors(points, count, n_threads, seed)
        except PrecisionLost:
            return None
        return indices, squared, sampled_recall(points, indices, n_threads, seed)

    return listed


class FixedLists:
    """A search by lists of one length; new samples are searched exactly."""

    def __init__(self, method: str, lists: Lists, index: Index) -> None:
        self.method, self.recall = method, 1.0
        self._lists, self._index = lists, index

    def nearest_others(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """List the ``count`` nearest others of every sample; see ``NeighborIndex``."""
        width = count
        while True:
            found = self._lists(width)
            if found is None:
                return self._listed_exactly(count, offset)
            indices, squared, self.recall = found
            n = indices.shape[0]
            needed = squared[:, count - 1] + offset
            # An offset needs longer lists, until each ends beyond what it has to see.
            if offset == 0 or width == n - 1 or not (squared[:, -1] < needed).any():
                break
            if width == LONGEST:
                return self._listed_exactly(count, offset)
            width = min(2 * width, LONGEST, n - 1)
        if offset == 0:
            return np.arange(n + 1, dtype=np.int64) * count, indices.ravel(), squared.ravel()
        # What is strictly nearer, and the first ``count`` anyway.
        kept = squared < needed[:, None]
        kept[:, :count] = True
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return indptr, indices[kept], squared[kept]

    def _listed_exactly(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        self.method, self.recall = self._index.exact.method, 1.0
        return self._index.exact.nearest_others(count, offset)

    def nearest(self, queries: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` samples nearest to every query, and their squared distances."""
        return self._index.exact.nearest(queries, count)
