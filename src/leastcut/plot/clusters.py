"""Clusters and their terms in the cut value, and plots of their sizes and affinities."""

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

MOST_BARS = 30  # clusters that are drawn as bars; more clusters are drawn as points
MOST_CELLS = 300  # rows of the plotted matrix, but at least one per cluster
FAINTEST = 1e-4  # fraction of the largest value below which cells have the same color
NARROW = 0.05  # fraction of the largest value above which all values have a linear color scale


@dataclass(eq=False)
class Clusters:
    """Clusters of a graph or an anchor graph, and their terms in the cut value."""

    source: Any
    labels: np.ndarray  # 0..c-1
    cut: str
    node_names: Sequence[Any] | None
    connected: np.ndarray  # nodes that have edges
    connected_weights: np.ndarray
    boundaries: np.ndarray  # weight of the edges that leave each cluster
    weights: np.ndarray  # weight of each cluster
    table: Any = None  # weights between clusters and anchors, of an anchor graph

    def __post_init__(self) -> None:
        self.n_nodes, self.sizes = self.labels.size, np.bincount(self.labels)
        self.n_clusters = self.sizes.size
        # A cluster of isolated nodes may have weight 0, and has no boundary.
        self.terms = self.boundaries / np.where(self.boundaries > 0.0, self.weights, 1.0)
        self.cut_value = float(np.sum(self.terms))
        self.shares = self.terms / (self.cut_value or 1.0)

    @property
    def graph(self) -> Graph:
        """The graph; raises for an anchor graph, which stores no edges."""
        return as_graph(self.source)

    @cached_property
    def between(self) -> np.ndarray:
        """The total weight of the edges between each pair of clusters, in both directions."""
        if self.table is not None:
            masses, weights = self.table.masses, self.table.weights
            return np.asarray((weights / np.where(masses > 0, masses, 1.0)[:, None]).T @ weights)
        graph, count = self.graph, self.n_clusters
        pairs = self.labels[graph.rows] * count + self.labels[graph.indices]
        return np.bincount(pairs, graph.weights, minlength=count * count).reshape(count, count)

    @cached_property
    def inside(self) -> np.ndarray:
        """The fraction of the edge weight of each node inside its cluster; 0 without edges."""
        graph, rows = self.graph, self.graph.rows
        other = rows != graph.indices
        rows, columns, weights = rows[other], graph.indices[other], graph.weights[other]
        stays = self.labels[rows] == self.labels[columns]
        total = np.bincount(rows, weights, minlength=self.n_nodes)
        kept = np.bincount(rows[stays], weights[stays], minlength=self.n_nodes)
        return np.asarray(kept / np.where(total > 0.0, total, 1.0))

    @cached_property
    def eigenvector_rows(self) -> np.ndarray:
        """The rows of the first max(c, 3) eigenvectors for the nodes that have edges.

        Each row is divided by the square root of its node's weight; the first column is constant.
        """
        graph, most = self.source, self.connected.size
        cut: Any = self.connected_weights
        if self.table is not None:
            cut, most = "normalized", int(np.count_nonzero(self.table.masses))
        elif most < self.n_nodes:
            graph = graph.restrict(self.connected)
        count = min(max(self.n_clusters, 3), most)
        vectors = leastcut.relax(graph, count, cut, random_state=0).eigenvectors
        # The first eigenvector of a connected graph is √b; with several components it is a linear
        # combination, so the vectors are rotated to make the first column constant.
        root = np.sqrt(self.connected_weights)
        turn, _ = np.linalg.qr(np.column_stack([root @ vectors, np.eye(count)]))
        return np.asarray((vectors / root[:, np.newaxis]) @ turn[:, :count])


def clusters_of(
    result: Any, graph: Any = None, cut: Any = "normalized", symmetrize: str | None = None
) -> Clusters:
    """Return the checked clusters of a fitted estimator, a partition, or labels."""
    if isinstance(result, Clusters):
        return result
    kind = type(result).__name__
    if hasattr(result, "fit"):
        if not hasattr(result, "labels_"):
            raise ValueError(
                f"This {kind} is not fitted, so it has no clusters to plot; call fit first."
            )
        if graph is None and hasattr(result, "view_cuts_"):
            raise ValueError(
                f"This {kind} has {len(result.view_cuts_)} views, but a plot shows one graph; pass "
                "one of its affinity_matrix_ as graph=."
            )
        labels, cut = result.labels_, getattr(result, "cut", cut)
        graph = result.affinity_matrix_ if graph is None else graph
    else:
        labels = getattr(result, "labels", result)
    if graph is None:
        raise ValueError(f"A {kind} does not store its graph; pass the graph as graph=.")
    is_anchored = isinstance(graph, FactoredGraph)
    graph = graph if is_anchored else as_graph(graph, symmetrize)
    labels = np.asarray(labels)
    if labels.shape != (graph.n_nodes,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must have one integer for each of the {graph.n_nodes} nodes of the graph, but "
            f"have shape {labels.shape} and dtype {labels.dtype}; pass the graph that was cut."
        )
    # Labels of users may have gaps; keep their order.
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
        graph.names or getattr(result, "nodes", None),
        graph.connected,
        problem.node_weights[graph.connected],
        problem.boundaries(labels),
        problem.cluster_weights(labels),
    )


