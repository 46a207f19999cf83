"""Learn the weights of a graph: weights and vectors in turns, until it has c components.

Weights are the best for the vectors of the nodes (``rows``), and vectors the best for the weights:
both minimize tr(Fᵀ L F), over all F with orthonormal columns (eigenvectors) or over the indicators
of clusters (the ratio cut). λ, which weighs that term, is as large as it takes for c components.

References
----------
F. Nie, X. Wang, H. Huang, "Clustering and projected clustering with adaptive neighbors", KDD 2014.
F. Nie, X. Wang, M. I. Jordan, H. Huang, "The constrained Laplacian rank algorithm for graph-based
clustering", AAAI 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.learned.rows import CandidateRows
from leastcut.formatting import one_line
from leastcut.graph import Graph
from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem, indicator
from leastcut.results import Columns, Partition
from leastcut.spectral.relax import relax_problem
from leastcut.validation import number_by_appearance

FIRST_SHARE = 0.002  # the first penalty as a fraction of what weights cost: it removes no edge
SETTLED = 0.01  # the fraction by which a turn lowers the objective for another one at the same λ
MOST_TURNS = 20  # at one λ
LARGEST = 1e9  # the largest λ / the first: not every graph can have c components
CLOSE = 1.02  # a ratio of two λ from which on none between them is tried
TOLERANCE = 1e-6  # of eigenvectors, which the next weights change anyway


@dataclass(frozen=True, eq=False)
class LearnedGraph:
    """A graph with a component for every cluster: what ``learned_graph`` and others return.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        Symmetric affinities (S + Sᵀ) / 2, where the rows of S add up to 1.
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty: the components of ``graph`` where there are
        exactly c of them, and else the smallest ratio cut of it that was found.
    n_iter : int
        How many times weights and vectors took turns.
    converged : bool
        Whether ``graph`` has exactly c components, by graph search.
    history : Columns
        A row for every turn: ``penalty`` (λ), ``n_components`` of the graph after it, and the
        objective at this λ ``before`` it, ``after_weights`` and ``after_vectors``, less what
        weights cost at λ = 0. It never rises within a row, nor from row to row while λ stays the
        same.
    nodes : tuple or None
        The names of the nodes, in the order of ``labels``; None where there are no names.

    Examples
    --------
    >>> import leastcut
    >>> X = [[0.0], [1.0], [2.0], [3.0], [5.5], [6.5], [7.5], [8.5]]
    >>> found = leastcut.learned_graph(X, 2, n_neighbors=3, random_state=0)
    >>> found
    LearnedGraph(n_nodes=8, n_components=2, n_iter=9, converged=True)
    >>> found.labels
    array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> leastcut.cut_value(found.graph, found.labels)
    0.0
    >>> list(found.history)
    ['penalty', 'n_components', 'before', 'after_weights', 'after_vectors']
    """

    graph: sp.csr_array
    labels: np.ndarray
    n_iter: int
    converged: bool
    history: Columns
    nodes: tuple[Any, ...] | None = None

    @property
    def n_components(self) -> int:
        """The number of components of the graph, by graph search."""
        return int(sp.csgraph.connected_components(self.graph, directed=False)[0])

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node by its name, where the graph given has names.

        Returns
        -------
        dict
            ``{name: cluster}``, in the order of ``labels``.
        """
        return Partition(self.labels, 0.0, None, self.nodes).by_node()

    def __repr__(self) -> str:
        return one_line(
            self,
            n_nodes=np.size(self.labels),
            n_components=self.n_components,
            n_iter=self.n_iter,
            converged=self.converged,
        )


class Vectors(NamedTuple):
    """Vectors of shape (n, c), and the labels that they indicate if they do."""

    vectors: np.ndarray
    labels: np.ndarray | None


def eigenvectors(
    problem: Problem, n_clusters: int, labels: np.ndarray | None, seed: int, n_jobs: int | None
) -> Vectors:
    """Return the eigenvectors of the c smallest eigenvalues, as the papers do."""
    relaxed = relax_problem(problem, n_clusters, random_state=seed, tol=TOLERANCE)
    return Vectors(relaxed.eigenvectors, None)


def clusters(
    problem: Problem, n_clusters: int, labels: np.ndarray | None, seed: int, n_jobs: int | None
) -> Vectors:
    """Return the indicators of the smallest ratio cut that is found, no worse than ``labels``."""
    partition = partition_problem(
        problem,
        n_clusters,
        effort="fast",
        starts=[] if labels is None else [labels],
        lower_bound=False,
        random_state=seed,
        n_jobs=n_jobs,
    )
    return Vectors(indicator(partition.labels, problem.node_weights), partition.labels)


