"""Clusters of about equal weight, by cutting the whole in two again and again with passes.

Cutting in two is what passes do best, as limits leave most room there. What a graph has of few
long borders, as meshes do, is found so and is hardly found by passes that make all clusters at
once: each of these borders is then a chain of many short ones.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leastcut.constraints import Limits
from leastcut.multilevel.bisection import bisected
from leastcut.multilevel.levels import Coarsening, smallest_level
from leastcut.multilevel.passes import Trial, fresh, recombine
from leastcut.problem import Problem

HALVES = 2  # passes by which a part is cut in two; what they find is recombined


def halved(
    problem: Problem, n_clusters: int, rng: np.random.Generator, coarsening: Coarsening
) -> tuple[np.ndarray, int] | None:
    """Return labels of clusters of about equal weight, and the edges visited to find them.

    Parts are cut in two as long as their number of clusters is even, and then into all of them by
    one pass. The limits may be passed slightly. None where time is up before.
    """
    limits = problem.limits
    assert limits is not None
    labels, work = np.zeros(problem.n_nodes, dtype=np.int32), 0
    # The nodes that are to be cut, the number of the first of their clusters, and how many.
    waiting = [(np.arange(problem.n_nodes), 0, n_clusters)]
    while waiting:
        if coarsening.is_late():
            return None
        nodes, first, count = waiting.pop()
        part, half = problem.with_limits(limits.of_level()).restrict(nodes), count // 2
        if count == 1:
            labels[nodes] = first
            continue
        # 1. Cut it in two, if each side has nodes enough for its clusters.
        if count == 2 * half < nodes.size:
            found = _in_two(_limited(part, count), rng, coarsening)
            if found is not None and half <= np.count_nonzero(found.labels) <= nodes.size - half:
                waiting.append((nodes[found.labels == 0], first, half))
                waiting.append((nodes[found.labels == 1], first + half, half))
                work += found.work
                continue
        # 2. Or into all of its clusters, which keep to the limits about.
        smallest = smallest_level(part.n_nodes, count)
        whole = fresh(part, count, rng, smallest, coarsening=coarsening)
        own, visited = bisected(part, count, rng) if whole is None else (whole.labels, whole.work)
        labels[nodes] = first + own
        work += visited
    return labels, work


def _limited(part: Problem, count: int) -> Problem:
    """Return a part with limits for its halves, each to be cut further into half of ``count``.

    Each may use its part of what the limits leave; the others are for later halvings.
    """
    limits = part.limits
    assert limits is not None
    total = float(part.node_weights.sum())
    spare = max(limits.heaviest * count / total - 1.0, 0.0) / math.ceil(math.log2(count))
    room = max(0.5 * spare * total, float(part.node_weights.max()))
    return part.with_limits(Limits(0.5 * total - room, 0.5 * total + room))


def _in_two(part: Problem, rng: np.random.Generator, coarsening: Coarsening) -> Trial | None:
    """Cut a part in two by passes and their recombination; None where none finds any."""
    smallest, best, work = smallest_level(part.n_nodes, 2), None, 0
    for _ in range(HALVES):
        found = fresh(part, 2, rng, smallest, coarsening=coarsening)
        if found is None:
            continue
        work += found.work
        if best is not None and found.value > 0.0:
            better, other = (found, best) if found.beats(best) else (best, found)
            joined = recombine(part, better.labels, other.labels, 2, rng, coarsening=coarsening)
            work += joined.work
            found = joined if joined.beats(better) else better
        best = found
    return None if best is None else replace(best, work=work)
