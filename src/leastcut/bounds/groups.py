"""Groups of nodes that are likely to share a cluster: what a large relaxation sees."""

from __future__ import annotations

import numpy as np

from leastcut.multilevel.coarsening import heavy_edges
from leastcut.problem import Problem
from leastcut.reductions import contracted

HEAVIEST_GROUP = 2.0
"""Most that a group may weigh, in shares of an even division."""


def groups_within(problem: Problem, labels: np.ndarray | None, n_groups: int) -> np.ndarray:
    """Return the group of every node, 0..k-1: about ``n_groups``, none with nodes of two labels.

    Nodes are gathered along heavy edges, level by level, as where a cut is sought.
    """
    group = np.arange(problem.n_nodes)
    rng = np.random.default_rng(0)
    share = HEAVIEST_GROUP * float(problem.node_weights.sum()) / n_groups
    parts = np.zeros(problem.n_nodes, dtype=np.int32)
    if labels is not None:
        parts = labels.astype(np.int32)
    while problem.n_nodes > n_groups:
        smaller, parent = contracted(problem, heavy_edges(problem, rng, share, parts))
        if smaller.n_nodes == problem.n_nodes:
            break
        coarse = np.empty(smaller.n_nodes, dtype=np.int32)
        coarse[parent] = parts
        problem, parts, group = smaller, coarse, parent[group]
    return group
