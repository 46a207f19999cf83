"""Learn a graph with a component for every cluster, from samples or from a graph.

The graph of samples is also ``affinity="learned"`` of the estimators. New samples then get the
weights of adaptive neighbors: what was learned is which training samples belong together.
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

CANDIDATES = 2  # candidates of a sample / n_neighbors: with more hardly any row ever changed
FEWEST = 3  # samples from which on each has a neighbor and one beyond it
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
    """Learn a graph of samples together with its clusters: one component for each.

    Weights s_ij of every sample to others add up to 1 and minimize

        Σ_ij (d_ij s_ij + γ_i s_ij²) + 2 λ tr(Fᵀ L F),

    with d the squared distances, L the Laplacian of (S + Sᵀ) / 2 and F its vectors with orthonormal
    columns, one for each cluster. At λ = 0 it is the graph of adaptive neighbors. λ is raised
    until the graph has exactly ``n_clusters`` components, which are the clusters.

    Parameters
    ----------
    X : array-like, sparse matrix or GPU tensor of shape (n, n_features)
        The samples. They are not scaled; features in different units should be, beforehand.
    n_clusters : int
        Number of components c, from 1 to n.
    n_neighbors : int, default=10
        k, the number of others that a sample gives weights to at first; at most n − 2. Candidates
        for weights are the 2k nearest others.
    solver : {"multilevel", "spectral"}, default="multilevel"
        What F is. "multilevel": the indicators of the clusters of the smallest ratio cut that
        :func:`leastcut.partition` finds with ``effort="fast"``. "spectral": the eigenvectors of the
        c smallest eigenvalues of L, as in the reference.
    max_iter : int, default=200
        Turns of weights and vectors, at most.
    metric : str or callable, default="euclidean"
        What near means; as for :func:`leastcut.adaptive_neighbors_graph`.
    metric_params : dict, optional
        Parameters of the metric.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbors are found; as for :func:`leastcut.adaptive_neighbors_graph`.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where they are searched.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the searches and of the eigensolver.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The result does not depend on it.
    callback : callable, optional
        Called once with a :class:`leastcut.NeighborSearch`: how neighbors were found.

    Returns
    -------
    LearnedGraph
        With ``graph``, ``labels``, ``n_iter``, ``converged`` and ``history``.

    Notes
    -----
    γ_i is half of Σ_{j≤k} (d_i^(k+1) − d_i^(j)), so that at λ = 0 sample i gives weights to exactly
    its k nearest; where these are all as far as the next, it is the mean of the other γ. The
    reference doubles λ after every turn with too few components and halves it after one with too
    many. Here turns are taken at one λ until the objective settles, which keeps small groups from
    breaking off early, and a λ between one too small and one too large is their geometric mean.

    Where the graph of adaptive neighbors has more than c components already, no λ makes fewer:
    ``converged`` is False then, and more ``n_neighbors`` join more.

    References
    ----------
    F. Nie, X. Wang, H. Huang, "Clustering and projected clustering with adaptive neighbors",
    KDD 2014.

    Examples
    --------
    >>> import leastcut
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.08, random_state=0)
    >>> found = leastcut.learned_graph(X, 2, random_state=0)
    >>> found.converged, found.n_components
    (True, 2)
    >>> leastcut.clustering_accuracy(y, found.labels)
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

    As weights add up to 1, to minimize the distance from these targets and what they cost is to
    minimize Σ_j (d_ij s_ij + γ_i s_ij²): the difference is a constant.
    """
    squared = near.squared.reshape(near.indptr.size - 1, -1)
    gap = squared[:, k : k + 1] - squared
    twice = gap[:, :k].sum(axis=1, keepdims=True)
    # Rows of no γ of their own, or of one without an inverse, have the mean of the others. Where no
    # row has any it is the median of the positive distances, so that units change nothing.
    even = (twice < np.finfo(np.float64).tiny)[:, 0]
    if even.all():
        positive = squared[squared > 0.0]
        twice[:] = np.median(positive) if positive.size else 1.0
    else:
        twice[even] = twice[~even].mean()
    targets, costs = np.maximum(gap, 0.0) / twice, np.maximum(-gap, 0.0)
    if even.any():
        # Their optimum at λ = 0 is a projection; there a unit of weight costs what the first does.
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
    """Return the graph nearest to a given one that has a component for every cluster.

    With A the given affinities, every row divided by its sum, the rows of S add up to 1, use only
    the edges of A, and minimize

        ‖S − A‖² + 2 λ tr(Fᵀ L F)   or   ‖S − A‖₁ + 2 λ tr(Fᵀ L F),

    with L the Laplacian of (S + Sᵀ) / 2, whose rank is n − c where there are c components, and F
    its vectors with orthonormal columns. λ is raised until there are exactly ``n_clusters``.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities; self-loops are left out. Libraries: as for
        :func:`leastcut.partition`.
    n_clusters : int
        Number of components c, from 1 to n. A node without edges is a component.
    norm : {"l2", "l1"}, default="l2"
        What is near: small squares of differences, which spread over many edges, or small sums of
        their sizes, so that most edges keep their weight and some are given up.
    solver : {"multilevel", "spectral"}, default="multilevel"
        What F is. "multilevel": the indicators of the clusters of the smallest ratio cut that
        :func:`leastcut.partition` finds with ``effort="fast"``. "spectral": the eigenvectors of the
        c smallest eigenvalues of L, as in the reference.
    max_iter : int, default=200
        Turns of weights and vectors, at most.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the eigensolver and of the search.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The result does not depend on it.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    LearnedGraph
        With ``graph``, ``labels``, ``n_iter``, ``converged`` and ``history``.

    Notes
    -----
    Sizes of differences are smoothed to √(x² + δ²) − δ with δ = 1e-4, and minimized by squares that
    are weighted anew, as in the reference. Turns and λ are those of :func:`leastcut.learned_graph`.
    Where the given graph has more than c components, no λ makes fewer: ``converged`` is False then.

    References
    ----------
    F. Nie, X. Wang, M. I. Jordan, H. Huang, "The constrained Laplacian rank algorithm for
    graph-based clustering", AAAI 2016.

    Examples
    --------
    Two triangles, joined by a weaker edge, which goes:

    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> found = leastcut.constrained_rank_graph(S, 2)
    >>> found.labels, found.converged
    (array([0, 0, 0, 1, 1, 1]), True)
    >>> found.graph.toarray()[2].round(3)
    array([0.5, 0.5, 0. , 0. , 0. , 0. ])
    """
    # 1. Check everything.
    norm = check_choice("norm", norm, NORMS)
    solver = check_choice("solver", solver, SOLVERS)
    max_iter = check_count("max_iter", max_iter)
    seed = int(as_generator(random_state).integers(2**31))
    n_threads = count_threads(n_jobs)
    given = as_affinity_graph(graph, symmetrize)
    n_clusters = check_n_clusters(n_clusters, given.n_nodes)
    # 2. Learn the weights of its edges.
    rows = _rows_of_graph(given, norm, n_threads)
    learned = learn(rows, n_clusters, solver=solver, max_iter=max_iter, seed=seed, n_jobs=n_jobs)
    return replace(learned, nodes=given.names)


def _rows_of_graph(graph: Graph, norm: str, n_threads: int) -> CandidateRows:
    """Return the edges of a graph without self-loops, as fractions of their row."""
    source = graph.rows
    others = source != graph.indices
    source, indices, weights = source[others], graph.indices[others], graph.weights[others]
    n = graph.n_nodes
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))])
    # Divided by the largest of the row first: no sum of very large weights overflows.
    largest = np.zeros(n)
    np.maximum.at(largest, source, weights)
    fractions = weights / largest[source]
    fractions /= np.bincount(source, fractions, minlength=n)[source]
    spreads = np.full(fractions.size, 0.5)
    return CandidateRows(
        indptr, indices, fractions, np.zeros(fractions.size), spreads, norm == "l1", n_threads
    )


DEFAULTS = {**defaults_of(learned_graph), "n_clusters": 8}  # as in the estimators
LEARNING = ("n_clusters", "solver", "max_iter")  # what adaptive neighbors do not take


def _graph(X: Any, **parameters: Any) -> Any:
    """Learn the graph of X, and warn if it has not as many components as clusters."""
    if X.shape[0] < FEWEST:
        return ADAPTIVE_NEIGHBORS.graph(X, **_of_neighbors(parameters))
    learned = learned_graph(X, **parameters)
    if not learned.converged:
        from sklearn.exceptions import ConvergenceWarning  # slow to import

        count, n_clusters = learned.n_components, parameters["n_clusters"]
        n_iter = learned.n_iter
        remedy = "Pass fewer n_clusters, or fewer n_neighbors."
        if count > n_clusters and n_iter == 0:
            remedy = "Pass more n_neighbors, which join more, or more n_clusters."
        elif n_iter == parameters.get("max_iter", DEFAULTS["max_iter"]):
            remedy = f"Pass kernel_params={{'max_iter': {2 * n_iter}}}, or other n_neighbors."
        warn_caller(
            f"The learned graph has {count} component{'' if count == 1 else 's'} after "
            f"{n_iter} iterations, and not n_clusters={n_clusters}; labels are the smallest "
            f"cut of it that was found. {remedy}",
            ConvergenceWarning,
        )
    return learned.graph


def _rows(X: Any, **parameters: Any) -> Rows:
    """Return the function from new samples to their weights, those of adaptive neighbors."""
    return ADAPTIVE_NEIGHBORS.rows(X, **_of_neighbors(parameters))


def _of_neighbors(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that adaptive neighbors have as well."""
    return {name: value for name, value in parameters.items() if name not in LEARNING}


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Reduce k so that a further sample is left to set the threshold, and c to the samples."""
    parameters = {**DEFAULTS, **parameters}
    few = ADAPTIVE_NEIGHBORS.limited(n_samples, {"n_neighbors": parameters["n_neighbors"]})
    most = n_samples - 2 if n_samples >= FEWEST else few["n_neighbors"]
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    parameters["n_clusters"] = min(parameters["n_clusters"], n_samples)
    return parameters


LEARNED = Affinity(_graph, _rows, DEFAULTS, _limited, searches=True)
