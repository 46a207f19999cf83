"""Approximate nearest neighbors with inverted lists (IVF): search only the nearest lists.

1. Set aside samples with so many earlier copies that these fill their neighbor lists.
2. Reduce the other samples to few coordinates (``approximate_coordinates``) and sort them into
   inverted lists of about a hundred near points: a balanced two-means tree, split by position so
   that duplicates do not accumulate, then a few rounds of k-means that start from its leaves and
   compare a point only with the means near its own leaf. Lists that are too long are split.
3. Search the lists with the nearest means. Their number is chosen on some samples with known
   neighbors.
4. Compute the distances of the best candidates from the coordinate differences of the samples.

The comparisons are matrix products, so that thousands of them per sample are affordable.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastcut.affinity.neighbors.approximate_coordinates import (
    Coordinates,
    Pmap,
    coordinates_of,
    nearest_of,
    search_lists,
)
from leastcut.affinity.neighbors.common import groups_of_copies
from leastcut.threads import Threads, single_threaded

RECALL = 0.975  # target recall, measured on sampled rows
MOST_COMPARED = 2**15  # points that a sample is compared with at most
NEAR_FACTOR = 6  # lists from which the samples of a list choose / lists that they search

# Leaves have half to all of this number of points; longer lists are faster but less selective.
LONGEST_LEAF = 128
MEANS_SAMPLE = 64  # points that determine two means
MEANS_ROUNDS = 2  # of two-means; the direction between the means need not be exact
LLOYD_ROUNDS = 2  # of k-means; the first improves the lists most
NEAR_LISTS = 32  # neighboring lists among which a point looks for the nearest mean
LONGEST = 4  # lists longer than this number of leaves are split
BLOCK_ROWS = 2048  # approximate number of points of neighboring lists in a block


def approximate_neighbors(
    points: np.ndarray, count: int, n_threads: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return approximate lists of the ``count`` nearest neighbors, and their squared distances.

    Samples are finite, in single or double precision and in C order; they may be memory-mapped.
    Squares of differences must neither overflow nor underflow in double precision. Lists are sorted
    by distance, then by index, and do not depend on the number of threads.
    """
    n = points.shape[0]
    rng = np.random.default_rng(seed)
    indices, squared = np.empty((n, count), np.int32), np.empty((n, count))
    with single_threaded(), Threads(n_threads) as pmap:
        # 1. At least count + 1 samples remain.
        searched = _without_late_copies(points, count, indices, squared, pmap)
        # 2.
        coordinates = coordinates_of(points, searched, count, rng, pmap)
        lists = build_inverted_lists(coordinates.points, rng, pmap)
        # 3. and 4.
        search = _Search(points, searched, coordinates, lists, indices, squared)
        pmap(search.block, lists.blocks())
    return indices, squared


class _Search:
    """The search in all blocks of lists; a block writes the rows of its own samples."""

    def __init__(
        self,
        points: np.ndarray,
        searched: np.ndarray,
        coordinates: Coordinates,
        lists: InvertedLists,
        indices: np.ndarray,
        squared: np.ndarray,
    ) -> None:
        self.points, self.lists = points, lists
        self.n_searched = _n_searched(lists, coordinates)
        self.sample_ids = searched[lists.order]
        self.half_norms = coordinates.half_norms[lists.order]
        self.width = coordinates.width
        self.longest = int(np.diff(lists.starts).max())
        self.indices, self.squared = indices, squared

    def block(self, block: tuple[int, int]) -> None:
        """Find the neighbors of the samples in the lists first..last-1."""
        first, last = block
        list_ids = self.lists.nearby(first, last, NEAR_FACTOR * self.n_searched)
        positions = np.arange(self.lists.starts[first], self.lists.starts[last])
        candidates = self._candidates(positions, list_ids, self.n_searched)
        # If the lists hold too few points, search more lists, eventually all.
        n_searched = self.n_searched
        all_lists = np.arange(self.lists.means.shape[0])
        while (short := np.flatnonzero(candidates[:, -1] < 0)).size:
            n_searched *= 2
            candidates[short] = self._candidates(positions[short], all_lists, n_searched)
        rows = self.sample_ids[positions]
        count, dtype = self.indices.shape[1], self.indices.dtype
        nearest = nearest_of(self.points, rows, self.sample_ids[candidates], count, dtype)
        self.indices[rows], self.squared[rows] = nearest

    def _candidates(
        self, positions: np.ndarray, list_ids: np.ndarray, n_searched: int
    ) -> np.ndarray:
        """Return the best candidates from the nearest of the lists ``list_ids``."""
        queries = self.lists.points[positions]
        distances = half_distances(self.lists.means[list_ids], queries)
        lists = (self.lists.points, self.half_norms, self.lists.starts)
        return search_lists(
            lists, list_ids, distances, n_searched, queries, positions, self.width, self.longest
        )[1]


def _n_searched(lists: InvertedLists, coordinates: Coordinates) -> int:
    """Return the number of nearest lists that reach the target recall of the known neighbors."""
    truth = coordinates.truth
    places = np.empty(lists.order.size, dtype=np.int64)
    places[lists.order] = np.arange(places.size)
    list_of = np.searchsorted(lists.starts, places[truth.neighbors], side="right") - 1
    distances = half_distances(lists.means, lists.points[places[truth.rows]])
    ranks = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    needed = np.sort(np.take_along_axis(ranks, list_of, axis=1).reshape(-1))
    # Some neighbors in the searched lists are not among the candidates.
    fraction = min(1.0, RECALL / coordinates.kept)
    enough = int(needed[int(np.ceil(fraction * needed.size)) - 1]) + 1
    sizes = places.size / lists.means.shape[0]
    return max(1, min(enough, int(MOST_COMPARED / sizes)))


