"""New samples without a new fit: each joins the cluster where it changes the cut least.

A new node with ties s_l to cluster l (D = Σ s_l in all) adds s_l to the boundary of every cluster
but its own, and D − s_k to that of its own k. Weights grow as the cut has it: b_new for the node
itself, and ``per_degree`` times s_l in every cluster l. So the value with the node in cluster k is

    Σ_{l≠k} (boundary_l + s_l) / b_l  +  (boundary_k + D − s_k) / (b_k + b_new),

and the k with the smallest is its label. Where samples are weighted, an edge to sample j adds its
weight w_j times as much to b, so that clusters grow by the ties summed with w; and a new sample
weighs as the mean does. New samples do not see one another: the labels are the
same in batches of any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity
from leastcut.affinity.neighbors.index import NeighborIndex
from leastcut.estimators.eigenpairs import FittedEigenpairs
from leastcut.estimators.sample_weights import WeightedCut
from leastcut.problem import Cut, value_of_sums
from leastcut.validation import is_on_gpu

BLOCK = 2**22
"""Affinities of new samples held at once: 32 MiB, large enough for products to be fast."""

SPARSE_ROWS = 2**16
"""New samples compared at once where rows are sparse: so many that starting threads is nothing."""


class Ties(NamedTuple):
    """What new nodes bring to every cluster, both of shape (n_new, c).

    Attributes
    ----------
    weight : ndarray
        How strongly a node is tied to a cluster: the sum of its edges there.
    growth : ndarray
        What those edges add to the weight of the cluster.
    """

    weight: np.ndarray
    growth: np.ndarray


@dataclass(frozen=True, eq=False)
class Clusters:
    """A fitted partition, as new nodes see it.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The clusters of the training nodes.
    boundary, cluster_weights : ndarray of shape (c,)
        Per cluster, the weight of the edges that leave it and the sum of its node weights.
    cut : Cut
        How nodes are weighed; a new one as the mean of those there are, but for its own edges.
    """

    labels: np.ndarray
    boundary: np.ndarray
    cluster_weights: np.ndarray
    cut: Cut

    def ties(self, affinities: Any) -> Ties:
        """Return the ties of new nodes to every cluster."""
        weight = self._summed(affinities, np.ones(self.labels.size))
        # Where samples are weighted, so is what an edge adds to each of its ends.
        by_weight = weight
        if isinstance(self.cut, WeightedCut) and self.cut.per_degree:
            by_weight = self._summed(affinities, self.cut.sample_weight)
        return Ties(weight, self.cut.per_degree * by_weight)

    def _summed(self, affinities: Any, weights: np.ndarray) -> np.ndarray:
        """Return the affinities times weights of the training nodes, summed by cluster."""
        n, c = self.labels.size, self.cluster_weights.size
        # Y as CSR, one entry per row, made of the labels as they are; the product sums by cluster.
        member = sp.csr_array((weights, self.labels, np.arange(n + 1)), shape=(n, c))
        ties = affinities @ member
        return np.asarray(ties.toarray() if sp.issparse(ties) else ties, dtype=np.float64)

    def choose(self, ties: Ties) -> np.ndarray:
        """Return the cluster that every new node changes the cut least in."""
        # With the node in cluster k, the value is the sum of all terms as if it were in none of
        # them (``apart``), with the term of k exchanged (``joined``): only the difference depends
        # on k.
        apart, joined = self._terms(ties)
        return np.asarray(np.argmin(joined - apart, axis=1))

    def values_with_each(self, ties: Ties) -> np.ndarray:
        """Return the cut value of the graph with one new node in it, for each and every cluster.

        Returns
        -------
        ndarray of shape (n_new, c)
        """
        apart, joined = self._terms(ties)
        return np.asarray(np.maximum(apart.sum(axis=1, keepdims=True) - apart + joined, 0.0))

    def _terms(self, ties: Ties) -> tuple[np.ndarray, np.ndarray]:
        """Return the term of every cluster beside a new node, and with it inside."""
        boundary = self.boundary + ties.weight
        grown = self.cluster_weights + ties.growth
        degree = ties.weight.sum(axis=1, keepdims=True)
        weight = weight_of_new(self.cut, degree)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A cluster of isolated nodes may have neither boundary nor weight; its term is 0.
            apart = np.nan_to_num(boundary / grown, posinf=np.inf)
            joined = np.nan_to_num((self.boundary + degree - ties.weight) / (grown + weight))
        return apart, joined

    def value_with(self, ties: Ties, labels: np.ndarray) -> float:
        """Return the cut value of the graph with all these new nodes in it."""
        rows = np.arange(labels.size)
        degree = ties.weight.sum(axis=1)
        # What every new node adds to every boundary: its ties, and in its own cluster all others.
        crossing = ties.weight.copy()
        crossing[rows, labels] = degree - ties.weight[rows, labels]
        boundary = self.boundary + crossing.sum(axis=0)
        cluster_weights = self.cluster_weights + ties.growth.sum(axis=0)
        own = weight_of_new(self.cut, degree)
        cluster_weights += np.bincount(labels, own, minlength=cluster_weights.size)
        return value_of_sums(boundary, cluster_weights)


def weight_of_new(cut: Cut, degree: np.ndarray) -> np.ndarray:
    """Return what new nodes of these degrees weigh.

    Weights that were given per node say nothing of a new one, so it gets their mean.
    """
    each = cut.sample_weight if isinstance(cut, WeightedCut) else 1.0
    return np.asarray(np.mean(each * cut.constant) + np.mean(each) * cut.per_degree * degree)


class Prediction:
    """The training samples and their clusters, to which new samples come.

    What a comparison needs beyond the samples is computed when it is first needed, and kept.

    Parameters
    ----------
    affinity : Affinity
        What affinities new samples have to the training samples.
    parameters : dict
        Its parameters, as they were for the training samples.
    X : ndarray or sparse matrix
        What was fitted.
    matrix : ndarray or csr_array
        The graph that was made of it.
    clusters : Clusters
        Which cluster new nodes join.
    eigenpairs : FittedEigenpairs
        Where clusters lie, if affinities do not say.
    """

    def __init__(
        self,
        affinity: Affinity,
        parameters: dict[str, Any],
        X: Any,
        matrix: Any,
        clusters: Clusters,
        eigenpairs: FittedEigenpairs,
    ) -> None:
        self.affinity = affinity
        self.parameters = parameters
        # Of a matrix between samples it is the graph that new rows are compared with.
        self.known = X if affinity.takes == "samples" else matrix
        if is_on_gpu(X):
            from leastcut.affinity.neighbors.devices import on_host

            self.known = on_host(X)
        self.clusters = clusters
        self.eigenpairs = eigenpairs

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

    def place(self, X: Any) -> tuple[np.ndarray, Ties]:
        """Return the clusters of new samples, and their ties to every cluster."""
        clusters = self.clusters
        # 1. Take the ties of new samples block by block, as memory allows.
        shape = X.shape[0], clusters.cluster_weights.size
        ties = Ties(np.empty(shape), np.empty(shape))
        for block, affinities in self.affinities(X):
            ties.weight[block], ties.growth[block] = clusters.ties(affinities)
        if not np.isfinite(ties.weight).all():
            raise ValueError("The affinities of new samples to the training samples overflow.")
        # 2. Choose. A sample without any affinity has no ties to choose by: it goes where its
        #    nearest training sample is or, of a matrix, to the innermost cluster.
        labels = clusters.choose(ties)
        lost = np.flatnonzero(ties.weight.sum(axis=1) == 0)
        if lost.size and self.affinity.takes == "samples":
            nearest, _ = self._index.nearest(X[lost], 1)
            labels[lost] = clusters.labels[nearest[:, 0]]
        elif lost.size:
            labels[lost] = self._innermost_cluster()
        return labels, ties

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

    def _innermost_cluster(self) -> int:
        """Return the cluster whose mean is nearest to the origin of the embedding."""
        labels = self.clusters.labels
        sizes = np.bincount(labels)
        # Column by column, (n_components, c); a node without affinities lies at the origin.
        means = [np.bincount(labels, column) / sizes for column in self.eigenpairs.embedding.T]
        return int(np.argmin(np.square(means).sum(axis=0)))
