"""The nodes with edges are cut, and the others labelled: ``isolated="ignore"`` in a search.

Value and bound are those of the nodes with edges, which is what others add to neither of. In how
many clusters these are is kept, so that a cluster of others is not a way to a smaller value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from leastcut.isolated import SLIGHT, NoPlace, clusters_of_core, label_isolated
from leastcut.multilevel.colouring import colour
from leastcut.multilevel.links import ROUNDING
from leastcut.problem import Problem
from leastcut.results import Partition
from leastcut.validation import number_by_appearance

Search = Callable[[Problem, int, list[np.ndarray]], Partition]
"""From a problem in which all nodes weigh something, a number of clusters and partitions to begin
with, to a partition that keeps apart what the problem says."""


def cut_core(
    whole: Problem, n_clusters: int, given: Sequence[tuple[str, np.ndarray]], search: Search
) -> Partition:
    """Cut the nodes that weigh something, and label the others.

    Parameters
    ----------
    whole : Problem
        All nodes; those without edges weigh nothing.
    n_clusters : int
        Clusters of all nodes.
    given : sequence of (str, ndarray of shape (n,))
        Partitions to begin with, each with its name, into as many clusters. In each as many of them
        must hold nodes with edges as will in the result.
    search : callable
        What cuts the nodes that weigh something.

    Returns
    -------
    Partition
        Never worse than the best of those given.
    """
    nodes = np.flatnonzero(whole.node_weights > 0)
    # 1. Partitions to begin with.
    in_core = number_in_core(whole.restrict(nodes), n_clusters, whole.n_nodes)
    for name, labels in given:
        count = np.unique(labels[nodes]).size
        if count != in_core:
            raise ValueError(
                f"{name} has nodes with edges in {count} of its {n_clusters} clusters, and "
                f"{in_core} are wanted: nodes without edges are clusters only where there are not "
                "enough others. Give it so many, or leave it out."
            )
    own = [labels for _, labels in given]
    try:
        return _cut(whole, nodes, n_clusters, own, search)
    except NoPlace:
        pass
    # 2. Where a node without edges has no place in the clusters of the others, those that are apart
    #    from any take part in the cut. They must weigh something for that.
    assert whole.apart is not None
    nodes = np.union1d(nodes, whole.apart.linked)
    heavier = all_weighing(whole)
    in_core = number_in_core(heavier.restrict(nodes), n_clusters, whole.n_nodes)
    fitting = [labels for labels in own if np.unique(labels[nodes]).size == in_core]
    found = _cut(heavier, nodes, n_clusters, fitting, search)
    # What is proven is so of other weights than theirs: nothing is known but that values are not
    # negative. And of partitions that are given some may not have taken part.
    labels = min([found.labels, *own], key=whole.value)
    bound = None if found.lower_bound is None else 0.0
    return Partition(number_by_appearance(labels), whole.value(labels), bound)


def of_all(whole: Problem, found: Partition, labels: np.ndarray) -> Partition:
    """Return the partition of all nodes, given that of the nodes with edges, and all labels."""
    labels = number_by_appearance(labels)
    value, bound = whole.value(labels), found.lower_bound
    if bound == found.cut_value:
        # A value that is proven is so in whichever order its terms are added up.
        bound = value
    elif bound is not None:
        bound *= 1.0 - ROUNDING * (int(labels.max()) + 1)
    return Partition(labels, value, bound)


def all_weighing(whole: Problem) -> Problem:
    """Return the problem with a slight weight for every node that has none."""
    weights = whole.node_weights
    least = SLIGHT * np.min(weights, where=weights > 0, initial=np.inf)
    least = least if np.isfinite(least) else 1.0
    return replace(whole, node_weights=np.where(weights > 0, weights, least))


def number_in_core(core: Problem, n_clusters: int, n_nodes: int) -> int:
    """Return in how many clusters the nodes that weigh something are cut."""
    if core.n_nodes == 0:
        return 0
    # A cluster of others weighs nothing, and where weights are limited that is no way out.
    if core.limits is not None:
        return min(core.n_nodes, n_clusters)
    count = clusters_of_core(n_clusters, core.n_nodes, n_nodes - core.n_nodes)
    # Where others are clusters by themselves, these still need enough to be apart.
    while (
        count < n_clusters and core.apart is not None and colour(core.apart, count).colours is None
    ):
        count += 1
    return count


def _cut(
    whole: Problem,
    nodes: np.ndarray,
    n_clusters: int,
    given: list[np.ndarray],
    search: Search,
) -> Partition:
    """Cut the graph between ``nodes``, which hold all that have edges, and label the others."""
    core = whole.restrict(nodes)
    found = Partition(np.empty(0, dtype=np.int64), 0.0, 0.0)
    if nodes.size:
        count = number_in_core(core, n_clusters, whole.n_nodes)
        begin = [number_by_appearance(labels[nodes]) for labels in given]
        found = search(core, count, begin)
    return of_all(whole, found, label_isolated(whole, nodes, found.labels, n_clusters))
