"""Exact nearest neighbours: the same lists on any machine, with duplicates and ties in their place.

A search proposes candidates (a k-d tree, single-precision products, or double-precision ones where
these cannot tell samples apart) and vouches that whatever it left out is farther than some reach.
The squared distances to the candidates are then recomputed from coordinate differences, so that
equal samples are at distance exactly 0 (|x|² − 2xᵀy + |y|² cancels and says otherwise), and sorted
with ties broken by index. A row whose list goes beyond its reach asks again for everything within
the distance that it needs. Lists therefore depend neither on the number of threads nor on the
search, and no array is larger than the samples, the lists or a block of 32 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count
from sklearn.neighbors import KDTree, NearestNeighbors
from threadpoolctl import threadpool_limits

from firstcut.inputs import check_count
from firstcut.pairs import nearest_pairs, suits

BLOCK = 2**22
"""Numbers that each thread holds at once while distances are computed."""

CACHED = 2**17
"""Numbers that differences are computed of at once, so that they stay in the cache."""

SPARE = 4
"""Candidates asked for beyond those needed, so that few rows have to ask twice."""

TREE_FEATURES = 8
"""Up to so many features a k-d tree is faster than comparing all pairs."""

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """For every sample the list of its nearest others, nearest first, ties by index.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,)
        The list of sample i is ``indices[indptr[i]:indptr[i + 1]]``.
    indices : ndarray of shape (n_listed,)
        The samples listed; never the sample itself.
    squared : ndarray of shape (n_listed,)
        Their squared Euclidean distances.
    """

    indptr: np.ndarray
    indices: np.ndarray
    squared: np.ndarray


def nearest_others(
    points: Any, n_others: int, offset: float = 0.0, n_jobs: int | None = None
) -> Neighborhoods:
    """List the nearest others of every sample.

    Parameters
    ----------
    points : float64 ndarray (C order) or csr_array of shape (n, n_features)
        Finite samples whose squared distances do not overflow.
    n_others : int
        Length of every list, 0..n-1, when ``offset`` is 0.
    offset : float, default=0.0
        If positive, a list goes on to every sample strictly nearer than the squared distance of
        its ``n_others``-th entry plus the offset.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The lists do not depend on it.

    Returns
    -------
    Neighborhoods
    """
    n = points.shape[0]
    limit = None if n_jobs in (None, -1) else check_count("n_jobs", n_jobs)
    if n_others == 0:
        return _assemble(n, [])
    low_dimensional = not sp.issparse(points) and points.shape[1] <= TREE_FEATURES
    structure = _Tree if low_dimensional else _AllPairs
    limits = threadpool_limits(limit) if limit else nullcontext()  # which costs no milliseconds
    with limits, ThreadPoolExecutor(limit or int(cpu_count())) as pool:
        first = structure(points, np.arange(n))
        candidates, reach = first.nearest(min(n, n_others + 1 + SPARE), pool)
        if candidates.shape[1] == n:
            reach[:] = np.inf

        def settle_nearest(rows: np.ndarray) -> _Settled:
            return _settle(points, rows, candidates[rows], reach[rows], n_others, offset)

        load = candidates.shape[1] * points.shape[1]
        settled = list(pool.map(settle_nearest, _blocks(np.full(n, load))))
        short = np.concatenate([part.rows[~part.complete] for part in settled])
        if short.size:
            needed = np.concatenate([part.needed[~part.complete] for part in settled])
            # Of equal samples only the first few can be listed, unless an offset admits them all.
            second = first
            if offset == 0:
                second = structure(points, _first_copies(points, n_others + 1))
            loads = second.loads(short, needed)
            order = np.argsort(-loads, kind="stable")
            short, needed = short[order], needed[order]

            def settle_within(chosen: np.ndarray) -> _Settled:
                found = second.within(short[chosen], needed[chosen])
                all_found = np.full(chosen.size, np.inf)
                return _settle(points, short[chosen], found, all_found, n_others, offset)

            settled += pool.map(settle_within, _blocks(loads[order]))
    return _assemble(n, settled)


@dataclass(frozen=True, eq=False)
class _Settled:
    """The lists of some rows, of which only the complete ones have entries.

    A row that is not complete has to look again at everything within ``needed``.
    """

    rows: np.ndarray
    complete: np.ndarray
    needed: np.ndarray
    counts: np.ndarray
    indices: np.ndarray
    squared: np.ndarray


def _settle(
    points: Any,
    rows: np.ndarray,
    candidates: np.ndarray,
    reach: np.ndarray,
    n_others: int,
    offset: float,
) -> _Settled:
    """Sort the candidates of every row by recomputed distance and cut the lists to what is asked.

    ``candidates`` may name the row itself, any number of times: that is padding. Whatever sample it
    does not name is at a squared distance above ``reach``.
    """
    candidates = np.sort(candidates, axis=1)
    squared = _squared_distances(points, np.repeat(rows, candidates.shape[1]), candidates.ravel())
    squared = squared.reshape(candidates.shape)
    squared[candidates == rows[:, None]] = np.inf
    order = np.argsort(squared, axis=1, kind="stable")
    candidates = np.take_along_axis(candidates, order, axis=1)
    squared = np.take_along_axis(squared, order, axis=1)
    needed = squared[:, n_others - 1] + offset
    complete = needed < reach
    listed = np.zeros(candidates.shape, dtype=bool)
    listed[:, :n_others] = True
    if offset > 0:
        listed |= squared < needed[:, None]
    listed &= complete[:, None]
    return _Settled(rows, complete, needed, listed.sum(axis=1), candidates[listed], squared[listed])


def _assemble(n: int, settled: list[_Settled]) -> Neighborhoods:
    """Put the complete lists in the order of their samples."""
    lengths = np.zeros(n, dtype=np.int64)
    for part in settled:
        lengths[part.rows] += part.counts
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(indptr[-1], dtype=np.int64)
    squared = np.empty(indptr[-1])
    for part in settled:
        before = np.cumsum(part.counts) - part.counts
        target = np.arange(part.indices.size) + np.repeat(indptr[part.rows] - before, part.counts)
        indices[target] = part.indices
        squared[target] = part.squared
    return Neighborhoods(indptr, indices, squared)


class _Tree:
    """Candidates from a k-d tree over ``points[among]``; it pays when there are few features."""

    def __init__(self, points: np.ndarray, among: np.ndarray) -> None:
        self.points, self.among = points, among
        self.tree = KDTree(points[among])
        # The tree computes from differences as well, so it is right up to this fraction.
        self.rounding = 16 * (points.shape[1] + 8) * EPSILON

    def nearest(self, width: int, pool: ThreadPoolExecutor) -> tuple[np.ndarray, np.ndarray]:
        """Return ``width`` candidates of every sample, and within what distance none is missing."""

        def query(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            distances, found = self.tree.query(self.points[rows], width, sort_results=False)
            return distances.max(axis=1), found

        blocks = _blocks(np.full(self.points.shape[0], 64 * width))
        farthest, found = zip(*pool.map(query, blocks), strict=True)
        reach = np.concatenate(farthest) ** 2 * (1 - self.rounding)
        return self.among[np.concatenate(found)], reach

    def loads(self, rows: np.ndarray, needed: np.ndarray) -> np.ndarray:
        """Return how many candidates ``within`` will find for every row."""
        radii = self._radii(needed)
        return np.asarray(self.tree.query_radius(self.points[rows], radii, count_only=True))

    def within(self, rows: np.ndarray, needed: np.ndarray) -> np.ndarray:
        """Return everything within the squared distances ``needed``, and perhaps a little more."""
        found = self.tree.query_radius(self.points[rows], self._radii(needed))
        counts = np.array([one.size for one in found])
        return _padded(rows, counts, self.among[np.concatenate(found)])

    def _radii(self, needed: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(needed) * (1 + self.rounding) + 2.0**-511)  # whose square is tiny


class _AllPairs:
    """Candidates from comparing with all of ``points[among]``, by matrix products.

    The products cancel: with x and y centred, |x|² − 2xᵀy + |y|² is wrong by up to about
    n_features · epsilon · (|x| + |y|)², and every comparison leaves that much room.
    """

    def __init__(self, points: Any, among: np.ndarray) -> None:
        self.points = points if sp.issparse(points) else points - points.mean(axis=0)
        self.among = among
        self.others = self.points if among.size == points.shape[0] else self.points[among]
        self.norms = _squared_norms(self.points)
        largest = np.sqrt(self.norms.max())
        self.room = 4 * (points.shape[1] + 8) * EPSILON * (np.sqrt(self.norms) + largest) ** 2

    def nearest(self, width: int, pool: ThreadPoolExecutor) -> tuple[np.ndarray, np.ndarray]:
        """Return ``width`` candidates of every sample, and within what distance none is missing."""
        n, n_features = self.points.shape
        if not sp.issparse(self.points) and suits(n, n_features, width):
            near = nearest_pairs(self.points, width, pool)
            # If single precision leaves many rows in doubt, asking again is no cheaper than double.
            if np.mean(near.squared[:, -1 - SPARE] >= near.reach) < 1 / 4:
                return near.indices, near.reach
        search = NearestNeighbors(n_neighbors=width, algorithm="brute")
        distances, found = search.fit(self.others).kneighbors(self.points)
        reach = distances.max(axis=1) ** 2 - self.room
        return self.among[found], reach

    def loads(self, rows: np.ndarray, needed: np.ndarray) -> np.ndarray:
        """Return how many candidates ``within`` may find for every row."""
        return np.full(rows.size, self.among.size)

    def within(self, rows: np.ndarray, needed: np.ndarray) -> np.ndarray:
        """Return everything within the squared distances ``needed``, and perhaps a little more."""
        products = self.points[rows] @ self.others.T
        if sp.issparse(products):
            products = products.toarray()
        products *= -2.0
        products += self.norms[self.among]
        bounds = needed + self.room[rows] - self.norms[rows]
        near, found = np.nonzero(products <= bounds[:, None])
        return _padded(rows, np.bincount(near, minlength=rows.size), self.among[found])


def _padded(rows: np.ndarray, counts: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return lists of different lengths as the rows of one array, filled up with the row itself."""
    padded = np.repeat(rows[:, None], counts.max(), axis=1)
    padded[np.arange(padded.shape[1]) < counts[:, None]] = found
    return padded


