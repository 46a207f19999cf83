"""Pictures of paths, partitions and fitted estimators: small functions that return matplotlib axes.

Each takes ``ax=None``; None makes a new figure. They show nothing and change no setting: text and
frames follow matplotlib's style, and colours the background, light or dark. Clusters differ in
their signs as well as in colour, and lines in their dashes. Needs ``leastcut[plot]``.

====================================  ===================================================
``evidence(path)``                    how much speaks for every number of clusters
``cut_values(path)``                  the cut for every number, and what none can be below
``embedding(found, graph)``           the nodes in two dimensions, by the eigenvectors
``affinity(found, graph)``            the affinity matrix, ordered by cluster
``sizes(found, graph)``               every cluster's size, and its share of the cut
``graph(found, graph, positions)``    a small graph, and the edges that are cut
``comparison(compared)``              methods side by side on one graph
``closing_in(told)``                  a proof: the cut and its bound over time
====================================  ===================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leastcut.plot.cluster_sizes import sizes
from leastcut.plot.embedded_nodes import embedding
from leastcut.plot.graph_drawing import graph
from leastcut.plot.ordered_affinities import affinity
from leastcut.plot.values import closing_in, comparison, cut_values, evidence
from leastcut.validation import check_choice

__all__ = [
    "PICTURES",
    "affinity",
    "closing_in",
    "comparison",
    "cut_values",
    "embedding",
    "evidence",
    "graph",
    "sizes",
]


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes
    ----------
    draw : callable
        Draws it, and returns the axes.
    shows : {"path", "clusters", "comparison", "proof"}
        What it is drawn from.
    """

    draw: Callable[..., Any]
    shows: str


PICTURES: dict[str, Picture] = {
    "evidence": Picture(evidence, "path"),
    "cut_values": Picture(cut_values, "path"),
    "embedding": Picture(embedding, "clusters"),
    "affinity": Picture(affinity, "clusters"),
    "sizes": Picture(sizes, "clusters"),
    "graph": Picture(graph, "clusters"),
    "comparison": Picture(comparison, "comparison"),
    "closing_in": Picture(closing_in, "proof"),
}
"""The pictures. A further one is a further line here, and a method can draw it at once."""


def draw(kind: str, shows: tuple[str, ...], found: Any, **options: Any) -> Any:
    """Draw the picture of a name, one of those that are drawn from what ``shows`` says."""
    known = {name: picture for name, picture in PICTURES.items() if picture.shows in shows}
    return known[check_choice("kind", kind, known)].draw(found, **options)
