"""Alternating minimization that learns the weights of a graph with c components.

Each iteration computes the optimal weights for the vectors F of the nodes (``rows``), then the
optimal vectors for the weights: these minimize tr(Fᵀ L F) over all F with orthonormal columns
(eigenvectors) or over the indicators of clusters (ratio cut). The penalty λ of this term is raised
until the graph has c components.

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

FIRST_FRACTION = 0.002  # first penalty term / scale of the objective; it removes no edge
DECREASE = 0.01  # relative decrease of the objective below which iterations at one λ stop
MAX_ITERATIONS = 20  # at one λ
LARGEST = 1e9  # largest λ / first λ: not every graph can have c components
CLOSE = 1.02  # ratio of two bracketing λ at which bisection stops
TOLERANCE = 1e-6  # of eigenvectors, which change in the next iteration anyway


@dataclass(frozen=True, eq=False)
class LearnedGraph:
    """A learned graph, with one connected component for each cluster.

    Attributes
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
        Symmetric affinities (S + Sᵀ) / 2; the rows of S sum to 1.
    labels : ndarray of shape (n_nodes,)
        The cluster of every node, 0..c-1, none empty: the components of ``graph`` if there are
        exactly c, else the partition of ``graph`` with the smallest ratio cut found.
    n_iter : int
        Number of iterations, each an update of the weights and then of the vectors.
    converged : bool
        Whether ``graph`` has exactly c connected components.
    history : dict of str to ndarray of shape (n_iter,)
        One entry for each iteration: the ``penalty`` λ, ``n_components`` of the graph, and the
        objective ``before`` the iteration, ``after_weights`` and ``after_vectors``, relative to its
        minimum at λ = 0. For constant λ, the objective never increases.
    nodes : tuple or None
        The names of the nodes, in the order of ``labels``; None if nodes have no names.

    See Also
    --------
    learned_graph : Learn a graph from samples.
    constrained_rank_graph : Learn the graph nearest to an input graph.

    Notes
    -----
    The graph can be cut and evaluated like any other, with :func:`leastcut.partition` or
    :func:`leastcut.cut_value`. With exactly c components, the value of the cut is 0.

    Examples
    --------
    >>> import leastcut
    >>> X = [[0.0], [1.0], [2.0], [3.0], [5.5], [6.5], [7.5], [8.5]]
    >>> learned = leastcut.learned_graph(X, 2, n_neighbors=3, random_state=0)
    >>> learned
    LearnedGraph(n_nodes=8, n_components=2, n_iter=9, converged=True)
    >>> learned.labels
    array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> leastcut.cut_value(learned.graph, learned.labels)
    0.0
    >>> list(learned.history)
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
        """Number of connected components of the graph."""
        return int(sp.csgraph.connected_components(self.graph, directed=False)[0])

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node by its name, if the input graph has node names.

        Returns
        -------
        dict
            The mapping ``{name: cluster}``, in the order of ``labels``.
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
    """Vectors of shape (n, c), and their labels if they are indicators of clusters."""

    vectors: np.ndarray
    labels: np.ndarray | None


def eigenvectors(
    problem: Problem, n_clusters: int, labels: np.ndarray | None, seed: int, n_jobs: int | None
) -> Vectors:
    """Return the eigenvectors of the c smallest eigenvalues, as in the references."""
    relaxed = relax_problem(problem, n_clusters, random_state=seed, tol=TOLERANCE)
    return Vectors(relaxed.eigenvectors, None)


def clusters(
    problem: Problem, n_clusters: int, labels: np.ndarray | None, seed: int, n_jobs: int | None
) -> Vectors:
    """Return the indicators of the smallest ratio cut found, at most that of ``labels``."""
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
    """The penalty λ, bracketed by one with too few components and one with too many.

    λ is doubled or halved until both bounds are known, then bisected in the geometric mean. As the
    vectors change, so does the λ that is needed: when the bounds meet, doubling or halving resumes.
    """

    def __init__(self, value: float) -> None:
        self.value = value
        self._low: float | None = None
        self._high: float | None = None

    def increase(self) -> None:
        """Increase λ, with which there are too few components."""
        self._low = self.value
        if not self._bisected():
            self._high = None
            self.value *= 2.0

    def decrease(self) -> None:
        """Decrease λ, with which there are too many components."""
        self._high = self.value
        if not self._bisected():
            self._low = None
            self.value /= 2.0

    def _bisected(self) -> bool:
        """Bisect if both bounds are known and not close; return whether they are."""
        low, high = self._low, self._high
        if low is None or high is None or high <= CLOSE * low:
            return False
        self.value = (low * high) ** 0.5
        return True


