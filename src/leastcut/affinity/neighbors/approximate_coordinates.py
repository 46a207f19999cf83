"""Coordinates for the approximate search: few, centered, and in as low a precision as will do.

Products of a few hundred coordinates cost too much to compare every sample with thousands. Their
leading principal directions hold most of a distance; what is left of it is estimated, and in the
end every distance is computed in full. How many directions do, how many candidates have to be kept,
and whether single precision tells neighbors apart is measured on some samples whose true neighbors
are found by comparing them with all; so is the recall of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from leastcut.kernels.inverted_lists import rank_candidates, search_inverted_lists
from leastcut.threads import Threads, single_threaded

Each = Callable[..., list[Any]]  # calls a function for every task, in several threads, in order

ROWS = 4096  # samples that are centered and projected at once
SPARE = 6  # candidates beyond those needed, as rounding may put some in a wrong order
GATHERED = 256  # rows that a list is compared with at once: their products stay in the cache
ROUNDING = 32  # what products may lose of a squared distance, in roundings of the squared norms
LOST = 0.02  # the fraction of samples that may lose all neighbors to that before a search gives up

# Samples whose true neighbors are found, at least and at most; lists of 128 samples, ten neighbors
# each, measure a recall of 0.97 within about 0.01.
MEASURED = 128, 512
MEASURED_PRODUCTS = 8 * 10**9  # of coordinates, beyond what the least number takes
FEW_FEATURES = 96  # up to so many, products are cheap enough without a projection
DIRECTIONS = (128, 256)  # numbers of principal directions to try before all features are taken
SPARE_DIRECTIONS = 8  # that the iteration for the leading ones carries along, to converge sooner
ROUNDS = 2  # of that iteration; the directions need not be exact
SAMPLED = 4096  # samples that the directions are computed from
CENTERED = 512  # samples that the center is computed from
RANKED = 8  # rows that all samples are ranked for at once
WIDTHS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)  # candidates to keep / neighbors: the first that will do
KEPT = 0.985  # the fraction of true neighbors that must be among the candidates kept


class PrecisionLost(ArithmeticError):
    """Products of coordinates do not tell neighbors apart: they are too near for their range."""

    def __init__(self) -> None:
        super().__init__(
            "The nearest samples are so much nearer to each other than to the rest that products "
            "of coordinates cannot tell them apart in double precision. Search exactly."
        )


class Truth(NamedTuple):
    """The true neighbors of some samples, all named by their place among those searched.

    ``neighbors`` and their ``squared`` distances have shape (n_measured, count).
    """

    rows: np.ndarray
    neighbors: np.ndarray
    squared: np.ndarray


class Centered(NamedTuple):
    """Samples that are read in parts: less a center, in some unit and precision."""

    points: np.ndarray
    among: np.ndarray
    center: np.ndarray
    unit: float
    dtype: Any

    def read(self, part: Any) -> np.ndarray:
        """Return the samples at these places."""
        # Subtracted in double precision: the samples may be far from the origin.
        rows = self._given(part) - self.center
        rows *= self.unit
        return np.asarray(rows, dtype=self.dtype)

    def largest(self, part: Any) -> float:
        """Return the largest coordinate of the samples at these places, as they are given."""
        rows = self._given(part)
        return float(max(rows.max(), -rows.min()))

    def parts(self) -> list[slice]:
        """Return slices that cover all samples."""
        n = self.among.size
        return [slice(start, min(n, start + ROWS)) for start in range(0, n, ROWS)]

    def _given(self, part: Any) -> np.ndarray:
        # Where all are searched, they are in their places, and a slice of them need not be copied.
        everyone = self.among.size == self.points.shape[0]
        return np.asarray(self.points[part if everyone else self.among[part]])


def search_lists(
    lists: tuple[np.ndarray, ...],
    near: np.ndarray,
    distances: np.ndarray,
    n_searched: int,
    queries: np.ndarray,
    own: np.ndarray,
    width: int,
    longest: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best candidates of every query in the ``n_searched`` nearest of some lists.

    ``distances`` are those of the queries from the lists ``near``, none of which is longer than
    ``longest``; ``kernels.inverted_lists`` describes the rest. Values come with the points they
    are of, best first; -1 is none.
    """
    n_rows, n_near = distances.shape
    dtype = distances.dtype
    most, n_gathered = min(n_near, 2 * n_searched), min(n_rows, GATHERED)
    pool = np.full((n_rows, width), np.inf, dtype), np.full((n_rows, width), -1, np.int64)
    scratch = (
        np.empty((n_rows, most), np.int32),
        np.empty(n_rows, np.int64),
        np.empty(n_near + 1, np.int64),
        np.empty(n_rows * most, np.int32),
        np.empty((n_gathered, queries.shape[1]), dtype),
        np.empty(n_gathered * longest, dtype),
    )
    search_inverted_lists(lists, near, n_searched, queries, own, distances, pool, scratch)
    return pool


