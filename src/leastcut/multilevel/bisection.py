"""Recursive bisection into clusters of similar weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from leastcut.kernels.bisect import split
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem

TRIES = 10  # starts of every split; the best result is kept
# Moves without a new best after which a chain ends, and rounds of chains from all border nodes.
PATIENCE, ROUNDS = 50, 3
SPLIT_EDGES = 10_000  # fixed cost of a split, in edges visited in the same time

# The side of every node, the number of clusters of each side, and the work.
Sides = tuple[np.ndarray, Sequence[int], int]


def split_recursively(
    n_nodes: int, n_clusters: int, divide: Callable[[np.ndarray, int], Sides | None]
) -> tuple[np.ndarray, int] | None:
    """Return labels and the number of visited edges, or None if ``divide`` returns None.

    ``divide(nodes, count)`` splits nodes that will form ``count`` clusters.
    """
    labels, work = np.empty(n_nodes, dtype=np.int32), 0
    # Nodes to split, the number of their first cluster, and their number of clusters.
    waiting = [(np.arange(n_nodes), 0, n_clusters)]
    while waiting:
        nodes, first, count = waiting.pop()
        if count == 1:
            labels[nodes] = first
            continue
        division = divide(nodes, count)
        if division is None:
            return None
        sides, numbers, visited = division
        work += visited
        for side, number in enumerate(numbers):
            waiting.append((nodes[sides == side], first, number))
            first += number
    return labels, work


def slack(node_weights: np.ndarray, heaviest: float, count: int, target: float) -> float:
    """Return the allowed deviation of a side from its ``target`` weight.

    The slack of the limits is divided evenly among the levels of recursion, for ``count`` clusters.
    At least the weight of the heaviest node is allowed.
    """
    total = float(node_weights.sum())
    spare = max(heaviest * count / total - 1.0, 0.0) / math.ceil(math.log2(count))
    return max(spare * min(target, total - target), float(node_weights.max()))


def bisected(problem: Problem, n_clusters: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return labels of non-empty clusters of similar weight, and the number of visited edges.

    The clusters may violate the limits of the problem slightly. ``rng`` samples the nodes that
    sides are grown from.
    """
    limits, free = problem.limits, problem.unconstrained()
    assert limits is not None

    def in_two(nodes: np.ndarray, count: int) -> Sides:
        if count == nodes.size:
            return np.arange(count), [1] * count, 0
        numbers = count // 2, count - count // 2
        sides, visited = _split(free.restrict(nodes), numbers, limits.heaviest, rng)
        return sides, numbers, visited + SPLIT_EDGES

    result = split_recursively(problem.n_nodes, n_clusters, in_two)
    assert result is not None
    return result


def _split(
    problem: Problem, numbers: tuple[int, int], heaviest: float, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Return a side for every node, and the work.

    Side s will be split into ``numbers[s]`` clusters, and has at least that many nodes.
    """
    n, weights, count = problem.n_nodes, problem.node_weights, sum(numbers)
    total = float(weights.sum())
    target = total * numbers[0] / count
    margin = slack(weights, heaviest, count, target)
    heavy = np.array([target + margin, total - target + margin])
    limits = problem.offset + (total - heavy[::-1]), problem.offset + heavy
    # 1. Grow a side from several nodes.
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
        state.arrays, orders, (target, problem.offset), np.array(numbers), limits,
        (PATIENCE, ROUNDS), state.sums, scratch, integers[4],
    )  # fmt: skip
    if value < math.inf:
        return integers[4], int(work)
    # 2. If that failed, because of few heavy nodes, assign each to the side that lacks most weight.
    sides = np.empty(n, dtype=np.int32)
    missing_weight, left = np.array([target, total - target]), np.array(numbers)
    for rank, i in enumerate(np.argsort(-weights, kind="stable").tolist()):
        side = int(np.argmax(missing_weight))
        # Each side needs enough nodes for its clusters.
        if left[1 - side] >= n - rank:
            side = 1 - side
        sides[i] = side
        missing_weight[side] -= weights[i]
        left[side] = max(left[side] - 1, 0)
    return sides, int(work)
