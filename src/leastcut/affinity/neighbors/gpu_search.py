"""Exact nearest neighbors on a GPU: half precision proposes, differences decide, a bound checks.

1. Tiles of inner products in half precision, on tensor cores, give every sample the distance of
   the nearest of every group of :data:`GROUP` others; no distance matrix is stored. Distances are
   symmetric, so that a tile serves its rows and its columns. A sample lists its nearest groups.
2. The samples of those groups are compared one by one, and the nearest of them once more by
   differences of coordinates as they were given, in double precision: distances and order are of
   these, with ties by index among what was listed.
3. Rounding moves a sample by a known radius, so that whatever was not listed is farther than a
   known reach. Rows that need to see farther are searched again by products in double precision,
   and what these cannot separate by differences to all samples.

Nothing is assumed of the data: where half precision cannot tell samples apart, as with tight
clusters far from each other, more rows come to the third step, which takes longer.
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

GROUP = 16  # fewer samples make longer lists of minima, more make more to compare one by one
SPARE = 14  # groups and samples beyond those needed, so that few rows are searched again
SIDE, PADDING = 2**15, 256  # samples of a block at most, and what their number is a multiple of
LONGEST = 240  # up to so many neighbors come by tiles, more by products in double precision
ROWS = 2**15  # rows that are worked on at once
HELD = 2**26  # numbers in double precision that are held at once: 512 MiB
HALF_EXPONENT = 10  # coordinates are at most 2¹⁰: half precision has its whole range below them
HALF, TINY = 2.0**-11, 2.0**-25  # error of half precision: a fraction, or for the smallest numbers
SINGLE_SUM, DOUBLE_SUM = 2.0**-22, 2.0**-51  # four times the error of a sum per term, a fraction
SAMPLED_ROWS = 256  # rows whose lists are compared with those of all differences, for the recall


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest others of every sample, and their squared distances, nearest first.

    ``recall`` is the fraction of the neighbors of some rows that are no farther than those found by
    comparing these rows with all samples by differences; ``n_again`` is the number of rows that
    half precision left in doubt.
    """

    indices: np.ndarray  # int32
    squared: np.ndarray  # from differences of coordinates in double precision
    recall: float
    n_again: int


def nearest_on_gpu(X: Any, count: int, seed: int = 0) -> Found:
    """List the 1 <= ``count`` < n nearest others of every sample of a float32 or float64 tensor.

    Squares of the samples neither overflow nor vanish. They stay where they are.
    """
    samples = _Samples(X.contiguous())
    n = X.shape[0]
    indices = torch.empty((n, count), dtype=torch.int32, device=X.device)
    squared = torch.empty((n, count), dtype=torch.float64, device=X.device)
    again = torch.arange(n, device=X.device)
    # 1 and 2. Tiles, and the samples they propose.
    if count <= LONGEST:
        doubtful = []
        for rows, listed, values, in_doubt in _by_tiles(samples, count):
            indices[rows], squared[rows] = listed, values
            doubtful.append(rows[in_doubt])
        again = torch.cat(doubtful)
    # 3. Rows that need to see farther.
    n_again = int(again.numel())
    for rows, listed, values, in_doubt in _by_products(samples, again, count):
        indices[rows], squared[rows] = listed, values
        rows = rows[in_doubt]
        indices[rows], squared[rows] = _by_differences(samples, rows, count)
    recall = _recall(samples, squared, seed)
    return Found(indices.cpu().numpy(), squared.cpu().numpy(), recall, n_again)


def memory_needed(n: int, n_features: int, count: int, itemsize: int) -> int:
    """Return the bytes that a search takes on the device, samples included."""
    width = _width(count)
    side = min(SIDE, n + PADDING)
    lists = n * (8 * width + 12 * count)
    blocks = 8 * side**2 // GROUP + 16 * min(ROWS, n) * width * GROUP
    # Measured on an H200: what is held at once is held up to eight times over.
    held = 64 * min(HELD, n * max(n_features, SAMPLED_ROWS))
    return n * n_features * (itemsize + 2) + lists + blocks + held


