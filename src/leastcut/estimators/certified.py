"""Certify the labels of a fit on its graph, with its links and its nodes without edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.bounds.certify import certify_labels, check_gap
from leastcut.bounds.proof import ProofProgress
from leastcut.budget import Budget, Callback
from leastcut.constraints import Constraints
from leastcut.graph import as_graph
from leastcut.problem import Cut, Problem
from leastcut.validation import number_by_appearance

__all__ = ["ProofProgress", "certify_fitted"]


def certify_fitted(
    matrix: Any,
    cut: Cut,
    labels: np.ndarray,
    constraints: Constraints,
    seed: int,
    gap: float,
    time_limit: float | None,
    callback: Callback | str | None,
) -> tuple[np.ndarray, float, tuple[np.ndarray, np.ndarray]]:
    """Return the labels of a fit, or better ones, their bound, and the sums of the clusters.

    Nodes without edges that weigh nothing take no part: the bound is that of the others cut into as
    many clusters, and 0 if they are in fewer.
    """
    budget, gap = Budget(time_limit, callback), check_gap(gap)
    graph = as_graph(matrix)
    problem = Problem(graph, cut.node_weights(graph), constraints)
    found = certify_labels(problem, labels, gap=gap, budget=budget, random_state=seed)
    in_core = np.unique(labels[problem.node_weights > 0]).size
    is_for_all = in_core == int(labels.max()) + 1
    bound = found.lower_bound if is_for_all and found.lower_bound is not None else 0.0
    labels = number_by_appearance(found.labels)
    return labels, bound, (problem.boundaries(labels), problem.cluster_weights(labels))
