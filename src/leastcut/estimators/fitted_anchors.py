"""What a fit on anchors keeps: its graph and its table, from which all questions are answered.

Nothing of the size of the samples is kept but ties and labels. A new sample is tied to its nearest
anchors by the rule that training samples were tied by, so that its place in the embedding,

    e = Σ_j w_j v_j / √(Λ_j (1 − λ)),

with v the eigenvectors of the anchors' own graph, is where a training sample with the same ties
lies: the eigenvectors of Z Λ⁻¹ Zᵀ are made of rows of Z alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from leastcut.anchors.blocks import Block
from leastcut.anchors.graph import AnchorGraph
from leastcut.anchors.nearest import tile_rows
from leastcut.anchors.placing import place
from leastcut.anchors.sources import as_source
from leastcut.anchors.table import Table, table_of_block
from leastcut.anchors.verbs import LARGEST_EIGENVALUE, relaxed_anchors
from leastcut.memory import check_memory
from leastcut.results import Relaxation

NUMBERS = 2**23
"""Coordinates of new samples that are read at once: 64 MiB."""


@dataclass(frozen=True, eq=False)
class FittedAnchors:
    """An anchor graph and its clusters.

    Attributes
    ----------
    matrix : AnchorGraph
    labels : int32 ndarray of shape (n,)
        The cluster of every sample.
    table : Table
        Their weights at the anchors.
    n_components : int
        Columns of the embedding, at most as many as anchors are tied to points.
    seed : int
        Seed of eigensolvers.
    """

    matrix: AnchorGraph
    labels: np.ndarray
    table: Table
    n_components: int
    seed: int
    solver: str = "multilevel"

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.table.weights.shape[1])

    @property
    def cut_value(self) -> float:
        """The cut value of all samples, exactly."""
        return self.table.value

    # -- eigenpairs

    @cached_property
    def _relaxation(self) -> Relaxation:
        """The eigenpairs of the anchors' own graph; its eigenvalues are those of all samples."""
        count = max(self.n_clusters, self.n_components)
        found = relaxed_anchors(self.matrix, count, self.seed)
        if not found.converged:
            warnings.warn(
                f"The eigensolver {found.solver!r} stopped before all {count} eigenpairs "
                "of the anchors reached the tolerance; labels stay valid, but the lower bound is "
                "0, as nothing is proven.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return found

    @property
    def eigenvalues(self) -> np.ndarray:
        """The smallest eigenvalues, as many as clusters and columns need."""
        return self._relaxation.eigenvalues

    @property
    def lower_bound(self) -> float:
        """No partition into as many clusters has a smaller cut value."""
        return self._relaxation.leading(self.n_clusters).lower_bound

    @cached_property
    def _directions(self) -> np.ndarray:
        """What the weights of a sample are multiplied by to have its place.

        An eigenvector of eigenvalue 1 is not made of anchors: all samples are at 0 in it.
        """
        relaxation, masses = self._relaxation.leading(self.n_components), self.matrix.masses
        left = 1.0 - relaxation.eigenvalues
        known = relaxation.eigenvalues <= LARGEST_EIGENVALUE
        scale = np.where(known, 1.0 / np.sqrt(np.where(known, left, 1.0)), 0.0)
        found = np.zeros((masses.size, self.n_components))
        used = masses > 0
        found[used] = relaxation.eigenvectors * scale / np.sqrt(masses[used])[:, None]
        return found

    @cached_property
    def embedding(self) -> np.ndarray:
        """The rows of the eigenvectors of all samples, made when first asked for."""
        store = self.matrix.store
        blocks = (store.load(number) for number in range(len(store.sizes)))
        return self._places(blocks, sum(store.sizes))

    def transform(self, X: Any) -> np.ndarray:
        """Return where samples lie in the embedding."""
        return self._places((block for _, block in self._tied(X)), as_source(X).shape[0])

    def _places(self, blocks: Iterator[Block], n_points: int) -> np.ndarray:
        dtype = self.matrix.anchors.dtype
        check_memory(
            1.0 * dtype.itemsize * n_points * self.n_components,
            f"{self.n_components} coordinates of {n_points} samples",
            "Ask transform for some samples at a time, or fit with fewer n_components.",
        )
        found = np.empty((n_points, self.n_components), dtype=dtype)
        start = 0
        for block in blocks:
            rows = block.to_sparse(self.matrix.n_anchors) @ self._directions
            found[start : start + block.n_points] = rows
            start += block.n_points
        return found

    # -- new samples

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples, each where the cut grows least."""
        found = [place(block, self.table) for _, block in self._tied(X)]
        return np.concatenate(found)

    def score(self, X: Any) -> float:
        """Return minus the cut value of the graph with these samples added on the same anchors."""
        weights, is_known = self.table, as_source(X).shape[0] == self.matrix.n_nodes
        for start, block in self._tied(X):
            is_known = is_known and _equal(block, self._stored(start, block.n_points))
            labels = place(block, self.table)
            _, told = table_of_block(block, labels, *self.table.weights.shape)
            weights = weights.with_changes([told])
        if is_known:
            return -self.cut_value
        return -Table(weights.weights, weights.weights.sum(axis=1)).value

    def _tied(self, X: Any) -> Iterator[tuple[int, Block]]:
        """Yield samples, read some at a time, with their ties and the number of the first."""
        source, graph = as_source(X), self.matrix
        nearest = graph.nearest
        tile = tile_rows(*graph.anchors.shape)
        step = tile * max(1, NUMBERS // (tile * source.shape[1]))
        for start in range(0, source.shape[0], step):
            rows = source.read(start, min(start + step, source.shape[0]))
            yield start, nearest.block(rows)

    def _stored(self, start: int, count: int) -> Block:
        """Return the ties of some training samples."""
        store, ends = self.matrix.store, np.cumsum(self.matrix.store.sizes)
        anchors, weights = [], []
        first, last = np.searchsorted(ends, (start, start + count - 1), side="right")
        for number in range(int(first), int(last) + 1):
            begin = int(ends[number]) - store.sizes[number]
            rows = slice(max(start - begin, 0), start + count - begin)
            block = store.load(number)
            anchors.append(block.anchors[rows])
            weights.append(block.weights[rows])
        return Block(np.concatenate(anchors), np.concatenate(weights))

    def certify(self, *_: Any) -> NoReturn:
        """Raise: a proof needs the edges."""
        raise ValueError(
            "A proof needs the edges, which affinity='anchors' does not store; lower_bound_ and "
            "gap_ are proven by eigenvalues. Where there are few samples, pass "
            "affinity_matrix_.to_sparse() and labels_ to leastcut.certify."
        )


def _equal(one: Block, other: Block) -> bool:
    return np.array_equal(one.anchors, other.anchors) and np.array_equal(one.weights, other.weights)
