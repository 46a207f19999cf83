"""A lower bound on the cut value from dual prices of nodes (column generation).

A partition into c clusters is a choice of c sets that contain every node once. The linear
programming relaxation of this set partitioning problem has one column per set of nodes and one row
per node. Its dual variables are a price λ_i per node and a value μ per cluster, feasible if the
reduced cost boundary(C) / b(C) − λ(C) of every set C is at least μ. Then Σλ + cμ is a lower bound
on every cut value. This relaxation is at least as tight as the semidefinite one, and its dual has
one variable per node instead of one per pair of nodes.

1. Initial prices come from the semidefinite bound of a small problem, in which nodes are aggregated
   to groups. They are adjusted to make the reduced cost of each given cluster equal to μ: if no
   other set is cheaper, the partition is proven optimal.
2. The pricing problem is solved: all sets are searched for cheaper ones
   (``kernels.cheapest_cluster.search_clusters``). A complete search always proves a bound.
3. The prices are changed as little as possible so that no known set is cheaper
   (``kernels.cheapest_cluster.update_prices``), and step 2 is repeated.

If clusters are well separated, the search is fast even for thousands of nodes. Otherwise, or if
their sizes differ a lot, it is abandoned and the bound does not change.
"""

from __future__ import annotations

import contextlib

import numpy as np

from leastcut.bounds.semidefinite import SemidefiniteBound
from leastcut.bounds.spaces import groups_within
from leastcut.budget import Budget
from leastcut.graph import Graph
from leastcut.kernels import cheapest_cluster as pricing
from leastcut.problem import ORDINARY, Problem
from leastcut.reductions import contracted_by_labels

GROUPS = 200  # approximate number of groups in the problem of the initial prices
SEMIDEFINITE_FRACTION = 0.25  # of the remaining time is for the initial prices
MARGIN = 1e-8  # reduced cost that is ignored, relative to the mean cost of a cluster
# Subproblems after which a search is abandoned: initially, and per completed root.
INITIAL_SUBPROBLEMS, SUBPROBLEMS_PER_ROOT = 200, 20
# Subproblems times nodes and edges between two checks of their number: about 0.1 s. The clock is
# checked after every subproblem, as some take very long.
WORK_PER_CHECK = 2_000_000
MOST_COLUMNS = 500  # largest number of cheaper sets kept per search
STACK_LIMIT = 400  # largest number of subproblems on the stack
SOFTNESS = 0.01  # how much conflicting sets may stay cheaper, relative to changes of prices
SLICES, SWEEPS = 100, 50  # checks of the clock, and passes over the sets between them
BALANCE = 1.0  # ratio of weights and prices in the bound on their product
EPSILON = float(np.finfo(np.float64).eps)

Row = tuple[np.ndarray, np.ndarray, float, float]  # a constraint on prices, see ``_row``


