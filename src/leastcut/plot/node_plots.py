"""Plots with a marker for each node: a spectral embedding, and a drawing of a small graph.

The embedding is the linear map of the first c eigenvectors, each row divided by the square root of
its node's weight, that brings nodes nearest to the corners of a regular polygon with one corner
per cluster. A node between two corners lies between two clusters; a cluster in the center is not
supported by the eigenvectors.

Graphs are laid out by stress majorization, which fits distances in the plane to shortest-path
distances, where strong edges are short.
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
    cluster_styles,
    color,
    finish,
    label_points,
    no_frame,
    relative_area,
)
from leastcut.plot.clusters import Clusters, clusters_of
from leastcut.validation import check_choice

MOST_POINTS = 50_000  # largest number of points drawn
MANY_POINTS = 2_000  # points above which they are rasterized in vector graphics
MOST_LAID_OUT = 500  # largest number of nodes of a layout, which takes O(n³)
MOST_EDGES = 50_000  # largest number of edges drawn, if positions are passed
MOST_NAMED = 60  # nodes up to which names are shown
STEPS = 150  # steps of a layout; more have no visible effect
LONGEST = 8.0  # length of the weakest edges in a layout, relative to the strongest edge


# -- the embedding


def embedding(
    result: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    view: str = "corners",
    ax: Any = None,
) -> Any:
    """Plot the nodes in two dimensions, from the eigenvectors of the graph.

    Parameters
    ----------
    result : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters, as a result or as labels of the nodes.
    graph, cut, symmetrize : optional
        The graph and its cut, as in :func:`leastcut.cut_value`; not needed for a fitted estimator.
    view : {"corners", "eigenvectors"}, default="corners"
        "corners" maps the eigenvectors to the plane so that nodes are nearest to the corners of a
        polygon with one corner per cluster, where clusters that share many edges are adjacent.
        "eigenvectors" plots the second and third eigenvector, also used for fewer than three
        clusters.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    affinity : Affinity matrix, ordered by cluster.
    leastcut.relax : Compute the eigenvectors.

    Notes
    -----
    Nodes without edges are not drawn. For more than 50,000 nodes, a fixed random sample of 50,000
    is drawn.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=3, random_state=0)
    >>> model = leastcut.SpectralClustering(3, random_state=0).fit(X)
    >>> leastcut.plot.embedding(model).get_title()
    'Spectral embedding of 3 clusters'
    """
    check_choice("view", view, ("corners", "eigenvectors"))
    clusters = clusters_of(result, graph, cut, symmetrize)
    nodes = clusters.connected
    if nodes.size < 3:
        raise ValueError(
            "An embedding needs at least 3 nodes with edges, but the graph has "
            f"{counted(int(nodes.size), 'such node')}."
        )
    rows, labels = clusters.eigenvector_rows, clusters.labels[nodes]
    ax = axes_for(ax)
    title = f"Spectral embedding of {counted(clusters.n_clusters, 'cluster')}"
    if nodes.size > MOST_POINTS:
        title += f"\n({MOST_POINTS:,} of {nodes.size:,} nodes)"
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
    """Return the linear map of ``rows`` that minimizes Σ_i b_i ‖point_i − corner_i‖².

    The columns of ``rows`` are orthonormal with respect to the node weights b: Σ_i b_i y_i y_iᵀ is
    the identity. The corners of the clusters are on the unit circle, in the order ``order``.
    """
    count = order.size
    # 1. The corners, starting at the top.
    angles = np.empty(count)
    angles[order] = 0.5 * np.pi - 2.0 * np.pi * np.arange(count) / count
    corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # 2. The map: least squares with orthonormal columns.
    return np.asarray(rows @ (rows.T @ (weights[:, np.newaxis] * corners[labels])))


def corner_order(clusters: Clusters) -> np.ndarray:
    """Return an order of the clusters in which those with strong connections are adjacent.

    A greedy order: from the heaviest cluster on, the next one has the strongest connection to the
    previous one, relative to their weights.
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
    """Draw points with the colors and markers of their clusters, and label the clusters.

    Labels of smaller clusters are skipped if they would overlap.
    """
    size = relative_area(ax) * float(np.clip(750.0 / np.sqrt(len(points)), 4.0, 40.0))
    is_image = len(points) > MANY_POINTS
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    numbers, places, sides = [], [], []
    styles = cluster_styles(ax, n_clusters)
    for k in np.argsort(-np.bincount(labels, minlength=n_clusters), kind="stable").tolist():
        members = points[labels == k]
        if not len(members):
            continue
        style = dict(zip(("c", "marker"), styles[k], strict=True))
        ax.scatter(*members.T, s=size, alpha=0.65, linewidths=0, rasterized=is_image, **style)
        # Label the point nearest to the median, which may lie outside of a curved cluster.
        distances = np.linalg.norm(members - np.median(members, axis=0), axis=1)
        place = members[np.argmin(distances)]
        # A large marker is visible even if all nodes coincide or are tiny.
        large, page = max(60.0 * relative_area(ax), 20.0), color(ax, "page")
        ax.scatter(*place, s=large, edgecolors=page, linewidths=0.8, zorder=3, **style)
        outward = place - middle
        outward = 13.0 * outward / max(float(np.linalg.norm(outward)), 1e-300)
        numbers.append(str(k))
        places.append(place)
        sides.append([outward, (-outward[1], outward[0]), (outward[1], -outward[0])])
    label_points(ax, numbers, np.array(places), sides, ha="center", va="center", weight="bold")


