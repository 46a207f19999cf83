"""The nearest anchors of points, and the weights of points on them.

1. Few features: a k-d tree of the anchors, exactly.
2. Many features: one matrix product in single precision per block proposes a few more anchors than
   are needed, and differences of coordinates decide. If rounding may have left out a nearer anchor,
   products in double precision propose them again.
3. Many features and many anchors: anchors lie in cells, and points of a cell are compared with the
   anchors of the cells nearest to it, as in 2.
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

SPARE = 2  # anchors proposed beyond those needed: single precision may swap the last
HALF_UNIT = 2.0**-24  # relative error of one rounding in single precision, at most
FURTHER_ROUNDINGS = 8  # of a key besides those of its sum: of points, anchors and norms

PRODUCTS = 2**21  # held at once by a thread: 8 MiB, which stay in a cache of the CPU
FEWEST_ROWS = 64  # compared with anchors at once: fewer make slow products
MOST_ROWS = 2**14  # compared with anchors at once: they take memory

MANY_ANCHORS = 8192  # from so many on, points of many features look for them in cells
SEEN_CELLS = 24  # that the points of a cell look in: its own and those nearest to it
CELL_ROUNDS = 5  # of k-means: more hardly change which anchors a point sees

FRAMED, MOST = 256, 0.9
"""Anchors that the frame of products is measured by, and the fraction of them it is made for."""

FAR = 2.0**40
"""What lies farther than this from all anchors, in units of their spread, is brought here."""


def tile_rows(n_anchors: int, n_features: int) -> int:
    """Return how many points are compared with anchors at once, from the first of a block on."""
    if n_features <= TREE_FEATURES or is_in_cells(n_anchors, n_features):
        return MOST_ROWS
    return max(FEWEST_ROWS, min(MOST_ROWS, PRODUCTS // n_anchors))


def is_in_cells(n_anchors: int, n_features: int) -> bool:
    """Whether so many anchors are looked for in cells."""
    return n_features > TREE_FEATURES and n_anchors >= MANY_ANCHORS


class NearestAnchors:
    """A search for the ``n_neighbors`` nearest anchors of points, and their weights on these.

    There are more anchors than that, or only one. Results do not depend on ``n_threads``.
    """

    def __init__(self, anchors: np.ndarray, n_neighbors: int, n_threads: int) -> None:
        self.anchors, self.n_neighbors, self.n_threads = anchors, n_neighbors, n_threads

    def __getstate__(self) -> dict[str, Any]:
        # What is computed from the anchors is computed again when it is asked for.
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

        def weigh(start: int, stop: int) -> None:
            found, squared = search.nearest(self._scaled(points[start:stop]))
            listed[start:stop] = found[:, : self.n_neighbors]
            compute_anchor_weights(squared, UNIT, weights[start:stop])

        with single_threaded():
            in_blocks(weigh, n, search.most_rows, self.n_threads)
        return Block(listed, weights)

    def nearest_one(self, points: np.ndarray) -> np.ndarray:
        """Return the number of the nearest anchor of every point, as a column of int32."""
        found = np.empty((points.shape[0], 1), dtype=np.int32)
        search = self._search

        def ask(start: int, stop: int) -> None:
            found[start:stop] = search.candidates(self._scaled(points[start:stop]), 1)

        with single_threaded():
            in_blocks(ask, points.shape[0], search.most_rows, self.n_threads)
        return found

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
        return frame_of(self.anchors)

    def _scaled(self, points: np.ndarray) -> np.ndarray:
        middle, exponent = self._frame
        with np.errstate(over="ignore"):
            moved = np.ldexp(points.astype(self.anchors.dtype, copy=False) - middle, -exponent)
            return np.asarray(np.clip(moved, -FAR, FAR, out=moved))


def frame_of(anchors: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the middle of anchors, and the power of two that brings their spread to 1.

    Both are those of most anchors: products in single precision would not tell these apart in units
    of a few that are far away, as single wrong values among the samples make them.
    """
    some = 0.5 * anchors[:: -(-anchors.shape[0] // FRAMED)]  # the sum of two may overflow
    middle = np.median(some, axis=0).astype(anchors.dtype)
    spreads = np.sort(np.abs(some - middle).max(axis=1))
    spread = spreads[int(MOST * (spreads.size - 1))] or spreads[-1]
    return middle * 2, int(np.frexp(float(spread))[1]) + 1


class _Tree:
    """A k-d tree of anchors."""

    most_rows = MOST_ROWS

    def __init__(self, anchors: np.ndarray, count: int) -> None:
        self._tree, self._count = TreeSearch(anchors, 1), count

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of points, and the squared distances."""
        return self._tree.nearest(points, self._count)

    def candidates(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return the nearest anchors alone."""
        return self._tree.nearest(points, count)[0]


class _Products:
    """Anchors that are multiplied with points.

    The key of anchor a for point x is |a|²/2 − xᵀa, computed in single precision with an error of
    at most e (|x| |a| + |a|²/2) ≤ e (|x|²/2 + |a|²), where e = HALF_UNIT · (d + FURTHER_ROUNDINGS).
    """

    def __init__(self, anchors: np.ndarray, count: int) -> None:
        self._anchors, self._count = anchors, count
        # Column by column, as the product reads them.
        self._factor = np.asfortranarray(anchors.T.astype(np.float32))
        halves = 0.5 * np.square(anchors, dtype=np.float64).sum(axis=1)
        self._error = HALF_UNIT * (anchors.shape[1] + FURTHER_ROUNDINGS)
        self._halves = halves.astype(np.float32)
        self._least_halves = ((1.0 - 2.0 * self._error) * halves).astype(np.float32)
        self.most_rows = tile_rows(anchors.shape[0], anchors.shape[1])

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of points, and the squared distances."""
        p, count = self._anchors.shape[0], self._count
        # 1. Propose anchors by lower bounds of their keys, and compute their distances.
        listed, keys = self._smallest(points, min(count + SPARE, p), self._least_halves)
        squared = self._settle(points, listed)
        if listed.shape[1] == p:
            return listed, squared
        # 2. An anchor that was not proposed has a larger bound than all that were. Where that does
        #    not rule out that it is nearer than one of those wanted, propose again.
        norms = np.einsum("ij,ij->i", points, points, dtype=np.float64)
        bounds = keys[:, -1] - 0.5 * self._error * norms
        doubtful = np.flatnonzero(bounds <= 0.5 * (squared[:, count - 1] - norms))
        if doubtful.size:
            again = self._smallest_in_double(points[doubtful], listed.shape[1])
            squared[doubtful] = self._settle(points[doubtful], again)
            listed[doubtful] = again
        return listed, squared

    def candidates(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return the nearest anchors as products see them."""
        return self._smallest(points, count, self._halves)[0]

    def _smallest(
        self, points: np.ndarray, count: int, halves: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the anchors with the smallest keys, and these."""
        listed = np.empty((points.shape[0], count), dtype=np.int32)
        keys = np.empty(listed.shape, dtype=np.float32)
        products = points.astype(np.float32, copy=False) @ self._factor
        nearest_by_products(products, halves, listed, keys)
        return listed, keys

    def _smallest_in_double(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return the anchors with the smallest keys in double precision."""
        anchors = self._anchors.astype(np.float64, copy=False)
        keys = 0.5 * np.square(anchors).sum(axis=1) - points.astype(np.float64) @ anchors.T
        return np.argsort(keys, axis=1, kind="stable")[:, :count].astype(np.int32)

    def _settle(self, points: np.ndarray, listed: np.ndarray) -> np.ndarray:
        """Return squared distances to listed anchors, and sort these by them."""
        squared = np.empty(listed.shape)
        sort_by_distance(points, self._anchors, listed, squared, np.empty(LANES))
        return squared


class _Cells:
    """Anchors in cells, each with the anchors of the cells around it."""

    most_rows = MOST_ROWS

    def __init__(self, anchors: np.ndarray, count: int) -> None:
        n_cells = round(np.sqrt(anchors.shape[0]))
        centres = _means_of_cells(anchors, anchors[:: anchors.shape[0] // n_cells])
        self._centres = _Products(centres, 1)
        cell = self._centres.candidates(anchors, 1)[:, 0]
        around = self._centres.candidates(centres, min(SEEN_CELLS, centres.shape[0]))
        self._seen = [np.flatnonzero(np.isin(cell, near)).astype(np.int32) for near in around]
        # A cell that sees too few anchors sees them all.
        every = np.arange(anchors.shape[0], dtype=np.int32)
        self._seen = [seen if seen.size > count + SPARE else every for seen in self._seen]
        self._inside = [_Products(anchors[seen], count) for seen in self._seen]
        self._count = count

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of points, and the squared distances."""
        listed = np.empty((points.shape[0], self._count), dtype=np.int32)
        squared = np.empty(listed.shape)
        for cell, rows in self._by_cell(points):
            found, distances = self._inside[cell].nearest(points[rows])
            listed[rows] = self._seen[cell][found[:, : self._count]]
            squared[rows] = distances[:, : self._count]
        return listed, squared

    def candidates(self, points: np.ndarray, count: int) -> np.ndarray:
        """Return the nearest anchors as products see them."""
        listed = np.empty((points.shape[0], count), dtype=np.int32)
        for cell, rows in self._by_cell(points):
            listed[rows] = self._seen[cell][self._inside[cell].candidates(points[rows], count)]
        return listed

    def _by_cell(self, points: np.ndarray) -> Any:
        cells = self._centres.candidates(points, 1)[:, 0]
        order = np.argsort(cells, kind="stable")
        ends = np.flatnonzero(np.diff(cells[order])) + 1
        for rows in np.split(order, ends):
            yield cells[rows[0]], rows


def _means_of_cells(anchors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return centers of cells after some rounds of k-means; an empty one stays where it is."""
    for _ in range(CELL_ROUNDS):
        cell = _Products(centres, 1).candidates(anchors, 1)
        centres, _ = moved_centres(anchors, cell, centres)
    return centres


def moved_centres(
    points: np.ndarray, nearest: np.ndarray, centres: np.ndarray, least: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return centers, those with ``least`` points or more at the mean of these, and the counts."""
    sums, counts = np.zeros(centres.shape), np.zeros(centres.shape[0], dtype=np.int64)
    add_to_centers(points, nearest, sums, counts)
    stays = counts >= least
    centres = centres.copy()
    centres[stays] = sums[stays] / counts[stays, None]
    return centres, counts
