"""Exact nearest neighbours: the same lists on any machine, with duplicates and ties in their place.

The one door to them. Samples are scaled here so that squares neither overflow nor vanish; which
search they are then asked by is chosen in one place, :func:`search_of`. Among few features that is
the k-d tree here, which holds the points in the order of its leaves. Lists are made in that order,
too, so that one query finds in the cache what the one before it read. They are those of all
coordinate differences in double precision, whatever the shape of the tree and the number of
threads: ``firstcut.kernels.tree`` tells why.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.affinity.neighbors.searching import (
    DEVICES,
    FEWEST_FEATURES,
    LITTLE_MEMORY,
    NEIGHBORS,
    PAIR_SECONDS,
    PROBED_FEATURES,
    SAFE_EXPONENT,
    TREE_FEATURES,
    Search,
    Wanted,
)
from firstcut.kernels.tree import LANES, SAMPLED, grow, list_nearest, list_within
from firstcut.results import NeighborSearch
from firstcut.threads import count_threads, in_blocks
from firstcut.validation import (
    RandomState,
    as_generator,
    canonical_csr,
    check_callback,
    check_choice,
    check_samples,
    index_type,
    is_on_gpu,
)

SOON = 10**10
"""Products of coordinates, over all pairs, that take a fraction of a second: no forecast needed."""

ENTRY_BYTES = 48
"""Bytes per neighbour of a sample, from lists to the graph: four times an index and a weight."""

MOST_COPIED = 128
"""Features of the copies of samples that searches make: exact ones of many features make none."""

PROBES, PROBED_COUNT = 64, 10
"""Points whose nearest are searched for to see what a tree will cost, and how many of them."""

VISIT_SECONDS = 30e-9, 6e-9
"""What a node of the tree costs, and what it does for every feature: measured with 10 neighbours,
from 20,000 to 1,000,000 uniform points of 2 to 16 features, between 42 ns and 250 ns."""

START_SECONDS = 0.1
"""What products cost, however few there are."""

SUBTREE = 2**16
"""Points that one thread builds a tree of by itself: they stay in its cache."""

COPIED = 2**18
"""Coordinates that are copied at once."""

LISTED, FEWEST_ROWS = 2**17, 64
"""Entries of lists that are made at once, halved for every feature, and the fewest rows: a fraction
of a second, for threads to share evenly and Ctrl-C to be heard."""

LARGEST_EXPONENT = 420
"""What is scaled is at most 2⁴²⁰: near enough to overflow that coordinates 10²⁸⁰ times as small
still have squares, and as far from it as ``FAR`` needs."""

FAR = 2.0**480
"""From here all samples are equally far to the last bit, and squared distances do not overflow."""

PLAIN = (("auto", "auto"), ("exact", "auto"), ("auto", "cpu"), ("exact", "cpu"))
"""What is wanted where nothing but the size of the data decides."""

CACHED = 2**17
"""Coordinates that are looked at together: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """For every sample the list of its nearest others, nearest first, ties by index.

    Attributes
    ----------
    indptr : int64 ndarray of shape (n + 1,)
        The list of sample i is ``indices[indptr[i]:indptr[i + 1]]``.
    indices : ndarray of shape (n_listed,)
        The samples listed, never the sample itself; int32 where there are not too many.
    squared : float64 ndarray of shape (n_listed,)
        Their squared Euclidean distances, in the units of the index.
    told : NeighborSearch
        How they were found.
    """

    indptr: np.ndarray
    indices: np.ndarray
    squared: np.ndarray
    told: NeighborSearch


