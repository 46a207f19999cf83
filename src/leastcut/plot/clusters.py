"""What pictures of clusters are drawn from: a graph, labels of its nodes, and the terms of the cut.

``found`` may be a fitted estimator, which has its graph, or a partition with the graph beside it.
Nothing public tells boundaries and weights of clusters, so graph and cut are read with
:func:`leastcut.graph.as_graph` and :func:`leastcut.problem.as_cut`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import leastcut
from leastcut.graph import FactoredGraph, Graph, as_graph
from leastcut.problem import Problem, as_cut


@dataclass(frozen=True, eq=False)
class Clusters:
    """A graph and its clusters.

    Attributes
    ----------
    problem : Problem
        The graph, and the weights of its nodes; those without edges may weigh nothing.
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1.
    cut : str
        The name of the cut.
    node_names : sequence or None
        What the nodes are called, in their order.
    """

    problem: Problem
    labels: np.ndarray
    cut: str
    node_names: Sequence[Any] | None = None

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.problem.graph

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return self.graph.n_nodes

    @property
    def n_clusters(self) -> int:
        """Number of clusters c."""
        return int(self.sizes.size)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of nodes of every cluster."""
        return np.bincount(self.labels)

    @cached_property
    def boundaries(self) -> np.ndarray:
        """The weight of the edges that leave every cluster."""
        return self.problem.boundaries(self.labels)

    @cached_property
    def weights(self) -> np.ndarray:
        """What every cluster weighs."""
        return self.problem.cluster_weights(self.labels)

    @cached_property
    def terms(self) -> np.ndarray:
        """What every cluster adds to the cut value."""
        # One whose nodes have no edges may weigh nothing, and has no boundary.
        safe = np.where(self.boundaries > 0.0, self.weights, 1.0)
        return np.asarray(self.boundaries / safe)

    @property
    def cut_value(self) -> float:
        """The cut value."""
        return float(np.sum(self.terms))

    @property
    def shares(self) -> np.ndarray:
        """Which part of the cut value every cluster adds; zeros where that is 0."""
        value = self.cut_value
        return self.terms / value if value > 0.0 else np.zeros(self.n_clusters)

    @property
    def connected(self) -> np.ndarray:
        """The nodes that have edges."""
        return self.graph.connected

    @property
    def connected_weights(self) -> np.ndarray:
        """What these weigh."""
        return np.asarray(self.problem.node_weights[self.connected])

    @cached_property
    def between(self) -> np.ndarray:
        """The weight of the edges between every two clusters, both directions counted in one."""
        graph, labels, count = self.graph, self.labels, self.n_clusters
        pairs = labels[graph.rows] * count + labels[graph.indices]
        return np.bincount(pairs, graph.weights, minlength=count * count).reshape(count, count)

    @cached_property
    def inside(self) -> np.ndarray:
        """Which part of every node's edges, by weight, stays in its cluster; 0 without edges."""
        graph, rows = self.graph, self.graph.rows
        other = rows != graph.indices
        rows, columns, weights = rows[other], graph.indices[other], graph.weights[other]
        stays = self.labels[rows] == self.labels[columns]
        total = np.bincount(rows, weights, minlength=self.n_nodes)
        kept = np.bincount(rows[stays], weights[stays], minlength=self.n_nodes)
        return np.asarray(kept / np.where(total > 0.0, total, 1.0))

    @cached_property
    def eigenvector_rows(self) -> np.ndarray:
        """The rows of the first c eigenvectors, at least 3, for every node that has edges, each
        divided by the root of the node's weight; the first column is constant."""
        nodes = self.graph.connected
        problem = self.problem.restrict(nodes)
        count = min(max(self.n_clusters, 3), nodes.size)
        relaxed = leastcut.relax(problem.graph, count, problem.node_weights, random_state=0)
        return _turned(relaxed.eigenvectors, np.sqrt(problem.node_weights))


