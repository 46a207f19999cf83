"""The coordinates that neighbours are looked for in: few, centred, and as short as will do.

Products of a few hundred coordinates cost too much to compare every sample with thousands. Their
leading principal directions hold most of a distance; what is left of it is estimated, and in the
end every distance is computed in full. How many directions do, how many candidates have to be
kept, and whether single precision tells neighbours apart is measured on some samples whose true
neighbours are found by comparing them with all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leastcut.affinity.neighbors.approximate_truth import (
    SPARE,
    Centered,
    Each,
    PrecisionLost,
    Truth,
    is_lost,
    true_neighbors,
)

MEASURED = 128, 512
"""Samples whose true neighbours are found, at least and at most; lists of 128 samples, ten
neighbours each, tell a recall of 0.97 within about 0.01."""

MEASURED_PRODUCTS = 8 * 10**9
"""Products of coordinates that this may take, beyond what the least number takes."""

FEW_FEATURES = 96
"""Up to so many features products are cheap enough without a projection."""

DIRECTIONS = (128, 256)
"""Numbers of principal directions that are tried, before the features themselves are taken."""

SPARE_DIRECTIONS = 8
"""Directions that the iteration for the leading ones carries along, to converge sooner."""

ROUNDS = 2
"""Rounds of that iteration; the directions need not be exact."""

SAMPLED = 4096
"""Samples that the directions are computed from."""

CENTERED = 512
"""Samples that the centre is computed from."""

RANKED = 8
"""Rows that all samples are ranked for at once."""

WIDTHS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
"""How many candidates are kept, as multiples of the neighbours wanted: the first that will do."""

KEPT = 0.985
"""The share of true neighbours that must be among the candidates kept."""


class Coordinates(NamedTuple):
    """What is searched instead of the samples.

    Attributes
    ----------
    points : ndarray of shape (n, n_directions)
        The coordinates.
    halves : ndarray of shape (n,)
        |x|²/2, and an estimate of what the coordinates do not show of half a squared distance.
    width : int
        How many candidates to keep.
    kept : float
        The share of true neighbours that are then among them.
    truth : Truth
        What that was measured on.
    """

    points: np.ndarray
    halves: np.ndarray
    width: int
    kept: float
    truth: Truth


def coordinates_of(
    points: np.ndarray, among: np.ndarray, count: int, rng: np.random.Generator, each: Each
) -> Coordinates:
    """Return coordinates whose nearest candidates hold nearly all true neighbours.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        The samples.
    among : ndarray of shape (n,)
        Which of them to search.
    count : int
        Neighbours wanted, fewer than n.
    rng : numpy.random.Generator
        Draws samples, and the start of the iteration for the directions.
    each : callable
        Calls in threads.

    Raises
    ------
    PrecisionLost
        If products tell no neighbours apart even in double precision.
    """
    n, n_features = among.size, points.shape[1]
    # 1. A centre near the samples, so that little is lost when coordinates are rounded.
    sampled = np.sort(rng.choice(n, min(n, SAMPLED), replace=False))
    sample = points[among[rng.permutation(sampled)]].astype(np.float64)
    # The median of some, which no outlier draws away from the others.
    center = np.median(sample[: min(sample.shape[0], CENTERED)], axis=0)
    everyone = Centered(points, among, center, 1.0, np.float64)
    largest = max(each(everyone.largest, everyone.parts())) + float(np.abs(center).max())
    # A power of two rounds nothing, and squares do not overflow in single precision.
    unit = 2.0 ** -int(np.frexp(largest)[1])
    centered = Centered(points, among, center, unit, np.float32)
    # 2. True neighbours of some samples, and with them the precision that is needed.
    n_measured = int(np.clip(MEASURED_PRODUCTS // (n * n_features), *MEASURED))
    rows = sampled[rng.permutation(sampled.size)[:n_measured]]
    truth = true_neighbors(centered, rows, count, each)
    if is_lost(centered, truth):
        centered = everyone
        truth = true_neighbors(centered, rows, count, each)
        if is_lost(centered, truth):
            raise PrecisionLost
    # 3. The fewest directions that tell these neighbours.
    if n_features > FEW_FEATURES:
        for n_directions in DIRECTIONS:
            if 2 * n_directions <= n_features:
                found = _projected(centered, _directions(sample, n_directions, rng), truth, each)
                width, kept = _width(*found, truth, count, each)
                if kept >= KEPT:
                    return Coordinates(*found, width, kept, truth)
    # 4. Or all features as they are, where only rounding can put a neighbour in a wrong place.
    return Coordinates(*_features(centered, each), min(count + SPARE, n - 1), 1.0, truth)


def _directions(sample: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return nearly the leading principal directions of a sample, as columns."""
    sample = sample - sample.mean(axis=0)
    # In units of its own, as single precision is enough for directions.
    sample = (sample / max(float(np.abs(sample).max()), np.finfo(np.float64).tiny)).astype(
        np.float32
    )
    # Subspace iteration: samples drawn at random, then ROUNDS times the covariance.
    basis = rng.standard_normal((sample.shape[1], count + SPARE_DIRECTIONS), dtype=np.float32)
    for _ in range(ROUNDS):
        basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
    within = sample @ basis
    rotation = np.linalg.eigh(within.T @ within)[1][:, ::-1]
    return np.ascontiguousarray(np.linalg.qr(basis @ rotation[:, :count])[0])


