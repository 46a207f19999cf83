"""Choose anchors: the centers of k-means on a sample of the points.

For many anchors, the sample is first divided into cells, and each cell has its own anchors: k-means
with p centers takes p² products, but √p times √p centers a fraction of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from leastcut.affinity.neighbors.common import TREE_FEATURES
from leastcut.anchors.nearest import NearestAnchors, updated_centers

SAMPLED = 20  # sampled points per anchor
FEWEST_SAMPLED = 10_000  # minimum number of sampled points

LARGEST, LARGE = 2.0**960, 2.0**64  # sums of larger coordinates would overflow: divide them
ROUNDS = 10  # of k-means; half as many give cuts larger by some percent, more hardly improve them

LEAST_FRACTION = 0.25
"""Minimum number of points of an anchor, as a fraction of the average. It was chosen on half a
dozen sets of images and blobs with and without outliers: 0 and 0.1 left clusters of single points,
and 0.5 left few anchors."""

MANY_ANCHORS = 2048  # from this number, with many features, anchors are chosen cell by cell

Move = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""``move(centers, least)`` returns the nearest center of every point; new centers, which are the
means of their points if they have at least ``least``; and the number of points of every center."""


def sampled_rows(sizes: Sequence[int], n_anchors: int, seed: int) -> list[np.ndarray]:
    """Return the sorted rows of every block from which anchors are chosen.

    Their total number is 20 per anchor, at least 10,000, and at most the number of points. They
    depend only on the sum of the sizes.
    """
    ends = np.cumsum(sizes)
    n = int(ends[-1])
    count = min(n, max(SAMPLED * n_anchors, FEWEST_SAMPLED))
    if count == n:
        return [np.arange(size) for size in sizes]
    chosen = np.sort(np.random.default_rng(seed).choice(n, count, replace=False, shuffle=False))
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    return [part - (end - size) for part, end, size in zip(parts, ends, sizes, strict=True)]


def choose_anchors(sample: np.ndarray, n_anchors: int, seed: int, n_threads: int = 1) -> np.ndarray:
    """Return at most ``n_anchors`` distinct anchors for the points of a sample.

    There may be fewer if points are equal. The result does not depend on ``n_threads``.
    """
    if max(float(sample.max()), -float(sample.min())) > LARGEST:
        # Sums would overflow; scaling by a power of two is exact.
        return np.asarray(LARGE * choose_anchors(sample / LARGE, n_anchors, seed, n_threads))
    rng = np.random.default_rng(seed)
    if n_anchors >= sample.shape[0]:
        return np.unique(sample, axis=0)
    many = n_anchors >= MANY_ANCHORS and sample.shape[1] > TREE_FEATURES
    anchors = (_centers_by_cell if many else _centers)(sample, n_anchors, rng, n_threads)
    return np.unique(anchors, axis=0)


def _centers(
    sample: np.ndarray, n_centers: int, rng: np.random.Generator, n_threads: int
) -> np.ndarray:
    def move(centers: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nearest = NearestAnchors(centers, 1, n_threads).nearest_one(sample)
        return nearest[:, 0], *updated_centers(sample, nearest, centers, least)

    return lloyd(sample, n_centers, rng, move)


def lloyd(sample: np.ndarray, n_centers: int, rng: np.random.Generator, move: Move) -> np.ndarray:
    """Return the centers of k-means, without those of very few points.

    The initial centers are sampled with ``rng``. A center of very few points is not useful: these
    points have no weights on other anchors, and a cut would separate them first. Such centers are
    moved to large clusters, and removed after the last round.
    """
    n = sample.shape[0]
    least = max(1.0, LEAST_FRACTION * n / n_centers)
    centers = sample[np.sort(rng.choice(n, n_centers, replace=False))]
    rng = np.random.default_rng(n)
    for remaining in reversed(range(ROUNDS)):
        nearest, centers, counts = move(centers, least)
        is_kept = counts >= least
        if remaining:
            count = int(np.count_nonzero(~is_kept))
            centers[~is_kept] = sample[_crowded_rows(nearest, counts, count, rng)]
    kept: np.ndarray = centers[is_kept]
    return kept


def _crowded_rows(
    nearest: np.ndarray, counts: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return one sampled point of each of the ``count`` centers with the most points."""
    order = rng.permutation(nearest.size)
    sampled = np.empty(counts.size, dtype=np.int64)
    sampled[nearest[order]] = order
    # There are at least ``count`` points.
    crowded = np.argsort(-counts, kind="stable")[: min(count, int(np.count_nonzero(counts)))]
    return np.concatenate([sampled[crowded], order[: count - crowded.size]])


def _centers_by_cell(
    sample: np.ndarray, n_anchors: int, rng: np.random.Generator, n_threads: int
) -> np.ndarray:
    """Return centers of every cell of a sample, in proportion to its points."""
    # 1. Divide the sample into cells.
    first = _centers(sample, round(np.sqrt(n_anchors)), rng, n_threads)
    cell = NearestAnchors(first, 1, n_threads).nearest_one(sample)[:, 0]
    sizes = np.bincount(cell, minlength=first.shape[0])
    # 2. The number of centers of every cell, by the largest-remainder method.
    quotas = sizes * (n_anchors / sample.shape[0])
    n_centers = np.floor(quotas).astype(np.int64)
    remainder = n_anchors - int(n_centers.sum())
    n_centers[np.argsort(n_centers - quotas, kind="stable")[:remainder]] += 1
    # 3. The centers of every cell.
    order = np.argsort(cell, kind="stable")
    centers = []
    for count, rows in zip(n_centers, np.split(order, np.cumsum(sizes)[:-1]), strict=True):
        if count:
            centers.append(_centers(sample[rows], count, rng, n_threads))
    return np.concatenate(centers)
