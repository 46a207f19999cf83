"""Nearest-neighbor search: selects and runs an exact, an approximate or a GPU search.

Samples are scaled so that squares neither overflow nor underflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.neighbors.approximate_coordinates import PrecisionLossError, sampled_recall
from leastcut.affinity.neighbors.approximate_search import approximate_neighbors
from leastcut.affinity.neighbors.common import (
    DEVICES,
    FEWEST_FEATURES,
    NEIGHBORS,
    PAIR_SECONDS,
    PROBED_FEATURES,
    TREE_FEATURES,
    Search,
    SearchOptions,
    exact_seconds,
    max_exact_seconds,
)
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

SOON = 10**10  # coordinate products that take a fraction of a second
PROBED_PRODUCTS = 10**9  # up to this number, estimating the time of a tree is not worthwhile
START_SECONDS = 0.1  # fixed cost of a search by products
TREE_SAMPLES = 2**20  # above, GPU samples with few features use a tree on the host, not n² pairs
ENTRY_BYTES = 48  # per neighbor, for the lists and the graph: four times an index and a weight
MOST_COPIED = 128  # features; exact searches with more features make no copy
LONGEST = 240  # maximum length of lists that grow for an offset, before the search becomes exact
CACHED = 2**17  # coordinates processed together, so that they stay in the cache

# Scaled coordinates are at most 2⁴²⁰: the squares of coordinates 10²⁸⁰ times smaller do not
# underflow, and squared distances to FAR do not overflow.
LARGEST_EXPONENT = 420
# Distance at which all samples are equally far up to rounding.
FAR = 2.0**480


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """The neighbor list of every sample, sorted by distance, then by index.

    The list of sample i, which does not contain i, is ``indices[indptr[i]:indptr[i + 1]]``.
    ``squared`` distances and ``offset`` are in the units of the index.
    """

    indptr: np.ndarray  # int64
    indices: np.ndarray  # int32, or int64 for very many samples
    squared: np.ndarray
    search: NeighborSearch  # report of the search
    n_threads: int
    offset: float


class NeighborIndex:
    """An index of finite samples, in arrays or in a tensor on a GPU, for neighbor queries.

    ``options`` apply to the neighbors of the samples themselves; those of new samples are always
    exact. Results do not depend on the number of threads.

    The index contains ``points`` = X / 2^exponent and returns their squared distances. The exponent
    is 0 unless squares of X could overflow or underflow. The scaling is exact, so that X and 2X
    have the same lists and bitwise equal squared distances. Points are in C order (or CSR), in
    float64, or in float32 if X is.
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
        # For metrics other than the Euclidean: unit rows, or distances of pairs.
        self._angles: Angles | None = None
        self._pairs: PairSearch | None = None
        kind = kind_of(metric)
        warn = options is not None
        # Centering would make sparse rows dense, and many of them are orthogonal: too many ties.
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
        """The samples on the host, copied from the GPU on first access."""
        return on_host(self._tensor)

    @property
    def samples(self) -> Any:
        """The samples on their device."""
        return self.points if self._tensor is None else self._tensor

    @cached_property
    def exact(self) -> Search:
        """The exact search on the CPU, a tree or products."""
        if self._pairs is not None:
            return self._pairs
        n, n_features = self.points.shape
        most = PROBED_FEATURES if n * n * n_features > PROBED_PRODUCTS else TREE_FEATURES
        if not sp.issparse(self.points) and n_features <= max(TREE_FEATURES, most):
            tree = TreeSearch(self.points, self.n_threads)
            pair = PAIR_SECONDS[0] + PAIR_SECONDS[1] * n_features
            if n_features <= TREE_FEATURES or tree.is_faster(START_SECONDS / n + n * pair):
                return tree
        return ProductSearch(self.points, self.n_threads)

    def __getstate__(self) -> dict[str, Any]:
        # The search is created again from the samples when it is needed.
        kept = {"n_threads", "_options", "exponent", "_angles", "_pairs"}
        state = {name: value for name, value in self.__dict__.items() if name in kept}
        return {**state, "points": self.points, "_tensor": None}

    def scaled(self, squared: float) -> float:
        """Return a squared distance in the units of the index, at most 2¹⁰⁰⁰.

        Compared with this maximum, all samples are at distance 0.
        """
        # The exponent is clipped, as ldexp may overflow if the exponent of the index is negative.
        mantissa, exponent = np.frexp(squared)
        return float(np.ldexp(mantissa, min(int(exponent) - 2 * self.exponent, 1000)))

    def neighborhoods(self, count: int, offset: float = 0.0) -> Neighborhoods:
        """Return the lists of the ``count`` nearest neighbors of every sample.

        With a positive offset, in the units of the index, a list also contains all samples strictly
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
        indptr, indices, squared = search.neighborhoods(count, offset)
        if self._angles is not None:
            self._angles.correct_lists(indptr, indices, squared)
        report = NeighborSearch(search.method, search.recall, perf_counter() - begin)
        return Neighborhoods(indptr, indices, squared, report, self.n_threads, offset)

    def nearest(self, new: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` samples nearest to new samples, and their squared distances.

        Both have shape (n_new, count), sorted by distance, then by index. A new sample equal to a
        sample of the index has distance 0 to it.
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
        # In the units of the index; distant coordinates are clipped to FAR.
        queries = _as_points(new)
        queries = _scaled(queries.astype(np.float64, copy=False), self.exponent)
        if sp.issparse(queries) and not sp.issparse(self.points):
            queries = queries.toarray()
        return self.exact.nearest(queries, count)

    def _check_memory(self, count: int) -> None:
        """Raise MemoryError if the lists and the graph need more memory than is available."""
        n, n_features = self.samples.shape
        # Lists, their transpose and the union of both, and a reordered copy of the samples.
        needed = n * (ENTRY_BYTES * count + 8 * min(n_features, MOST_COPIED))
        if needed > LITTLE_MEMORY:
            check_memory(
                needed,
                f"A graph of {n} samples with {count} neighbors each",
                "Pass a smaller n_neighbors, or cluster a sample of the data and predict the rest.",
            )

    def _search(self, count: int) -> Search:
        """Select the search for the neighbors of the samples themselves.

        It is exact if the estimated time is short, else the search with the shortest time.
        """
        if self._pairs is not None:
            return self._pairs
        samples = self.samples
        n, n_features = samples.shape
        neighbors, device = self._options[:2]
        approximate = neighbors == "approximate"
        few = n_features <= FEWEST_FEATURES
        # 1. Cases without estimates of time, and errors.
        if sp.issparse(samples):
            if approximate or device == "cuda":
                raise ValueError(
                    f"neighbors={neighbors!r} with device={device!r} needs dense samples, but X is "
                    "sparse; pass X.toarray(), or omit both parameters."
                )
            return self.exact
        if approximate and device == "cuda":
            raise ValueError(
                "neighbors='approximate' runs on the CPU, but device='cuda' searches exactly; omit "
                "one of them."
            )
        if not approximate and device != "cuda":
            on_host_soon = self._tensor is None and (few or n * n * n_features <= SOON)
            if on_host_soon or (few and device == "auto" and n > TREE_SAMPLES):
                return self.exact
        # 2. The fastest of the GPU, the approximate and the exact search.
        seconds = exact_seconds(n, n_features, self.n_threads)
        if not approximate and use_gpu(device, samples, seconds):
            return _GpuLists(self)
        listed = _ApproximateLists(self)
        if approximate:
            return listed
        if neighbors == "exact":
            return self.exact
        allowed = max_exact_seconds(n, n_features, count, self.n_threads)
        if n_features <= PROBED_FEATURES and isinstance(self.exact, TreeSearch):
            # The time of a tree depends on the samples, and is measured.
            return self.exact if self.exact.is_faster(allowed * self.n_threads / n) else listed
        return self.exact if seconds <= allowed else listed


class _FixedLists(ABC):
    """A search that returns lists of equal length; neighbors of new samples are exact."""

    method: str

    def __init__(self, index: NeighborIndex) -> None:
        self.recall = 1.0
        self._index = index
        self._seed = index._options.seed

    @abstractmethod
    def _lists(self, width: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Set ``recall`` and return indices and squared distances, or None to search exactly."""

    def neighborhoods(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        width = count
        while True:
            lists = self._lists(width)
            if lists is None:
                return self._listed_exactly(count, offset)
            indices, squared = lists
            n = indices.shape[0]
            needed = squared[:, count - 1] + offset
            # With an offset, lists grow until each ends beyond the distance it has to cover.
            if offset == 0 or width == n - 1 or not (squared[:, -1] < needed).any():
                break
            if width == LONGEST:
                return self._listed_exactly(count, offset)
            width = min(2 * width, LONGEST, n - 1)
        if offset == 0:
            return np.arange(n + 1, dtype=np.int64) * count, indices.ravel(), squared.ravel()
        # Keep strictly nearer samples, and always the first ``count``.
        kept = squared < needed[:, None]
        kept[:, :count] = True
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return indptr, indices[kept], squared[kept]

    def _listed_exactly(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        self.method, self.recall = self._index.exact.method, 1.0
        return self._index.exact.neighborhoods(count, offset)

    def nearest(self, queries: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        return self._index.exact.nearest(queries, count)


class _ApproximateLists(_FixedLists):
    """Lists of the approximate search, with their recall on sampled rows."""

    method = "approximate"

    def _lists(self, width: int) -> tuple[np.ndarray, np.ndarray] | None:
        points, n_threads = self._index.points, self._index.n_threads
        try:
            indices, squared = approximate_neighbors(points, width, n_threads, self._seed)
        except PrecisionLossError:
            return None
        self.recall = sampled_recall(points, indices, n_threads, self._seed)
        return indices, squared


class _GpuLists(_FixedLists):
    """Lists of the exact search on a GPU."""

    method = "gpu"

    def _lists(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        from leastcut.affinity.neighbors.gpu_search import memory_needed, nearest_on_gpu

        samples = self._index.samples
        n, n_features = samples.shape
        check_gpu_memory(memory_needed(n, n_features, width, samples.dtype.itemsize))
        neighbors = nearest_on_gpu(as_tensor(samples), width, self._seed)
        self.recall = neighbors.recall
        return neighbors.indices, neighbors.squared


def _as_points(X: Any) -> Any:
    """Return samples as float32 or float64 in C order, or float64 CSR, copied if necessary."""
    if sp.issparse(X):
        return canonical_csr(X).astype(np.float64, copy=False)
    single = getattr(X, "dtype", None) == np.float32
    return np.ascontiguousarray(X, dtype=np.float32 if single else np.float64)


def _exponent(values: np.ndarray) -> int:
    """Return the exponent of the scale with which squares neither overflow nor underflow."""
    if values.dtype == np.float32:
        return 0  # 2⁻¹⁴⁹ to 2¹²⁸ is safe in double precision
    # The largest absolute value, without the copy that np.abs would make.
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    safe = 2.0**-SAFE_EXPONENT
    flat = values.reshape(-1)
    # Zeros are safe, but the squares of differences of other small coordinates may underflow.
    # Block by block, as np.abs copies.
    small = any(
        np.count_nonzero(np.abs(block) < safe) > block.size - np.count_nonzero(block)
        for block in (flat[start : start + CACHED] for start in range(0, flat.size, CACHED))
    )
    if not small and largest <= 1 / safe:
        return 0
    return int(np.frexp(largest)[1]) - LARGEST_EXPONENT


def _scaled(points: Any, exponent: int) -> Any:
    """Return points / 2^exponent, clipped to ±FAR."""
    if sp.issparse(points):
        data = _scaled(points.data, exponent)
        return sp.csr_array((data, points.indices, points.indptr), shape=points.shape)
    # Overflow gives infinity, which is clipped to FAR.
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(points, -exponent), -FAR, FAR)


def find_neighborhoods(
    points: Any, count: int, options: SearchOptions, offset: float = 0.0
) -> Neighborhoods:
    """Return the neighbor lists of checked samples, and call the callback.

    The offset is a squared distance in the units of the samples. The index with its copies of the
    samples is freed, as graphs need the memory.
    """
    index = NeighborIndex(points, options.n_jobs, options, options.metric, options.metric_params)
    near = index.neighborhoods(count, index.scaled(offset))
    if options.callback is not None:
        options.callback(near.search)
    return near


def checked_samples(X: Any) -> Any:
    """Return finite samples as arrays, or as a tensor if they are on a GPU."""
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
    """Return the search options of a graph function; raise if a parameter is invalid."""
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
    """Raise if an approximate or a GPU search is requested for a metric without one."""
    if options.neighbors == "approximate" or options.device == "cuda":
        is_approximate = options.neighbors == "approximate"
        refused = "neighbors='approximate'" if is_approximate else "device='cuda'"
        raise ValueError(
            f"{refused} supports only dense samples with the metrics 'euclidean', 'cosine' and "
            f"'correlation'; metric={metric!r}{' of sparse samples' if is_sparse else ''} is "
            "searched exactly on the CPU. Leave neighbors and device at 'auto'."
        )
