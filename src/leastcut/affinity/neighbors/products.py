"""Exact neighbors among many features, or sparse ones: products propose, differences decide.

1. Products of all pairs propose candidates and a reach: whatever they left out is farther.
2. The squared distances to the candidates are recomputed from coordinate differences, so that
   equal samples are at distance exactly 0 (|x|² − 2xᵀy + |y|² cancels and says otherwise), and
   sorted with ties broken by index.
3. A row whose list goes beyond its reach searches again for all within the distance it needs.

Lists therefore do not depend on the number of threads, and no array is larger than the samples, the
lists or a block of 32 MiB. With h = |x|²/2, half the squared distance of x and y is one product,

    |x − y|² / 2 = (−x, h(x), 1)ᵀ (y, 1, h(y)),

so a matrix product of two blocks of samples gives the distances between them, and by symmetry one
block serves the rows and the columns. Every sample keeps its nearest so far; the farthest of them
is the threshold that further candidates have to beat, and thresholds only fall. The blocks on the
diagonal, which are needed anyway, give the first thresholds.

Single precision is wrong by at most c (|x| + |y|)² with c of the order of n_features · 2⁻²⁴, so
whatever the lists leave out is provably beyond a reach that is a little less than the threshold.
Where that leaves too many rows in doubt, for few samples, sparse ones and new ones, scikit-learn's
brute force in double precision takes its place. For 20,000 samples of 50 features the whole
adaptive graph comes 2.1 times as fast as scikit-learn's brute force alone
(``benchmarks/affinity.py``).
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

from leastcut.affinity.neighbors.searching import Map, groups_of_copies
from leastcut.threads import Threads, available_cores, single_threaded
from leastcut.validation import index_type

BLOCK = 2**22  # numbers that each thread holds at once while distances are computed
SPARE = 4  # candidates beyond those needed, so that few rows have to search twice
FEW = 64  # up to so many rows are not worth starting a thread, which takes as long as their lists
SIDES = 512, 1024, 2048  # samples per block: usually, with many features, at most
MANY_FEATURES = 128  # from so many on, products take the time, and larger blocks make them faster
SHARE = 8  # blocks are so many times longer than the lists, or else too much passes the thresholds
WORTHWHILE = 3 * 10**8  # products of coordinates of all pairs from which on symmetry pays
PENDING = 2  # lists of a block are cut down when they hold so many times what they have to
DOUBTFUL = 1 / 4  # with more rows than this in doubt, double precision is faster
SPARSE = 2**22  # coordinates of sparse samples that differences are computed of at once
CACHED = 2**17  # those of dense samples: they stay in the cache

SINGLE = 2.0**-24  # how far rounding to single precision may be off, as a fraction
DOUBLE = 2.0**-52  # twice how far rounding to double precision may be off, as a fraction
EXPONENT = 30  # coordinates are at most 2³⁰: neither their squares overflow nor small ones vanish


class ProductSearch:
    """Search of finite samples (float32, float64 or CSR) whose squares are safe, by all pairs."""

    method, recall = "products", 1.0

    def __init__(self, points: Any, n_threads: int) -> None:
        self.points, self.n_threads = points, n_threads
        self._uses_all_cores = n_threads >= available_cores()
        self._without_copies: dict[int, AllPairs] = {}

    def nearest_others(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """List the ``count`` nearest others of every sample; see ``NeighborIndex``."""
        own = np.arange(self.points.shape[0])
        return self._lists(_Queries(self.points, own, count, offset))

    def nearest(self, queries: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` samples nearest to every query, and their squared distances."""
        # In the form of the samples, dense or sparse, whatever form the new ones come in.
        if sp.issparse(self.points):
            queries = sp.csr_array(queries)
        _, indices, squared = self._lists(_Queries(queries, np.full(queries.shape[0], -1), count))
        return indices.reshape(-1, count), squared.reshape(-1, count)

    def _lists(self, asked: _Queries) -> tuple[np.ndarray, ...]:
        n, n_queries = self.points.shape[0], asked.queries.shape[0]
        # Finding the libraries to limit takes milliseconds: only where products would use more.
        limits = nullcontext() if self._uses_all_cores else threadpool_limits(self.n_threads)
        with limits, Threads(self.n_threads) as threads:
            each: Map = threads if n_queries > FEW else map
            # 1. Candidates of every row; one of them is the row itself, if it is in the index.
            width = min(n, asked.length + 1 + SPARE)
            found, reach = self._search.nearest(asked.queries, asked.length + 1, width, each)
            # Nothing was left out, so no distance is beyond reach.
            if width == n:
                reach[:] = np.inf

            # 2. Recompute, sort, and cut off.
            def sort_candidates(rows: np.ndarray) -> _SortedLists:
                return _sorted_lists(self.points, asked, rows, found[rows], reach[rows])

            blocks = _blocks(n_queries, width * self.points.shape[1])
            parts = list(each(sort_candidates, blocks))

            # 3. Everything that the rows which are not complete need.
            short = np.concatenate([part.rows[~part.complete] for part in parts])
            if short.size:
                needed = np.concatenate([part.needed[~part.complete] for part in parts])
                # An offset admits copies without number; else only the first few can be listed.
                search = self._search
                if asked.offset == 0:
                    search = self._among_first_copies(asked.length + 1)

                def sort_within(chosen: np.ndarray) -> _SortedLists:
                    rows = short[chosen]
                    lengths, within = search.within(asked.queries[rows], needed[chosen])
                    # Lists differ in length: a row's own sample, or -1, fills them up to a
                    # rectangle. Within it the marked places are in the order of rows, as ``within``
                    # is.
                    padded = np.repeat(asked.own[rows, None], lengths.max(), axis=1)
                    padded[np.arange(padded.shape[1]) < lengths[:, None]] = within
                    # What is needed is all there, so that every list is complete this time.
                    reach = np.full(rows.size, np.inf)
                    return _sorted_lists(self.points, asked, rows, padded, reach)

                parts += each(sort_within, _blocks(short.size, search.among.size))
        return _assembled(n_queries, n, parts)

    @cached_property
    def _search(self) -> AllPairs:
        return AllPairs(self.points, np.arange(self.points.shape[0]))

    def _among_first_copies(self, n_copies: int) -> AllPairs:
        """Return a search of the samples but those that ``n_copies`` equal ones come before.

        In any other, n equal samples would find each other, n² in all. It is kept for the next
        block of new samples.
        """
        if n_copies not in self._without_copies:
            is_late = np.zeros(self.points.shape[0], dtype=bool)
            # Sparse rows of different length are not compared. Leaving copies in is only slower.
            if not sp.issparse(self.points):
                for group in groups_of_copies(self.points, n_copies, map):
                    is_late[group[n_copies:]] = True
            among = np.flatnonzero(~is_late)
            search = AllPairs(self.points, among) if is_late.any() else self._search
            self._without_copies[n_copies] = search
        return self._without_copies[n_copies]


