"""The rule of label propagation: every node joins the group that it has the heaviest edges into.

A heavy edge says little in a network whose nodes have hundreds of them; that most of a node's
edges lead into one group says more. Groups grow as large as the clusters in them, up to a limit, so
one level does the work of many.
"""

from __future__ import annotations

import numpy as np

from firstcut.cuts import Problem
from firstcut.kernels.coarsen import gather_leaves, propagate
from firstcut.partitioning.coarsening.heavy_edges import random_blocks

ROUNDS = 3
"""Most rounds over all nodes: the first two make nearly all moves."""

STALLED = 0.75
"""Fraction of nodes left above which leaves of hubs are gathered too: where a hub's group is full
they have nobody to join."""

LARGE_NODES, BLOCK_NODES = 20_000, 32
"""Above that size nodes are visited in blocks: memory is read faster, the order less random."""

HEAVIEST = 4.0
"""Most that a group may weigh, in shares: what most edges hold together is hardly ever torn apart
again, whatever its size."""


def label_propagation(
    problem: Problem, rng: np.random.Generator, share: float, parts: np.ndarray | None
) -> np.ndarray:
    """Gather nodes by majority of their edges, those with few edges first.

    Parameters
    ----------
    problem : Problem
    rng : Generator
        Draws the order of nodes with about as many edges.
    share : float
        No group weighs more than four of this, and gathering ends when groups weigh as much on
        average.
    parts : ndarray of shape (n,), int32, or None
        Nodes of different parts are never gathered.

    Returns
    -------
    ndarray of shape (n,), int32
        The leader of every node.
    """
    n, node_weights = problem.n_nodes, problem.node_weights
    # No parts are one part that holds all nodes: the kernel needs no second case.
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    leader, size, touched = np.empty((3, n), dtype=np.int32)
    order = _visiting_order(np.diff(problem.graph.indptr), rng)
    propagate(
        problem.arrays,
        parts,
        order,
        HEAVIEST * share,
        ROUNDS,
        int(node_weights.sum() / share),
        leader,
        (node_weights.copy(), size),
        (np.zeros(n), touched),
    )
    size = np.bincount(leader, minlength=n).astype(np.int32)
    if np.count_nonzero(size) > STALLED * n:
        gather_leaves(problem.arrays, parts, order, HEAVIEST * share, leader, size, touched)
    return leader


def _visiting_order(degrees: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the nodes by degree, and at random among equals, on large levels in blocks.

    Hubs come last: by then their neighbours have found each other, and do not all follow them.
    """
    n = degrees.size
    order = random_blocks(n, BLOCK_NODES if n > LARGE_NODES else 1, rng)
    # By powers of two, as more classes would tear the blocks apart again.
    key = np.frexp(degrees[order].astype(np.float32))[1] if n > LARGE_NODES else degrees[order]
    # Numbers of two bytes are sorted in linear time.
    by_degree = np.minimum(key, np.iinfo(np.uint16).max).astype(np.uint16)
    return order[np.argsort(by_degree, kind="stable")]
