"""Multilevel passes: solve a small graph that stands for a large one, and refine on the way up.

A pass from nothing (:func:`fresh`) starts at clusters grown on a small level by agglomeration, or
at that level's spectral solution where it is better. A V-cycle (:func:`cycle`) coarsens inside the
clusters it is given, and :func:`recombine` inside the intersections of two partitions, so neither
ends above where it starts. All are functions of a level and a generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from firstcut.discretization import discretize
from firstcut.partitioning.hierarchy import Step, agglomerate, build, coarse_labels
from firstcut.partitioning.refinement import Level, State
from firstcut.relaxation import Relaxation, relax

CLIMB_NODES = 1000
"""Levels up to this size are also refined by chains of moves; above it they cost too much."""

PATIENCE = 15
"""Moves without a new best after which a chain ends."""

CLIMB_EDGES = 20
"""A round of chains may visit this many times the stored edges."""

CYCLE_NODES = 4
"""V-cycles and recombinations coarsen to about this many nodes per cluster."""

SPECTRAL_NODES = 1500
"""Largest coarse level whose spectral solution competes with agglomeration."""

SPECTRAL_CLUSTERS = 50
"""Most clusters for which it does; eigenvectors by the hundred cost more than they bring."""

LEVEL_EDGES = 10_000
"""Edges that could be visited in the time that a level takes however small it is."""

MOST_PRODUCT = 46_340
"""Most clusters for which a pair of labels fits one int32."""

WIDEST_RANGE = 1e12
"""Ratio of largest to smallest weight beyond which an eigensolver is not asked."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition found by a pass.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
    value : float
        Its cut value on the level it was made for.
    work : int
        Edges visited to find it.
    """

    labels: np.ndarray
    value: float
    work: int


def fresh(
    level: Level,
    n_clusters: int,
    rng: np.random.Generator,
    smallest: int,
    *,
    spectral: bool = False,
) -> Candidate:
    """Find a partition from nothing, in one pass down and up.

    Parameters
    ----------
    level : Level
    n_clusters : int
    rng : Generator
    smallest : int
        Gather nodes down to about this many, then agglomerate. Fewer are faster, more find finer
        clusters.
    spectral : bool
        Whether the spectral solution of that level, if affordable, is tried as well.

    Returns
    -------
    Candidate
        When the graph has at least ``n_clusters`` components, one that cuts no edge.
    """
    steps = build(level, rng, max(smallest, n_clusters))
    low = steps[-1].level if steps else level
    count, component = low_components(low)
    if count >= n_clusters:
        labels = spread(component, n_clusters)
        for step in reversed(steps):
            labels = labels[step.parent]
        return Candidate(labels, 0.0, hierarchy_work(level, steps))
    found = _grown(low, n_clusters, rng)
    affordable = low.n_nodes <= SPECTRAL_NODES and n_clusters <= SPECTRAL_CLUSTERS
    if spectral and affordable and within_eigensolvers_range(low):
        found = min(found, spectral_start(low, n_clusters, rng), key=lambda one: one.value)
    state = uncoarsen(level, steps, found.labels, n_clusters, rng)
    return Candidate(state.labels, state.value, state.work)


def cycle(level: Level, labels: np.ndarray, n_clusters: int, rng: np.random.Generator) -> Candidate:
    """Coarsen inside the clusters and refine on the way up again: a V-cycle, never worse."""
    steps = build(level, rng, CYCLE_NODES * n_clusters, labels)
    state = uncoarsen(level, steps, coarse_labels(steps, labels), n_clusters, rng)
    return Candidate(state.labels, state.value, state.work)


def recombine(
    level: Level,
    better: np.ndarray,
    other: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    regrow: bool = False,
) -> Candidate:
    """Coarsen inside the intersections of two partitions and refine from the better one.

    With ``regrow`` the intersections are also agglomerated anew, and the better of the two starts
    is taken. Never worse than ``better``. The graph must have fewer components than clusters.
    """
    cells = better.astype(np.int64) * n_clusters + other
    if n_clusters > MOST_PRODUCT:
        cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
    steps = build(level, rng, CYCLE_NODES * n_clusters, cells.astype(np.int32))
    low = steps[-1].level if steps else level
    labels = coarse_labels(steps, better)
    if regrow:
        start = State(low, labels, n_clusters)
        improve(start, rng)
        grown = _grown(low, n_clusters, rng)
        labels = grown.labels if grown.value < start.value else start.labels
    state = uncoarsen(level, steps, labels, n_clusters, rng)
    return Candidate(state.labels, state.value, state.work)


def improve(state: State, rng: np.random.Generator, nodes: np.ndarray | None = None) -> None:
    """Settle, starting at ``nodes`` (default: all); on small levels also climb from the border."""
    state.settle(nodes)
    if state.level.n_nodes <= CLIMB_NODES:
        seeds = np.flatnonzero(state.on_border()).astype(np.int32)
        rng.shuffle(seeds)
        state.climb(seeds, PATIENCE, CLIMB_EDGES * state.level.n_stored)
        state.measure()


def uncoarsen(
    level: Level,
    steps: list[Step],
    labels: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
) -> State:
    """Carry labels of the coarsest level up to ``level``, improving at each; changes ``labels``.

    Between the coarsest and the finest level, only nodes of coarse border nodes are looked at to
    begin with: the others have all their neighbours in their own cluster.
    """
    levels = [level, *(step.level for step in steps)]
    state = State(levels[-1], labels, n_clusters)
    improve(state, rng)
    work = hierarchy_work(level, steps)
    for finer, step in zip(levels[-2::-1], steps[::-1], strict=True):
        active = None
        if finer is not level:
            active = np.flatnonzero(state.on_border()[step.parent])
        work += state.work
        state = State(finer, state.labels[step.parent], n_clusters, same=state)
        improve(state, rng, active)
    state.work += work
    state.measure()
    return state


def spectral_start(
    level: Level, n_clusters: int, rng: np.random.Generator, relaxation: Relaxation | None = None
) -> Candidate:
    """Discretize a level's eigenvectors, judged by the cut value, and improve the result."""
    n = level.n_nodes
    graph = sp.csr_array((level.weights, level.indices, level.indptr), shape=(n, n))
    b = level.node_weights
    if relaxation is None:
        relaxation = relax(graph, n_clusters, b, random_state=rng)
    found = discretize(relaxation, "first_order", graph=graph, cut=b, random_state=rng)
    state = State(level, found.labels.astype(np.int32), n_clusters)
    improve(state, rng)
    return Candidate(state.labels, state.value, state.work)


