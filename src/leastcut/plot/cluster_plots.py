"""Plots of clusters as wholes: their sizes, and the affinity matrix ordered by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.formatting import counted, percent, significant
from leastcut.plot.canvas import axes_for, color, finish, is_dark, label
from leastcut.plot.clusters import Clusters, clusters_of

MOST_BARS = 30  # clusters up to which each has bars; more clusters are points
MOST_CELLS = 300  # rows of the matrix, but at least one per cluster: a figure has few more dots
FAINTEST = 1e-4  # fraction of the largest value below which cells look alike
NARROW = 0.05  # fraction of the largest value that all must exceed for a linear scale of shades


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
    return finish(ax, title, ylabel="cluster", legend=22.0)


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
    ax.xaxis.set_major_formatter(lambda fraction, _: f"{fraction:.0%}")


def _draw_points(ax: Any, clusters: Clusters) -> None:
    """Draw a point for every cluster: its size, and its share of the cut."""
    ax.plot(clusters.sizes, clusters.shares, "o", color=color(ax, "blue"), markersize=5)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.1%}")
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