# -- plots


def sizes(
    result: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Plot the number of nodes of each cluster, and its fraction of the cut value.

    Parameters
    ----------
    result : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters, as a result or as labels of the nodes.
    graph, cut, symmetrize : optional
        The graph and its cut, as in :func:`leastcut.cut_value`; not needed for a fitted estimator.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    affinity : Affinity matrix, ordered by cluster.
    graph : Drawing of a small graph with its cut edges.

    Notes
    -----
    More than 30 clusters are drawn as points, with the share of the cut against the size.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> result = leastcut.partition(S, 2, random_state=0)
    >>> [text.get_text() for text in leastcut.plot.sizes(result, S).texts]
    ['2', '2', '50%', '50%']
    """
    clusters = clusters_of(result, graph, cut, symmetrize)
    count, n = clusters.n_clusters, clusters.n_nodes
    title = f"{counted(count, 'cluster')} of {counted(n, 'node')}"
    title += f", cut value {significant(clusters.cut_value)}"
    if count > MOST_BARS:
        ax = axes_for(ax)
        _draw_points(ax, clusters)
        return finish(ax, title, xlabel="cluster size", ylabel="share of the cut")
    ax = axes_for(ax, max(2.4, 0.9 + 0.42 * count))
    _draw_bars(ax, clusters)
    return finish(ax, title, ylabel="cluster", legend=2.2)


def _draw_bars(ax: Any, clusters: Clusters) -> None:
    """Draw two labeled bars per cluster."""
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
    """Draw the size and the share of the cut of each cluster as a point."""
    ax.plot(clusters.sizes, clusters.shares, "o", color=color(ax, "blue"), markersize=5)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:.1%}")
    ax.set_ylim(bottom=0.0)
    # Label the clusters with the largest shares.
    for k in np.argsort(-clusters.shares)[:5]:
        place = (clusters.sizes[k], clusters.shares[k])
        label(ax, f"{k}", place, (6, 0), va="center", size="small")


def affinity(
    result: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Plot the affinity matrix with nodes ordered by cluster.

    Parameters
    ----------
    result : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters, as a result or as labels of the nodes.
    graph, cut, symmetrize : optional
        The graph and its cut, as in :func:`leastcut.cut_value`; not needed for a fitted estimator.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    embedding : Nodes in two dimensions, from eigenvectors.
    sizes : Sizes of the clusters and their shares of the cut.

    Notes
    -----
    Good clusters are dark blocks on the diagonal. Within a cluster, nodes are ordered by the
    fraction of their edge weight inside it. For large graphs each cell is a mean over many pairs,
    computed in O(edges) without a dense matrix.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> result = leastcut.partition(S, 2, random_state=0)
    >>> leastcut.plot.affinity(result, S).get_title()
    'Affinities of 4 nodes, ordered by cluster'
    """
    clusters = clusters_of(result, graph, cut, symmetrize)
    ax = axes_for(ax, square=True)
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    # 1. The means of the cells as colors.
    means, starts = mean_cells(clusters)
    most = float(means.max()) or 1.0
    positive = means[means > 0.0]
    least = max(float(positive.min()) if positive.size else 0.0, FAINTEST * most)
    # Use a logarithmic scale for affinities of different orders of magnitude.
    norm = LogNorm(least, most) if least < NARROW * most else Normalize(0.0, most)
    ends = [color(ax, "better"), color(ax, "blue"), "#ffffff" if is_dark(ax) else "#0b2a4d"]
    shades: Any = LinearSegmentedColormap.from_list("leastcut", ends)
    shades = shades.with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    cells = np.ma.maximum(np.ma.masked_less_equal(means, 0.0), least)
    image = ax.imshow(cells, norm=norm, cmap=shades, interpolation="nearest")
    # 2. Lines between clusters, and labels of clusters that are wide enough.
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
    """Return the mean affinities of all cells, and the index of the first cell of each cluster.

    The means have shape (m, m), the indices (c + 1,). All nodes of a cell are in one cluster.
    """
    n, sizes = clusters.n_nodes, clusters.sizes
    # 1. Assign cells to clusters by size, at least one and at most one per node.
    shares = sizes if n <= MOST_CELLS else np.rint(MOST_CELLS * sizes / n).astype(np.int64)
    cells = np.maximum(shares, 1)
    starts = np.concatenate([[0], np.cumsum(cells)])
    # 2. Order the nodes by cluster, and by the fraction of their edge weight inside it.
    order = np.lexsort((-clusters.inside, clusters.labels))
    labels = clusters.labels[order]
    rank = np.arange(n) - np.concatenate([[0], np.cumsum(sizes)])[labels]
    cell = np.empty(n, dtype=np.int64)
    cell[order] = starts[labels] + rank * cells[labels] // sizes[labels]
    # 3. Divide the sums of the stored entries by the numbers of pairs.
    count, graph = int(starts[-1]), clusters.graph
    place = cell[graph.rows] * count + cell[graph.indices]
    sums = np.bincount(place, graph.weights, minlength=count * count).reshape(count, count)
    members = np.bincount(cell, minlength=count).astype(np.float64)
    return sums / np.outer(members, members), starts
