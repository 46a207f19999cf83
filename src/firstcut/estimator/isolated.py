"""Nodes without edges: cut the graph without them, then give each a label.

A node of degree 0 says nothing about where it belongs, and the normalized cut does not even weigh
it. So it takes no part in the cut, and afterwards joins the cluster whose term it lowers most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstcut.cuts import CutLike, boundaries, node_weights
from firstcut.graph import Graph


@dataclass(frozen=True, eq=False)
class Core:
    """The nodes that have edges.

    Attributes
    ----------
    nodes : ndarray of shape (m,)
        Their indices in the whole graph of ``n_nodes`` nodes.
    graph : Graph
        The graph between them.
    weights : ndarray of shape (m,)
        Their node weights.
    outside : ndarray of shape (n_nodes - m,)
        The node weights of the others; 0 for the normalized cut.
    """

    nodes: np.ndarray
    graph: Graph
    weights: np.ndarray
    outside: np.ndarray

    @property
    def n_isolated(self) -> int:
        """Number of nodes that are left out."""
        return int(self.outside.size)

    def n_clusters(self, wanted: int) -> int:
        """Return in how many clusters the core is cut so that all nodes form ``wanted``.

        It is ``wanted`` unless the core has fewer nodes; isolated nodes are clusters then, as many
        as there can be.
        """
        size = self.nodes.size
        return wanted if size >= wanted else min(size, max(1, wanted - self.n_isolated))

    def spread(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Return labels of all nodes, in ``n_clusters`` clusters, given those of the core."""
        if self.n_isolated == 0:
            return labels
        everywhere = np.full(self.nodes.size + self.n_isolated, -1, dtype=np.int64)
        everywhere[self.nodes] = labels
        lonely = np.flatnonzero(everywhere < 0)
        used = int(labels.max()) + 1 if labels.size else 0
        alone = n_clusters - used
        everywhere[lonely[:alone]] = np.arange(used, n_clusters)
        boundary = np.zeros(n_clusters)
        mass = np.zeros(n_clusters)
        if labels.size:
            boundary[:used] = boundaries(self.graph, labels)
            mass[:used] = np.bincount(labels, self.weights)
        mass[used:] = self.outside[:alone]
        heaviest = int(np.argmax(mass))
        for node, weight in zip(lonely[alone:], self.outside[alone:], strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = boundary / mass - boundary / (mass + weight)
            gain = np.nan_to_num(gain)
            best = int(np.argmax(gain)) if gain.max() > 0 else heaviest
            everywhere[node] = best
            mass[best] += weight
        return everywhere

    def scatter(self, rows: np.ndarray) -> np.ndarray:
        """Return rows for all nodes, zero for the isolated, given those of the core."""
        if self.n_isolated == 0:
            return rows
        everywhere = np.zeros((self.nodes.size + self.n_isolated, rows.shape[1]), rows.dtype)
        everywhere[self.nodes] = rows
        return everywhere


def connected_core(graph: Graph, cut: CutLike) -> Core:
    """Split the isolated nodes off.

    Parameters
    ----------
    graph : Graph
    cut : {"ratio", "normalized"} or array-like of shape (n,)

    Returns
    -------
    Core
    """
    isolated = graph.degrees <= 0
    nodes = np.flatnonzero(~isolated)
    if nodes.size == graph.n_nodes:
        return Core(nodes, graph, node_weights(graph, cut), np.empty(0))
    if isinstance(cut, str) and cut == "normalized":
        weights = graph.degrees
    else:
        weights = node_weights(graph, cut)
    inside = graph.matrix[nodes][:, nodes]
    core = Graph(inside, graph.degrees[nodes])
    return Core(nodes, core, weights[nodes], weights[isolated])
