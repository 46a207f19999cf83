"""The best partition known to a proof, and those that a relaxed solution suggests."""

from __future__ import annotations

import numpy as np

from leastcut.multilevel.refinement import refine_problem
from leastcut.multilevel.repair import respecting
from leastcut.problem import Problem
from leastcut.results import Relaxation
from leastcut.spectral.dense_eigenpairs import eigenpairs
from leastcut.spectral.discretizers.cluster_qr import cluster_qr

VISIBLE = 1e-12
"""Part of the value by which another must be smaller to be taken for better: equal partitions
differ by rounding."""


class Best:
    """The best partition so far.

    Attributes
    ----------
    problem : Problem
        With a coloring of its cannot-links, if it has any.
    n_clusters : int
    labels : ndarray of shape (n,)
    value : float
    """

    def __init__(self, problem: Problem, n_clusters: int, labels: np.ndarray) -> None:
        self.problem, self.n_clusters = problem, n_clusters
        self.labels, self.value = labels, problem.value(labels)

    def take(self, labels: np.ndarray) -> None:
        """Take labels that are the best there are, unless those known are as good."""
        value = self.problem.value(labels)
        if value < self.value:
            self.labels, self.value = labels, value

    def consider(self, labels: np.ndarray) -> None:
        """Take labels that keep to everything, if they are better by more than rounding."""
        if self.problem.value(labels) < self.value * (1.0 - VISIBLE):
            self.take(labels)

    def round(self, similarity: np.ndarray, groups: np.ndarray) -> None:
        """Take what the matrix Z of groups of nodes suggests, if it is better once refined."""
        problem, c = self.problem, self.n_clusters
        weights = np.bincount(groups, problem.node_weights)
        labels = rounded(similarity, weights, c)[groups]
        if problem.cannot_link is not None:
            kept = respecting(problem, labels, c)
            assert kept is not None  # as the problem has a coloring
            labels = kept.astype(np.int64)
        self.consider(refine_problem(problem, labels).labels)


def rounded(similarity: np.ndarray, node_weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels 0..c-1 from the c leading eigenvectors of Z, by pivoted QR."""
    n = node_weights.size
    values, vectors = eigenpairs(0.5 * (similarity + similarity.T), n - n_clusters, n - 1)
    # The larger in Z, the smaller in the relaxed problem.
    relaxation = Relaxation(1.0 - values[::-1], vectors[:, ::-1], node_weights)
    labels = cluster_qr(relaxation, random_state=np.random.default_rng(0), score=None).labels
    return np.asarray(labels, dtype=np.int64)
