"""A lower bound of every partition's cut value by dual prices of nodes (column generation).

Let node i have the price λ_i, and let no set C of nodes cost less than μ more than its price:
boundary(C) / b(C) ≥ λ(C) + μ. Then a partition into c clusters has at least the value Σλ + cμ, as
its clusters hold every node once. This is the dual of choosing c clusters out of all sets so that
each node is in one of them, of which the semidefinite relaxation is a relaxation; and it has one
variable per node, not per pair.

1. Prices come from a semidefinite bound of the problem with nodes aggregated to groups, which is
   small. They are moved so that the clusters of the given partition cost just their price: if
   nothing else is cheaper, its value is proven to be the smallest.
2. All other sets are searched for cheaper ones (``kernels.cheapest_cluster``). That proves a bound,
   whatever it finds, if the search comes to its end.
3. Prices are moved, as little as possible, to where none of the sets found so far is cheaper
   (``kernels.cheapest_cluster.settle_prices``), and step 2 is made again.

The search ends soon if clusters are well separated, on thousands of nodes as on hundreds; if they
are not, or of very different size, it is given up, and the bound stays what it was.
"""

from __future__ import annotations

import contextlib

import numpy as np

from leastcut.bounds.semidefinite import SemidefiniteBound
from leastcut.bounds.spaces import groups_within
from leastcut.budget import Budget
from leastcut.graph import Graph
from leastcut.kernels.cheapest_cluster import (
    N_ALLOWED,
    N_FOUND,
    N_ROOTS,
    search_clusters,
    update_prices,
)
from leastcut.problem import ORDINARY, Problem
from leastcut.reductions import contracted_by_labels

GROUPS = 200  # groups of nodes, about, whose semidefinite bound the prices come from
SEMIDEFINITE_FRACTION = 0.25  # of the time left that this bound may take
MARGIN = 1e-8  # by which a set may be cheaper unnoticed, in units of the mean cost of a cluster
# Parts into which sets are divided before the search is given up: at first, and for each node.
PARTS_AHEAD, PARTS_PER_NODE = 200, 20
# Parts times nodes and edges between two looks at how many there are: about 0.1 s. The clock is
# looked at after every part, as some take very long.
WORK_AT_ONCE = 2_000_000
MOST_FOUND = 500  # cheaper sets that are kept of one search
MOST_STACKED = 400  # parts that wait at a time
SOFTNESS = 0.01  # how willingly prices leave a set cheaper, compared with moving, in a conflict
SLICES, SWEEPS = 100, 50  # passes over the sets, with looks at the clock; few need many
BALANCE = 1.0  # how a set's weight is weighed against its price in the bound of their product
EPSILON = float(np.finfo(np.float64).eps)

Row = tuple[np.ndarray, np.ndarray, float, float]  # of a constraint on prices, see ``_row``


