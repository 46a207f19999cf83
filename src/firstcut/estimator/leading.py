"""One relaxation serves many: its leading eigenvectors, for any number of clusters.

The c smallest eigenpairs solve the relaxed c-way cut for every c up to their number. And where the
number p of eigenvectors to look at is not the number c of clusters, the labels still are c:

- p < c: the missing eigenvectors are zero columns. Rotations then map p dimensions onto c
  directions, and k-means sees the p dimensions that there are.
- p > c, k-means: c means in p dimensions.
- p > c, other methods: they give p clusters, the nodes of a small graph whose smallest c-way cut
  says which of them belong together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.cuts import cut_value
from firstcut.discretization import discretize
from firstcut.discretizers import Discretization, options_of
from firstcut.discretizers.candidates import best_of
from firstcut.discretizers.repair import fill_empty_clusters
from firstcut.discretizers.rotations import unit_rows
from firstcut.graph import Graph
from firstcut.partitioning.search import partition
from firstcut.relaxation import Relaxation
from firstcut.threads import single_threaded


def leading(relaxation: Relaxation, count: int) -> Relaxation:
    """Return the relaxation of the ``count`` smallest eigenpairs only."""
    if count == relaxation.n_clusters:
        return relaxation
    product = relaxation.operator_product
    return Relaxation(
        relaxation.eigenvalues[:count],
        relaxation.eigenvectors[:, :count],
        relaxation.node_weights,
        None if product is None else product[:, :count],
        relaxation.solver,
        relaxation.converged,
    )


def discretize_leading(
    relaxation: Relaxation,
    n_clusters: int,
    n_components: int,
    method: str,
    graph: Graph,
    *,
    random_state: int,
    **options: Any,
) -> Discretization:
    """Make ``n_clusters`` clusters of the first ``n_components`` eigenvectors.

    Parameters
    ----------
    relaxation : Relaxation
        With at least as many eigenpairs as the larger of the two numbers.
    n_clusters, n_components : int
    method : str
        A name in ``firstcut.DISCRETIZERS``.
    graph : Graph
        The graph that was relaxed; candidates are judged by its cut value.
    random_state : int
    **options
        Options of the method.

    Returns
    -------
    Discretization
        With exactly ``n_clusters`` clusters.
    """
    seen = leading(relaxation, n_components)
    if n_components < n_clusters:
        seen = _padded(seen, n_clusters)
    if n_components <= n_clusters:
        return discretize(seen, method, graph=graph, random_state=random_state, **options)
    if method in ("kmeans", "kmeans_norm"):
        rows = unit_rows(seen.eigenvectors) if method == "kmeans_norm" else seen.eigenvectors
        n_init = options.get("n_init", options_of(method)["n_init"])
        return _means(rows, n_clusters, n_init, random_state, graph, seen.node_weights)
    found = discretize(seen, method, graph=graph, random_state=random_state, **options)
    labels = _merged(graph, found.labels, seen.node_weights, n_clusters, random_state)
    return _judged(found, labels, graph, seen.node_weights)


def _padded(relaxation: Relaxation, width: int) -> Relaxation:
    """Return the relaxation with zero columns up to ``width``, at its largest eigenvalue."""
    missing = width - relaxation.n_clusters
    values = np.pad(relaxation.eigenvalues, (0, missing), mode="edge")
    return Relaxation(
        values,
        np.pad(relaxation.eigenvectors, ((0, 0), (0, missing))),
        relaxation.node_weights,
        np.pad(relaxation.gradient, ((0, 0), (0, missing))),
        relaxation.solver,
        relaxation.converged,
    )


def _means(
    rows: np.ndarray,
    n_clusters: int,
    n_init: int,
    random_state: int,
    graph: Graph,
    weights: np.ndarray,
) -> Discretization:
    """k-means with fewer means than dimensions, its starts judged by the cut value."""
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(random_state)

    def run(seed: int) -> Discretization:
        model = KMeans(n_clusters, n_init=1, random_state=seed).fit(rows)
        labels = fill_empty_clusters(model.labels_.astype(np.int64), rows, n_clusters)
        loss = float(model.inertia_)
        return Discretization(
            labels, model.n_iter_, model.n_iter_ < model.max_iter, loss, np.array([loss])
        )

    with single_threaded():
        return best_of(
            (run(int(seed)) for seed in rng.integers(2**31 - 1, size=n_init)),
            lambda labels: cut_value(graph, labels, weights),
        )


def _merged(
    graph: Graph, labels: np.ndarray, weights: np.ndarray, n_clusters: int, random_state: int
) -> np.ndarray:
    """Join clusters until ``n_clusters`` are left, by the smallest cut of the graph they form."""
    count = int(labels.max()) + 1
    member = sp.csr_array(
        (np.ones(labels.size), labels, np.arange(labels.size + 1)), shape=(labels.size, count)
    )
    between = (member.T @ graph.matrix @ member).toarray()
    masses = np.bincount(labels, weights)
    between = (between + between.T) / 2
    joined = partition(between, n_clusters, masses, random_state=random_state).labels
    return np.asarray(joined[labels])


def _judged(
    found: Discretization, labels: np.ndarray, graph: Graph, weights: np.ndarray
) -> Discretization:
    value = cut_value(graph, labels, weights)
    return Discretization(
        labels, found.n_iter, found.converged, found.loss, found.history, value, found.eta
    )
