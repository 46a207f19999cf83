"""Cluster by pivoted QR (Damle, Minden & Ying 2019): one direct factorisation, no starts."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from firstcut.discretizers.candidates import Discretization, Score, best_of
from firstcut.discretizers.repair import fill_empty_clusters
from firstcut.discretizers.rotations import procrustes
from firstcut.relaxation import Relaxation


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
    pivots = qr(vectors.T, mode="r", pivoting=True)[1][:c]
    rotated = np.abs(vectors @ procrustes(vectors[pivots].T))
    labels = fill_empty_clusters(np.argmax(rotated, axis=1), rotated, c)
    loss = -float(rotated.max(axis=1).sum())
    return best_of([Discretization(labels, 1, True, loss, np.array([loss]))], score)
