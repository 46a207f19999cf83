"""Lists of near points: a balanced tree of two means, and a few rounds of k-means from its leaves.

1. The points are halved again and again, across the line through two means of a sample of them.
   Halves are equal by position, so that equal points do not pile up.
2. Every point goes to the nearest mean of a leaf, and means are computed anew.
3. Lists that became too long are cut by position.

No point is compared with all means: those near its own leaf are enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastcut.affinity.neighbors.approximate_truth import Each

LONGEST_LEAF = 128
"""Leaves are of half of this to this: shorter lists are nearer to a point, longer ones faster."""

MEANS_SAMPLE = 64
"""Points that two means are computed from."""

MEANS_ROUNDS = 2
"""Rounds of two-means; the direction between the means need not be exact."""

LLOYD_ROUNDS = 2
"""Rounds of k-means; each makes lists rounder, the first the most."""

NEAR_LISTS = 32
"""Lists around a list among which a point looks for the nearest mean."""

LONGEST = 4
"""A list that is longer than so many leaves is cut by position."""

BLOCK_ROWS = 2048
"""Points of neighbouring lists that are worked on together, about."""


class Lists(NamedTuple):
    """Points in the order of their lists.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Which point stands at a place.
    points : ndarray of shape (n, n_directions)
        The points in this order.
    starts : ndarray of shape (n_lists + 1,)
        List k is at the places ``starts[k]`` to ``starts[k + 1] - 1``. Lists that follow one
        another are near one another.
    means : ndarray of shape (n_lists, n_directions)
        The mean of every list.
    """

    order: np.ndarray
    points: np.ndarray
    starts: np.ndarray
    means: np.ndarray

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


def lists_of(points: np.ndarray, rng: np.random.Generator, each: Each) -> Lists:
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


def _sorted(points: np.ndarray, order: np.ndarray, starts: np.ndarray) -> Lists:
    """Return lists, none of them empty, with their means."""
    starts = np.unique(starts)
    ordered = points[order]
    sums = np.add.reduceat(ordered, starts[:-1], axis=0)
    means = sums / np.diff(starts)[:, None].astype(points.dtype)
    return Lists(order, ordered, starts, means)


def _reassigned(points: np.ndarray, lists: Lists, each: Each) -> Lists:
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
