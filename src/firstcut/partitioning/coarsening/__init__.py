"""Rules by which the nodes of a problem are gathered into the nodes of a coarser one.

A rule is a function ``(problem, rng, max_weight, parts) -> leader``. ``leader[i]`` names the group
of node i by one of its nodes, which leads itself; no group weighs more than ``max_weight`` unless
one node does, and nodes of different ``parts`` (an array, or None for no parts) never share one. A
further rule is a file here and a line in :data:`COARSENING_RULES`; efforts name the rule they use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from firstcut.cuts import Problem
from firstcut.partitioning.coarsening.heavy_edges import heavy_edges

Rule = Callable[[Problem, np.random.Generator, float, np.ndarray | None], np.ndarray]

COARSENING_RULES: dict[str, Rule] = {
    "heavy_edges": heavy_edges,
}
