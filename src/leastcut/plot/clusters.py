"""The data of plots of clusters: a graph, the labels of its nodes, and the terms of the cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import leastcut
from leastcut.graph import FactoredGraph, Graph, as_graph
from leastcut.problem import Problem, as_cut


@dataclass(eq=False)
class Clusters:
    """Clusters of a graph, which may be an anchor graph, and their terms in the cut value."""

    source: Any
    labels: np.ndarray  # 0..c-1
    cut: str
    node_names: Sequence[Any] | None
    connected: np.ndarray  # the nodes that have edges
    connected_weights: np.ndarray
    boundaries: np.ndarray  # of every cluster, the weight of the edges that leave it
    weights: np.ndarray  # of every cluster

    def __post_init__(self) -> None:
        self.n_nodes, self.sizes = self.labels.size, np.bincount(self.labels)
        self.n_clusters = self.sizes.size
        # A cluster of nodes without edges may weigh nothing, and has no boundary.
        self.terms = self.boundaries / np.where(self.boundaries > 0.0, self.weights, 1.0)
        self.cut_value = float(np.sum(self.terms))
        self.shares = self.terms / (self.cut_value or 1.0)

    @property
    def graph(self) -> Graph:
        """The graph; an anchor graph, which stores no edges, raises an error."""
        return as_graph(self.source)

    @cached_property
    def between(self) -> np.ndarray:
        """The weight of the edges between every two clusters, in both directions."""
        if isinstance(self.source, FactoredGraph):
            table = self.source.as_problem("normalized").table_of_labels(self.labels)
            masses = np.where(table.masses > 0, table.masses, 1.0)
            return np.asarray((table.weights / masses[:, np.newaxis]).T @ table.weights)
        graph, count = self.graph, self.n_clusters
        pairs = self.labels[graph.rows] * count + self.labels[graph.indices]
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
        cut: Any = "normalized"
        if isinstance(self.source, FactoredGraph):
            graph = self.source
            most = int(np.count_nonzero(graph.as_problem(cut).masses))
        else:
            graph, cut, most = self.source, self.connected_weights, self.connected.size
            graph = graph if most == self.n_nodes else graph.restrict(self.connected)
        count = min(max(self.n_clusters, 3), most)
        vectors = leastcut.relax(graph, count, cut, random_state=0).eigenvectors
        # The first eigenvector of a connected graph is √b; that of a graph with components is any
        # mixture of several, which are rotated so that the first column is constant.
        root = np.sqrt(self.connected_weights)
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
    is_anchored = isinstance(graph, FactoredGraph)
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
        table = graph.as_problem("normalized").table_of_labels(labels)
        nodes, ones, boundaries = np.arange(labels.size), np.ones(labels.size), table.boundaries
        return Clusters(
            graph, labels, "normalized", None, nodes, ones, np.asarray(boundaries), table.sizes
        )
    resolved = as_cut(cut, graph.n_nodes)
    problem = Problem(graph, resolved.node_weights(graph))
    return Clusters(
        graph,
        labels,
        resolved.name,
        graph.names or getattr(found, "nodes", None),
        graph.connected,
        problem.node_weights[graph.connected],
        problem.boundaries(labels),
        problem.cluster_weights(labels),
    )