class _State(NamedTuple):
    """Weights, squared distances between the vectors of each pair, and labels (if any)."""

    weights: np.ndarray
    distances: np.ndarray
    labels: np.ndarray | None


class _Iteration(NamedTuple):
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
    """Learn a graph with ``n_clusters`` components from candidate rows."""
    graph = rows.graph(rows.targets)
    history: list[_Iteration] = []
    if graph.components[0] < n_clusters:
        alternation = _Alternation(rows, n_clusters, SOLVERS[solver], seed, n_jobs)
        graph = alternation.run(graph, max_iter, history)
    n_components, labels = graph.components
    converged = n_components == n_clusters
    if not converged:
        labels = partition_problem(
            _ratio_cut(graph), n_clusters, lower_bound=False, random_state=seed, n_jobs=n_jobs
        ).labels
    columns = Columns({name: _column(history, name) for name in _Iteration._fields})
    labels = number_by_appearance(labels)
    return LearnedGraph(graph.matrix, labels, len(history), converged, columns)


def _column(history: list[_Iteration], name: str) -> np.ndarray:
    dtype = np.int64 if name == "n_components" else np.float64
    return np.array([getattr(iteration, name) for iteration in history], dtype=dtype)


def _ratio_cut(graph: Graph) -> Problem:
    return Problem(graph, np.ones(graph.n_nodes))


@dataclass(frozen=True, eq=False)
class _Alternation:
    """Alternating updates of weights and vectors for one set of candidate rows."""

    rows: CandidateRows
    n_clusters: int
    solve: Solve
    seed: int
    n_jobs: int | None

    def run(self, graph: Graph, max_iter: int, history: list[_Iteration]) -> Graph:
        """Iterate until there are exactly c components, and return the last graph.

        ``graph`` is that of the targets, with fewer components. Iterations are added to
        ``history``.
        """
        weights = self.rows.targets
        state = self._with_vectors(graph, _State(weights, np.empty(0), None), 1.0)
        # λ Σ ‖f_i − f_j‖² s_ij is a small fraction of the scale. The sum is 0 only by underflow.
        # It is not computed by BLAS, as its number of threads changes the rounding.
        total = float(np.sum(state.distances * weights))
        first = FIRST_FRACTION * self.rows.scale(weights) / max(total, float(np.finfo(float).tiny))
        penalty = Penalty(first)
        while len(history) < max_iter and penalty.value <= LARGEST * first:
            n_iterations = min(MAX_ITERATIONS, max_iter - len(history))
            graph, new_state = self._iterate(penalty.value, state, n_iterations, history)
            n_components = graph.components[0]
            if n_components == self.n_clusters:
                break
            if n_components < self.n_clusters:
                state = new_state
                penalty.increase()
            else:
                penalty.decrease()  # and start from the same state again
        return graph

    def _iterate(
        self, penalty: float, state: _State, n_iterations: int, history: list[_Iteration]
    ) -> tuple[Graph, _State]:
        """Iterate at one λ until the objective converges or there are enough components."""
        rows = self.rows
        for _ in range(n_iterations):
            before = self._objective(state, penalty)
            # 1. Update the weights, row by row.
            weights = rows.weights(penalty, state.distances, state.weights)
            state = state._replace(weights=weights)
            after_weights = self._objective(state, penalty)
            # 2. Update the vectors. With c components they are null vectors, with the term 0.
            graph = rows.graph(weights)
            n_components = graph.components[0]
            enough = n_components >= self.n_clusters
            if not enough:
                state = self._with_vectors(graph, state, penalty)
            after = rows.objective(weights, 0.0 if enough else penalty, state.distances)
            history.append(_Iteration(penalty, n_components, before, after_weights, after))
            # 3. A relative decrease is meaningful, as the minimum at λ = 0 is 0.
            if enough or before - after <= DECREASE * after:
                break
        return graph, state

    def _objective(self, state: _State, penalty: float) -> float:
        return self.rows.objective(state.weights, penalty, state.distances)

    def _with_vectors(self, graph: Graph, state: _State, penalty: float) -> _State:
        """Return the state with the best vectors for its weights, or the state itself.

        Eigenvectors are computed to a tolerance, so the previous ones may be slightly better.
        """
        best = self.solve(_ratio_cut(graph), self.n_clusters, state.labels, self.seed, self.n_jobs)
        new = state._replace(distances=self.rows.distances(best.vectors), labels=best.labels)
        has_vectors = state.distances.size > 0
        if has_vectors and self._objective(state, penalty) <= self._objective(new, penalty):
            return state
        return new
