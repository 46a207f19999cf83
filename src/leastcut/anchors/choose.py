"""Anchors: the centres of k-means on a sample of the points.

Where there are many of them the sample is first divided among few centres, and each part has its
own anchors: k-means of p centres takes p² products, and √p times √p centres a fraction of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastcut.affinity.neighbors.searching import TREE_FEATURES
from leastcut.anchors.nearest import NearestAnchors
from leastcut.kernels.anchor_ties import add_to_centres

SAMPLED = 20
"""Points per anchor that anchors are chosen from."""

FEWEST_SAMPLED = 10_000
"""Points that anchors are chosen from at least, if there are so many."""

LARGEST, LARGE = 2.0**960, 2.0**64
"""Coordinates that sums of samples are made of without a thought, and what larger ones are divided
by."""

ROUNDS = 10
"""Rounds of k-means: with half as many cuts are some percent larger, with more much the same."""

LEAST_SHARE = 0.25
"""Points of an anchor at least, as a part of the average: set by half a dozen sets of images and
blobs with and without outliers, where 0 and 0.1 left clusters of one point and 0.5 few anchors."""

MANY_ANCHORS = 2048
"""From so many anchors on, with many features, they are chosen part by part."""


def sampled_rows(sizes: Sequence[int], n_anchors: int, seed: int) -> list[np.ndarray]:
    """Return for every block the rows that anchors are chosen from, ascending.

    Parameters
    ----------
    sizes : sequence of int
        The points of every block; what is sampled depends on their sum alone.
    n_anchors : int
    seed : int

    Returns
    -------
    list of ndarray
        Rows within the blocks: 20 per anchor in all, 10,000 at least, or all there are.
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
    """Return anchors for the points of a sample, all different.

    Parameters
    ----------
    sample : float32 or float64 ndarray of shape (m, n_features)
    n_anchors : int
        How many, at most; there are fewer where points are equal.
    seed : int
    n_threads : int
        Threads; anchors do not depend on it.

    Returns
    -------
    ndarray of shape (p, n_features)
        In the precision of the sample.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut.anchors.choose import choose_anchors
    >>> choose_anchors(np.array([[0.0], [1.0], [8.0], [9.0], [9.0]]), 2, seed=0)
    array([[0.5       ],
           [8.66666667]])
    """
    if max(float(sample.max()), -float(sample.min())) > LARGEST:
        # Sums would overflow; a power of two changes no digit.
        return np.asarray(LARGE * choose_anchors(sample / LARGE, n_anchors, seed, n_threads))
    rng = np.random.default_rng(seed)
    if n_anchors >= sample.shape[0]:
        return np.unique(sample, axis=0)
    many = n_anchors >= MANY_ANCHORS and sample.shape[1] > TREE_FEATURES
    found = _by_parts(sample, n_anchors, rng, n_threads) if many else None
    if found is None:
        found = lloyd(sample, _drawn(sample, n_anchors, rng), n_threads)
    return np.unique(found, axis=0)


def lloyd(sample: np.ndarray, centres: np.ndarray, n_threads: int) -> np.ndarray:
    """Return centres after some rounds of k-means, without those that have hardly any points.

    What few points have for themselves is no cluster: their anchor ties them to nothing else, and
    a cut would find it first. Such a centre begins again where points are many, and after the last
    round it is left out.
    """
    rng = np.random.default_rng(sample.shape[0])
    for left in reversed(range(ROUNDS)):
        nearest = NearestAnchors(centres, 1, n_threads).nearest_one(sample)
        sums, counts = np.zeros(centres.shape), np.zeros(centres.shape[0], dtype=np.int64)
        add_to_centres(sample, nearest, sums, counts)
        stays = counts >= fewest_points(sample.shape[0], centres.shape[0])
        centres = centres.copy()
        centres[stays] = sums[stays] / counts[stays, None]
        if left:
            count = int(np.count_nonzero(~stays))
            centres[~stays] = sample[crowded_rows(nearest[:, 0], counts, count, rng)]
    found: np.ndarray = centres[stays]
    return found


def fewest_points(n: int, n_centres: int) -> float:
    """Return how many of n points a centre must have to stay."""
    return max(1.0, LEAST_SHARE * n / n_centres)


def crowded_rows(
    nearest: np.ndarray, counts: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return points of the centres that have most, one drawn of each, for others to begin at."""
    order = rng.permutation(nearest.size)
    drawn = np.empty(counts.size, dtype=np.int64)
    drawn[nearest[order]] = order
    # No more centres are to begin again than there are points.
    crowded = np.argsort(-counts, kind="stable")[: min(count, int(np.count_nonzero(counts)))]
    return np.concatenate([drawn[crowded], order[: count - crowded.size]])


def drawn_rows(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of a sample that k-means begins with, ascending."""
    return np.asarray(np.sort(rng.choice(n, count, replace=False)))


def _drawn(sample: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    rows: np.ndarray = sample[drawn_rows(sample.shape[0], count, rng)]
    return rows


def _by_parts(
    sample: np.ndarray, n_anchors: int, rng: np.random.Generator, n_threads: int
) -> np.ndarray:
    """Return anchors of the parts of a sample, to each as many as its points are due."""
    # 1. Divide.
    first = lloyd(sample, _drawn(sample, round(np.sqrt(n_anchors)), rng), n_threads)
    part = NearestAnchors(first, 1, n_threads).nearest_one(sample)[:, 0]
    sizes = np.bincount(part, minlength=first.shape[0])
    # 2. Shares by largest remainder, at least one of every part that has points.
    due = sizes * (n_anchors / sample.shape[0])
    shares = np.floor(due).astype(np.int64)
    left = n_anchors - int(shares.sum())
    shares[np.argsort(shares - due, kind="stable")[:left]] += 1
    # 3. Anchors of every part.
    order = np.argsort(part, kind="stable")
    found = []
    for share, rows in zip(shares, np.split(order, np.cumsum(sizes)[:-1]), strict=True):
        if share:
            inside = sample[rows]
            found.append(lloyd(inside, _drawn(inside, share, rng), n_threads))
    return np.concatenate(found)
