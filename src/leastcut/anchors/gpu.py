"""Choice of anchors and search for nearest anchors on a GPU, through PyTorch.

As on the CPU, products in single precision give a few more candidates than needed, whose distances
are recomputed from coordinate differences. The sums of k-means are products with a matrix of ones,
in double precision, because the order of atomic additions would not be reproducible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from leastcut.anchors.blocks import UNIT, Block
from leastcut.anchors.choose import lloyd
from leastcut.anchors.nearest import FAR, SPARE, center_and_exponent

PRODUCTS = 2**27  # of points and anchors held at once: 512 MiB
DIFFERENCES = 2**27  # of coordinates held at once


class NearestOnGpu:
    """Search for nearest anchors on a GPU; see :class:`leastcut.anchors.nearest.NearestAnchors`.

    ``device`` is a PyTorch device.
    """

    def __init__(self, anchors: np.ndarray, n_neighbors: int, device: str = "cuda") -> None:
        self.anchors, self.n_neighbors, self.device = anchors, n_neighbors, device
        center, self._exponent = center_and_exponent(anchors)
        self._center = torch.as_tensor(center, device=device)
        self._scaled = self._centered(torch.as_tensor(anchors, device=device))
        self._factor = self._scaled.to(torch.float32).T.contiguous()
        squares = torch.square(self._scaled.to(torch.float64)).sum(dim=1)
        self._halves = (0.5 * squares).to(torch.float32)

    def block(self, points: Any) -> Block:
        """Return points, on the host or the GPU, with their weights on the nearest anchors."""
        n, count = points.shape[0], self.n_neighbors
        if self.anchors.shape[0] == 1:
            return Block(np.zeros((n, 1), np.int32), np.ones((n, 1), np.float32))
        listed = torch.empty((n, count), dtype=torch.int32, device=self.device)
        weights = torch.empty((n, count), dtype=torch.float32, device=self.device)
        for rows, part in self._parts(points):
            near = self._nearest(part, min(count + 1 + SPARE, self.anchors.shape[0]))
            near, squared = self._sorted_by_distance(part, near)
            listed[rows] = near[:, :count].to(torch.int32)
            weights[rows] = _weights(squared[:, : count + 1])
        return Block(listed.cpu().numpy(), weights.cpu().numpy())

    def nearest_one(self, points: Any) -> Any:
        """Return the index of the nearest anchor of every point, as a tensor on the GPU."""
        return torch.cat([self._nearest(part, 1)[:, 0] for _, part in self._parts(points)])

    def _parts(self, points: Any) -> Iterator[tuple[slice, Any]]:
        step = max(1, PRODUCTS // self.anchors.shape[0])
        for start in range(0, points.shape[0], step):
            part = torch.as_tensor(points[start : start + step])
            yield slice(start, start + step), self._centered(part.to(self.device))

    def _centered(self, points: Any) -> Any:
        """Return points in the coordinates of the search: centered, scaled and clipped."""
        moved = points.to(self._center.dtype) - self._center
        return torch.ldexp(moved, torch.tensor(-self._exponent, device=self.device)).clamp_(
            -FAR, FAR
        )

    def _nearest(self, points: Any, count: int) -> Any:
        keys = torch.addmm(self._halves, points.to(torch.float32), self._factor, alpha=-1.0)
        if count == 1:
            return keys.argmin(dim=1, keepdim=True)
        return keys.topk(count, dim=1, largest=False).indices

    def _sorted_by_distance(self, points: Any, near: Any) -> tuple[Any, Any]:
        """Return listed anchors sorted by squared distance, then by index, and the distances."""
        squared = torch.empty(near.shape, dtype=torch.float64, device=self.device)
        step = max(1, DIFFERENCES // (near.shape[1] * points.shape[1]))
        near = near.sort(dim=1).values
        for start in range(0, points.shape[0], step):
            rows = slice(start, start + step)
            differences = points[rows, None, :] - self._scaled[near[rows]]
            squared[rows] = torch.square_(differences).sum(dim=2, dtype=torch.float64)
        squared, order = squared.sort(dim=1, stable=True)
        return near.gather(1, order), squared


def choose_on_gpu(
    sample: np.ndarray, n_anchors: int, seed: int, device: str = "cuda"
) -> np.ndarray:
    """Return anchors for a sample; see :func:`leastcut.anchors.choose.choose_anchors`."""
    if n_anchors >= sample.shape[0]:
        return np.unique(sample, axis=0)
    points = torch.as_tensor(sample).to(device)
    wide = points.to(torch.float64)
    step = max(1, PRODUCTS // (2 * n_anchors))

    def move(centers: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nearest = NearestOnGpu(centers, 1, device).nearest_one(points)
        sums = torch.zeros(centers.shape, dtype=torch.float64, device=device)
        for start in range(0, points.shape[0], step):
            part = slice(start, start + step)
            ones = torch.nn.functional.one_hot(nearest[part], n_anchors).to(torch.float64)
            sums += ones.T @ wide[part]
        counts = torch.bincount(nearest, minlength=n_anchors).cpu().numpy()
        is_updated = counts >= least
        centers = centers.copy()
        centers[is_updated] = sums.cpu().numpy()[is_updated] / counts[is_updated, None]
        return nearest.cpu().numpy(), centers, counts

    anchors = lloyd(sample, n_anchors, np.random.default_rng(seed), move)
    return np.unique(anchors, axis=0)


def _weights(squared: Any) -> Any:
    """Return weights from sorted distances, multiples of UNIT that sum to exactly 1."""
    differences = squared[:, -1:] - squared[:, :-1]
    total = differences.sum(dim=1, keepdim=True)
    count = differences.shape[1]
    equal = ~((total > 0) & torch.isfinite(total))
    fractions = torch.where(equal, 1.0 / count, differences / torch.where(equal, 1.0, total))
    units = torch.floor(fractions / UNIT + 0.5)
    units[:, 0] = round(1.0 / UNIT) - units[:, 1:].sum(dim=1)
    return (units * UNIT).to(torch.float32)
