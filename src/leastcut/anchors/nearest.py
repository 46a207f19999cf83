"""Search for the nearest anchors of points, and the weights of points on them.

1. Few features: a k-d tree of the anchors.
2. Many features: a matrix product in single precision per block gives a few more candidates than
   needed, whose distances are recomputed from coordinate differences. If rounding may have missed a
   nearer anchor, the candidates are computed again in double precision.
3. Many features and many anchors: anchors are in cells, and the points of a cell are compared with
   the anchors of the nearest cells, as in 2. This search is approximate.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from leastcut.affinity.neighbors.common import TREE_FEATURES
from leastcut.affinity.neighbors.tree import TreeSearch
from leastcut.anchors.blocks import UNIT, Block
from leastcut.kernels.anchors import (
    LANES,
    add_to_centers,
    compute_anchor_weights,
    nearest_by_products,
    sort_by_distance,
)
from leastcut.threads import in_blocks, single_threaded

SPARE = 2  # candidates beyond those needed, as single precision may change their order
HALF_UNIT = 2.0**-24  # maximum relative error of one rounding in single precision
FURTHER_ROUNDINGS = 8  # of a key in addition to those of its sum: of points, anchors and norms

PRODUCTS = 2**21  # held at once by a thread: 8 MiB, which stay in the cache
FEWEST_ROWS = 64  # minimum number of points in a product, for speed
MOST_ROWS = 2**14  # maximum number of points in a product, for memory

MANY_ANCHORS = 8192  # from this number, with many features, anchors are searched in cells
SEEN_CELLS = 24  # cells that the points of a cell search: its own and the nearest
CELL_ROUNDS = 5  # of k-means; more rounds hardly change the searched anchors

FRAMED, MOST = 256, 0.9
"""Number of anchors that determine center and scale, and the fraction of them within the scale."""

FAR = 2.0**40
"""Coordinates are clipped to this, in units of the spread of the anchors."""


def tile_rows(n_anchors: int, n_features: int) -> int:
    """Return the number of points that are compared with anchors at once."""
    if n_features <= TREE_FEATURES or is_in_cells(n_anchors, n_features):
        return MOST_ROWS
    return max(FEWEST_ROWS, min(MOST_ROWS, PRODUCTS // n_anchors))


def is_in_cells(n_anchors: int, n_features: int) -> bool:
    """Return whether anchors are searched in cells."""
    return n_features > TREE_FEATURES and n_anchors >= MANY_ANCHORS


class NearestAnchors:
    """Search for the ``n_neighbors`` nearest anchors of points, and the weights on them.

    There are more than ``n_neighbors`` anchors, or only one. Results do not depend on
    ``n_threads``.
    """

    def __init__(self, anchors: np.ndarray, n_neighbors: int, n_threads: int) -> None:
        self.anchors, self.n_neighbors, self.n_threads = anchors, n_neighbors, n_threads

    def __getstate__(self) -> dict[str, Any]:
        # The search is created again from the anchors.
        names = ("anchors", "n_neighbors", "n_threads")
        return {name: self.__dict__[name] for name in names}

    def block(self, points: np.ndarray) -> Block:
        """Return points with their weights on the nearest anchors."""
        n, p = points.shape[0], self.anchors.shape[0]
        if p == 1:
            return Block(np.zeros((n, 1), np.int32), np.ones((n, 1), np.float32))
        listed = np.empty((n, self.n_neighbors), dtype=np.int32)
        weights = np.empty((n, self.n_neighbors), dtype=np.float32)
        search = self._search

        def compute_rows(start: int, stop: int) -> None:
            nearest, squared = search.nearest(self._scaled(points[start:stop]))
            listed[start:stop] = nearest[:, : self.n_neighbors]
            compute_anchor_weights(squared, UNIT, weights[start:stop])

        with single_threaded():
            in_blocks(compute_rows, n, search.most_rows, self.n_threads)
        return Block(listed, weights)

    def nearest_one(self, points: np.ndarray) -> np.ndarray:
        """Return the index of the nearest anchor of every point, as an int32 column."""
        nearest = np.empty((points.shape[0], 1), dtype=np.int32)
        search = self._search

        def search_rows(start: int, stop: int) -> None:
            nearest[start:stop] = search.candidates(self._scaled(points[start:stop]), 1)

        with single_threaded():
            in_blocks(search_rows, points.shape[0], search.most_rows, self.n_threads)
        return nearest

    @cached_property
    def _search(self) -> Any:
        p, n_features = self.anchors.shape
        scaled, count = self._scaled(self.anchors), min(self.n_neighbors + 1, p)
        if n_features <= TREE_FEATURES:
            return _Tree(scaled, count)
        if p < MANY_ANCHORS:
            return _Products(scaled, count)
        return _Cells(scaled, count)

    @cached_property
    def _frame(self) -> tuple[np.ndarray, int]:
        return center_and_exponent(self.anchors)

    def _scaled(self, points: np.ndarray) -> np.ndarray:
        center, exponent = self._frame
        with np.errstate(over="ignore"):
            moved = np.ldexp(points.astype(self.anchors.dtype, copy=False) - center, -exponent)
            return np.asarray(np.clip(moved, -FAR, FAR, out=moved))


def center_and_exponent(anchors: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the center of the anchors, and the exponent of a scale that makes their spread 1.

    Both are robust to outliers: otherwise, a few distant anchors, for example due to wrong values
    among the samples, would make the others indistinguishable in single precision.
    """
    some = 0.5 * anchors[:: -(-anchors.shape[0] // FRAMED)]  # the sum of two may overflow
    center = np.median(some, axis=0).astype(anchors.dtype)
    spreads = np.sort(np.abs(some - center).max(axis=1))
    spread = spreads[int(MOST * (spreads.size - 1))] or spreads[-1]
    return center * 2, int(np.frexp(float(spread))[1]) + 1


class _Tree:
    """A k-d tree of anchors."""

    most_rows = MOST_ROWS

    def __init__(self, anchors: np.ndarray, count: int) -> None:
        self._tree, self._count = TreeSearch(anchors, 1), count

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of points, and the squared distances."""
        return self._tree.nearest(points, self._count)

    def candidates(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return only the nearest anchors."""
        return self._tree.nearest(points, count)[0]


class _Products:
    """Search for nearest anchors by products.

    The key of anchor a for point x is |a|²/2 − xᵀa, computed in single precision with an error of
    at most e (|x| |a| + |a|²/2) ≤ e (|x|²/2 + |a|²), where e = HALF_UNIT · (d + FURTHER_ROUNDINGS).
    """

    def __init__(self, anchors: np.ndarray, count: int) -> None:
        self._anchors, self._count = anchors, count
        # In Fortran order, for the product.
        self._factor = np.asfortranarray(anchors.T.astype(np.float32))
        halves = 0.5 * np.square(anchors, dtype=np.float64).sum(axis=1)
        self._error = HALF_UNIT * (anchors.shape[1] + FURTHER_ROUNDINGS)
        self._halves = halves.astype(np.float32)
        self._least_halves = ((1.0 - 2.0 * self._error) * halves).astype(np.float32)
        self.most_rows = tile_rows(anchors.shape[0], anchors.shape[1])

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of points, and the squared distances."""
        p, count = self._anchors.shape[0], self._count
        # 1. Select candidates by lower bounds of their keys, and compute their distances.
        listed, keys = self._smallest(points, min(count + SPARE, p), self._least_halves)
        squared = self._sort_by_distance(points, listed)
        if listed.shape[1] == p:
            return listed, squared
        # 2. All other anchors have larger bounds. If one may still be nearer, select candidates
        #    again in double precision.
        norms = np.einsum("ij,ij->i", points, points, dtype=np.float64)
        bounds = keys[:, -1] - 0.5 * self._error * norms
        uncertain = np.flatnonzero(bounds <= 0.5 * (squared[:, count - 1] - norms))
        if uncertain.size:
            again = self._smallest_in_double(points[uncertain], listed.shape[1])
            squared[uncertain] = self._sort_by_distance(points[uncertain], again)
            listed[uncertain] = again
        return listed, squared

    def candidates(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return the nearest anchors according to products in single precision."""
        return self._smallest(points, count, self._halves)[0]

    def _smallest(
        self, points: np.ndarray, count: int, halves: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the anchors with the smallest keys, and the keys."""
        listed = np.empty((points.shape[0], count), dtype=np.int32)
        keys = np.empty(listed.shape, dtype=np.float32)
        products = points.astype(np.float32, copy=False) @ self._factor
        nearest_by_products(products, halves, listed, keys)
        return listed, keys

    def _smallest_in_double(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return the anchors with the smallest keys, computed in double precision."""
        anchors = self._anchors.astype(np.float64, copy=False)
        keys = 0.5 * np.square(anchors).sum(axis=1) - points.astype(np.float64) @ anchors.T
        return np.argsort(keys, axis=1, kind="stable")[:, :count].astype(np.int32)

    def _sort_by_distance(self, points: np.ndarray, listed: np.ndarray) -> np.ndarray:
        """Sort listed anchors by their squared distances, in place, and return these."""
        squared = np.empty(listed.shape)
        sort_by_distance(points, self._anchors, listed, squared, np.empty(LANES))
        return squared


class _Cells:
    """Approximate search: the points of a cell are compared with the anchors of nearby cells."""

    most_rows = MOST_ROWS

    def __init__(self, anchors: np.ndarray, count: int) -> None:
        n_cells = round(np.sqrt(anchors.shape[0]))
        centers = _means_of_cells(anchors, anchors[:: anchors.shape[0] // n_cells])
        self._centers = _Products(centers, 1)
        cell = self._centers.candidates(anchors, 1)[:, 0]
        nearby = self._centers.candidates(centers, min(SEEN_CELLS, centers.shape[0]))
        self._seen = [np.flatnonzero(np.isin(cell, near)).astype(np.int32) for near in nearby]
        # If nearby cells have too few anchors, search all anchors.
        every = np.arange(anchors.shape[0], dtype=np.int32)
        self._seen = [seen if seen.size > count + SPARE else every for seen in self._seen]
        self._products = [_Products(anchors[seen], count) for seen in self._seen]
        self._count = count

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of points, and the squared distances."""
        listed = np.empty((points.shape[0], self._count), dtype=np.int32)
        squared = np.empty(listed.shape)
        for cell, rows in self._by_cell(points):
            nearest, distances = self._products[cell].nearest(points[rows])
            listed[rows] = self._seen[cell][nearest[:, : self._count]]
            squared[rows] = distances[:, : self._count]
        return listed, squared

    def candidates(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return the nearest anchors according to products in single precision."""
        listed = np.empty((points.shape[0], count), dtype=np.int32)
        for cell, rows in self._by_cell(points):
            listed[rows] = self._seen[cell][self._products[cell].candidates(points[rows], count)]
        return listed

    def _by_cell(self, points: np.ndarray) -> Any:
        cells = self._centers.candidates(points, 1)[:, 0]
        order = np.argsort(cells, kind="stable")
        ends = np.flatnonzero(np.diff(cells[order])) + 1
        for rows in np.split(order, ends):
            yield cells[rows[0]], rows


def _means_of_cells(anchors: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the centers of cells after some rounds of k-means; empty cells keep their center."""
    for _ in range(CELL_ROUNDS):
        cell = _Products(centers, 1).candidates(anchors, 1)
        centers, _ = updated_centers(anchors, cell, centers)
    return centers


def updated_centers(
    points: np.ndarray, nearest: np.ndarray, centers: np.ndarray, least: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the centers, moved to the mean of at least ``least`` points, and the counts."""
    sums, counts = np.zeros(centers.shape), np.zeros(centers.shape[0], dtype=np.int64)
    add_to_centers(points, nearest, sums, counts)
    is_updated = counts >= least
    centers = centers.copy()
    centers[is_updated] = sums[is_updated] / counts[is_updated, None]
    return centers, counts
