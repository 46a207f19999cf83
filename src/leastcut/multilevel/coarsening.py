"""Coarsening: hierarchies of smaller and smaller problems that preserve cut values.

Contracting aggregates of nodes sums the weights of their nodes and of the edges between them. Edges
inside an aggregate are never cut, so a partition of the coarse problem has the same value as the
corresponding partition of the fine problem.

A coarsening rule is a function ``(problem, rng, target_weight, parts, n_threads) -> aggregates``.
``aggregates[i]`` is the id of the aggregate of node i: its root, a node r with ``aggregates[r] ==
r``. ``target_weight`` is the average weight of a node on the smallest level; an aggregate of
several nodes weighs at most :data:`MOST_TARGETS` times as much. Nodes of different ``parts`` (an
array, or None) are never aggregated. The result does not depend on the number of threads. To add a
rule, write a function and add it to :data:`COARSENING_RULES`; efforts refer to rules by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leastcut.graph import Graph
from leastcut.kernels.coarsen import aggregate, aggregate_leaves, aggregate_pairs, propagate
from leastcut.multilevel.node_order import nearby_at_random, sampled_edges
from leastcut.problem import Problem
from leastcut.reductions import contracted
from leastcut.threads import Threads

# Above this number of nodes, heavy_edges makes larger aggregates, faster.
LARGE_NODES = 2000
# Largest number of nodes of an aggregate: on large levels, which gives fewer but slightly worse
# levels, and on small levels or inside parts.
MOST_NODES, PAIR = 4, 2
# Largest weight of an aggregate in target weights, for heavy_edges and for all rules: a smaller
# one makes nodes more uniform, but large aggregates are rarely wrong.
HEAVIEST, MOST_TARGETS = 1.5, 4.0
# If more than this fraction of the nodes remains, leaves of hubs are aggregated too, in another
# pass over all edges; otherwise they can only join the aggregate of their hub, which is soon full.
STALLED = 0.75
ROUNDS = 3  # rounds of label propagation; the first two make nearly all moves
BLOCKED_NODES = 20_000  # above this size, nodes with similar numbers are visited together
# Nodes per block of label propagation, and the smallest and largest number of blocks: smaller
# blocks have more edges between them, and more blocks could not be sorted by 16-bit keys.
BLOCK_NODES, FEWEST_BLOCKS, MOST_BLOCKS = 2**17, 3, 1024
LEAVING = 0.1  # largest fraction of edges between blocks
DEGREE_CLASSES = 33  # classes of degrees by powers of two, including degree 0

# A pass coarsens to START_NODES per cluster, or FEW_NODES in total if that is less, but at least to
# LEAST_NODES per cluster: larger is slower and better.
START_NODES, FEW_NODES, LEAST_NODES = 40, 320, 12
VARIED_NODES = (10, 100)  # nodes per cluster of further passes are sampled from this range
# Small graphs are coarsened to one in SMALL_RATIO nodes, but at least FEWEST_NODES per cluster.
SMALL_RATIO, FEWEST_NODES = 4, 2
SPENT = 0.95  # coarsening ends at a level that keeps more than this fraction of the nodes
# A step of agglomeration merges at most one in MERGED_RATIO nodes: more steps find better merges,
# at the cost of a contraction each. It sorts LISTED_EDGES edges per merge. If there are no edges to
# merge along, it considers all pairs of up to PAIRED_NODES nodes.
MERGED_RATIO, LISTED_EDGES, PAIRED_NODES = 4, 10, 1000

Rule = Callable[[Problem, np.random.Generator, float, np.ndarray | None, int], np.ndarray]

# -- rules


def heavy_edges(
    problem: Problem,
    rng: np.random.Generator,
    target_weight: float,
    parts: np.ndarray | None,
    n_threads: int = 1,
) -> np.ndarray:
    """Aggregate nodes along heavy edges, in random order.

    The score of an edge is S_ij (1/b_i + 1/b_j), its contribution to the cut value if i and j are
    single clusters. The rule is sequential and uses one thread.
    """
    n, max_weight = problem.n_nodes, HEAVIEST * target_weight
    most_nodes = MOST_NODES if n > LARGE_NODES and parts is None else PAIR
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    order = nearby_at_random(n, LARGE_NODES, rng)
    aggregates, size = np.empty((2, n), dtype=np.int32)
    # One division per node, instead of two per edge in the kernel.
    inverse = 1.0 / np.maximum(problem.node_weights, np.finfo(np.float64).tiny)
    scratch = aggregates, size, np.empty(n)
    aggregate(problem.arrays, inverse, parts, order, most_nodes, max_weight, scratch)
    if np.count_nonzero(aggregates == np.arange(n, dtype=np.int32)) > STALLED * n:
        waiting = np.empty(n, dtype=np.int32)
        aggregate_leaves(problem.arrays, parts, order, max_weight, aggregates, size, waiting)
    return aggregates


def label_propagation(
    problem: Problem,
    rng: np.random.Generator,
    target_weight: float,
    parts: np.ndarray | None,
    n_threads: int = 1,
) -> np.ndarray:
    """Aggregate nodes by size-constrained label propagation, in the order of their degrees.

    Each node joins the aggregate to which most of its edge weight leads. In networks with hundreds
    of edges per node, this is more reliable than single heavy edges. Aggregates can grow to the
    target weight in one level, which replaces many levels of pairs.

    Huge levels are split into blocks of consecutive nodes, which are processed independently and in
    parallel if few edges connect different blocks.
    """
    n, node_weights, max_weight = (
        problem.n_nodes,
        problem.node_weights,
        MOST_TARGETS * target_weight,
    )
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    aggregates, size, touched = np.empty((3, n), dtype=np.int32)
    block_size = _block_size(problem.graph)
    order = _visiting_order(np.diff(problem.graph.indptr), block_size, rng)
    # Threads write to shared arrays at the nodes of their block only.
    sums, scratch = (node_weights.copy(), size), (np.zeros(n), touched)

    def aggregate_block(start: int) -> None:
        ends = start, min(start + block_size, n)
        fewest = int(node_weights[slice(*ends)].sum() / target_weight)
        propagate(
            problem.arrays, parts, order, ends, max_weight, ROUNDS, fewest, aggregates, sums,
            scratch,
        )  # fmt: skip

    starts = range(0, n, block_size)
    if len(starts) == 1 or n_threads == 1:
        for start in starts:
            aggregate_block(start)
    else:
        with Threads(n_threads) as each:
            each(aggregate_block, starts)
    size = np.bincount(aggregates, minlength=n).astype(np.int32)
    if np.count_nonzero(size) > STALLED * n:
        aggregate_leaves(problem.arrays, parts, order, max_weight, aggregates, size, touched)
    return aggregates


def _block_size(graph: Graph) -> int:
    """Return the number of nodes per block; all nodes if too many edges connect blocks."""
    n = graph.n_nodes
    if n < FEWEST_BLOCKS * BLOCK_NODES or graph.n_stored == 0:
        return max(n, 1)
    rows, columns = sampled_edges(graph)
    block_size = max(BLOCK_NODES, -(-n // MOST_BLOCKS))
    leaving = rows // block_size != columns // block_size
    return block_size if np.mean(leaving) <= LEAVING else n


def _visiting_order(degrees: np.ndarray, block_size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the nodes of every block by degree, and in random order among equals.

    Hubs come last, when their neighbors have formed aggregates and do not all join them.
    """
    n = degrees.size
    order = nearby_at_random(n, BLOCKED_NODES, rng)
    if n <= BLOCKED_NODES and block_size >= n:
        key = degrees[order]
    else:
        # Powers of two: more classes would separate nodes with similar numbers.
        key = np.frexp(degrees[order].astype(np.float32))[1]
        if block_size < n:
            key += order // block_size * DEGREE_CLASSES
    # 16-bit keys are sorted in linear time.
    by_degree = np.minimum(key, np.iinfo(np.uint16).max).astype(np.uint16)
    return order[np.argsort(by_degree, kind="stable")]


