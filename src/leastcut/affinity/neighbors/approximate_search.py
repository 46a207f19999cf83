"""Approximate nearest neighbours: every point is compared with the lists of points near it.

1. Samples of which more copies come before than can be listed are set aside.
2. The others get few coordinates (see ``approximate_coordinates``) and are sorted into lists
   of some hundred near points (see ``approximate_lists``).
3. Every sample probes the lists whose means are nearest. How many that must be is read off some
   samples whose true neighbours are known.
4. The distances to the best candidates are computed from coordinate differences of the samples.

The comparisons are products of matrices, so that a sample can afford thousands of them.
"""

from __future__ import annotations

import numpy as np

from leastcut.affinity.neighbors.approximate_coordinates import Coordinates, coordinates_of
from leastcut.affinity.neighbors.approximate_lists import Lists, lists_of, nearness
from leastcut.affinity.neighbors.approximate_truth import Each, empty_pool, probe_scratch
from leastcut.kernels.probe import hash_rows, probe, settle
from leastcut.threads import Threads, single_threaded

RECALL = 0.975
"""The share of true neighbours that is aimed at, measured on samples whose neighbours are known."""

MOST_COMPARED = 2**15
"""Points that a sample is compared with, at most, whatever share of its neighbours that finds."""

NEAR_FACTOR = 6
"""Lists around a list that its samples choose from, as a multiple of those that they probe."""

HASHED_ROWS = 2**16
"""Samples that are hashed at once."""


