"""The rule of heavy edges: every node joins the neighbour that it would be most costly to cut from.

An edge counts for S_ij (1/b_i + 1/b_j), which is what it adds to the cut value where i and j are
clusters of their own.
"""

from __future__ import annotations

import numpy as np

from leastcut.kernels.coarsen import gather, gather_leaves
from leastcut.problem import Problem

# Above this size levels are made fast rather than well: larger groups, visited in blocks.
LARGE_NODES = 2000
# Most nodes of a group on large levels: fewer levels to refine, each a little worse.
GROUP_NODES = 4
PAIR = 2  # most nodes of a group on small levels and inside given parts, where a pass polishes
# Nodes that are visited in a row on large levels: memory is read faster, the order less random.
BLOCK_NODES = 32
# Above that size so many nodes are visited one after another, but at random among themselves. In
# a row they would follow each other: where numbers tell who is near whom, groups become long, and
# cuts a tenth larger.
SCATTERED_NODES, WINDOW_NODES = 50_000, 1024
# Most that a group may weigh, in shares: less keeps the level even, more lets gathering follow
# the edges.
HEAVIEST = 1.5
# Fraction of nodes left above which leaves of hubs are gathered too, at the cost of one more look
# at every edge.
STALLED = 0.75


def heavy_edges(
    problem: Problem,
    rng: np.random.Generator,
    share: float,
    parts: np.ndarray | None,
    n_threads: int = 1,
) -> np.ndarray:
    """Aggregate nodes along heavy edges, in random order.

    An edge counts for S_ij (1/b_i + 1/b_j), which is what it adds to the cut value if i and j are
    clusters of their own. Threads are not used: who is free to be joined depends on all before.
    """
    n, max_weight = problem.n_nodes, HEAVIEST * share
    most_nodes = GROUP_NODES if n > LARGE_NODES and parts is None else PAIR
    # No parts are one part that holds all nodes: the kernel needs no second case.
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    order = nearby_at_random(n, LARGE_NODES, rng)
    leader, size = np.empty((2, n), dtype=np.int32)
    # One division per node here, instead of two per edge in the kernel.
    inverse = 1.0 / np.maximum(problem.node_weights, np.finfo(np.float64).tiny)
    gather(
        problem.arrays, inverse, parts, order, most_nodes, max_weight, (leader, size, np.empty(n))
    )
    # Every leader is a coarse node. Many are left where nodes hang on a hub alone: they can only
    # join the group of the hub, which is soon full.
    if np.count_nonzero(leader == np.arange(n, dtype=np.int32)) > STALLED * n:
        scratch = np.empty(n, dtype=np.int32)
        gather_leaves(problem.arrays, parts, order, max_weight, leader, size, scratch)
    return leader


def nearby_at_random(n: int, few: int, rng: np.random.Generator) -> np.ndarray:
    """Return n nodes in random order, but above ``few`` nodes those of near numbers together."""
    if n <= few:
        return rng.permutation(n).astype(np.int32)
    block = BLOCK_NODES if n <= SCATTERED_NODES else WINDOW_NODES
    # Rounded up: the last block may reach beyond the nodes, and what does is taken off below.
    blocks = rng.permutation(-(-n // block)).astype(np.int32)
    inside = np.arange(block, dtype=np.int32)
    # One order for all windows: there are too many of them for it to matter.
    if n > SCATTERED_NODES:
        rng.shuffle(inside)
    order = (blocks[:, None] * block + inside).reshape(-1)
    return order[order < n]
