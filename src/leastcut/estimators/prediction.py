"""New samples without a new fit: each joins the cluster where it changes the cut least.

A new node with edges of weight s_l to cluster l (D = Σ s_l in all) adds s_l to the boundary of
every cluster but its own, and D − s_k to that of its own k. Cluster weights grow as the cut has it:
b_new for the node itself, and ``per_degree`` times s_l in every cluster l. So the value with the
node in cluster k is

    Σ_{l≠k} (boundary_l + s_l) / b_l  +  (boundary_k + D − s_k) / (b_k + b_new),

and the k with the smallest is its label. Where samples are weighted, an edge to sample j adds its
weight w_j times as much to b, so that clusters grow by the edges summed with w; and a new sample
weighs as the mean does. New samples do not see one another: the labels are the same in batches of
any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity
from leastcut.affinity.neighbors.devices import on_host
from leastcut.affinity.neighbors.index import NeighborIndex
from leastcut.problem import Cut, value_of_sums

BLOCK = 2**22
"""Affinities of new samples held at once: 32 MiB, large enough for products to be fast."""

SPARSE_ROWS = 2**16
"""New samples compared at once where rows are sparse: so many that starting threads is nothing."""


class Links(NamedTuple):
    """What new nodes bring to every cluster, both of shape (n_new, c).

    ``weight`` is the sum of their edges there, and ``growth`` what these add to its weight.
    """

    weight: np.ndarray
    growth: np.ndarray


@dataclass(frozen=True, eq=False)
class Clusters:
    """A fitted partition as new nodes meet it.

    ``boundary`` has the weight of the edges that leave each cluster, ``cluster_weights`` the sum of
    its node weights.
    """

    labels: np.ndarray
    boundary: np.ndarray
    cluster_weights: np.ndarray
    cut: Cut

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
        n, c = self.labels.size, self.cluster_weights.size
        # Y as CSR, one entry per row, made of the labels as they are; the product sums by cluster.
        member = sp.csr_array((weights, self.labels, np.arange(n + 1)), shape=(n, c))
        sums = affinities @ member
        return np.asarray(sums.toarray() if sp.issparse(sums) else sums, dtype=np.float64)

    def choose(self, links: Links) -> np.ndarray:
        """Return the cluster that every new node changes the cut least in."""
        # With the node in cluster k, the value is the sum of all terms as if it were in none of
        # them (``apart``), with the term of k exchanged (``joined``): only the difference depends
        # on k.
        apart, joined = self._terms(links)
        return np.asarray(np.argmin(joined - apart, axis=1))

    def values_with_each(self, links: Links) -> np.ndarray:
        """Return the cut value of the graph with one new node in it, for each and every cluster.

        Returns
        -------
        ndarray of shape (n_new, c)
        """
        apart, joined = self._terms(links)
        return np.asarray(np.maximum(apart.sum(axis=1, keepdims=True) - apart + joined, 0.0))

    def _terms(self, links: Links) -> tuple[np.ndarray, np.ndarray]:
        """Return the term of every cluster beside a new node, and with it inside."""
        boundary = self.boundary + links.weight
        grown = self.cluster_weights + links.growth
        degree = links.weight.sum(axis=1, keepdims=True)
        weight = self.cut.weight_of_new(degree)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A cluster of isolated nodes may have neither boundary nor weight; its term is 0.
            apart = np.nan_to_num(boundary / grown, posinf=np.inf)
            joined = np.nan_to_num((self.boundary + degree - links.weight) / (grown + weight))
        return apart, joined

    def value_with(self, links: Links, labels: np.ndarray) -> float:
        """Return the cut value of the graph with all these new nodes in it."""
        rows = np.arange(labels.size)
        degree = links.weight.sum(axis=1)
        # What every new node adds to every boundary: its ties, and in its own cluster all others.
        crossing = links.weight.copy()
        crossing[rows, labels] = degree - links.weight[rows, labels]
        boundary = self.boundary + crossing.sum(axis=0)
        cluster_weights = self.cluster_weights + links.growth.sum(axis=0)
        weight = self.cut.weight_of_new(degree)
        cluster_weights += np.bincount(labels, weight, minlength=cluster_weights.size)
        return value_of_sums(boundary, cluster_weights)


class Prediction:
    """The training samples and their clusters, with which new samples are compared.

    ``matrix`` is the graph that was made of X by an affinity with these parameters. What a
    comparison needs beyond the samples is computed when it is first needed, and kept.
    """

    def __init__(
        self,
        affinity: Affinity,
        parameters: dict[str, Any],
        X: Any,
        matrix: Any,
        clusters: Clusters,
    ) -> None:
        self.affinity = affinity
        self.parameters = parameters
        # Of a matrix between samples it is the graph that new rows are compared with.
        self.known = on_host(X) if affinity.takes == "samples" else matrix
        self.clusters = clusters

    @cached_property
    def _rows(self) -> Any:
        return self.affinity.rows(self.known, **self.parameters)

    @cached_property
    def _index(self) -> NeighborIndex:
        given = self.parameters
        # Kernels have no metric: of what they join to nothing, the Euclidean distance decides.
        metric, metric_params = given.get("metric", "euclidean"), given.get("metric_params")
        return NeighborIndex(self.known, given.get("n_jobs"), None, metric, metric_params)

    def affinities(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Yield the affinities of new samples to the training samples, block by block of rows."""
        # Neighbours are a few entries a row, other affinities one for every training sample.
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

    def place(self, X: Any) -> tuple[np.ndarray, Links]:
        """Return the clusters of new samples, and their links to every cluster."""
        clusters = self.clusters
        # 1. Sum the affinities block by block, as memory allows.
        shape = X.shape[0], clusters.cluster_weights.size
        links = Links(np.empty(shape), np.empty(shape))
        for block, affinities in self.affinities(X):
            links.weight[block], links.growth[block] = clusters.links(affinities)
        if not np.isfinite(links.weight).all():
            raise ValueError("The affinities of new samples to the training samples overflow.")
        # 2. Choose. A sample without any affinity goes where its nearest training sample is.
        labels = clusters.choose(links)
        lost = np.flatnonzero(links.weight.sum(axis=1) == 0)
        if lost.size and self.affinity.takes == "samples":
            nearest, _ = self._index.nearest(X[lost], 1)
            labels[lost] = clusters.labels[nearest[:, 0]]
        return labels, links

    def is_training_data(self, X: Any) -> bool:
        """Whether X is what the estimator was fitted to."""
        if X.shape != self.known.shape:
            return False
        # What is kept of a matrix is the graph that was made of it.
        if self.affinity.takes != "samples":
            X = self.affinity.graph(X, **self.parameters)
        known = self.known
        # In either form, dense or sparse, whatever form the training data came in.
        if sp.issparse(X) or sp.issparse(known):
            return bool((sp.csr_array(known) != sp.csr_array(X)).nnz == 0)
        return bool(np.array_equal(X, known))