def within_eigensolvers_range(level: Level) -> bool:
    """Whether weights span no more orders of magnitude than an eigensolver can tell apart."""
    return all(
        weights.size == 0 or weights.max() <= WIDEST_RANGE * weights.min()
        for weights in (level.weights, level.node_weights)
    )


def low_components(level: Level) -> tuple[int, np.ndarray]:
    """Return how many connected components a level has, and the component of every node."""
    n = level.n_nodes
    matrix = sp.csr_array((level.weights, level.indices, level.indptr), shape=(n, n))
    count, component = sp.csgraph.connected_components(matrix, directed=False)
    return int(count), component


def spread(component: np.ndarray, n_groups: int) -> np.ndarray:
    """Group components into ``n_groups`` non-empty groups of about even numbers of nodes."""
    order = np.argsort(-np.bincount(component), kind="stable")
    turn = np.arange(order.size) % (2 * n_groups)
    group = np.empty(order.size, dtype=np.int32)
    group[order] = np.minimum(turn, 2 * n_groups - 1 - turn)  # there and back again
    return np.asarray(group[component])


def hierarchy_work(level: Level, steps: list[Step]) -> int:
    """Edges visited to build a hierarchy: for each level, once to gather and twice to contract.

    What a level costs besides its edges is counted in edges too.
    """
    stored = level.n_stored + sum(step.level.n_stored for step in steps[:-1])
    return (3 * stored if steps else 0) + LEVEL_EDGES * (len(steps) + 1)


def _grown(level: Level, n_clusters: int, rng: np.random.Generator) -> Candidate:
    """Agglomerate a level to ``n_clusters`` nodes, each a cluster, and refine on the way up."""
    steps = agglomerate(level, n_clusters)
    state = uncoarsen(level, steps, np.arange(n_clusters, dtype=np.int32), n_clusters, rng)
    return Candidate(state.labels, state.value, state.work)