class NeighborIndex:
    """Samples that are asked which of them are nearest.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n_features), or a tensor on a GPU
        Finite samples.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core, -2 one less. The lists do not depend on
        it.
    wanted : Wanted, optional
        How the samples' own neighbours are to be found; new ones always are exactly.

    Attributes
    ----------
    points : float32 or float64 ndarray (C order), or float64 csr_array, of shape (n, n_features)
        X / 2^exponent. A power of two rounds nothing, so that X and 2X have the same lists, and
        their squared distances the same bits.
    exponent : int
        0, unless squares of X could overflow or vanish. The index computes, and returns, squared
        distances between ``points``: those of X divided by 4^exponent.

    Examples
    --------
    >>> import numpy as np
    >>> from firstcut.affinity.neighbors.index import NeighborIndex
    >>> index = NeighborIndex(np.array([[0.0], [1.0], [3.0]]))
    >>> index.nearest_others(1).indices
    array([1, 0, 1], dtype=int32)
    >>> index.nearest(np.array([[2.0]]), 2)
    (array([[1, 2]], dtype=int32), array([[1., 1.]]))
    """

    def __init__(self, X: Any, n_jobs: int | None = None, wanted: Wanted | None = None) -> None:
        self.n_threads = count_threads(n_jobs)
        self._wanted = wanted or Wanted()
        self._tensor = None
        self.exponent = 0
        if is_on_gpu(X):
            from firstcut.affinity.neighbors.devices import has_safe_squares, on_host

            if has_safe_squares(X):
                self._tensor = X
                return
            X = on_host(X)
        points = _as_points(X)
        self.exponent = _exponent(points.data if sp.issparse(points) else points)
        self.points = _scaled(points, self.exponent) if self.exponent else points

    @cached_property
    def points(self) -> Any:
        """The samples on the host; see the class. Those on a GPU come here only if asked for."""
        from firstcut.affinity.neighbors.devices import on_host

        return on_host(self._tensor)

    @cached_property
    def exact(self) -> Search:
        """The exact search on the processor that suits the samples."""
        n, n_features = self.points.shape
        if not sp.issparse(self.points) and n_features <= max(TREE_FEATURES, PROBED_FEATURES):
            tree = TreeSearch(self.points, self.n_threads)
            pair = PAIR_SECONDS[0] + PAIR_SECONDS[1] * n_features
            if n_features <= TREE_FEATURES or tree.pays(START_SECONDS / n + n * pair):
                return tree
        from firstcut.affinity.neighbors.products import ProductSearch

        return ProductSearch(self.points, self.n_threads)

    def __getstate__(self) -> dict[str, Any]:
        # The samples are enough: the search is made again when it is asked for.
        kept = {"n_threads", "_wanted", "exponent"}
        state = {name: value for name, value in self.__dict__.items() if name in kept}
        return {**state, "points": self.points, "_tensor": None}

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
        if count == 0:
            n = self.points.shape[0]
            return Neighborhoods(
                np.zeros(n + 1, dtype=np.int64),
                *_empty_lists(0, n),
                NeighborSearch("tree", 1.0, 0.0),
            )
        begin = perf_counter()
        self._check_memory(count)
        search = self._search(count)
        indptr, indices, squared = search.nearest_others(count, offset)
        told = NeighborSearch(search.method, search.recall, perf_counter() - begin)
        return Neighborhoods(indptr, indices, squared, told)

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
        n = self.points.shape[0]
        if new.shape[0] == 0:
            return _empty_lists((0, count), n)
        # In the units of the index; what lies far beyond its samples is brought to FAR.
        queries = _as_points(new)
        queries = _scaled(queries.astype(np.float64, copy=False), self.exponent)
        if sp.issparse(queries) and not sp.issparse(self.points):
            queries = queries.toarray()
        return self.exact.nearest(queries, count)

    def _check_memory(self, count: int) -> None:
        """Raise MemoryError if lists of so many and their graph need more than there is."""
        n, n_features = (self.points if self._tensor is None else self._tensor).shape
        # Lists, their transpose and the union of both; and the samples once more, in another order.
        needed = n * (ENTRY_BYTES * count + 8 * min(n_features, MOST_COPIED))
        if needed > LITTLE_MEMORY:
            from firstcut.memory import check_memory

            check_memory(
                needed,
                f"A graph of {n} samples with {count} neighbours each",
                "Pass fewer n_neighbors, or cut a sample of the data and predict the rest.",
            )

    def _search(self, count: int) -> Search:
        """Return the search of the samples' own neighbours: the one place where it is chosen."""
        samples = self._tensor if self._tensor is not None else self.points
        n, n_features = samples.shape
        if self._wanted[:2] in PLAIN and self._tensor is None:
            few = not sp.issparse(samples) and n_features <= FEWEST_FEATURES
            if few or self._wanted[:2] == ("exact", "cpu") or n * n * n_features <= SOON:
                return self.exact
        from firstcut.affinity.neighbors.choice import chosen_search

        return chosen_search(self, samples, count, self._wanted)


