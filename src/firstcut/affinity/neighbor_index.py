"""Exact nearest neighbours: the same lists on any machine, with duplicates and ties in their place.

1. A search proposes candidates (a k-d tree, or products of all with all) and vouches that whatever
   it left out is farther than some reach.
2. The squared distances to the candidates are recomputed from coordinate differences, so that
   equal samples are at distance exactly 0 (|x|² − 2xᵀy + |y|² cancels and says otherwise), and
   sorted with ties broken by index.
3. A row whose list goes beyond its reach asks again for everything within the distance it needs.

Lists therefore depend neither on the number of threads nor on the search, and no array is larger
than the samples, the lists or a block of 32 MiB. The same three steps serve the samples among
themselves and new samples among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from firstcut.affinity.neighbor_candidates import Each, ProductSearch
from firstcut.affinity.neighbor_lists import CACHED, Asked, Settled, settled
from firstcut.threads import available_cores, count_threads
from firstcut.validation import canonical_csr, check_samples

BLOCK = 2**22
"""Numbers that each thread holds at once while distances are computed: speed against memory."""

SPARE = 4
"""Candidates asked for beyond those needed, so that few rows have to ask twice."""

TREE_FEATURES = 8
"""Up to so many features a k-d tree is faster than products of all with all."""

TREE_LOAD = 64
"""What a candidate of the tree counts as, in numbers: blocks so small that threads share evenly."""

FEW = 64
"""Up to so many rows are not worth starting a thread, which takes as long as their lists."""

SAFE_EXPONENT = 250
"""Coordinates that are 0 or from 2⁻²⁵⁰ to 2²⁵⁰ are squared as they are; others are scaled first."""

LARGEST_EXPONENT = 420
"""What is scaled is at most 2⁴²⁰: near enough to overflow that coordinates 10²⁸⁰ times as small
still have squares, and as far from it as ``FAR`` needs."""

FAR = 2.0**480
"""From here all samples are equally far to the last bit, and squared distances do not overflow."""


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
        Their squared Euclidean distances, in the units of the index.
    """

    indptr: np.ndarray
    indices: np.ndarray
    squared: np.ndarray

    def directed(self, weights: np.ndarray) -> sp.csr_array:
        """Return the matrix with a weight for every entry of the lists; zeros are not stored."""
        n = self.indptr.size - 1
        # Both directions of every edge and a self-loop per sample must still fit, when S and its
        # transpose are added later on.
        fits = 2 * weights.size + n < np.iinfo(np.int32).max
        index = np.int32 if fits else np.int64
        # Copies: what follows sorts in place, and the lists are to stay nearest first.
        indices, indptr = self.indices.astype(index), self.indptr.astype(index)
        graph = sp.csr_array((weights, indices, indptr), shape=(n, n))
        graph.eliminate_zeros()
        graph.sort_indices()
        return graph


def averaged(directed: sp.csr_array) -> sp.csr_array:
    """Return (S + Sᵀ) / 2."""
    return sp.csr_array((directed + directed.T.tocsr()) * 0.5)


def rows_of(indices: np.ndarray, weights: np.ndarray, n_samples: int) -> sp.csr_array:
    """Return the (n_new, n_samples) matrix with these weights at these samples of every row."""
    # Entries stay nearest first: CSR does not ask for sorted columns.
    indptr = np.arange(0, indices.size + 1, indices.shape[1])
    shape = (indices.shape[0], n_samples)
    return sp.csr_array((weights.reshape(-1), indices.reshape(-1), indptr), shape=shape)


def graph_or_loop(graph: Any, X: Any, *args: Any, **parameters: Any) -> sp.csr_array:
    """Return ``graph(X, ...)``; for a single sample, with ``n_neighbors=0``, a self-loop."""
    return joined(check_samples(X)) if _is_alone(X, parameters) else graph(X, *args, **parameters)


