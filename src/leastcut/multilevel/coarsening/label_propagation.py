"""The rule of label propagation: every node joins the group that it has the heaviest edges into.

A heavy edge says little in a network whose nodes have hundreds of them; that most of a node's
edges lead into one group says more. Groups grow as large as the clusters in them, up to a limit, so
one level does the work of many.

The nodes of a huge level are gathered in stretches of consecutive numbers, each by itself and by
any thread, where hardly any edge leads from one to another. The number of threads changes nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from leastcut.graph import Graph
from leastcut.kernels.coarsen import gather_leaves, propagate
from leastcut.multilevel.coarsening.heavy_edges import nearby_at_random
from leastcut.problem import Problem

ROUNDS = 3  # most rounds over all nodes: the first two make nearly all moves
# Fraction of nodes left above which leaves of hubs are gathered too: where a hub's group is full
# they have nobody to join.
STALLED = 0.75
# Above that size nodes of near numbers are visited together: memory is read faster, the order
# less random.
LARGE_NODES = 20_000
# Nodes of a stretch, and how few and how many there may be: stretches of fewer nodes have more
# edges that lead out, and more of them could not be sorted by numbers of two bytes.
STRETCH_NODES, FEWEST_STRETCHES, MOST_STRETCHES = 2**17, 3, 1024
LEAVING = 0.1  # part of the edges that may lead from one stretch to another: they do not gather
SAMPLED_EDGES = 2000  # edges that are looked at to tell
DEGREE_CLASSES = 33  # powers of two that a number of neighbours may have, and none
# Most that a group may weigh, in shares: what most edges hold together is hardly ever torn apart
# again, whatever its size.
HEAVIEST = 4.0


def label_propagation(
    problem: Problem,
    rng: np.random.Generator,
    share: float,
    parts: np.ndarray | None,
    n_threads: int = 1,
) -> np.ndarray:
    """Aggregate nodes by majority of their edges, those with few edges first.

    A heavy edge says little in a network whose nodes have hundreds of them; that most of a node's
    edges lead into one aggregate says more. Aggregates grow as large as the clusters in them, up to
    a limit, so one level does the work of many, and ends when they weigh one ``share`` on average.

    The nodes of a huge level are aggregated in stretches of consecutive numbers, each by itself and
    by any thread, if hardly any edge leads from one to another.
    """
    n, node_weights = problem.n_nodes, problem.node_weights
    # No parts are one part that holds all nodes: the kernel needs no second case.
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    leader, size, touched = np.empty((3, n), dtype=np.int32)
    stretch = _stretch(problem.graph)
    order = _visiting_order(np.diff(problem.graph.indptr), stretch, rng)
    # What threads share they write to at the nodes of their own stretch only.
    sums, scratch = (node_weights.copy(), size), (np.zeros(n), touched)

    def gather_stretch(start: int) -> None:
        stop = min(start + stretch, n)
        fewest = int(node_weights[start:stop].sum() / share)
        propagate(
            problem.arrays, parts, order, (start, stop), HEAVIEST * share, ROUNDS, fewest, leader,
            sums, scratch,
        )  # fmt: skip

    starts = range(0, n, stretch)
    if len(starts) == 1 or n_threads == 1:
        for start in starts:
            gather_stretch(start)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(gather_stretch, starts))
    size = np.bincount(leader, minlength=n).astype(np.int32)
    if np.count_nonzero(size) > STALLED * n:
        gather_leaves(problem.arrays, parts, order, HEAVIEST * share, leader, size, touched)
    return leader


def _stretch(graph: Graph) -> int:
    """Return how many nodes a stretch has: all of them if edges lead anywhere."""
    n = graph.n_nodes
    if n < FEWEST_STRETCHES * STRETCH_NODES or graph.n_stored == 0:
        return max(n, 1)
    # Evenly spread over the edges, so that the numbers of the nodes alone decide.
    at = np.linspace(0, graph.n_stored - 1, SAMPLED_EDGES).astype(np.int64)
    rows = np.searchsorted(graph.indptr, at, side="right") - 1
    stretch = max(STRETCH_NODES, -(-n // MOST_STRETCHES))
    leaving = rows // stretch != graph.indices[at] // stretch
    return stretch if np.mean(leaving) <= LEAVING else n


def _visiting_order(degrees: np.ndarray, stretch: int, rng: np.random.Generator) -> np.ndarray:
    """Return the nodes of every stretch by degree, and at random among equals.

    Hubs come last: by then their neighbors have found each other, and do not all follow them.
    """
    n = degrees.size
    order = nearby_at_random(n, LARGE_NODES, rng)
    if n <= LARGE_NODES and stretch >= n:
        key = degrees[order]
    else:
        # By powers of two, as more classes would tear apart again what is near.
        key = np.frexp(degrees[order].astype(np.float32))[1]
        if stretch < n:
            key += order // stretch * DEGREE_CLASSES
    # Numbers of two bytes are sorted in linear time.
    by_degree = np.minimum(key, np.iinfo(np.uint16).max).astype(np.uint16)
    return order[np.argsort(by_degree, kind="stable")]