class AnchoredClusters(Clusters):
    """Clusters of a graph that stores no edges: what can be told without them."""

    anchored: Any

    def __init__(self, graph: Any, labels: np.ndarray) -> None:
        # The dataclass is frozen, and this one has no problem.
        for name, value in (("anchored", graph), ("labels", labels), ("cut", "normalized")):
            object.__setattr__(self, name, value)

    @property
    def graph(self) -> Graph:
        """There is none: raise, with the way to one."""
        return as_graph(self.anchored)

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return int(self.anchored.n_nodes)

    @cached_property
    def _table(self) -> Any:
        return self.anchored.problem.table_of_labels(self.labels)

    @cached_property
    def boundaries(self) -> np.ndarray:
        """The weight of the edges that leave every cluster."""
        return np.asarray(self._table.boundaries)

    @cached_property
    def weights(self) -> np.ndarray:
        """What every cluster weighs: its nodes, each of which has degree 1."""
        return np.asarray(self._table.sizes)

    @property
    def connected(self) -> np.ndarray:
        """All nodes: each is tied to anchors."""
        return np.arange(self.n_nodes)

    @property
    def connected_weights(self) -> np.ndarray:
        """Every node weighs 1."""
        return np.ones(self.n_nodes)

    @cached_property
    def between(self) -> np.ndarray:
        """The weight of the edges between every two clusters."""
        table, masses = self._table.weights, self._table.masses
        return np.asarray((table / np.where(masses > 0, masses, 1.0)[:, np.newaxis]).T @ table)

    @cached_property
    def eigenvector_rows(self) -> np.ndarray:
        """The rows of the first c eigenvectors, at least 3; the first column is constant."""
        count = min(max(self.n_clusters, 3), int(np.count_nonzero(self.anchored.masses)))
        relaxed = leastcut.relax(self.anchored, count, random_state=0)
        return _turned(relaxed.eigenvectors, np.ones(self.n_nodes))


def _turned(eigenvectors: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return the rows of eigenvectors divided by the roots of weights, the first one constant.

    Of a connected graph the first one is √b; components share several, which are turned so that one
    is.
    """
    count = eigenvectors.shape[1]
    turned, _ = np.linalg.qr(np.column_stack([root @ eigenvectors, np.eye(count)]))
    return np.asarray((eigenvectors / root[:, np.newaxis]) @ turned[:, :count])


def clusters_of(
    found: Any, graph: Any = None, cut: Any = "normalized", symmetrize: str | None = None
) -> Clusters:
    """Return the clusters that a picture is to show, checked.

    Parameters
    ----------
    found : fitted estimator, Partition, or array-like of shape (n,)
    graph : graph, optional
        Anything that :func:`leastcut.partition` takes; not needed with an estimator.
    cut : str or array-like, default="normalized"
        The cut of the partition; an estimator knows its own.
    symmetrize : {"mean", "max"} or None, default=None
        What was made of a directed graph.

    Returns
    -------
    Clusters
    """
    if isinstance(found, Clusters):
        return found
    if hasattr(found, "fit"):
        if not hasattr(found, "labels_"):
            raise ValueError(
                f"This {type(found).__name__} is not fitted, so there are no clusters to draw; "
                "call fit first."
            )
        if graph is None and hasattr(found, "view_cuts_"):
            raise ValueError(
                f"This {type(found).__name__} has {len(found.view_cuts_)} views, and a picture is "
                "of one graph; pass graph=, one of its affinity_matrix_."
            )
        labels, cut = found.labels_, getattr(found, "cut", cut)
        graph = found.affinity_matrix_ if graph is None else graph
    else:
        labels = getattr(found, "labels", found)
    if graph is None:
        raise ValueError(
            f"A {type(found).__name__} does not hold its graph; pass graph=, the one that was cut."
        )
    checked: Any = graph if isinstance(graph, FactoredGraph) else as_graph(graph, symmetrize)
    labels = np.asarray(labels)
    if labels.shape != (checked.n_nodes,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be one integer for each of the {checked.n_nodes} nodes of the graph, but "
            f"have shape {labels.shape} and type {labels.dtype}; pass the graph that was cut."
        )
    # Numbers may be missing where labels are from elsewhere; those there are stay in order.
    _, labels = np.unique(labels, return_inverse=True)
    if isinstance(graph, FactoredGraph):
        return AnchoredClusters(graph, labels.astype(np.int64))
    resolved = as_cut(cut, checked.n_nodes)
    problem = Problem(checked, resolved.node_weights(checked))
    names = checked.names or getattr(found, "nodes", None)
    return Clusters(problem, labels.astype(np.int64), resolved.name, names)
