"""Plots of paths, partitions, comparisons and proofs. Requires ``leastcut[plot]``.

Each function draws on the matplotlib axes ``ax``, by default of a new figure, and returns them. It
does not show the figure or change settings. Text and frames follow the matplotlib style, and
colors adapt to a light or dark background. Clusters also differ in their markers, and lines in
their dashes.

====================================  ===================================================
``evidence(path)``                    evidence for each number of clusters
``cut_values(path)``                  cut value and lower bound for each number
``embedding(result, graph)``          nodes in two dimensions, from eigenvectors
``affinity(result, graph)``           affinity matrix, ordered by cluster
``sizes(result, graph)``              size of each cluster and its fraction of the cut
``graph(result, graph, positions)``   a small graph with its cut edges
``comparison(result)``                cut values of several methods on one graph
``closing_in(history)``               cut value and lower bound of a proof over time
====================================  ===================================================
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
    """A plot function and what it shows: "path", "clusters", "comparison" or "proof"."""

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
"""The plots by name, as methods such as ``Partition.plot`` use them."""


def draw(kind: str, shows: tuple[str, ...], result: Any, **options: Any) -> Any:
    """Draw the plot ``kind`` of a result, if it shows one of ``shows``."""
    known = {name: plot for name, plot in PLOTS.items() if plot.shows in shows}
    return known[check_choice("kind", kind, known)].draw(result, **options)
