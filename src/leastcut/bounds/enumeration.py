"""Cases with so few partitions that going through them all takes no time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leastcut.bounds.rounding import Best
from leastcut.constraints import CannotLinks, Constraints
from leastcut.feasibility import color
from leastcut.multilevel.exact import exact_problem, stirling
from leastcut.problem import Problem
from leastcut.results import Partition
from leastcut.validation import number_by_appearance

ENUMERATED_NODES, ENUMERATED_PARTITIONS = 40, 200_000
"""Problems of no more nodes and partitions are gone through: some milliseconds."""


def are_few(n_nodes: int, n_clusters: int) -> bool:
    """Return whether there are so few partitions that they can all be gone through."""
    if n_clusters == n_nodes:
        return True
    return n_nodes <= ENUMERATED_NODES and stirling(n_nodes, n_clusters) <= ENUMERATED_PARTITIONS


def best_of_all(problem: Problem, n_clusters: int, pairs: np.ndarray) -> Partition | None:
    """Return the best partition that keeps pairs of nodes apart; None if none does."""
    if pairs.size:
        links = CannotLinks.of(pairs, problem.n_nodes)
        colors = color(links, n_clusters).colors
        if colors is None:  # which is decided, for so few nodes
            return None
        links = replace(links, coloring=colors)
        problem = replace(problem, constraints=Constraints(cannot_link=links))
    return exact_problem(problem, n_clusters)


class Enumeration:
    """The bound of a problem that is so small: see ``root_bounds`` for the interface."""

    def __init__(self, best: Best) -> None:
        self._best, self.bound = best, 0.0

    def improve(self, deadline: float = np.inf, target: float = np.inf) -> bool:
        """Go through all partitions."""
        best = self._best
        found = exact_problem(best.problem, best.n_clusters)
        # The same partition under other numbers may differ by rounding: its bound is its value.
        if not np.array_equal(found.labels, number_by_appearance(best.labels)):
            best.take(found.labels)
        assert found.lower_bound is not None
        self.bound = best.value if found.gap == 0.0 else found.lower_bound
        return False
