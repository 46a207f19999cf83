"""The problem of partitioning an anchor graph S = Z Λ⁻¹ Zᵀ, without forming its edges.

Z has one row per point, with weights on its nearest anchors that sum to exactly 1, and
Λ = diag(Zᵀ1). Every degree is 1, so that the ratio cut equals the normalized cut. The rows of Z
stay with the workers. The value of a partition is computed from a table: with T_jk the weight of
cluster k at anchor j, n_k = Σ_j T_jk and boundary_k = Σ_j T_jk (Λ_j − T_jk) / Λ_j, it is exactly
Σ_k boundary_k / n_k. All terms are non-negative, so there is no cancellation, and a partition that
cuts no edge has the value 0.

Two stored graphs of the size of the anchors are derived from it:

- The graph of anchors ZᵀZ connects anchors through the points with weights on both. Its degrees are
  the masses Λ, and the eigenvalues of its normalized cut are those of the full graph.
- The graph of groups of points: with the weights H of groups at anchors, H Λ⁻¹ Hᵀ is the graph of
  all points with every group contracted to one node. Cut values are exactly those of the points.

Functions whose first argument is a block are tasks of :class:`leastcut.anchors.blocks.Workers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.blocks import Block, Workers
from leastcut.graph import Graph
from leastcut.kernels.anchors import (
    add_anchor_products,
    add_to_groups,
    add_to_masses,
    add_to_table,
    assign_by_anchors,
    assign_new_points,
    compress_rows,
    number_keys,
)
from leastcut.problem import Problem, value_of_sums
from leastcut.validation import check_n_clusters

MOST_SUMMED = 2**22
"""Maximum number of entries of a matrix that is summed in a dense array, 32 MiB, so that threads
run concurrently; larger matrices are sparse."""


# -- the table of anchors and clusters


class Entries(NamedTuple):
    """The nonzero entries of a table: their positions in the flat table, and their values."""

    positions: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Table:
    """The weights T of clusters at anchors, of shape (p, c), and the masses Λ of the anchors.

    Both are exact sums of multiples of a unit. An anchor without any weights has mass 0.
    """

    weights: np.ndarray
    masses: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The number of points n_k of every cluster."""
        return np.asarray(self.weights.sum(axis=0))

    @property
    def boundaries(self) -> np.ndarray:
        """The total weight of the edges that leave each cluster."""
        others = self.weights * (self.masses[:, None] - self.weights)
        return np.asarray(np.einsum("jk,j->k", others, inverse_of(self.masses)))

    @property
    def value(self) -> float:
        """The cut value, infinite if a cluster is empty."""
        sizes = self.sizes
        return value_of_sums(self.boundaries, sizes) if sizes.min() > 0 else np.inf

    def with_changes(self, changes: Iterable[Entries]) -> Table:
        """Return the table after changes, in any order, as their sums are exact."""
        weights = self.weights.copy()
        flat = weights.reshape(-1)
        for change in changes:
            flat[change.positions] += change.values
        return Table(weights, self.masses)

    def assign(self, block: Block) -> np.ndarray:
        """Return, as int32, the clusters in which new points increase the cut value least.

        A point with weight t_k in cluster k (Σ_k t_k = 1) and z = Σ_j w_j² / Λ_j adds
        1 − 2 t_k − z to the boundary of its cluster and 1 to its size, so that the value increases
        by (1 − 2 t_k − z − boundary_k / n_k) / (n_k + 1). The weights of a training point are
        already in the table; if no move of it decreases the cut, it is assigned to its own cluster,
        unless hardly any other point has weights on its anchors.
        """
        labels = np.empty(block.n_points, dtype=np.int32)
        sizes, inverse = self.sizes, inverse_of(self.masses)
        clusters = self.weights * inverse[:, None], self.boundaries / sizes, sizes
        scratch = np.empty(sizes.size)
        assign_new_points(block.anchors, block.weights, inverse, clusters, labels, scratch)
        return labels


def inverse_of(masses: np.ndarray) -> np.ndarray:
    """Return 1 / Λ, and 0 for anchors without mass."""
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
    """Return the nonzero entries of a table."""
    flat = table.reshape(-1)
    positions = np.flatnonzero(flat)
    return Entries(positions, flat[positions])


def sum_of_entries(terms: Sequence[Entries]) -> Entries:
    """Return the exact sum of tables, as entries."""
    positions = np.concatenate([term.positions for term in terms])
    positions, number = np.unique(positions, return_inverse=True)
    return Entries(positions, np.bincount(number, np.concatenate([term.values for term in terms])))


def masses_of(block: Block, _: Any, n_anchors: int) -> tuple[None, np.ndarray]:
    """Return the sum of the weights of a block at every anchor."""
    masses = np.zeros(n_anchors)
    add_to_masses(block.anchors, block.weights, masses)
    return None, masses


