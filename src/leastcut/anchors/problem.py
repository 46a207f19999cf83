"""The problem of cutting an anchor graph S = Z Λ⁻¹ Zᵀ, whose edges are never formed.

Z has n rows, one per point, with weights on its nearest anchors that add up to exactly 1, and
Λ = diag(Zᵀ1). Every degree is 1, so that ratio and normalized cut are the same. The rows of Z stay
with the workers, and the value of any partition follows from a table: with T_jk the weight that
cluster k has at anchor j, n_k = Σ_j T_jk and boundary_k = Σ_j T_jk (Λ_j − T_jk) / Λ_j, it is
exactly Σ_k boundary_k / n_k. No term is negative, so that nothing cancels, and a cut of no edge has
the value 0.

Two stored graphs of the size of the anchors follow from it:

- The anchors' own graph ZᵀZ joins anchors by the points that have weights on both. Its degrees are
  the masses Λ, and the eigenvalues of its normalized cut are those of the full graph.
- Points in groups: with H the weights of groups at anchors, H Λ⁻¹ Hᵀ is the graph of all points
  with every group contracted to one node. The cut of groups is exactly the cut of their points.

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
"""Entries of a matrix that is summed in an array, 32 MiB, where threads do not wait for each other;
larger ones are sparse from the beginning."""


# -- the table of anchors and clusters


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
        assign_new_points(block.anchors, block.weights, inverse, clusters, labels, scratch)
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


# -- the problem


@dataclass(frozen=True, eq=False)
class AnchorProblem:
    """Points that are joined through anchors, and the workers that hold them.

    ``masses`` is Λ. There is memory for the tables of ``most_clusters`` clusters, None meaning any
    number. ``checkpoint(n_clusters, effort, seed)`` returns where a search saves its state.
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
        """The graph ZᵀZ of the anchors with weights Λ, without those that no point is joined to.

        The eigenvalues of its normalized cut are those of all points.
        """
        return graph_of_anchors(self.workers, self.masses)

    @property
    def weights(self) -> sp.csr_array:
        """Z as a sparse array, made anew every time."""
        rows = self.workers.run("leastcut-weights", weights_of_block, None, self.masses.size)[1]
        return sp.csr_array(sp.vstack(rows, format="csr"))

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int if points of so many anchors can form them."""
        number = check_n_clusters(n_clusters, self.n_nodes)
        check_enough_anchors(number, int(np.count_nonzero(self.masses)))
        if self.most_clusters is not None and number > self.most_clusters:
            raise ValueError(
                f"n_clusters={number} is more than the {self.most_clusters} clusters for whose "
                "tables max_memory leaves room; pass more max_memory to anchor_graph."
            )
        return number

    def with_threads(self, n_threads: int | None) -> AnchorProblem:
        """Return the problem with so many threads for every worker; None leaves it as it is."""
        if n_threads is None:
            return self
        return replace(self, workers=self.workers.with_threads(n_threads))

    def split(self, labels: np.ndarray) -> list[np.ndarray]:
        """Return labels of all points as those of every block, in 32 bits."""
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
            f"n_clusters={n_clusters} is more than the {n_anchors} anchors that points are joined "
            "to; pass more n_anchors, if X has so many different samples, or fewer clusters."
        )


# -- the anchors' own graph


def graph_of_anchors(workers: Workers, masses: np.ndarray) -> Problem:
    """Return the anchors' own graph, with masses as node weights, without anchors that have none.

    Sums are rounded, in the same way on any workers.
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


def follow(
    block: Block, _: Any, label_of_anchor: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, None]:
    """Keep the clusters of their anchors as labels of the points of a block."""
    labels = np.empty(block.n_points, dtype=np.int32)
    assign_by_anchors(block.anchors, block.weights, label_of_anchor, labels, np.empty(n_clusters))
    return labels, None


# -- points in groups


class Groups(NamedTuple):
    """Points in groups: a key that those of a group share, and the weights H of groups at anchors.

    Keys are int64, ascending; weights are a csr_array of shape (n_groups, p), summed without
    rounding.
    """

    keys: np.ndarray
    weights: sp.csr_array


