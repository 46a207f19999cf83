"""Approximate nearest neighbors by inverted lists (IVF): compare samples with the lists near them.

1. Samples of which more copies come before than can be listed are set aside.
2. The others get few coordinates (``approximate_coordinates``) and are sorted into inverted lists
   of some hundred near points: a balanced tree of two means, halved by position so that equal
   points do not pile up, and a few rounds of k-means from its leaves. No point is compared with all
   means: those near its own leaf are enough. Lists that became too long are cut by position.
3. Every sample searches the lists whose means are nearest. How many that must be is read off some
   samples whose true neighbors are known.
4. The distances to the best candidates are computed from coordinate differences of the samples.

The comparisons are products of matrices, so that a sample can afford thousands of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastcut.affinity.neighbors.approximate_coordinates import (
    Coordinates,
    Each,
    coordinates_of,
    nearest_of,
    search_lists,
)
from leastcut.affinity.neighbors.searching import groups_of_copies
from leastcut.threads import Threads, single_threaded

RECALL = 0.975  # the fraction of true neighbors that is aimed at, measured on sampled rows
MOST_COMPARED = 2**15  # points that a sample is compared with, whatever that finds
NEAR_FACTOR = 6  # lists that the samples of a list choose from / lists that they search

# Leaves are of half of this to this: shorter lists are nearer to a point, longer ones faster.
LONGEST_LEAF = 128
MEANS_SAMPLE = 64  # points that two means are computed from
MEANS_ROUNDS = 2  # of two-means; the direction between the means need not be exact
LLOYD_ROUNDS = 2  # of k-means; each makes lists rounder, the first the most
NEAR_LISTS = 32  # lists around a list among which a point looks for the nearest mean
LONGEST = 4  # a list that is longer than so many leaves is cut by position
BLOCK_ROWS = 2048  # points of neighboring lists that are worked on together, about


def approximate_neighbors(
    points: np.ndarray, count: int, n_threads: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return nearly the ``count`` nearest others of every sample, and their squared distances.

    Samples are finite, in single or double precision and in C order; they may be mapped from a
    file. Squares of differences neither overflow nor vanish in double precision. Lists are nearest
    first, ties by index, and do not depend on the number of threads.
    """
    n = points.shape[0]
    rng = np.random.default_rng(seed)
    indices, squared = np.empty((n, count), np.int32), np.empty((n, count))
    with single_threaded(), Threads(n_threads) as each:
        # 1. At least count + 1 samples remain: n, or those of a group of copies.
        among = _without_late_copies(points, count, indices, squared, each)
        # 2.
        coordinates = coordinates_of(points, among, count, rng, each)
        lists = build_inverted_lists(coordinates.points, rng, each)
        # 3. and 4.
        search = _Search(points, among, coordinates, lists, indices, squared)
        each(search.block, lists.blocks())
    return indices, squared


class _Search:
    """The search of all blocks of lists, each of which writes the rows of its own samples."""

    def __init__(
        self,
        points: np.ndarray,
        among: np.ndarray,
        coordinates: Coordinates,
        lists: InvertedLists,
        indices: np.ndarray,
        squared: np.ndarray,
    ) -> None:
        self.points, self.lists = points, lists
        self.n_searched = _n_searched(lists, coordinates)
        self.names = among[lists.order]
        self.halves = coordinates.halves[lists.order]
        self.width = coordinates.width
        self.longest = int(np.diff(lists.starts).max())
        self.indices, self.squared = indices, squared

    def block(self, block: tuple[int, int]) -> None:
        """Find the neighbors of the samples in the lists first..last-1."""
        first, last = block
        near = self.lists.near(first, last, NEAR_FACTOR * self.n_searched)
        own = np.arange(self.lists.starts[first], self.lists.starts[last])
        found = self._candidates(own, near, self.n_searched)
        # Short lists may hold too few: those that need it search more, in the end all.
        n_searched = self.n_searched
        everywhere = np.arange(self.lists.means.shape[0])
        while (short := np.flatnonzero(found[:, -1] < 0)).size:
            n_searched *= 2
            found[short] = self._candidates(own[short], everywhere, n_searched)
        rows = self.names[own]
        count, dtype = self.indices.shape[1], self.indices.dtype
        nearest = nearest_of(self.points, rows, self.names[found], count, dtype)
        self.indices[rows], self.squared[rows] = nearest

    def _candidates(self, own: np.ndarray, near: np.ndarray, n_searched: int) -> np.ndarray:
        """Return the best candidates in those of the ``near`` lists that are nearest to a row."""
        queries = self.lists.points[own]
        distances = nearness(self.lists.means[near], queries)
        lists = (self.lists.points, self.halves, self.lists.starts)
        return search_lists(
            lists, near, distances, n_searched, queries, own, self.width, self.longest
        )[1]