def weights_of_block(block: Block, _: Any, n_anchors: int) -> tuple[None, sp.csr_array]:
    """Return the rows of Z of a block."""
    return None, block.to_sparse(n_anchors)


# -- the problem


@dataclass(frozen=True, eq=False)
class AnchorProblem:
    """The problem of partitioning an anchor graph, with the workers that hold its points.

    ``masses`` is Λ. There is enough memory for the tables of ``most_clusters`` clusters; None means
    no limit. ``checkpoint(n_clusters, effort, seed)`` returns the checkpoint of a search.
    """

    workers: Workers
    masses: np.ndarray
    most_clusters: int | None = None
    checkpoint: Callable[[int, str, int], Any] | None = None

    names: ClassVar[None] = None

    @property
    def n_nodes(self) -> int:
        """Number of points n."""
        return sum(self.workers.sizes)

    @cached_property
    def core(self) -> Problem:
        """The problem of the graph of anchors ZᵀZ with node weights Λ, without unused anchors.

        The eigenvalues of its normalized cut are those of the full graph.
        """
        return graph_of_anchors(self.workers, self.masses)

    @property
    def weights(self) -> sp.csr_array:
        """The weights Z as a sparse array, created on every access."""
        rows = self.workers.run("leastcut-weights", weights_of_block, None, self.masses.size)[1]
        return sp.csr_array(sp.vstack(rows, format="csr"))

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int; raise if anchors or memory do not suffice."""
        number = check_n_clusters(n_clusters, self.n_nodes)
        check_enough_anchors(number, int(np.count_nonzero(self.masses)))
        if self.most_clusters is not None and number > self.most_clusters:
            raise ValueError(
                f"n_clusters={number} needs more memory than max_memory allows, which is enough "
                f"for {self.most_clusters} clusters; pass a larger max_memory to anchor_graph."
            )
        return number

    def with_threads(self, n_threads: int | None) -> AnchorProblem:
        """Return the problem with this number of threads per worker; None changes nothing."""
        if n_threads is None:
            return self
        return replace(self, workers=self.workers.with_threads(n_threads))

    def split(self, labels: np.ndarray) -> list[np.ndarray]:
        """Return the labels of every block, as int32."""
        ends = np.cumsum(self.workers.sizes)[:-1]
        return [part.astype(np.int32) for part in np.split(labels, ends)]

    def table(self, kept: Sequence[Any], n_clusters: int) -> Table:
        """Return the table of the labels that the workers keep."""
        shape = self.masses.size, n_clusters
        entries = self.workers.total(
            "leastcut-table", table_of_block, kept, sum_of_entries, *shape, is_exact=True
        )
        return Table(np.zeros(shape), self.masses).with_changes([entries])

    def table_of_labels(self, labels: np.ndarray) -> Table:
        """Return the table of labels 0..c-1 of all points."""
        return self.table(self.split(labels), int(labels.max()) + 1)

    def value(self, labels: np.ndarray) -> float:
        """Return the cut value of labels 0..c-1 of all points."""
        return self.table_of_labels(labels).value


def check_enough_anchors(n_clusters: int, n_anchors: int) -> None:
    """Raise if there are fewer anchors with points than clusters."""
    if n_clusters > n_anchors:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_anchors} anchors with points; pass a "
            "larger n_anchors, if X has enough distinct samples, or fewer clusters."
        )


# -- the graph of anchors


def graph_of_anchors(workers: Workers, masses: np.ndarray) -> Problem:
    """Return the problem of the graph of anchors, with masses as node weights.

    Anchors without mass are removed. The rounding of sums does not depend on the workers.
    """
    total = workers.total("leastcut-start", anchor_products, None, sum_of_matrices, masses.size)
    used = np.flatnonzero(masses > 0)
    matrix = sp.csr_array(total)[used][:, used]
    matrix.sort_indices()
    graph = Graph(matrix.indptr, matrix.indices, matrix.data).symmetrized()
    return Problem(graph, masses[used])


def anchor_products(block: Block, _: Any, n_anchors: int) -> tuple[None, sp.csr_array]:
    """Return ZᵀZ of a block."""
    if n_anchors * n_anchors <= MOST_SUMMED:
        sums = np.zeros((n_anchors, n_anchors))
        add_anchor_products(block.anchors, block.weights, sums)
        return None, _compressed(sums)
    weights = block.to_sparse(n_anchors)
    return None, sp.csr_array(weights.T @ weights)


def sum_of_matrices(terms: Sequence[sp.csr_array]) -> sp.csr_array:
    """Return the sum of sparse arrays."""
    return sum(terms[1:], start=terms[0])


def label_by_anchors(
    block: Block, _: Any, label_of_anchor: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, None]:
    """Label the points of a block by the clusters of their anchors."""
    labels = np.empty(block.n_points, dtype=np.int32)
    assign_by_anchors(block.anchors, block.weights, label_of_anchor, labels, np.empty(n_clusters))
    return labels, None


# -- points in groups


class Groups(NamedTuple):
    """Groups of points: the key of every group, and the weights H of groups at anchors.

    Keys are sorted int64; weights are a csr_array of shape (n_groups, p) of exact sums.
    """

    keys: np.ndarray
    weights: sp.csr_array


def groups_of(
    workers: Workers, masses: np.ndarray, kept: list[Any] | None, n_clusters: int
) -> Groups:
    """Group the points with the same nearest anchor and the same labels in several partitions.

    ``kept`` has, for every block, a tuple of its labels in partitions into ``n_clusters``.
    """
    shared = masses.size, n_clusters
    groups: Groups = workers.total(
        "leastcut-groups", groups_of_block, kept, sum_of_groups, *shared, is_exact=True
    )
    return groups


def groups_of_block(
    block: Block, kept: tuple[np.ndarray, ...] | None, n_anchors: int, n_clusters: int
) -> tuple[None, Groups]:
    """Return the groups of a block."""
    point_keys = _keys(block, kept, n_clusters)
    n_keys = n_anchors * n_clusters ** len(kept or ())
    if n_keys <= MOST_SUMMED:
        numbers, keys = np.empty(n_keys, dtype=np.int64), np.empty(n_keys, dtype=np.int64)
        keys = keys[: number_keys(point_keys, numbers, keys)].copy()
        if keys.size * n_anchors <= MOST_SUMMED:
            sums = np.zeros((keys.size, n_anchors))
            add_to_groups(block.anchors, block.weights, point_keys, numbers, sums)
            return None, Groups(keys, _compressed(sums))
    return None, _grouped(point_keys, block.to_sparse(n_anchors))


def label_by_groups(
    block: Block,
    kept: tuple[np.ndarray, ...] | None,
    keys: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
) -> tuple[np.ndarray, None]:
    """Label the points of a block by the labels of their groups."""
    return labels[np.searchsorted(keys, _keys(block, kept, n_clusters))].astype(np.int32), None


def sum_of_groups(parts: Sequence[Groups]) -> Groups:
    """Merge the groups of several blocks."""
    keys = np.concatenate([part.keys for part in parts])
    return _grouped(keys, sp.vstack([part.weights for part in parts], format="csr"))


def contracted(groups: Groups, masses: np.ndarray) -> Problem:
    """Return the problem of the graph of groups."""
    matrix = edges_of(groups.weights, masses)
    graph = Graph(matrix.indptr, matrix.indices, matrix.data).symmetrized()
    # The weight of every point is 1, the exact sum of its weights.
    return Problem(graph, np.asarray(groups.weights.sum(axis=1)).reshape(-1))


def edges_of(weights: sp.csr_array, masses: np.ndarray) -> sp.csr_array:
    """Return the edges W Λ⁻¹ Wᵀ between rows with weights W at anchors.

    The rounding of both directions of an edge differs.
    """
    data = weights.data * inverse_of(masses)[weights.indices]
    scaled = sp.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)
    return sp.csr_array(scaled @ weights.T)


def count_products(weights: sp.csr_array) -> float:
    """Return the number of products in :func:`edges_of`, an upper bound on the number of edges."""
    return float(np.square(np.bincount(weights.indices), dtype=np.float64).sum())


def _keys(block: Block, kept: tuple[np.ndarray, ...] | None, n_clusters: int) -> np.ndarray:
    keys = block.anchors[:, 0].astype(np.int64)
    for labels in kept or ():
        keys = keys * n_clusters + labels
    return keys


def _compressed(sums: np.ndarray) -> sp.csr_array:
    """Convert a dense array to a sparse array, without holding the interpreter lock."""
    indptr, nothing = np.empty(sums.shape[0] + 1, dtype=np.int32), np.empty(0, dtype=np.int32)
    compress_rows(sums, indptr, nothing, np.empty(0))
    indices, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    if indptr[-1]:
        compress_rows(sums, indptr, indices, values)
    return sp.csr_array((values, indices, indptr), shape=sums.shape)


def _grouped(keys: np.ndarray, weights: sp.csr_array) -> Groups:
    """Sum the rows of equal keys."""
    distinct, group = np.unique(keys, return_inverse=True)
    n = keys.size
    members = sp.csr_array((np.ones(n), (group, np.arange(n))), shape=(distinct.size, n))
    return Groups(distinct, sp.csr_array(members @ weights))


def labels_of_keys(keys: np.ndarray, count: int, n_clusters: int) -> list[np.ndarray]:
    """Return the labels of groups in the ``count`` partitions that their keys encode."""
    labels = []
    for _ in range(count):
        labels.append(keys % n_clusters)
        keys = keys // n_clusters
    return labels[::-1]
