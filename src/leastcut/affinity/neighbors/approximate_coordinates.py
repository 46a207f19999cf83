"""Coordinates for the approximate search: few, centered, and in single precision if possible.

Comparing every sample with thousands of others by products of hundreds of coordinates is slow. The
leading principal directions hold most of a distance; the rest is estimated, and the distances of
the candidates are finally computed in full. The number of directions, the number of candidates and
the precision are chosen on a sample of rows whose true neighbors are computed by brute force. The
recall of the result is measured in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from leastcut.kernels.inverted_lists import rank_candidates, search_inverted_lists
from leastcut.threads import Threads, single_threaded

Pmap = Callable[..., list[Any]]  # parallel map: calls a function for every task, in threads

ROWS = 4096  # samples centered and projected at once
SPARE = 6  # candidates beyond those needed, as rounding may change their order
GATHERED = 256  # rows compared with a list at once, so that the products stay in the cache
ROUNDING = 32  # error of a squared distance by products, in units of rounding of the squared norms
LOST = 0.02  # fraction of samples that may lose all neighbors to rounding before an error is raised

# Minimum and maximum number of samples whose true neighbors are computed. With 128 samples of ten
# neighbors each, a recall of 0.97 is measured within about 0.01.
MEASURED = 128, 512
MEASURED_PRODUCTS = 8 * 10**9  # coordinate products for more samples than the minimum
FEW_FEATURES = 96  # up to this number, no projection is needed
DIRECTIONS = (128, 256)  # numbers of principal directions to try before all features are used
SPARE_DIRECTIONS = 8  # additional directions of the subspace iteration, for faster convergence
ROUNDS = 2  # of the subspace iteration; the directions need not be exact
SAMPLED = 4096  # samples that determine the directions
CENTERED = 512  # samples that determine the center
RANKED = 8  # rows compared with all samples at once
WIDTHS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)  # candidates / neighbors; the first sufficient one is used
KEPT = 0.985  # required fraction of true neighbors among the candidates


class PrecisionLossError(ArithmeticError):
    """Products of coordinates in double precision cannot distinguish the nearest neighbors."""

    def __init__(self) -> None:
        super().__init__(
            "The nearest samples are too close to each other, relative to the range of the data, "
            "to be distinguished by products of coordinates in double precision. Search exactly."
        )


class TrueNeighbors(NamedTuple):
    """The true neighbors of some samples, as positions among the searched samples.

    ``neighbors`` and their ``squared`` distances have shape (n_measured, count).
    """

    rows: np.ndarray
    neighbors: np.ndarray
    squared: np.ndarray


class Centered(NamedTuple):
    """Samples that are read in parts, centered, scaled and converted to a precision."""

    points: np.ndarray
    searched: np.ndarray
    center: np.ndarray
    unit: float
    dtype: Any

    def read(self, part: Any) -> np.ndarray:
        """Return the samples at the given positions."""
        # Subtract in double precision, as samples may be far from the origin.
        rows = self._rows(part) - self.center
        rows *= self.unit
        return np.asarray(rows, dtype=self.dtype)

    def largest(self, part: Any) -> float:
        """Return the largest absolute coordinate at the given positions, before centering."""
        rows = self._rows(part)
        return float(max(rows.max(), -rows.min()))

    def parts(self) -> list[slice]:
        """Return slices that cover all samples."""
        n = self.searched.size
        return [slice(start, min(n, start + ROWS)) for start in range(0, n, ROWS)]

    def _rows(self, part: Any) -> np.ndarray:
        # If all samples are searched, a slice is not copied.
        is_all = self.searched.size == self.points.shape[0]
        return np.asarray(self.points[part if is_all else self.searched[part]])


def search_lists(
    lists: tuple[np.ndarray, ...],
    list_ids: np.ndarray,
    distances: np.ndarray,
    n_searched: int,
    queries: np.ndarray,
    self_ids: np.ndarray,
    width: int,
    longest: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best candidates of every query from the ``n_searched`` nearest lists.

    ``distances`` are those between the queries and the lists ``list_ids``, which have at most
    ``longest`` points; ``kernels.inverted_lists`` describes the other arguments. Returns values and
    point indices, best first; -1 marks missing candidates.
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
    search_inverted_lists(lists, list_ids, n_searched, queries, self_ids, distances, pool, scratch)
    return pool


def nearest_of(
    points: np.ndarray, rows: np.ndarray, candidates: np.ndarray, count: int, dtype: Any = np.int64
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest candidates of some rows and their squared distances, by differences."""
    indices, squared = np.empty((rows.size, count), dtype), np.empty((rows.size, count))
    rank_candidates(points, rows, candidates, indices, squared)
    return indices, squared


