"""Graphs of the size of the anchors, made of the points without any of them leaving its place.

- The anchors' own graph ZᵀZ joins anchors by the points that are tied to both. Its degrees are the
  masses Λ, and the eigenvalues of its normalized cut are those of the whole graph.
- Points in groups: with H the weights of groups at anchors, H Λ⁻¹ Hᵀ is the graph of all points
  with every group contracted to one node. The cut of groups is exactly the cut of their points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.blocks import Block
from leastcut.anchors.table import inverse_of
from leastcut.anchors.workers import Workers
from leastcut.graph import Graph
from leastcut.kernels.anchor_moves import follow_anchors
from leastcut.kernels.anchor_sums import (
    add_anchor_products,
    add_to_groups,
    compress,
    number_keys,
)
from leastcut.problem import Problem

MOST_PRODUCTS = 3 * 10**8
"""Products that contracting groups may take: some seconds. Where it would take more it is left
out."""


MOST_SUMMED = 2**22
"""Entries of a matrix that is summed in an array, 32 MiB, where threads do not wait for each other;
larger ones are sparse from the beginning."""


class Groups(NamedTuple):
    """Points in groups.

    Attributes
    ----------
    keys : int64 ndarray of shape (n_groups,)
        What the points of a group have in common, ascending.
    weights : csr_array of shape (n_groups, p)
        H, their weights at anchors, summed without rounding.
    """

    keys: np.ndarray
    weights: sp.csr_array


# -- the anchors' own graph


def graph_of_anchors(workers: Workers, masses: np.ndarray) -> Problem:
    """Return the anchors' own graph, with masses as node weights, without anchors that have none.

    Sums are rounded, in the same way whoever adds.
    """
    total = workers.total("leastcut-start", ties_of_anchors, None, sum_of_matrices, masses.size)
    used = np.flatnonzero(masses > 0)
    matrix = sp.csr_array(total)[used][:, used]
    matrix.sort_indices()
    graph = Graph(matrix.indptr, matrix.indices, matrix.data).symmetrised()
    return Problem(graph, masses[used])


def ties_of_anchors(block: Block, _: Any, n_anchors: int) -> tuple[None, sp.csr_array]:
    """Tell ZᵀZ of a block."""
    if n_anchors * n_anchors <= MOST_SUMMED:
        sums = np.zeros((n_anchors, n_anchors))
        add_anchor_products(block.anchors, block.weights, sums)
        return None, _compressed(sums)
    weights = block.to_sparse(n_anchors)
    return None, sp.csr_array(weights.T @ weights)


def sum_of_matrices(terms: Sequence[sp.csr_array]) -> sp.csr_array:
    """Return a sum of sparse arrays."""
    total = terms[0]
    for matrix in terms[1:]:
        total = sp.csr_array(total + matrix)
    return total


def follow(
    block: Block, _: Any, label_of_anchor: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, None]:
    """Keep for the points of a block the clusters of their anchors."""
    labels = np.empty(block.n_points, dtype=np.int32)
    follow_anchors(block.anchors, block.weights, label_of_anchor, labels, np.empty(n_clusters))
    return labels, None


# -- points in groups


def groups_of(
    workers: Workers, masses: np.ndarray, kept: list[Any] | None, n_clusters: int
) -> Groups:
    """Return points in groups: those of one nearest anchor that are together in all of ``kept``.

    Parameters
    ----------
    workers : Workers
    masses : ndarray of shape (p,)
    kept : list of tuples, or None
        The labels of several partitions beside every block.
    n_clusters : int
        Into how many clusters they are.
    """
    shared = masses.size, n_clusters
    found: Groups = workers.total(
        "leastcut-groups", groups_of_block, kept, sum_of_groups, *shared, is_exact=True
    )
    return found


def groups_of_block(
    block: Block, kept: tuple[np.ndarray, ...] | None, n_anchors: int, n_clusters: int
) -> tuple[None, Groups]:
    """Tell the groups of a block."""
    own = _keys(block, kept, n_clusters)
    n_keys = n_anchors * n_clusters ** len(kept or ())
    if n_keys <= MOST_SUMMED:
        places, keys = np.empty(n_keys, dtype=np.int64), np.empty(n_keys, dtype=np.int64)
        keys = keys[: number_keys(own, places, keys)].copy()
        if keys.size * n_anchors <= MOST_SUMMED:
            sums = np.zeros((keys.size, n_anchors))
            add_to_groups(block.anchors, block.weights, own, places, sums)
            return None, Groups(keys, _compressed(sums))
    keys, group = np.unique(own, return_inverse=True)
    n = block.n_points
    members = sp.csr_array((np.ones(n), (group, np.arange(n))), shape=(keys.size, n))
    return None, Groups(keys, sp.csr_array(members @ block.to_sparse(n_anchors)))


def label_groups(
    block: Block,
    kept: tuple[np.ndarray, ...] | None,
    keys: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
) -> tuple[np.ndarray, None]:
    """Keep for the points of a block the labels of their groups."""
    return labels[np.searchsorted(keys, _keys(block, kept, n_clusters))].astype(np.int32), None


def products_of(groups: Groups) -> float:
    """Return how many products contracting groups takes."""
    return float(np.square(np.bincount(groups.weights.indices), dtype=np.float64).sum())


def contracted(groups: Groups, masses: np.ndarray) -> Problem:
    """Return the graph of points with every group as one node."""
    weights = groups.weights
    scaled = sp.csr_array(
        (weights.data * inverse_of(masses)[weights.indices], weights.indices, weights.indptr),
        shape=weights.shape,
    )
    matrix = sp.csr_array(scaled @ weights.T)
    graph = Graph(matrix.indptr, matrix.indices, matrix.data).symmetrised()
    # Every point weighs 1, which its weights add up to without rounding.
    return Problem(graph, np.asarray(weights.sum(axis=1)).reshape(-1))


def _keys(block: Block, kept: tuple[np.ndarray, ...] | None, n_clusters: int) -> np.ndarray:
    keys = block.anchors[:, 0].astype(np.int64)
    for labels in kept or ():
        keys = keys * n_clusters + labels
    return keys


def _compressed(sums: np.ndarray) -> sp.csr_array:
    """Return an array as a sparse one, without the interpreter lock."""
    indptr, nothing = np.empty(sums.shape[0] + 1, dtype=np.int32), np.empty(0, dtype=np.int32)
    compress(sums, indptr, nothing, np.empty(0))
    indices, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    if indptr[-1]:
        compress(sums, indptr, indices, values)
    return sp.csr_array((values, indices, indptr), shape=sums.shape)


def labels_of_keys(keys: np.ndarray, count: int, n_clusters: int) -> list[np.ndarray]:
    """Return the labels of groups in each of the ``count`` partitions that their keys hold."""
    found = []
    for _ in range(count):
        found.append(keys % n_clusters)
        keys = keys // n_clusters
    return found[::-1]


def sum_of_groups(parts: Sequence[Groups]) -> Groups:
    """Return groups of several blocks, those of one key as one."""
    keys, group = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    stacked = sp.vstack([part.weights for part in parts], format="csr")
    n = group.size
    members = sp.csr_array((np.ones(n), (group, np.arange(n))), shape=(keys.size, n))
    return Groups(keys, sp.csr_array(members @ stacked))
