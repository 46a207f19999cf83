"""Nearest-neighbor search: selects and runs an exact, an approximate or a GPU search.

Samples are scaled here so that squares neither overflow nor vanish.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.neighbors.approximate_coordinates import PrecisionLost, sampled_recall
from leastcut.affinity.neighbors.approximate_search import approximate_neighbors
from leastcut.affinity.neighbors.devices import (
    SAFE_EXPONENT,
    as_tensor,
    check_gpu_memory,
    check_gpu_samples,
    has_safe_squares,
    on_host,
    use_gpu,
)
from leastcut.affinity.neighbors.metrics import Angles, check_metric, kind_of
from leastcut.affinity.neighbors.pairs import PairSearch
from leastcut.affinity.neighbors.products import ProductSearch
from leastcut.affinity.neighbors.searching import (
    DEVICES,
    FEWEST_FEATURES,
    NEIGHBORS,
    PAIR_SECONDS,
    PROBED_FEATURES,
    TREE_FEATURES,
    Search,
    SearchOptions,
    exact_seconds,
    worthwhile_seconds,
)
from leastcut.affinity.neighbors.tree import TreeSearch
from leastcut.memory import LITTLE_MEMORY, check_memory
from leastcut.results import NeighborSearch
from leastcut.seeds import RandomState, as_generator
from leastcut.threads import count_threads
from leastcut.validation import (
    canonical_csr,
    check_callback,
    check_choice,
    check_samples,
    index_type,
    is_on_gpu,
)

SOON = 10**10  # products of coordinates of all pairs that take a fraction of a second
PROBED_PRODUCTS = 10**9  # up to so many it is not worth estimating the time of a tree
START_SECONDS = 0.1  # what products cost, however few there are
TREE_SAMPLES = 2**20  # above, few features on a GPU are searched on the host: a tree is not n²
ENTRY_BYTES = 48  # per neighbor, from lists to the graph: four times an index and a weight
MOST_COPIED = 128  # features of copies that searches make: exact ones of many features make none
LONGEST = 240  # lists grow up to this for an offset; beyond it, the exact search takes over
CACHED = 2**17  # coordinates that are looked at together: they stay in the cache

# What is scaled is at most 2⁴²⁰: near enough to overflow that coordinates 10²⁸⁰ times as small
# still have squares, and as far from it as FAR needs.
LARGEST_EXPONENT = 420
# From here all samples are equally far to the last bit, and squared distances do not overflow.
FAR = 2.0**480


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """For every sample the list of its nearest others, nearest first, ties by index.

    The list of sample i, which does not contain i, is ``indices[indptr[i]:indptr[i + 1]]``.
    ``squared`` distances and the ``offset`` that lists go on by are in the units of the index.
    """

    indptr: np.ndarray  # int64
    indices: np.ndarray  # int32 where there are not too many samples
    squared: np.ndarray
    search: NeighborSearch  # how they were found
    n_threads: int
    offset: float


class NeighborIndex:
    """Finite samples whose nearest neighbors can be asked for, as arrays or a tensor on a GPU.

    ``options`` are how the samples' own neighbors are to be found; new ones always are exactly.
    Nothing depends on the number of threads.

    The index computes with ``points`` = X / 2^exponent, and returns their squared distances. The
    exponent is 0 unless squares of X could overflow or vanish. A power of two rounds nothing, so
    that X and 2X have the same lists, and their squared distances the same bits. Points are in C
    order (or CSR), in float64 or, if X is, in float32.
    """

    def __init__(
        self,
        X: Any,
        n_jobs: int | None = None,
        options: SearchOptions | None = None,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_threads = count_threads(n_jobs)
        self.exponent = 0
        self._options = options or SearchOptions()
        self._tensor = None
        # Unit rows, or pairs one by one, where samples are not compared as they are.
        self._angles: Angles | None = None
        self._pairs: PairSearch | None = None
        kind = kind_of(metric)
        warn = options is not None
        # Centering would fill sparse rows in, and many of them are at right angles: ties without
        # number.
        if kind.search == "pairs" or (kind.search == "angle" and sp.issparse(X)):
            _check_pairs(self._options, metric, is_sparse=kind.search == "angle")
            X = on_host(X)
            self._pairs = PairSearch(X, metric, metric_params or {}, self.n_threads, warn=warn)
            self.points = self._pairs.points
            return
        if kind.search == "angle":
            self._angles = Angles.of(X, metric, warn=warn)
            X = self._angles.points
        if is_on_gpu(X):
            if has_safe_squares(X):
                self._tensor = X
                return
            X = on_host(X)
        points = _as_points(X)
        self.exponent = _exponent(points.data if sp.issparse(points) else points)
        self.points = _scaled(points, self.exponent) if self.exponent else points

    @cached_property
    def points(self) -> Any:
        """The samples on the host; see the class. Those on a GPU are copied only if asked for."""
        return on_host(self._tensor)

    @property
    def samples(self) -> Any:
        """The samples where they lie: on the GPU or on the host."""
        return self.points if self._tensor is None else self._tensor

    @cached_property
    def exact(self) -> Search:
        """The exact search on the CPU that suits the samples."""
        if self._pairs is not None:
            return self._pairs
        n, n_features = self.points.shape
        most = PROBED_FEATURES if n * n * n_features > PROBED_PRODUCTS else TREE_FEATURES
        if not sp.issparse(self.points) and n_features <= max(TREE_FEATURES, most):
            tree = TreeSearch(self.points, self.n_threads)
            pair = PAIR_SECONDS[0] + PAIR_SECONDS[1] * n_features
            if n_features <= TREE_FEATURES or tree.pays(START_SECONDS / n + n * pair):
                return tree
        return ProductSearch(self.points, self.n_threads)

    def __getstate__(self) -> dict[str, Any]:
        # The samples are enough: the search is made again when it is asked for.
        kept = {"n_threads", "_options", "exponent", "_angles", "_pairs"}
        state = {name: value for name, value in self.__dict__.items() if name in kept}
        return {**state, "points": self.points, "_tensor": None}

    def scaled(self, squared: float) -> float:
        """Return a squared distance in the units of the index.

        It is at most 2¹⁰⁰⁰, compared with which all samples are equal as well.
        """
        # Capped by its exponent, as ldexp overflows where that of the index is negative.
        mantissa, exponent = np.frexp(squared)
        return float(np.ldexp(mantissa, min(int(exponent) - 2 * self.exponent, 1000)))

    def nearest_others(self, count: int, offset: float = 0.0) -> Neighborhoods:
        """List the ``count`` nearest others of every sample.

        With a positive offset, in the units of the index, a list goes on to every sample strictly
        nearer than the squared distance of its ``count``-th entry plus the offset.
        """
        if count == 0:
            n = self.points.shape[0]
            lists = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=index_type(n)), np.empty(0)
            report = NeighborSearch("tree", 1.0, 0.0)
            return Neighborhoods(*lists, report, self.n_threads, offset)
        begin = perf_counter()
        self._check_memory(count)
        search = self._search(count)
        indptr, indices, squared = search.nearest_others(count, offset)
        if self._angles is not None:
            self._angles.correct_lists(indptr, indices, squared)
        report = NeighborSearch(search.method, search.recall, perf_counter() - begin)
        return Neighborhoods(indptr, indices, squared, report, self.n_threads, offset)

    def nearest(self, new: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` samples nearest to new ones, and their squared distances.

        Both have shape (n_new, count), nearest first, ties by index. A new sample that is equal to
        a sample of the index finds it, at distance 0.
        """
        n = self.points.shape[0]
        if new.shape[0] == 0:
            return np.empty((0, count), dtype=index_type(n)), np.empty((0, count))
        if self._pairs is not None:
            return self._pairs.nearest(new, count)
        if self._angles is not None:
            rows = self._angles.of_new(new)
            indices, squared = self._nearest(rows.points, count)
            self._angles.correct_new(rows, indices, squared)
            return indices, squared
        return self._nearest(new, count)

    def _nearest(self, new: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        # In the units of the index; what lies far beyond its samples is brought to FAR.
        queries = _as_points(new)
        queries = _scaled(queries.astype(np.float64, copy=False), self.exponent)
        if sp.issparse(queries) and not sp.issparse(self.points):
            queries = queries.toarray()
        return self.exact.nearest(queries, count)

    def _check_memory(self, count: int) -> None:
        """Raise MemoryError if lists of so many and their graph need more than there is."""
        n, n_features = self.samples.shape
        # Lists, their transpose and the union of both; and the samples once more, in another order.
        needed = n * (ENTRY_BYTES * count + 8 * min(n_features, MOST_COPIED))
        if needed > LITTLE_MEMORY:
            check_memory(
                needed,
                f"A graph of {n} samples with {count} neighbors each",
                "Pass fewer n_neighbors, or cut a sample of the data and predict the rest.",
            )

    def _search(self, count: int) -> Search:
        """Return the search of the samples' own neighbors: the one place where it is selected.

        It is an exact search if that is estimated to end soon, else the one that takes less.
        """
        if self._pairs is not None:
            return self._pairs
        samples = self.samples
        n, n_features = samples.shape
        neighbors, device = self._options[:2]
        approximate = neighbors == "approximate"
        few = n_features <= FEWEST_FEATURES
        # 1. What is exact without any estimate, and what cannot be.
        if sp.issparse(samples):
            if approximate or device == "cuda":
                raise ValueError(
                    f"neighbors={neighbors!r} with device={device!r} needs dense "
                    "samples, but X is sparse; pass X.toarray(), or leave both out."
                )
            return self.exact
        if approximate and device == "cuda":
            raise ValueError(
                "neighbors='approximate' runs on the CPU, and device='cuda' is exact; leave one of "
                "them out."
            )
        if not approximate and device != "cuda":
            on_host_soon = self._tensor is None and (few or n * n * n_features <= SOON)
            if on_host_soon or (few and device == "auto" and n > TREE_SAMPLES):
                return self.exact
        # 2. On a GPU where that is faster, or the approximate search.
        seconds = exact_seconds(n, n_features, self.n_threads)
        if not approximate and use_gpu(device, samples, seconds):
            return _GpuLists(self)
        listed = _ApproximateLists(self)
        if approximate:
            return listed
        if neighbors == "exact":
            return self.exact
        allowed = worthwhile_seconds(n, n_features, count, self.n_threads)
        if n_features <= PROBED_FEATURES and isinstance(self.exact, TreeSearch):
            # What a tree takes depends on how the samples lie, and it measures that.
            return self.exact if self.exact.pays(allowed * self.n_threads / n) else listed
        return self.exact if seconds <= allowed else listed


class _FixedLists(ABC):
    """A search by lists of one length; new samples are searched exactly."""

    method: str

    def __init__(self, index: NeighborIndex) -> None:
        self.recall = 1.0
        self._index = index
        self._seed = index._options.seed

    @abstractmethod
    def _lists(self, width: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Set ``recall``; return indices and squared distances, or None to search exactly."""

    def nearest_others(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        width = count
        while True:
            found = self._lists(width)
            if found is None:
                return self._listed_exactly(count, offset)
            indices, squared = found
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
        return self._index.exact.nearest(queries, count)


class _ApproximateLists(_FixedLists):
    """The lists of the approximate search, with their recall on sampled rows."""

    method = "approximate"

    def _lists(self, width: int) -> tuple[np.ndarray, np.ndarray] | None:
        points, n_threads = self._index.points, self._index.n_threads
        try:
            indices, squared = approximate_neighbors(points, width, n_threads, self._seed)
        except PrecisionLost:
            return None
        self.recall = sampled_recall(points, indices, n_threads, self._seed)
        return indices, squared


class _GpuLists(_FixedLists):
    """The lists of the exact search on a GPU."""

    method = "gpu"

    def _lists(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        from leastcut.affinity.neighbors.gpu_search import memory_needed, nearest_on_gpu

        samples = self._index.samples
        n, n_features = samples.shape
        check_gpu_memory(memory_needed(n, n_features, width, samples.dtype.itemsize))
        found = nearest_on_gpu(as_tensor(samples), width, self._seed)
        self.recall = found.recall
        return found.indices, found.squared


def _as_points(X: Any) -> Any:
    """Return samples as float32 or float64 in C order (or float64 CSR), copied if they are not."""
    if sp.issparse(X):
        return canonical_csr(X).astype(np.float64, copy=False)
    single = getattr(X, "dtype", None) == np.float32
    return np.ascontiguousarray(X, dtype=np.float32 if single else np.float64)


def _exponent(values: np.ndarray) -> int:
    """Return the power of two to divide by so that squares neither overflow nor vanish."""
    if values.dtype == np.float32:
        return 0  # from 2⁻¹⁴⁹ to 2¹²⁸, which is safe
    # The largest size of a coordinate, without the copy that np.abs would make.
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    safe = 2.0**-SAFE_EXPONENT
    flat = values.reshape(-1)
    # Zeros are safe, other small coordinates are not: their differences may have no squares.
    # Block by block, for the same reason: no copy of all samples.
    small = any(
        np.count_nonzero(np.abs(block) < safe) > block.size - np.count_nonzero(block)
        for block in (flat[start : start + CACHED] for start in range(0, flat.size, CACHED))
    )
    if not small and largest <= 1 / safe:
        return 0
    return int(np.frexp(largest)[1]) - LARGEST_EXPONENT


def _scaled(points: Any, exponent: int) -> Any:
    """Return points / 2^exponent; coordinates beyond ``FAR`` then are at ``FAR``."""
    if sp.issparse(points):
        data = _scaled(points.data, exponent)
        return sp.csr_array((data, points.indices, points.indptr), shape=points.shape)
    # Infinity is what overflows here, and the clip brings it to FAR.
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(points, -exponent), -FAR, FAR)


def find_neighborhoods(
    points: Any, count: int, options: SearchOptions, offset: float = 0.0
) -> Neighborhoods:
    """List the nearest others of checked samples, and report how they were found.

    The offset is a squared distance of the samples. The index, with its copies of the samples, is
    gone when this returns: graphs need the memory.
    """
    index = NeighborIndex(points, options.n_jobs, options, options.metric, options.metric_params)
    near = index.nearest_others(count, index.scaled(offset))
    if options.callback is not None:
        options.callback(near.search)
    return near


def checked_samples(X: Any) -> Any:
    """Return finite samples, as arrays or, where they lie on a GPU, as a tensor there."""
    return check_gpu_samples(X) if is_on_gpu(X) else check_samples(X)


def check_search(
    metric: Any,
    metric_params: Any,
    neighbors: str,
    device: str,
    random_state: RandomState,
    n_jobs: int | None,
    callback: Any,
) -> SearchOptions:
    """Return the search parameters of a graph function, or raise where one is not possible."""
    check_callback(callback)
    check_metric(metric, metric_params)
    return SearchOptions(
        check_choice("neighbors", neighbors, NEIGHBORS),
        check_choice("device", device, DEVICES),
        int(as_generator(random_state).integers(2**31)),
        n_jobs,
        metric,
        metric_params,
        callback,
    )


def _check_pairs(options: SearchOptions, metric: Any, *, is_sparse: bool) -> None:
    """Raise if distances of pairs, which are exact and on the CPU, are to be searched otherwise."""
    if options.neighbors == "approximate" or options.device == "cuda":
        is_approximate = options.neighbors == "approximate"
        refused = "neighbors='approximate'" if is_approximate else "device='cuda'"
        raise ValueError(
            f"{refused} knows dense samples under 'euclidean', 'cosine' and 'correlation', and "
            f"metric={metric!r}{' of sparse samples' if is_sparse else ''} is searched exactly, on "
            "the CPU; leave neighbors and device at 'auto'."
        )
