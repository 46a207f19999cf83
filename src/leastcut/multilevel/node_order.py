"""Orders of nodes in which memory is read fast: most of a search is reading memory.

In a graph of a million points in random order every edge leads to somewhere else in memory, and a
pass takes three times as long as if near points have near numbers. Such numbers follow from the
graph alone (:func:`leastcut.kernels.order.number_by_locality`), in less time than a single pass
over the edges saves, and levels inherit them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leastcut.graph import Graph
from leastcut.kernels.order import number_by_locality, renumber_rows
from leastcut.problem import Problem
from leastcut.threads import Threads

# Nodes that are visited in a row on large levels: memory is read faster, the order less random.
ROW_NODES = 32
# Above that size so many nodes are visited one after another, but at random among themselves. In
# a row they would follow each other: where numbers tell who is near whom, aggregates become long,
# and cuts a tenth larger.
SCATTERED_NODES, WINDOW_NODES = 50_000, 1024
BLOCK_NODES = 4096  # nodes that are numbered together: their edges stay in a CPU's own cache
# Numbers that differ by less are near: what lies between them is still in fast memory.
NEAR_NODES = 2**15
MOST_FAR = 0.3  # fraction of far edges above which new numbers gain more than they cost
SAMPLED_EDGES = 2000  # edges that are looked at to tell where edges lead


@dataclass(frozen=True, eq=False)
class Numbering:
    """A problem with other numbers for its nodes.

    Node q of it is node ``order[q]`` of the original, whose node i is node ``place[i]`` of it.
    """

    problem: Problem
    order: np.ndarray
    place: np.ndarray

    def restrict(self, labels: np.ndarray) -> np.ndarray:
        """Return labels by new numbers, given those by old ones."""
        return np.asarray(labels[self.order])

    def expand(self, labels: np.ndarray) -> np.ndarray:
        """Return labels by old numbers, given those by new ones."""
        return np.asarray(labels[self.place])


def nearby_at_random(n: int, few: int, rng: np.random.Generator) -> np.ndarray:
    """Return n nodes in random order, but above ``few`` nodes those of near numbers together."""
    if n <= few:
        return rng.permutation(n).astype(np.int32)
    block = ROW_NODES if n <= SCATTERED_NODES else WINDOW_NODES
    # Rounded up: the last block may reach beyond the nodes, and what does is taken off below.
    blocks = rng.permutation(-(-n // block)).astype(np.int32)
    inside = np.arange(block, dtype=np.int32)
    # One order for all windows: there are too many of them for it to matter.
    if n > SCATTERED_NODES:
        rng.shuffle(inside)
    order = (blocks[:, None] * block + inside).reshape(-1)
    return order[order < n]


def sampled_edges(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of some edges, spread evenly, so that the numbers of nodes alone decide."""
    at = np.linspace(0, graph.n_stored - 1, SAMPLED_EDGES).astype(np.int64)
    return np.searchsorted(graph.indptr, at, side="right") - 1, graph.indices[at]


def is_scattered(graph: Graph) -> bool:
    """Return whether most edges lead between nodes whose numbers are far from each other."""
    if graph.n_stored == 0:
        return False
    rows, columns = sampled_edges(graph)
    return bool(np.mean(np.abs(rows - columns) > NEAR_NODES) > MOST_FAR)


def numbered_anew(problem: Problem, n_threads: int = 1) -> Numbering:
    """Number the nodes of a problem so that neighbors are near each other.

    The number of threads changes nothing in the result.
    """
    graph, n = problem.graph, problem.n_nodes
    # 1. Find the new numbers.
    order = np.empty(n, dtype=np.int32)
    place = np.full(n, -1, dtype=np.int32)
    is_read = np.zeros(n, dtype=np.uint8)
    number_by_locality(graph.indptr, graph.indices, BLOCK_NODES, order, place, is_read)
    # 2. Write the rows in their order, blocks of about as many edges by every thread.
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
