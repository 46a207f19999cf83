"""What searches of neighbours share: their names, limits and signature."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

NEIGHBORS = ("auto", "exact", "approximate")
"""How neighbours may be found; "auto" is exactly, unless that is forecast to take long."""

DEVICES = ("auto", "cpu", "cuda")
"""Where they may be searched; "auto" is where the samples are, or a GPU where it takes long."""

FEWEST_FEATURES = 4
"""Up to so many features a k-d tree is taken, however many samples there are."""

TREE_FEATURES = 8
"""Up to so many features a k-d tree is faster than products of all with all."""

PROBED_FEATURES = 32
"""Up to so many features a tree is tried, as it may be faster: samples often lie near a surface of
few dimensions."""

PAIR_SECONDS = 1.0e-9, 1.85e-11
"""Processor time that products of all with all take for a pair of samples, and for every feature of
it: measured on 20,000 and 70,000 images of Fashion-MNIST and blobs of 20 to 100 features, on one
core of an AMD EPYC (Zen 4) with AVX-512."""

SAFE_EXPONENT = 250
"""Coordinates that are 0 or from 2⁻²⁵⁰ to 2²⁵⁰ are squared as they are; others are scaled first."""


class Wanted(NamedTuple):
    """How neighbours are to be found, a name in each of :data:`NEIGHBORS` and :data:`DEVICES`."""

    neighbors: str = "auto"
    device: str = "auto"
    seed: int = 0


class Search(Protocol):
    """Points that are asked which of them are nearest, as ``NeighborIndex`` says.

    ``method`` and ``recall`` are those of :class:`leastcut.NeighborSearch`.
    """

    method: str
    recall: float

    def nearest_others(self, count: int, offset: float) -> tuple[np.ndarray, ...]:
        """Return ``indptr``, ``indices`` and ``squared`` of :class:`Neighborhoods`."""

    def nearest(self, queries: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the points nearest to every query, and their squared distances."""
