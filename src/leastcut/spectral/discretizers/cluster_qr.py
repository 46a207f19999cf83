"""Cluster by pivoted QR (Damle, Minden & Ying 2019): one direct factorisation, no starts."""

from __future__ import annotations

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.alternation import pivot_rotation
from leastcut.spectral.discretizers.empty_clusters import fill_empty_clusters
from leastcut.spectral.discretizers.selection import Score, best_of


def cluster_qr(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
) -> Discretization:
    """Discretize by the rotation that c pivot rows of F define.

    Parameters
    ----------
    relaxation : Relaxation
        The relaxed solution.
    random_state : Generator
        Not drawn from: the method is deterministic.
    score : callable or None
        Labels to true cut value.

    Returns
    -------
    Discretization
        Its loss is −Σ_i max_k |F R|_ik.
    """
    vectors = relaxation.eigenvectors
    c = vectors.shape[1]
    # 1. Turn c rows of F that are far apart, one per cluster, onto the axes.
    _, turn = pivot_rotation(vectors)
    # 2. Send every row to its axis, whichever way along it.
    rotated = np.abs(vectors @ turn)
    labels = fill_empty_clusters(np.argmax(rotated, axis=1), rotated, c)
    loss = -float(rotated.max(axis=1).sum())
    return best_of([Discretization(labels, 1, True, loss, np.array([loss]))], score)