# -- the graph


def graph(
    result: Any,
    graph: Any = None,
    positions: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a small graph with its clusters and its cut edges.

    Parameters
    ----------
    result : fitted SpectralClustering, Partition, or array-like of shape (n,)
        The clusters, as a result or as labels of the nodes.
    graph : graph, optional
        The graph that was cut; not needed for a fitted estimator.
    positions : array-like of shape (n, 2), optional
        Positions of the nodes. By default they are computed, for at most 500 nodes.
    cut, symmetrize : optional
        The cut, as in :func:`leastcut.cut_value`; not needed for a fitted estimator.
    ax : Axes, optional
        The axes to draw on; by default the axes of a new figure.

    Returns
    -------
    Axes
        The axes of the plot.

    See Also
    --------
    affinity, embedding : Plots for graphs of any size.

    Notes
    -----
    Cut edges are dashed. By default the layout is computed by stress majorization, in O(n³).

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> result = leastcut.partition(S, 2, random_state=0)
    >>> leastcut.plot.graph(result, S).get_title()
    '2 clusters: 1 of 3 edges is cut'
    """
    clusters = clusters_of(result, graph, cut, symmetrize)
    places = _positions(clusters, positions)
    ax = axes_for(ax)  # raises if matplotlib is missing
    from matplotlib.collections import LineCollection

    # 1. Edges inside clusters in the colors of the clusters, and cut edges dashed.
    full, styles = clusters.graph, cluster_styles(ax, clusters.n_clusters)
    upper = full.rows < full.indices
    rows, columns, weights = full.rows[upper], full.indices[upper], full.weights[upper]
    is_cut = clusters.labels[rows] != clusters.labels[columns]
    widths = 0.5 + 1.3 * np.sqrt(weights / weights.max(initial=np.finfo(float).tiny))
    widths *= 1.0 if weights.size < 2_000 else 0.5
    lines = np.stack([places[rows], places[columns]], axis=1)
    is_image = weights.size > 5_000
    edge_colors = [styles[k][0] for k in clusters.labels[rows[~is_cut]]]
    for picked, colors, style, alpha in (
        (~is_cut, edge_colors, "solid", 0.55),
        (is_cut, color(ax, "ink"), (0, (2.5, 2.0)), 0.8),
    ):
        edges = LineCollection(list(lines[picked]), alpha=alpha, zorder=1, rasterized=is_image)
        edges.set(color=colors, linewidth=widths[picked], linestyle=[style])
        ax.add_collection(edges)
    # 2. Nodes with the markers of their clusters, and names if there is space.
    size = relative_area(ax) * float(np.clip(9_000.0 / max(clusters.n_nodes, 1), 8.0, 160.0))
    for k, (ink, marker) in enumerate(styles):
        members = places[clusters.labels == k]
        properties = {"c": ink, "marker": marker, "label": str(k), "rasterized": is_image}
        ax.scatter(*members.T, s=size, linewidths=0, zorder=2, **properties)
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
        # Nodes of large degree first: names that would overlap are skipped.
        order = np.argsort(-full.degrees, kind="stable")
        texts = [shortened(str(names[i])) for i in order.tolist()]
        sides = [(5.0, 3.0), (5.0, -10.0), (0.0, 6.0), (0.0, -13.0)]
        label_points(ax, texts, places[order], [sides] * order.size, size="small")
    return ax


def _positions(clusters: Clusters, positions: Any) -> np.ndarray:
    """Return the checked positions of the nodes, or a layout."""
    n = clusters.n_nodes
    others = "plot.affinity or plot.embedding"
    if positions is None:
        if n > MOST_LAID_OUT:
            raise ValueError(
                f"The graph has {n:,} nodes, and a layout is computed for at most {MOST_LAID_OUT}. "
                f"Use {others}, or pass the coordinates of the nodes as positions=."
            )
        return layout(clusters.graph)
    if isinstance(positions, Mapping):  # a layout of networkx
        raise TypeError(
            f"positions must be an array of shape ({n}, 2) in the order of the nodes, not a "
            f"{type(positions).__name__}; pass [positions[node] for node in graph]."
        )
    places = np.asarray(positions, dtype=np.float64)
    wrong = "" if np.isfinite(places).all() else "contains NaN or infinity"
    if places.shape != (n, 2):
        wrong = f"has shape {places.shape}"
    if wrong:
        raise ValueError(
            f"positions must be an array of finite numbers of shape ({n}, 2), but {wrong}."
        )
    edges = clusters.graph.n_stored // 2
    if edges > MOST_EDGES:
        raise ValueError(
            f"The graph has {edges:,} edges, and at most {MOST_EDGES:,} can be drawn. Use {others}."
        )
    return places


def layout(graph: Graph) -> np.ndarray:
    """Return positions of the nodes, deterministic and in O(n³); larger components come first."""
    count, component = graph.components
    parts = sorted((np.flatnonzero(component == k) for k in range(count)), key=lambda p: -p.size)
    places = np.zeros((graph.n_nodes, 2))
    widest = np.sqrt(graph.n_nodes) * 1.5
    left = bottom = highest = 0.0
    for part in parts:
        inner = _layout_connected(graph.restrict(part))
        size = inner.max(axis=0)
        # Start a new row if this one is full.
        if left > 0.0 and left + size[0] > widest:
            left, bottom, highest = 0.0, bottom + highest, 0.0
        places[part] = inner + np.array([left, bottom])
        left += size[0] + 1.5
        highest = max(highest, size[1] + 1.5)
    return places


def _layout_connected(graph: Graph) -> np.ndarray:
    """Return positions >= (0, 0) in an area of about n square units."""
    n = graph.n_nodes
    if n == 1:
        return np.zeros((1, 2))
    # 1. Shortest-path distances, where strong edges are short.
    length = np.minimum(np.sqrt(graph.weights.max() / graph.weights), LONGEST)
    matrix = sp.csr_array((length, graph.indices, graph.indptr), shape=(n, n))
    distance = shortest_path(matrix, directed=False)
    np.fill_diagonal(distance, 0.0)
    # 2. Initial positions by classical scaling.
    centered = distance**2 - np.mean(distance**2, axis=0)
    centered -= np.mean(centered, axis=1)[:, np.newaxis]
    _, vectors = np.linalg.eigh(-0.5 * (centered + centered.T))
    places = vectors[:, -2:] if n > 2 else np.column_stack([vectors[:, -1], np.zeros(n)])
    places = places * (distance.max() / max(float(np.ptp(places)), np.finfo(float).tiny))
    # Equivalent nodes would keep equal positions; perturb them.
    places = places + 1e-3 * distance.max() * np.random.default_rng(0).standard_normal((n, 2))
    # 3. Minimize Σ_ij (‖x_i − x_j‖ − d_ij)² / d_ij².
    np.fill_diagonal(distance, 1.0)
    weight = 1.0 / distance**2
    np.fill_diagonal(weight, 0.0)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(STEPS):
        lengths = np.linalg.norm(places[:, np.newaxis] - places, axis=-1)
        pull = weight * distance / np.maximum(lengths, 1e-9)
        np.fill_diagonal(pull, 0.0)
        places = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ places
    # 4. Rotate so that the longer side is horizontal.
    _, _, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    places = places @ axes.T
    size = np.ptp(places, axis=0)
    scale = np.sqrt(n / max(float(size[0] * max(size[1], 0.2 * size[0])), np.finfo(float).tiny))
    return np.asarray((places - places.min(axis=0)) * scale)
