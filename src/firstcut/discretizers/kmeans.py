"""k-means on the rows of the relaxed solution (KM), or on the rows scaled to length 1 (KM-norm)."""

from __future__ import annotations

import warnings

import numpy as np

from firstcut.discretizers.candidates import Discretization, Score, best_of
from firstcut.discretizers.repair import fill_empty_clusters
from firstcut.discretizers.rotations import unit_rows
from firstcut.relaxation import Relaxation


def kmeans(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int = 10,
    max_iter: int = 300,
) -> Discretization:
    """Discretize by k-means on the rows of F (KM).

    Parameters
    ----------
    relaxation : Relaxation
    random_state : Generator
    score : callable or None
        Labels to true cut value; None judges the starts by the k-means loss.
    n_init : int, default=10
        Number of k-means++ starts.
    max_iter : int, default=300
        Most iterations of one run.

    Returns
    -------
    Discretization
    """
    return _kmeans(relaxation.eigenvectors, random_state, score, n_init, max_iter)


def kmeans_norm(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int = 10,
    max_iter: int = 300,
) -> Discretization:
    """Discretize by k-means on the rows of F scaled to length 1 (KM-norm).

    The parameters are those of ``kmeans``.
    """
    return _kmeans(unit_rows(relaxation.eigenvectors), random_state, score, n_init, max_iter)


def _kmeans(
    rows: np.ndarray,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int,
    max_iter: int,
) -> Discretization:
    seeds = random_state.integers(2**31 - 1, size=n_init)
    return best_of((_run(rows, int(seed), max_iter) for seed in seeds), score)


def _run(rows: np.ndarray, seed: int, max_iter: int) -> Discretization:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    c = rows.shape[1]
    model = KMeans(c, n_init=1, max_iter=max_iter, tol=0.0, random_state=seed)
    with warnings.catch_warnings():
        # fewer distinct rows than clusters: the repair below answers that
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows)
    labels = fill_empty_clusters(model.labels_.astype(np.int64), rows, c)
    loss = float(model.inertia_)
    return Discretization(labels, model.n_iter_, model.n_iter_ < max_iter, loss, np.array([loss]))