class AllPairs:
    """All of ``points[among]`` (centered unless sparse), compared with whatever is asked.

    The products cancel: with x and y centered, |x|² − 2xᵀy + |y|² is wrong by up to about
    n_features · epsilon · (|x| + |y|)², and every comparison leaves that much room.
    """

    def __init__(self, points: Any, among: np.ndarray) -> None:
        self.points, self.among = points, among
        # Norms, and with them the errors of products, are smallest about the mean; but centering
        # would fill a sparse matrix.
        self.mean = None if sp.issparse(points) else points.mean(axis=0, dtype=np.float64)
        centered = self._centered(points)
        self.others = centered if among.size == points.shape[0] else centered[among]
        self.norms = _squared_norms(self.others)

    def nearest(
        self, queries: Any, count: int, width: int, each: Map
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``width`` candidates of every row, and within what distance none is missing.

        Of those ``count`` are needed. The search must be among all samples.
        """
        n, n_features = self.others.shape
        # The same array, not an equal one: then a block of distances serves its rows and columns.
        themselves = queries is self.points
        if themselves and not sp.issparse(queries) and suits(n, n_features, width):
            near = nearest_by_blocks(self.others, width, each)
            # Rows whose list goes beyond the reach will have to search again.
            if np.mean(near.squared[:, count - 1] >= near.reach) < DOUBTFUL:
                return near.indices, near.reach
        centered = self.others if themselves else self._centered(queries)
        distances, found = self._brute_force.kneighbors(centered, width)
        # Brute force computes by products as well, so its reach is less by what those are off.
        reach = distances.max(axis=1) ** 2 - self._room(_squared_norms(centered))
        return self.among[found], reach

    def within(self, queries: Any, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many samples are within a squared distance of every row, and which.

        There may be a few too many, at distances a little larger.
        """
        # |x − y|² ≤ needed is −2xᵀy + |y|² ≤ needed − |x|²: one array of (rows, samples), changed
        # in place. Room is left on the side of taking too many.
        centered = self._centered(queries)
        norms = _squared_norms(centered)
        products = centered @ self.others.T
        if sp.issparse(products):
            products = products.toarray()
        products *= -2.0
        products += self.norms
        bounds = needed + self._room(norms) - norms
        rows, found = np.nonzero(products <= bounds[:, None])
        return np.bincount(rows, minlength=needed.size), self.among[found]

    @cached_property
    def _brute_force(self) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(algorithm="brute").fit(self.others)

    def _centered(self, points: Any) -> Any:
        return points if self.mean is None else points - self.mean

    def _room(self, norms: np.ndarray) -> np.ndarray:
        """Return how far products with rows of these squared norms may be off."""
        farthest = np.sqrt(norms) + np.sqrt(self.norms.max())
        return np.asarray(4 * (self.others.shape[1] + 8) * DOUBLE * farthest**2)


def _squared_norms(X: Any) -> np.ndarray:
    from sklearn.utils.extmath import row_norms

    return np.asarray(row_norms(X, squared=True))


class Candidates(NamedTuple):
    """The apparently nearest samples of every sample, nearest first; a sample pads its own list."""

    indices: np.ndarray
    squared: np.ndarray  # as single precision sees them
    reach: np.ndarray  # squared distances that everything left out is beyond


def suits(n: int, n_features: int, width: int) -> bool:
    """Whether there is enough to compare, and lists are short compared with a block."""
    return n * n * n_features >= WORTHWHILE and SHARE * width <= min(n, SIDES[2])


def nearest_by_blocks(points: np.ndarray, width: int, each: Map) -> Candidates:
    """List ``width`` candidates of every centered sample, itself among them.

    Norms should be small compared with distances, which do not overflow, and ``width`` at most
    ``min(n, SIDES[2]) / SHARE``. The threads of ``each`` need one BLAS thread each.
    """
    n, n_features = points.shape
    # Scaling by a power of two rounds nothing, and is undone at the end.
    shift = EXPONENT - int(np.frexp(np.abs(points).max())[1])
    norms = np.ldexp(np.einsum("ij,ij->i", points, points), 2 * shift)
    # As they stand on the right of a product; the left is made block by block.
    right = np.empty((n, n_features + 2), dtype=np.float32)
    # Rounded to single precision on the way: no second array in double.
    np.ldexp(points, shift, out=right[:, :-2], casting="same_kind")
    right[:, -2] = 1
    right[:, -1] = norms / 2
    # At least SHARE times the lists in every block, or thresholds from the diagonal are loose.
    side = max(SIDES[n_features >= MANY_FEATURES], SHARE * width)
    n_blocks = min(-(-n // side), n // (SHARE * width))
    bounds = np.arange(n_blocks + 1) * n // n_blocks
    lists = [_BlockLists(*pair, width) for pair in pairwise(bounds)]

    # 1. The blocks on the diagonal, for first lists and thresholds.
    def start(own: _BlockLists) -> None:
        own.begin(_left(right, own) @ right[own.start : own.stop].T)

    # 2. Every pair of blocks once, in one product. Thresholds are read without a lock: they are
    #    replaced as a whole, and one that is out of date is only too large.
    def compare(block: int) -> None:
        own = lists[block]
        left = _left(right, own)
        for other in lists[block + 1 :]:
            halves = left @ right[other.start : other.stop].T
            own.offer(halves, halves < own.threshold[:, None], other.start, 0)
            other.offer(halves, halves < other.threshold, own.start, 1)

    # One BLAS thread for each product, as the threads of ``each`` share the products. The first
    # blocks have most others after them: long tasks come first.
    with single_threaded():
        list(each(start, lists))
        list(each(compare, range(n_blocks - 1)))
        # 3. What is still pending is cut down to the nearest.
        list(each(_BlockLists.cut, lists))

    indices = np.repeat(np.arange(n)[:, None], width, axis=1)
    squared = np.full((n, width), np.inf)
    for own in lists:
        own.write(indices[own.start : own.stop], squared[own.start : own.stop])
    threshold = 2.0 * np.concatenate([own.threshold for own in lists]).astype(np.float64)
    # A sample y within the threshold of x has |y| <= |x| + √threshold. The products of n_features
    # + 2 terms, in whatever order, and the roundings of x, y and h are off by less than half of
    # this; the last term is for coordinates that vanish compared with the largest.
    room = 2 * (n_features + 8) * SINGLE * (2 * np.sqrt(norms) + np.sqrt(threshold)) ** 2
    reach = threshold - room - (n_features + 8) * 2.0**-80
    return Candidates(indices, np.ldexp(squared, -2 * shift), np.ldexp(reach, -2 * shift))


def _left(right: np.ndarray, own: _BlockLists) -> np.ndarray:
    """Return the rows whose products with ``right`` are half the squared distances."""
    left = -right[own.start : own.stop]
    left[:, -2] = right[own.start : own.stop, -1]
    left[:, -1] = 1
    return left


class _BlockLists:
    """The candidates so far of the samples ``start..stop-1``.

    Whatever was offered and is not listed is at least at the threshold. Several threads may offer
    at once, and with a threshold that has fallen meanwhile: that only lists more than needed.
    """

    def __init__(self, start: int, stop: int, width: int) -> None:
        self.start, self.stop, self.width = int(start), int(stop), width
        self.threshold = np.empty(0, dtype=np.float32)
        self._lock = Lock()
        self._most = PENDING * width * (self.stop - self.start)
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._size = 0

    def begin(self, halves: np.ndarray) -> None:
        """Take the nearest within the block."""
        last = self.width - 1
        # Rounding can put the distance of equal samples below 0; here and in _cut it is 0 then.
        self.threshold = np.maximum(np.partition(halves, last, axis=1)[:, last], np.float32(0))
        # With ``<=`` at least ``width`` are taken, so that every list begins full.
        self.offer(halves, halves <= self.threshold[:, None], self.start, 0)
        self.cut()

    def offer(self, halves: np.ndarray, near: np.ndarray, start: int, axis: int) -> None:
        """Take the marked pairs of a product; the samples of the lists run along ``axis``."""
        flat = np.flatnonzero(near)
        # Row and column in the product; ``axis`` says which of them is the sample of these lists.
        place = np.divmod(flat, halves.shape[1])
        part = (place[axis], place[1 - axis] + start, halves.ravel()[flat])
        with self._lock:
            self._parts.append(part)
            self._size += flat.size
            if self._size > self._most:
                self._cut()

    def cut(self) -> None:
        """Keep the nearest, sorted, and lower the threshold to the farthest of them."""
        with self._lock:
            self._cut()

    def _cut(self) -> None:
        rows, others, halves = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        # Floats that are not negative are ordered like their bits, so that one sort does for both.
        halves = np.maximum(halves, np.float32(0))
        # Row in the upper half of the key, distance in the lower. Of equal distances any may be
        # kept, as the reach stays below the threshold and they are asked for again.
        order = np.argsort((rows << 32) | halves.view(np.int32))
        # The first ``width`` of every row, by their place within it.
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
        # The last of a full list is its farthest.
        threshold[full] = np.minimum(threshold[full], halves[ends[full] - 1])
        self.threshold = threshold

    def write(self, indices: np.ndarray, squared: np.ndarray) -> None:
        """Copy the lists, which must have been cut, into rows of ``width`` entries."""
        ((rows, others, halves),) = self._parts
        counts = np.bincount(rows, minlength=self.stop - self.start)
        place = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        indices[rows, place] = others
        squared[rows, place] = 2.0 * halves


class _Queries(NamedTuple):
    """Rows that lists are made for, and how long the lists are to be.

    ``own`` is the sample of the index that each row is, or -1: no row lists itself. With a positive
    offset lists go on to every sample strictly nearer than the squared distance of their
    ``length``-th entry plus the offset.
    """

    queries: Any
    own: np.ndarray
    length: int
    offset: float = 0.0


class _SortedLists(NamedTuple):
    """The lists of some rows, of which only the complete ones have entries.

    A row that is not complete has to look again at everything within ``needed``.
    """

    rows: np.ndarray
    complete: np.ndarray
    needed: np.ndarray
    lengths: np.ndarray
    indices: np.ndarray
    squared: np.ndarray


def _sorted_lists(
    points: Any, asked: _Queries, rows: np.ndarray, candidates: np.ndarray, reach: np.ndarray
) -> _SortedLists:
    """Sort the candidates of some rows by recomputed distance and cut the lists off.

    Candidates may name a row's own sample (-1, if it has none) any number of times: that is
    padding. Whatever is not named is at a squared distance above the reach of the row.
    """
    # By index first, which is the order that ties are left in.
    candidates = np.sort(candidates, axis=1)
    squared = _squared_distances(points, asked.queries, rows, candidates)
    # A row's own sample, and padding, go to the end. (For a row of no sample, -1 names the last
    # sample in the line above; its distance is replaced here.)
    squared[candidates == asked.own[rows, None]] = np.inf
    # The sort is stable, so that of equal distances the lower index comes first.
    order = np.argsort(squared, axis=1, kind="stable")
    candidates = np.take_along_axis(candidates, order, axis=1)
    squared = np.take_along_axis(squared, order, axis=1)
    # How far a list has to see; it is right only if whatever is not named lies beyond.
    needed = squared[:, asked.length - 1] + asked.offset
    complete = needed < reach
    listed = np.zeros(candidates.shape, dtype=bool)
    listed[:, : asked.length] = True
    if asked.offset > 0:
        listed |= squared < needed[:, None]
    # Nothing of a list that is not complete: it is made again as a whole.
    listed &= complete[:, None]
    lengths = listed.sum(axis=1)
    return _SortedLists(rows, complete, needed, lengths, candidates[listed], squared[listed])


def _squared_distances(
    points: Any, queries: Any, rows: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Return those of every row to the samples listed for it, exactly 0 for equal ones."""
    of, to = np.repeat(rows, others.shape[1]), others.reshape(-1)
    squared = np.empty(to.size)
    sparse = sp.issparse(queries)
    step = max(1, (SPARSE if sparse else CACHED) // queries.shape[1])
    for start in range(0, to.size, step):
        part = slice(start, start + step)
        # In double precision, whatever the samples are in.
        difference = queries[of[part]].astype(np.float64, copy=False) - points[to[part]]
        if sparse:
            squared[part] = difference.multiply(difference).sum(axis=1)
        else:
            squared[part] = np.einsum("ij,ij->i", difference, difference)
    return squared.reshape(others.shape)


def _assembled(n: int, n_samples: int, parts: list[_SortedLists]) -> tuple[np.ndarray, ...]:
    """Put the complete lists in the order of their rows."""
    # A row that had to ask again stands in two parts, the first time with an empty list.
    lengths = np.zeros(n, dtype=np.int64)
    for part in parts:
        lengths[part.rows] += part.lengths
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(indptr[-1], dtype=index_type(n_samples))
    squared = np.empty(indptr[-1])
    for part in parts:
        # Where each list begins in its part. An entry moves by as much as its list does: from there
        # to where the list begins in the whole.
        before = np.cumsum(part.lengths) - part.lengths
        target = np.arange(part.indices.size) + np.repeat(indptr[part.rows] - before, part.lengths)
        indices[target] = part.indices
        squared[target] = part.squared
    return indptr, indices, squared


def _blocks(n_rows: int, load: int) -> Iterator[np.ndarray]:
    """Split the row numbers into runs that take at most BLOCK numbers, or into single rows."""
    step = max(1, BLOCK // load)
    for start in range(0, n_rows, step):
        yield np.arange(start, min(start + step, n_rows))
