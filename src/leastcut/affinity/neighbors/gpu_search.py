"""Exact nearest neighbors on a GPU: products in half precision, checked by an error bound.

1. Tiles of inner products in half precision, on tensor cores, give the distance from every sample
   to the nearest of every group of :data:`GROUP` others. Distances are symmetric, so a tile serves
   its rows and its columns; no distance matrix is stored. Each sample lists its nearest groups.
2. The samples of these groups are compared one by one, and the distances of the nearest are
   recomputed in double precision from differences of the original coordinates. These distances
   determine the lists, with ties broken by index among the compared samples.
3. Rounding moves a sample by at most a known radius, so that samples that were not compared are
   beyond a known reach. Rows whose list exceeds their reach are searched again with products in
   double precision, and then, if necessary, with differences to all samples.

The result is exact for any data. If half precision cannot distinguish the samples, as for tight
clusters far from each other, more rows need the slower third step.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from leastcut.affinity.neighbors import gpu_tiles

GROUP = 16  # samples; smaller groups give longer lists of minima, larger ones more comparisons
SPARE = 14  # groups and samples beyond those needed, so that few rows are searched again
SIDE, PADDING = 2**15, 256  # maximum number of samples in a block, and a divisor of this number
LONGEST = 240  # neighbors found with tiles; more are found by products in double precision
ROWS = 2**15  # rows processed at once
HELD = 2**26  # doubles held at once: 512 MiB
HALF_EXPONENT = 10  # coordinates are scaled to at most 2¹⁰, within the range of half precision
HALF, TINY = 2.0**-11, 2.0**-25  # relative error of half precision, absolute error of subnormals
SINGLE_SUM, DOUBLE_SUM = 2.0**-22, 2.0**-51  # four times the relative error of a sum per term
SAMPLED_ROWS = 256  # rows on which the recall is measured by brute force


@dataclass(frozen=True, eq=False)
class GpuNeighbors:
    """The nearest neighbors of every sample and their squared distances, nearest first.

    ``recall`` is measured by brute force on some rows; ``n_repeated`` is the number of rows that
    half precision could not decide.
    """

    indices: np.ndarray  # int32
    squared: np.ndarray  # from coordinate differences in double precision
    recall: float
    n_repeated: int


def nearest_on_gpu(X: Any, count: int, seed: int = 0) -> GpuNeighbors:
    """List the 1 <= ``count`` < n nearest neighbors of every row of a float32 or float64 tensor.

    Squares of the samples must neither overflow nor underflow.
    """
    samples = _Samples(X.contiguous())
    n = X.shape[0]
    indices = torch.empty((n, count), dtype=torch.int32, device=X.device)
    squared = torch.empty((n, count), dtype=torch.float64, device=X.device)
    again = torch.arange(n, device=X.device)
    # 1 and 2. Tiles and the samples of the nearest groups.
    if count <= LONGEST:
        repeated = []
        for rows, listed, values, uncertain in _by_tiles(samples, count):
            indices[rows], squared[rows] = listed, values
            repeated.append(rows[uncertain])
        again = torch.cat(repeated)
    # 3. Rows whose list exceeds their reach.
    n_repeated = int(again.numel())
    for rows, listed, values, uncertain in _by_products(samples, again, count):
        indices[rows], squared[rows] = listed, values
        rows = rows[uncertain]
        indices[rows], squared[rows] = _by_differences(samples, rows, count)
    recall = _recall(samples, squared, seed)
    return GpuNeighbors(indices.cpu().numpy(), squared.cpu().numpy(), recall, n_repeated)


def memory_needed(n: int, n_features: int, count: int, itemsize: int) -> int:
    """Return the GPU memory of a search in bytes, including the samples."""
    width = _width(count)
    side = min(SIDE, n + PADDING)
    lists = n * (8 * width + 12 * count)
    blocks = 8 * side**2 // GROUP + 16 * min(ROWS, n) * width * GROUP
    # On an H200, up to eight temporary arrays of this size were allocated at once.
    held = 64 * min(HELD, n * max(n_features, SAMPLED_ROWS))
    return n * n_features * (itemsize + 2) + lists + blocks + held


# Rows, the indices and squared distances of their lists, and whether a list may miss a sample.
_Lists = tuple[Any, Any, Any, Any]


class _Samples:
    """Samples on the device, and operations that all steps share."""

    def __init__(self, points: Any) -> None:
        self.points = points
        self.n, self.n_features = points.shape
        self.device = points.device
        self.shift = points.mean(0, dtype=torch.float64)
        self.tiles: Any = gpu_tiles
        if self.device.type == "cuda" and _has_triton():
            from leastcut.affinity.neighbors import gpu_kernels

            self.tiles = gpu_kernels

    def centered(self, part: Any) -> Any:
        """Return some samples in double precision, centered at the mean."""
        return self.points[part].double() - self.shift

    def ranked(self, rows: Any, candidates: Any, count: int) -> tuple[Any, Any]:
        """Return the nearest candidates by differences, ties by index; -1 marks no candidate."""
        # Sort by index first: the second sort is stable, so that it breaks ties by index.
        candidates = candidates.sort(1).values
        squared = self.tiles.listed_distances(
            self.points, rows, candidates.clamp(min=0), torch.float64
        )
        squared[candidates < 0] = torch.inf
        squared, order = squared.sort(dim=1, stable=True)
        return candidates.gather(1, order)[:, :count], squared[:, :count]

    def wait(self) -> None:
        """Wait for the device, so that Ctrl-C can interrupt the search."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def _has_triton() -> bool:
    return "triton" in sys.modules or find_spec("triton") is not None


