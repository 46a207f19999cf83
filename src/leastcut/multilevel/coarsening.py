"""Coarsening: hierarchies of problems, each smaller, whose partitions keep their values.

Contracting aggregates of nodes sums the weights of their nodes and of the edges between them. Edges
inside an aggregate can never be cut, so a partition of the coarse problem has the same value as the
one it means on the fine problem.

Which nodes are aggregated is up to a rule, a function ``(problem, rng, target_weight, parts,
n_threads) -> aggregates``: ``aggregates[i]`` names the aggregate of node i by one of its nodes,
which names itself. ``target_weight`` is what a node of the smallest level would weigh if all
weighed the same: no aggregate weighs more than :data:`MOST_TARGETS` times that, unless one node
does. Nodes of different ``parts`` (an array, or None) never share an aggregate. The number of
threads changes nothing. A further rule is a function here and a line in :data:`COARSENING_RULES`;
efforts name the rules they use.
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

# Heavy edges: above this size levels are made fast rather than well, with larger aggregates.
LARGE_NODES = 2000
# Most nodes of an aggregate on large levels, which saves levels, each a little worse; and on small
# ones and inside given parts, where a pass polishes.
MOST_NODES, PAIR = 4, 2
# Most that an aggregate may weigh, in target weights, by heavy edges and by any rule: less keeps
# the level even, but what most edges hold together is hardly ever separated again.
HEAVIEST, MOST_TARGETS = 1.5, 4.0
# Fraction of nodes left above which leaves of hubs are aggregated too, at the cost of one more
# look at every edge: they can only join the aggregate of their hub, which is soon full.
STALLED = 0.75
ROUNDS = 3  # of label propagation over all nodes; the first two make nearly all moves
BLOCKED_NODES = 20_000  # above that size it visits nodes of near numbers together, which is faster
# Nodes of a stretch, and how few and how many there may be: stretches of fewer nodes have more
# edges that lead out, and more of them could not be sorted by numbers of two bytes.
STRETCH_NODES, FEWEST_STRETCHES, MOST_STRETCHES = 2**17, 3, 1024
LEAVING = 0.1  # fraction of the edges that may lead from one stretch to another
DEGREE_CLASSES = 33  # powers of two that a number of neighbors may have, and none

# A pass aggregates nodes to so many per cluster, or to that many in all if that is less, but to
# no fewer than the last per cluster: more is slower and better.
START_NODES, FEW_NODES, LEAST_NODES = 40, 320, 12
# Further passes aggregate to between so many per cluster, drawn anew for each: variety.
VARIED_NODES = (10, 100)
# Graphs too small for that are reduced to one in so many nodes, and to so many per cluster.
SMALL_RATIO, FEWEST_NODES = 4, 2
SPENT = 0.95  # a level that keeps more than this fraction of the nodes costs more than it is worth
# One step of agglomeration merges at most one in this many nodes: more steps find better merges,
# each at the cost of a contraction. It sorts so many edges for every merge; if no edges are left
# to merge along, it lists all pairs of up to so many nodes instead.
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

    An edge counts for S_ij (1/b_i + 1/b_j), which is what it adds to the cut value if i and j are
    clusters of their own. Threads are not used: who is free to be joined depends on all before.
    """
    n, max_weight = problem.n_nodes, HEAVIEST * target_weight
    most_nodes = MOST_NODES if n > LARGE_NODES and parts is None else PAIR
    # No parts are one part that holds all nodes: the kernel needs no second case.
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    order = nearby_at_random(n, LARGE_NODES, rng)
    aggregates, size = np.empty((2, n), dtype=np.int32)
    # One division per node here, instead of two per edge in the kernel.
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
    """Aggregate nodes by majority of their edges, those with few edges first.

    A heavy edge says little in a network whose nodes have hundreds of them; that most of a node's
    edges lead into one aggregate says more. Aggregates grow as large as the clusters in them, up to
    a limit, so one level does the work of many, and ends when they have the target weight on
    average.

    The nodes of a huge level are aggregated in stretches of consecutive numbers, each by itself and
    by any thread, if hardly any edge leads from one to another.
    """
    n, node_weights, max_weight = (
        problem.n_nodes,
        problem.node_weights,
        MOST_TARGETS * target_weight,
    )
    # No parts are one part that holds all nodes: the kernel needs no second case.
    if parts is None:
        parts = np.zeros(n, dtype=np.int32)
    aggregates, size, touched = np.empty((3, n), dtype=np.int32)
    stretch = _stretch(problem.graph)
    order = _visiting_order(np.diff(problem.graph.indptr), stretch, rng)
    # What threads share they write to at the nodes of their own stretch only.
    sums, scratch = (node_weights.copy(), size), (np.zeros(n), touched)

    def aggregate_stretch(start: int) -> None:
        ends = start, min(start + stretch, n)
        fewest = int(node_weights[slice(*ends)].sum() / target_weight)
        propagate(
            problem.arrays, parts, order, ends, max_weight, ROUNDS, fewest, aggregates, sums,
            scratch,
        )  # fmt: skip

    starts = range(0, n, stretch)
    if len(starts) == 1 or n_threads == 1:
        for start in starts:
            aggregate_stretch(start)
    else:
        with Threads(n_threads) as each:
            each(aggregate_stretch, starts)
    size = np.bincount(aggregates, minlength=n).astype(np.int32)
    if np.count_nonzero(size) > STALLED * n:
        aggregate_leaves(problem.arrays, parts, order, max_weight, aggregates, size, touched)
    return aggregates