def rows_or_ones(rows: Any, X: Any, **parameters: Any) -> Any:
    """Return ``rows(X, ...)``; for a single sample, with ``n_neighbors=0``, :func:`joined`."""
    return joined if _is_alone(X, parameters) else rows(X, **parameters)


def joined(new: Any) -> sp.csr_array:
    """Return weight 1 between every new sample and the only one there is."""
    return sp.csr_array(np.ones((new.shape[0], 1)))


def _is_alone(X: Any, parameters: dict[str, Any]) -> bool:
    return parameters.get("n_neighbors") == 0 and np.shape(X)[:1] == (1,)


class NeighborIndex:
    """Samples that are asked which of them are nearest.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n_features)
        Finite samples.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core, -2 one less. The lists do not depend on
        it.

    Attributes
    ----------
    points : float64 ndarray (C order) or csr_array of shape (n, n_features)
        X / 2^exponent. A power of two rounds nothing, so that X and 2X have the same lists, and
        their squared distances the same bits.
    exponent : int
        0, unless squares of X could overflow or vanish. The index computes, and returns, squared
        distances between ``points``: those of X divided by 4^exponent.

    Examples
    --------
    >>> import numpy as np
    >>> from firstcut.affinity.neighbor_index import NeighborIndex
    >>> index = NeighborIndex(np.array([[0.0], [1.0], [3.0]]))
    >>> index.nearest_others(1).indices
    array([1, 0, 1])
    >>> index.nearest(np.array([[2.0]]), 2)
    (array([[1, 2]]), array([[1., 1.]]))
    """

    def __init__(self, X: Any, n_jobs: int | None = None) -> None:
        self.n_threads = count_threads(n_jobs)
        self._uses_all_cores = n_jobs is None or self.n_threads >= available_cores()
        points = _as_points(X)
        self.exponent = _exponent(points.data if sp.issparse(points) else points)
        self.points = _scaled(points, self.exponent) if self.exponent else points
        self._without_copies: dict[int, _Tree | ProductSearch] = {}

    def scaled(self, squared: float) -> float:
        """Return a squared distance in the units of the index.

        It is at most 2¹⁰⁰⁰, beside which all samples are equal as well.
        """
        # Capped by its exponent, as ldexp overflows where that of the index is negative.
        mantissa, exponent = np.frexp(squared)
        return float(np.ldexp(mantissa, min(int(exponent) - 2 * self.exponent, 1000)))

    def nearest_others(self, count: int, offset: float = 0.0) -> Neighborhoods:
        """List the nearest others of every sample.

        Parameters
        ----------
        count : int
            Length of every list, 0..n-1, when ``offset`` is 0.
        offset : float, default=0.0
            If positive, a list goes on to every sample strictly nearer than the squared distance
            of its ``count``-th entry plus the offset, which is in the units of the index.

        Returns
        -------
        Neighborhoods
        """
        own = np.arange(self.points.shape[0])
        return self._lists(Asked(self.points, own, count, offset))

    def nearest(self, new: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples nearest to new ones, nearest first, ties by index.

        Parameters
        ----------
        new : ndarray or sparse matrix of shape (n_new, n_features)
            Finite samples. One that is equal to a sample of the index finds it, at distance 0.
        count : int
            How many to find, 1..n.

        Returns
        -------
        indices, squared : ndarray of shape (n_new, count)
            Which samples, and their squared distances in the units of the index.
        """
        # In the units of the index; what lies far beyond its samples is brought to FAR.
        queries = _scaled(_as_points(new), self.exponent)
        # In the form of the samples, dense or sparse, whatever form the new ones come in.
        if sp.issparse(self.points):
            queries = sp.csr_array(queries)
        elif sp.issparse(queries):
            queries = queries.toarray()
        near = self._lists(Asked(queries, np.full(queries.shape[0], -1), count))
        return near.indices.reshape(-1, count), near.squared.reshape(-1, count)

    def _lists(self, asked: Asked) -> Neighborhoods:
        n, n_queries = self.points.shape[0], asked.queries.shape[0]
        if asked.length == 0 or n_queries == 0:
            return _assembled(n_queries, [])

        # Finding the libraries to limit takes milliseconds: only where products would use more.
        limited = isinstance(self._search, ProductSearch) and not self._uses_all_cores
        limits = threadpool_limits(self.n_threads) if limited else nullcontext()
        with limits, ThreadPoolExecutor(self.n_threads) as pool:
            each: Each = pool.map if n_queries > FEW else map
            # 1. Candidates of every row; one of them is the row itself, if it is in the index.
            width = min(n, asked.length + 1 + SPARE)
            found, reach = self._search.nearest(asked.queries, asked.length + 1, width, each)
            # Nothing was left out, so no distance is beyond reach.
            if width == n:
                reach[:] = np.inf

            # 2. Recompute, sort, and cut off.
            def settle(rows: np.ndarray) -> Settled:
                return settled(self.points, asked, rows, found[rows], reach[rows])

            loads = np.full(n_queries, width * self.points.shape[1])
            parts = list(each(settle, _blocks(loads)))

            # 3. Everything that the rows which are not complete need, the longest lists first.
            short = np.concatenate([part.rows[~part.complete] for part in parts])
            if short.size:
                needed = np.concatenate([part.needed[~part.complete] for part in parts])
                # An offset admits copies without number; else only the first few can be listed.
                search = self._search
                if asked.offset == 0:
                    search = self._among_first_copies(asked.length + 1)
                # In descending order, as _blocks asks for, and so that no thread begins a long list
                # last.
                loads = search.loads(asked.queries[short], needed)
                order = np.argsort(-loads, kind="stable")
                short, needed = short[order], needed[order]

                def settle_within(chosen: np.ndarray) -> Settled:
                    rows = short[chosen]
                    lengths, within = search.within(asked.queries[rows], needed[chosen])
                    # Lists differ in length: a row's own sample, or -1, fills them up to a
                    # rectangle. Within it the marked places are in the order of rows, as ``within``
                    # is.
                    padded = np.repeat(asked.own[rows, None], lengths.max(), axis=1)
                    padded[np.arange(padded.shape[1]) < lengths[:, None]] = within
                    # What is needed is all there, so that every list is complete this time.
                    return settled(self.points, asked, rows, padded, np.full(rows.size, np.inf))

                parts += each(settle_within, _blocks(loads[order]))
        return _assembled(n_queries, parts)

    @cached_property
    def _search(self) -> _Tree | ProductSearch:
        return self._search_among(np.arange(self.points.shape[0]))

    def _search_among(self, among: np.ndarray) -> _Tree | ProductSearch:
        if not sp.issparse(self.points) and self.points.shape[1] <= TREE_FEATURES:
            return _Tree(self.points, among)
        return ProductSearch(self.points, among)

    def _among_first_copies(self, n_copies: int) -> _Tree | ProductSearch:
        """Return a search of the samples but those that ``n_copies`` equal ones come before.

        In any other, n equal samples would find each other, n² in all. It is kept for the next
        block of new samples.
        """
        if n_copies not in self._without_copies:
            among = _first_copies(self.points, n_copies)
            everything = among.size == self.points.shape[0]
            search = self._search if everything else self._search_among(among)
            self._without_copies[n_copies] = search
        return self._without_copies[n_copies]


class _Tree:
    """Candidates from a k-d tree over ``points[among]``; it pays when there are few features."""

    def __init__(self, points: np.ndarray, among: np.ndarray) -> None:
        from sklearn.neighbors import KDTree

        self.among = among
        self.tree = KDTree(points[among])
        # The tree computes from differences, too, so it is right up to this fraction.
        self.rounding = 16 * (points.shape[1] + 8) * float(np.finfo(np.float64).eps)

    def nearest(
        self, queries: np.ndarray, count: int, width: int, each: Each
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``width`` candidates of every row, and within what distance none is missing."""

        def ask(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            distances, found = self.tree.query(queries[rows], width, sort_results=False)
            return distances.max(axis=1), found

        blocks = _blocks(np.full(queries.shape[0], TREE_LOAD * width))
        farthest, found = zip(*each(ask, blocks), strict=True)
        # A little less than the tree says, so that its rounding cannot hide a nearer sample.
        reach = np.concatenate(farthest) ** 2 * (1 - self.rounding)
        return self.among[np.concatenate(found)], reach

    def loads(self, queries: np.ndarray, needed: np.ndarray) -> np.ndarray:
        """Return how many candidates :meth:`within` will find for every row."""
        return np.asarray(self.tree.query_radius(queries, self._radii(needed), count_only=True))

    def within(self, queries: np.ndarray, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many samples are within a squared distance of every row, and which.

        There may be a few too many, at distances a little larger.
        """
        found = self.tree.query_radius(queries, self._radii(needed))
        return np.array([one.size for one in found]), self.among[np.concatenate(found)]

    def _radii(self, needed: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(needed) * (1 + self.rounding) + 2.0**-511)  # whose square is tiny


def _assembled(n: int, parts: list[Settled]) -> Neighborhoods:
    """Put the complete lists in the order of their rows."""
    # A row that had to ask again stands in two parts, the first time with an empty list.
    lengths = np.zeros(n, dtype=np.int64)
    for part in parts:
        lengths[part.rows] += part.lengths
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(indptr[-1], dtype=np.int64)
    squared = np.empty(indptr[-1])
    for part in parts:
        # Where each list begins in its part. An entry moves by as much as its list does: from there
        # to where the list begins in the whole.
        before = np.cumsum(part.lengths) - part.lengths
        target = np.arange(part.indices.size) + np.repeat(indptr[part.rows] - before, part.lengths)
        indices[target] = part.indices
        squared[target] = part.squared
    return Neighborhoods(indptr, indices, squared)


def _as_points(X: Any) -> Any:
    """Return samples as float64 in C order (or CSR), copied only where they are not."""
    if sp.issparse(X):
        return canonical_csr(X).astype(np.float64, copy=False)
    return np.ascontiguousarray(X, dtype=np.float64)


def _exponent(values: np.ndarray) -> int:
    """Return the power of two to divide by so that squares neither overflow nor vanish."""
    # The largest size of a coordinate, without the copy that np.abs would make.
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    safe = 2.0**-SAFE_EXPONENT
    flat = values.reshape(-1)
    # Zeros are safe, other small coordinates are not: their differences may have no squares.
    # Block by block, for the same reason.
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


def _first_copies(points: Any, n_copies: int) -> np.ndarray:
    """Return the samples, less those that at least ``n_copies`` equal samples come before."""
    if sp.issparse(points):
        # Rows of different length have no bytes to sort by. Leaving copies in is only slower.
        return np.arange(points.shape[0])
    # Adding 0.0 turns -0.0 into 0.0, so that equal samples have equal bytes.
    rows = (points + 0.0).view(np.dtype((np.void, points.itemsize * points.shape[1]))).reshape(-1)
    # Equal samples become neighbours, in the order of their indices as the sort is stable.
    order = np.argsort(rows, kind="stable")
    new = np.ones(rows.size, dtype=bool)
    new[1:] = rows[order[1:]] != rows[order[:-1]]
    first = np.flatnonzero(new)
    # How many equal samples come before: the place in the order less that of the first copy.
    copy = np.arange(rows.size) - np.repeat(first, np.diff(np.append(first, rows.size)))
    return np.sort(order[copy < n_copies])


def _blocks(loads: np.ndarray) -> Iterator[np.ndarray]:
    """Split the positions of ``loads``, which must not increase, into runs of at most BLOCK."""
    start = 0
    while start < loads.size:
        # The first load of a run is its largest. A row that is too large alone is a run by itself.
        stop = start + max(1, BLOCK // int(loads[start]))
        yield np.arange(start, min(stop, loads.size))
        start = stop
