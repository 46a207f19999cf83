"""A fitted partition to which new samples come: from their affinities to their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.estimator.assignment import Assignment
from firstcut.estimator.similarities import Reference
from firstcut.estimator.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class Placement:
    """The training samples, their clusters, and the embedding for samples tied to none.

    Attributes
    ----------
    reference : Reference
        What affinities new samples have to the training samples.
    assignment : Assignment
        Which cluster they join.
    spectrum : Spectrum
        Where clusters lie, if affinities do not say.
    """

    reference: Reference
    assignment: Assignment
    spectrum: Spectrum

    def place(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the clusters of new samples, and their ties to every cluster."""
        reference, assignment = self.reference, self.assignment
        ties = np.empty((X.shape[0], assignment.n_clusters))
        for start in range(0, X.shape[0], reference.block):
            rows = slice(start, start + reference.block)
            ties[rows] = assignment.ties(reference.affinities(X[rows]))
        if not np.isfinite(ties).all() or ties.min(initial=0.0) < 0:
            raise ValueError(
                "New samples have negative or infinite affinities to the training samples; a cut "
                "needs non-negative ones."
            )
        labels = assignment.choose(ties)
        lost = np.flatnonzero(ties.sum(axis=1) == 0)
        if lost.size and reference.X is not None:
            nearest, _ = reference.nearest(X[lost], 1)
            labels[lost] = assignment.labels[nearest[:, 0]]
        elif lost.size:
            labels[lost] = self._innermost_cluster()
        return labels, ties

    def is_training_data(self, X: Any) -> bool:
        """Whether X is what the estimator was fitted to."""
        known = self.spectrum.matrix if self.reference.X is None else self.reference.X
        if X.shape != known.shape:
            return False
        if self.reference.X is None:
            X = self.reference.similarity.graph(X)
        if sp.issparse(X) != sp.issparse(known):
            return False
        if sp.issparse(X):
            return bool((known != X).nnz == 0)
        return bool(np.array_equal(X, known))

    def _innermost_cluster(self) -> int:
        """Return the cluster whose mean is nearest to the origin of the embedding."""
        labels = self.assignment.labels
        sizes = np.bincount(labels)
        means = [np.bincount(labels, column) / sizes for column in self.spectrum.embedding.T]
        return int(np.argmin(np.square(means).sum(axis=0)))