Solve = Callable[[Problem, int, np.ndarray | None, int, int | None], Vectors]
SOLVERS: dict[str, Solve] = {"multilevel": clusters, "spectral": eigenvectors}


class Penalty:
    """λ, between one with which there are too few components and one with too many.

    It is doubled, or halved, until both are known, and then is their geometric mean. The vectors
    move on, and with them what is enough: where both have met, doubling begins anew.
    """

    def __init__(self, value: float) -> None:
        self.value = value
        self._too_little: float | None = None
        self._too_much: float | None = None

    def more(self) -> None:
        """Go up: with this λ there are too few components."""
        self._too_little = self.value
        if not self._bisected():
            self._too_much = None
            self.value *= 2.0

    def less(self) -> None:
        """Go down: with this λ there are too many components."""
        self._too_much = self.value
        if not self._bisected():
            self._too_little = None
            self.value /= 2.0

    def _bisected(self) -> bool:
        """Go between both, if they are known and not yet close; return whether they are."""
        low, high = self._too_little, self._too_much
        if low is None or high is None or high <= CLOSE * low:
            return False
        self.value = (low * high) ** 0.5
        return True


class _State(NamedTuple):
    """Weights, vectors as distances of pairs, and labels if vectors have them."""

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
    rows: CandidateRows,
    n_clusters: int,
    *,
    solver: str,
    max_iter: int,
    seed: int,
    n_jobs: int | None,
) -> LearnedGraph:
    """Learn a graph with ``n_clusters`` components from checked rows."""
    graph = rows.graph(rows.targets)
    turns: list[_Turn] = []
    if graph.components[0] < n_clusters:
        alternation = _Alternation(rows, n_clusters, SOLVERS[solver], seed, n_jobs)
        graph = alternation.run(graph, max_iter, turns)
    n_components, labels = graph.components
    converged = n_components == n_clusters
    if not converged:
        labels = partition_problem(
            _ratio_cut(graph), n_clusters, lower_bound=False, random_state=seed, n_jobs=n_jobs
        ).labels
    history = Columns({name: _column(turns, name) for name in _Turn._fields})
    return LearnedGraph(graph.matrix, number_by_appearance(labels), len(turns), converged, history)


def _column(turns: list[_Turn], name: str) -> np.ndarray:
    dtype = np.int64 if name == "n_components" else np.float64
    return np.array([getattr(turn, name) for turn in turns], dtype=dtype)


def _ratio_cut(graph: Graph) -> Problem:
    return Problem(graph, np.ones(graph.n_nodes))


@dataclass(frozen=True, eq=False)
class _Alternation:
    """Turns of weights and vectors for one set of rows."""

    rows: CandidateRows
    n_clusters: int
    solve: Solve
    seed: int
    n_jobs: int | None

    def run(self, graph: Graph, max_iter: int, turns: list[_Turn]) -> Graph:
        """Take turns until there are exactly c components; return the graph that they end with.

        ``graph`` is that of the targets, with fewer components. ``turns`` are added to.
        """
        weights = self.rows.targets
        state = self._with_vectors(graph, _State(weights, np.empty(0), None), 1.0)
        # λ Σ ‖f_i − f_j‖² s_ij is a small part of the scale. The sum is 0 only by underflow. It is
        # not a product of BLAS, whose threads change the rounding.
        paid = float(np.sum(state.distances * weights))
        first = FIRST_SHARE * self.rows.scale(weights) / max(paid, float(np.finfo(float).tiny))
        penalty = Penalty(first)
        while len(turns) < max_iter and penalty.value <= LARGEST * first:
            most = min(MOST_TURNS, max_iter - len(turns))
            graph, after = self._turns_at(penalty.value, state, most, turns)
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

    def _turns_at(
        self, penalty: float, state: _State, most: int, turns: list[_Turn]
    ) -> tuple[Graph, _State]:
        """Take turns at one λ until the objective converges, or there are components enough."""
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
        found = self.solve(_ratio_cut(graph), self.n_clusters, state.labels, self.seed, self.n_jobs)
        new = state._replace(distances=self.rows.distances(found.vectors), labels=found.labels)
        has_vectors = state.distances.size > 0
        if has_vectors and self._objective(state, penalty) <= self._objective(new, penalty):
            return state
        return new
