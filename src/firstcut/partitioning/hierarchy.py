"""Hierarchies of graphs, each about half the one before, whose partitions keep their cut values."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from firstcut.kernels.coarsen import (
    contract,
    gather,
    gather_leaves,
    gather_listed,
    list_members,
    number_groups,
)
from firstcut.partitioning.refinement import Level

GROUP_NODES = 4
"""Most nodes in one coarse node, per step, on levels of more than"""

LARGE_NODES = 2000
"""this many nodes. On smaller ones, and inside given parts, where a pass polishes, two."""

STALLED = 0.75
"""Where gathering leaves more than this fraction of the nodes, leaves of hubs are paired too."""

BLOCK_NODES = 32
"""On large levels blocks of this many neighbours in memory are visited in random order."""

SPENT = 0.95
"""A level that keeps more than this fraction of the nodes is not worth having."""

MERGED_SHARE = 6
"""One step of agglomeration makes the best pairs of one in this many nodes."""

MOST_THREADS = 8
"""More threads than this gain little on what memory has to bring."""

BLOCK_EDGES = 200_000
"""Stored edges per block of rows that is contracted by one thread."""


@dataclass(frozen=True, eq=False)
class Step:
    """One step down: the coarser level, and the coarse node of every node above it."""

    level: Level
    parent: np.ndarray


def coarsen(
    level: Level, rng: np.random.Generator, max_mass: float, parts: np.ndarray | None = None
) -> Step:
    """Gather nodes along heavy edges and contract the groups.

    Parameters
    ----------
    level : Level
    rng : Generator
        Draws the order in which nodes choose whom to join.
    max_mass : float
        No group weighs more than this.
    parts : ndarray of shape (n,), int32, optional
        Nodes of different parts are never gathered, so a partition made of whole parts is also
        one of the coarse level, with the same value.

    Returns
    -------
    Step
    """
    n = level.n_nodes
    most = GROUP_NODES if n > LARGE_NODES and parts is None else 2
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    order = visiting_order(n, rng)
    leader = np.empty(n, dtype=np.int32)
    size = np.empty(n, dtype=np.int32)
    inverse = 1.0 / level.node_weights
    gather(*level.csr, inverse, parts, order, most, max_mass, leader, size, np.empty(n))
    if np.count_nonzero(leader == np.arange(n, dtype=np.int32)) > STALLED * n:
        scratch = np.empty(n, dtype=np.int32)
        gather_leaves(*level.csr, parts, order, max_mass, leader, size, scratch)
    return contracted(level, leader)


def visiting_order(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n nodes in random order; on large levels in blocks, which memory is faster with."""
    if n <= LARGE_NODES:
        return rng.permutation(n).astype(np.int32)
    blocks = rng.permutation(-(-n // BLOCK_NODES)).astype(np.int32)
    order = (blocks[:, None] * BLOCK_NODES + np.arange(BLOCK_NODES, dtype=np.int32)).reshape(-1)
    return order[order < n]


def contracted(level: Level, leader: np.ndarray) -> Step:
    """Return the level in which all nodes with the same leader are one node.

    ``leader[i]`` is a node that leads itself. Blocks of rows are contracted by several threads on
    large levels, which changes nothing in the result.
    """
    n = level.n_nodes
    parent = np.empty(n, dtype=np.int32)
    first = np.empty(n + 1, dtype=np.int32)
    size = int(number_groups(leader, parent, first))
    first = first[: size + 1]
    members = np.empty(n, dtype=np.int32)
    masses = np.zeros(size)
    list_members(parent, first, level.node_weights, members, masses)
    reach = np.concatenate(([0], np.cumsum(np.diff(level.indptr)[members])))[first]
    threads = max(1, min(available_threads(), level.n_stored // BLOCK_EDGES))
    edges = np.searchsorted(reach, np.linspace(0, reach[-1], threads + 1)[1:-1])
    cuts = [0, *edges.tolist(), size]

    def block(start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        room = int(reach[stop] - reach[start])
        indptr = np.zeros(size + 1, dtype=level.indptr.dtype)
        indices = np.empty(room, dtype=np.int32)
        weights = np.empty(room)
        place = np.full(size, -1, dtype=level.indptr.dtype)
        filled = contract(
            level.indptr, level.indices, level.weights, parent, first, members, start, stop,
            place, indptr, indices, weights,
        )  # fmt: skip
        return indptr[start + 1 : stop + 1], indices[:filled], weights[:filled]

    if threads == 1:
        parts = [block(0, size)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(block, cuts[:-1], cuts[1:]))
    indptr = np.zeros(size + 1, dtype=level.indptr.dtype)
    filled = 0
    for start, stop, part in zip(cuts[:-1], cuts[1:], parts, strict=True):
        np.add(part[0], filled, out=indptr[start + 1 : stop + 1])
        filled += part[1].size
    indices = np.concatenate([part[1] for part in parts])
    weights = np.concatenate([part[2] for part in parts])
    return Step(Level(indptr, indices, weights, masses), parent)


def build(
    level: Level, rng: np.random.Generator, smallest: int, parts: np.ndarray | None = None
) -> list[Step]:
    """Coarsen until about ``smallest`` nodes are left, or pairing gets nowhere."""
    steps: list[Step] = []
    max_mass = 1.5 * float(level.node_weights.sum()) / smallest
    while level.n_nodes > smallest:
        step = coarsen(level, rng, max_mass, parts)
        if step.level.n_nodes > SPENT * level.n_nodes:
            break
        if parts is not None:
            parts = coarse_labels([step], parts)
        steps.append(step)
        level = step.level
    return steps


def available_threads() -> int:
    """Return how many threads are worth starting here."""
    if hasattr(os, "sched_getaffinity"):
        return min(MOST_THREADS, len(os.sched_getaffinity(0)))
    return min(MOST_THREADS, os.cpu_count() or 1)


def coarse_labels(steps: list[Step], labels: np.ndarray) -> np.ndarray:
    """Carry labels down a hierarchy that never pairs nodes of different labels; a copy."""
    for step in steps:
        coarse = np.empty(step.level.n_nodes, dtype=labels.dtype)
        coarse[step.parent] = labels
        labels = coarse
    return labels if steps else labels.copy()


def agglomerate(level: Level, n_clusters: int) -> list[Step]:
    """Coarsen a small level on, to exactly ``n_clusters`` nodes, by the merges that cut least.

    Taken as clusters, nodes i and j that become one lower the cut value by r_i + r_j − r_ij. Each
    step makes the best of these merges. The level must have fewer than ``n_clusters`` components.
    """
    steps: list[Step] = []
    while level.n_nodes > n_clusters:
        n = level.n_nodes
        source = np.repeat(np.arange(n, dtype=np.int32), np.diff(level.indptr))
        once = np.flatnonzero(source < level.indices)
        source, target, weights = source[once], level.indices[once], level.weights[once]
        boundary = np.bincount(source, weights, n) + np.bincount(target, weights, n)
        ratio = boundary / level.node_weights
        joint = (boundary[source] - weights) + (boundary[target] - weights)
        gain = ratio[source] + ratio[target]
        gain -= joint / (level.node_weights[source] + level.node_weights[target])
        best = np.argsort(-gain, kind="stable")
        most = min(n - n_clusters, max(1, n // MERGED_SHARE))
        leader = np.empty(n, dtype=np.int32)
        gather_listed(source[best], target[best], most, leader, np.empty(n, dtype=np.int32))
        steps.append(contracted(level, leader))
        level = steps[-1].level
    return steps
