"""Learn a graph with one component for each cluster, from samples or from a graph.

The estimators use the learned graph of samples as ``affinity="learned"``, with the weights of
adaptive neighbors for new samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.affinity.adaptive_neighbors import ADAPTIVE_NEIGHBORS
from leastcut.affinity.affinity import Affinity, Rows, defaults_of
from leastcut.affinity.learned.alternation import SOLVERS, LearnedGraph, learn
from leastcut.affinity.learned.rows import CandidateRows, project_simplex
from leastcut.affinity.neighbors.index import (
    Neighborhoods,
    check_search,
    checked_samples,
    find_neighborhoods,
)
from leastcut.graph import Graph
from leastcut.problem import as_affinity_graph
from leastcut.results import NeighborSearch
from leastcut.seeds import RandomState, as_generator
from leastcut.threads import count_threads
from leastcut.validation import (
    check_choice,
    check_count,
    check_n_clusters,
    check_neighbors,
    warn_caller,
)

CANDIDATES = 2  # candidates of a sample / n_neighbors; more hardly ever changed a row
FEWEST = 3  # samples needed for a neighbor and one more that sets the threshold
NORMS = ("l2", "l1")


def learned_graph(
    X: Any,
    n_clusters: int,
    n_neighbors: int = 10,
    *,
    solver: str = "multilevel",
    max_iter: int = 200,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: str = "auto",
    device: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    callback: Callable[[NeighborSearch], object] | None = None,
) -> LearnedGraph:
    """Learn a graph of samples with one connected component for each cluster.

    The weights s_ij of every sample sum to 1 and minimize

        Σ_ij (d_ij s_ij + γ_i s_ij²) + 2 λ tr(Fᵀ L F),

    with squared distances d, the Laplacian L of (S + Sᵀ) / 2, and a matrix F with one orthonormal
    column for each cluster. λ = 0 gives the adaptive-neighbors graph without self-loops. λ is
    raised until the graph has exactly ``n_clusters`` components, which are the clusters.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n_samples, n_features)
        The samples. Scale features of different units before the call.
    n_clusters : int
        Number of components c, from 1 to n_samples.
    n_neighbors : int, default=10
        Number k of neighbors with positive weight at λ = 0, at most n_samples − 2. Weights are
        learned on the 2k nearest neighbors.
    solver : {"multilevel", "spectral"}, default="multilevel"
        The method for F. "multilevel" uses the cluster indicators of the smallest ratio cut that
        :func:`leastcut.partition` finds with ``effort="fast"``. "spectral" uses the eigenvectors of
        the c smallest eigenvalues of L, as in the reference.
    max_iter : int, default=200
        Maximum number of iterations.
    metric : str or callable, default="euclidean"
        The distance between samples; see :func:`leastcut.adaptive_neighbors_graph`.
    metric_params : dict or None, default=None
        Parameters of the metric.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        The nearest-neighbor search; see :func:`leastcut.adaptive_neighbors_graph`.
    device : {"auto", "cpu", "cuda"}, default="auto"
        The device that runs the search.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the searches and of the eigensolver.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all available cores. The result does not depend on it.
    callback : callable or None, default=None
        Called once with a :class:`leastcut.NeighborSearch`, after the neighbor search.

    Returns
    -------
    LearnedGraph
        The learned graph and its clusters.

    See Also
    --------
    adaptive_neighbors_graph : With ``include_self=False``, the graph for λ = 0.
    constrained_rank_graph : Learn a graph from an existing graph.
    SpectralClustering : Estimator with ``affinity="learned"``.

    Notes
    -----
    γ_i is half of Σ_{j≤k} (d_i^(k+1) − d_i^(j)), so that at λ = 0 sample i has exactly k neighbors
    with positive weight; if the k + 1 nearest are equally distant, γ_i is the mean of the other γ.
    The reference doubles λ after every iteration with too few components and halves it after one
    with too many. Here the objective converges at each λ, which keeps small groups from splitting
    off early, and λ is bisected in the geometric mean.

    If the adaptive-neighbors graph already has more than c components, ``converged`` is False,
    because no λ reduces their number. A larger ``n_neighbors`` connects more samples.

    References
    ----------
    F. Nie, X. Wang, H. Huang, "Clustering and projected clustering with adaptive neighbors",
    KDD 2014.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.08, random_state=0)
    >>> learned = leastcut.learned_graph(X, 2, random_state=0)
    >>> learned.converged, learned.n_components
    (True, 2)
    >>> leastcut.clustering_accuracy(y, learned.labels)
    1.0
    """
    # 1. Check everything.
    solver = check_choice("solver", solver, SOLVERS)
    max_iter = check_count("max_iter", max_iter)
    search = check_search(metric, metric_params, neighbors, device, random_state, n_jobs, callback)
    points = checked_samples(X)
    n = points.shape[0]
    n_clusters = check_n_clusters(n_clusters, n)
    k = check_neighbors("n_neighbors", n_neighbors, n, 1, False)
    # 2. Find the candidates.
    near = find_neighborhoods(points, min(CANDIDATES * k, n - 1), search)
    # 3. Learn their weights.
    rows = _rows_of_neighbors(near, k)
    return learn(
        rows, n_clusters, solver=solver, max_iter=max_iter, seed=search.seed, n_jobs=n_jobs
    )


def _rows_of_neighbors(near: Neighborhoods, k: int) -> CandidateRows:
    """Return targets (d_i^(k+1) − d_ij)₊ / (2 γ_i), costs (d_ij − d_i^(k+1))₊, spreads 1 / (2 γ_i).

    As weights sum to 1, this objective is Σ_j (d_ij s_ij + γ_i s_ij²) up to a constant.
    """
    squared = near.squared.reshape(near.indptr.size - 1, -1)
    gap = squared[:, k : k + 1] - squared
    twice = gap[:, :k].sum(axis=1, keepdims=True)
    # If γ_i is 0 or too small to invert, use the mean of the others; if all are, the median of the
    # positive distances, which is invariant to scale.
    even = (twice < np.finfo(np.float64).tiny)[:, 0]
    if even.all():
        positive = squared[squared > 0.0]
        twice[:] = np.median(positive) if positive.size else 1.0
    else:
        twice[even] = twice[~even].mean()
    targets, costs = np.maximum(gap, 0.0) / twice, np.maximum(-gap, 0.0)
    if even.any():
        # Their optimum at λ = 0 is a projection; costs are relative to the marginal cost there.
        targets[even] = project_simplex(-costs[even] / twice[even])
        level = targets[even, :1] * twice[even]
        costs[even] = np.where(targets[even] > 0, 0.0, np.maximum(costs[even] - level, 0.0))
    spreads = np.repeat(1.0 / twice, gap.shape[1])
    weights = targets.reshape(-1), costs.reshape(-1)
    return CandidateRows(near.indptr, near.indices, *weights, spreads, n_threads=near.n_threads)


def constrained_rank_graph(
    graph: Any,
    n_clusters: int,
    norm: str = "l2",
    *,
    solver: str = "multilevel",
    max_iter: int = 200,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    symmetrize: str | None = None,
) -> LearnedGraph:
    """Learn the graph nearest to an input graph with one component for each cluster.

    With A the input affinities, each row divided by its sum, the rows of S sum to 1, use only the
    edges of A, and minimize

        ‖S − A‖² + 2 λ tr(Fᵀ L F)   or   ‖S − A‖₁ + 2 λ tr(Fᵀ L F),

    with the Laplacian L of (S + Sᵀ) / 2, whose rank is n − c for c components, and a matrix F with
    one orthonormal column for each cluster. λ is raised until the graph has exactly ``n_clusters``
    components.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n_nodes, n_nodes) or graph of another library
        Symmetric non-negative affinities; self-loops are ignored. See :func:`leastcut.partition`
        for the supported libraries.
    n_clusters : int
        Number of components c, from 1 to n_nodes. A node without edges is a component.
    norm : {"l2", "l1"}, default="l2"
        The distance to the input graph. "l2" spreads small changes over many edges; "l1" keeps most
        weights and removes some edges.
    solver : {"multilevel", "spectral"}, default="multilevel"
        The method for F. "multilevel" uses the cluster indicators of the smallest ratio cut that
        :func:`leastcut.partition` finds with ``effort="fast"``. "spectral" uses the eigenvectors of
        the c smallest eigenvalues of L, as in the reference.
    max_iter : int, default=200
        Maximum number of iterations.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the eigensolver and of the search.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all available cores. The result does not depend on it.
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the maximum of both directions. None
        raises an error.

    Returns
    -------
    LearnedGraph
        The learned graph and its clusters.

    See Also
    --------
    learned_graph : Learn a graph from samples.
    partition : Cut a graph without changing its weights.

    Notes
    -----
    For "l1", the absolute differences ``|x|`` are smoothed to √(x² + δ²) − δ with δ = 1e-4 and
    minimized by iteratively reweighted least squares, as in the reference. λ is chosen as in
    :func:`leastcut.learned_graph`. If the input graph has more than c components, ``converged`` is
    False, because no λ reduces their number.

    References
    ----------
    F. Nie, X. Wang, M. I. Jordan, H. Huang, "The constrained Laplacian rank algorithm for
    graph-based clustering", AAAI 2016.

    Examples
    --------
    The weak edge between two triangles is removed:

    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> learned = leastcut.constrained_rank_graph(S, 2)
    >>> learned.labels, learned.converged
    (array([0, 0, 0, 1, 1, 1]), True)
    >>> learned.graph.toarray()[2].round(3)
    array([0.5, 0.5, 0. , 0. , 0. , 0. ])
    """
    # 1. Check everything.
    norm = check_choice("norm", norm, NORMS)
    solver = check_choice("solver", solver, SOLVERS)
    max_iter = check_count("max_iter", max_iter)
    seed = int(as_generator(random_state).integers(2**31))
    n_threads = count_threads(n_jobs)
    checked = as_affinity_graph(graph, symmetrize)
    n_clusters = check_n_clusters(n_clusters, checked.n_nodes)
    # 2. Learn the weights of its edges.
    rows = _rows_of_graph(checked, norm, n_threads)
    learned = learn(rows, n_clusters, solver=solver, max_iter=max_iter, seed=seed, n_jobs=n_jobs)
    return replace(learned, nodes=checked.names)


def _rows_of_graph(graph: Graph, norm: str, n_threads: int) -> CandidateRows:
    """Return the edges of a graph without self-loops, as fractions of their row."""
    source = graph.rows
    not_loop = source != graph.indices
    source, indices, weights = source[not_loop], graph.indices[not_loop], graph.weights[not_loop]
    n = graph.n_nodes
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))])
    # Division by the largest weight of the row keeps sums from overflowing.
    largest = np.zeros(n)
    np.maximum.at(largest, source, weights)
    fractions = weights / largest[source]
    fractions /= np.bincount(source, fractions, minlength=n)[source]
    spreads = np.full(fractions.size, 0.5)
    return CandidateRows(
        indptr, indices, fractions, np.zeros(fractions.size), spreads, norm == "l1", n_threads
    )


DEFAULTS = {**defaults_of(learned_graph), "n_clusters": 8}  # as in the estimators
LEARNING = ("n_clusters", "solver", "max_iter")  # parameters that adaptive neighbors do not have


def _graph(X: Any, **parameters: Any) -> Any:
    """Learn the graph of X, and warn if its number of components is not ``n_clusters``."""
    if X.shape[0] < FEWEST:
        return ADAPTIVE_NEIGHBORS.graph(X, **_neighbor_parameters(parameters))
    learned = learned_graph(X, **parameters)
    if not learned.converged:
        from sklearn.exceptions import ConvergenceWarning  # slow to import

        count, n_clusters = learned.n_components, parameters["n_clusters"]
        n_iter = learned.n_iter
        remedy = "Pass a smaller n_clusters or n_neighbors."
        if count > n_clusters and n_iter == 0:
            remedy = "Pass a larger n_neighbors, which connects more samples, or more n_clusters."
        elif n_iter == parameters.get("max_iter", DEFAULTS["max_iter"]):
            remedy = f"Pass kernel_params={{'max_iter': {2 * n_iter}}}, or another n_neighbors."
        warn_caller(
            f"The learned graph has {count} component{'' if count == 1 else 's'} after "
            f"{n_iter} iterations instead of n_clusters={n_clusters}; the labels are the smallest "
            f"cut found. {remedy}",
            ConvergenceWarning,
        )
    return learned.graph


def _rows(X: Any, **parameters: Any) -> Rows:
    """Return a function that computes the adaptive-neighbors weights of new samples."""
    return ADAPTIVE_NEIGHBORS.rows(X, **_neighbor_parameters(parameters))


def _neighbor_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of adaptive neighbors."""
    return {name: value for name, value in parameters.items() if name not in LEARNING}


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Reduce k so that one more sample remains for the threshold, and c to the samples."""
    parameters = {**DEFAULTS, **parameters}
    few = ADAPTIVE_NEIGHBORS.limited(n_samples, {"n_neighbors": parameters["n_neighbors"]})
    most = n_samples - 2 if n_samples >= FEWEST else few["n_neighbors"]
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    parameters["n_clusters"] = min(parameters["n_clusters"], n_samples)
    return parameters


LEARNED = Affinity(_graph, _rows, DEFAULTS, _limited, searches=True)
