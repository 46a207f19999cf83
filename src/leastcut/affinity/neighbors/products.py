"""Exact neighbors of samples with many features, or sparse ones, by matrix products.

1. Products of all pairs give candidates and a reach: all other samples are beyond the reach.
2. The squared distances of the candidates are recomputed from coordinate differences, so that equal
   samples are at distance exactly 0 (|x|² − 2xᵀy + |y|² suffers from cancellation), and sorted,
   with ties broken by index.
3. If a list exceeds its reach, the row is searched again, for all samples within the distance that
   it needs.

Lists therefore do not depend on the number of threads. No array is larger than the samples, the
lists or a block of 32 MiB. With h = |x|²/2, half of the squared distance is a single product,

    |x − y|² / 2 = (−x, h(x), 1)ᵀ (y, 1, h(y)),

so that a matrix product of two blocks of samples gives the distances for its rows and, by symmetry,
for its columns. Every sample keeps its nearest candidates so far; the farthest of them is the
threshold for further candidates and only decreases. The diagonal blocks give the first thresholds.

The error in single precision is at most c (|x| + |y|)² with c of the order of n_features · 2⁻²⁴, so
that the reach is slightly less than the threshold. If this leaves too many rows uncertain, and for
few, sparse or new samples, scikit-learn's brute force in double precision is used instead. For
20,000 samples with 50 features, the entire adaptive graph takes 0.46 times as long as
``sklearn.neighbors.kneighbors_graph`` alone (``benchmarks/affinity.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from leastcut.affinity.neighbors.common import Map, groups_of_copies
from leastcut.threads import Threads, available_cores, single_threaded
from leastcut.validation import index_type

BLOCK = 2**22  # numbers that each thread holds at once while distances are computed
SPARE = 4  # candidates beyond those needed, so that few rows are searched again
FEW = 64  # rows up to which starting a thread is not worthwhile
SIDES = 512, 1024, 2048  # samples per block: usually, with many features, at most
MANY_FEATURES = 128  # from this number, larger blocks are faster
SIDE_FACTOR = 8  # minimum length of blocks / lists; shorter blocks pass too many candidates
WORTHWHILE = 3 * 10**8  # coordinate products from which symmetric blocks are faster
PENDING = 2  # lists of a block are cut when they hold this multiple of their length
UNCERTAIN = 1 / 4  # fraction of uncertain rows above which double precision is faster
SPARSE = 2**22  # coordinates of sparse samples whose differences are computed at once
CACHED = 2**17  # the same for dense samples, which stay in the cache

SINGLE = 2.0**-24  # maximum relative rounding error in single precision
DOUBLE = 2.0**-52  # twice the maximum relative rounding error in double precision
EXPONENT = 30  # coordinates are scaled to at most 2³⁰, whose squares do not overflow


class ProductSearch:
    """Brute-force search of finite samples (float32, float64 or CSR) with safe squares."""

    method, recall = "products", 1.0

    def __init__(self, points: Any, n_threads: int) -> None:
        self.points, self.n_threads = points, n_threads
        self._uses_all_cores = n_threads >= available_cores()
        self._without_copies: dict[int, AllPairs] = {}

    def neighborhoods(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """Return the lists of the samples themselves; see ``NeighborIndex``."""
        samples = np.arange(self.points.shape[0])
        return self._lists(_Queries(self.points, samples, count, offset))

    def nearest(self, queries: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` samples nearest to every query, and their squared distances."""
        # Convert to the format of the samples.
        if sp.issparse(self.points):
            queries = sp.csr_array(queries)
        _, indices, squared = self._lists(_Queries(queries, np.full(queries.shape[0], -1), count))
        return indices.reshape(-1, count), squared.reshape(-1, count)

    def _lists(self, queries: _Queries) -> tuple[np.ndarray, ...]:
        n, n_queries = self.points.shape[0], queries.rows.shape[0]
        # Limiting the libraries takes milliseconds, so only if products would use more threads.
        limits = nullcontext() if self._uses_all_cores else threadpool_limits(self.n_threads)
        with limits, Threads(self.n_threads) as threads:
            pmap: Map = threads if n_queries > FEW else map
            # 1. Candidates of every row, including the row itself if it is in the index.
            width = min(n, queries.length + 1 + SPARE)
            candidates, reach = self._search.nearest(queries.rows, queries.length + 1, width, pmap)
            if width == n:
                reach[:] = np.inf  # all samples are candidates

            # 2. Recompute the distances, sort, and cut the lists.
            def sort_candidates(rows: np.ndarray) -> _SortedLists:
                return _sorted_lists(self.points, queries, rows, candidates[rows], reach[rows])

            blocks = _blocks(n_queries, width * self.points.shape[1])
            parts = list(pmap(sort_candidates, blocks))

            # 3. Search incomplete rows again.
            short = np.concatenate([part.rows[~part.complete] for part in parts])
            if short.size:
                needed = np.concatenate([part.needed[~part.complete] for part in parts])
                # Without an offset, only the first few copies of a sample can be neighbors.
                search = self._search
                if queries.offset == 0:
                    search = self._among_first_copies(queries.length + 1)

                def sort_within(chosen: np.ndarray) -> _SortedLists:
                    rows = short[chosen]
                    lengths, within = search.within(queries.rows[rows], needed[chosen])
                    # Lists differ in length: pad them with the row's own sample or -1.
                    padded = np.repeat(queries.samples[rows, None], lengths.max(), axis=1)
                    padded[np.arange(padded.shape[1]) < lengths[:, None]] = within
                    # Everything needed is included, so every list is complete now.
                    reach = np.full(rows.size, np.inf)
                    return _sorted_lists(self.points, queries, rows, padded, reach)

                parts += pmap(sort_within, _blocks(short.size, search.searched.size))
        return _assembled(n_queries, n, parts)

    @cached_property
    def _search(self) -> AllPairs:
        return AllPairs(self.points, np.arange(self.points.shape[0]))

    def _among_first_copies(self, n_copies: int) -> AllPairs:
        """Return a search without samples that have ``n_copies`` earlier copies, and cache it.

        Otherwise n equal samples would find each other, n² pairs in all.
        """
        if n_copies not in self._without_copies:
            is_late = np.zeros(self.points.shape[0], dtype=bool)
            # Copies of sparse rows are kept, which is only slower.
            if not sp.issparse(self.points):
                for group in groups_of_copies(self.points, n_copies, map):
                    is_late[group[n_copies:]] = True
            searched = np.flatnonzero(~is_late)
            search = AllPairs(self.points, searched) if is_late.any() else self._search
            self._without_copies[n_copies] = search
        return self._without_copies[n_copies]