class DualPriceBound:
    """A lower bound on the cut value that rises from round to round.

    ``labels`` 0..c-1 with c ≥ 2 are the best known partition, whose value is above 0.
    """

    def __init__(self, problem: Problem, n_clusters: int, labels: np.ndarray) -> None:
        self.bound = 0.0
        self._problem, self._labels, self._n_clusters = problem, labels, n_clusters
        boundaries, weights = problem.boundaries(labels), problem.cluster_weights(labels)
        self._value = float(np.sum(boundaries / weights))
        # Units in which clusters weigh 1 and cost 1 on average.
        mean_weight, mean_cost = float(weights.mean()), self._value / n_clusters
        # A cluster lost in the rounding errors of the others has no meaningful prices.
        self._open = float(weights.min()) > EPSILON * mean_weight and (
            1.0 / ORDINARY < min(mean_weight, mean_weight * mean_cost) < ORDINARY
        )
        if not self._open:
            return
        self._nodes = problem.node_weights / mean_weight
        self._weights = weights / mean_weight
        self._costs = boundaries / weights / mean_cost
        self._graph = _with_reverse(problem.graph, 1.0 / (mean_weight * mean_cost))
        # Heavy clusters first: light ones are then searched without the heavy nodes.
        self._order = np.lexsort((labels, -weights[labels]))
        self._prices, self._level = np.zeros(0), 0.0
        self._rows: dict[bytes, Row] = {}  # of the known sets
        self._work = _scratch(self._nodes.size, self._graph[1].size)

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Run one round, and return whether another may raise the bound.

        It ends early if time is up; a bound of ``target`` is sufficient.
        """
        budget = budget or Budget()
        if not self._open or self.bound >= target:
            return False
        if not self._prices.size:
            self._prices, self._level = self._first_prices(budget)
        before = self.bound
        columns = self._search(budget)
        # Without a cheaper set the bound equals the value; an incomplete search ends the method.
        if columns is None or len(columns) == 0 or self.bound >= target:
            return False
        n_known = len(self._rows)
        for inside in columns:
            if (key := np.packbits(inside).tobytes()) not in self._rows:
                self._rows[key] = self._row(inside.astype(bool))
        self._update_prices(budget)
        # The update may leave a smaller violation of a known set, which the next search finds.
        return len(self._rows) > n_known or self.bound > before

    def _first_prices(self, budget: Budget) -> tuple[np.ndarray, float]:
        """Return prices and μ from groups of nodes, tight for the known clusters."""
        problem, labels, c = self._problem, self._labels, self._n_clusters
        group = groups_within(problem, labels, max(GROUPS, 2 * c))
        grouped = contracted_by_labels(problem, group)
        coarse = np.empty(grouped.n_nodes, dtype=labels.dtype)
        coarse[group] = labels
        small = SemidefiniteBound(grouped, c, value=self._value, labels=coarse)
        share = budget.part(SEMIDEFINITE_FRACTION)
        with contextlib.suppress(TimeoutError):
            while small.improve(share, self._value * (1.0 - MARGIN)):
                pass
        prices, level = small.dual_prices
        # The price of a group is divided among its nodes in proportion to their weights.
        fractions = problem.node_weights / grouped.node_weights[group]
        mean_cost = self._value / c
        prices, level = prices[group] * fractions / mean_cost, level / mean_cost
        # Neither a union of two clusters nor the union of all may be cheaper.
        level = max(level, self._saved_by_a_union(), c / (c - 1))
        return self._tight(prices, level), level

    def _saved_by_a_union(self) -> float:
        """Return the largest reduction of the cost by merging two known clusters."""
        c, (indptr, columns, weights, _) = self._n_clusters, self._graph
        one = np.repeat(self._labels, np.diff(indptr)).astype(np.int64)
        between = np.bincount(one * c + self._labels[columns], weights, minlength=c * c)
        between = between.reshape(c, c)
        np.fill_diagonal(between, 0.0)
        outward = between.sum(axis=1)
        union = (outward[:, None] + outward - 2.0 * between) / (
            self._weights[:, None] + self._weights
        )
        saved = self._costs[:, None] + self._costs - union
        return float(np.max(saved, where=~np.eye(c, dtype=bool), initial=0.0))

    def _tight(self, prices: np.ndarray, level: float) -> np.ndarray:
        """Return prices shifted so that the reduced cost of every known cluster is μ."""
        labels = self._labels
        missing = self._costs - level - np.bincount(labels, prices)
        return np.asarray(prices + (missing / self._weights)[labels] * self._nodes)

    def _search(self, budget: Budget) -> list[np.ndarray] | None:
        """Prove a bound, and return sets cheaper than the known clusters; None if incomplete."""
        prices, n, c = self._prices, self._nodes.size, self._n_clusters
        cheapest = float(np.min(self._costs - np.bincount(self._labels, prices)))
        level, sets = np.array([cheapest]), np.zeros((MOST_COLUMNS, n), dtype=np.int8)
        cursor, used = np.zeros(4, dtype=np.int64), 0
        nodes, progress = (self._nodes, prices, BALANCE), (level, sets, cursor)
        is_complete, check_every = False, max(1, WORK_PER_CHECK // (n + self._graph[1].size))
        while not is_complete:
            # Stop if the stack is full, most roots have taken long, or time is up.
            is_hard = used > INITIAL_SUBPROBLEMS + SUBPROBLEMS_PER_ROOT * cursor[pricing.N_ROOTS]
            is_hopeless = cursor[pricing.N_ALLOWED] > 0 or (is_hard and used % check_every == 0)
            if is_hopeless or budget.is_exhausted:
                return None
            cursor[pricing.N_ALLOWED], used = 1, used + 1
            is_complete = pricing.search_clusters(
                self._graph, nodes, self._order, MARGIN, progress, self._work
            )
        # Σλ + cμ in the units of the problem, reduced by a bound on rounding errors.
        size = float(np.abs(prices).sum()) + c * abs(float(level[0])) + c
        total = float(np.sum(prices)) + c * (float(level[0]) - MARGIN)
        total -= 4.0 * EPSILON * (n + c) * size
        self.bound = max(self.bound, total * (self._value / c))
        return list(sets[: cursor[pricing.N_FOUND]])

    def _update_prices(self, budget: Budget) -> None:
        """Update prices and μ until no known set is cheaper or time is up."""
        indices, signs, extra, rest = zip(*self._rows.values(), strict=True)
        packed = (
            np.append(0, np.cumsum([row.size for row in indices])),
            np.concatenate(indices),
            np.concatenate(signs),
            np.array(extra),
            np.array(rest),
        )
        members = np.argsort(self._labels, kind="stable")
        clusters = np.append(0, np.cumsum(np.bincount(self._labels))), members
        prices, level = self._prices.copy(), np.array([self._level, 0.0])
        multipliers = np.zeros(len(extra))
        fixed = packed, clusters, self._costs, self._nodes, SOFTNESS
        for _ in range(SLICES):
            worst = pricing.update_prices(
                *fixed, prices, level, multipliers, np.array([SWEEPS, MARGIN])
            )
            if worst < MARGIN or budget.is_exhausted:
                break
        self._level = float(level[0])
        self._prices = self._tight(prices, self._level)

    def _row(self, inside: np.ndarray) -> Row:
        """Return a set's constraint on prices: nodes, their signs, multiples of μ, and the rest.

        Known clusters of which the set contains most of the weight are replaced by their cost minus
        μ, which is the sum of their prices, so that only nodes in the symmetric difference remain.
        """
        labels, nodes, graph = self._labels, self._nodes, self._graph
        common_weights = np.bincount(labels[inside], nodes[inside], minlength=self._n_clusters)
        covered = common_weights > 0.5 * self._weights
        differs = inside.astype(np.int8) - covered[labels].astype(np.int8)
        indices = np.flatnonzero(differs)
        rows = np.repeat(np.arange(nodes.size), np.diff(graph[0]))
        crossing = inside[rows] & ~inside[graph[1]]
        cost = float(graph[2][crossing].sum() / nodes[inside].sum())
        extra, rest = float(covered.sum()) - 1.0, cost - float(self._costs[covered].sum())
        return indices, differs[indices].astype(np.float64), extra, rest


def _with_reverse(
    graph: Graph, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges without self-loops, scaled, and the position of each reverse edge."""
    edges = graph.rows != graph.indices
    rows, columns = graph.rows[edges].astype(np.int64), graph.indices[edges].astype(np.int64)
    indptr = np.append(0, np.cumsum(np.bincount(rows, minlength=graph.n_nodes)))
    # Edges are sorted by row, then column; with columns first, the k-th is the reverse of the k-th.
    reverse = np.empty(rows.size, dtype=np.int64)
    reverse[np.lexsort((columns, rows))] = np.lexsort((rows, columns))
    return indptr, columns, graph.weights[edges] * scale, reverse


def _scratch(n: int, m: int) -> tuple[object, ...]:
    """Return the scratch arrays of ``search_clusters`` for n nodes and m edges."""
    integers = [np.zeros(n, dtype=np.int64) for _ in range(3)]
    flow = (np.zeros(m), np.zeros(n), *integers, np.zeros(n + 1, dtype=np.int64))
    reals = [np.zeros(n) for _ in range(3)]
    sets = [np.zeros(n, dtype=np.int8) for _ in range(3)]
    stack = np.zeros((STACK_LIMIT, n), dtype=np.int8), np.zeros((STACK_LIMIT, 3))
    return (flow, *reals, *sets, *stack)
