"""The best partition known during a proof, and the heuristics that improve it.

Subproblems with few partitions are enumerated, and relaxed solutions rounded to labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leastcut.constraints import CannotLinks, Constraints
from leastcut.feasibility import color
from leastcut.multilevel.exact import exact_problem, stirling
from leastcut.multilevel.refinement import refine_problem
from leastcut.multilevel.repair import respecting
from leastcut.problem import Problem
from leastcut.results import Partition, Relaxation
from leastcut.spectral.discretizers.cluster_qr import cluster_qr
from leastcut.spectral.eigensolvers.dense import eigenpairs

VISIBLE = 1e-12  # smallest relative improvement; equal partitions may differ by rounding
ENUMERATED_NODES, ENUMERATED_PARTITIONS = 40, 200_000  # limits of enumeration: milliseconds


class Incumbent:
    """The best known partition; its problem has a coloring of the cannot-links, if any."""

    def __init__(self, problem: Problem, n_clusters: int, labels: np.ndarray) -> None:
        self.problem, self.n_clusters = problem, n_clusters
        self.labels, self.value = labels, problem.value(labels)

    def update(self, labels: np.ndarray) -> None:
        """Replace the labels by optimal ones, unless the current ones are equally good."""
        value = self.problem.value(labels)
        if value < self.value:
            self.labels, self.value = labels, value

    def consider(self, labels: np.ndarray) -> None:
        """Replace the labels by feasible ones that are better by more than rounding."""
        if self.problem.value(labels) < self.value * (1.0 - VISIBLE):
            self.update(labels)

    def round(self, similarity: np.ndarray, groups: np.ndarray) -> None:
        """Round the matrix Z of groups of nodes to labels, refine them, and consider the result."""
        problem, c = self.problem, self.n_clusters
        weights = np.bincount(groups, problem.node_weights)
        labels = rounded(similarity, weights, c)[groups]
        if problem.cannot_link is not None:
            repaired = respecting(problem, labels, c)
            assert repaired is not None  # because the problem has a coloring
            labels = repaired.astype(np.int64)
        self.consider(refine_problem(problem, labels).labels)


def rounded(similarity: np.ndarray, node_weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels 0..c-1 from the c leading eigenvectors of Z, by pivoted QR."""
    n = node_weights.size
    values, vectors = eigenpairs(0.5 * (similarity + similarity.T), n - n_clusters, n - 1)
    # Large eigenvalues of Z correspond to small ones of the relaxed problem.
    relaxation = Relaxation(1.0 - values[::-1], vectors[:, ::-1], node_weights)
    labels = cluster_qr(relaxation, random_state=np.random.default_rng(0), score=None).labels
    return np.asarray(labels, dtype=np.int64)


def is_enumerable(n_nodes: int, n_clusters: int) -> bool:
    """Return whether there are few enough partitions to enumerate them."""
    if n_clusters == n_nodes:
        return True
    return n_nodes <= ENUMERATED_NODES and stirling(n_nodes, n_clusters) <= ENUMERATED_PARTITIONS


def enumerated_optimum(problem: Problem, n_clusters: int, pairs: np.ndarray) -> Partition | None:
    """Return the best partition with these cannot-links by enumeration; None if infeasible."""
    if pairs.size:
        links = CannotLinks.of(pairs, problem.n_nodes)
        colors = color(links, n_clusters).colors
        if colors is None:  # infeasible: for so few nodes the search is complete
            return None
        links = replace(links, coloring=colors)
        problem = replace(problem, constraints=Constraints(cannot_link=links))
    return exact_problem(problem, n_clusters)
