"""The clusters of a partition, one by one: size, weight, boundary and share of the cut.

It uses :func:`leastcut.problem.as_problem`, as the sums that a cut is made of have no public name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Cluster(NamedTuple):
    """A cluster of a partition.

    Attributes
    ----------
    label : int
    size : int
        Number of nodes.
    weight : float
        What its nodes weigh: their edges in the normalized cut, their number in the ratio cut.
    boundary : float
        The weight of the edges that leave it.
    share : float
        Boundary by weight, which is its part of the cut value.
    """

    label: int
    size: int
    weight: float
    boundary: float
    share: float


HEAD = ("cluster", "size", "weight", "boundary", "boundary/weight")
"""The columns of the table for people."""


def clusters_of(graph: Any, labels: np.ndarray, cut: str, isolated: str) -> list[Cluster]:
    """Return the clusters of labels 0..k-1."""
    from leastcut.problem import as_problem

    sizes = np.bincount(labels)
    if hasattr(graph, "n_anchors"):  # which stores no edges, and has every degree 1
        table = graph.problem.table_of_labels(labels)
        weights, boundaries = table.sizes, table.boundaries
    else:
        problem = as_problem(graph, cut, isolated=isolated)
        weights, boundaries = problem.cluster_weights(labels), problem.boundaries(labels)
    return [
        Cluster(
            label,
            int(sizes[label]),
            float(weights[label]),
            float(boundaries[label]),
            float(boundaries[label] / weights[label]) if weights[label] > 0 else 0.0,
        )
        for label in range(len(sizes))
    ]


def as_rows(clusters: list[Cluster]) -> list[list[str]]:
    """Return the clusters as rows of the table for people."""
    return [
        [str(c.label), f"{c.size:,}", f"{c.weight:.6g}", f"{c.boundary:.6g}", f"{c.share:.4g}"]
        for c in clusters
    ]
