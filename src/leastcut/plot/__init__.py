"""Plots of paths, partitions, comparisons and proofs: functions that return matplotlib axes.

Each takes ``ax=None``; None makes a new figure. They show nothing and change no setting: text and
frames follow matplotlib's style, and colors the background, light or dark. Clusters differ in
their markers as well as in color, and lines in their dashes. Needs ``leastcut[plot]``.

====================================  ======================================================
``evidence(path)``                    the evidence for every number of clusters
``cut_values(path)``                  the cut for every number, and its lower bound
``embedding(found, graph)``           the nodes in two dimensions, by the eigenvectors
``affinity(found, graph)``            the affinity matrix, ordered by cluster
``sizes(found, graph)``               every cluster's size, and its share of the cut
``graph(found, graph, positions)``    a small graph, and the edges that are cut
``comparison(compared)``              methods side by side on one graph
``closing_in(told)``                  a proof: the cut and its bound over time
====================================  ======================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from leastcut.plot.clusters import affinity, sizes
from leastcut.plot.node_plots import embedding, graph
from leastcut.plot.values import closing_in, comparison, cut_values, evidence
from leastcut.validation import check_choice

__all__ = [
    "PLOTS",
    "affinity",
    "closing_in",
    "comparison",
    "cut_values",
    "embedding",
    "evidence",
    "graph",
    "sizes",
]


class Plot(NamedTuple):
    """A plot, and what it shows: "path", "clusters", "comparison" or "proof"."""

    draw: Callable[..., Any]
    shows: str


PLOTS: dict[str, Plot] = {
    "evidence": Plot(evidence, "path"),
    "cut_values": Plot(cut_values, "path"),
    "embedding": Plot(embedding, "clusters"),
    "affinity": Plot(affinity, "clusters"),
    "sizes": Plot(sizes, "clusters"),
    "graph": Plot(graph, "clusters"),
    "comparison": Plot(comparison, "comparison"),
    "closing_in": Plot(closing_in, "proof"),
}
"""The plots by name; methods such as ``Partition.plot`` draw them."""


def draw(kind: str, shows: tuple[str, ...], found: Any, **options: Any) -> Any:
    """Draw the plot of that name, if it shows one of ``shows``."""
    known = {name: picture for name, picture in PLOTS.items() if picture.shows in shows}
    return known[check_choice("kind", kind, known)].draw(found, **options)
