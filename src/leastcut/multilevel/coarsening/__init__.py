"""Rules by which the nodes of a problem are gathered into the nodes of a coarser one.

A rule is a function ``(problem, rng, share, parts, n_threads) -> leader``. ``leader[i]`` names the
group of node i by one of its nodes, which leads itself. ``share`` is what a node of the smallest
level would weigh if all weighed the same: no group weighs more than a few shares,
:data:`MOST_SHARES` at most, unless one node does. Nodes of different ``parts`` (an array, or None
for no parts) never share a group. The number of threads changes nothing. A further rule is a file
here and a line in :data:`COARSENING_RULES`; efforts name the rules they use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leastcut.multilevel.coarsening.heavy_edges import heavy_edges
from leastcut.multilevel.coarsening.label_propagation import label_propagation
from leastcut.problem import Problem

Rule = Callable[[Problem, np.random.Generator, float, np.ndarray | None, int], np.ndarray]
COARSENING_RULES: dict[str, Rule] = {
    "heavy_edges": heavy_edges,
    "label_propagation": label_propagation,
}
"""The rules by name."""

MOST_SHARES = 4  # what a group may weigh at most, in shares, by any rule