def true_neighbors(centered: Centered, rows: np.ndarray, count: int, pmap: Pmap) -> TrueNeighbors:
    """Return the true neighbors of some samples by brute force."""
    n = centered.searched.size
    queries = centered.read(rows)
    width = min(n - 1, count + SPARE)

    def nearest_in(part: slice) -> tuple[np.ndarray, np.ndarray]:
        block = centered.read(part)
        size = block.shape[0]
        half_norms = 0.5 * np.einsum("ij,ij->i", block, block)
        # The block is a single list.
        lists = (block, half_norms, np.array([0, size]))
        list_ids, distances = np.zeros(1, np.int64), np.zeros((rows.size, 1), centered.dtype)
        positions = rows - part.start
        values, indices = search_lists(
            lists, list_ids, distances, 1, queries, positions, width, size
        )
        indices[indices >= 0] += part.start
        return values, indices

    parts = pmap(nearest_in, centered.parts())
    values = np.concatenate([values for values, _ in parts], axis=1)
    indices = np.concatenate([indices for _, indices in parts], axis=1)
    # A stable sort breaks ties by index.
    best = np.argsort(values, axis=1, kind="stable")[:, :width]
    candidates = centered.searched[np.take_along_axis(indices, best, axis=1)]
    neighbors, squared = nearest_of(centered.points, centered.searched[rows], candidates, count)
    # ``searched`` is sorted.
    return TrueNeighbors(rows, np.searchsorted(centered.searched, neighbors), squared)


def loses_precision(centered: Centered, truth: TrueNeighbors) -> bool:
    """Return whether rounding hides the neighbors of too many samples."""
    rows = centered._replace(dtype=np.float64).read(truth.rows)
    norms = np.einsum("ij,ij->i", rows, rows)
    farthest = truth.squared[:, -1] * centered.unit**2
    limit = np.finfo(centered.dtype)
    rounding = ROUNDING * float(limit.eps) * norms + float(limit.tiny) / float(limit.eps)
    # Equal samples need not be distinguished.
    return bool(((farthest > 0) & (farthest < rounding)).mean() > LOST)


class Coordinates(NamedTuple):
    """Coordinates that are searched instead of the samples."""

    points: np.ndarray  # (n, n_directions)
    half_norms: np.ndarray  # |x|²/2, plus an estimate of the part of it outside of the directions
    width: int  # number of candidates
    kept: float  # fraction of true neighbors among the candidates
    truth: TrueNeighbors  # neighbors on which this fraction was measured


