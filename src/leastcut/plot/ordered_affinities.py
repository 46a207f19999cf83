"""The affinity matrix with its nodes ordered by cluster: good clusters are dark blocks.

The matrix is never made dense. Nodes that follow one another share a row of the picture, all of one
cluster, and what is drawn is the mean affinity of the pairs behind a cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.formatting import counted
from leastcut.plot.canvas import axes_for, color, is_dark
from leastcut.plot.clusters import Clusters, clusters_of

MOST_CELLS = 300
"""Rows of the picture at most, but for one per cluster: about as many as a figure has dots for."""

FAINTEST = 1e-4
"""Part of the largest value below which cells look alike."""


NARROW = 0.05
"""Part of the largest value above which all are for shades to be in proportion to them."""


def affinity(
    found: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the affinity matrix with its nodes ordered by cluster.

    Parameters
    ----------
    found : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters; an array is the labels of the nodes.
    graph : graph, optional
        The graph that was cut; an estimator holds its own.
    cut : {"normalized", "ratio"} or array-like of shape (n,), default="normalized"
        The cut of a partition; an estimator knows its own.
    symmetrize : {"mean", "max"} or None, default=None
        What was made of a directed graph to cut it.
    ax : Axes, optional
        Where to draw; None means a new figure.

    Returns
    -------
    Axes

    Notes
    -----
    In a cluster, the nodes whose edges stay in it come first. It takes O(edges), however many nodes
    there are.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> found = leastcut.partition(S, 2, random_state=0)
    >>> leastcut.plot.affinity(found, S).get_title()
    'Affinities of 4 nodes, ordered by cluster'
    """
    from_found = clusters_of(found, graph, cut, symmetrize)
    ax = axes_for(ax, square=True)
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    # 1. The means of all cells, and colours from the background to the strongest blue.
    means, starts = mean_cells(from_found)
    most = float(means.max()) or 1.0
    positive = means[means > 0.0]
    least = max(float(positive.min()) if positive.size else 0.0, FAINTEST * most)
    # Affinities that differ by powers of ten are told apart by their powers.
    norm = LogNorm(least, most) if least < NARROW * most else Normalize(0.0, most)
    strongest = "#ffffff" if is_dark(ax) else "#0b2a4d"
    shades = LinearSegmentedColormap.from_list(
        "leastcut", [color(ax, "better"), color(ax, "blue"), strongest]
    ).with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    drawn = np.ma.masked_less_equal(means, 0.0)
    # 2. The cells, with lines between clusters and their numbers at both sides.
    shown = ax.imshow(np.ma.maximum(drawn, least), norm=norm, cmap=shades, interpolation="nearest")
    for edge in starts[1:-1] - 0.5:
        for line in (ax.axhline, ax.axvline):
            line(edge, color=color(ax, "rule"), linewidth=0.6)
    middles, wide = 0.5 * (starts[:-1] + starts[1:] - 1), np.diff(starts) >= 0.03 * starts[-1]
    names = [str(k) if is_wide else "" for k, is_wide in enumerate(wide)]
    ax.set_xticks(middles, names)
    ax.set_yticks(middles, names)
    ax.tick_params(length=0)
    ax.set(xlabel="cluster", ylabel="cluster")
    nodes = counted(from_found.n_nodes, "node")
    ax.set_title(f"Affinities of {nodes}, ordered by cluster")
    bar = ax.figure.colorbar(shown, ax=ax, shrink=0.8)
    each = "affinity" if len(means) == from_found.n_nodes else "mean affinity of a pair"
    bar.set_label(each)
    bar.outline.set_visible(False)
    return ax


def mean_cells(clusters: Clusters) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean affinity behind every cell, and where the cells of each cluster start.

    Returns
    -------
    means : ndarray of shape (m, m)
    starts : ndarray of shape (c + 1,)
        Its last entry is m.
    """
    n, sizes = clusters.n_nodes, clusters.sizes
    # 1. Cells for every cluster by its size, at least one and at most one per node.
    share = sizes if n <= MOST_CELLS else np.rint(MOST_CELLS * sizes / n).astype(np.int64)
    cells = np.maximum(share, 1)
    starts = np.concatenate([[0], np.cumsum(cells)])
    # 2. Nodes in order: by cluster, and there by how much of them stays inside.
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
