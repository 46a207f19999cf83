"""Pictures of paths, partitions and fitted estimators: small functions that return matplotlib axes.

Each takes ``ax=None``; None makes a new figure. They show nothing and change no setting: text and
frames follow matplotlib's style, and colours the background, light or dark. Clusters differ in
their signs as well as in colour, and lines in their dashes. Needs ``firstcut[plot]``.

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

from firstcut.plot.closing_bound import closing_in
from firstcut.plot.cluster_sizes import sizes
from firstcut.plot.cut_by_number import cut_values
from firstcut.plot.embedded_nodes import embedding
from firstcut.plot.evidence_by_number import evidence
from firstcut.plot.graph_drawing import graph
from firstcut.plot.method_comparison import comparison
from firstcut.plot.ordered_affinities import affinity
from firstcut.plot.pictures import PICTURES

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
