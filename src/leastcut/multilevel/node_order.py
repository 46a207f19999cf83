"""Node orders with good memory locality.

Most of the time of a search is spent on memory access. On a graph of a million points in random
order, a pass takes much longer than with neighbors stored close to each other. Such an order
is computed from the graph (:func:`leastcut.kernels.order.number_by_locality`) in less time than it
saves in a pass over the edges, and coarse levels inherit it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leastcut.graph import Graph
from leastcut.kernels.order import number_by_locality, renumber_rows
from leastcut.problem import Problem
from leastcut.threads import Threads

ROW_NODES = 32  # consecutive nodes that are visited in order on large levels
# Above SCATTERED_NODES, windows of WINDOW_NODES nodes are visited one after another, in random
# order within the window. In consecutive order aggregates become elongated, and cuts larger.
SCATTERED_NODES, WINDOW_NODES = 50_000, 1024
BLOCK_NODES = 4096  # nodes numbered together; their edges fit into the cache of a core
NEAR_NODES = 2**15  # nodes whose numbers differ by less are close in memory
MOST_FAR = 0.3  # fraction of far edges above which renumbering saves time
SAMPLED_EDGES = 2000  # sample size for the fraction of far edges


@dataclass(frozen=True, eq=False)
class Numbering:
    """A problem with renumbered nodes.

    Node q is node ``order[q]`` of the original problem, whose node i is node ``place[i]``.
    """

    problem: Problem
    order: np.ndarray
    place: np.ndarray

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return labels in the new order, given labels in the original order."""
        return np.asarray(labels[self.order])

    def expand(self, labels: np.ndarray) -> np.ndarray:
        """Return labels in the original order, given labels in the new order."""
        return np.asarray(labels[self.place])


def nearby_at_random(n: int, few: int, rng: np.random.Generator) -> np.ndarray:
    """Return n nodes in random order; above ``few`` nodes, only blocks of nodes are shuffled."""
    if n <= few:
        return rng.permutation(n).astype(np.int32)
    block = ROW_NODES if n <= SCATTERED_NODES else WINDOW_NODES
    # The last block may extend beyond n.
    blocks = rng.permutation(-(-n // block)).astype(np.int32)
    inside = np.arange(block, dtype=np.int32)
    # All windows share one order.
    if n > SCATTERED_NODES:
        rng.shuffle(inside)
    order = (blocks[:, None] * block + inside).reshape(-1)
    return order[order < n]


def sampled_edges(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of a deterministic sample of edges."""
    at = np.linspace(0, graph.n_stored - 1, SAMPLED_EDGES).astype(np.int64)
    return np.searchsorted(graph.indptr, at, side="right") - 1, graph.indices[at]


def is_scattered(graph: Graph) -> bool:
    """Return whether many edges connect nodes with distant numbers."""
    if graph.n_stored == 0:
        return False
    rows, columns = sampled_edges(graph)
    return bool(np.mean(np.abs(rows - columns) > NEAR_NODES) > MOST_FAR)


def numbered_anew(problem: Problem, n_threads: int = 1) -> Numbering:
    """Renumber the nodes of a problem so that neighbors are close in memory.

    The result does not depend on the number of threads.
    """
    graph, n = problem.graph, problem.n_nodes
    # 1. Compute the new numbers.
    order = np.empty(n, dtype=np.int32)
    place = np.full(n, -1, dtype=np.int32)
    is_read = np.zeros(n, dtype=np.uint8)
    number_by_locality(graph.indptr, graph.indices, BLOCK_NODES, order, place, is_read)
    # 2. Write the rows in this order, in parallel blocks with similar numbers of edges.
    indptr = np.zeros_like(graph.indptr)
    np.cumsum(np.diff(graph.indptr)[order], out=indptr[1:])
    arrays = indptr, np.empty_like(graph.indices), np.empty_like(graph.weights)
    ends = np.searchsorted(indptr, np.linspace(0, graph.n_stored, n_threads + 1)).tolist()
    ends[0], ends[-1] = 0, n

    def rows(start: int, stop: int) -> None:
        old = graph.indptr, graph.indices, graph.weights
        renumber_rows(old, order, place, start, stop, arrays)

    with Threads(n_threads) as each:
        each(rows, ends[:-1], ends[1:])
    numbered = replace(
        problem,
        graph=Graph(*arrays),
        node_weights=problem.node_weights[order],
        constraints=problem.constraints.restricted(order),
    )
    return Numbering(numbered, order, place)