def _without_late_copies(
    points: np.ndarray, count: int, indices: np.ndarray, squared: np.ndarray, pmap: Pmap
) -> np.ndarray:
    """Return the samples without those that have more than ``count`` earlier copies.

    The neighbors of the latter, the first ``count`` copies at distance 0, are written. They are
    never neighbors themselves, as ties are broken by index.
    """
    is_late = np.zeros(points.shape[0], dtype=bool)
    for group in groups_of_copies(points, count + 1, pmap):
        rest = group[count + 1 :]
        is_late[rest] = True
        indices[rest], squared[rest] = group[:count], 0.0
    return np.flatnonzero(~is_late)


class InvertedLists(NamedTuple):
    """Points in the order of their inverted lists; consecutive lists are near each other.

    List k is at positions ``starts[k]`` to ``starts[k + 1] - 1``.
    """

    order: np.ndarray  # the point at every position
    points: np.ndarray  # the points in this order
    starts: np.ndarray  # (n_lists + 1,)
    means: np.ndarray  # the mean of every list

    def blocks(self) -> list[tuple[int, int]]:
        """Return ranges of lists with about BLOCK_ROWS points each."""
        block = self.starts[:-1] // BLOCK_ROWS
        firsts = np.flatnonzero(np.r_[True, block[1:] != block[:-1]])
        return list(zip(firsts.tolist(), [*firsts[1:].tolist(), block.size], strict=True))

    def nearby(self, first: int, last: int, count: int) -> np.ndarray:
        """Return the union of the ``count`` lists nearest to each of the lists first..last-1."""
        n_lists = self.means.shape[0]
        if count >= n_lists:
            return np.arange(n_lists)
        distances = half_distances(self.means, self.means[first:last])
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        return np.unique(nearest)


def half_distances(means: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return half of the squared distances between points (rows) and means, minus |x|²/2."""
    half_norms = 0.5 * np.einsum("ij,ij->i", means, means)
    products = points @ means.T
    return np.asarray(np.subtract(half_norms, products, out=products))


def build_inverted_lists(points: np.ndarray, rng: np.random.Generator, pmap: Pmap) -> InvertedLists:
    """Sort the points into inverted lists."""
    lists = _sorted(points, *_tree(points, rng, pmap))
    if lists.means.shape[0] == 1:
        return lists
    for _ in range(LLOYD_ROUNDS):
        lists = _reassigned(points, lists, pmap)
    return lists


def _tree(
    points: np.ndarray, rng: np.random.Generator, pmap: Pmap
) -> tuple[np.ndarray, np.ndarray]:
    """Return the leaves of a two-means tree: an order of the points, and the start of each leaf."""
    n = points.shape[0]
    order, starts = np.arange(n), np.array([0, n])

    def halve(task: tuple[int, int, np.ndarray]) -> None:
        start, stop, draws = task
        members = order[start:stop]
        sample = points[members[(draws * (stop - start)).astype(np.int64)]]
        along = points[members] @ _between_means(sample)
        middle = (stop - start + 1) // 2
        order[start:stop] = members[np.argpartition(along, middle)]

    while np.diff(starts).max() > LONGEST_LEAF:
        draws = rng.random((starts.size - 1, MEANS_SAMPLE))
        pmap(halve, list(zip(starts[:-1], starts[1:], draws, strict=True)))
        middles = starts[:-1] + (np.diff(starts) + 1) // 2
        starts = np.sort(np.concatenate((starts, middles)))
    return order, starts


def _between_means(sample: np.ndarray) -> np.ndarray:
    """Return the direction between the two means of a sample."""
    left, right = sample[0], sample[1:].mean(axis=0)
    for _ in range(MEANS_ROUNDS):
        along = sample @ (left - right)
        nearer = along > 0.5 * (left + right) @ (left - right)
        if nearer.all() or not nearer.any():
            break
        left, right = sample[nearer].mean(axis=0), sample[~nearer].mean(axis=0)
    return np.asarray(left - right)


def _sorted(points: np.ndarray, order: np.ndarray, starts: np.ndarray) -> InvertedLists:
    """Return the nonempty lists and their means."""
    starts = np.unique(starts)
    ordered = points[order]
    sums = np.add.reduceat(ordered, starts[:-1], axis=0)
    means = sums / np.diff(starts)[:, None].astype(points.dtype)
    return InvertedLists(order, ordered, starts, means)


def _reassigned(points: np.ndarray, lists: InvertedLists, pmap: Pmap) -> InvertedLists:
    """Return new lists: every point moves to the list with the nearest mean."""
    n_lists = lists.means.shape[0]
    chosen = np.empty(points.shape[0], dtype=np.int64)

    def assign(block: tuple[int, int]) -> None:
        list_ids = lists.nearby(*block, NEAR_LISTS)
        places = slice(lists.starts[block[0]], lists.starts[block[1]])
        distances = half_distances(lists.means[list_ids], lists.points[places])
        chosen[places] = list_ids[np.argmin(distances, axis=1)]

    pmap(assign, lists.blocks())
    by_list = np.argsort(chosen, kind="stable")
    sizes = np.bincount(chosen, minlength=n_lists)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    # Split lists that are too long into pieces of equal length.
    cuts: list[Any] = [starts]
    for k in np.flatnonzero(sizes > LONGEST * LONGEST_LEAF):
        cuts.append(np.arange(starts[k], starts[k + 1], LONGEST * LONGEST_LEAF))
    return _sorted(points, lists.order[by_list], np.concatenate(cuts))