def _squared_norms(points: Any) -> np.ndarray:
    if sp.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1), dtype=np.float64).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", points, points))


def _squared_distances(points: Any, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the squared distance of every pair, exactly 0 for equal samples."""
    squared = np.empty(rows.size)
    block = BLOCK if sp.issparse(points) else min(BLOCK, CACHED)
    step = max(1, block // points.shape[1])
    for start in range(0, rows.size, step):
        pairs = slice(start, start + step)
        squared[pairs] = _squared_norms(points[rows[pairs]] - points[others[pairs]])
    return squared


def _first_copies(points: Any, n_copies: int) -> np.ndarray:
    """Return the samples, less those that at least ``n_copies`` equal samples come before."""
    if sp.issparse(points):
        return np.arange(points.shape[0])
    # Adding 0.0 turns -0.0 into 0.0, so that equal samples have equal bytes.
    rows = (points + 0.0).view(np.dtype((np.void, points.itemsize * points.shape[1]))).reshape(-1)
    order = np.argsort(rows, kind="stable")
    new = np.ones(rows.size, dtype=bool)
    new[1:] = rows[order[1:]] != rows[order[:-1]]
    first = np.flatnonzero(new)
    copy = np.arange(rows.size) - np.repeat(first, np.diff(np.append(first, rows.size)))
    return np.sort(order[copy < n_copies])


def _blocks(loads: np.ndarray) -> Iterator[np.ndarray]:
    """Split the positions of ``loads``, which must not increase, into runs of at most BLOCK."""
    start = 0
    while start < loads.size:
        stop = start + max(1, BLOCK // int(loads[start]))
        yield np.arange(start, min(stop, loads.size))
        start = stop
