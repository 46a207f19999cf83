"""The table of anchors and clusters: all that a cut of an anchor graph depends on.

With T_jk the weight that cluster k has at anchor j, and Λ_j = Σ_k T_jk, the value of the cut of all
points is exactly Σ_k boundary_k / n_k, where n_k = Σ_j T_jk and boundary_k = Σ_j T_jk (Λ_j − T_jk)
/ Λ_j. No term is negative, so that nothing cancels, and a cut of no edge has the value 0.

Functions whose first argument is a block are tasks of :class:`leastcut.anchors.workers.Workers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.blocks import Block
from leastcut.anchors.workers import Workers
from leastcut.kernels.anchor_moves import add_to_masses, add_to_table
from leastcut.problem import value_of_sums


class Entries(NamedTuple):
    """The entries of a table that are not 0: where they are when it is flat, and what they are."""

    places: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Table:
    """The weights that clusters have at anchors, and what follows from them.

    Attributes
    ----------
    weights : ndarray of shape (p, c)
        T; sums of multiples of a unit, without any rounding.
    masses : ndarray of shape (p,)
        Λ; 0 of an anchor that no point is tied to.
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
        """The value of the cut; infinite where a cluster is empty."""
        sizes = self.sizes
        return value_of_sums(self.boundaries, sizes) if sizes.min() > 0 else np.inf

    def with_changes(self, changes: Iterable[Entries]) -> Table:
        """Return the table after changes, whatever their order: sums of them are exact."""
        weights = self.weights.copy()
        flat = weights.reshape(-1)
        for change in changes:
            flat[change.places] += change.values
        return Table(weights, self.masses)


def inverse_of(masses: np.ndarray) -> np.ndarray:
    """Return 1 / Λ, and 0 where no point is tied."""
    inverse: np.ndarray = np.divide(1.0, masses, out=np.zeros_like(masses), where=masses > 0)
    return inverse


def table_of(workers: Workers, masses: np.ndarray, kept: Sequence[Any], n_clusters: int) -> Table:
    """Return the table of labels that are kept beside the blocks."""
    shape = masses.size, n_clusters
    entries = workers.total(
        "leastcut-table", table_of_block, kept, sum_of_entries, *shape, is_exact=True
    )
    return Table(np.zeros(shape), masses).with_changes([entries])


def table_of_block(
    block: Block, labels: np.ndarray, n_anchors: int, n_clusters: int
) -> tuple[None, Entries]:
    """Tell the table of the points of a block."""
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
    """Tell the masses of anchors among the points of a block."""
    masses = np.zeros(n_anchors)
    add_to_masses(block.anchors, block.weights, masses)
    return None, masses


def weights_of_block(block: Block, _: Any, n_anchors: int) -> tuple[None, sp.csr_array]:
    """Return the rows of Z of a block."""
    return None, block.to_sparse(n_anchors)
