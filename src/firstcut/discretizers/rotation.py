"""Spectral rotation (SR, Yu & Shi 2003): rotate the unit rows until they lie along the axes."""

from __future__ import annotations

import numpy as np

from firstcut.discretizers.candidates import Discretization, Score, best_of
from firstcut.discretizers.repair import fill_empty_clusters
from firstcut.discretizers.rotations import procrustes, spread_rotation, unit_rows
from firstcut.relaxation import Relaxation


def rotation(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int = 10,
    max_iter: int = 100,
) -> Discretization:
    """Discretize by minimising ‖X R − Y‖² for the unit rows X of F, over rotations R and labels Y.

    Parameters
    ----------
    relaxation : Relaxation
    random_state : Generator
    score : callable or None
        Labels to true cut value; None judges the starts by the method's own loss.
    n_init : int, default=10
        Number of starting rotations, spread from random rows.
    max_iter : int, default=100
        Most iterations of one run.

    Returns
    -------
    Discretization
    """
    rows = unit_rows(relaxation.eigenvectors)
    firsts = random_state.integers(rows.shape[0], size=n_init)
    return best_of((_run(rows, spread_rotation(rows, int(i)), max_iter) for i in firsts), score)


def _run(rows: np.ndarray, turn: np.ndarray, max_iter: int) -> Discretization:
    n, c = rows.shape
    labels = np.full(n, -1)
    history: list[float] = []
    converged = False
    while len(history) < max_iter and not converged:
        rotated = rows @ turn
        new = np.argmax(rotated, axis=1)
        converged = bool(np.array_equal(new, labels))
        labels = new
        sums = np.zeros((c, c))
        for j in range(c):
            sums[j] = np.bincount(labels, rows[:, j], minlength=c)
        turn = procrustes(sums)
        history.append(float(np.sum(rows**2)) + n - 2.0 * float(np.sum(turn * sums)))
    labels = fill_empty_clusters(labels, rotated, c)
    return Discretization(labels, len(history), converged, history[-1], np.array(history))
