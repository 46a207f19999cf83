"""Clusters as wholes: their terms in the cut, and plots of their sizes and of their affinities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import leastcut
from leastcut.formatting import counted, percent, significant
from leastcut.graph import FactoredGraph, Graph, as_graph
from leastcut.plot.canvas import axes_for, color, finish, is_dark, label
from leastcut.problem import Problem, as_cut

MOST_BARS = 30  # clusters up to which each has bars; more clusters are points
MOST_CELLS = 300  # rows of the matrix, but at least one per cluster: a figure has few more dots
FAINTEST = 1e-4  # fraction of the largest value below which cells look alike
NARROW = 0.05  # fraction of the largest value that all must exceed for a linear scale of shades


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
    table: Any = None  # of the clusters of an anchor graph, by anchors

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
        if self.table is not None:
            masses, weights = self.table.masses, self.table.weights
            return np.asarray((weights / np.where(masses > 0, masses, 1.0)[:, None]).T @ weights)
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
        graph, most = self.source, self.connected.size
        cut: Any = self.connected_weights
        if self.table is not None:
            cut, most = "normalized", int(np.count_nonzero(self.table.masses))
        elif most < self.n_nodes:
            graph = graph.restrict(self.connected)
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
        sums = np.asarray(boundaries), table.sizes, table
        return Clusters(graph, labels, "normalized", None, nodes, ones, *sums)
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


# -- plots


def sizes(
    found: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the number of nodes of every cluster, and its share of the cut value.

    Parameters
    ----------
    found : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters; an array holds the labels of the nodes.
    graph, cut, symmetrize : optional
        The graph that was cut, and how, as :func:`leastcut.cut_value` takes them; a fitted
        estimator has them.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> found = leastcut.partition(S, 2, random_state=0)
    >>> [text.get_text() for text in leastcut.plot.sizes(found, S).texts]
    ['2', '2', '50%', '50%']
    """
    clusters = clusters_of(found, graph, cut, symmetrize)
    count, n = clusters.n_clusters, clusters.n_nodes
    title = f"{counted(count, 'cluster')} of {counted(n, 'node')}"
    title += f", cut value {significant(clusters.cut_value)}"
    if count > MOST_BARS:
        ax = axes_for(ax)
        _draw_points(ax, clusters)
        return finish(ax, title, xlabel="nodes of the cluster", ylabel="share of the cut")
    ax = axes_for(ax, max(2.4, 0.9 + 0.42 * count))
    _draw_bars(ax, clusters)
    return finish(ax, title, ylabel="cluster", legend=2.2)


def _draw_bars(ax: Any, clusters: Clusters) -> None:
    """Draw two bars per cluster, each with its number."""
    fractions, shares = clusters.sizes / clusters.n_nodes, clusters.shares
    places, blue, orange = np.arange(clusters.n_clusters), color(ax, "blue"), color(ax, "orange")
    filled = {"facecolor": blue, "edgecolor": blue, "label": "share of the nodes"}
    hatched = {"facecolor": "none", "edgecolor": orange, "hatch": "////"}
    bars = ax.barh(places - 0.2, fractions, 0.36, **filled)
    ax.bar_label(bars, [f"{size:,}" for size in clusters.sizes], padding=4, size="small")
    bars = ax.barh(places + 0.2, shares, 0.36, label="share of the cut", **hatched)
    ax.bar_label(bars, [percent(share) for share in shares], padding=4, size="small")
    ax.set_yticks(places, [str(k) for k in places])
    ax.set_ylim(clusters.n_clusters - 0.4, -0.6)
    ax.set_xlim(0.0, 1.15 * float(max(fractions.max(), shares.max())))
    ax.xaxis.set_major_formatter("{x:.0%}")


def _draw_points(ax: Any, clusters: Clusters) -> None:
    """Draw a point for every cluster: its size, and its share of the cut."""
    ax.plot(clusters.sizes, clusters.shares, "o", color=color(ax, "blue"), markersize=5)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:.1%}")
    ax.set_ylim(bottom=0.0)
    # The largest shares have the numbers of their clusters.
    for k in np.argsort(-clusters.shares)[:5]:
        place = (clusters.sizes[k], clusters.shares[k])
        label(ax, f"{k}", place, (6, 0), va="center", size="small")


