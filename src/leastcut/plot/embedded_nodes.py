"""The nodes in two dimensions, as the eigenvectors of the graph place them.

The rows of the first c eigenvectors, each divided by the root of its node's weight, have c
dimensions. Where clusters are clear their nodes lie near c points. The plane that is drawn is the
one, of all linear maps, in which the nodes are nearest to the corners of a regular polygon, a
corner for each cluster: a node between two corners is between two clusters, and a cluster that
stays in the middle is none that the eigenvectors know of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.formatting import counted
from leastcut.plot.canvas import (
    axes_for,
    cluster_looks,
    color,
    label_points,
    no_frame,
    open_frame,
    room,
)
from leastcut.plot.clusters import Clusters, clusters_of
from leastcut.validation import check_choice

VIEWS = ("corners", "eigenvectors")
"""Which two dimensions may be looked at."""

MOST_POINTS = 50_000
"""Points that are drawn at most: more cover one another, and only take longer."""

MANY_POINTS = 2_000
"""Points from which on they are an image inside a drawing that is otherwise made of lines."""


def embedding(
    found: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    view: str = "corners",
    ax: Any = None,
) -> Any:
    """Draw the nodes in two dimensions, as the eigenvectors of the graph place them.

    Parameters
    ----------
    found : fitted SpectralClustering, Partition, or array-like of shape (n,)
        Where nodes are near each other is the graph's; their colours and signs are by ``found``.
    graph : graph, optional
        The graph that was cut; an estimator holds its own.
    cut : {"normalized", "ratio"} or array-like of shape (n,), default="normalized"
        The cut of a partition; an estimator knows its own.
    symmetrize : {"mean", "max"} or None, default=None
        What was made of a directed graph to cut it.
    view : {"corners", "eigenvectors"}, default="corners"
        The plane in which nodes are nearest to the corners of a polygon, one for each cluster, with
        those that share most edges beside each other; or that of the second and third eigenvector,
        which is what "corners" means for fewer than three clusters.
    ax : Axes, optional
        Where to draw; None means a new figure.

    Returns
    -------
    Axes

    Notes
    -----
    Nodes without edges have no place and are left out; beyond 50,000 nodes as many are drawn, at
    random but always the same.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=3, random_state=0)
    >>> model = leastcut.SpectralClustering(3, random_state=0).fit(X)
    >>> leastcut.plot.embedding(model).get_title()
    '3 clusters, as the eigenvectors place the nodes'
    """
    check_choice("view", view, VIEWS)
    clusters = clusters_of(found, graph, cut, symmetrize)
    nodes = clusters.connected
    if nodes.size < 3:
        raise ValueError(
            f"{counted(int(nodes.size), 'node')} with edges cannot be drawn in two dimensions; it "
            "takes three."
        )
    rows = clusters.eigenvector_rows
    ax = axes_for(ax)
    labels = clusters.labels[nodes]
    if view == "corners" and clusters.n_clusters > 2:
        weights = clusters.connected_weights
        points = corner_points(rows, weights, labels, corner_order(clusters))
        no_frame(ax)
    else:
        points = rows[:, 1:3]
        ax.set(xlabel="second eigenvector", ylabel="third eigenvector")
        open_frame(ax)
    title = f"{counted(clusters.n_clusters, 'cluster')}, as the eigenvectors place the nodes"
    if nodes.size > MOST_POINTS:
        kept = np.sort(np.random.default_rng(0).choice(nodes.size, MOST_POINTS, replace=False))
        title += f"\n({MOST_POINTS:,} of {nodes.size:,})"
        points, labels = points[kept], labels[kept]
    ax.set_title(title)
    scatter(ax, points, labels, clusters.n_clusters)
    return ax


def corner_points(
    rows: np.ndarray, weights: np.ndarray, labels: np.ndarray, order: np.ndarray
) -> np.ndarray:
    """Return the plane of some rows that brings each as near as can be to its cluster's corner.

    Parameters
    ----------
    rows : ndarray of shape (n, c)
        Orthonormal columns, with these weights: Σ_i b_i y_i y_iᵀ is the identity.
    weights : ndarray of shape (n,)
        The weights b of the nodes.
    labels : ndarray of shape (n,)
        0..c-1.
    order : ndarray of shape (c,)
        The clusters, in the order in which their corners follow one another on the unit circle.

    Returns
    -------
    ndarray of shape (n, 2)
        The linear map of the rows with the least Σ_i b_i ‖point_i − corner_i‖².
    """
    count = order.size
    # 1. The corners, the first of which is at the top.
    angles = np.empty(count)
    angles[order] = 0.5 * np.pi - 2.0 * np.pi * np.arange(count) / count
    corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # 2. The map: as the columns are orthonormal, there is nothing to solve.
    return np.asarray(rows @ (rows.T @ (weights[:, np.newaxis] * corners[labels])))


def corner_order(clusters: Clusters) -> np.ndarray:
    """Return the clusters in an order where those that share much of their edges are neighbours.

    From the heaviest on, the next is the one with most edges to the last, for its weight.
    """
    sums, count = clusters.between, clusters.n_clusters
    scale = np.sqrt(np.maximum(np.diag(sums), np.finfo(float).tiny))
    shared = sums / scale / scale[:, np.newaxis]
    order, left = [int(np.argmax(clusters.weights))], set(range(count))
    left.remove(order[0])
    while left:
        order.append(max(sorted(left), key=lambda k: shared[order[-1], k]))
        left.remove(order[-1])
    return np.array(order)


def scatter(ax: Any, points: np.ndarray, labels: np.ndarray, n_clusters: int) -> None:
    """Draw points with the colour and sign of their clusters, and where the middle of each is.

    Numbers stand a little outward of their cluster, so as not to hide it; where clusters crowd,
    those of the larger ones.
    """
    size = room(ax) * float(np.clip(750.0 / np.sqrt(len(points)), 4.0, 40.0))
    many = len(points) > MANY_POINTS
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    numbers, places, sides = [], [], []
    looks = cluster_looks(ax, n_clusters)
    for k in np.argsort(-np.bincount(labels, minlength=n_clusters), kind="stable").tolist():
        drawn, marker = looks[k]
        own = points[labels == k]
        if not len(own):
            continue
        ax.scatter(
            *own.T, s=size, c=drawn, marker=marker, alpha=0.65, linewidths=0, rasterized=many
        )
        # Of a bent cluster the middle may lie outside; the nearest of its points does not.
        place = own[np.argmin(np.linalg.norm(own - np.median(own, axis=0), axis=1))]
        # Where all nodes are at one place, or tiny, a large sign shows it.
        ax.scatter(
            *place,
            s=max(60.0 * room(ax), 20.0),
            c=drawn,
            marker=marker,
            edgecolors=color(ax, "page"),
            linewidths=0.8,
            zorder=3,
        )
        outward = place - middle
        outward = 13.0 * outward / max(float(np.linalg.norm(outward)), 1e-300)
        numbers.append(str(k))
        places.append(place)
        sides.append([outward, (-outward[1], outward[0]), (outward[1], -outward[0])])
    label_points(ax, numbers, np.array(places), sides, ha="center", va="center", weight="bold")
