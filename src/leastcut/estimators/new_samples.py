"""New samples: their affinities to the training samples, and their effect on the cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity
from leastcut.affinity.neighbors.devices import on_host
from leastcut.affinity.neighbors.index import NeighborIndex
from leastcut.problem import Cut, Problem, value_of_sums

BLOCK = 2**22  # affinities of new samples per block: 32 MiB, large enough for fast products
SPARSE_ROWS = 2**16  # new samples per block with sparse affinities, to amortize starting threads
ROWS = 2**12  # samples per block of a lookup


class TrainingSamples:
    """The training samples, with which new samples are compared.

    ``matrix`` is the graph of X, constructed by ``affinity`` with ``parameters``. Search structures
    are built on first use.
    """

    def __init__(self, affinity: Affinity, parameters: dict[str, Any], X: Any, matrix: Any) -> None:
        self.affinity, self.parameters, self.matrix = affinity, parameters, matrix
        self._source = X if affinity.takes == "samples" else matrix

    @cached_property
    def known(self) -> Any:
        """The samples, or the graph of a matrix between them."""
        return on_host(self._source)

    @cached_property
    def _rows(self) -> Any:
        return self.affinity.rows(self.known, **self.parameters)

    @cached_property
    def _index(self) -> NeighborIndex:
        options = self.parameters
        # Kernels have no metric; the Euclidean distance is used for samples without affinities.
        metric, metric_params = options.get("metric", "euclidean"), options.get("metric_params")
        return NeighborIndex(self.known, options.get("n_jobs"), None, metric, metric_params)

    @cached_property
    def _indices(self) -> dict[bytes, int]:
        """The first training sample of every key; see :func:`row_keys`."""
        indices: dict[bytes, int] = {}
        for index, key in enumerate(row_keys(self.known, sp.issparse(self.known))):
            indices.setdefault(key, index)
        return indices

    def affinities(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Yield the affinities of new samples to the training samples, in blocks of rows."""
        # Neighbor graphs have few entries per row, other affinities one per training sample.
        sparse = "n_neighbors" in self.affinity.parameters
        step = SPARSE_ROWS if sparse else max(1, BLOCK // self.known.shape[0])
        for start in range(0, X.shape[0], step):
            block = slice(start, start + step)
            rows = self._rows(X[block])
            entries = rows.data if sp.issparse(rows) else rows
            if not np.isfinite(entries).all() or entries.min(initial=0.0) < 0:
                raise ValueError(
                    "New samples have negative or infinite affinities to the training samples; a "
                    "cut needs finite non-negative affinities."
                )
            yield block, rows

    def nearest(self, X: Any) -> np.ndarray:
        """Return the index of the training sample nearest to every sample."""
        return np.asarray(self._index.nearest(X, 1)[0][:, 0])

    def equals(self, X: Any) -> bool:
        """Return whether X is the training data."""
        known = self.known
        if X.shape != known.shape:
            return False
        if self.affinity.takes != "samples":
            X = self.affinity.graph(X, **self.parameters)
        if sp.issparse(X) or sp.issparse(known):
            return bool((sp.csr_array(known) != sp.csr_array(X)).nnz == 0)
        return bool(np.array_equal(X, known))

    def indices_of(self, X: Any) -> np.ndarray:
        """Return the index of the first training sample equal to every sample; −1 if none is."""
        keys = row_keys(X, sp.issparse(self.known))
        return np.array([self._indices.get(key, -1) for key in keys], dtype=np.int64)


def row_keys(X: Any, is_sparse: bool) -> Iterator[bytes]:
    """Yield a 128-bit digest of every row, which is equal for equal rows.

    Python's hash differs between processes, and estimators are pickled.
    """
    for start in range(0, X.shape[0], ROWS):
        block = X[start : start + ROWS].astype(np.float64)
        if is_sparse:
            block = sp.csr_array(block)
            block.sum_duplicates()
            block.eliminate_zeros()
            indices, data = block.indices.astype(np.int64), block.data
            spans = (slice(*ends) for ends in pairwise(block.indptr))
            rows = (indices[span].tobytes() + data[span].tobytes() for span in spans)
        else:
            block = block.toarray() if sp.issparse(block) else block
            rows = (row.tobytes() for row in np.ascontiguousarray(block + 0.0))  # −0 becomes 0
        yield from (blake2b(row, digest_size=16).digest() for row in rows)


class Links(NamedTuple):
    """Links of new nodes to every cluster; both arrays have shape (n_new, c).

    ``weight`` is the sum of their edges to the cluster, and ``growth`` the increase of the
    cluster's weight by these edges.
    """

    weight: np.ndarray
    growth: np.ndarray


@dataclass(frozen=True, eq=False)
class Clusters:
    """Fitted clusters, to which new nodes are assigned.

    A new node with edges of weight s_l to cluster l (D = Σ s_l) in cluster k adds s_l to the
    boundary of every other cluster l, and D − s_k to that of k. It adds b_new to the weight of
    cluster k, and its edges add ``per_degree`` times s_l to the weight of every cluster l. The cut
    value with the node in cluster k is then

        Σ_{l≠k} (boundary_l + s_l) / b_l  +  (boundary_k + D − s_k) / (b_k + b_new),

    and it is assigned to the k with the smallest value. With sample weights, an edge to sample j
    adds w_j times as much to b, and a new sample has the average weight. New samples do not affect
    each other, so labels do not depend on the batch.

    ``boundary`` is the weight of the edges that leave each cluster, ``weights`` the sum of its node
    weights b.
    """

    labels: np.ndarray
    boundary: np.ndarray
    weights: np.ndarray
    cut: Cut

    @classmethod
    def of(cls, problem: Problem, labels: np.ndarray, cut: Cut) -> Clusters:
        """Return the clusters of labels 0..c-1."""
        return cls(labels, problem.boundaries(labels), problem.cluster_weights(labels), cut)

    @property
    def value(self) -> float:
        """The cut value."""
        return value_of_sums(self.boundary, self.weights)

    def links(self, affinities: Any) -> Links:
        """Return the links of new nodes to every cluster."""
        weight = self._summed(affinities, np.ones(self.labels.size))
        # With sample weights, edges are weighted too.
        by_weight = weight
        if np.ndim(self.cut.sample_weight) and self.cut.per_degree:
            by_weight = self._summed(affinities, np.asarray(self.cut.sample_weight))
        return Links(weight, self.cut.per_degree * by_weight)

    def _summed(self, affinities: Any, weights: np.ndarray) -> np.ndarray:
        """Return the affinities times weights of the training nodes, summed by cluster."""
        n, c = self.labels.size, self.weights.size
        # The indicator matrix Y as CSR; the product sums by cluster.
        member = sp.csr_array((weights, self.labels, np.arange(n + 1)), shape=(n, c))
        sums = affinities @ member
        return np.asarray(sums.toarray() if sp.issparse(sums) else sums, dtype=np.float64)

    def choose(self, links: Links) -> np.ndarray:
        """Return the cluster where every new node increases the cut value least."""
        # Only the term of the chosen cluster depends on the choice.
        outside, inside = self._terms(links)
        return np.asarray(np.argmin(inside - outside, axis=1))

    def values_with_each_node(self, links: Links) -> np.ndarray:
        """Return the cut value after adding each new node to each cluster, shape (n_new, c)."""
        outside, inside = self._terms(links)
        return np.asarray(np.maximum(outside.sum(axis=1, keepdims=True) - outside + inside, 0.0))

    def _terms(self, links: Links) -> tuple[np.ndarray, np.ndarray]:
        """Return the term of every cluster with a new node outside and inside of it."""
        boundary = self.boundary + links.weight
        grown = self.weights + links.growth
        degree = links.weight.sum(axis=1, keepdims=True)
        weight = self.cut.weight_of_new(degree)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A cluster of isolated nodes may have no boundary and no weight; its term is 0.
            outside = np.nan_to_num(boundary / grown, posinf=np.inf)
            inside = np.nan_to_num((self.boundary + degree - links.weight) / (grown + weight))
        return outside, inside

    def value_with(self, links: Links, labels: np.ndarray) -> float:
        """Return the cut value of the graph after adding all new nodes."""
        rows = np.arange(labels.size)
        degree = links.weight.sum(axis=1)
        # The contribution of every new node to the boundaries.
        crossing = links.weight.copy()
        crossing[rows, labels] = degree - links.weight[rows, labels]
        weights = self.weights + links.growth.sum(axis=0)
        weights += np.bincount(labels, self.cut.weight_of_new(degree), minlength=weights.size)
        return value_of_sums(self.boundary + crossing.sum(axis=0), weights)
