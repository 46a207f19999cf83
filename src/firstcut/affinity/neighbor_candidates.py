"""Candidates for the nearest samples by comparing all with all, in matrix products.

With h = |x|²/2, half the squared distance of x and y is one inner product,

    |x − y|² / 2 = (−x, h(x), 1)ᵀ (y, 1, h(y)),

so a matrix product of two blocks of samples gives the distances between them, and by symmetry one
block serves the rows and the columns. Every sample keeps its nearest so far; the farthest of them
is the threshold that further candidates have to beat, and thresholds only fall. The blocks on the
diagonal, which are needed anyway, give the first thresholds.

Single precision is wrong by at most c (|x| + |y|)² with c of the order of n_features · 2⁻²⁴, so
whoever the lists leave out is provably beyond a reach that is a little less than the threshold.
Where that leaves too many rows in doubt, for few samples, sparse ones and new ones, scikit-learn's
brute force in double precision takes its place.

For 20,000 samples of 50 features the whole adaptive graph, with exact lists, comes 2.1 times as
fast as the lists of scikit-learn's brute force alone, measured by ``benchmarks/affinity.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from firstcut.threads import single_threaded

Each = Callable[..., Iterator[Any]]
"""``map``, or that of a pool of threads."""

SIDES = 512, 1024, 2048
"""Samples per block, usually, with many features, at most: products should be fast and cached."""

MANY_FEATURES = 128
"""From so many features on, products take the time, and larger blocks make them faster."""

SHARE = 8
"""Blocks are so many times longer than the lists, or else too much passes the thresholds."""

WORTHWHILE = 3 * 10**8
"""Products of coordinates, over all pairs, from which on saving some outweighs keeping lists."""

PENDING = 2
"""A block of lists is cut down to the nearest when it holds so many times what it has to."""

DOUBTFUL = 1 / 4
"""With more rows than this in doubt, asking again costs more than double precision."""

SINGLE = 2.0**-24
"""How far rounding to single precision may be off, as a fraction."""

DOUBLE = 2.0**-52
"""Twice how far rounding to double precision may be off, as a fraction."""

EXPONENT = 30
"""Coordinates are scaled to at most 2³⁰: neither their squares overflow nor small ones vanish."""


class ProductSearch:
    """All of ``points[among]``, compared with whatever is asked.

    The products cancel: with x and y centred, |x|² − 2xᵀy + |y|² is wrong by up to about
    n_features · epsilon · (|x| + |y|)², and every comparison leaves that much room.

    Parameters
    ----------
    points : float64 ndarray or csr_array of shape (n, n_features)
        The samples. Sparse ones are not centred.
    among : ndarray of int
        Those to search.
    """

    def __init__(self, points: Any, among: np.ndarray) -> None:
        from sklearn.utils.extmath import row_norms

        self.points, self.among = points, among
        # Norms, and with them the errors of products, are smallest about the mean; but centring
        # would fill a sparse matrix.
        self.mean = None if sp.issparse(points) else points.mean(axis=0)
        centred = self._centred(points)
        self.others = centred if among.size == points.shape[0] else centred[among]
        self.norms = row_norms(self.others, squared=True)

    def nearest(
        self, queries: Any, count: int, width: int, each: Each
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``width`` candidates of every row, and within what distance none is missing.

        Of those ``count`` are needed. The search must be among all samples.
        """
        from sklearn.utils.extmath import row_norms

        n, n_features = self.others.shape
        # The same array, not an equal one: then a block of distances serves its rows and columns.
        themselves = queries is self.points
        if themselves and not sp.issparse(queries) and suits(n, n_features, width):
            near = nearest_by_blocks(self.others, width, each)
            # Rows whose list goes beyond what single precision vouches for will have to ask again.
            if np.mean(near.squared[:, count - 1] >= near.reach) < DOUBTFUL:
                return near.indices, near.reach
        centred = self.others if themselves else self._centred(queries)
        distances, found = self._brute_force.kneighbors(centred, width)
        # Brute force computes by products as well, so its reach is less by what those are off.
        reach = distances.max(axis=1) ** 2 - self._room(row_norms(centred, squared=True))
        return self.among[found], reach

    def loads(self, queries: Any, needed: np.ndarray) -> np.ndarray:
        """Return how many numbers :meth:`within` compares for every row."""
        return np.full(needed.size, self.among.size)

    def within(self, queries: Any, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many samples are within a squared distance of every row, and which.

        There may be a few too many, at distances a little larger.
        """
        from sklearn.utils.extmath import row_norms

        # |x − y|² ≤ needed is −2xᵀy + |y|² ≤ needed − |x|²: one array of (rows, samples), changed
        # in place. Room is left on the side of taking too many.
        centred = self._centred(queries)
        norms = row_norms(centred, squared=True)
        products = centred @ self.others.T
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

    def _centred(self, points: Any) -> Any:
        return points if self.mean is None else points - self.mean

    def _room(self, norms: np.ndarray) -> np.ndarray:
        """Return how far products with rows of these squared norms may be off."""
        farthest = np.sqrt(norms) + np.sqrt(self.norms.max())
        return np.asarray(4 * (self.others.shape[1] + 8) * DOUBLE * farthest**2)


class Candidates(NamedTuple):
    """The apparently nearest samples of every sample, nearest first; a sample pads its own list."""

    indices: np.ndarray
    squared: np.ndarray
    reach: np.ndarray


def suits(n: int, n_features: int, width: int) -> bool:
    """Tell whether there is enough to compare, and lists are short beside a block of samples."""
    return n * n * n_features >= WORTHWHILE and SHARE * width <= min(n, SIDES[2])


def nearest_by_blocks(points: np.ndarray, width: int, each: Each) -> Candidates:
    """List about ``width`` candidates of every sample, itself among them.

    Parameters
    ----------
    points : float64 ndarray of shape (n, n_features)
        Samples, centred so that the norms are small beside the distances, which do not overflow.
    width : int
        Length of the lists, at most ``min(n, SIDES[2]) / SHARE``.
    each : callable
        ``map`` of the threads that share the work, each with one BLAS thread.

    Returns
    -------
    Candidates
        Arrays of shapes (n, width), (n, width) and (n,): the lists, the squared distances as single
        precision sees them, and the squared distances that everything left out is beyond.
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
    lists = [_Lists(*pair, width) for pair in pairwise(bounds)]

    # 1. The blocks on the diagonal, for first lists and thresholds.
    def start(own: _Lists) -> None:
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
        list(each(_Lists.cut, lists))

    indices = np.repeat(np.arange(n)[:, None], width, axis=1)
    squared = np.full((n, width), np.inf)
    for own in lists:
        own.write(indices[own.start : own.stop], squared[own.start : own.stop])
    threshold = 2.0 * np.concatenate([own.threshold for own in lists]).astype(np.float64)
    # A sample y within the threshold of x has |y| <= |x| + √threshold. The products of n_features
    # + 2 terms, in whatever order, and the roundings of x, y and h are off by less than half of
    # this; the last term is for coordinates that vanish beside the largest.
    room = 2 * (n_features + 8) * SINGLE * (2 * np.sqrt(norms) + np.sqrt(threshold)) ** 2
    reach = threshold - room - (n_features + 8) * 2.0**-80
    return Candidates(indices, np.ldexp(squared, -2 * shift), np.ldexp(reach, -2 * shift))


def _left(right: np.ndarray, own: _Lists) -> np.ndarray:
    """Return the rows whose products with ``right`` are half the squared distances."""
    left = -right[own.start : own.stop]
    left[:, -2] = right[own.start : own.stop, -1]
    left[:, -1] = 1
    return left


class _Lists:
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