class TreeSearch:
    """Points in a k-d tree.

    Parameters
    ----------
    points : float32 or float64 ndarray of shape (n, n_features)
        Finite points whose squared distances neither overflow nor vanish.
    n_threads : int
        Threads to use; nothing depends on it.
    """

    method, recall = "tree", 1.0

    def __init__(self, points: np.ndarray, n_threads: int) -> None:
        n, n_features = points.shape
        index = index_type(n)
        n_blocks = -(-n // LANES)
        self._n, self._n_features, self._n_threads = n, n_features, n_threads
        self._depth = n_blocks.bit_length() - 1
        n_nodes = 2 << self._depth
        blocks = np.empty((n_blocks, n_features, LANES), dtype=points.dtype)
        numbers = np.arange(n_blocks * LANES, dtype=index)
        numbers[n:] = np.iinfo(index).max
        blocks[-1] = np.inf  # what is left of the last block is no point
        boxes = np.empty((n_nodes, 2, n_features), dtype=points.dtype)
        self._tree = blocks, numbers, boxes, np.empty(n_nodes, dtype=index)

        # 1. Copy the points, coordinate by coordinate within each block.
        def copy(start: int, stop: int) -> None:
            part = points[start * LANES : min(stop, n // LANES) * LANES]
            whole = part.reshape(-1, LANES, n_features).transpose(0, 2, 1)
            blocks[start : start + whole.shape[0]] = whole
            if stop * LANES > n:
                blocks[-1, :, : n % LANES] = points[n - n % LANES :].T

        in_blocks(copy, n_blocks, COPIED // (LANES * n_features), n_threads)
        # 2. Split the top of the tree, level by level, and what is below it, subtree by subtree.
        #    How many levels are the top depends on the points alone.
        top = min(max(0, (n // SUBTREE).bit_length()), self._depth)
        for level in range(top):
            self._grow(level, level + 1)
        self._grow(top, self._depth + 1)

    def _grow(self, level: int, bottom: int) -> None:
        """Split the nodes of a level, and those below it down to, but without, ``bottom``."""

        def grow_one(j: int, _: int) -> None:
            node = (1 << level) + j
            grow(self._tree, level, bottom, node, self._n, np.empty(SAMPLED, dtype=np.int64))

        in_blocks(grow_one, 1 << level, 1, self._n_threads)

    def pays(self, seconds: float) -> bool:
        """Tell whether lists take less than so many seconds each, by what some of them visit.

        It is decided by counting, not by the clock, and so the same every time.
        """
        n_probes = min(PROBES, self._n)
        allowed = n_probes * seconds / (VISIT_SECONDS[0] + VISIT_SECONDS[1] * self._n_features)
        # One by one, as a single one may be enough to tell that it does not.
        for p in np.arange(n_probes) * self._n // n_probes:
            query = self._tree[0][p // LANES, :, p % LANES].astype(np.float64)[None]
            count = min(PROBED_COUNT, self._n)
            found = _empty_lists((1, count), self._n)
            allowed -= list_nearest(self._tree, query, 0, 1, *found, self._scratch(count))
            if allowed < 0:
                return False
        return True

    def nearest_others(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """List the ``count`` nearest others of every point; see ``NeighborIndex``."""
        indices, squared = _empty_lists((self._n, count), self._n)
        no_queries = np.empty((0, self._n_features))

        def ask(start: int, stop: int) -> None:
            scratch = self._scratch(count)
            list_nearest(self._tree, no_queries, start, stop, indices, squared, scratch)

        in_blocks(ask, self._n, self._most_rows(count), self._n_threads)
        if offset > 0:
            return self._extended(indices, squared, offset)
        indptr = np.arange(self._n + 1, dtype=np.int64) * count
        return indptr, indices.reshape(-1), squared.reshape(-1)

    def _extended(
        self, nearest: np.ndarray, distances: np.ndarray, offset: float
    ) -> tuple[np.ndarray, ...]:
        """Let lists go on to whatever is strictly nearer than their last entry plus an offset."""
        count = nearest.shape[1]
        needed = distances[:, -1] + offset
        indptr = np.zeros(self._n + 1, dtype=np.int64)
        indices, squared = _empty_lists(0, self._n)

        def ask(start: int, stop: int) -> None:
            scratch = self._scratch(count)
            list_within(self._tree, start, stop, needed, indptr, indices, squared, scratch)

        # 1. Count, and make room, at least for what is listed already.
        in_blocks(ask, self._n, self._most_rows(count), self._n_threads)
        short = np.flatnonzero(indptr[1:] < count)
        np.maximum(indptr[1:], count, out=indptr[1:])
        np.cumsum(indptr, out=indptr)
        if indptr[-1] == nearest.size:
            return indptr, nearest.reshape(-1), distances.reshape(-1)
        indices = np.empty(indptr[-1], dtype=nearest.dtype)
        squared = np.empty(indptr[-1])
        # 2. Fill. Where the offset is lost beside the distance, some that are listed already are
        #    not strictly nearer.
        places = indptr[short, None] + np.arange(count)
        indices[places], squared[places] = nearest[short], distances[short]
        in_blocks(ask, self._n, self._most_rows(count), self._n_threads)
        return indptr, indices, squared

    def nearest(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``count`` points nearest to every query, and their squared distances."""
        indices, squared = _empty_lists((queries.shape[0], count), self._n)

        def ask(start: int, stop: int) -> None:
            # A copy in double precision: whatever they are, the compiled code is the same.
            part = np.array(queries[start:stop], dtype=np.float64, order="C")
            found = indices[start:stop], squared[start:stop]
            list_nearest(self._tree, part, 0, stop - start, *found, self._scratch(count))

        in_blocks(ask, queries.shape[0], self._most_rows(count), self._n_threads)
        return indices, squared

    def _most_rows(self, count: int) -> int:
        """Return how many lists of this length are made at once."""
        return max(FEWEST_ROWS, min(LISTED // count, LISTED >> int(self._n_features)))

    def _scratch(self, count: int) -> tuple[np.ndarray, ...]:
        """Return what one thread of :func:`list_nearest` needs beside its arguments."""
        stack = self._depth + 2
        return (
            np.empty(self._n_features),
            np.empty((2, LANES)),
            np.empty(stack, dtype=np.int64),
            np.empty(stack),
            np.empty(count, dtype=index_type(self._n)),
            np.empty(count),
        )


def _empty_lists(shape: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(shape, dtype=index_type(n_samples)), np.empty(shape)


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


def checked_samples(X: Any) -> Any:
    """Return finite samples, as arrays or, where they lie on a GPU, as a tensor there."""
    if is_on_gpu(X):
        from firstcut.affinity.neighbors.devices import check_gpu_samples

        return check_gpu_samples(X)
    return check_samples(X)


def check_wanted(
    neighbors: str, device: str, random_state: RandomState, callback: object
) -> Wanted:
    """Return how neighbours are to be found, or raise where there is no such way."""
    check_callback(callback)
    return Wanted(
        check_choice("neighbors", neighbors, NEIGHBORS),
        check_choice("device", device, DEVICES),
        int(as_generator(random_state).integers(2**31)),
    )


def rows_of(indices: np.ndarray, weights: np.ndarray, n_samples: int) -> sp.csr_array:
    """Return the (n_new, n_samples) matrix with these weights at these samples of every row."""
    # Entries stay nearest first: CSR does not ask for sorted columns.
    indptr = np.arange(0, indices.size + 1, indices.shape[1])
    shape = (indices.shape[0], n_samples)
    return sp.csr_array((weights.reshape(-1), indices.reshape(-1), indptr), shape=shape)


def graph_or_loop(graph: Any, X: Any, *args: Any, **parameters: Any) -> sp.csr_array:
    """Return ``graph(X, ...)``; for a single sample, with ``n_neighbors=0``, a self-loop."""
    return joined(checked_samples(X)) if _is_alone(X, parameters) else graph(X, *args, **parameters)


def rows_or_ones(rows: Any, X: Any, **parameters: Any) -> Any:
    """Return ``rows(X, ...)``; for a single sample, with ``n_neighbors=0``, :func:`joined`."""
    return joined if _is_alone(X, parameters) else rows(X, **parameters)


def joined(new: Any) -> sp.csr_array:
    """Return weight 1 between every new sample and the only one there is."""
    return sp.csr_array(np.ones((new.shape[0], 1)))


def _is_alone(X: Any, parameters: dict[str, Any]) -> bool:
    return parameters.get("n_neighbors") == 0 and np.shape(X)[:1] == (1,)
