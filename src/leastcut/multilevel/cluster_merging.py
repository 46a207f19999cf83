"""Merging clusters into fewer, by the smallest cut of the graph that they form."""

from __future__ import annotations

import numpy as np

from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels
from leastcut.seeds import RandomState


def merge_clusters(
    problem: Problem, labels: np.ndarray, n_clusters: int, *, random_state: RandomState
) -> np.ndarray:
    """Return labels in which whole clusters are joined until ``n_clusters`` are left."""
    # Contraction keeps values: a cut of the graph of clusters has the same value on the whole
    # graph, and tears no cluster apart.
    clusters = contracted_by_labels(problem, labels).symmetrised()
    joined = partition_problem(clusters, n_clusters, random_state=random_state)
    return np.asarray(joined.labels[labels])
