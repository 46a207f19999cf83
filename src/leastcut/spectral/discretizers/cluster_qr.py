"""Cluster by pivoted QR (Damle, Minden & Ying 2019): one direct factorization, no starts."""

from __future__ import annotations

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.shared import (
    Score,
    best_of,
    fill_empty_clusters,
    pivot_rotation,
)


def cluster_qr(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
) -> Discretization:
    """Discretize by the rotation that c pivot rows of F define; the loss is −Σ_i max_k |F R|_ik.

    It is deterministic, and draws nothing from ``random_state``.
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
