"""Certify the labels of a fit on its graph, with its links and its nodes without edges."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.apart import Apart
from leastcut.bounds.certify import Tell, certify_labels, check_gap
from leastcut.graph import as_graph
from leastcut.isolated import NoPlace, label_isolated
from leastcut.multilevel.links import Contraction, Links
from leastcut.problem import Cut, Problem
from leastcut.progress import check_listener
from leastcut.validation import check_number, number_by_appearance


def certify_fitted(
    matrix: Any,
    cut: Cut,
    labels: np.ndarray,
    links: Links | None,
    seed: int,
    gap: float,
    time_limit: float | None,
    callback: Tell | str | None,
) -> tuple[np.ndarray, float, tuple[np.ndarray, np.ndarray]]:
    """Return the labels of a fit, or better ones, their bound, and the sums of the clusters.

    Nodes without edges that weigh nothing take no part: the bound is that of the others cut into as
    many clusters, and 0 where they are too few for that.

    Parameters
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The affinities.
    cut : Cut
    labels : ndarray of shape (n,)
        0..c-1, by first appearance.
    links : Links or None
        Which the labels keep to.
    seed : int
    gap, time_limit, callback
        As :func:`leastcut.certify` takes them, not checked yet.
    """
    began = time.monotonic()
    gap = check_gap(gap)
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, allow_infinite=True)
    check_listener(callback)
    graph = as_graph(matrix)
    whole = Problem(graph, cut.node_weights(graph))
    # 1. One node for every group that must be together.
    groups = np.arange(whole.n_nodes) if links is None else links.groups
    problem = whole if links is None else Contraction.of(whole, groups).problem
    if links is not None and links.apart is not None:
        problem = replace(problem, apart=Apart.of(links.apart, links.n_groups))
    own = np.empty(problem.n_nodes, dtype=np.int64)
    own[groups] = labels
    # 2. The nodes that weigh something.
    nodes = np.flatnonzero(problem.node_weights > 0)
    n_clusters, bound, better = int(labels.max()) + 1, 0.0, own
    if np.unique(own[nodes]).size == n_clusters:
        core = problem.restrict(nodes)
        found = certify_labels(
            core,
            number_by_appearance(own[nodes]),
            gap=gap,
            time_limit=time_limit,
            callback=callback,
            random_state=seed,
            began=began,
        )
        assert found.lower_bound is not None
        bound = found.lower_bound
        if found.cut_value < core.value(number_by_appearance(own[nodes])):
            better = _of_all(problem, nodes, found.labels, n_clusters, own)
    # 3. Labels of all samples, and their sums.
    if better is not own:
        labels = number_by_appearance(better[groups])
    sums = whole.boundaries(labels), whole.cluster_weights(labels)
    return labels, bound, sums


def _of_all(
    problem: Problem, nodes: np.ndarray, labels: np.ndarray, n_clusters: int, own: np.ndarray
) -> np.ndarray:
    """Return the labels of all nodes, or their own where one without edges has no place."""
    if nodes.size == problem.n_nodes:
        return labels
    try:
        return label_isolated(problem, nodes, labels, n_clusters)
    except NoPlace:
        return own
