"""What searches of neighbors share: names, limits, options and estimated times.

Times are CPU seconds on one core of an AMD EPYC (Zen 4) with AVX-512, measured on 20,000 and 70,000
images of Fashion-MNIST and on Gaussian blobs of 20 to 100 features; other CPUs are slower or faster
at all searches alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from leastcut.kernels.inverted_lists import hash_rows
from leastcut.results import NeighborSearch

NEIGHBORS = ("auto", "exact", "approximate")  # "auto" is exact unless that takes long
DEVICES = ("auto", "cpu", "cuda")  # "auto" is where the samples are, or a GPU if the CPU takes long

FEWEST_FEATURES = 4  # with no more a k-d tree is taken, however many samples there are
TREE_FEATURES = 8  # with no more a k-d tree is faster than products of all pairs
PROBED_FEATURES = 32  # with no more a tree may be faster: samples often lie near a surface

PAIR_SECONDS = 1.0e-9, 1.85e-11  # of products of all pairs: per pair, and per feature of a pair
APPROXIMATE_SECONDS = 2.0e-5, 4.5e-8, 4.0e-7  # per sample, and per feature and neighbor of a sample
EXACT_SECONDS = 4.0  # an exact search of at most this is taken, however fast the other is
HASHED_ROWS = 2**16  # samples that are hashed at once

Map = Callable[..., Iterable[Any]]  # ``map``, or that of threads


class SearchOptions(NamedTuple):
    """How neighbors are to be found: the checked parameters of graph functions."""

    neighbors: str = "auto"
    device: str = "auto"
    seed: int = 0
    n_jobs: int | None = None
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    callback: Callable[[NeighborSearch], object] | None = None


class Search(Protocol):
    """A way to find neighbors; ``method`` and ``recall`` are those of ``NeighborSearch``."""

    method: str
    recall: float

    def nearest_others(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """Return ``indptr``, ``indices`` and ``squared`` of :class:`Neighborhoods`."""

    def nearest(self, queries: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples nearest to every query, and their squared distances."""


def exact_seconds(n: int, n_features: int, n_threads: int) -> float:
    """Return the estimated time of comparing all pairs of samples."""
    return n * n * (PAIR_SECONDS[0] + PAIR_SECONDS[1] * n_features) / n_threads


def worthwhile_seconds(n: int, n_features: int, count: int, n_threads: int) -> float:
    """Return how long an exact search may take to be preferred to the approximate one.

    The estimate of the latter is right within a factor of two where samples have some structure.
    Without any, it may take several times as long, but not longer than comparing all pairs.
    """
    sample, feature, neighbor = APPROXIMATE_SECONDS
    seconds = n * (sample + feature * n_features + neighbor * count) / n_threads
    return max(EXACT_SECONDS, seconds)


def groups_of_copies(points: np.ndarray, more_than: int, each: Map) -> Iterator[np.ndarray]:
    """Yield the indices, ascending, of every group of more than so many equal samples.

    Different samples of one hash are too rare to be worth more than leaving them out.
    """
    n = points.shape[0]
    words = points.view(np.uint32 if points.dtype == np.float32 else np.uint64)
    sign = words.dtype.type(1 << (8 * words.dtype.itemsize - 1))
    hashes = np.empty(n, dtype=np.uint64)

    def hash_part(start: int) -> None:
        part = slice(start, start + HASHED_ROWS)
        hash_rows(words[part], sign, hashes[part])

    list(each(hash_part, range(0, n, HASHED_ROWS)))
    # Equal hashes side by side, and stable: a group is in the order of its indices.
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    firsts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
    sizes = np.diff(np.r_[firsts, n])
    for first, size in zip(firsts[sizes > more_than], sizes[sizes > more_than], strict=True):
        group = order[first : first + size]
        parts = (group[start : start + HASHED_ROWS] for start in range(0, size, HASHED_ROWS))
        if all((points[part] == points[group[0]]).all() for part in parts):
            yield group
