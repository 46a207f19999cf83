"""New samples beside those of a fit: their affinities to them, and what they bring to a cluster."""

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

BLOCK = 2**22  # affinities of new samples held at once: 32 MiB, large enough for fast products
SPARSE_ROWS = 2**16  # new samples compared at once if rows are sparse: starting threads is nothing
ROWS = 2**12  # samples that are looked up at once


class TrainingSamples:
    """The samples of a fit, with which new samples are compared.

    ``matrix`` is the graph that was made of X by an affinity with these parameters. What a
    comparison needs beyond the samples is computed when it is first needed, and kept.
    """

    def __init__(self, affinity: Affinity, parameters: dict[str, Any], X: Any, matrix: Any) -> None:
        self.affinity, self.parameters, self.matrix = affinity, parameters, matrix
        # Of a matrix between samples it is the graph that new rows are compared with.
        self._given = X if affinity.takes == "samples" else matrix

    @cached_property
    def known(self) -> Any:
        """The samples, or the graph of a matrix between them."""
        return on_host(self._given)

    @cached_property
    def _rows(self) -> Any:
        return self.affinity.rows(self.known, **self.parameters)

    @cached_property
    def _index(self) -> NeighborIndex:
        given = self.parameters
        # Kernels have no metric: of what they join to nothing, the Euclidean distance decides.
        metric, metric_params = given.get("metric", "euclidean"), given.get("metric_params")
        return NeighborIndex(self.known, given.get("n_jobs"), None, metric, metric_params)

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        """The first training sample of every key; see :func:`row_keys`."""
        found: dict[bytes, int] = {}
        for number, key in enumerate(row_keys(self.known, sp.issparse(self.known))):
            found.setdefault(key, number)
        return found

    def affinities(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Yield the affinities of new samples to the training samples, block by block of rows."""
        # Neighbors are a few entries a row, other affinities one for every training sample.
        sparse = "n_neighbors" in self.affinity.parameters
        step = SPARSE_ROWS if sparse else max(1, BLOCK // self.known.shape[0])
        for start in range(0, X.shape[0], step):
            block = slice(start, start + step)
            found = self._rows(X[block])
            entries = found.data if sp.issparse(found) else found
            # ``initial`` is for no entries at all.
            if not np.isfinite(entries).all() or entries.min(initial=0.0) < 0:
                raise ValueError(
                    "New samples have negative or infinite affinities to the training samples; a "
                    "cut needs non-negative ones."
                )
            yield block, found

    def nearest(self, X: Any) -> np.ndarray:
        """Return the number of the training sample that is nearest to every sample."""
        return np.asarray(self._index.nearest(X, 1)[0][:, 0])

    def are(self, X: Any) -> bool:
        """Whether X is what the estimator was fitted to."""
        known = self.known
        if X.shape != known.shape:
            return False
        # What is kept of a matrix is the graph that was made of it.
        if self.affinity.takes != "samples":
            X = self.affinity.graph(X, **self.parameters)
        # In either form, dense or sparse, whatever form the training data came in.
        if sp.issparse(X) or sp.issparse(known):
            return bool((sp.csr_array(known) != sp.csr_array(X)).nnz == 0)
        return bool(np.array_equal(X, known))

    def numbers_of(self, X: Any) -> np.ndarray:
        """Return which training sample, the first of equal ones, every sample is; −1 for none."""
        keys = row_keys(X, sp.issparse(self.known))
        return np.array([self._numbers.get(key, -1) for key in keys], dtype=np.int64)


def row_keys(X: Any, is_sparse: bool) -> Iterator[bytes]:
    """Yield a digest of every row, taken as sparse or as dense: those of equal rows are equal.

    It has 128 bits, so that no two different rows have the same one in practice. Python's hash
    would not do: it is another one in every process, and models are pickled.
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
    """What new nodes bring to every cluster, both of shape (n_new, c).

    ``weight`` is the sum of their edges there, and ``growth`` what these add to its weight.
    """

    weight: np.ndarray
    growth: np.ndarray


@dataclass(frozen=True, eq=False)
class Clusters:
    """A fitted partition as new nodes meet it: each joins the cluster where it cuts least.

    A new node with edges of weight s_l to cluster l (D = Σ s_l in all) adds s_l to the boundary of
    every cluster but its own, and D − s_k to that of its own k. Cluster weights grow as the cut has
    it: b_new for the node itself, and ``per_degree`` times s_l in every cluster l. So the value
    with the node in cluster k is

        Σ_{l≠k} (boundary_l + s_l) / b_l  +  (boundary_k + D − s_k) / (b_k + b_new),

    and the k with the smallest is its label. If samples are weighted, an edge to sample j adds its
    weight w_j times as much to b, so that clusters grow by the edges summed with w; and a new
    sample weighs the average. New samples do not see one another: the labels are the same in
    batches of any size.

    ``boundary`` has the weight of the edges that leave each cluster, ``weights`` the sum of its
    node weights b.
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
        # If samples are weighted, so is what an edge adds to each of its ends.
        by_weight = weight
        if np.ndim(self.cut.sample_weight) and self.cut.per_degree:
            by_weight = self._summed(affinities, np.asarray(self.cut.sample_weight))
        return Links(weight, self.cut.per_degree * by_weight)

    def _summed(self, affinities: Any, weights: np.ndarray) -> np.ndarray:
        """Return the affinities times weights of the training nodes, summed by cluster."""
        n, c = self.labels.size, self.weights.size
        # Y as CSR, one entry per row, made of the labels as they are; the product sums by cluster.
        member = sp.csr_array((weights, self.labels, np.arange(n + 1)), shape=(n, c))
        sums = affinities @ member
        return np.asarray(sums.toarray() if sp.issparse(sums) else sums, dtype=np.float64)

    def choose(self, links: Links) -> np.ndarray:
        """Return the cluster that every new node changes the cut least in."""
        # Only the term of its own cluster depends on the choice.
        outside, inside = self._terms(links)
        return np.asarray(np.argmin(inside - outside, axis=1))

    def values_with_each(self, links: Links) -> np.ndarray:
        """Return the cut value with one new node in each cluster, of shape (n_new, c)."""
        outside, inside = self._terms(links)
        return np.asarray(np.maximum(outside.sum(axis=1, keepdims=True) - outside + inside, 0.0))

    def _terms(self, links: Links) -> tuple[np.ndarray, np.ndarray]:
        """Return the term of every cluster with a new node outside of it, and inside."""
        boundary = self.boundary + links.weight
        grown = self.weights + links.growth
        degree = links.weight.sum(axis=1, keepdims=True)
        weight = self.cut.weight_of_new(degree)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A cluster of isolated nodes may have neither boundary nor weight; its term is 0.
            outside = np.nan_to_num(boundary / grown, posinf=np.inf)
            inside = np.nan_to_num((self.boundary + degree - links.weight) / (grown + weight))
        return outside, inside

    def value_with(self, links: Links, labels: np.ndarray) -> float:
        """Return the cut value of the graph with all these new nodes in it."""
        rows = np.arange(labels.size)
        degree = links.weight.sum(axis=1)
        # What every new node adds to the boundaries: in its own cluster the edges to all others.
        crossing = links.weight.copy()
        crossing[rows, labels] = degree - links.weight[rows, labels]
        weights = self.weights + links.growth.sum(axis=0)
        weights += np.bincount(labels, self.cut.weight_of_new(degree), minlength=weights.size)
        return value_of_sums(self.boundary + crossing.sum(axis=0), weights)
