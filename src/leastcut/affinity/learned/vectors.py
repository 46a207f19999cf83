"""The vectors of nodes for given weights: the relaxed clusters, or clusters themselves.

Both minimise tr(Fᵀ L F): over all F with orthonormal columns, where eigenvectors are the smallest
there is, or over the indicators of clusters, where it is the ratio cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem, indicator
from leastcut.spectral.relax import relax_problem

TOLERANCE = 1e-6
"""Residual of eigenvectors, which the next weights change anyway."""


class Found(NamedTuple):
    """Vectors of shape (n, c), and the labels that they indicate if they do."""

    vectors: np.ndarray
    labels: np.ndarray | None


Solve = Callable[[Problem, int, np.ndarray | None, int, int | None], Found]
"""From a problem, the number of clusters, labels to begin with, a seed and threads to vectors."""


def eigenvectors(
    problem: Problem, n_clusters: int, labels: np.ndarray | None, seed: int, n_jobs: int | None
) -> Found:
    """Return the eigenvectors of the c smallest eigenvalues, as the papers do."""
    found = relax_problem(problem, n_clusters, random_state=seed, tol=TOLERANCE)
    return Found(found.eigenvectors, None)


def clusters(
    problem: Problem, n_clusters: int, labels: np.ndarray | None, seed: int, n_jobs: int | None
) -> Found:
    """Return the indicators of the smallest ratio cut that is found, no worse than ``labels``."""
    given = [] if labels is None else [labels]
    found = partition_problem(
        problem,
        n_clusters,
        effort="fast",
        starts=given,
        lower_bound=False,
        random_state=seed,
        n_jobs=n_jobs,
    )
    return Found(indicator(found.labels, problem.node_weights), found.labels)


SOLVERS: dict[str, Solve] = {"multilevel": clusters, "spectral": eigenvectors}
"""The ways to vectors, by the names that the estimator has for the ways to labels."""
