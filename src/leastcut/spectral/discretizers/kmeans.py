"""k-means on the rows of the relaxed solution (KM), or on the rows scaled to length 1 (KM-norm)."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.shared import Score, best_of, fill_empty_clusters, unit_rows
from leastcut.threads import single_threaded


def kmeans(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int = 10,
    max_iter: int = 300,
    n_clusters: int | None = None,
) -> Discretization:
    """Discretize by k-means on the rows of F (KM).

    ``n_init`` k-means++ starts have up to ``max_iter`` iterations; ``n_clusters`` means are by
    default as many as there are eigenvectors.
    """
    rows = relaxation.eigenvectors
    c = rows.shape[1] if n_clusters is None else n_clusters
    # All drawn at once, as scikit-learn takes seeds and no Generator.
    seeds = random_state.integers(2**31 - 1, size=n_init)
    return best_of((_run(rows, c, int(seed), max_iter) for seed in seeds), score)


def kmeans_norm(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int = 10,
    max_iter: int = 300,
    n_clusters: int | None = None,
) -> Discretization:
    """Discretize by k-means on the rows of F scaled to length 1 (KM-norm), else as ``kmeans``."""
    scaled = replace(relaxation, eigenvectors=unit_rows(relaxation.eigenvectors))
    return kmeans(
        scaled,
        random_state=random_state,
        score=score,
        n_init=n_init,
        max_iter=max_iter,
        n_clusters=n_clusters,
    )


def _run(rows: np.ndarray, c: int, seed: int, max_iter: int) -> Discretization:
    """Run k-means once, to its fixed point: a tolerance would end it where nothing is special."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    model = KMeans(c, n_init=1, max_iter=max_iter, tol=0.0, random_state=seed)
    # Again, as the import above may just have loaded the OpenMP library that is to be limited.
    with single_threaded(), warnings.catch_warnings():
        # fewer distinct rows than clusters: the repair below answers that
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows)
    labels = fill_empty_clusters(model.labels_.astype(np.int64), rows, c)
    # Of the means as k-means left them, before the repair.
    loss = float(model.inertia_)
    # A run that ends at the last iteration may have converged there, which cannot be told.
    return Discretization(labels, model.n_iter_, model.n_iter_ < max_iter, loss, np.array([loss]))
