"""The proven optimum of small graphs, by branch and bound over all partitions.

There are S(n, c) partitions of n nodes into c clusters (Stirling numbers of the second kind):
134,217,727 of 28 nodes into 2. The bound rules most of them out unseen on most graphs, and visiting
them all is a matter of seconds. It is the yardstick for every heuristic here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.cuts import CutLike, boundaries, cut_value, node_weights
from firstcut.graph import Graph, as_graph
from firstcut.inputs import check_count, check_n_clusters
from firstcut.kernels.branch import DONE, branch
from firstcut.result import Partition

VISITS_PER_CALL = 2**21
"""Placements between two moments at which the search can be interrupted."""

MAX_CELLS = 2**22
"""Nodes times clusters that the search will keep tables of."""

EPSILON = float(np.finfo(np.float64).eps)

N_STARTS = 8
"""Descents of which the first value to beat is taken."""

MAX_SWEEPS = 50
"""Passes over the nodes after which a descent ends in any case."""


def exact_partition(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    max_partitions: int = 2**28,
) -> Partition:
    """Return the partition with the smallest cut value there is, proven by exhaustion.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities; self-loops allowed.
    n_clusters : int
        Number of clusters c, none of them empty.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    max_partitions : int, default=2**28
        Refuse graphs with more partitions than this. The default lets through 29 nodes in 2
        clusters, 19 in 3, 16 in 4 and 14 in any number: fractions of a second as a rule, half a
        minute at worst. (When c is close to n it also lets through larger graphs, each of whose
        partitions takes longer.) The search can be interrupted.

    Returns
    -------
    Partition
        Its ``lower_bound`` is its ``cut_value``: the gap is 0. Clusters are numbered in the order
        of their first nodes.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> best = firstcut.exact_partition(S, 2, cut="ratio")
    >>> best.labels, best.cut_value, best.gap
    (array([0, 0, 1, 1]), 2.0, 0.0)
    """
    graph = as_graph(graph)
    weights = node_weights(graph, cut)
    n = graph.n_nodes
    c = check_n_clusters(n_clusters, n)
    _check_size(n, c, check_count("max_partitions", max_partitions))
    if c == 1:
        labels = np.zeros(n, dtype=np.int64)
    elif c == n:
        labels = np.arange(n)
    else:
        problem = _prepare(graph, weights)
        labels = np.empty(n, dtype=np.int64)
        labels[problem.order] = _search(problem, c)
        _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
        labels = np.argsort(np.argsort(first))[labels]
    value = cut_value(graph, labels, cut)
    return Partition(labels, value, lower_bound=value)


def _check_size(n: int, c: int, max_partitions: int) -> None:
    """Raise if there are too many partitions to go through them all."""
    if c in (1, n):
        return
    if (n - c) * c <= 10**5:
        count = stirling(n, c)
        if count <= max_partitions and n * c <= MAX_CELLS:
            return
        words = f"{count:,}" if count < 10**15 else f"about 10^{math.log10(count):.0f}"
    else:  # more than c^(n-c), and computing how many would take longer than the message is worth
        words = f"more than 10^{math.floor((n - c) * math.log10(c))}"
    if n * c > MAX_CELLS:
        limit = f"with {n * c:,} pairs of a node and a cluster; {MAX_CELLS:,} is the most"
    else:
        limit = f"too many to prove one the best: the limit is max_partitions={max_partitions:,}"
    raise ValueError(
        f"There are {words} partitions of {n:,} nodes into {c:,} clusters, {limit}. "
        "Let firstcut.partition search, which finds a lower bound too, or raise max_partitions."
    )


def stirling(n: int, c: int) -> int:
    """Return the number of partitions of n things into c non-empty parts, in O(n·c).

    >>> stirling(28, 2)
    134217727
    """
    # Row by row, S(m + k, k) = S(m + k - 1, k - 1) + k · S(m - 1 + k, k) with m = n - c.
    row = [1] * (c + 1)
    for _ in range(n - c):
        left = 0
        for k in range(1, c + 1):
            left = row[k] = left + k * row[k]
    return row[c]


@dataclass(frozen=True, eq=False)
class _Problem:
    """The graph without self-loops, nodes in the order of placement, numbers far from overflow."""

    graph: Graph
    weights: np.ndarray
    order: np.ndarray

    def value(self, labels: np.ndarray) -> float:
        """Return the cut value, up to the factor by which the numbers were scaled."""
        with np.errstate(over="ignore"):
            shares = boundaries(self.graph, labels) / np.bincount(labels, self.weights)
            return float(shares.sum())


def _prepare(graph: Graph, weights: np.ndarray) -> _Problem:
    """Scale by powers of two, which changes all cut values by the same factor, and reorder.

    Affinities go to just below overflow, so that small ones beside large ones survive, and node
    weights to at most 1.
    """
    n = graph.n_nodes
    rows, columns = graph.matrix.tocoo().coords
    edges = rows != columns
    data = graph.matrix.data[edges]
    top = int(np.frexp(data.max(initial=0.0))[1])
    data = np.ldexp(data, 1000 - 2 * n.bit_length() - top)
    matrix = sp.csr_array((data, (rows[edges], columns[edges])), shape=(n, n))
    order = _placing_order(matrix)
    matrix = sp.csr_array(matrix[order][:, order])
    matrix.sort_indices()
    scaled = np.ldexp(weights[order], -int(np.frexp(weights.max())[1]))
    degrees = np.asarray(matrix.sum(axis=1)).reshape(-1)
    return _Problem(Graph(matrix, degrees), np.maximum(scaled, np.finfo(np.float64).tiny), order)


def _placing_order(matrix: sp.csr_array) -> np.ndarray:
    """Return the nodes so that each has as much affinity as possible to those before it.

    Boundaries then show early, and with them what the bound can rule out.
    """
    pull = np.asarray(matrix.sum(axis=1)).reshape(-1) * EPSILON  # the heaviest node comes first
    order = np.empty(pull.size, dtype=np.int64)
    for i in range(order.size):
        node = order[i] = int(np.argmax(pull))
        near = slice(matrix.indptr[node], matrix.indptr[node + 1])
        pull[matrix.indices[near]] += matrix.data[near]
        pull[order[: i + 1]] = -1.0
    return order


def _search(problem: _Problem, c: int) -> np.ndarray:
    """Return labels of the smallest value, for the nodes in the order of placement."""
    n = problem.order.size
    later = sp.csr_array(sp.triu(problem.graph.matrix, k=1))
    best_labels = _first_labels(problem, c)
    best = np.array([problem.value(best_labels)])
    state = np.zeros(3, dtype=np.int64)
    labels, trial, opened = np.full(n, -1), np.zeros(n, np.int64), np.zeros(n, np.int64)
    boundary, weight, affinity = np.zeros((n + 1, c)), np.zeros((n + 1, c)), np.zeros((n, c))
    saved = np.zeros(later.nnz)
    grown, root, shut = np.zeros(c), np.zeros(c), np.zeros(c, dtype=bool)
    rest = np.append(np.cumsum(problem.weights[::-1])[::-1], 0.0)
    while not state[DONE]:
        branch(
            later.indptr,
            later.indices,
            later.data,
            problem.graph.degrees,
            problem.weights,
            rest,
            16 * n * EPSILON,
            VISITS_PER_CALL,
            state,
            best,
            best_labels,
            labels,
            trial,
            opened,
            boundary,
            weight,
            affinity,
            saved,
            grown,
            root,
            shut,
        )
    return best_labels


def _first_labels(problem: _Problem, c: int) -> np.ndarray:
    """Return the best of a few descents: the smaller the first value, the more is ruled out."""
    n_components, component = problem.graph.components()
    if n_components >= c:
        return np.asarray(np.minimum(component, c - 1), dtype=np.int64)
    n = problem.order.size
    rng = np.random.default_rng(0)
    # Runs of the placing order, which follows the edges, and runs of random orders.
    runs = np.arange(n) * c // n
    starts = [runs, *(rng.permutation(runs) for _ in range(N_STARTS - 1))]
    found = [_descend(problem, start, c) for start in starts]
    return found[int(np.argmin([problem.value(labels) for labels in found]))]


def _descend(problem: _Problem, labels: np.ndarray, c: int) -> np.ndarray:
    """Move single nodes as long as that lowers the value; rounding may end it early."""
    matrix, labels = problem.graph.matrix, labels.copy()
    boundary = boundaries(problem.graph, labels)
    weight, size = np.bincount(labels, problem.weights), np.bincount(labels)
    for _ in range(MAX_SWEEPS):
        before = labels.copy()
        for i in range(labels.size):
            old = labels[i]
            if size[old] == 1:
                continue
            near = slice(matrix.indptr[i], matrix.indptr[i + 1])
            affinity = np.bincount(labels[matrix.indices[near]], matrix.data[near], minlength=c)
            step = problem.graph.degrees[i] - 2 * affinity
            with np.errstate(all="ignore"):
                change = (boundary + step) / (weight + problem.weights[i]) - boundary / weight
                less = (boundary[old] - step[old]) / (weight[old] - problem.weights[i])
                change += less - boundary[old] / weight[old]
            change[old] = 0.0
            new = int(np.nanargmin(change))
            if change[new] < -1e-9 * boundary[old] / weight[old]:
                boundary[old] -= step[old]
                boundary[new] += step[new]
                weight[old] -= problem.weights[i]
                weight[new] += problem.weights[i]
                size[old] -= 1
                size[new] += 1
                labels[i] = new
        if np.array_equal(labels, before):
            break
    return labels
