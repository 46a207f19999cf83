"""A small graph: its nodes by cluster, and the edges that are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from leastcut.formatting import counted, shortened
from leastcut.graph import Graph
from leastcut.plot.canvas import axes_for, cluster_looks, color, label_points, no_frame, room
from leastcut.plot.clusters import Clusters, clusters_of

MOST_LAID_OUT = 500
"""Nodes for which places are found: more would take long, and be a ball of wool."""

MOST_EDGES = 50_000
"""Edges that are drawn at most, between places that are given."""

MOST_NAMED = 60
"""Nodes up to which each is called by its name or number."""

STEPS = 150
"""Steps of a layout: later ones move nothing that is seen."""

LONGEST = 8.0
"""How many times as long as the strongest edge the weakest is."""


def graph(
    found: Any,
    graph: Any = None,
    positions: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a small graph: its nodes by cluster, and the edges that are cut.

    Parameters
    ----------
    found : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters; an array is the labels of the nodes.
    graph : graph, optional
        The graph that was cut; an estimator holds its own.
    positions : array-like of shape (n, 2), optional
        Places of the nodes; None finds some, for up to 500 nodes.
    cut : {"normalized", "ratio"} or array-like of shape (n,), default="normalized"
        The cut of a partition; an estimator knows its own.
    symmetrize : {"mean", "max"} or None, default=None
        What was made of a directed graph to cut it.
    ax : Axes, optional
        Where to draw; None means a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> found = leastcut.partition(S, 2, random_state=0)
    >>> leastcut.plot.graph(found, S).get_title()
    '2 clusters: 1 of 3 edges is cut'
    """
    clusters = clusters_of(found, graph, cut, symmetrize)
    places = _places(clusters, positions)
    ax = axes_for(ax)
    from matplotlib.collections import LineCollection

    # 1. Every edge once: those inside a cluster in its colour, those that are cut dashed.
    whole = clusters.graph
    looks = cluster_looks(ax, clusters.n_clusters)
    once = whole.rows < whole.indices
    rows, columns, weights = whole.rows[once], whole.indices[once], whole.weights[once]
    crossing = clusters.labels[rows] != clusters.labels[columns]
    strongest = float(weights.max()) if weights.size else 1.0
    thin = 1.0 if weights.size < 2_000 else 0.5
    widths = thin * (0.5 + 1.3 * np.sqrt(weights / strongest))
    lines = np.stack([places[rows], places[columns]], axis=1)
    many = weights.size > 5_000
    drawn = [looks[k][0] for k in clusters.labels[rows[~crossing]]]
    for picked, colors, dashes in (
        (~crossing, drawn, "solid"),
        (crossing, color(ax, "ink"), (0, (2.5, 2.0))),
    ):
        ax.add_collection(
            LineCollection(
                list(lines[picked]),
                colors=colors,
                linewidths=widths[picked],
                linestyles=[dashes],
                alpha=0.55 if dashes == "solid" else 0.8,
                zorder=1,
                rasterized=many,
            )
        )
    # 2. The nodes, with the signs of their clusters, and their names where there is room.
    size = room(ax) * float(np.clip(9_000.0 / max(clusters.n_nodes, 1), 8.0, 160.0))
    for k, (own_color, marker) in enumerate(looks):
        own = clusters.labels == k
        ax.scatter(
            *places[own].T,
            s=size,
            c=own_color,
            marker=marker,
            linewidths=0,
            zorder=2,
            label=str(k),
            rasterized=many,
        )
    ax.margins(0.06)
    ax.autoscale_view()
    no_frame(ax)
    if clusters.n_clusters <= 12:
        ax.legend(title="cluster", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    cuts = int(crossing.sum())
    ax.set_title(
        f"{counted(clusters.n_clusters, 'cluster')}: {cuts:,} of {counted(rows.size, 'edge')} "
        f"{'is' if cuts == 1 else 'are'} cut"
    )
    if clusters.n_nodes <= MOST_NAMED:
        _name_nodes(ax, clusters, places)
    return ax


def _places(clusters: Clusters, positions: Any) -> np.ndarray:
    """Return the places of all nodes, those given or others."""
    n = clusters.n_nodes
    if positions is None:
        if n > MOST_LAID_OUT:
            raise ValueError(
                f"A drawing of {n:,} nodes shows nothing, and places are found for at most "
                f"{MOST_LAID_OUT}. Use plot.affinity or plot.embedding, which any size suits, or "
                "pass positions=, such as coordinates of the nodes."
            )
        return layout(clusters.graph)
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (n, 2) or not np.isfinite(places).all():
        raise ValueError(
            f"positions must be two finite numbers for each of the {n} nodes, so of shape "
            f"({n}, 2), but have shape {places.shape}"
            + ("." if places.shape != (n, 2) else " and hold NaN or infinity.")
        )
    edges = clusters.graph.n_stored // 2
    if edges > MOST_EDGES:
        raise ValueError(
            f"A drawing of {edges:,} edges shows nothing; at most {MOST_EDGES:,} are drawn. Use "
            "plot.affinity or plot.embedding, which any size suits."
        )
    return places


def _name_nodes(ax: Any, clusters: Clusters, places: np.ndarray) -> None:
    """Write the names of the nodes, or their numbers, beside them; of crowded ones those with the
    heaviest edges."""
    names = clusters.node_names or range(clusters.n_nodes)
    order = np.argsort(-clusters.graph.degrees, kind="stable")
    sides = [(5.0, 3.0), (5.0, -10.0), (0.0, 6.0), (0.0, -13.0)]
    label_points(
        ax,
        [shortened(str(names[i])) for i in order.tolist()],
        places[order],
        [sides] * order.size,
        size="small",
    )


# -- places


def layout(graph: Graph) -> np.ndarray:
    """Return a place for every node, always the same.

    Parameters
    ----------
    graph : Graph
        Some hundreds of nodes: it takes O(n³).

    Returns
    -------
    ndarray of shape (n, 2)
    """
    count, component = graph.components
    parts = [np.flatnonzero(component == k) for k in range(count)]
    parts.sort(key=lambda part: -part.size)
    places = np.zeros((graph.n_nodes, 2))
    widest = np.sqrt(graph.n_nodes) * 1.5
    left = bottom = highest = 0.0
    for part in parts:
        own = _layout_connected(graph.restrict(part))
        size = own.max(axis=0)
        # A new row where this one is full.
        if left > 0.0 and left + size[0] > widest:
            left, bottom, highest = 0.0, bottom + highest, 0.0
        places[part] = own + np.array([left, bottom])
        left += size[0] + 1.5
        highest = max(highest, size[1] + 1.5)
    return places


def _layout_connected(graph: Graph) -> np.ndarray:
    """Return places from (0, 0) on, about as many square units as there are nodes."""
    n = graph.n_nodes
    if n == 1:
        return np.zeros((1, 2))
    # 1. Ways through the graph: the stronger an edge, the shorter, within bounds.
    strongest = float(graph.weights.max())
    length = np.minimum(np.sqrt(strongest / graph.weights), LONGEST)
    matrix = sp.csr_array((length, graph.indices, graph.indptr), shape=(n, n))
    distance = shortest_path(matrix, directed=False)
    np.fill_diagonal(distance, 0.0)
    # 2. A start: the two directions that distances, squared, spread in most.
    centred = distance**2 - np.mean(distance**2, axis=0)
    centred -= np.mean(centred, axis=1)[:, np.newaxis]
    _, vectors = np.linalg.eigh(-0.5 * (centred + centred.T))
    places = vectors[:, -2:] if n > 2 else np.column_stack([vectors[:, -1], np.zeros(n)])
    places = places * (distance.max() / max(float(np.ptp(places)), np.finfo(float).tiny))
    # Nodes that look alike to the graph start a little apart, or they would never part.
    places = places + 1e-3 * distance.max() * np.random.default_rng(0).standard_normal((n, 2))
    # 3. Lower the sum.
    np.fill_diagonal(distance, 1.0)
    weight = 1.0 / distance**2
    np.fill_diagonal(weight, 0.0)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(STEPS):
        apart = np.linalg.norm(places[:, np.newaxis] - places, axis=-1)
        pull = weight * distance / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0.0)
        places = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ places
    # 4. Upright: the longer side lies across.
    _, _, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    places = places @ axes.T
    size = np.ptp(places, axis=0)
    scale = np.sqrt(n / max(float(size[0] * max(size[1], 0.2 * size[0])), np.finfo(float).tiny))
    return np.asarray((places - places.min(axis=0)) * scale)
