"""k-means on the rows of the eigenvectors (KM), or on the rows scaled to unit length (KM-norm)."""

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

    ``n_init`` is the number of k-means++ starts, and ``max_iter`` the maximum number of iterations
    of each. ``n_clusters`` defaults to the number of eigenvectors.
    """
    rows = relaxation.eigenvectors
    c = rows.shape[1] if n_clusters is None else n_clusters
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
    """Discretize by k-means on the rows of F scaled to unit length (KM-norm)."""
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
    """Run k-means once, until its labels do not change."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    model = KMeans(c, n_init=1, max_iter=max_iter, tol=0.0, random_state=seed)
    # Limited again, as the import above may have loaded the OpenMP library.
    with single_threaded(), warnings.catch_warnings():
        # Warns if there are fewer distinct rows than clusters, which is repaired below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows)
    labels = fill_empty_clusters(model.labels_.astype(np.int64), rows, c)
    loss = float(model.inertia_)  # before the repair
    # KMeans does not report whether it converged in its last iteration.
    return Discretization(labels, model.n_iter_, model.n_iter_ < max_iter, loss, np.array([loss]))
