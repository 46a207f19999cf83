"""Discretization by pivoted QR (Damle, Minden & Ying 2019), without iterations."""

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
    """Discretize by rotating c pivot rows of F to the axes; the loss is −Σ_i max_k |F R|_ik.

    The method is deterministic and does not use ``random_state``.
    """
    vectors = relaxation.eigenvectors
    c = vectors.shape[1]
    # 1. Rotate c distant rows of F, one per cluster, to the axes.
    _, rotation = pivot_rotation(vectors)
    # 2. Assign every row to its nearest axis, in either direction.
    rotated = np.abs(vectors @ rotation)
    labels = fill_empty_clusters(np.argmax(rotated, axis=1), rotated, c)
    loss = -float(rotated.max(axis=1).sum())
    return best_of([Discretization(labels, 1, True, loss, np.array([loss]))], score)
