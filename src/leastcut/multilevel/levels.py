"""Hierarchies of problems, each smaller than the one before, whose partitions keep their values.

Contracting groups of nodes sums the weights of their nodes and of the edges between them. Edges
inside a group can never be cut, so a partition of the coarse problem has the same value as the one
it means on the fine problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leastcut.kernels.coarsen import gather_listed
from leastcut.multilevel.coarsening import COARSENING_RULES, Rule
from leastcut.problem import Problem
from leastcut.reductions import contracted

# A pass gathers nodes to so many per cluster, or to that many in all where that is less, but to
# no fewer than the last per cluster: more is slower and better.
START_NODES, FEW_NODES, LEAST_NODES = 40, 320, 12
# Further passes gather to between so many per cluster, drawn anew for each: variety.
VARIED_NODES = (10, 100)
# Graphs too small for that are gathered to one in so many nodes, and to so many per cluster.
SMALL_SHARE, FEWEST_NODES = 4, 2
SPENT = 0.95  # A level that keeps more than this fraction of the nodes costs more than it is worth
# One step of agglomeration merges at most one in this many nodes: more steps find better merges,
# each at the cost of a contraction.
MERGED_SHARE = 4
# Edges that are sorted for every merge: the best merges are among these, if there are any.
LISTED_EDGES = 10
# Where no edges are left to merge along, all pairs of up to so many nodes are listed instead.
PAIRED_NODES = 1000


@dataclass(frozen=True, eq=False)
class Step:
    """One step down: the coarser problem, and the coarse node of every node above it."""

    problem: Problem
    parent: np.ndarray


def never() -> bool:
    """Say that there is time left."""
    return False


@dataclass(frozen=True, eq=False)
class Coarsening:
    """How hierarchies are made: by which rule nodes are gathered, by how many threads, until when.

    The number of threads changes nothing in the result. ``is_late`` is asked before every level, on
    the way down and up: once it says so, nothing more is improved, and what is there is kept.
    """

    rule: Rule = COARSENING_RULES["heavy_edges"]
    n_threads: int = 1
    is_late: Callable[[], bool] = never


def smallest_level(n_nodes: int, n_clusters: int) -> int:
    """Return how many nodes a pass gathers a graph to."""
    wanted = max(LEAST_NODES * n_clusters, min(START_NODES * n_clusters, FEW_NODES))
    return max(FEWEST_NODES * n_clusters, min(wanted, n_nodes // SMALL_SHARE))


def varied_level(n_nodes: int, n_clusters: int, rng: np.random.Generator) -> int:
    """Draw how many nodes a further pass gathers a graph to."""
    least, most = (nodes * n_clusters for nodes in VARIED_NODES)
    fewest = max(FEWEST_NODES * n_clusters, min(least, n_nodes // SMALL_SHARE))
    most = max(fewest, min(most, n_nodes))
    # Even on the scale of logarithms, so that small levels are drawn as often as large ones.
    return int(np.exp(rng.uniform(np.log(fewest), np.log(most))))


def build(
    problem: Problem,
    rng: np.random.Generator,
    smallest: int,
    parts: np.ndarray | None = None,
    coarsening: Coarsening | None = None,
    enough: int = 0,
) -> list[Step]:
    """Coarsen until about ``smallest`` nodes are left, or aggregation makes no progress.

    Nodes of different ``parts`` are never aggregated, so a partition made of entire parts is also
    one of every coarse level, with the same value. With ``enough``, end at the first level of no
    more nodes than that, as if ``smallest`` were to follow. Steps lead from fine to coarse; there
    are none if the problem is small enough, and fewer if time is up.
    """
    coarsening = coarsening or Coarsening()
    steps: list[Step] = []
    # The same for all levels: it is on the smallest that the nodes should not be too uneven.
    share = float(problem.node_weights.sum()) / smallest
    while problem.n_nodes > max(smallest, enough) and not coarsening.is_late():
        # 1. Gather nodes into groups, and contract every group to a node.
        leader = coarsening.rule(problem, rng, share, parts, coarsening.n_threads)
        # Parts respect the cannot-links; without them, groups that do could still leave no
        # partition of the level that does.
        if problem.cannot_link is not None and parts is None:
            leader = problem.cannot_link.one_per_group(leader)
        step = Step(*contracted(problem, leader, coarsening.n_threads))
        # 2. Stop where that got nowhere: the levels to come would be as large as this one.
        if step.problem.n_nodes > SPENT * problem.n_nodes:
            break
        # 3. Go on from the coarse problem. No group has nodes of two parts, so its part is well
        #    defined.
        if parts is not None:
            parts = coarse_labels([step], parts)
        steps.append(step)
        problem = step.problem
    return steps


def agglomerate(
    problem: Problem, n_clusters: int, coarsening: Coarsening | None = None
) -> list[Step] | None:
    """Coarsen a small problem on, to exactly ``n_clusters`` nodes, by the merges that cut least.

    Taken as clusters, nodes i and j that become one lower the cut value by r_i + r_j − r_ij, where
    r is boundary divided by weight. Each step makes the best of these merges. The problem must have
    fewer than ``n_clusters`` components, unless there are cannot-links: then it may also end with
    more nodes, none of which can be merged. None where time is up before there are so few nodes.
    """
    coarsening = coarsening or Coarsening()
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
        most_merges = min(n - n_clusters, max(1, n // MERGED_SHARE))
        best = _largest(gain, LISTED_EDGES * most_merges)
        leader, size = np.empty((2, n), dtype=np.int32)
        gather_listed(source[best], target[best], most_merges, leader, size)
        if problem.cannot_link is not None:
            leader = problem.cannot_link.separated(leader)
        steps.append(Step(*contracted(problem, leader, coarsening.n_threads)))
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
    """Carry labels down a hierarchy that never gathers nodes of different labels; a copy."""
    for step in steps:
        coarse = np.empty(step.problem.n_nodes, dtype=labels.dtype)
        # All nodes of a group write the same label, whichever writes last.
        coarse[step.parent] = labels
        labels = coarse
    # A copy also of labels that went nowhere: moves will change them in place.
    return labels if steps else labels.copy()