def groups_of(
    workers: Workers, masses: np.ndarray, kept: list[Any] | None, n_clusters: int
) -> Groups:
    """Return points in groups: those of one nearest anchor that are together in all of ``kept``.

    ``kept`` has for every block a tuple of its labels in several partitions into ``n_clusters``.
    """
    shared = masses.size, n_clusters
    found: Groups = workers.total(
        "leastcut-groups", groups_of_block, kept, sum_of_groups, *shared, is_exact=True
    )
    return found


def groups_of_block(
    block: Block, kept: tuple[np.ndarray, ...] | None, n_anchors: int, n_clusters: int
) -> tuple[None, Groups]:
    """Return the groups of a block."""
    own = _keys(block, kept, n_clusters)
    n_keys = n_anchors * n_clusters ** len(kept or ())
    if n_keys <= MOST_SUMMED:
        places, keys = np.empty(n_keys, dtype=np.int64), np.empty(n_keys, dtype=np.int64)
        keys = keys[: number_keys(own, places, keys)].copy()
        if keys.size * n_anchors <= MOST_SUMMED:
            sums = np.zeros((keys.size, n_anchors))
            add_to_groups(block.anchors, block.weights, own, places, sums)
            return None, Groups(keys, _compressed(sums))
    return None, _grouped(own, block.to_sparse(n_anchors))


def label_groups(
    block: Block,
    kept: tuple[np.ndarray, ...] | None,
    keys: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
) -> tuple[np.ndarray, None]:
    """Keep the labels of their groups as labels of the points of a block."""
    return labels[np.searchsorted(keys, _keys(block, kept, n_clusters))].astype(np.int32), None


def sum_of_groups(parts: Sequence[Groups]) -> Groups:
    """Return the groups of several blocks, those of one key as one."""
    keys = np.concatenate([part.keys for part in parts])
    return _grouped(keys, sp.vstack([part.weights for part in parts], format="csr"))


def contracted(groups: Groups, masses: np.ndarray) -> Problem:
    """Return the graph of points with every group as one node."""
    matrix = edges_of(groups.weights, masses)
    graph = Graph(matrix.indptr, matrix.indices, matrix.data).symmetrized()
    # Every point weighs 1, which its weights add up to without rounding.
    return Problem(graph, np.asarray(groups.weights.sum(axis=1)).reshape(-1))


def edges_of(weights: sp.csr_array, masses: np.ndarray) -> sp.csr_array:
    """Return the edges W Λ⁻¹ Wᵀ between rows with weights W at anchors.

    Both directions of an edge are rounded differently by the scaling.
    """
    data = weights.data * inverse_of(masses)[weights.indices]
    scaled = sp.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)
    return sp.csr_array(scaled @ weights.T)


def count_products(weights: sp.csr_array) -> float:
    """Return how many products :func:`edges_of` takes, at least as many as edges."""
    return float(np.square(np.bincount(weights.indices), dtype=np.float64).sum())


def _keys(block: Block, kept: tuple[np.ndarray, ...] | None, n_clusters: int) -> np.ndarray:
    keys = block.anchors[:, 0].astype(np.int64)
    for labels in kept or ():
        keys = keys * n_clusters + labels
    return keys


def _compressed(sums: np.ndarray) -> sp.csr_array:
    """Return an array as a sparse one, without the interpreter lock."""
    indptr, nothing = np.empty(sums.shape[0] + 1, dtype=np.int32), np.empty(0, dtype=np.int32)
    compress_rows(sums, indptr, nothing, np.empty(0))
    indices, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    if indptr[-1]:
        compress_rows(sums, indptr, indices, values)
    return sp.csr_array((values, indices, indptr), shape=sums.shape)


def _grouped(keys: np.ndarray, weights: sp.csr_array) -> Groups:
    """Return rows in groups of equal keys."""
    different, group = np.unique(keys, return_inverse=True)
    n = keys.size
    members = sp.csr_array((np.ones(n), (group, np.arange(n))), shape=(different.size, n))
    return Groups(different, sp.csr_array(members @ weights))


def labels_of_keys(keys: np.ndarray, count: int, n_clusters: int) -> list[np.ndarray]:
    """Return the labels of groups in each of the ``count`` partitions that their keys hold."""
    found = []
    for _ in range(count):
        found.append(keys % n_clusters)
        keys = keys // n_clusters
    return found[::-1]