# Rows, the indices and squared distances of their lists, and which of them may miss a sample.
_Lists = tuple[Any, Any, Any, Any]


class _Samples:
    """Samples on the device, and what the steps share of them."""

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
        """Return some samples in double precision, about the mean."""
        return self.points[part].double() - self.shift

    def ranked(self, rows: Any, candidates: Any, count: int) -> tuple[Any, Any]:
        """Return the nearest of the candidates by differences, ties by index; -1 is none."""
        # By index first, which is the order that ties are left in, as both sorts are stable.
        candidates = candidates.sort(1).values
        squared = self.tiles.listed_distances(
            self.points, rows, candidates.clamp(min=0), torch.float64
        )
        squared[candidates < 0] = torch.inf
        squared, order = squared.sort(dim=1, stable=True)
        return candidates.gather(1, order)[:, :count], squared[:, :count]

    def wait(self) -> None:
        """Let the device finish, so that Ctrl-C is heard in between."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def _has_triton() -> bool:
    return "triton" in sys.modules or find_spec("triton") is not None


def _width(count: int) -> int:
    """Return how many groups a sample lists: a power of two."""
    # A sample's own group comes first.
    return 1 << (count + 1 + SPARE - 1).bit_length()


def _by_tiles(samples: _Samples, count: int) -> Iterator[_Lists]:
    """Yield the lists of all rows, block by block."""
    n, tiles, device = samples.n, samples.tiles, samples.device
    half = _Halves(samples)
    width = _width(count)
    values = torch.full((half.n_padded, width), torch.inf, device=device)
    groups = torch.full((half.n_padded, width), -1, dtype=torch.int32, device=device)
    # 1. The nearest groups of every sample: every pair of blocks once, for its rows and columns.
    blocks = [slice(b * half.side, (b + 1) * half.side) for b in range(half.n_blocks)]
    for b, own in enumerate(blocks):
        for other in blocks[b:]:
            both = own is not other
            rows, columns = tiles.group_minima(
                half.points[own],
                half.squares[own],
                half.points[other],
                half.squares[other],
                GROUP,
                both,
            )
            tiles.keep_nearest(values[own], groups[own], rows, other.start // GROUP)
            if both:
                tiles.keep_nearest(values[other], groups[other], columns, own.start // GROUP)
        samples.wait()
    member = torch.arange(GROUP, dtype=torch.int32, device=device)
    for start in range(0, n, ROWS):
        rows = torch.arange(start, min(start + ROWS, n), device=device)
        # 2. Compare with the samples of those groups; the row itself and padding are none.
        named = groups[rows]
        candidates = (named[:, :, None] * GROUP + member).flatten(1)
        none = (named < 0)[:, :, None].expand(-1, -1, GROUP).flatten(1)
        none = none | (candidates == rows[:, None]) | (candidates >= n)
        near = tiles.listed_distances(
            half.points, rows, candidates.masked_fill(none, 0), torch.float32
        )
        near[none] = torch.inf
        nearest = near.topk(min(count + SPARE, near.shape[1]), 1, largest=False)
        listed = candidates.gather(1, nearest.indices)
        listed[nearest.values == torch.inf] = -1
        indices, squared = samples.ranked(rows, listed, count)
        # 3. Rows that need to see farther than the groups and samples left out are known to be.
        left_out = nearest.values.amax(1) if near.shape[1] > listed.shape[1] else torch.inf
        doubtful = half.doubts(rows, squared[:, -1], values[rows].amax(1), left_out)
        yield rows, indices, squared, doubtful
        samples.wait()


class _Halves:
    """Samples in half precision, centered, scaled and padded, and how far they are off.

    ``points`` are in blocks of ``side`` samples; squared norms are infinite for padding; ``radius``
    is how far rounding has moved every sample.
    """

    def __init__(self, samples: _Samples) -> None:
        n, n_features = samples.n, samples.n_features
        self.n_blocks = -(-n // SIDE)
        self.side = -(-n // (self.n_blocks * PADDING)) * PADDING
        self.n_padded = self.n_blocks * self.side
        # Tensor cores take 16 features at least; longer rows in steps of 64.
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
        # A power of two rounds nothing.
        self.scale = float(np.ldexp(1.0, exponent))
        for part in parts:
            scaled = samples.centered(part) * self.scale
            halves = scaled.half()
            self.points[part, :n_features] = halves
            halves = halves.double()
            self.norms[part] = halves.norm(dim=1)
            self.squares[part] = halves.square().sum(1).float()
            # And a little for the shift, which rounds in double precision.
            self.radius[part] = (scaled - halves).norm(dim=1) + 2.0**-22 * scaled.norm(dim=1)
        self.largest_radius = self.radius.max()
        self.n_features = padded

    def doubts(self, rows: Any, squared: Any, group_value: Any, left_out: Any) -> Any:
        """Tell which rows could miss a sample within a squared distance.

        Whatever is not listed is at least at ``group_value`` as the tiles see it, or at
        ``left_out`` among the samples that were compared.
        """
        need = squared.sqrt() * self.scale
        norms, radius = self.norms[rows], self.radius[rows]
        # A sample within reach has a norm that is hardly larger, and is moved accordingly.
        other = norms + radius + need
        moved = HALF * 1.01 * other + self.n_features**0.5 * TINY
        moved = torch.minimum(moved, self.largest_radius)
        # As rounded samples lie, it would be within this.
        need = (need + radius + moved) ** 2
        terms = (self.n_features + 16) * SINGLE_SUM
        by_groups = group_value.double() + norms**2 - terms * (norms + other + moved) ** 2
        by_samples = torch.as_tensor(left_out, device=rows.device).double() * (1 - terms)
        # What is at distance 0 cannot be farther than anything; what is no number is in doubt.
        return ~((torch.minimum(by_groups, by_samples) > need) | (squared == 0))


def _by_products(samples: _Samples, rows: Any, count: int) -> Iterator[_Lists]:
    """Yield the lists of some rows by products with all samples in double precision."""
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
            # The first are those listed before.
            place = kept.indices - width
            values = kept.values
            listed = torch.where(
                place < 0,
                listed.gather(1, kept.indices.clamp(max=width - 1)),
                number[place.clamp(min=0)].int(),
            )
        indices, squared = samples.ranked(chosen, listed, count)
        need = squared[:, -1]
        room = (samples.n_features + 16) * DOUBLE_SUM * (2 * norms.sqrt() + need.sqrt()) ** 2
        doubtful = ~((values[:, -1] - room > need) | (need == 0)) & (width < n - 1)
        yield chosen, indices, squared, doubtful
        samples.wait()


def _by_differences(samples: _Samples, rows: Any, count: int) -> tuple[Any, Any]:
    """Return the lists of some rows by differences to all samples."""
    number = torch.arange(samples.n, dtype=torch.int32, device=samples.device)
    indices = torch.empty((rows.numel(), count), dtype=torch.int32, device=samples.device)
    squared = torch.empty((rows.numel(), count), dtype=torch.float64, device=samples.device)
    step = max(1, HELD // samples.n)
    for start in range(0, rows.numel(), step):
        part = slice(start, start + step)
        chosen = rows[part]
        everyone = number.expand(chosen.numel(), -1).contiguous()
        near = samples.tiles.listed_distances(samples.points, chosen, everyone, torch.float64)
        near.scatter_(1, chosen[:, None], torch.inf)
        # The sort is stable, so that ties are by index.
        near, order = near.sort(dim=1, stable=True)
        indices[part], squared[part] = order[:, :count].int(), near[:, :count]
        samples.wait()
    return indices, squared


def _recall(samples: _Samples, squared: Any, seed: int) -> float:
    """Compare the lists of some rows with those of differences to all samples."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(samples.n, min(SAMPLED_ROWS, samples.n), replace=False)
    rows = torch.as_tensor(np.sort(rows), device=samples.device)
    _, right = _by_differences(samples, rows, squared.shape[1])
    # The same differences may be added up in another order.
    farthest = right[:, -1:] * (1 + samples.n_features * DOUBLE_SUM)
    return float((squared[rows] <= farthest).double().mean())
