"""Partitions whose clusters keep to limits of weight, made of ones that do not."""

from __future__ import annotations

import numpy as np

from leastcut.kernels.balance import FAR, fill, shed, spread_distances
from leastcut.multilevel.bisection import bisected
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem

# Rounds in which weight is handed on between clusters; most repairs need two or three.
MOST_ROUNDS = 50


def within_limits(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Return labels close to ``labels`` whose clusters keep to the problem's limits.

    None if none is found and the problem has no packing to fall back on.
    """
    limits = problem.limits
    assert limits is not None
    found = labels.astype(np.int32)
    if _repair(problem, found, n_clusters):
        return found
    return None if limits.packing is None else limits.packing.copy()


def balanced_start(
    problem: Problem, n_clusters: int, rng: np.random.Generator
) -> tuple[np.ndarray | None, int]:
    """Return labels that keep to the limits, or None, and the edges visited to find them."""
    labels, work = bisected(problem, n_clusters, rng)
    return within_limits(problem, labels, n_clusters), work


def _repair(problem: Problem, labels: np.ndarray, n_clusters: int) -> bool:
    """Move weight between clusters, in place, and return whether they then keep to the limits."""
    limits, n = problem.limits, problem.n_nodes
    assert limits is not None
    if limits.allow(np.bincount(labels, problem.node_weights, n_clusters)):
        return True
    state = State(problem, labels, n_clusters)
    assert state.limits is not None
    lightest, heaviest = state.limits
    heap, status = (np.empty(n), np.empty(n, dtype=np.int32)), np.zeros(n, dtype=np.uint8)
    least, weights = float(problem.node_weights.min()), state.cluster_weights
    # What a cluster must have room for, or be able to spare, to count: any node to begin with.
    room = float(problem.node_weights.max())
    for _ in range(MOST_ROUNDS):
        # 1. From those that are too heavy to those with room.
        moved = 0
        if (weights > heaviest).any():
            distance = np.where(weights + room <= heaviest, 0, FAR).astype(np.int32)
            spread_distances(state.arrays, labels, distance)
            members = np.argsort(labels, kind="stable").astype(np.int32)
            first = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=n_clusters))))
            moved += shed(
                state.arrays, state.sums, state.limits, state.scratch[0], distance, members, first,
                status, heap,
            )  # fmt: skip
        # 2. To those that are too light from those that can spare nodes.
        if (weights < lightest).any():
            distance = np.where(weights - room >= lightest, 0, FAR).astype(np.int32)
            spread_distances(state.arrays, labels, distance)
            moved += fill(state.arrays, state.sums, state.limits, distance, status, heap)
        # 3. By fresh sums: what is handed on many times gathers rounding.
        state.measure()
        if limits.allow(weights - problem.offset):
            return True
        if moved == 0:
            if room <= least:
                break
            room = max(0.5 * room, least)
    return False
