"""The anchor graph S = Z Λ⁻¹ Zᵀ: n points joined through p anchors, and never formed.

Z has n rows, one per point, with weights on its nearest anchors that add up to exactly 1, and
Λ = diag(Zᵀ1). Every degree is 1, so that ratio and normalized cut are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.blocks import Block
from leastcut.anchors.contraction import anchor_problem
from leastcut.anchors.crew import Threads
from leastcut.anchors.nearest import NearestAnchors
from leastcut.anchors.table import Table, inverse_of, table_of_crew
from leastcut.formatting import one_line
from leastcut.memory import check_memory
from leastcut.problem import Problem

ENTRY_BYTES = 12
"""Bytes of a stored edge: a weight and an index."""


class Store(Protocol):
    """The blocks of Z, in memory or in a folder."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The points of every block."""

    @property
    def folder(self) -> Path | None:
        """Where a search may leave how far it is."""

    def load(self, number: int) -> Block:
        """Return a block."""


@dataclass(frozen=True, eq=False)
class AnchoredPoints:
    """Points that are tied to anchors, and who works on them.

    Attributes
    ----------
    anchors : ndarray of shape (p, n_features)
    masses : ndarray of shape (p,)
        Λ.
    n_neighbors : int
        K.
    store : Store
        The blocks of Z.
    n_threads : int
    """

    anchors: np.ndarray
    masses: np.ndarray
    n_neighbors: int
    store: Store
    n_threads: int = 1
    most_clusters: int | None = None

    @property
    def n_nodes(self) -> int:
        """Number of points n."""
        return sum(self.store.sizes)

    @property
    def n_anchors(self) -> int:
        """Number of anchors p."""
        return int(self.anchors.shape[0])

    @cached_property
    def crew(self) -> Threads:
        """Those who work on the blocks."""
        return Threads(self.store.load, self.store.sizes, self.n_threads)

    @cached_property
    def anchor_problem(self) -> Problem:
        """The anchors' own graph ZᵀZ with weights Λ, without anchors that no point is tied to."""
        return anchor_problem(self.crew, self.masses)

    @property
    def nearest(self) -> NearestAnchors:
        """The anchors, as new points find them."""
        return NearestAnchors(self.anchors, self.n_neighbors, self.n_threads)

    @property
    def weights(self) -> sp.csr_array:
        """Z as a sparse array, made afresh every time."""
        numbers = range(len(self.store.sizes))
        rows = [self.store.load(number).to_sparse(self.n_anchors) for number in numbers]
        return sp.csr_array(sp.vstack(rows, format="csr"))

    def to_sparse(self) -> sp.csr_array:
        """Return S itself: about (K n)² / p edges, for what is small.

        Raises
        ------
        MemoryError
            If there is not enough memory for it.
        """
        weights = self.weights
        counts = np.bincount(weights.indices, minlength=self.n_anchors)
        check_memory(
            float(np.square(counts, dtype=np.float64).sum()) * ENTRY_BYTES,
            f"The edges of {self!r}",
            "Cut it as it is: partition, refine and cut_value need none of them.",
        )
        scaled = sp.csr_array(
            (weights.data * inverse_of(self.masses)[weights.indices], *_pattern(weights)),
            shape=weights.shape,
        )
        matrix = sp.csr_array(scaled @ weights.T)
        # Both directions of an edge are rounded differently by the scaling.
        matrix = sp.csr_array(0.5 * (matrix + matrix.T))
        matrix.sort_indices()
        matrix.eliminate_zeros()
        return matrix

    def table(self, labels: np.ndarray) -> Table:
        """Return the weights that clusters 0..c-1 have at anchors: sizes and boundaries follow."""
        kept, n_clusters = self.split(labels), int(labels.max()) + 1
        return table_of_crew(self.crew, self.masses, kept, n_clusters)

    def split(self, labels: np.ndarray) -> list[np.ndarray]:
        """Return labels of all points as those of every block, in 32 bits."""
        ends = np.cumsum(self.store.sizes)[:-1]
        return [part.astype(np.int32) for part in np.split(labels, ends)]

    def __repr__(self) -> str:
        return one_line(
            self, n_nodes=self.n_nodes, n_anchors=self.n_anchors, n_neighbors=self.n_neighbors
        )


@dataclass(frozen=True, eq=False)
class InMemory:
    """Blocks of Z in memory."""

    blocks: Sequence[Block]
    folder: Path | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The points of every block."""
        return tuple(block.n_points for block in self.blocks)

    def load(self, number: int) -> Block:
        """Return a block."""
        return self.blocks[number]


def _pattern(matrix: sp.csr_array) -> tuple[Any, Any]:
    return matrix.indices, matrix.indptr