def affinity(
    found: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the affinity matrix with its nodes ordered by cluster: good clusters are dark blocks.

    Parameters
    ----------
    found : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters; an array holds the labels of the nodes.
    graph, cut, symmetrize : optional
        The graph that was cut, and how, as :func:`leastcut.cut_value` takes them; a fitted
        estimator has them.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Notes
    -----
    In a cluster, the nodes with most of their edges inside it come first. It takes O(edges): the
    matrix is never dense, and a cell is the mean affinity of many pairs.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> found = leastcut.partition(S, 2, random_state=0)
    >>> leastcut.plot.affinity(found, S).get_title()
    'Affinities of 4 nodes, ordered by cluster'
    """
    clusters = clusters_of(found, graph, cut, symmetrize)
    ax = axes_for(ax, square=True)
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    # 1. The means of all cells, and shades from the background to the strongest blue.
    means, starts = mean_cells(clusters)
    most = float(means.max()) or 1.0
    positive = means[means > 0.0]
    least = max(float(positive.min()) if positive.size else 0.0, FAINTEST * most)
    # Affinities of different orders of magnitude have a logarithmic scale.
    norm = LogNorm(least, most) if least < NARROW * most else Normalize(0.0, most)
    ends = [color(ax, "better"), color(ax, "blue"), "#ffffff" if is_dark(ax) else "#0b2a4d"]
    shades: Any = LinearSegmentedColormap.from_list("leastcut", ends)
    shades = shades.with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    cells = np.ma.maximum(np.ma.masked_less_equal(means, 0.0), least)
    image = ax.imshow(cells, norm=norm, cmap=shades, interpolation="nearest")
    # 2. Lines between clusters, and their numbers at both sides, if they are wide enough.
    for edge in starts[1:-1] - 0.5:
        for line in (ax.axhline, ax.axvline):
            line(edge, color=color(ax, "rule"), linewidth=0.6)
    middles, is_wide = 0.5 * (starts[:-1] + starts[1:] - 1), np.diff(starts) >= 0.03 * starts[-1]
    names = [str(k) if wide else "" for k, wide in enumerate(is_wide)]
    ax.set_xticks(middles, names)
    ax.set_yticks(middles, names)
    ax.tick_params(length=0)
    title = f"Affinities of {counted(clusters.n_nodes, 'node')}, ordered by cluster"
    ax.set(xlabel="cluster", ylabel="cluster", title=title)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
    bar.set_label("affinity" if len(means) == clusters.n_nodes else "mean affinity of a pair")
    bar.outline.set_visible(False)
    return ax


def mean_cells(clusters: Clusters) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean affinity of every cell, and the first cell of each cluster and after all.

    The means have shape (m, m), the starts (c + 1,). All nodes of a cell are of one cluster.
    """
    n, sizes = clusters.n_nodes, clusters.sizes
    # 1. Cells for every cluster by its size, at least one and at most one per node.
    shares = sizes if n <= MOST_CELLS else np.rint(MOST_CELLS * sizes / n).astype(np.int64)
    cells = np.maximum(shares, 1)
    starts = np.concatenate([[0], np.cumsum(cells)])
    # 2. Nodes in order: by cluster, and there by the fraction of their edges inside.
    order = np.lexsort((-clusters.inside, clusters.labels))
    labels = clusters.labels[order]
    rank = np.arange(n) - np.concatenate([[0], np.cumsum(sizes)])[labels]
    cell = np.empty(n, dtype=np.int64)
    cell[order] = starts[labels] + rank * cells[labels] // sizes[labels]
    # 3. Sums of the stored entries by cell, over the number of pairs.
    count, graph = int(starts[-1]), clusters.graph
    place = cell[graph.rows] * count + cell[graph.indices]
    sums = np.bincount(place, graph.weights, minlength=count * count).reshape(count, count)
    members = np.bincount(cell, minlength=count).astype(np.float64)
    return sums / np.outer(members, members), starts
