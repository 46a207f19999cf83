"""Clusters of about equal weight, by splitting a problem in two again and again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from leastcut.kernels.bisect import split
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem

TRIES = 10  # starts of every split, of which the best is taken
# Moves without a new best after which a chain ends, and how often chains begin at all nodes of
# the border.
PATIENCE, ROUNDS = 50, 3
# Edges that could be visited in the time that a split takes however small it is.
SPLIT_EDGES = 10_000

# The side of every node, in how many clusters each side is to be split further, and the work.
Sides = tuple[np.ndarray, Sequence[int], int]


def split_recursively(
    n_nodes: int, n_clusters: int, divide: Callable[[np.ndarray, int], Sides | None]
) -> tuple[np.ndarray, int] | None:
    """Return labels and the edges visited to find them, or None as soon as a division is None.

    ``divide(nodes, count)`` divides nodes that are to become ``count`` clusters.
    """
    labels, work = np.empty(n_nodes, dtype=np.int32), 0
    # The nodes that are to be split, the number of the first of their clusters, and how many.
    waiting = [(np.arange(n_nodes), 0, n_clusters)]
    while waiting:
        nodes, first, count = waiting.pop()
        if count == 1:
            labels[nodes] = first
            continue
        found = divide(nodes, count)
        if found is None:
            return None
        sides, numbers, visited = found
        work += visited
        for side, number in enumerate(numbers):
            waiting.append((nodes[sides == side], first, number))
            first += number
    return labels, work


def slack(node_weights: np.ndarray, heaviest: float, count: int, wanted: float) -> float:
    """Return by how much a side of a split for ``count`` clusters may miss its ``wanted`` weight.

    It may use its part of what the limits leave: the other parts are for later splits. It need not
    be nearer to what is wanted than nodes are light.
    """
    total = float(node_weights.sum())
    spare = max(heaviest * count / total - 1.0, 0.0) / math.ceil(math.log2(count))
    return max(spare * min(wanted, total - wanted), float(node_weights.max()))


def bisected(problem: Problem, n_clusters: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return labels of non-empty clusters of about equal weight, and the edges visited.

    The problem has limits, which may be passed slightly. ``rng`` draws where sides begin to grow.
    """
    limits, free = problem.limits, problem.unconstrained()
    assert limits is not None

    def in_two(nodes: np.ndarray, count: int) -> Sides:
        if count == nodes.size:
            return np.arange(count), [1] * count, 0
        numbers = count // 2, count - count // 2
        sides, visited = _split(free.restrict(nodes), numbers, limits.heaviest, rng)
        return sides, numbers, visited + SPLIT_EDGES

    found = split_recursively(problem.n_nodes, n_clusters, in_two)
    assert found is not None
    return found


def _split(
    problem: Problem, numbers: tuple[int, int], heaviest: float, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Return a side for every node, to be split further into its number of clusters, and the work.

    No side has fewer nodes than clusters.
    """
    n, weights, count = problem.n_nodes, problem.node_weights, sum(numbers)
    total = float(weights.sum())
    wanted = total * numbers[0] / count
    room = slack(weights, heaviest, count, wanted)
    heavy = np.array([wanted + room, total - wanted + room])
    limits = problem.offset + (total - heavy[::-1]), problem.offset + heavy
    # 1. Try from several nodes.
    orders = np.empty((TRIES, n), dtype=np.int32)
    for row in orders:
        row[:] = rng.permutation(n)
    state = State(problem, np.zeros(n, dtype=np.int32), 2)
    places = problem.graph.n_stored + n
    integers = np.empty((5, n), dtype=np.int32)
    chain = np.empty(n), integers[0], np.zeros(n, dtype=np.uint8), integers[1], integers[2]
    heap = np.empty(places), np.empty(places, dtype=np.int32)
    scratch = state.scratch, chain, heap, np.empty(n, dtype=np.uint8), integers[3]
    value, work = split(
        state.arrays, orders, (wanted, problem.offset), np.array(numbers), limits,
        (PATIENCE, ROUNDS), state.sums, scratch, integers[4],
    )  # fmt: skip
    if value < math.inf:
        return integers[4], int(work)
    # 2. Few nodes, some of them heavy: by weight alone, to the side that lacks most of it.
    sides = np.empty(n, dtype=np.int32)
    lacking, left = np.array([wanted, total - wanted]), np.array(numbers)
    for rank, i in enumerate(np.argsort(-weights, kind="stable").tolist()):
        side = int(np.argmax(lacking))
        # Each side must still get its number of nodes.
        if left[1 - side] >= n - rank:
            side = 1 - side
        sides[i] = side
        lacking[side] -= weights[i]
        left[side] = max(left[side] - 1, 0)
    return sides, int(work)
