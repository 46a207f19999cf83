"""New samples without a new fit: each joins the cluster where it changes the cut least.

A new node with ties s_l to cluster l (D = Σ s_l in all) adds s_l to the boundary of every cluster
but its own, and D − s_k to that of its own k. Weights grow as the cut has it: b_new for the node
itself, and ``per_degree`` times s_l in every cluster l. So the value with the node in cluster k is

    Σ_{l≠k} (boundary_l + s_l) / b_l  +  (boundary_k + D − s_k) / (b_k + b_new),

and the k with the smallest is its label. New samples do not see one another: the labels are the
same in batches of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.affinity.affinity import Affinity
from firstcut.affinity.neighbors.index import NeighborIndex
from firstcut.cuts import Cut, value_of_sums
from firstcut.estimator.eigenpairs import FittedEigenpairs
from firstcut.validation import is_on_gpu

BLOCK = 2**22
"""Affinities of new samples held at once: 32 MiB, large enough for products to be fast."""

SPARSE_ROWS = 2**16
"""New samples compared at once where rows are sparse: so many that starting threads is nothing."""


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

    def ties(self, affinities: Any) -> np.ndarray:
        """Return how strongly every new node is tied to every cluster, (n_new, c)."""
        n, c = self.labels.size, self.cluster_weights.size
        # Y as CSR, one 1 per row, made of the labels as they are; the product sums by cluster.
        member = sp.csr_array((np.ones(n), self.labels, np.arange(n + 1)), shape=(n, c))
        ties = affinities @ member
        return np.asarray(ties.toarray() if sp.issparse(ties) else ties, dtype=np.float64)

    def choose(self, ties: np.ndarray) -> np.ndarray:
        """Return the cluster that every new node changes the cut least in."""
        # With the node in cluster k, the value is the sum of all terms as if it were in none of
        # them (``apart``), with the term of k exchanged (``joined``): only the difference depends
        # on k.
        boundary = self.boundary + ties
        grown, weight = self._grown(ties)
        degree = ties.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A cluster of isolated nodes may have neither boundary nor weight; its term is 0.
            apart = np.nan_to_num(boundary / grown, posinf=np.inf)
            joined = np.nan_to_num((self.boundary + degree - ties) / (grown + weight))
        return np.asarray(np.argmin(joined - apart, axis=1))

    def value_with(self, ties: np.ndarray, labels: np.ndarray) -> float:
        """Return the cut value of the graph with all these new nodes in it."""
        rows = np.arange(labels.size)
        grown, weight = self._grown(ties)
        # What every new node adds to every boundary: its ties, and in its own cluster all others.
        crossing = ties.copy()
        crossing[rows, labels] = ties.sum(axis=1) - ties[rows, labels]
        boundary = self.boundary + crossing.sum(axis=0)
        # ``grown`` is per new node; all of them come, so what each adds is summed.
        cluster_weights = self.cluster_weights + (grown - self.cluster_weights).sum(axis=0)
        cluster_weights += np.bincount(labels, weight[:, 0], minlength=cluster_weights.size)
        return value_of_sums(boundary, cluster_weights)

    def _grown(self, ties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cluster weights with the new edges counted, and the weight of each new node.

        Their shapes are (n_new, c) and (n_new, 1).
        """
        added = self.cut.per_degree * ties
        # Weights that were given per node say nothing of a new one, so it gets their mean.
        weight = np.mean(self.cut.constant) + added.sum(axis=1, keepdims=True)
        return self.cluster_weights + added, weight


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
            from firstcut.affinity.neighbors.devices import on_host

            self.known = on_host(X)
        self.clusters = clusters
        self.eigenpairs = eigenpairs

    @cached_property
    def _rows(self) -> Any:
        return self.affinity.rows(self.known, **self.parameters)

    @cached_property
    def _index(self) -> NeighborIndex:
        return NeighborIndex(self.known, n_jobs=self.parameters.get("n_jobs"))

    def place(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the clusters of new samples, and their ties to every cluster."""
        clusters = self.clusters
        # 1. Take the ties of new samples block by block, as memory allows.
        ties = np.empty((X.shape[0], clusters.cluster_weights.size))
        # Neighbours are a few entries a row, other affinities one for every training sample.
        sparse = "n_neighbors" in self.affinity.parameters
        step = SPARSE_ROWS if sparse else max(1, BLOCK // self.known.shape[0])
        for start in range(0, X.shape[0], step):
            block = slice(start, start + step)
            ties[block] = clusters.ties(self._rows(X[block]))
        # 2. Refuse what no cut is defined for; ``initial`` is for no samples at all.
        if not np.isfinite(ties).all() or ties.min(initial=0.0) < 0:
            raise ValueError(
                "New samples have negative or infinite affinities to the training samples; a cut "
                "needs non-negative ones."
            )
        # 3. Choose. A sample without any affinity has no ties to choose by: it goes where its
        #    nearest training sample is or, of a matrix, to the innermost cluster.
        labels = clusters.choose(ties)
        lost = np.flatnonzero(ties.sum(axis=1) == 0)
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
