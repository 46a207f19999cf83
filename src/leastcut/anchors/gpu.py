"""Anchors and their nearest points on a GPU, through PyTorch: one matrix product per block.

As on the CPU, products in single precision propose a few more anchors than are needed, and
differences of coordinates decide. Sums of k-means are products with a matrix of ones, in double
precision: adding up by atomic operations would be in another order every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from leastcut.anchors.blocks import UNIT, Block
from leastcut.anchors.choose import lloyd
from leastcut.anchors.nearest import FAR, SPARE, frame_of

PRODUCTS = 2**27  # of points and anchors, held at once: 512 MiB
DIFFERENCES = 2**27  # of coordinates, held at once


class NearestOnGpu:
    """A search for nearest anchors on a GPU; see :class:`leastcut.anchors.nearest.NearestAnchors`.

    ``device`` is PyTorch's name of the GPU.
    """

    def __init__(self, anchors: np.ndarray, n_neighbors: int, device: str = "cuda") -> None:
        self.anchors, self.n_neighbors, self.device = anchors, n_neighbors, device
        middle, self._exponent = frame_of(anchors)
        self._middle = torch.as_tensor(middle, device=device)
        self._scaled = self._in_frame(torch.as_tensor(anchors, device=device))
        self._factor = self._scaled.to(torch.float32).T.contiguous()
        squares = torch.square(self._scaled.to(torch.float64)).sum(dim=1)
        self._halves = (0.5 * squares).to(torch.float32)

    def block(self, points: Any) -> Block:
        """Return points, which lie here or there, with their weights on the nearest anchors."""
        n, count = points.shape[0], self.n_neighbors
        if self.anchors.shape[0] == 1:
            return Block(np.zeros((n, 1), np.int32), np.ones((n, 1), np.float32))
        listed = torch.empty((n, count), dtype=torch.int32, device=self.device)
        weights = torch.empty((n, count), dtype=torch.float32, device=self.device)
        for rows, here in self._parts(points):
            near = self._nearest(here, min(count + 1 + SPARE, self.anchors.shape[0]))
            near, squared = self._settled(here, near)
            listed[rows] = near[:, :count].to(torch.int32)
            weights[rows] = _weights(squared[:, : count + 1])
        return Block(listed.cpu().numpy(), weights.cpu().numpy())

    def nearest_one(self, points: Any) -> Any:
        """Return the number of the nearest anchor of every point, as a tensor there."""
        return torch.cat([self._nearest(here, 1)[:, 0] for _, here in self._parts(points)])

    def _parts(self, points: Any) -> Iterator[tuple[slice, Any]]:
        step = max(1, PRODUCTS // self.anchors.shape[0])
        for start in range(0, points.shape[0], step):
            part = torch.as_tensor(points[start : start + step])
            yield slice(start, start + step), self._in_frame(part.to(self.device))

    def _in_frame(self, points: Any) -> Any:
        moved = points.to(self._middle.dtype) - self._middle
        return torch.ldexp(moved, torch.tensor(-self._exponent, device=self.device)).clamp_(
            -FAR, FAR
        )

    def _nearest(self, points: Any, count: int) -> Any:
        keys = torch.addmm(self._halves, points.to(torch.float32), self._factor, alpha=-1.0)
        if count == 1:
            return keys.argmin(dim=1, keepdim=True)
        return keys.topk(count, dim=1, largest=False).indices

    def _settled(self, points: Any, near: Any) -> tuple[Any, Any]:
        """Return listed anchors by their squared distances, ties by number, and those."""
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
    """Return anchors for the points of a sample; see :func:`leastcut.anchors.choose`."""
    if n_anchors >= sample.shape[0]:
        return np.unique(sample, axis=0)
    points = torch.as_tensor(sample).to(device)
    wide = points.to(torch.float64)
    step = max(1, PRODUCTS // (2 * n_anchors))

    def move(centres: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nearest = NearestOnGpu(centres, 1, device).nearest_one(points)
        sums = torch.zeros(centres.shape, dtype=torch.float64, device=device)
        for start in range(0, points.shape[0], step):
            part = slice(start, start + step)
            ones = torch.nn.functional.one_hot(nearest[part], n_anchors).to(torch.float64)
            sums += ones.T @ wide[part]
        counts = torch.bincount(nearest, minlength=n_anchors).cpu().numpy()
        stays = counts >= least
        centres = centres.copy()
        centres[stays] = sums.cpu().numpy()[stays] / counts[stays, None]
        return nearest.cpu().numpy(), centres, counts

    found = lloyd(sample, n_anchors, np.random.default_rng(seed), move)
    return np.unique(found, axis=0)


def _weights(squared: Any) -> Any:
    """Return weights, multiples of a unit that add up to exactly 1, of distances in order."""
    differences = squared[:, -1:] - squared[:, :-1]
    total = differences.sum(dim=1, keepdim=True)
    count = differences.shape[1]
    equal = ~((total > 0) & torch.isfinite(total))
    shares = torch.where(equal, 1.0 / count, differences / torch.where(equal, 1.0, total))
    units = torch.floor(shares / UNIT + 0.5)
    units[:, 0] = round(1.0 / UNIT) - units[:, 1:].sum(dim=1)
    return (units * UNIT).to(torch.float32)
