"""Weights and vectors in turns, with λ as large as it takes for c components.

References
----------
F. Nie, X. Wang, H. Huang, "Clustering and projected clustering with adaptive neighbors", KDD 2014.
F. Nie, X. Wang, M. I. Jordan, H. Huang, "The constrained Laplacian rank algorithm for graph-based
clustering", AAAI 2016.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leastcut.affinity.learned.penalty import Penalty
from leastcut.affinity.learned.result import LearnedGraph
from leastcut.affinity.learned.rows import Rows
from leastcut.affinity.learned.vectors import SOLVERS
from leastcut.graph import Graph
from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem
from leastcut.results import Columns
from leastcut.validation import number_by_appearance

FIRST_SHARE = 0.002
"""What the penalty is at first, as a part of what weights cost: too little to tear anything."""

SETTLED = 0.01
"""Part of the objective by which a turn must lower it for another one at the same λ."""

MOST_TURNS = 20
"""Turns at one λ, settled or not."""

LARGEST = 1e9
"""The largest λ, in times the first: what that does not tear cannot be torn. No component is a
single node that has candidates, so that not every graph can have as many as are wanted."""


class _State(NamedTuple):
    """Where turns stand: weights, vectors as distances of pairs, labels if vectors have them."""

    weights: np.ndarray
    distances: np.ndarray
    labels: np.ndarray | None


class _Turn(NamedTuple):
    """A row of the history."""

    penalty: float
    n_components: int
    before: float
    after_weights: float
    after_vectors: float


def learn(
    rows: Rows, n_clusters: int, *, solver: str, max_iter: int, seed: int, n_jobs: int | None
) -> LearnedGraph:
    """Learn a graph with ``n_clusters`` components from checked rows."""
    weights = rows.targets
    graph = rows.graph(weights)
    turns: list[_Turn] = []
    if graph.components[0] < n_clusters:
        alternation = _Alternation(rows, n_clusters, solver, seed, n_jobs)
        graph = alternation.run(weights, graph, max_iter, turns)
    count, component = graph.components
    converged = count == n_clusters
    labels = component if converged else _cut(graph, n_clusters, seed, n_jobs)
    columns = zip(*turns, strict=True) if turns else ([] for _ in _Turn._fields)
    types = [np.int64 if name == "n_components" else np.float64 for name in _Turn._fields]
    history = Columns(
        {
            name: np.array(list(column), dtype=dtype)
            for name, column, dtype in zip(_Turn._fields, columns, types, strict=True)
        }
    )
    return LearnedGraph(graph.matrix, number_by_appearance(labels), len(turns), converged, history)


def _cut(graph: Graph, n_clusters: int, seed: int, n_jobs: int | None) -> np.ndarray:
    """Return the smallest ratio cut that is found of a graph that is not of c components."""
    problem = Problem(graph, np.ones(graph.n_nodes))
    found = partition_problem(
        problem, n_clusters, lower_bound=False, random_state=seed, n_jobs=n_jobs
    )
    return found.labels


class _Alternation:
    """Turns of weights and vectors for one set of rows."""

    def __init__(
        self, rows: Rows, n_clusters: int, solver: str, seed: int, n_jobs: int | None
    ) -> None:
        self.rows = rows
        self.n_clusters = n_clusters
        self._solve = SOLVERS[solver]
        self._seed, self._n_jobs = seed, n_jobs

    def run(self, weights: np.ndarray, graph: Graph, max_iter: int, turns: list[_Turn]) -> Graph:
        """Take turns until there are exactly c components; return the graph that they end with.

        ``graph`` is that of the first weights, with fewer components. ``turns`` are added to.
        """
        state = self._with_vectors(graph, _State(weights, np.empty(0), None), 1.0)
        # λ Σ ‖f_i − f_j‖² s_ij is a small part of the scale. The sum is 0 only by underflow.
        spent = max(_paid(state), float(np.finfo(np.float64).tiny))
        first = FIRST_SHARE * self.rows.scale(weights) / spent
        penalty = Penalty(first)
        while len(turns) < max_iter and penalty.value <= LARGEST * first:
            left = min(MOST_TURNS, max_iter - len(turns))
            graph, after = self._settle(state, penalty.value, left, turns)
            n_components = graph.components[0]
            if n_components == self.n_clusters:
                break
            if n_components < self.n_clusters:
                # From here on, with more.
                state = after
                penalty.more()
            else:
                # Once more from where it was, with less.
                penalty.less()
        return graph

    def _settle(
        self, state: _State, penalty: float, most: int, turns: list[_Turn]
    ) -> tuple[Graph, _State]:
        """Take turns at one λ until the objective settles, or there are components enough."""
        rows = self.rows
        for _ in range(most):
            before = self._objective(state, penalty)
            # 1. Weights for these vectors, row by row.
            weights = rows.weights(penalty, state.distances, state.weights)
            state = state._replace(weights=weights)
            after_weights = self._objective(state, penalty)
            # 2. Vectors for these weights. With c components some are null vectors, and cost 0.
            graph = rows.graph(weights)
            n_components = graph.components[0]
            enough = n_components >= self.n_clusters
            if not enough:
                state = self._with_vectors(graph, state, penalty)
            after = rows.objective(weights, 0.0 if enough else penalty, state.distances)
            turns.append(_Turn(penalty, n_components, before, after_weights, after))
            # 3. The objective is 0 at λ = 0, so that a fraction of it means something.
            if enough or before - after <= SETTLED * after:
                break
        return graph, state

    def _objective(self, state: _State, penalty: float) -> float:
        return self.rows.objective(state.weights, penalty, state.distances)

    def _with_vectors(self, graph: Graph, state: _State, penalty: float) -> _State:
        """Return the state with the best vectors for its weights, or as it is if none are better.

        Eigenvectors are accurate to a tolerance, and those of before may be better by less.
        """
        problem = Problem(graph, np.ones(graph.n_nodes))
        found = self._solve(problem, self.n_clusters, state.labels, self._seed, self._n_jobs)
        new = state._replace(distances=self.rows.distances(found.vectors), labels=found.labels)
        if state.distances.size and self._objective(state, penalty) <= self._objective(
            new, penalty
        ):
            return state
        return new


def _paid(state: _State) -> float:
    """Return Σ ‖f_i − f_j‖² s_ij. Not as a product of BLAS, whose threads change the rounding."""
    return float(np.sum(state.distances * state.weights))