def _stretch(graph: Graph) -> int:
    """Return how many nodes a stretch has: all of them if edges lead anywhere."""
    n = graph.n_nodes
    if n < FEWEST_STRETCHES * STRETCH_NODES or graph.n_stored == 0:
        return max(n, 1)
    rows, columns = sampled_edges(graph)
    stretch = max(STRETCH_NODES, -(-n // MOST_STRETCHES))
    leaving = rows // stretch != columns // stretch
    return stretch if np.mean(leaving) <= LEAVING else n


def _visiting_order(degrees: np.ndarray, stretch: int, rng: np.random.Generator) -> np.ndarray:
    """Return the nodes of every stretch by degree, and at random among equals.

    Hubs come last: by then their neighbors have found each other, and do not all follow them.
    """
    n = degrees.size
    order = nearby_at_random(n, BLOCKED_NODES, rng)
    if n <= BLOCKED_NODES and stretch >= n:
        key = degrees[order]
    else:
        # By powers of two, as more classes would tear apart again what is near.
        key = np.frexp(degrees[order].astype(np.float32))[1]
        if stretch < n:
            key += order // stretch * DEGREE_CLASSES
    # Numbers of two bytes are sorted in linear time.
    by_degree = np.minimum(key, np.iinfo(np.uint16).max).astype(np.uint16)
    return order[np.argsort(by_degree, kind="stable")]


COARSENING_RULES: dict[str, Rule] = {
    "heavy_edges": heavy_edges,
    "label_propagation": label_propagation,
}
"""The rules by name."""


# -- hierarchies


@dataclass(frozen=True, eq=False)
class Step:
    """One step down: the coarser problem, and the coarse node of every node above it."""

    problem: Problem
    parent: np.ndarray


def never() -> bool:
    """Return False: there is time left."""
    return False


@dataclass(frozen=True, eq=False)
class Coarsening:
    """How hierarchies are made: by which rule, by how many threads, until when.

    The number of threads changes nothing in the result. ``is_late`` is asked before every level, on
    the way down and up: once it says so, nothing more is improved, and what is there is kept.
    """

    rule: Rule = heavy_edges
    n_threads: int = 1
    is_late: Callable[[], bool] = never


HEAVY_EDGES = Coarsening()
BY_LABELS = Coarsening(label_propagation)


def smallest_level(n_nodes: int, n_clusters: int) -> int:
    """Return how many nodes a pass coarsens a graph to."""
    wanted = max(LEAST_NODES * n_clusters, min(START_NODES * n_clusters, FEW_NODES))
    return max(FEWEST_NODES * n_clusters, min(wanted, n_nodes // SMALL_RATIO))


def varied_level(n_nodes: int, n_clusters: int, rng: np.random.Generator) -> int:
    """Draw how many nodes a further pass coarsens a graph to."""
    least, most = (nodes * n_clusters for nodes in VARIED_NODES)
    fewest = max(FEWEST_NODES * n_clusters, min(least, n_nodes // SMALL_RATIO))
    most = max(fewest, min(most, n_nodes))
    # Even on the scale of logarithms, so that small levels are drawn as often as large ones.
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

    Nodes of different ``parts`` are never aggregated, so a partition made of entire parts is also
    one of every coarse level, with the same value. With ``enough``, end at the first level of no
    more nodes than that, as if ``smallest`` were to follow. Steps lead from fine to coarse; there
    are none if the problem is small enough, and fewer if time is up.
    """
    steps: list[Step] = []
    # The same for all levels: it is on the smallest that nodes should not be too uneven.
    target_weight = float(problem.node_weights.sum()) / smallest
    while problem.n_nodes > max(smallest, enough) and not coarsening.is_late():
        # 1. Contract every aggregate to a node.
        aggregates = coarsening.rule(problem, rng, target_weight, parts, coarsening.n_threads)
        # Parts respect the cannot-links; without them, aggregates that do could still leave no
        # partition of the level that does.
        if problem.cannot_link is not None and parts is None:
            aggregates = problem.cannot_link.one_per_group(aggregates)
        step = Step(*contracted(problem, aggregates, coarsening.n_threads))
        # 2. Stop if that made no progress: the levels to come would be as large as this one.
        if step.problem.n_nodes > SPENT * problem.n_nodes:
            break
        # 3. Go on from the coarse problem, each of whose nodes is of one part.
        if parts is not None:
            parts = coarse_labels([step], parts)
        steps.append(step)
        problem = step.problem
    return steps


def agglomerate(
    problem: Problem, n_clusters: int, coarsening: Coarsening = HEAVY_EDGES
) -> list[Step] | None:
    """Coarsen a small problem on, to exactly ``n_clusters`` nodes, by the merges that cut least.

    Taken as clusters, nodes i and j that become one lower the cut value by r_i + r_j − r_ij, where
    r is boundary divided by weight. Each step makes the best of these merges. The problem must have
    fewer than ``n_clusters`` components, unless there are cannot-links: then it may also end with
    more nodes, none of which can be merged. None where time is up before there are so few nodes.
    """
    steps: list[Step] = []
    while problem.n_nodes > n_clusters:
        if coarsening.is_late():
            return None
        # 1. List every edge once, by its smaller end; self-loops, which no cut sees, drop out.
        n, graph, node_weights = problem.n_nodes, problem.graph, problem.node_weights
        source = np.repeat(np.arange(n, dtype=np.int32), np.diff(graph.indptr))
        once = np.flatnonzero(source < graph.indices)
        source, target, weights = source[once], graph.indices[once], graph.weights[once]
        # 2. Take r of every node: as a cluster, all its edges leave it.
        boundary = np.bincount(source, weights, n) + np.bincount(target, weights, n)
        ratio = boundary / node_weights
        if problem.cannot_link is not None:
            source, target, weights = _joinable(problem, source, target, weights)
            if source.size == 0:
                break
        # 3. Take the gain r_i + r_j − r_ij of every edge. The edge leaves both boundaries; taken
        #    off each by itself, which it is a term of, it cannot make either negative.
        joint = (boundary[source] - weights) + (boundary[target] - weights)
        gain = ratio[source] + ratio[target]
        gain -= joint / (node_weights[source] + node_weights[target])
        # 4. Merge along the best edges, the first of equal ones first: every merge is one node
        #    less. There always is an edge, as there are fewer components than clusters.
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
    """Return the edges that are no cannot-links, or all such pairs of nodes if there are none.

    The pairs have weight 0, and are listed on small levels only.
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
    """Return where the ``count`` largest values are, largest first, and the first of equals first.

    All that equal the smallest of them are there too: which are, must not be left to chance.
    """
    if values.size <= count:
        return np.argsort(-values, kind="stable")
    least = np.partition(values, values.size - count)[values.size - count]
    found = np.flatnonzero(values >= least)
    return found[np.argsort(-values[found], kind="stable")]


def coarse_labels(steps: list[Step], labels: np.ndarray) -> np.ndarray:
    """Carry labels down a hierarchy that never aggregates nodes of different labels; a copy."""
    for step in steps:
        coarse = np.empty(step.problem.n_nodes, dtype=labels.dtype)
        # All nodes of an aggregate write the same label, whichever writes last.
        coarse[step.parent] = labels
        labels = coarse
    # A copy also of labels that went nowhere: moves will change them in place.
    return labels if steps else labels.copy()