def _features(centered: Centered, each: Each) -> tuple[np.ndarray, np.ndarray]:
    """Return all features, and the halves of their squared norms."""
    n, n_features = centered.among.size, centered.points.shape[1]
    points, halves = np.empty((n, n_features), centered.dtype), np.empty(n, centered.dtype)

    def fill(part: slice) -> None:
        points[part] = centered.read(part)
        halves[part] = 0.5 * np.einsum("ij,ij->i", points[part], points[part])

    each(fill, centered.parts())
    return points, halves


def _projected(
    centered: Centered, basis: np.ndarray, truth: Truth, each: Each
) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates along some directions, and halves that make up for the others."""
    n = centered.among.size
    points, halves = np.empty((n, basis.shape[1]), centered.dtype), np.empty(n, centered.dtype)
    beyond = np.empty(n, centered.dtype)
    basis = basis.astype(centered.dtype)

    def fill(part: slice) -> None:
        block = centered.read(part)
        np.matmul(block, basis, out=points[part])
        seen = np.einsum("ij,ij->i", points[part], points[part])
        # Rounding can leave less than nothing.
        beyond[part] = np.maximum(np.einsum("ij,ij->i", block, block) - seen, 0)
        halves[part] = 0.5 * seen

    each(fill, centered.parts())
    # Of neighbours the parts beyond the directions resemble each other: their squared distance is
    # a share of the sum of their squares, which the true neighbours tell.
    rows = np.repeat(truth.rows, truth.neighbors.shape[1])
    others = truth.neighbors.reshape(-1)
    difference = points[rows] - points[others]
    missing = truth.squared.reshape(-1) * centered.unit**2 - np.einsum(
        "ij,ij->i", difference, difference
    )
    total = beyond[rows] + beyond[others]
    shares = missing[total > 0] / total[total > 0]
    share = float(np.clip(np.median(shares), 0.0, 1.0)) if shares.size else 0.0
    halves += (0.5 * share) * beyond
    return points, halves


def _width(
    points: np.ndarray, halves: np.ndarray, truth: Truth, count: int, each: Each
) -> tuple[int, float]:
    """Return how many candidates to keep, and the share of true neighbours that are among them."""
    n = points.shape[0]
    widths = [min(n - 1, int(factor * count) + SPARE) for factor in WIDTHS]
    last = [width - 1 for width in widths]

    def kept_of(part: slice) -> np.ndarray:
        rows, neighbors = truth.rows[part], truth.neighbors[part]
        values = halves - points[rows] @ points.T
        values[np.arange(rows.size), rows] = np.inf
        limits = np.partition(values, last, axis=1)[:, last]
        found = np.take_along_axis(values, neighbors, axis=1)[:, :, None] <= limits[:, None]
        return np.asarray(found.mean(axis=1))

    parts = [slice(start, start + RANKED) for start in range(0, truth.rows.size, RANKED)]
    kept = np.concatenate(each(kept_of, parts)).mean(axis=0)
    chosen = int(np.argmax(kept >= KEPT)) if kept[-1] >= KEPT else len(widths) - 1
    return widths[chosen], float(kept[chosen])