def coordinates_of(
    points: np.ndarray, searched: np.ndarray, count: int, rng: np.random.Generator, pmap: Pmap
) -> Coordinates:
    """Return coordinates of ``points[searched]`` that preserve nearly all true neighbors.

    Raises PrecisionLossError if double precision does not suffice.
    """
    n, n_features = searched.size, points.shape[1]
    # 1. A center near the samples reduces rounding errors; the median is robust to outliers.
    sampled = np.sort(rng.choice(n, min(n, SAMPLED), replace=False))
    sample = points[searched[rng.permutation(sampled)]].astype(np.float64)
    center = np.median(sample[: min(sample.shape[0], CENTERED)], axis=0)
    in_double = Centered(points, searched, center, 1.0, np.float64)
    largest = max(pmap(in_double.largest, in_double.parts())) + float(np.abs(center).max())
    # Scaling by a power of two is exact, and squares do not overflow in single precision.
    unit = 2.0 ** -int(np.frexp(largest)[1])
    centered = Centered(points, searched, center, unit, np.float32)
    # 2. The true neighbors of some samples, and the precision that is needed for them.
    n_measured = int(np.clip(MEASURED_PRODUCTS // (n * n_features), *MEASURED))
    rows = sampled[rng.permutation(sampled.size)[:n_measured]]
    truth = true_neighbors(centered, rows, count, pmap)
    if loses_precision(centered, truth):
        centered = in_double
        truth = true_neighbors(centered, rows, count, pmap)
        if loses_precision(centered, truth):
            raise PrecisionLossError
    # 3. The smallest sufficient number of directions.
    if n_features > FEW_FEATURES:
        for n_directions in DIRECTIONS:
            if 2 * n_directions <= n_features:
                basis = _directions(sample, n_directions, rng)
                projected, half_norms = _projected(centered, basis, truth, pmap)
                width, kept = _width(projected, half_norms, truth, count, pmap)
                if kept >= KEPT:
                    return Coordinates(projected, half_norms, width, kept, truth)
    # 4. Or all features, so that only rounding can change the order of neighbors.
    return Coordinates(*_features(centered, pmap), min(count + SPARE, n - 1), 1.0, truth)


def _directions(sample: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return approximate leading principal directions of a sample, as columns."""
    sample = sample - sample.mean(axis=0)
    # Scaled, so that single precision is enough.
    sample = (sample / max(float(np.abs(sample).max()), np.finfo(np.float64).tiny)).astype(
        np.float32
    )
    # Subspace iteration from a random basis.
    basis = rng.standard_normal((sample.shape[1], count + SPARE_DIRECTIONS), dtype=np.float32)
    for _ in range(ROUNDS):
        basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
    projected = sample @ basis
    rotation = np.linalg.eigh(projected.T @ projected)[1][:, ::-1]
    return np.ascontiguousarray(np.linalg.qr(basis @ rotation[:, :count])[0])


def _features(centered: Centered, pmap: Pmap) -> tuple[np.ndarray, np.ndarray]:
    """Return all features and half of their squared norms."""
    n, n_features = centered.searched.size, centered.points.shape[1]
    points, half_norms = np.empty((n, n_features), centered.dtype), np.empty(n, centered.dtype)

    def fill(part: slice) -> None:
        points[part] = centered.read(part)
        half_norms[part] = 0.5 * np.einsum("ij,ij->i", points[part], points[part])

    pmap(fill, centered.parts())
    return points, half_norms


def _projected(
    centered: Centered, basis: np.ndarray, truth: TrueNeighbors, pmap: Pmap
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates in a basis, and half norms that estimate the residual."""
    n = centered.searched.size
    points, half_norms = np.empty((n, basis.shape[1]), centered.dtype), np.empty(n, centered.dtype)
    residual = np.empty(n, centered.dtype)
    basis = basis.astype(centered.dtype)

    def fill(part: slice) -> None:
        block = centered.read(part)
        np.matmul(block, basis, out=points[part])
        norms = np.einsum("ij,ij->i", points[part], points[part])
        # Rounding may give a negative difference.
        residual[part] = np.maximum(np.einsum("ij,ij->i", block, block) - norms, 0)
        half_norms[part] = 0.5 * norms

    pmap(fill, centered.parts())
    # The residuals of neighbors are similar: their squared distance is a fraction of the sum of
    # their squared norms, estimated on the true neighbors.
    rows = np.repeat(truth.rows, truth.neighbors.shape[1])
    others = truth.neighbors.reshape(-1)
    difference = points[rows] - points[others]
    missing = truth.squared.reshape(-1) * centered.unit**2 - np.einsum(
        "ij,ij->i", difference, difference
    )
    total = residual[rows] + residual[others]
    fractions = missing[total > 0] / total[total > 0]
    fraction = float(np.clip(np.median(fractions), 0.0, 1.0)) if fractions.size else 0.0
    half_norms += (0.5 * fraction) * residual
    return points, half_norms


def _width(
    points: np.ndarray, half_norms: np.ndarray, truth: TrueNeighbors, count: int, pmap: Pmap
) -> tuple[int, float]:
    """Return the number of candidates and the fraction of true neighbors among them."""
    n = points.shape[0]
    widths = [min(n - 1, int(factor * count) + SPARE) for factor in WIDTHS]
    last = [width - 1 for width in widths]

    def kept_of(part: slice) -> np.ndarray:
        rows, neighbors = truth.rows[part], truth.neighbors[part]
        values = half_norms - points[rows] @ points.T
        values[np.arange(rows.size), rows] = np.inf
        limits = np.partition(values, last, axis=1)[:, last]
        is_kept = np.take_along_axis(values, neighbors, axis=1)[:, :, None] <= limits[:, None]
        return np.asarray(is_kept.mean(axis=1))

    parts = [slice(start, start + RANKED) for start in range(0, truth.rows.size, RANKED)]
    kept = np.concatenate(pmap(kept_of, parts)).mean(axis=0)
    chosen = int(np.argmax(kept >= KEPT)) if kept[-1] >= KEPT else len(widths) - 1
    return widths[chosen], float(kept[chosen])


def sampled_recall(
    points: np.ndarray, indices: np.ndarray, n_threads: int, seed: int, n_rows: int = 200
) -> float:
    """Return the recall of approximate neighbor lists, measured on a sample of rows.

    A neighbor that is no farther than the farthest true one is correct, so that ties do not matter.
    With 200 lists of ten neighbors, a recall of 0.97 is measured within about 0.01.
    """
    n, count = indices.shape
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n, min(n, n_rows), replace=False))
    center = points[rows].mean(axis=0, dtype=np.float64)
    with single_threaded(), Threads(n_threads) as pmap:
        centered = Centered(points, np.arange(n), center, 1.0, np.float64)
        truth = true_neighbors(centered, rows, count, pmap)
        farthest = truth.squared[:, -1]
        if loses_precision(centered, truth):
            samples = np.arange(n)

            def distance_of_last(row: int) -> float:
                others = samples[samples != row][None]
                return float(nearest_of(points, np.array([row]), others, count)[1][0, -1])

            farthest = np.array(pmap(distance_of_last, rows))
    # The same sums as for the true neighbors, so that equal distances are bitwise equal.
    listed, squared = nearest_of(points, rows, indices[rows].astype(np.int64), count)
    is_correct = squared <= farthest[:, None]
    # Repeated neighbors, and the sample itself, do not count.
    in_order = np.sort(np.where(is_correct, listed, rows[:, None]), axis=1)
    is_repeated = np.zeros(is_correct.shape, dtype=bool)
    is_repeated[:, 1:] = in_order[:, 1:] == in_order[:, :-1]
    return float(((in_order != rows[:, None]) & ~is_repeated).mean())
