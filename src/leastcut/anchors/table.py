"""The table of anchors and clusters: all that a cut of an anchor graph depends on.

With T_jk the weight that cluster k has at anchor j, and Λ_j = Σ_k T_jk, the value of the cut of all
points is exactly Σ_k boundary_k / n_k, where n_k = Σ_j T_jk and boundary_k = Σ_j T_jk (Λ_j − T_jk)
/ Λ_j. No term is negative, so that nothing cancels, and a cut of no edge has the value 0.

Functions whose first argument is a block are tasks of :class:`leastcut.anchors.blocks.Workers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.blocks import Block
from leastcut.kernels.anchors import add_to_masses, add_to_table, join_clusters
from leastcut.problem import value_of_sums


class Entries(NamedTuple):
    """The entries of a table that are not 0: where they are when it is flat, and what they are."""

    places: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Table:
    """The weights T, of shape (p, c), that clusters have at anchors with masses Λ.

    Both are sums of multiples of a unit, without any rounding. An anchor that no point has a weight
    on has the mass 0.
    """

    weights: np.ndarray
    masses: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The points of every cluster, n_k."""
        return np.asarray(self.weights.sum(axis=0))

    @property
    def boundaries(self) -> np.ndarray:
        """The weight of the edges that leave every cluster."""
        others = self.weights * (self.masses[:, None] - self.weights)
        return np.asarray(np.einsum("jk,j->k", others, inverse_of(self.masses)))

    @property
    def value(self) -> float:
        """The value of the cut; infinite if a cluster is empty."""
        sizes = self.sizes
        return value_of_sums(self.boundaries, sizes) if sizes.min() > 0 else np.inf

    def with_changes(self, changes: Iterable[Entries]) -> Table:
        """Return the table after changes, whatever their order: sums of them are exact."""
        weights = self.weights.copy()
        flat = weights.reshape(-1)
        for change in changes:
            flat[change.places] += change.values
        return Table(weights, self.masses)

    def place(self, block: Block) -> np.ndarray:
        """Return the clusters, as int32, in which new points let the cut grow least.

        A point with weight t_k in cluster k (they add up to 1) and z = Σ_j w_j² / Λ_j adds
        1 − 2 t_k − z to the boundary of the cluster it joins and 1 to its size, so that the value
        grows by (1 − 2 t_k − z − boundary_k / n_k) / (n_k + 1). A training point is one whose
        weights are counted already; if no move of it makes the cut smaller, its own cluster is the
        answer, too, unless hardly any other point has weights on its anchors.
        """
        labels = np.empty(block.n_points, dtype=np.int32)
        sizes, inverse = self.sizes, inverse_of(self.masses)
        clusters = self.weights * inverse[:, None], self.boundaries / sizes, sizes
        scratch = np.empty(sizes.size)
        join_clusters(block.anchors, block.weights, inverse, clusters, labels, scratch)
        return labels


def inverse_of(masses: np.ndarray) -> np.ndarray:
    """Return 1 / Λ, and 0 for an anchor without mass."""
    inverse: np.ndarray = np.divide(1.0, masses, out=np.zeros_like(masses), where=masses > 0)
    return inverse


def table_of_block(
    block: Block, labels: np.ndarray, n_anchors: int, n_clusters: int
) -> tuple[None, Entries]:
    """Return the table of the points of a block."""
    table = np.zeros((n_anchors, n_clusters))
    add_to_table(block.anchors, block.weights, labels, table)
    return None, entries_of(table)


def entries_of(table: np.ndarray) -> Entries:
    """Return the entries of a table that are not 0."""
    flat = table.reshape(-1)
    places = np.flatnonzero(flat)
    return Entries(places, flat[places])


def sum_of_entries(terms: Sequence[Entries]) -> Entries:
    """Return the sum of tables, as their entries; it is exact."""
    places, number = np.unique(np.concatenate([own.places for own in terms]), return_inverse=True)
    return Entries(places, np.bincount(number, np.concatenate([own.values for own in terms])))


def masses_of(block: Block, _: Any, n_anchors: int) -> tuple[None, np.ndarray]:
    """Return the masses of anchors among the points of a block."""
    masses = np.zeros(n_anchors)
    add_to_masses(block.anchors, block.weights, masses)
    return None, masses


def weights_of_block(block: Block, _: Any, n_anchors: int) -> tuple[None, sp.csr_array]:
    """Return the rows of Z of a block."""
    return None, block.to_sparse(n_anchors)
