"""The anchor graph as verbs see it: a graph whose edges are never stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leastcut.anchors.points import AnchoredPoints
from leastcut.anchors.verbs import (
    check_cut,
    cut_value_of_anchors,
    lower_bound_of_anchors,
    partition_anchors,
    refine_anchors,
    relax_anchors,
)
from leastcut.graph import FactoredGraph
from leastcut.results import Partition, Relaxation


@dataclass(frozen=True, eq=False, repr=False)
class AnchorGraph(AnchoredPoints, FactoredGraph):
    """Points joined through anchors: what :func:`leastcut.anchor_graph` returns.

    ``partition``, ``refine``, ``cut_value``, ``relax`` and ``lower_bound`` take it where they take
    a graph.

    Attributes
    ----------
    anchors : ndarray of shape (p, n_features)
        The anchors.
    masses : ndarray of shape (p,)
        Λ: the weight that all points have at every anchor, exactly.
    n_neighbors : int
        Anchors that every point is tied to, K.
    store : Store
        The blocks of Z: for every point K anchors and weights.
    n_threads : int
        Threads that work on them; no answer depends on it.
    most_clusters : int or None
        Clusters for whose tables ``max_memory`` leaves room; None is any number.

    Examples
    --------
    >>> import leastcut
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> graph = leastcut.anchor_graph(X, n_anchors=4, n_neighbors=2, random_state=0)
    >>> graph
    AnchorGraph(n_nodes=6, n_anchors=4, n_neighbors=2)
    >>> graph.to_sparse().sum(axis=1)
    array([1., 1., 1., 1., 1., 1.])
    >>> leastcut.partition(graph, 2, random_state=0).labels
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    def value_of(self, labels: Any, cut: Any) -> float:
        """Return what :func:`leastcut.cut_value` returns."""
        return cut_value_of_anchors(self, labels, cut)

    def refined(self, labels: Any, cut: Any) -> Partition:
        """Return what :func:`leastcut.refine` returns."""
        return refine_anchors(self, labels, cut)

    def cut_into(self, n_clusters: Any, cut: Any, **options: Any) -> Partition:
        """Return what :func:`leastcut.partition` returns."""
        return partition_anchors(self, n_clusters, cut, **options)

    def relaxed(self, n_clusters: Any, cut: Any, **options: Any) -> Relaxation:
        """Return what :func:`leastcut.relax` returns."""
        return relax_anchors(self, n_clusters, cut, **options)

    def bounded(self, n_clusters: Any, cut: Any, random_state: Any) -> float:
        """Return what :func:`leastcut.lower_bound` returns."""
        check_cut(cut)
        return lower_bound_of_anchors(self, n_clusters, random_state)