class AllPairs:
    """Comparison of queries with all of ``points[searched]``, centered unless sparse.

    Because of cancellation, the error of |x|² − 2xᵀy + |y|² is up to about
    n_features · epsilon · (|x| + |y|)², which every comparison allows for.
    """

    def __init__(self, points: Any, searched: np.ndarray) -> None:
        self.points, self.searched = points, searched
        # Centering reduces norms and so the errors of products, but would make sparse rows dense.
        self.mean = None if sp.issparse(points) else points.mean(axis=0, dtype=np.float64)
        centered = self._centered(points)
        self.others = centered if searched.size == points.shape[0] else centered[searched]
        self.norms = _squared_norms(self.others)

    def nearest(
        self, queries: Any, count: int, width: int, pmap: Map
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``width`` candidates of every row and the reach, within which none is missing.

        ``count`` of them are needed. The search must be among all samples.
        """
        n, n_features = self.others.shape
        # The identical array: then a block of distances serves its rows and columns.
        is_self = queries is self.points
        if is_self and not sp.issparse(queries) and suits(n, n_features, width):
            near = nearest_by_blocks(self.others, width, pmap)
            # Rows whose list exceeds the reach must be searched again.
            if np.mean(near.squared[:, count - 1] >= near.reach) < UNCERTAIN:
                return near.indices, near.reach
        centered = self.others if is_self else self._centered(queries)
        distances, indices = self._brute_force.kneighbors(centered, width)
        # Brute force also computes products, whose error reduces the reach.
        reach = distances.max(axis=1) ** 2 - self._error(_squared_norms(centered))
        return self.searched[indices], reach

    def within(self, queries: Any, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of samples within a squared distance of every row, and the samples.

        A few samples at slightly larger distances may be included.
        """
        # |x − y|² ≤ needed is −2xᵀy + |y|² ≤ needed − |x|²: one array of (rows, samples), changed
        # in place. The error bound is added, so that no sample is missed.
        centered = self._centered(queries)
        norms = _squared_norms(centered)
        products = centered @ self.others.T
        if sp.issparse(products):
            products = products.toarray()
        products *= -2.0
        products += self.norms
        bounds = needed + self._error(norms) - norms
        rows, indices = np.nonzero(products <= bounds[:, None])
        return np.bincount(rows, minlength=needed.size), self.searched[indices]

    @cached_property
    def _brute_force(self) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(algorithm="brute").fit(self.others)

    def _centered(self, points: Any) -> Any:
        return points if self.mean is None else points - self.mean

    def _error(self, norms: np.ndarray) -> np.ndarray:
        """Return a bound on the error of products with rows of these squared norms."""
        farthest = np.sqrt(norms) + np.sqrt(self.norms.max())
        return np.asarray(4 * (self.others.shape[1] + 8) * DOUBLE * farthest**2)


def _squared_norms(X: Any) -> np.ndarray:
    from sklearn.utils.extmath import row_norms

    return np.asarray(row_norms(X, squared=True))


class Candidates(NamedTuple):
    """The nearest samples in single precision, sorted; a sample pads its own list."""

    indices: np.ndarray
    squared: np.ndarray  # in single precision
    reach: np.ndarray  # all other samples are beyond this squared distance


def suits(n: int, n_features: int, width: int) -> bool:
    """Return whether there are enough products, and lists are short compared with a block."""
    return n * n * n_features >= WORTHWHILE and SIDE_FACTOR * width <= min(n, SIDES[2])


def nearest_by_blocks(points: np.ndarray, width: int, pmap: Map) -> Candidates:
    """Return ``width`` candidates of every centered sample, including itself.

    Norms should be of the order of the distances, which must not overflow, and ``width`` at most
    ``min(n, SIDES[2]) / SIDE_FACTOR``. The threads of ``pmap`` need one BLAS thread each.
    """
    n, n_features = points.shape
    # Scaling by a power of two is exact, and undone at the end.
    shift = EXPONENT - int(np.frexp(np.abs(points).max())[1])
    norms = np.ldexp(np.einsum("ij,ij->i", points, points), 2 * shift)
    # The right factor of the products; the left factor is created block by block.
    right = np.empty((n, n_features + 2), dtype=np.float32)
    # Rounded to single precision without a temporary array.
    np.ldexp(points, shift, out=right[:, :-2], casting="same_kind")
    right[:, -2] = 1
    right[:, -1] = norms / 2
    # Long blocks, so that the thresholds from the diagonal are tight.
    side = max(SIDES[n_features >= MANY_FEATURES], SIDE_FACTOR * width)
    n_blocks = min(-(-n // side), n // (SIDE_FACTOR * width))
    bounds = np.arange(n_blocks + 1) * n // n_blocks
    lists = [_BlockLists(*pair, width) for pair in pairwise(bounds)]

    # 1. The diagonal blocks, for the first lists and thresholds.
    def start(block: _BlockLists) -> None:
        block.begin(_left(right, block) @ right[block.start : block.stop].T)

    # 2. Every pair of blocks once, in one product. Thresholds are read without a lock: they are
    #    replaced as a unit, and an outdated one is only too large.
    def compare(number: int) -> None:
        block = lists[number]
        left = _left(right, block)
        for other in lists[number + 1 :]:
            halves = left @ right[other.start : other.stop].T
            block.add(halves, halves < block.threshold[:, None], other.start, 0)
            other.add(halves, halves < other.threshold, block.start, 1)

    # One BLAS thread for each product, as the threads of ``pmap`` share the products. The
    # first tasks are the longest.
    with single_threaded():
        list(pmap(start, lists))
        list(pmap(compare, range(n_blocks - 1)))
        # 3. Cut the lists.
        list(pmap(_BlockLists.cut, lists))

    indices = np.repeat(np.arange(n)[:, None], width, axis=1)
    squared = np.full((n, width), np.inf)
    for block in lists:
        block.write(indices[block.start : block.stop], squared[block.start : block.stop])
    threshold = 2.0 * np.concatenate([block.threshold for block in lists]).astype(np.float64)
    # A sample y within the threshold of x has |y| <= |x| + √threshold. The errors of products of
    # n_features + 2 terms, in any order, and of the rounding of x, y and h are less than half of
    # this; the last term is for coordinates that underflow.
    error = 2 * (n_features + 8) * SINGLE * (2 * np.sqrt(norms) + np.sqrt(threshold)) ** 2
    reach = threshold - error - (n_features + 8) * 2.0**-80
    return Candidates(indices, np.ldexp(squared, -2 * shift), np.ldexp(reach, -2 * shift))


def _left(right: np.ndarray, block: _BlockLists) -> np.ndarray:
    """Return the rows whose products with ``right`` are half of the squared distances."""
    left = -right[block.start : block.stop]
    left[:, -2] = right[block.start : block.stop, -1]
    left[:, -1] = 1
    return left


class _BlockLists:
    """The candidates so far of the samples ``start..stop-1``.

    Samples that were compared and are not listed are at or beyond the threshold. Several threads
    may add candidates at once; an outdated threshold only adds more than necessary.
    """

    def __init__(self, start: int, stop: int, width: int) -> None:
        self.start, self.stop, self.width = int(start), int(stop), width
        self.threshold = np.empty(0, dtype=np.float32)
        self._lock = Lock()
        self._most = PENDING * width * (self.stop - self.start)
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._size = 0

    def begin(self, halves: np.ndarray) -> None:
        """Start with the nearest samples in the block."""
        last = self.width - 1
        # Rounding can make distances of equal samples negative; here and in _cut they become 0.
        self.threshold = np.maximum(np.partition(halves, last, axis=1)[:, last], np.float32(0))
        # With ``<=`` there are at least ``width`` candidates, so that every list is full.
        self.add(halves, halves <= self.threshold[:, None], self.start, 0)
        self.cut()

    def add(self, halves: np.ndarray, near: np.ndarray, start: int, axis: int) -> None:
        """Add the marked pairs of a product; the samples of these lists run along ``axis``."""
        flat = np.flatnonzero(near)
        position = np.divmod(flat, halves.shape[1])  # row and column
        part = (position[axis], position[1 - axis] + start, halves.ravel()[flat])
        with self._lock:
            self._parts.append(part)
            self._size += flat.size
            if self._size > self._most:
                self._cut()

    def cut(self) -> None:
        """Keep the nearest candidates, sorted, and lower the threshold to the farthest."""
        with self._lock:
            self._cut()

    def _cut(self) -> None:
        rows, others, halves = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        # Non-negative floats are ordered like their bits, so that a single sort is enough: the row
        # is the upper half of the key, the distance the lower half. Ties may be kept in any order,
        # as the reach is below the threshold.
        halves = np.maximum(halves, np.float32(0))
        order = np.argsort((rows << 32) | halves.view(np.int32))
        # The first ``width`` of every row.
        counts = np.bincount(rows, minlength=self.stop - self.start)
        first = np.cumsum(counts) - counts
        order = order[np.arange(rows.size) - np.repeat(first, counts) < self.width]
        self._parts = [(rows[order], others[order], halves[order])]
        self._size = order.size
        rows, _, halves = self._parts[0]
        # A new array, as other threads may be reading the old one.
        threshold = self.threshold.copy()
        ends = np.cumsum(np.minimum(counts, self.width))
        full = counts >= self.width
        # The last entry of a full list is the farthest.
        threshold[full] = np.minimum(threshold[full], halves[ends[full] - 1])
        self.threshold = threshold

    def write(self, indices: np.ndarray, squared: np.ndarray) -> None:
        """Copy the lists, after a cut, into rows of ``width`` entries."""
        ((rows, others, halves),) = self._parts
        counts = np.bincount(rows, minlength=self.stop - self.start)
        rank = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        indices[rows, rank] = others
        squared[rows, rank] = 2.0 * halves


class _Queries(NamedTuple):
    """Rows whose neighbors are searched, and the length of their lists.

    ``samples`` is the index of each row among the samples, or -1: no row lists itself. With a
    positive offset, lists also contain all samples strictly nearer than the squared distance of
    their ``length``-th entry plus the offset.
    """

    rows: Any
    samples: np.ndarray
    length: int
    offset: float = 0.0


class _SortedLists(NamedTuple):
    """The lists of some rows; only complete ones have entries.

    An incomplete row must be searched again for all samples within ``needed``.
    """

    rows: np.ndarray
    complete: np.ndarray
    needed: np.ndarray
    lengths: np.ndarray
    indices: np.ndarray
    squared: np.ndarray


def _sorted_lists(
    points: Any, queries: _Queries, rows: np.ndarray, candidates: np.ndarray, reach: np.ndarray
) -> _SortedLists:
    """Sort the candidates of some rows by recomputed distance and cut the lists.

    The row's own sample (or -1) may be repeated as padding. All samples that are not candidates
    are beyond the reach of the row.
    """
    # Sort by index first: the second sort is stable, so that it breaks ties by index.
    candidates = np.sort(candidates, axis=1)
    squared = _squared_distances(points, queries.rows, rows, candidates)
    # Move the row's own sample and padding to the end. (-1 indexed the last sample above.)
    squared[candidates == queries.samples[rows, None]] = np.inf
    order = np.argsort(squared, axis=1, kind="stable")
    candidates = np.take_along_axis(candidates, order, axis=1)
    squared = np.take_along_axis(squared, order, axis=1)
    # A list is complete if the distance that it covers is within the reach.
    needed = squared[:, queries.length - 1] + queries.offset
    complete = needed < reach
    listed = np.zeros(candidates.shape, dtype=bool)
    listed[:, : queries.length] = True
    if queries.offset > 0:
        listed |= squared < needed[:, None]
    listed &= complete[:, None]
    lengths = listed.sum(axis=1)
    return _SortedLists(rows, complete, needed, lengths, candidates[listed], squared[listed])


def _squared_distances(
    points: Any, queries: Any, rows: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Return the distances between rows and the samples listed for them, exactly 0 if equal."""
    row, other = np.repeat(rows, others.shape[1]), others.reshape(-1)
    squared = np.empty(other.size)
    sparse = sp.issparse(queries)
    step = max(1, (SPARSE if sparse else CACHED) // queries.shape[1])
    for start in range(0, other.size, step):
        part = slice(start, start + step)
        # In double precision, for samples of any precision.
        difference = queries[row[part]].astype(np.float64, copy=False) - points[other[part]]
        if sparse:
            squared[part] = difference.multiply(difference).sum(axis=1)
        else:
            squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared.reshape(others.shape)


def _assembled(n: int, n_samples: int, parts: list[_SortedLists]) -> tuple[np.ndarray, ...]:
    """Concatenate the complete lists in the order of their rows."""
    # A row that was searched again is in two parts, first with an empty list.
    lengths = np.zeros(n, dtype=np.int64)
    for part in parts:
        lengths[part.rows] += part.lengths
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(indptr[-1], dtype=index_type(n_samples))
    squared = np.empty(indptr[-1])
    for part in parts:
        # An entry moves with its list, from the start in this part to the start in the result.
        starts = np.cumsum(part.lengths) - part.lengths
        target = np.arange(part.indices.size) + np.repeat(indptr[part.rows] - starts, part.lengths)
        indices[target] = part.indices
        squared[target] = part.squared
    return indptr, indices, squared


def _blocks(n_rows: int, load: int) -> Iterator[np.ndarray]:
    """Split the rows into blocks of at most BLOCK numbers, or into single rows."""
    step = max(1, BLOCK // load)
    for start in range(0, n_rows, step):
        yield np.arange(start, min(start + step, n_rows))