def nearest_of(
    points: np.ndarray, rows: np.ndarray, candidates: np.ndarray, count: int, dtype: Any = np.int64
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest candidates of some rows, and their distances from differences."""
    indices, squared = np.empty((rows.size, count), dtype), np.empty((rows.size, count))
    rank_candidates(points, rows, candidates, indices, squared)
    return indices, squared


def true_neighbors(centered: Centered, rows: np.ndarray, count: int, each: Each) -> Truth:
    """Compare these samples with all others."""
    n = centered.among.size
    queries = centered.read(rows)
    width = min(n - 1, count + SPARE)

    def nearest_in(part: slice) -> tuple[np.ndarray, np.ndarray]:
        block = centered.read(part)
        size = block.shape[0]
        halves = 0.5 * np.einsum("ij,ij->i", block, block)
        # One list, which every row is compared with.
        lists = (block, halves, np.array([0, size]))
        near, distances = np.zeros(1, np.int64), np.zeros((rows.size, 1), centered.dtype)
        own = rows - part.start
        values, found = search_lists(lists, near, distances, 1, queries, own, width, size)
        found[found >= 0] += part.start
        return values, found

    parts = each(nearest_in, centered.parts())
    values = np.concatenate([values for values, _ in parts], axis=1)
    found = np.concatenate([found for _, found in parts], axis=1)
    # Stable, so that of equal values those of lower index are kept.
    best = np.argsort(values, axis=1, kind="stable")[:, :width]
    candidates = centered.among[np.take_along_axis(found, best, axis=1)]
    neighbors, squared = nearest_of(centered.points, centered.among[rows], candidates, count)
    # Those searched are in ascending order.
    return Truth(rows, np.searchsorted(centered.among, neighbors), squared)


def is_lost(centered: Centered, truth: Truth) -> bool:
    """Return whether the precision of the coordinates hides the neighbors of too many samples."""
    rows = centered._replace(dtype=np.float64).read(truth.rows)
    norms = np.einsum("ij,ij->i", rows, rows)
    farthest = truth.squared[:, -1] * centered.unit**2
    limit = np.finfo(centered.dtype)
    rounding = ROUNDING * float(limit.eps) * norms + float(limit.tiny) / float(limit.eps)
    # Equal samples need not be distinguished.
    return bool(((farthest > 0) & (farthest < rounding)).mean() > LOST)


class Coordinates(NamedTuple):
    """What is searched instead of the samples."""

    points: np.ndarray  # (n, n_directions)
    halves: np.ndarray  # |x|²/2, and an estimate of what the coordinates miss of half a distance
    width: int  # how many candidates to keep
    kept: float  # the fraction of true neighbors that are then among them
    truth: Truth  # what that was measured on


def coordinates_of(
    points: np.ndarray, among: np.ndarray, count: int, rng: np.random.Generator, each: Each
) -> Coordinates:
    """Return coordinates of ``points[among]`` that keep nearly all true neighbors as candidates.

    Raises PrecisionLost if products tell no neighbors apart even in double precision.
    """
    n, n_features = among.size, points.shape[1]
    # 1. A center near the samples, so that little is lost when coordinates are rounded.
    sampled = np.sort(rng.choice(n, min(n, SAMPLED), replace=False))
    sample = points[among[rng.permutation(sampled)]].astype(np.float64)
    # The median of some, which no outlier draws away from the others.
    center = np.median(sample[: min(sample.shape[0], CENTERED)], axis=0)
    everyone = Centered(points, among, center, 1.0, np.float64)
    largest = max(each(everyone.largest, everyone.parts())) + float(np.abs(center).max())
    # A power of two rounds nothing, and squares do not overflow in single precision.
    unit = 2.0 ** -int(np.frexp(largest)[1])
    centered = Centered(points, among, center, unit, np.float32)
    # 2. True neighbors of some samples, and with them the precision that is needed.
    n_measured = int(np.clip(MEASURED_PRODUCTS // (n * n_features), *MEASURED))
    rows = sampled[rng.permutation(sampled.size)[:n_measured]]
    truth = true_neighbors(centered, rows, count, each)
    if is_lost(centered, truth):
        centered = everyone
        truth = true_neighbors(centered, rows, count, each)
        if is_lost(centered, truth):
            raise PrecisionLost
    # 3. The fewest directions that tell these neighbors.
    if n_features > FEW_FEATURES:
        for n_directions in DIRECTIONS:
            if 2 * n_directions <= n_features:
                found = _projected(centered, _directions(sample, n_directions, rng), truth, each)
                width, kept = _width(*found, truth, count, each)
                if kept >= KEPT:
                    return Coordinates(*found, width, kept, truth)
    # 4. Or all features as they are, where only rounding can put a neighbor in a wrong place.
    return Coordinates(*_features(centered, each), min(count + SPARE, n - 1), 1.0, truth)


def _directions(sample: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return nearly the leading principal directions of a sample, as columns."""
    sample = sample - sample.mean(axis=0)
    # In units of its own, as single precision is enough for directions.
    sample = (sample / max(float(np.abs(sample).max()), np.finfo(np.float64).tiny)).astype(
        np.float32
    )
    # Subspace iteration: samples at random, then ROUNDS times the covariance.
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
    # Of neighbors the parts beyond the directions resemble each other: their squared distance is
    # a fraction of the sum of their squares, estimated from the true neighbors.
    rows = np.repeat(truth.rows, truth.neighbors.shape[1])
    others = truth.neighbors.reshape(-1)
    difference = points[rows] - points[others]
    missing = truth.squared.reshape(-1) * centered.unit**2 - np.einsum(
        "ij,ij->i", difference, difference
    )
    total = beyond[rows] + beyond[others]
    fractions = missing[total > 0] / total[total > 0]
    fraction = float(np.clip(np.median(fractions), 0.0, 1.0)) if fractions.size else 0.0
    halves += (0.5 * fraction) * beyond
    return points, halves


def _width(
    points: np.ndarray, halves: np.ndarray, truth: Truth, count: int, each: Each
) -> tuple[int, float]:
    """Return how many candidates to keep, and the fraction of true neighbors among them."""
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


def sampled_recall(
    points: np.ndarray, indices: np.ndarray, n_threads: int, seed: int, n_rows: int = 200
) -> float:
    """Return the fraction of true neighbors in approximate lists, measured on some samples.

    A listed neighbor that is as near as the farthest true one counts as found, so that it does not
    matter which of equally distant samples are listed. 200 lists of ten measure a recall of 0.97
    within about 0.01.
    """
    n, count = indices.shape
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n, min(n, n_rows), replace=False))
    center = points[rows].mean(axis=0, dtype=np.float64)
    with single_threaded(), Threads(n_threads) as each:
        everything = Centered(points, np.arange(n), center, 1.0, np.float64)
        truth = true_neighbors(everything, rows, count, each)
        farthest = truth.squared[:, -1]
        if is_lost(everything, truth):
            everyone = np.arange(n)

            def distance_of_last(row: int) -> float:
                others = everyone[everyone != row][None]
                return float(nearest_of(points, np.array([row]), others, count)[1][0, -1])

            farthest = np.array(each(distance_of_last, rows))
    # The same sums as those of the true neighbors, so that equal distances have equal bits.
    listed, squared = nearest_of(points, rows, indices[rows].astype(np.int64), count)
    found = squared <= farthest[:, None]
    # What is listed twice, or is the sample itself, finds nothing.
    in_order = np.sort(np.where(found, listed, rows[:, None]), axis=1)
    again = np.zeros(found.shape, dtype=bool)
    again[:, 1:] = in_order[:, 1:] == in_order[:, :-1]
    return float(((in_order != rows[:, None]) & ~again).mean())
