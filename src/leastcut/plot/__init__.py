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

from leastcut.plot.closing_bound import closing_in
from leastcut.plot.cluster_sizes import sizes
from leastcut.plot.cut_by_number import cut_values
from leastcut.plot.embedded_nodes import embedding
from leastcut.plot.evidence_by_number import evidence
from leastcut.plot.graph_drawing import graph
from leastcut.plot.method_comparison import comparison
from leastcut.plot.ordered_affinities import affinity
from leastcut.plot.pictures import PICTURES

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