def _width(count: int) -> int:
    """Return the number of groups that a sample lists, a power of two."""
    # One more, for the sample's own group.
    return 1 << (count + 1 + SPARE - 1).bit_length()


def _by_tiles(samples: _Samples, count: int) -> Iterator[_Lists]:
    """Yield the lists of all rows, block by block."""
    n, tiles, device = samples.n, samples.tiles, samples.device
    half = _HalfPrecision(samples)
    width = _width(count)
    values = torch.full((half.n_padded, width), torch.inf, device=device)
    groups = torch.full((half.n_padded, width), -1, dtype=torch.int32, device=device)
    # 1. The nearest groups of every sample: every pair of blocks once, for its rows and columns.
    blocks = [slice(b * half.side, (b + 1) * half.side) for b in range(half.n_blocks)]
    for b, block in enumerate(blocks):
        for other in blocks[b:]:
            both = block is not other
            rows, columns = tiles.group_minima(
                half.points[block],
                half.squares[block],
                half.points[other],
                half.squares[other],
                GROUP,
                both,
            )
            tiles.keep_nearest(values[block], groups[block], rows, other.start // GROUP)
            if both:
                tiles.keep_nearest(values[other], groups[other], columns, block.start // GROUP)
        samples.wait()
    member = torch.arange(GROUP, dtype=torch.int32, device=device)
    for start in range(0, n, ROWS):
        rows = torch.arange(start, min(start + ROWS, n), device=device)
        # 2. Compare with the samples of these groups, except the row itself and padding.
        row_groups = groups[rows]
        candidates = (row_groups[:, :, None] * GROUP + member).flatten(1)
        excluded = (row_groups < 0)[:, :, None].expand(-1, -1, GROUP).flatten(1)
        excluded = excluded | (candidates == rows[:, None]) | (candidates >= n)
        near = tiles.listed_distances(
            half.points, rows, candidates.masked_fill(excluded, 0), torch.float32
        )
        near[excluded] = torch.inf
        nearest = near.topk(min(count + SPARE, near.shape[1]), 1, largest=False)
        listed = candidates.gather(1, nearest.indices)
        listed[nearest.values == torch.inf] = -1
        indices, squared = samples.ranked(rows, listed, count)
        # 3. Check that the excluded groups and samples are beyond the lists.
        left_out = nearest.values.amax(1) if near.shape[1] > listed.shape[1] else torch.inf
        uncertain = half.uncertain(rows, squared[:, -1], values[rows].amax(1), left_out)
        yield rows, indices, squared, uncertain
        samples.wait()


class _HalfPrecision:
    """Samples in half precision, centered, scaled and padded, with bounds on their rounding errors.

    ``points`` are in blocks of ``side`` samples. Squared norms of padding are infinite. ``radius``
    is the distance by which rounding has moved every sample.
    """

    def __init__(self, samples: _Samples) -> None:
        n, n_features = samples.n, samples.n_features
        self.n_blocks = -(-n // SIDE)
        self.side = -(-n // (self.n_blocks * PADDING)) * PADDING
        self.n_padded = self.n_blocks * self.side
        # Tensor cores need at least 16 features, and longer rows in steps of 64.
        step = 64 if n_features > 32 else 16 if n_features <= 16 else 32
        padded = -(-n_features // step) * step
        device = samples.device
        self.points = torch.zeros((self.n_padded, padded), dtype=torch.float16, device=device)
        self.squares = torch.full((self.n_padded,), torch.inf, device=device)
        self.norms = torch.empty(n, dtype=torch.float64, device=device)
        self.radius = torch.empty(n, dtype=torch.float64, device=device)
        rows = max(1, HELD // n_features)
        parts = [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
        largest = max(float(samples.centered(part).abs().amax()) for part in parts)
        exponent = HALF_EXPONENT - int(np.frexp(largest)[1]) if largest > 0 else 0
        # Scaling by a power of two is exact.
        self.scale = float(np.ldexp(1.0, exponent))
        for part in parts:
            scaled = samples.centered(part) * self.scale
            halves = scaled.half()
            self.points[part, :n_features] = halves
            halves = halves.double()
            self.norms[part] = halves.norm(dim=1)
            self.squares[part] = halves.square().sum(1).float()
            # The last term bounds the rounding of the shift in double precision.
            self.radius[part] = (scaled - halves).norm(dim=1) + 2.0**-22 * scaled.norm(dim=1)
        self.largest_radius = self.radius.max()
        self.n_features = padded

    def uncertain(self, rows: Any, squared: Any, group_value: Any, left_out: Any) -> Any:
        """Return which rows may miss a sample within a squared distance.

        Samples of other groups have at least the value ``group_value`` in the tiles, and compared
        samples that are not listed at least ``left_out``.
        """
        need = squared.sqrt() * self.scale
        norms, radius = self.norms[rows], self.radius[rows]
        # A sample within this distance has a bounded norm, and so a bounded rounding error.
        other = norms + radius + need
        moved = HALF * 1.01 * other + self.n_features**0.5 * TINY
        moved = torch.minimum(moved, self.largest_radius)
        # The squared distance after rounding is at most this.
        need = (need + radius + moved) ** 2
        terms = (self.n_features + 16) * SINGLE_SUM
        by_groups = group_value.double() + norms**2 - terms * (norms + other + moved) ** 2
        by_samples = torch.as_tensor(left_out, device=rows.device).double() * (1 - terms)
        # A list that ends at distance 0 misses nothing; NaN makes a row uncertain.
        return ~((torch.minimum(by_groups, by_samples) > need) | (squared == 0))


def _by_products(samples: _Samples, rows: Any, count: int) -> Iterator[_Lists]:
    """Yield the lists of some rows, by products with all samples in double precision."""
    n, device = samples.n, samples.device
    width = min(count + SPARE, n - 1)
    for chosen in rows.split(ROWS // 16):
        step = max(1, HELD // max(samples.n_features, chosen.numel()))
        queries = samples.centered(chosen)
        norms = queries.square().sum(1)
        values = torch.full((chosen.numel(), width), torch.inf, dtype=torch.float64, device=device)
        listed = torch.full((chosen.numel(), width), -1, dtype=torch.int32, device=device)
        for start in range(0, n, step):
            others = samples.centered(slice(start, start + step))
            near = others.square().sum(1) - 2 * (queries @ others.T) + norms[:, None]
            number = torch.arange(start, start + others.shape[0], device=device)
            near[number == chosen[:, None]] = torch.inf
            near = torch.cat([values, near], 1)
            kept = near.topk(width, 1, largest=False)
            # The first ``width`` positions are the previous list.
            position = kept.indices - width
            values = kept.values
            listed = torch.where(
                position < 0,
                listed.gather(1, kept.indices.clamp(max=width - 1)),
                number[position.clamp(min=0)].int(),
            )
        indices, squared = samples.ranked(chosen, listed, count)
        need = squared[:, -1]
        error = (samples.n_features + 16) * DOUBLE_SUM * (2 * norms.sqrt() + need.sqrt()) ** 2
        uncertain = ~((values[:, -1] - error > need) | (need == 0)) & (width < n - 1)
        yield chosen, indices, squared, uncertain
        samples.wait()


def _by_differences(samples: _Samples, rows: Any, count: int) -> tuple[Any, Any]:
    """Return the lists of some rows, by differences to all samples."""
    number = torch.arange(samples.n, dtype=torch.int32, device=samples.device)
    indices = torch.empty((rows.numel(), count), dtype=torch.int32, device=samples.device)
    squared = torch.empty((rows.numel(), count), dtype=torch.float64, device=samples.device)
    step = max(1, HELD // samples.n)
    for start in range(0, rows.numel(), step):
        part = slice(start, start + step)
        chosen = rows[part]
        others = number.expand(chosen.numel(), -1).contiguous()
        near = samples.tiles.listed_distances(samples.points, chosen, others, torch.float64)
        near.scatter_(1, chosen[:, None], torch.inf)
        # A stable sort breaks ties by index.
        near, order = near.sort(dim=1, stable=True)
        indices[part], squared[part] = order[:, :count].int(), near[:, :count]
        samples.wait()
    return indices, squared


def _recall(samples: _Samples, squared: Any, seed: int) -> float:
    """Return the recall, measured by brute force on some rows."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(samples.n, min(SAMPLED_ROWS, samples.n), replace=False)
    rows = torch.as_tensor(np.sort(rows), device=samples.device)
    _, expected = _by_differences(samples, rows, squared.shape[1])
    # The order of the sums may differ.
    farthest = expected[:, -1:] * (1 + samples.n_features * DOUBLE_SUM)
    return float((squared[rows] <= farthest).double().mean())
