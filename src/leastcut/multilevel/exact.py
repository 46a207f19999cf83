"""The proven optimum of tiny graphs, by branch and bound over all partitions.

There are S(n, c) partitions of n nodes into c clusters (Stirling numbers of the second kind):
134,217,727 of 28 nodes into 2. The bound rules most of them out unseen on most graphs, and visiting
them all is a matter of seconds. It is the yardstick for every heuristic here.
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

# Steps between two moments at which the search can be interrupted: a few tenths of a second.
VISITS_PER_CALL = 2**21
MAX_CELLS = 2**22  # nodes times clusters that the search will keep tables of, some 100 MB
# Terms up to which partitions are counted exactly: a tenth of a second at most.
MOST_TO_COUNT = 10**5
# What a step of the search costs besides its pairs of a node to come and a cluster, in those.
STEP = 35
# Steps and pairs that a partition may cost at worst, on average: few clusters take 40 to 80. All
# that the default lets through is 3·10^10 of them, at about a nanosecond each.
COST_PER_PARTITION = 100
EPSILON = float(np.finfo(np.float64).eps)
# Rounding errors per node that the bound is trusted to stay within; the sums make a few.
SAFETY = 16
# Descents of which the first value to beat is taken: more take longer and rule out more.
N_STARTS = 8
# Below this doubles underflow, and are right to a number of units, not of digits.
TINY = float(np.finfo(np.float64).smallest_normal)


def exact_problem(problem: Problem, n_clusters: int) -> Partition:
    """Return the proven optimum of a problem, however many partitions it has."""
    n = problem.n_nodes
    if n_clusters in (1, n):
        labels = np.arange(n) if n_clusters > 1 else np.zeros(n, dtype=np.int64)
        value = problem.value(labels)
        return Partition(labels, value, value)  # as there is no other
    # The search has nodes in its own order, and scaled numbers.
    ordered, order = _ordered(problem)
    places = np.argsort(order)
    found = _search(ordered, n_clusters)
    first, best = (number_by_appearance(labels[places]) for labels in found)
    value = problem.value(best)
    if not problem.allows(best):
        # It exceeds a limit by rounding: a lower bound of those within it, and no partition.
        return Partition(first, problem.value(first), lower_bound=value)
    # If values underflow, partitions may differ by less than doubles can tell: by half a unit in
    # every term of two values.
    unit = 0.0 if value >= TINY else float(np.finfo(np.float64).smallest_subnormal)
    return Partition(best, value, lower_bound=max(value - n_clusters * unit, 0.0))


def too_many(n: int, c: int, max_partitions: int) -> str | None:
    """Return in words why there are too many partitions to go through them all, or None."""
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
    else:  # more than c^(n-c), and computing how many would take longer than the message is worth
        words = f"more than 10^{math.floor((n - c) * math.log10(c))}"
    if n * c > MAX_CELLS:
        limit = f"with {n * c:,} pairs of a node and a cluster; {MAX_CELLS:,} is the most"
    elif cost > most:
        limit = (
            f"to go through which takes up to {cost:.2g} steps, and {most:.2g} is the limit for "
            f"max_partitions={max_partitions:,}; {math.ceil(cost / COST_PER_PARTITION):,} would do"
        )
    else:
        limit = f"too many to go through: the limit is max_partitions={max_partitions:,}"
    return f"There are {words} partitions of {n:,} nodes into {c:,} clusters, {limit}."


def search_cost(n: int, c: int) -> float:
    """Return what the search costs where nothing is ruled out, in pairs of a node and a cluster.

    O(n·c). A step takes one more node, of which n − m are then to come, into one of k clusters.

    >>> f"{search_cost(29, 2):.3g}"
    '2.2e+10'
    """
    k = np.arange(c + 1.0)
    # How many ways there are to put the first m nodes into k clusters, of those that go on.
    ways, cost = np.eye(1, c + 1)[0], 0.0
    for m in range(1, n + 1):
        reached = k * ways
        reached[1:] += ways[:-1]
        # Enough nodes must be left to open all clusters, and where just enough are it is complete.
        reached[c - k > n - m] = 0.0
        cost += float(reached @ ((n - m + 1) * (k + 1) + STEP))
        ways = np.where(c - k < n - m, reached, 0.0)
    return cost


def stirling(n: int, c: int) -> int:
    """Return the number of partitions of n things into c non-empty parts, in O(n·c).

    >>> stirling(28, 2)
    134217727
    """
    # scipy.special.stirling2(exact=True) takes 7 s for n = 4000, c = 2, and this a millisecond.
    # Row by row, S(m + k, k) = S(m + k - 1, k - 1) + k · S(m - 1 + k, k) with m = n - c.
    # After m rounds row[k] is S(m + k, k), which is 1 for m = 0.
    row = [1] * (c + 1)
    for _ in range(n - c):
        left = 0
        for k in range(1, c + 1):
            # On the right, ``left`` is of this round and row[k] of the one before.
            left = row[k] = left + k * row[k]
    return row[c]


def _ordered(problem: Problem) -> tuple[Problem, np.ndarray]:
    """Return the problem with its nodes in the order of the search, and that order.

    Self-loops are left out, which no cut sees. Affinities are raised by a power of two, which
    changes all cut values by the same factor and rounds nothing: to just below where a sum or a cut
    value could overflow, so that small values survive next to large ones.
    """
    n, graph, rows = problem.n_nodes, problem.graph, problem.graph.rows
    edges, outward = rows != graph.indices, graph.outward
    # A cluster's term is at most the largest of its nodes' terms, and all of them at most n of it.
    term = int(np.frexp(np.max(outward / problem.node_weights))[1])
    total = int(np.frexp(outward.max())[1])
    room = max(1000 - n.bit_length() - max(term, total), 0)
    weights = np.ldexp(graph.weights[edges], room)
    matrix = sp.csr_array((weights, (rows[edges], graph.indices[edges])), shape=(n, n))
    order = _search_order(matrix)
    scaled = Problem(Graph(matrix.indptr, matrix.indices, matrix.data), problem.node_weights)
    scaled = replace(scaled, constraints=problem.constraints, offset=problem.offset)
    return scaled.restrict(order), order


def _search_order(matrix: sp.csr_array) -> np.ndarray:
    """Return the nodes so that each has as much affinity as possible to those before it.

    Boundaries then show early, and with them what the bound can rule out.
    """
    pull = np.asarray(matrix.sum(axis=1)).reshape(-1) * EPSILON  # the heaviest node comes first
    order = np.empty(pull.size, dtype=np.int64)
    for i in range(order.size):
        node = order[i] = int(np.argmax(pull))
        near = slice(matrix.indptr[node], matrix.indptr[node + 1])
        pull[matrix.indices[near]] += matrix.data[near]
        # Edges lead back to nodes taken before: all of them are marked anew, as never the largest.
        pull[order[: i + 1]] = -1.0
    return order


def _search(problem: Problem, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels to begin with and labels of the smallest value, in the problem's order.

    The first keep to the limits. The second have the smallest value of all partitions that do, and
    may exceed a limit by the rounding error of a sum.
    """
    n, node_weights = problem.n_nodes, problem.node_weights
    # 1. Every edge once, at the end that comes first in the order of the search.
    later = sp.csr_array(sp.triu(problem.graph.matrix, k=1))
    # 2. A first value to beat.
    first = _first_labels(problem, c)
    best_labels = first.copy()
    best_value = np.array([problem.value(best_labels)])
    # 3. Where the search stands: all that ``branch`` needs to go on from one call to the next. Row
    #    i of the tables is before node i is taken; ``saved`` has a place for every later edge, as
    #    no edge is entered twice on one path.
    cursor = np.zeros(2, dtype=np.int64)
    rest = np.append(np.cumsum(node_weights[::-1])[::-1], 0.0)
    nodes = problem.graph.degrees, node_weights, rest
    path = np.full(n, -1), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    tables = np.zeros((n + 1, c)), np.zeros((n + 1, c)), np.zeros((n, c)), np.zeros(later.nnz)
    scratch = np.zeros(c), np.zeros(c), np.zeros(c, dtype=bool)
    links = None if problem.cannot_link is None else problem.cannot_link.arrays
    limits = None if problem.limits is None else problem.limits.of_proofs(c, problem.offset)
    # 4. Search in portions: a kernel cannot be interrupted, but between two calls Ctrl-C is heard.
    #    Sums of n terms err by about n · epsilon, and no branch is given up for less.
    while not cursor[DONE]:
        branch(
            (later.indptr, later.indices, later.data), nodes, SAFETY * n * EPSILON,
            VISITS_PER_CALL, cursor, best_value, best_labels, path, tables, scratch, links, limits,
            problem.offset,
        )  # fmt: skip
    return first, best_labels


def _first_labels(problem: Problem, c: int) -> np.ndarray:
    """Return the best of a few descents: the smaller the first value, the more is ruled out."""
    uncut = problem.uncut_labels(c)
    # A value of 0 cannot be beaten: with it every branch is given up at once.
    if uncut is not None and problem.allows(uncut):
        return uncut
    n = problem.n_nodes
    # A fixed seed: where optima are equal, every call returns the same one.
    rng = np.random.default_rng(0)
    # Runs of the search's order, which follows the edges, and runs of random orders.
    runs = np.arange(n) * c // n
    starts = [runs, *(rng.permutation(runs) for _ in range(N_STARTS - 1))]
    if problem.constraints.restrict_moves:
        kept = [respecting(problem, start, c) for start in starts]
        starts = [start for start in kept if start is not None]
    found = [State(problem, start.astype(np.int32), c) for start in starts]
    # Each ends where no single move helps.
    best = int(np.argmin([state.finish() for state in found]))
    return found[best].labels.astype(np.int64)
