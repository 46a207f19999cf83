"""``learned_graph``: from samples to a graph with a component for every cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leastcut.affinity.learned.alternation import learn
from leastcut.affinity.learned.result import LearnedGraph
from leastcut.affinity.learned.rows import ROUNDING, Rows
from leastcut.affinity.learned.vectors import SOLVERS
from leastcut.affinity.neighbors.index import (
    Neighborhoods,
    NeighborIndex,
    check_wanted,
    checked_samples,
)
from leastcut.kernels.simplex import project_rows
from leastcut.results import NeighborSearch
from leastcut.seeds import RandomState
from leastcut.validation import check_choice, check_count, check_n_clusters, check_neighbors

CANDIDATES = 2
"""Candidates of a sample, in times ``n_neighbors``: with more hardly any row ever changed."""


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

    Weights s_ij of every sample to others add up to 1 and minimise

        Σ_ij (d_ij s_ij + γ_i s_ij²) + 2 λ tr(Fᵀ L F),

    with d the squared distances, L the Laplacian of (S + Sᵀ) / 2 and F its vectors with orthonormal
    columns, one for each cluster. At λ = 0 it is the graph of adaptive neighbours. λ is raised
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
        How neighbours are found; as for :func:`leastcut.adaptive_neighbors_graph`.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where they are searched.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the searches and of the eigensolver.
    n_jobs : int or None, default=None
        Threads; None and -1 mean one per available core. The result does not depend on it.
    callback : callable, optional
        Called once with a :class:`leastcut.NeighborSearch`: how neighbours were found.

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

    Where the graph of adaptive neighbours has more than c components already, no λ makes fewer:
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
    wanted = check_wanted(neighbors, device, random_state, callback, metric, metric_params)
    points = checked_samples(X)
    n = points.shape[0]
    n_clusters = check_n_clusters(n_clusters, n)
    k = check_neighbors("n_neighbors", n_neighbors, n, 1, False)
    # 2. Find the candidates.
    index = NeighborIndex(points, n_jobs, wanted, metric, metric_params)
    near = index.nearest_others(min(CANDIDATES * k, n - 1))
    if callback is not None:
        callback(near.told)
    n_threads = index.n_threads
    del index  # and its copies of the samples
    # 3. Learn their weights.
    rows = _rows_of(near, k, n_threads)
    seed = wanted.seed
    return learn(rows, n_clusters, solver=solver, max_iter=max_iter, seed=seed, n_jobs=n_jobs)


def _rows_of(near: Neighborhoods, k: int, n_threads: int) -> Rows:
    """Return targets (d_i^(k+1) − d_ij)₊ / (2 γ_i), costs (d_ij − d_i^(k+1))₊, spreads 1 / (2 γ_i).

    As weights add up to 1, to minimise the distance from these targets and what they cost is to
    minimise Σ_j (d_ij s_ij + γ_i s_ij²): the difference is a constant.
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
        targets[even] = _projected(-costs[even] / twice[even])
        level = targets[even, :1] * twice[even]
        costs[even] = np.where(targets[even] > 0, 0.0, np.maximum(costs[even] - level, 0.0))
    spreads = np.repeat(1.0 / twice, gap.shape[1])
    weights = targets.reshape(-1), costs.reshape(-1)
    return Rows(near.indptr, near.indices, *weights, spreads, n_threads=n_threads)


def _projected(points: np.ndarray) -> np.ndarray:
    """Return every row of a matrix projected onto the simplex."""
    n_rows, length = points.shape
    weights = np.empty(points.size)
    even = np.ones(points.size)
    indptr = np.arange(n_rows + 1, dtype=np.int64) * length
    project_rows(0, n_rows, indptr, points.reshape(-1), even, ROUNDING, weights)
    return weights.reshape(points.shape)