def approximate_neighbors(
    points: np.ndarray, count: int, n_threads: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return nearly the nearest others of every sample.

    Parameters
    ----------
    points : ndarray of shape (n, n_features)
        Finite samples in single or double precision, in C order; they may be mapped from a file.
        Squares of differences neither overflow nor vanish in double precision.
    count : int
        Neighbours wanted, 1..n-1.
    n_threads : int
        Threads; the lists do not depend on it.
    seed : int
        Fixes what is drawn at random.

    Returns
    -------
    indices : int32 ndarray of shape (n, count)
        The neighbours found, nearest first, ties by index, never the sample itself.
    squared : float64 ndarray of shape (n, count)
        Their squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut.affinity.neighbors.approximate_search import approximate_neighbors
    >>> indices, squared = approximate_neighbors(np.array([[0.0], [1.0], [3.0]]), 1, 1, 0)
    >>> indices.tolist(), squared.tolist()
    ([[1], [0], [1]], [[1.0], [1.0], [4.0]])
    """
    n = points.shape[0]
    rng = np.random.default_rng(seed)
    indices, squared = np.empty((n, count), np.int32), np.empty((n, count))
    with single_threaded(), Threads(n_threads) as each:
        # 1. At least count + 1 samples remain: n, or those of a group of copies.
        among = _without_late_copies(points, count, indices, squared, each)
        # 2.
        coordinates = coordinates_of(points, among, count, rng, each)
        lists = lists_of(coordinates.points, rng, each)
        # 3. and 4.
        n_probed = _n_probed(lists, coordinates)
        search = _Search(points, among, coordinates, lists, n_probed, indices, squared)
        each(search.block, lists.blocks())
    return indices, squared


class _Search:
    """The search of all blocks of lists, each of which writes the rows of its own samples."""

    def __init__(
        self,
        points: np.ndarray,
        among: np.ndarray,
        coordinates: Coordinates,
        lists: Lists,
        n_probed: int,
        indices: np.ndarray,
        squared: np.ndarray,
    ) -> None:
        self.points, self.lists, self.n_probed = points, lists, n_probed
        self.names = among[lists.order]
        self.halves = coordinates.halves[lists.order]
        self.width = coordinates.width
        self.longest = int(np.diff(lists.starts).max())
        self.indices, self.squared = indices, squared

    def block(self, block: tuple[int, int]) -> None:
        """Find the neighbours of the samples in the lists first..last-1."""
        first, last = block
        near = self.lists.near(first, last, NEAR_FACTOR * self.n_probed)
        own = np.arange(self.lists.starts[first], self.lists.starts[last])
        found = self._candidates(own, near, self.n_probed)
        # Short lists may hold too few: those who need it probe more, in the end all.
        n_probed = self.n_probed
        everywhere = np.arange(self.lists.means.shape[0])
        while (short := np.flatnonzero(found[:, -1] < 0)).size:
            n_probed *= 2
            found[short] = self._candidates(own[short], everywhere, n_probed)
        rows = self.names[own]
        indices = np.empty((rows.size, self.indices.shape[1]), self.indices.dtype)
        squared = np.empty(indices.shape)
        settle(self.points, rows, self.names[found], indices, squared)
        self.indices[rows], self.squared[rows] = indices, squared

    def _candidates(self, own: np.ndarray, near: np.ndarray, n_probed: int) -> np.ndarray:
        """Return the best candidates in those of the ``near`` lists that are nearest to a row."""
        points = self.lists.points
        queries = points[own]
        distances = nearness(self.lists.means[near], queries)
        pool = empty_pool(own.size, self.width, points.dtype)
        scratch = probe_scratch(distances, n_probed, points.shape[1], self.longest)
        lists = (points, self.halves, self.lists.starts)
        probe(lists, near, n_probed, queries, own, distances, pool, scratch)
        return pool[1]


def _n_probed(lists: Lists, coordinates: Coordinates) -> int:
    """Return how many of the nearest lists hold enough of the neighbours that are known."""
    truth = coordinates.truth
    places = np.empty(lists.order.size, dtype=np.int64)
    places[lists.order] = np.arange(places.size)
    list_of = np.searchsorted(lists.starts, places[truth.neighbors], side="right") - 1
    distances = nearness(lists.means, lists.points[places[truth.rows]])
    ranks = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    needed = np.sort(np.take_along_axis(ranks, list_of, axis=1).reshape(-1))
    # Of those in the lists probed, a part is lost again among the candidates.
    share = min(1.0, RECALL / coordinates.kept)
    enough = int(needed[int(np.ceil(share * needed.size)) - 1]) + 1
    sizes = places.size / lists.means.shape[0]
    return max(1, min(enough, int(MOST_COMPARED / sizes)))


def _without_late_copies(
    points: np.ndarray, count: int, indices: np.ndarray, squared: np.ndarray, each: Each
) -> np.ndarray:
    """Return the samples but those that more than ``count`` equal ones come before.

    The lists of the latter are written: the first ``count`` copies, at distance 0. Nobody needs
    them as neighbours, as ties are broken by index.
    """
    n = points.shape[0]
    words = points.view(np.uint32 if points.dtype == np.float32 else np.uint64)
    sign = words.dtype.type(1 << (8 * words.dtype.itemsize - 1))
    hashes = np.empty(n, dtype=np.uint64)

    def hash_part(start: int) -> None:
        part = slice(start, start + HASHED_ROWS)
        hash_rows(words[part], sign, hashes[part])

    each(hash_part, range(0, n, HASHED_ROWS))
    # Equal hashes side by side, and stable: a group is in the order of its indices.
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    firsts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
    sizes = np.diff(np.r_[firsts, n])
    late = np.zeros(n, dtype=bool)
    for first, size in zip(firsts[sizes > count + 1], sizes[sizes > count + 1], strict=True):
        group = order[first : first + size]
        # Different samples of one hash are too rare to be worth more than leaving them alone.
        if _are_equal(points, group):
            rest = group[count + 1 :]
            late[rest] = True
            indices[rest], squared[rest] = group[:count], 0.0
    return np.flatnonzero(~late)


def _are_equal(points: np.ndarray, group: np.ndarray) -> bool:
    """Return whether all samples of a group are equal."""
    parts = range(0, group.size, HASHED_ROWS)
    first = points[group[0]]
    return all((points[group[start : start + HASHED_ROWS]] == first).all() for start in parts)