class DualPriceBound:
    """A lower bound of the cut value that rises from round to round.

    ``labels`` 0..c-1 with c ≥ 2 are the best known, of a value above 0.
    """

    def __init__(self, problem: Problem, n_clusters: int, labels: np.ndarray) -> None:
        self.bound = 0.0
        self._problem, self._labels, self._n_clusters = problem, labels, n_clusters
        boundaries, weights = problem.boundaries(labels), problem.cluster_weights(labels)
        self._value = float(np.sum(boundaries / weights))
        # In units in which clusters weigh 1 and cost 1 on average.
        heavy, cost = float(weights.mean()), self._value / n_clusters
        # Prices of a cluster that vanishes in the rounding of the others say nothing.
        self._open = float(weights.min()) > EPSILON * heavy and (
            1.0 / ORDINARY < min(heavy, heavy * cost) < ORDINARY
        )
        if not self._open:
            return
        self._nodes = problem.node_weights / heavy
        self._weights = weights / heavy
        self._costs = boundaries / weights / cost
        self._graph = _with_reverse(problem.graph, 1.0 / (heavy * cost))
        # Those of heavy clusters first: light ones are then searched without the heavy nodes.
        self._order = np.lexsort((labels, -weights[labels]))
        self._prices, self._level = np.zeros(0), 0.0
        self._rows: dict[bytes, Row] = {}  # of the sets found so far
        self._work = _scratch(self._nodes.size, self._graph[1].size)

    def improve(self, budget: Budget | None = None, target: float = np.inf) -> bool:
        """Make one round, and return whether another may raise the bound further.

        It ends early if time is up; a bound of ``target`` is enough.
        """
        budget = budget or Budget()
        if not self._open or self.bound >= target:
            return False
        if not self._prices.size:
            self._prices, self._level = self._first_prices(budget)
        before = self.bound
        found = self._search(budget)
        # No cheaper set: the bound is as good as the value. No end: there is no more to learn.
        if found is None or len(found) == 0 or self.bound >= target:
            return False
        known = len(self._rows)
        for inside in found:
            if (key := np.packbits(inside).tobytes()) not in self._rows:
                self._rows[key] = self._row(inside.astype(bool))
        self._move(budget)
        # Known sets are found again for what moving the prices left open, each time less.
        return len(self._rows) > known or self.bound > before

    def _first_prices(self, budget: Budget) -> tuple[np.ndarray, float]:
        """Return prices and μ from groups of nodes, at which the clusters known cost nothing."""
        problem, labels, c = self._problem, self._labels, self._n_clusters
        group = groups_within(problem, labels, max(GROUPS, 2 * c))
        grouped = contracted_by_labels(problem, group)
        coarse = np.empty(grouped.n_nodes, dtype=labels.dtype)
        coarse[group] = labels
        small = SemidefiniteBound(grouped, c, value=self._value, labels=coarse)
        part = budget.part(SEMIDEFINITE_FRACTION)
        with contextlib.suppress(TimeoutError):
            while small.improve(part, self._value * (1.0 - MARGIN)):
                pass
        prices, level = small.prices
        # A group's price is divided among its nodes by their weights.
        fractions = problem.node_weights / grouped.node_weights[group]
        unit = self._value / c
        prices, level = prices[group] * fractions / unit, level / unit
        # No union of two clusters, nor of all, may be cheaper.
        level = max(level, self._saved_by_a_union(), c / (c - 1))
        return self._tight(prices, level), level

    def _saved_by_a_union(self) -> float:
        """Return by how much a union of two known clusters can cost less than both."""
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
        """Return prices moved so that every known cluster costs just its nodes' prices and μ."""
        labels = self._labels
        missing = self._costs - level - np.bincount(labels, prices)
        return np.asarray(prices + (missing / self._weights)[labels] * self._nodes)

    def _search(self, budget: Budget) -> list[np.ndarray] | None:
        """Prove a bound, and return sets cheaper than the known clusters; None if incomplete."""
        prices, n, c = self._prices, self._nodes.size, self._n_clusters
        cheapest = float(np.min(self._costs - np.bincount(self._labels, prices)))
        level, sets = np.array([cheapest]), np.zeros((MOST_FOUND, n), dtype=np.int8)
        cursor, used = np.zeros(4, dtype=np.int64), 0
        nodes, found = (self._nodes, prices, BALANCE), (level, sets, cursor)
        is_complete, at_once = False, max(1, WORK_AT_ONCE // (n + self._graph[1].size))
        while not is_complete:
            # The stack is full, most have taken long so far, or time is up.
            is_hard = used > PARTS_AHEAD + PARTS_PER_NODE * cursor[N_ROOTS]
            is_hopeless = cursor[N_ALLOWED] > 0 or (is_hard and used % at_once == 0)
            if is_hopeless or budget.is_exhausted:
                return None
            cursor[N_ALLOWED], used = 1, used + 1
            is_complete = search_clusters(
                self._graph, nodes, self._order, MARGIN, found, self._work
            )
        # Σλ + cμ in the problem's own units, with what rounding may have added.
        size = float(np.abs(prices).sum()) + c * abs(float(level[0])) + c
        total = float(np.sum(prices)) + c * (float(level[0]) - MARGIN)
        total -= 4.0 * EPSILON * (n + c) * size
        self.bound = max(self.bound, total * (self._value / c))
        return list(sets[: cursor[N_FOUND]])

    def _move(self, budget: Budget) -> None:
        """Move prices and μ to where no set found so far is cheaper, until time is up."""
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
            worst = update_prices(*fixed, prices, level, multipliers, np.array([SWEEPS, MARGIN]))
            if worst < MARGIN or budget.is_exhausted:
                break
        self._level = float(level[0])
        self._prices = self._tight(prices, self._level)

    def _row(self, inside: np.ndarray) -> Row:
        """Return a set's constraint on prices: nodes, their signs, multiples of μ, and the rest.

        Clusters that it holds most of stand for their nodes, whose prices add up to what they cost
        less μ; only the nodes in which it differs from them are left.
        """
        labels, nodes, graph = self._labels, self._nodes, self._graph
        held = np.bincount(labels[inside], nodes[inside], minlength=self._n_clusters)
        mostly = held > 0.5 * self._weights
        differs = inside.astype(np.int8) - mostly[labels].astype(np.int8)
        indices = np.flatnonzero(differs)
        rows = np.repeat(np.arange(nodes.size), np.diff(graph[0]))
        crossing = inside[rows] & ~inside[graph[1]]
        cost = float(graph[2][crossing].sum() / nodes[inside].sum())
        extra, rest = float(mostly.sum()) - 1.0, cost - float(self._costs[mostly].sum())
        return indices, differs[indices].astype(np.float64), extra, rest


def _with_reverse(
    graph: Graph, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges without self-loops, scaled, and where each stands the other way round."""
    edges = graph.rows != graph.indices
    rows, columns = graph.rows[edges].astype(np.int64), graph.indices[edges].astype(np.int64)
    indptr = np.append(0, np.cumsum(np.bincount(rows, minlength=graph.n_nodes)))
    # Edges are sorted by row, then column: sorted the other way, the k-th is the k-th's reverse.
    reverse = np.empty(rows.size, dtype=np.int64)
    reverse[np.lexsort((columns, rows))] = np.lexsort((rows, columns))
    return indptr, columns, graph.weights[edges] * scale, reverse


def _scratch(n: int, m: int) -> tuple[object, ...]:
    """Return the arrays that ``search_clusters`` works in, for n nodes and m edges."""
    integers = [np.zeros(n, dtype=np.int64) for _ in range(3)]
    flow = (np.zeros(m), np.zeros(n), *integers, np.zeros(n + 1, dtype=np.int64))
    reals = [np.zeros(n) for _ in range(3)]
    sets = [np.zeros(n, dtype=np.int8) for _ in range(3)]
    stack = np.zeros((MOST_STACKED, n), dtype=np.int8), np.zeros((MOST_STACKED, 3))
    return (flow, *reals, *sets, *stack)
