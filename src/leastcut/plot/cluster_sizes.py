"""How large every cluster is, and what it adds to the cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.formatting import counted, percent, significant
from leastcut.plot.canvas import axes_for, color, legend_below, open_frame
from leastcut.plot.clusters import Clusters, clusters_of

MOST_BARS = 30
"""Clusters up to which each has bars of its own; more are drawn as points."""


def sizes(
    found: Any,
    graph: Any = None,
    *,
    cut: Any = "normalized",
    symmetrize: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw how many nodes every cluster has, and which share of the cut value it adds.

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

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> found = leastcut.partition(S, 2, random_state=0)
    >>> [text.get_text() for text in leastcut.plot.sizes(found, S).texts]
    ['2', '50%', '2', '50%']
    """
    clusters = clusters_of(found, graph, cut, symmetrize)
    many = clusters.n_clusters > MOST_BARS
    ax = axes_for(ax, None if many else max(2.4, 0.9 + 0.42 * clusters.n_clusters))
    (_points if many else _bars)(ax, clusters)
    value = clusters.cut_value
    ax.set_title(
        f"{counted(clusters.n_clusters, 'cluster')} of {counted(clusters.n_nodes, 'node')}"
        f", cut value {significant(value)}"
    )
    open_frame(ax)
    return ax


def _bars(ax: Any, clusters: Clusters) -> None:
    """Draw two bars a cluster, each with its number."""
    count = clusters.n_clusters
    parts = clusters.sizes / clusters.n_nodes
    rows = (
        ("share of the nodes", parts, "blue", None, [f"{size:,}" for size in clusters.sizes], -0.2),
        ("share of the cut", clusters.shares, "orange", "////", map(percent, clusters.shares), 0.2),
    )
    places = np.arange(count)
    texts = []
    for label, lengths, name, hatch, numbers, shift in rows:
        drawn = color(ax, name)
        bars = ax.barh(
            places + shift,
            lengths,
            0.36,
            label=label,
            facecolor=drawn if hatch is None else "none",
            edgecolor=drawn,
            hatch=hatch,
        )
        texts.append(list(zip(bars, numbers, strict=True)))
    for pair in zip(*texts, strict=True):
        for bar, text in pair:
            ax.annotate(
                text,
                (bar.get_width(), bar.get_y() + 0.5 * bar.get_height()),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                size="small",
            )
    ax.set_yticks(places, [str(k) for k in places])
    ax.set_ylim(count - 0.4, -0.6)
    ax.set_xlim(0.0, 1.15 * float(max(parts.max(), clusters.shares.max())))
    ax.xaxis.set_major_formatter(lambda part, _: f"{part:.0%}")
    ax.set(ylabel="cluster")
    legend_below(ax, 22.0)


def _points(ax: Any, clusters: Clusters) -> None:
    """Draw a point for every cluster: its size, and its share of the cut."""
    ax.plot(clusters.sizes, clusters.shares, "o", color=color(ax, "blue"), markersize=5)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    ax.yaxis.set_major_formatter(lambda part, _: f"{part:.1%}")
    ax.set_ylim(bottom=0.0)
    # The largest shares are told by name, as far as they are apart.
    for k in np.argsort(-clusters.shares)[:5]:
        ax.annotate(
            f"{k}",
            (clusters.sizes[k], clusters.shares[k]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            size="small",
        )
    ax.set(xlabel="nodes of the cluster", ylabel="share of the cut")
