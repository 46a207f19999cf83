"""Plots with a mark for every node: the embedding by eigenvectors, and a drawing of a small graph.

Of the rows of the first c eigenvectors, each divided by the root of its node's weight, the
embedding shows the plane in which, of all linear maps, the nodes are nearest to the corners of a
regular polygon, a corner for each cluster. A node between two corners is between two clusters, and
a cluster in the middle is none that the eigenvectors know of.

A graph is laid out by stress majorization: the distances in the plane should equal those along the
strongest paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from leastcut.formatting import counted, shortened
from leastcut.graph import Graph
from leastcut.plot.canvas import (
    axes_for,
    cluster_looks,
    color,
    finish,
    label_points,
    no_frame,
    relative_area,
)
from leastcut.plot.clusters import Clusters, clusters_of
from leastcut.validation import check_choice

MOST_POINTS = 50_000  # drawn at most: more cover one another, and only take longer
MANY_POINTS = 2_000  # from which on they are an image inside a vector drawing
MOST_LAID_OUT = 500  # nodes: to lay out more takes long, and shows nothing
MOST_EDGES = 50_000  # drawn at most, if positions are passed
MOST_NAMED = 60  # nodes up to which each has its name or number
STEPS = 150  # of a layout: later ones have no visible effect
LONGEST = 8.0  # length of the weakest edges in a layout, in units of the strongest edge's


# -- the embedding


def embedding(
    found: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    view: str = "corners",
    ax: Any = None,
) -> Any:
    """Draw the nodes in two dimensions, by the eigenvectors of the graph.

    Parameters
    ----------
    found : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters, which have colors and markers; an array holds the labels of the nodes.
    graph, cut, symmetrize : optional
        The graph that was cut, and how, as :func:`leastcut.cut_value` takes them; a fitted
        estimator has them.
    view : {"corners", "eigenvectors"}, default="corners"
        The plane in which nodes are nearest to the corners of a polygon, one for each cluster, with
        clusters that share most edges next to each other; or that of the second and third
        eigenvector, as always for fewer than three clusters.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Notes
    -----
    Nodes without edges have no place and are left out; of more than 50,000 nodes, 50,000 are drawn,
    always the same random ones.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=3, random_state=0)
    >>> model = leastcut.SpectralClustering(3, random_state=0).fit(X)
    >>> leastcut.plot.embedding(model).get_title()
    '3 clusters, as the eigenvectors place the nodes'
    """
    check_choice("view", view, ("corners", "eigenvectors"))
    clusters = clusters_of(found, graph, cut, symmetrize)
    nodes = clusters.connected
    if nodes.size < 3:
        raise ValueError(
            f"{counted(int(nodes.size), 'node')} with edges cannot be drawn in two dimensions; it "
            "takes three."
        )
    rows, labels = clusters.eigenvector_rows, clusters.labels[nodes]
    ax = axes_for(ax)
    title = f"{counted(clusters.n_clusters, 'cluster')}, as the eigenvectors place the nodes"
    if nodes.size > MOST_POINTS:
        title += f"\n({MOST_POINTS:,} of {nodes.size:,})"
    if view == "corners" and clusters.n_clusters > 2:
        points = corner_points(rows, clusters.connected_weights, labels, corner_order(clusters))
        ax.set_title(title)
        no_frame(ax)
    else:
        points = rows[:, 1:3]
        finish(ax, title, xlabel="second eigenvector", ylabel="third eigenvector")
    if nodes.size > MOST_POINTS:
        kept = np.sort(np.random.default_rng(0).choice(nodes.size, MOST_POINTS, replace=False))
        points, labels = points[kept], labels[kept]
    scatter(ax, points, labels, clusters.n_clusters)
    return ax


def corner_points(
    rows: np.ndarray, weights: np.ndarray, labels: np.ndarray, order: np.ndarray
) -> np.ndarray:
    """Return the linear map of rows with the least Σ_i b_i ‖point_i − corner_i‖².

    The columns of ``rows`` are orthonormal with the weights b of the nodes: Σ_i b_i y_i y_iᵀ is the
    identity. The corners are on the unit circle, in the order of the clusters in ``order``.
    """
    count = order.size
    # 1. The corners, the first of which is at the top.
    angles = np.empty(count)
    angles[order] = 0.5 * np.pi - 2.0 * np.pi * np.arange(count) / count
    corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # 2. The map: as the columns are orthonormal, there is nothing to solve.
    return np.asarray(rows @ (rows.T @ (weights[:, np.newaxis] * corners[labels])))


def corner_order(clusters: Clusters) -> np.ndarray:
    """Return an order in which clusters that share much of their edges are neighbors.

    After the heaviest cluster, the next one has most edges to the last, for its weight.
    """
    sums = clusters.between
    scale = np.sqrt(np.maximum(np.diag(sums), np.finfo(float).tiny))
    shared = sums / scale / scale[:, np.newaxis]
    order = [int(np.argmax(clusters.weights))]
    rest = [k for k in range(clusters.n_clusters) if k != order[0]]
    while rest:
        order.append(max(rest, key=lambda k: shared[order[-1], k]))
        rest.remove(order[-1])
    return np.array(order)


def scatter(ax: Any, points: np.ndarray, labels: np.ndarray, n_clusters: int) -> None:
    """Draw points with the colors and markers of their clusters, and the number of each cluster.

    In a crowd, the larger clusters have their numbers.
    """
    size = relative_area(ax) * float(np.clip(750.0 / np.sqrt(len(points)), 4.0, 40.0))
    is_image = len(points) > MANY_POINTS
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    numbers, places, sides = [], [], []
    looks = cluster_looks(ax, n_clusters)
    for k in np.argsort(-np.bincount(labels, minlength=n_clusters), kind="stable").tolist():
        members = points[labels == k]
        if not len(members):
            continue
        look = dict(zip(("c", "marker"), looks[k], strict=True))
        ax.scatter(*members.T, s=size, alpha=0.65, linewidths=0, rasterized=is_image, **look)
        # The middle of a bent cluster may lie outside; the nearest of its points does not.
        distances = np.linalg.norm(members - np.median(members, axis=0), axis=1)
        place = members[np.argmin(distances)]
        # A large marker is visible where all nodes are at one place, or tiny.
        large, page = max(60.0 * relative_area(ax), 20.0), color(ax, "page")
        ax.scatter(*place, s=large, edgecolors=page, linewidths=0.8, zorder=3, **look)
        outward = place - middle
        outward = 13.0 * outward / max(float(np.linalg.norm(outward)), 1e-300)
        numbers.append(str(k))
        places.append(place)
        sides.append([outward, (-outward[1], outward[0]), (outward[1], -outward[0])])
    label_points(ax, numbers, np.array(places), sides, ha="center", va="center", weight="bold")


# -- the graph


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
        The clusters; an array holds the labels of the nodes.
    graph : graph, optional
        The graph that was cut; a fitted estimator has it.
    positions : array-like of shape (n, 2), optional
        Positions of the nodes; by default they are computed, for up to 500 nodes.
    cut, symmetrize : optional
        How it was cut, as :func:`leastcut.cut_value` takes them; a fitted estimator has them.
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
    >>> leastcut.plot.graph(found, S).get_title()
    '2 clusters: 1 of 3 edges is cut'
    """
    clusters = clusters_of(found, graph, cut, symmetrize)
    places = _positions(clusters, positions)
    ax = axes_for(ax)  # which raises if there is no matplotlib
    from matplotlib.collections import LineCollection

    # 1. Every edge once: those inside a cluster in its color, those that are cut dashed.
    whole, looks = clusters.graph, cluster_looks(ax, clusters.n_clusters)
    once = whole.rows < whole.indices
    rows, columns, weights = whole.rows[once], whole.indices[once], whole.weights[once]
    is_cut = clusters.labels[rows] != clusters.labels[columns]
    widths = 0.5 + 1.3 * np.sqrt(weights / weights.max(initial=np.finfo(float).tiny))
    widths *= 1.0 if weights.size < 2_000 else 0.5
    lines = np.stack([places[rows], places[columns]], axis=1)
    is_image = weights.size > 5_000
    inks = [looks[k][0] for k in clusters.labels[rows[~is_cut]]]
    for picked, colors, style, alpha in (
        (~is_cut, inks, "solid", 0.55),
        (is_cut, color(ax, "ink"), (0, (2.5, 2.0)), 0.8),
    ):
        edges = LineCollection(list(lines[picked]), alpha=alpha, zorder=1, rasterized=is_image)
        edges.set(color=colors, linewidth=widths[picked], linestyle=[style])
        ax.add_collection(edges)
    # 2. The nodes, with the markers of their clusters, and their names if there is space.
    size = relative_area(ax) * float(np.clip(9_000.0 / max(clusters.n_nodes, 1), 8.0, 160.0))
    for k, (ink, marker) in enumerate(looks):
        members = places[clusters.labels == k]
        look = {"c": ink, "marker": marker, "label": str(k), "rasterized": is_image}
        ax.scatter(*members.T, s=size, linewidths=0, zorder=2, **look)
    ax.margins(0.06)
    ax.autoscale_view()
    no_frame(ax)
    if clusters.n_clusters <= 12:
        ax.legend(title="cluster", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    count = int(is_cut.sum())
    ax.set_title(
        f"{counted(clusters.n_clusters, 'cluster')}: {count:,} of {counted(rows.size, 'edge')} "
        f"{'is' if count == 1 else 'are'} cut"
    )
    if clusters.n_nodes <= MOST_NAMED:
        names = clusters.node_names or range(clusters.n_nodes)
        # In a crowd, the nodes with the heaviest edges have their names.
        order = np.argsort(-whole.degrees, kind="stable")
        texts = [shortened(str(names[i])) for i in order.tolist()]
        sides = [(5.0, 3.0), (5.0, -10.0), (0.0, 6.0), (0.0, -13.0)]
        label_points(ax, texts, places[order], [sides] * order.size, size="small")
    return ax


def _positions(clusters: Clusters, positions: Any) -> np.ndarray:
    """Return the positions of all nodes: those of the user, checked, or a layout."""
    n = clusters.n_nodes
    others = "plot.affinity or plot.embedding, which suit any size"
    if positions is None:
        if n > MOST_LAID_OUT:
            raise ValueError(
                f"A drawing of {n:,} nodes shows nothing, and at most {MOST_LAID_OUT} are laid "
                f"out. Use {others}, or pass positions=, such as coordinates of the nodes."
            )
        return layout(clusters.graph)
    if isinstance(positions, Mapping):  # as networkx lays out graphs
        raise TypeError(
            f"positions is a {type(positions).__name__}, and must be an array of shape ({n}, 2) in "
            "the order of the nodes: pass [positions[node] for node in graph]."
        )
    places = np.asarray(positions, dtype=np.float64)
    wrong = "" if np.isfinite(places).all() else "hold NaN or infinity"
    if places.shape != (n, 2):
        wrong = f"have shape {places.shape} and not ({n}, 2)"
    if wrong:
        raise ValueError(
            f"positions must be two finite numbers for each of the {n} nodes, but {wrong}."
        )
    edges = clusters.graph.n_stored // 2
    if edges > MOST_EDGES:
        raise ValueError(
            f"A drawing of {edges:,} edges shows nothing; at most {MOST_EDGES:,} are drawn. Use "
            f"{others}."
        )
    return places


def layout(graph: Graph) -> np.ndarray:
    """Return positions of the nodes, always the same, in O(n³); larger components come first."""
    count, component = graph.components
    parts = sorted((np.flatnonzero(component == k) for k in range(count)), key=lambda p: -p.size)
    places = np.zeros((graph.n_nodes, 2))
    widest = np.sqrt(graph.n_nodes) * 1.5
    left = bottom = highest = 0.0
    for part in parts:
        inner = _layout_connected(graph.restrict(part))
        size = inner.max(axis=0)
        # A new row if this one is full.
        if left > 0.0 and left + size[0] > widest:
            left, bottom, highest = 0.0, bottom + highest, 0.0
        places[part] = inner + np.array([left, bottom])
        left += size[0] + 1.5
        highest = max(highest, size[1] + 1.5)
    return places


def _layout_connected(graph: Graph) -> np.ndarray:
    """Return positions from (0, 0) on, about as many square units as there are nodes."""
    n = graph.n_nodes
    if n == 1:
        return np.zeros((1, 2))
    # 1. Paths through the graph: the stronger an edge, the shorter, within bounds.
    length = np.minimum(np.sqrt(graph.weights.max() / graph.weights), LONGEST)
    matrix = sp.csr_array((length, graph.indices, graph.indptr), shape=(n, n))
    distance = shortest_path(matrix, directed=False)
    np.fill_diagonal(distance, 0.0)
    # 2. A start: the two directions in which the squared distances vary most.
    centered = distance**2 - np.mean(distance**2, axis=0)
    centered -= np.mean(centered, axis=1)[:, np.newaxis]
    _, vectors = np.linalg.eigh(-0.5 * (centered + centered.T))
    places = vectors[:, -2:] if n > 2 else np.column_stack([vectors[:, -1], np.zeros(n)])
    places = places * (distance.max() / max(float(np.ptp(places)), np.finfo(float).tiny))
    # Equivalent nodes start at slightly different places, or they would never part.
    places = places + 1e-3 * distance.max() * np.random.default_rng(0).standard_normal((n, 2))
    # 3. Lower Σ_ij (‖x_i − x_j‖ − d_ij)² / d_ij².
    np.fill_diagonal(distance, 1.0)
    weight = 1.0 / distance**2
    np.fill_diagonal(weight, 0.0)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(STEPS):
        cannot_link = np.linalg.norm(places[:, np.newaxis] - places, axis=-1)
        pull = weight * distance / np.maximum(cannot_link, 1e-9)
        np.fill_diagonal(pull, 0.0)
        places = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ places
    # 4. The longer side is horizontal.
    _, _, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    places = places @ axes.T
    size = np.ptp(places, axis=0)
    scale = np.sqrt(n / max(float(size[0] * max(size[1], 0.2 * size[0])), np.finfo(float).tiny))
    return np.asarray((places - places.min(axis=0)) * scale)