def _n_searched(lists: InvertedLists, coordinates: Coordinates) -> int:
    """Return how many of the nearest lists hold enough of the neighbors that are known."""
    truth = coordinates.truth
    places = np.empty(lists.order.size, dtype=np.int64)
    places[lists.order] = np.arange(places.size)
    list_of = np.searchsorted(lists.starts, places[truth.neighbors], side="right") - 1
    distances = nearness(lists.means, lists.points[places[truth.rows]])
    ranks = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    needed = np.sort(np.take_along_axis(ranks, list_of, axis=1).reshape(-1))
    # Of those in the lists searched, a fraction is lost again among the candidates.
    fraction = min(1.0, RECALL / coordinates.kept)
    enough = int(needed[int(np.ceil(fraction * needed.size)) - 1]) + 1
    sizes = places.size / lists.means.shape[0]
    return max(1, min(enough, int(MOST_COMPARED / sizes)))


def _without_late_copies(
    points: np.ndarray, count: int, indices: np.ndarray, squared: np.ndarray, each: Each
) -> np.ndarray:
    """Return the samples but those that more than ``count`` equal ones come before.

    The lists of the latter are written: the first ``count`` copies, at distance 0. Nobody needs
    them as neighbors, as ties are broken by index.
    """
    late = np.zeros(points.shape[0], dtype=bool)
    for group in groups_of_copies(points, count + 1, each):
        rest = group[count + 1 :]
        late[rest] = True
        indices[rest], squared[rest] = group[:count], 0.0
    return np.flatnonzero(~late)


class InvertedLists(NamedTuple):
    """Points in the order of their inverted lists; lists that follow one another are near.

    List k is at the places ``starts[k]`` to ``starts[k + 1] - 1``.
    """

    order: np.ndarray  # which point stands at a place
    points: np.ndarray  # the points in this order
    starts: np.ndarray  # (n_lists + 1,)
    means: np.ndarray  # the mean of every list

    def blocks(self) -> list[tuple[int, int]]:
        """Return ranges of lists, each of about BLOCK_ROWS points."""
        block = self.starts[:-1] // BLOCK_ROWS
        firsts = np.flatnonzero(np.r_[True, block[1:] != block[:-1]])
        return list(zip(firsts.tolist(), [*firsts[1:].tolist(), block.size], strict=True))

    def near(self, first: int, last: int, count: int) -> np.ndarray:
        """Return the ``count`` lists nearest to each of the lists first..last-1, all in one."""
        n_lists = self.means.shape[0]
        if count >= n_lists:
            return np.arange(n_lists)
        distances = nearness(self.means, self.means[first:last])
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        return np.unique(nearest)


def nearness(means: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return half the squared distances of points (rows) from means, less |x|²/2 of each."""
    halves = 0.5 * np.einsum("ij,ij->i", means, means)
    products = points @ means.T
    return np.asarray(np.subtract(halves, products, out=products))


def build_inverted_lists(points: np.ndarray, rng: np.random.Generator, each: Each) -> InvertedLists:
    """Return lists of near points, every point in one of them."""
    lists = _sorted(points, *_tree(points, rng, each))
    if lists.means.shape[0] == 1:
        return lists
    for _ in range(LLOYD_ROUNDS):
        lists = _reassigned(points, lists, each)
    return lists


def _tree(
    points: np.ndarray, rng: np.random.Generator, each: Each
) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the points and where the leaves of a tree of two means start in it."""
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
        each(halve, list(zip(starts[:-1], starts[1:], draws, strict=True)))
        middles = starts[:-1] + (np.diff(starts) + 1) // 2
        starts = np.sort(np.concatenate((starts, middles)))
    return order, starts


def _between_means(sample: np.ndarray) -> np.ndarray:
    """Return the direction between two means of a sample."""
    left, right = sample[0], sample[1:].mean(axis=0)
    for _ in range(MEANS_ROUNDS):
        along = sample @ (left - right)
        nearer = along > 0.5 * (left + right) @ (left - right)
        if nearer.all() or not nearer.any():
            break
        left, right = sample[nearer].mean(axis=0), sample[~nearer].mean(axis=0)
    return np.asarray(left - right)


def _sorted(points: np.ndarray, order: np.ndarray, starts: np.ndarray) -> InvertedLists:
    """Return lists, none of them empty, with their means."""
    starts = np.unique(starts)
    ordered = points[order]
    sums = np.add.reduceat(ordered, starts[:-1], axis=0)
    means = sums / np.diff(starts)[:, None].astype(points.dtype)
    return InvertedLists(order, ordered, starts, means)


def _reassigned(points: np.ndarray, lists: InvertedLists, each: Each) -> InvertedLists:
    """Return the lists of the points that are nearest to the means of these."""
    n_lists = lists.means.shape[0]
    chosen = np.empty(points.shape[0], dtype=np.int64)

    def assign(block: tuple[int, int]) -> None:
        near = lists.near(*block, NEAR_LISTS)
        places = slice(lists.starts[block[0]], lists.starts[block[1]])
        distances = nearness(lists.means[near], lists.points[places])
        chosen[places] = near[np.argmin(distances, axis=1)]

    each(assign, lists.blocks())
    # Stable: the places within a list stay in a fixed order.
    by_list = np.argsort(chosen, kind="stable")
    sizes = np.bincount(chosen, minlength=n_lists)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    # What is too long is cut into equal pieces.
    cuts: list[Any] = [starts]
    for k in np.flatnonzero(sizes > LONGEST * LONGEST_LEAF):
        cuts.append(np.arange(starts[k], starts[k + 1], LONGEST * LONGEST_LEAF))
    return _sorted(points, lists.order[by_list], np.concatenate(cuts))
