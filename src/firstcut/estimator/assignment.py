"""New points without a new fit: each joins the cluster where it changes the cut least.

A new node with ties s_l to cluster l (D = Σ s_l in all) adds s_l to the boundary of every cluster
but its own, and D − s_k to that of its own k. Weights grow as the cut has it: by the weight of the
new node in cluster k and, where weights are degrees, by s_l in every cluster l. So the value with
the node in cluster k is

    Σ_{l≠k} (boundary_l + s_l) / b_l  +  (boundary_k + D − s_k) / (b_k + b_new),

and the k with the smallest is its label. Points do not see one another: the labels are the same in
batches of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.cuts import boundaries
from firstcut.estimator.isolated import Core


@dataclass(frozen=True, eq=False)
class Assignment:
    """A fitted partition, as new nodes see it.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The clusters of the training nodes.
    boundary, mass : ndarray of shape (c,)
        Per cluster, the weight of the edges that leave it and the sum of its node weights.
    new_weight : float or None
        The weight of a new node; None where weights are degrees.
    """

    labels: np.ndarray
    boundary: np.ndarray
    mass: np.ndarray
    new_weight: float | None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.mass.size)

    @property
    def value(self) -> float:
        """The cut value of the fitted partition."""
        return _total(self.boundary, self.mass)

    def ties(self, affinities: Any) -> np.ndarray:
        """Return how strongly every new node is tied to every cluster, (n_new, c)."""
        n = self.labels.size
        member = sp.csr_array(
            (np.ones(n), self.labels, np.arange(n + 1)), shape=(n, self.n_clusters)
        )
        ties = affinities @ member
        return np.asarray(ties.toarray() if sp.issparse(ties) else ties, dtype=np.float64)

    def choose(self, ties: np.ndarray) -> np.ndarray:
        """Return the cluster that every new node changes the cut least in."""
        boundary = self.boundary + ties
        mass, weight = self._grown(ties)
        degree = ties.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.nan_to_num(boundary / mass, posinf=np.inf)
            joined = np.nan_to_num((self.boundary + degree - ties) / (mass + weight))
        return np.asarray(np.argmin(joined - apart, axis=1))

    def value_with(self, ties: np.ndarray, labels: np.ndarray) -> float:
        """Return the cut value of the graph with all these new nodes in it."""
        rows = np.arange(labels.size)
        mass, weight = self._grown(ties)
        own = ties[rows, labels]
        crossing = ties.copy()
        crossing[rows, labels] = ties.sum(axis=1) - own
        boundary = self.boundary + crossing.sum(axis=0)
        weights = np.broadcast_to(weight, (labels.size, 1)).reshape(-1)
        grown = self.mass + (mass - self.mass).sum(axis=0)
        grown = grown + np.bincount(labels, weights, minlength=self.n_clusters)
        return _total(boundary, grown)

    def _grown(self, ties: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the masses with the new edges counted, and the weight of the new node."""
        if self.new_weight is None:
            return self.mass + ties, ties.sum(axis=1, keepdims=True)
        return np.broadcast_to(self.mass, ties.shape), self.new_weight


def assignment_of(core: Core, labels: np.ndarray, cut: Any) -> Assignment:
    """Return the assignment to the clusters of a fitted graph.

    Parameters
    ----------
    core : Core
        The graph, its isolated nodes apart.
    labels : ndarray of shape (n,)
        The clusters 0..c-1 of all nodes.
    cut : {"ratio", "normalized"} or array-like of shape (n,)
        A new node weighs its degree in the normalized cut, 1 in the ratio cut, and as much as the
        mean node where node weights are given.

    Returns
    -------
    Assignment
    """
    n_clusters = int(labels.max()) + 1
    inside = labels[core.nodes]
    boundary = np.zeros(n_clusters)
    if inside.size:
        found = boundaries(core.graph, inside)
        boundary[: found.size] = found
    isolated = np.ones(labels.size, dtype=bool)
    isolated[core.nodes] = False
    mass = np.bincount(inside, core.weights, minlength=n_clusters).astype(np.float64)
    mass += np.bincount(labels[isolated], core.outside, minlength=n_clusters)
    if isinstance(cut, str) and cut == "normalized":
        return Assignment(labels, boundary, mass, None)
    total = float(core.weights.sum() + core.outside.sum())
    return Assignment(labels, boundary, mass, total / labels.size)


def _total(boundary: np.ndarray, mass: np.ndarray) -> float:
    """Return Σ boundary / mass; a cluster of isolated nodes has neither and counts 0."""
    return float(np.sum(np.divide(boundary, mass, out=np.zeros_like(mass), where=mass > 0)))
