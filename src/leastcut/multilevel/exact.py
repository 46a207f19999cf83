"""Proven optima of tiny graphs, by branch and bound over all partitions.

There are S(n, c) partitions of n nodes into c clusters (Stirling numbers of the second kind):
134,217,727 for 28 nodes and 2 clusters. On most graphs, bounds prune most of them; visiting all of
them takes seconds.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from leastcut.graph import Graph
from leastcut.kernels.branch_and_bound import DONE, branch
from leastcut.multilevel.refinement import State
from leastcut.multilevel.repair import respecting
from leastcut.problem import Problem
from leastcut.results import Partition
from leastcut.validation import number_by_appearance

VISITS_PER_CALL = 2**21  # steps between interruption points, a few tenths of a second
MAX_CELLS = 2**22  # limit on nodes times clusters; the tables need about 100 MB
MOST_TO_COUNT = 10**5  # limit on terms for counting partitions exactly, at most a tenth of a second
STEP = 35  # fixed cost of a search step, in pairs of a remaining node and a cluster
# Limit on the cost per partition in the worst case; with few clusters it is 40 to 80. The default
# max_partitions allows a cost of 3·10^10, at about a nanosecond each.
COST_PER_PARTITION = 100
EPSILON = float(np.finfo(np.float64).eps)
SAFETY = 16  # allowed rounding errors per node in the bound; the sums make a few
N_STARTS = 8  # local searches for the initial incumbent
TINY = float(np.finfo(np.float64).smallest_normal)  # smaller values lose relative precision


def exact_problem(problem: Problem, n_clusters: int) -> Partition:
    """Return the proven optimum of a problem, without a limit on its number of partitions."""
    n = problem.n_nodes
    if n_clusters in (1, n):
        labels = np.arange(n) if n_clusters > 1 else np.zeros(n, dtype=np.int64)
        value = problem.value(labels)
        return Partition(labels, value, value)  # the only partition
    # The search reorders the nodes and scales the weights.
    ordered, order = _ordered(problem)
    places = np.argsort(order)
    first, best = (number_by_appearance(labels[places]) for labels in _search(ordered, n_clusters))
    value = problem.value(best)
    if not problem.allows(best):
        # The optimum exceeds a limit by rounding, so its value is a lower bound only.
        return Partition(first, problem.value(first), lower_bound=value)
    # If values underflow, each term of two values may be wrong by half a unit.
    unit = 0.0 if value >= TINY else float(np.finfo(np.float64).smallest_subnormal)
    return Partition(best, value, lower_bound=max(value - n_clusters * unit, 0.0))


def too_many(n: int, c: int, max_partitions: int) -> str | None:
    """Return a message if there are too many partitions to enumerate, or None."""
    if c in (1, n):
        return None
    cost, most = 0.0, COST_PER_PARTITION * max_partitions
    if (n - c) * c <= MOST_TO_COUNT:
        count = stirling(n, c)
        if count <= max_partitions and n * c <= MAX_CELLS:
            cost = search_cost(n, c)
            if cost <= most:
                return None
        words = f"{count:,}" if count < 10**15 else f"about 10^{math.log10(count):.0f}"
    else:  # use the lower bound c^(n-c); the exact number would take too long
        words = f"more than 10^{math.floor((n - c) * math.log10(c))}"
    if n * c > MAX_CELLS:
        limit = f"with {n * c:,} pairs of a node and a cluster; the limit is {MAX_CELLS:,}"
    elif cost > most:
        limit = (
            f"which may take {cost:.2g} steps; max_partitions={max_partitions:,} allows "
            f"{most:.2g}, and {math.ceil(cost / COST_PER_PARTITION):,} would be enough"
        )
    else:
        limit = f"more than max_partitions={max_partitions:,}"
    return f"There are {words} partitions of {n:,} nodes into {c:,} clusters, {limit}."


def search_cost(n: int, c: int) -> float:
    """Return the cost of the search without pruning, in pairs of a node and a cluster.

    A step assigns node m to one of k clusters; n − m nodes remain. Computed in O(n·c).

    >>> f"{search_cost(29, 2):.3g}"
    '2.2e+10'
    """
    k = np.arange(c + 1.0)
    # ways[k] is the number of incomplete assignments of the first m nodes to k clusters.
    ways, cost = np.eye(1, c + 1)[0], 0.0
    for m in range(1, n + 1):
        reached = k * ways
        reached[1:] += ways[:-1]
        # Enough nodes must remain to open all clusters; with just enough, it is complete.
        reached[c - k > n - m] = 0.0
        cost += float(reached @ ((n - m + 1) * (k + 1) + STEP))
        ways = np.where(c - k < n - m, reached, 0.0)
    return cost


def stirling(n: int, c: int) -> int:
    """Return the number of partitions of n objects into c non-empty sets, in O(n·c).

    >>> stirling(28, 2)
    134217727
    """
    # scipy.special.stirling2(exact=True) takes seconds for n = 4000, c = 2.
    # After m rounds row[k] is S(m + k, k) = S(m + k - 1, k - 1) + k · S(m - 1 + k, k).
    row = [1] * (c + 1)
    for _ in range(n - c):
        left = 0
        for k in range(1, c + 1):
            left = row[k] = left + k * row[k]
    return row[c]


def _ordered(problem: Problem) -> tuple[Problem, np.ndarray]:
    """Return the problem with its nodes in the order of the search, and that order.

    Self-loops are removed. Affinities are multiplied by the largest power of two with which sums
    and cut values cannot overflow, so that small values do not underflow. This rounds nothing.
    """
    n, graph, rows = problem.n_nodes, problem.graph, problem.graph.rows
    edges, outward = rows != graph.indices, graph.outward
    # A cluster's term is at most the largest term of its nodes.
    term = int(np.frexp(np.max(outward / problem.node_weights))[1])
    total = int(np.frexp(outward.max())[1])
    exponent = max(1000 - n.bit_length() - max(term, total), 0)
    weights = np.ldexp(graph.weights[edges], exponent)
    matrix = sp.csr_array((weights, (rows[edges], graph.indices[edges])), shape=(n, n))
    order = _search_order(matrix)
    scaled = Problem(Graph(matrix.indptr, matrix.indices, matrix.data), problem.node_weights)
    scaled = replace(scaled, constraints=problem.constraints, offset=problem.offset)
    return scaled.restrict(order), order


def _search_order(matrix: sp.csr_array) -> np.ndarray:
    """Return an order in which each node has the largest affinity to the nodes before it.

    Boundaries are then known early, and the bound prunes more.
    """
    affinity = np.asarray(matrix.sum(axis=1)).reshape(-1) * EPSILON  # the heaviest node first
    order = np.empty(affinity.size, dtype=np.int64)
    for i in range(order.size):
        node = order[i] = int(np.argmax(affinity))
        near = slice(matrix.indptr[node], matrix.indptr[node + 1])
        affinity[matrix.indices[near]] += matrix.data[near]
        # Exclude the nodes taken so far.
        affinity[order[: i + 1]] = -1.0
    return order


def _search(problem: Problem, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return initial labels and labels of the smallest value, in the problem's order.

    The initial labels are within the limits. The others have at most the value of every partition
    within the limits, and may exceed a limit by the rounding error of a sum.
    """
    n, node_weights = problem.n_nodes, problem.node_weights
    # 1. Store every edge once, at the node that comes first.
    later = sp.csr_array(sp.triu(problem.graph.matrix, k=1))
    # 2. Find an incumbent.
    first = _first_labels(problem, c)
    best_labels = first.copy()
    best_value = np.array([problem.value(best_labels)])
    # 3. Allocate the state of the search, which ``branch`` continues in each call. Row i of the
    #    tables is the state before node i is assigned.
    cursor = np.zeros(2, dtype=np.int64)
    rest = np.append(np.cumsum(node_weights[::-1])[::-1], 0.0)
    nodes = problem.graph.degrees, node_weights, rest
    path = np.full(n, -1), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    tables = np.zeros((n + 1, c)), np.zeros((n + 1, c)), np.zeros((n, c)), np.zeros(later.nnz)
    scratch = np.zeros(c), np.zeros(c), np.zeros(c, dtype=bool)
    links = None if problem.cannot_link is None else problem.cannot_link.arrays
    limits = None if problem.limits is None else problem.limits.of_proofs(c, problem.offset)
    # 4. Search in batches, because a kernel cannot be interrupted. Branches are pruned with a
    #    margin for the rounding error of sums, about n · epsilon.
    while not cursor[DONE]:
        branch(
            (later.indptr, later.indices, later.data), nodes, SAFETY * n * EPSILON,
            VISITS_PER_CALL, cursor, best_value, best_labels, path, tables, scratch, links, limits,
            problem.offset,
        )  # fmt: skip
    return first, best_labels


def _first_labels(problem: Problem, c: int) -> np.ndarray:
    """Return the best result of several local searches."""
    uncut = problem.uncut_labels(c)
    # With a value of 0 every branch is pruned.
    if uncut is not None and problem.allows(uncut):
        return uncut
    n = problem.n_nodes
    # A fixed seed, so that every call returns the same of several optima.
    rng = np.random.default_rng(0)
    # Start from consecutive nodes in the order of the search, and in random orders.
    runs = np.arange(n) * c // n
    starts = [runs, *(rng.permutation(runs) for _ in range(N_STARTS - 1))]
    if problem.constraints.restrict_moves:
        kept = [respecting(problem, start, c) for start in starts]
        starts = [start for start in kept if start is not None]
    states = [State(problem, start.astype(np.int32), c) for start in starts]
    best = int(np.argmin([state.finish() for state in states]))
    return states[best].labels.astype(np.int64)
