"""The data of plots of clusters: a graph, the labels of its nodes, and the terms of the cut."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

import leastcut
from leastcut.graph import Graph, as_graph, is_factored
from leastcut.problem import Problem, as_cut


class Clusters:
    """A graph and its clusters: labels 0..c-1, the name of the cut, and the names of the nodes."""

    def __init__(
        self,
        problem: Problem | None,
        labels: np.ndarray,
        cut: str,
        node_names: Sequence[Any] | None = None,
    ) -> None:
        self._problem, self.labels, self.cut, self.node_names = problem, labels, cut, node_names

    @property
    def problem(self) -> Problem:
        """The graph with the weights of its nodes; nodes without edges may weigh nothing."""
        assert self._problem is not None
        return self._problem

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.problem.graph

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return int(self.labels.size)

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
        """The weight of every cluster."""
        return self.problem.cluster_weights(self.labels)

    @cached_property
    def terms(self) -> np.ndarray:
        """The term of every cluster in the cut value."""
        # A cluster of nodes without edges may weigh nothing, and has no boundary.
        safe = np.where(self.boundaries > 0.0, self.weights, 1.0)
        return np.asarray(self.boundaries / safe)

    @property
    def cut_value(self) -> float:
        """The cut value."""
        return float(np.sum(self.terms))

    @property
    def shares(self) -> np.ndarray:
        """The fraction of the cut value that every cluster adds; zeros if it is 0."""
        value = self.cut_value
        return self.terms / value if value > 0.0 else np.zeros(self.n_clusters)

    @property
    def connected(self) -> np.ndarray:
        """The nodes that have edges."""
        return self.graph.connected

    @property
    def connected_weights(self) -> np.ndarray:
        """The weights of the nodes that have edges."""
        return np.asarray(self.problem.node_weights[self.connected])

    @cached_property
    def between(self) -> np.ndarray:
        """The weight of the edges between every two clusters, in both directions."""
        graph, labels, count = self.graph, self.labels, self.n_clusters
        pairs = labels[graph.rows] * count + labels[graph.indices]
        return np.bincount(pairs, graph.weights, minlength=count * count).reshape(count, count)

    @cached_property
    def inside(self) -> np.ndarray:
        """The fraction of every node's edges, by weight, inside its cluster; 0 without edges."""
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
        problem = self.problem.restrict(self.connected)
        return _rows(problem.graph, problem.node_weights, self.n_clusters, self.connected.size)


class AnchoredClusters(Clusters):
    """Clusters of an anchor graph, which stores no edges: all nodes have degree 1."""

    def __init__(self, graph: Any, labels: np.ndarray) -> None:
        super().__init__(None, labels, "normalized")
        self._anchored, self._table = graph, graph.table(labels)

    @property
    def graph(self) -> Graph:
        """Raise an error that says how to get one: there is no graph with edges."""
        return as_graph(self._anchored)

    @cached_property
    def boundaries(self) -> np.ndarray:
        """The weight of the edges that leave every cluster."""
        return np.asarray(self._table.boundaries)

    @cached_property
    def weights(self) -> np.ndarray:
        """The weight of every cluster: its number of nodes."""
        return np.asarray(self._table.sizes)

    @property
    def connected(self) -> np.ndarray:
        """All nodes: each is connected to anchors."""
        return np.arange(self.n_nodes)

    @property
    def connected_weights(self) -> np.ndarray:
        """A weight of 1 for every node."""
        return np.ones(self.n_nodes)

    @cached_property
    def between(self) -> np.ndarray:
        """The weight of the edges between every two clusters."""
        table, masses = self._table.weights, self._table.masses
        return np.asarray((table / np.where(masses > 0, masses, 1.0)[:, np.newaxis]).T @ table)

    @cached_property
    def eigenvector_rows(self) -> np.ndarray:
        """The rows of the first c eigenvectors, at least 3; the first column is constant."""
        n_anchors = int(np.count_nonzero(self._anchored.masses))
        return _rows(self._anchored, None, self.n_clusters, n_anchors)


def _rows(graph: Any, weights: np.ndarray | None, n_clusters: int, most: int) -> np.ndarray:
    """Return rows of eigenvectors, divided by the roots of the nodes' weights.

    The first eigenvector of a connected graph is √b; that of a graph with components is any mixture
    of several, which are rotated so that the first column is constant.
    """
    cut = "normalized" if weights is None else weights
    count = min(max(n_clusters, 3), most)
    vectors = leastcut.relax(graph, count, cut, random_state=0).eigenvectors
    root = np.ones(len(vectors)) if weights is None else np.sqrt(weights)
    turn, _ = np.linalg.qr(np.column_stack([root @ vectors, np.eye(count)]))
    return np.asarray((vectors / root[:, np.newaxis]) @ turn[:, :count])


def clusters_of(
    found: Any, graph: Any = None, cut: Any = "normalized", symmetrize: str | None = None
) -> Clusters:
    """Return the clusters that a plot is to show, checked.

    ``found`` is a fitted estimator, which has its graph and cut, a partition, or labels.
    """
    if isinstance(found, Clusters):
        return found
    kind = type(found).__name__
    if hasattr(found, "fit"):
        if not hasattr(found, "labels_"):
            raise ValueError(
                f"This {kind} is not fitted, so there are no clusters to draw; call fit first."
            )
        if graph is None and hasattr(found, "view_cuts_"):
            raise ValueError(
                f"This {kind} has {len(found.view_cuts_)} views, and a plot is of one graph; pass "
                "graph=, one of its affinity_matrix_."
            )
        labels, cut = found.labels_, getattr(found, "cut", cut)
        graph = found.affinity_matrix_ if graph is None else graph
    else:
        labels = getattr(found, "labels", found)
    if graph is None:
        raise ValueError(f"A {kind} does not hold its graph; pass graph=, the one that was cut.")
    is_anchored = is_factored(graph)
    graph = graph if is_anchored else as_graph(graph, symmetrize)
    labels = np.asarray(labels)
    if labels.shape != (graph.n_nodes,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be one integer for each of the {graph.n_nodes} nodes of the graph, but "
            f"have shape {labels.shape} and type {labels.dtype}; pass the graph that was cut."
        )
    # A user's labels may leave numbers out; the others keep their order.
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if is_anchored:
        return AnchoredClusters(graph, labels)
    resolved = as_cut(cut, graph.n_nodes)
    names = graph.names or getattr(found, "nodes", None)
    return Clusters(Problem(graph, resolved.node_weights(graph)), labels, resolved.name, names)
