"""Anchors: the centers of k-means on a sample of the points.

If there are many of them the sample is first divided among few centers, and each part has its own
anchors: k-means of p centers takes p² products, and √p times √p centers a fraction of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from leastcut.affinity.neighbors.common import TREE_FEATURES
from leastcut.anchors.nearest import NearestAnchors, moved_centres

SAMPLED = 20  # points per anchor that anchors are chosen from
FEWEST_SAMPLED = 10_000  # points that anchors are chosen from at least, if there are so many

LARGEST, LARGE = 2.0**960, 2.0**64  # coordinates that are divided before they are added up, by what
ROUNDS = 10  # of k-means: with half as many cuts are some percent larger, with more much the same

LEAST_SHARE = 0.25
"""Points of an anchor at least, as a fraction of the average: set by half a dozen sets of images
and blobs with and without outliers, where 0 and 0.1 left clusters of one point and 0.5 few anchors.
"""

MANY_ANCHORS = 2048  # from so many on, with many features, they are chosen part by part

Move = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""``move(centres, least)`` returns the nearest center of every point, new centers, of which those
with ``least`` points or more are the means of these, and the points of every center."""


def sampled_rows(sizes: Sequence[int], n_anchors: int, seed: int) -> list[np.ndarray]:
    """Return for every block of these sizes the rows that anchors are chosen from, ascending.

    In all 20 per anchor, 10,000 at least, or all there are; they depend on the sum of sizes alone.
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
    """Return anchors for the points of a sample: at most so many, all different.

    They are fewer if points are equal. They do not depend on ``n_threads``.
    """
    if max(float(sample.max()), -float(sample.min())) > LARGEST:
        # Sums would overflow; a power of two changes no digit.
        return np.asarray(LARGE * choose_anchors(sample / LARGE, n_anchors, seed, n_threads))
    rng = np.random.default_rng(seed)
    if n_anchors >= sample.shape[0]:
        return np.unique(sample, axis=0)
    many = n_anchors >= MANY_ANCHORS and sample.shape[1] > TREE_FEATURES
    found = (_by_parts if many else _centres)(sample, n_anchors, rng, n_threads)
    return np.unique(found, axis=0)


def _centres(
    sample: np.ndarray, n_centres: int, rng: np.random.Generator, n_threads: int
) -> np.ndarray:
    def move(centres: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nearest = NearestAnchors(centres, 1, n_threads).nearest_one(sample)
        return nearest[:, 0], *moved_centres(sample, nearest, centres, least)

    return lloyd(sample, n_centres, rng, move)


def lloyd(sample: np.ndarray, n_centres: int, rng: np.random.Generator, move: Move) -> np.ndarray:
    """Return centers after some rounds of k-means, without those that have hardly any points.

    It begins with points that ``rng`` samples. What few points have for themselves is no cluster:
    they have no weights on other anchors, and a cut would separate them first. Such a center begins
    again where points are many, and after the last round it is left out.
    """
    n = sample.shape[0]
    least = max(1.0, LEAST_SHARE * n / n_centres)
    centres = sample[np.sort(rng.choice(n, n_centres, replace=False))]
    rng = np.random.default_rng(n)
    for left in reversed(range(ROUNDS)):
        nearest, centres, counts = move(centres, least)
        stays = counts >= least
        if left:
            count = int(np.count_nonzero(~stays))
            centres[~stays] = sample[_crowded_rows(nearest, counts, count, rng)]
    found: np.ndarray = centres[stays]
    return found


def _crowded_rows(
    nearest: np.ndarray, counts: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return points of the centers that have most, one sampled of each, for others to begin at."""
    order = rng.permutation(nearest.size)
    drawn = np.empty(counts.size, dtype=np.int64)
    drawn[nearest[order]] = order
    # No more centers are to begin again than there are points.
    crowded = np.argsort(-counts, kind="stable")[: min(count, int(np.count_nonzero(counts)))]
    return np.concatenate([drawn[crowded], order[: count - crowded.size]])


def _by_parts(
    sample: np.ndarray, n_anchors: int, rng: np.random.Generator, n_threads: int
) -> np.ndarray:
    """Return anchors of the parts of a sample, to each as many as its points are due."""
    # 1. Divide.
    first = _centres(sample, round(np.sqrt(n_anchors)), rng, n_threads)
    part = NearestAnchors(first, 1, n_threads).nearest_one(sample)[:, 0]
    sizes = np.bincount(part, minlength=first.shape[0])
    # 2. Shares by largest remainder.
    due = sizes * (n_anchors / sample.shape[0])
    shares = np.floor(due).astype(np.int64)
    left = n_anchors - int(shares.sum())
    shares[np.argsort(shares - due, kind="stable")[:left]] += 1
    # 3. Anchors of every part.
    order = np.argsort(part, kind="stable")
    found = []
    for share, rows in zip(shares, np.split(order, np.cumsum(sizes)[:-1]), strict=True):
        if share:
            found.append(_centres(sample[rows], share, rng, n_threads))
    return np.concatenate(found)
