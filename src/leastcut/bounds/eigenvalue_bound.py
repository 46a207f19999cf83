"""Σλ as a first bound of large problems, on which others take long to begin."""

from __future__ import annotations

import numpy as np

from leastcut.problem import Problem
from leastcut.spectral.relax import relax_problem


class EigenvalueBound:
    """The bound of the eigenvalues: see ``root_bounds`` for the interface."""

    def __init__(self, problem: Problem, n_clusters: int) -> None:
        self._problem, self._n_clusters, self.bound = problem, n_clusters, 0.0

    def improve(self, deadline: float = np.inf, target: float = np.inf) -> bool:
        """Solve the eigenproblem, if there is time."""
        try:
            found = relax_problem(
                self._problem, self._n_clusters, random_state=0, deadline=deadline
            )
        except TimeoutError:  # then nothing is proven
            return False
        self.bound = found.lower_bound
        return False
