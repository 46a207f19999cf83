"""Options, limits and time estimates shared by all neighbor searches.

Times are CPU seconds on one core of an AMD EPYC (Zen 4) with AVX-512, measured on 20,000 and 70,000
images of Fashion-MNIST and on Gaussian blobs of 20 to 100 features. On other CPUs, the times of all
searches change by similar factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from leastcut.kernels.inverted_lists import hash_rows
from leastcut.results import NeighborSearch

NEIGHBORS = ("auto", "exact", "approximate")  # "auto" is exact unless that takes long
DEVICES = ("auto", "cpu", "cuda")  # "auto" is the device of X, or a GPU if the CPU would take long

FEWEST_FEATURES = 4  # up to this number, a k-d tree is used for any number of samples
TREE_FEATURES = 8  # up to this number, a k-d tree is faster than products of all pairs
PROBED_FEATURES = 32  # up to this number, a tree may be faster, for samples near a surface

PAIR_SECONDS = 1.0e-9, 1.85e-11  # of products of all pairs: per pair, and per feature of a pair
APPROXIMATE_SECONDS = 2.0e-5, 4.5e-8, 4.0e-7  # per sample, and per feature and neighbor of a sample
EXACT_SECONDS = 4.0  # "auto" always selects an exact search with at most this estimated time
HASHED_ROWS = 2**16  # samples hashed at once

Map = Callable[..., Iterable[Any]]  # ``map``, or a parallel map


class SearchOptions(NamedTuple):
    """Options of a neighbor search: the checked parameters of graph functions."""

    neighbors: str = "auto"
    device: str = "auto"
    seed: int = 0
    n_jobs: int | None = None
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    callback: Callable[[NeighborSearch], object] | None = None


class Search(Protocol):
    """A neighbor search; ``method`` and ``recall`` are those of ``NeighborSearch``."""

    method: str
    recall: float

    def neighborhoods(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """Return ``indptr``, ``indices`` and ``squared`` of :class:`Neighborhoods`."""

    def nearest(self, queries: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples nearest to every query, and their squared distances."""


def exact_seconds(n: int, n_features: int, n_threads: int) -> float:
    """Return the estimated time of a search by products of all pairs."""
    return n * n * (PAIR_SECONDS[0] + PAIR_SECONDS[1] * n_features) / n_threads


def max_exact_seconds(n: int, n_features: int, count: int, n_threads: int) -> float:
    """Return the time up to which an exact search is preferred to the approximate one.

    The estimate for the latter is accurate within a factor of two if the samples have some
    structure. Otherwise it may take several times as long, but no longer than all pairs.
    """
    sample, feature, neighbor = APPROXIMATE_SECONDS
    seconds = n * (sample + feature * n_features + neighbor * count) / n_threads
    return max(EXACT_SECONDS, seconds)


def groups_of_copies(points: np.ndarray, more_than: int, pmap: Map) -> Iterator[np.ndarray]:
    """Yield the sorted indices of every group of more than ``more_than`` equal samples.

    Groups with a hash collision, which are very rare, are skipped.
    """
    n = points.shape[0]
    words = points.view(np.uint32 if points.dtype == np.float32 else np.uint64)
    sign = words.dtype.type(1 << (8 * words.dtype.itemsize - 1))
    hashes = np.empty(n, dtype=np.uint64)

    def hash_part(start: int) -> None:
        part = slice(start, start + HASHED_ROWS)
        hash_rows(words[part], sign, hashes[part])

    list(pmap(hash_part, range(0, n, HASHED_ROWS)))
    # A stable sort keeps the indices of a group in order.
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    firsts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
    sizes = np.diff(np.r_[firsts, n])
    for first, size in zip(firsts[sizes > more_than], sizes[sizes > more_than], strict=True):
        group = order[first : first + size]
        parts = (group[start : start + HASHED_ROWS] for start in range(0, size, HASHED_ROWS))
        if all((points[part] == points[group[0]]).all() for part in parts):
            yield group