COARSENING_RULES: dict[str, Rule] = {
    "heavy_edges": heavy_edges,
    "label_propagation": label_propagation,
}
"""The coarsening rules by name."""


# -- hierarchies


@dataclass(frozen=True, eq=False)
class Step:
    """A coarsening step: the coarse problem, and the coarse node of every fine node."""

    problem: Problem
    parent: np.ndarray


def never() -> bool:
    """Return False: there is no time limit."""
    return False


@dataclass(frozen=True, eq=False)
class Coarsening:
    """How to build hierarchies: the rule, the number of threads, and a check of the time limit.

    The result does not depend on the number of threads. ``is_late`` is called before every level,
    when coarsening and uncoarsening; once it returns True, labels are only projected.
    """

    rule: Rule = heavy_edges
    n_threads: int = 1
    is_late: Callable[[], bool] = never


HEAVY_EDGES = Coarsening()
BY_LABELS = Coarsening(label_propagation)


def smallest_level(n_nodes: int, n_clusters: int) -> int:
    """Return the number of nodes that a pass coarsens a graph to."""
    target = max(LEAST_NODES * n_clusters, min(START_NODES * n_clusters, FEW_NODES))
    return max(FEWEST_NODES * n_clusters, min(target, n_nodes // SMALL_RATIO))


def varied_level(n_nodes: int, n_clusters: int, rng: np.random.Generator) -> int:
    """Sample the number of nodes that a further pass coarsens a graph to."""
    least, most = (nodes * n_clusters for nodes in VARIED_NODES)
    fewest = max(FEWEST_NODES * n_clusters, min(least, n_nodes // SMALL_RATIO))
    most = max(fewest, min(most, n_nodes))
    # Uniform on a logarithmic scale.
    return int(np.exp(rng.uniform(np.log(fewest), np.log(most))))


def build(
    problem: Problem,
    rng: np.random.Generator,
    smallest: int,
    parts: np.ndarray | None = None,
    coarsening: Coarsening = HEAVY_EDGES,
    enough: int = 0,
) -> list[Step]:
    """Coarsen until about ``smallest`` nodes are left, or aggregation makes no progress.

    Nodes of different ``parts`` are never aggregated, so that every union of parts is a set of
    nodes on every level. With ``enough``, coarsening stops at the first level of at most this many
    nodes. Steps are ordered from fine to coarse; the list is empty if the problem is small enough,
    and shorter if time is up.
    """
    steps: list[Step] = []
    # The same on all levels: nodes of the smallest level should have similar weights.
    target_weight = float(problem.node_weights.sum()) / smallest
    while problem.n_nodes > max(smallest, enough) and not coarsening.is_late():
        # 1. Aggregate and contract.
        aggregates = coarsening.rule(problem, rng, target_weight, parts, coarsening.n_threads)
        # Parts satisfy the cannot-links. Without parts, contracting several nodes with cannot-links
        # could leave a level without an allowed partition.
        if problem.cannot_link is not None and parts is None:
            aggregates = problem.cannot_link.one_per_group(aggregates)
        step = Step(*contracted(problem, aggregates, coarsening.n_threads))
        # 2. Stop if there was no progress.
        if step.problem.n_nodes > SPENT * problem.n_nodes:
            break
        # 3. Continue with the coarse problem.
        if parts is not None:
            parts = coarse_labels([step], parts)
        steps.append(step)
        problem = step.problem
    return steps


def agglomerate(
    problem: Problem, n_clusters: int, coarsening: Coarsening = HEAVY_EDGES
) -> list[Step] | None:
    """Agglomerate a small problem to exactly ``n_clusters`` nodes by the best merges.

    If every node is a cluster, merging i and j decreases the cut value by r_i + r_j − r_ij, where r
    is boundary divided by weight. Each step makes the merges with the largest decrease. The problem
    must have fewer than ``n_clusters`` components, unless there are cannot-links; with these, the
    result may have more nodes that cannot be merged. Returns None if time runs out.
    """
    steps: list[Step] = []
    while problem.n_nodes > n_clusters:
        if coarsening.is_late():
            return None
        # 1. List every edge once, without self-loops.
        n, graph, node_weights = problem.n_nodes, problem.graph, problem.node_weights
        source = np.repeat(np.arange(n, dtype=np.int32), np.diff(graph.indptr))
        once = np.flatnonzero(source < graph.indices)
        source, target, weights = source[once], graph.indices[once], graph.weights[once]
        # 2. Compute r of every node.
        boundary = np.bincount(source, weights, n) + np.bincount(target, weights, n)
        ratio = boundary / node_weights
        if problem.cannot_link is not None:
            source, target, weights = _joinable(problem, source, target, weights)
            if source.size == 0:
                break
        # 3. Compute the decrease r_i + r_j − r_ij for every edge. Its weight is a term of both
        #    boundaries, so that neither difference is negative.
        joint = (boundary[source] - weights) + (boundary[target] - weights)
        gain = ratio[source] + ratio[target]
        gain -= joint / (node_weights[source] + node_weights[target])
        # 4. Merge along the best edges. There is an edge, as there are fewer components than
        #    clusters.
        most_merges = min(n - n_clusters, max(1, n // MERGED_RATIO))
        best = _largest(gain, LISTED_EDGES * most_merges)
        aggregates, size = np.empty((2, n), dtype=np.int32)
        aggregate_pairs(source[best], target[best], most_merges, aggregates, size)
        if problem.cannot_link is not None:
            aggregates = problem.cannot_link.separated(aggregates)
        steps.append(Step(*contracted(problem, aggregates, coarsening.n_threads)))
        problem = steps[-1].problem
    return steps


def _joinable(
    problem: Problem, source: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges without cannot-links, or else all pairs without them, with weight 0.

    Pairs without edges are returned on small levels only.
    """
    assert problem.cannot_link is not None
    allowed = ~problem.cannot_link.contain(source, target)
    if not allowed.any() and problem.n_nodes <= PAIRED_NODES:
        first, second = np.triu_indices(problem.n_nodes, 1)
        source, target = first.astype(np.int32), second.astype(np.int32)
        weights = np.zeros(source.size)
        allowed = ~problem.cannot_link.contain(source, target)
    return source[allowed], target[allowed], weights[allowed]


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the ``count`` largest values in stable descending order.

    Includes all values equal to the smallest of them, so that the result is deterministic.
    """
    if values.size <= count:
        return np.argsort(-values, kind="stable")
    least = np.partition(values, values.size - count)[values.size - count]
    indices = np.flatnonzero(values >= least)
    return indices[np.argsort(-values[indices], kind="stable")]


def coarse_labels(steps: list[Step], labels: np.ndarray) -> np.ndarray:
    """Return a copy of labels on the coarsest level; aggregates have nodes of one label only."""
    for step in steps:
        coarse = np.empty(step.problem.n_nodes, dtype=labels.dtype)
        coarse[step.parent] = labels
        labels = coarse
    return labels if steps else labels.copy()
