"""Samples that are asked which of them are nearest: the one door to all searches.

Samples are scaled here so that squares neither overflow nor vanish. Which search they are then
asked by is chosen here for little data, and by forecasts in ``choice`` for much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.neighbors.searching import (
    DEVICES,
    FEWEST_FEATURES,
    NEIGHBORS,
    PAIR_SECONDS,
    PROBED_FEATURES,
    SAFE_EXPONENT,
    TREE_FEATURES,
    Search,
    Wanted,
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

if TYPE_CHECKING:
    from leastcut.affinity.neighbors.angles import Angles
    from leastcut.affinity.neighbors.pairs import PairSearch

SOON = 10**10
"""Products of coordinates, over all pairs, that take a fraction of a second: no forecast needed."""

PROBED_PRODUCTS = 10**9
"""Products of coordinates, over all pairs, up to which it is not worth asking what a tree takes."""

ENTRY_BYTES = 48
"""Bytes per neighbour of a sample, from lists to the graph: four times an index and a weight."""

MOST_COPIED = 128
"""Features of the copies of samples that searches make: exact ones of many features make none."""

START_SECONDS = 0.1
"""What products cost, however few there are."""

LARGEST_EXPONENT = 420
"""What is scaled is at most 2⁴²⁰: near enough to overflow that coordinates 10²⁸⁰ times as small
still have squares, and as far from it as ``FAR`` needs."""

FAR = 2.0**480
"""From here all samples are equally far to the last bit, and squared distances do not overflow."""

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
    metric : str or callable, default="euclidean"
        What near means, a name in ``neighbors.metrics.METRICS`` or a function of two samples. The
        squared distances are those that stand there.
    metric_params : dict, optional
        Its parameters.

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
    >>> from leastcut.affinity.neighbors.index import NeighborIndex
    >>> index = NeighborIndex(np.array([[0.0], [1.0], [3.0]]))
    >>> index.nearest_others(1).indices
    array([1, 0, 1], dtype=int32)
    >>> index.nearest(np.array([[2.0]]), 2)
    (array([[1, 2]], dtype=int32), array([[1., 1.]]))
    """

    def __init__(
        self,
        X: Any,
        n_jobs: int | None = None,
        wanted: Wanted | None = None,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_threads = count_threads(n_jobs)
        self._wanted = wanted or Wanted()
        self._tensor = None
        self.exponent = 0
        # Unit rows, or pairs one by one, where samples are not compared as they are.
        self._angles: Angles | None = None
        self._pairs: PairSearch | None = None
        if metric != "euclidean":
            from leastcut.affinity.neighbors.metrics import angles_of, pairs_of

            self._angles = angles_of(metric, X, warn=wanted is not None)
            self._pairs = pairs_of(metric, metric_params, X, self.n_threads, wanted)
            X = X if self._angles is None else self._angles.points
        if self._pairs is not None:
            self.points = self._pairs.points
            return
        if is_on_gpu(X):
            from leastcut.affinity.neighbors.devices import has_safe_squares, on_host

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
        from leastcut.affinity.neighbors.devices import on_host

        return on_host(self._tensor)

    @cached_property
    def exact(self) -> Search:
        """The exact search on the processor that suits the samples."""
        if self._pairs is not None:
            return self._pairs
        n, n_features = self.points.shape
        most = PROBED_FEATURES if n * n * n_features > PROBED_PRODUCTS else TREE_FEATURES
        if not sp.issparse(self.points) and n_features <= max(TREE_FEATURES, most):
            tree = TreeSearch(self.points, self.n_threads)
            pair = PAIR_SECONDS[0] + PAIR_SECONDS[1] * n_features
            if n_features <= TREE_FEATURES or tree.pays(START_SECONDS / n + n * pair):
                return tree
        from leastcut.affinity.neighbors.products import ProductSearch

        return ProductSearch(self.points, self.n_threads)

    def __getstate__(self) -> dict[str, Any]:
        # The samples are enough: the search is made again when it is asked for.
        kept = {"n_threads", "_wanted", "exponent", "_angles", "_pairs"}
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
            told = NeighborSearch("tree", 1.0, 0.0)
            indices = np.empty(0, dtype=index_type(n))
            return Neighborhoods(np.zeros(n + 1, dtype=np.int64), indices, np.empty(0), told)
        begin = perf_counter()
        self._check_memory(count)
        search = self._search(count)
        indptr, indices, squared = search.nearest_others(count, offset)
        if self._angles is not None:
            self._angles.settle_lists(indptr, indices, squared)
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
            return np.empty((0, count), dtype=index_type(n)), np.empty((0, count))
        if self._pairs is not None:
            return self._pairs.nearest(new, count)
        if self._angles is not None:
            rows = self._angles.of_new(new)
            found, squared = self._nearest(rows.points, count)
            return self._angles.settled(rows, found, squared)
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
        n, n_features = (self.points if self._tensor is None else self._tensor).shape
        # Lists, their transpose and the union of both; and the samples once more, in another order.
        needed = n * (ENTRY_BYTES * count + 8 * min(n_features, MOST_COPIED))
        if needed > LITTLE_MEMORY:
            check_memory(
                needed,
                f"A graph of {n} samples with {count} neighbours each",
                "Pass fewer n_neighbors, or cut a sample of the data and predict the rest.",
            )

    def _search(self, count: int) -> Search:
        """Return the search of the samples' own neighbours: the one place where it is chosen."""
        samples = self._tensor if self._tensor is not None else self.points
        n, n_features = samples.shape
        neighbors, device, _ = self._wanted
        if self._pairs is not None:
            return self._pairs
        if neighbors != "approximate" and device != "cuda" and self._tensor is None:
            few = not sp.issparse(samples) and n_features <= FEWEST_FEATURES
            if few or (neighbors, device) == ("exact", "cpu") or n * n * n_features <= SOON:
                return self.exact
        from leastcut.affinity.neighbors.choice import chosen_search

        return chosen_search(self, samples, count, self._wanted)


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
        from leastcut.affinity.neighbors.devices import check_gpu_samples

        return check_gpu_samples(X)
    return check_samples(X)


def check_wanted(
    neighbors: str,
    device: str,
    random_state: RandomState,
    callback: object,
    metric: object = "euclidean",
    metric_params: object = None,
) -> Wanted:
    """Return how neighbours are to be found, or raise where there is no such way, or metric."""
    check_callback(callback)
    if not isinstance(metric, str) or metric != "euclidean" or metric_params is not None:
        from leastcut.affinity.neighbors.metrics import check_metric  # which other metrics need

        check_metric(metric, metric_params)
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
