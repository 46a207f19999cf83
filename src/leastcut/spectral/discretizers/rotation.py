"""Spectral rotation: discretization by rotating the rows of F towards the axes.

- ``rotation`` (SR) rotates the rows scaled to unit length: S. Yu, J. Shi, "Multiclass spectral
  clustering", ICCV 2003.
- ``unscaled_rotation`` rotates the rows themselves and starts from R = I, so its result depends on
  the arbitrary signs of the eigenvectors. The tables of the first-order paper call it SR.
- ``improved_rotation`` (ISR) minimizes the distance between the discrete and the relaxed solution.
  For every rotation it sweeps until no row moves. First order with η = 0 has the same criterion and
  makes one sweep per rotation.
"""

from __future__ import annotations

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.first_order import alternate, starts
from leastcut.spectral.discretizers.shared import (
    Score,
    best_of,
    check_rotation,
    fill_empty_clusters,
    nearest_orthogonal,
    unit_rows,
)

MOST_SWEEPS = 100  # for one rotation of ISR, which usually needs less than ten


def rotation(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int = 10,
    max_iter: int = 100,
) -> Discretization:
    """Discretize by minimizing ‖X R − Y‖² over rotations R and labels Y; X has the unit rows of F.

    Each of the ``n_init`` initial rotations is constructed from a random row.
    """
    rows = unit_rows(relaxation.eigenvectors)
    firsts = random_state.integers(rows.shape[0], size=n_init)
    return best_of((_run(rows, _start(rows, int(i)), max_iter) for i in firsts), score)


def unscaled_rotation(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    rotation: np.ndarray | None = None,
    n_init: int = 1,
    max_iter: int = 100,
) -> Discretization:
    """Discretize by minimizing ‖F R − Y‖² over rotations R and labels Y, starting from R = I.

    ``rotation`` replaces the identity. All of the ``n_init`` starts but the first flip the signs of
    its rows at random, which is equivalent to flipping eigenvectors.
    """
    rows = relaxation.eigenvectors
    c = rows.shape[1]
    first = np.eye(c) if rotation is None else check_rotation(rotation, c)
    signs = [np.ones(c), *random_state.choice((-1.0, 1.0), size=(n_init - 1, c))]
    return best_of((_run(rows, sign[:, None] * first, max_iter) for sign in signs), score)


def improved_rotation(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    init: np.ndarray | None = None,
    rotation: np.ndarray | None = None,
    n_init: int | None = None,
    max_iter: int = 100,
) -> Discretization:
    """Discretize by minimizing ‖F R − G(Y)‖² alternately over rotations R and partitions Y.

    The parameters are those of ``first_order``, which adds a gradient term.
    """
    candidates = starts(relaxation, init, rotation, n_init, random_state)
    return best_of(
        (
            alternate(relaxation, 0.0, labels, first, max_iter, sweeps=MOST_SWEEPS)
            for labels, first in candidates
        ),
        score,
    )


def _start(rows: np.ndarray, first: int) -> np.ndarray:
    """Return an initial rotation from c unit rows that are nearly orthogonal.

    Starting with row ``first``, select the row with the smallest sum of |cosines| to the rows
    selected before (step 3 of the reference). Return the orthogonal matrix nearest to them.
    """
    c = rows.shape[1]
    columns = np.empty((c, c))
    columns[:, 0] = rows[first]
    # Step 3.
    cosines = np.zeros(rows.shape[0])
    for k in range(1, c):
        cosines += np.abs(rows @ columns[:, k - 1])
        columns[:, k] = rows[int(np.argmin(cosines))]
    return nearest_orthogonal(columns)


def _run(rows: np.ndarray, turn: np.ndarray, max_iter: int) -> Discretization:
    """Alternate between labels and rotation, steps 5 and 6 of the reference, until convergence."""
    n, c = rows.shape
    labels = np.full(n, -1)  # different from all labels of the first iteration
    history: list[float] = []
    converged = False
    while len(history) < max_iter and not converged:
        # Step 5. Given R, assign every row to its largest coordinate.
        rotated = rows @ turn
        new = np.argmax(rotated, axis=1)
        converged = bool(np.array_equal(new, labels))
        labels = new
        # Step 6. Given Y, R is the orthogonal matrix nearest to Xᵀ Y.
        sums = np.zeros((c, c))
        for j in range(c):
            sums[j] = np.bincount(labels, rows[:, j], minlength=c)
        turn = nearest_orthogonal(sums, turn)
        # ‖X R − Y‖² = ‖X‖² + ‖Y‖² − 2 ⟨R, XᵀY⟩
        history.append(float(np.sum(rows**2)) + n - 2.0 * float(np.sum(turn * sums)))
    labels = fill_empty_clusters(labels, rotated, c)
    return Discretization(labels, len(history), converged, history[-1], np.array(history))
