"""Spectral rotation: rotate the rows of F until they lie along the axes.

- ``rotation`` (SR) does it to the rows scaled to length 1, as its reference has it: S. Yu, J. Shi,
  "Multiclass spectral clustering", ICCV 2003.
- ``unscaled_rotation`` takes the rows as they are and begins with R = I, which makes its result
  depend on the signs of the eigenvectors, and these mean nothing. It is what the tables of the
  first-order paper call SR.
- ``improved_rotation`` (ISR) finds the discrete solution closest to the relaxed one. For every
  rotation the labels are solved before the next rotation is: sweeps until nothing moves. First
  order with η = 0 has the same criterion and makes one sweep per rotation.
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

MOST_SWEEPS = 100  # for one rotation of ISR: a guard, as a handful is enough


def rotation(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    n_init: int = 10,
    max_iter: int = 100,
) -> Discretization:
    """Discretize by minimizing ‖X R − Y‖² for the unit rows X of F, over rotations R and labels Y.

    Each of ``n_init`` starting rotations is begun at a random row.
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
    """Discretize by minimizing ‖F R − Y‖² over rotations R and labels Y, from R = I.

    ``rotation`` is another one to start from. Of ``n_init`` starts all but the first change signs
    of its rows at random, which is what other signs of the eigenvectors would do.
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
    """Discretize by minimizing ‖F R − G(Y)‖² over rotations R and partitions Y in turn.

    The parameters are those of ``first_order``, which adds a gradient term.
    """
    begin = starts(relaxation, init, rotation, n_init, random_state)
    return best_of(
        (
            alternate(relaxation, 0.0, labels, first, max_iter, sweeps=MOST_SWEEPS)
            for labels, first in begin
        ),
        score,
    )


def _start(rows: np.ndarray, first: int) -> np.ndarray:
    """Return an orthogonal start: c of the unit rows, as far from parallel as can be had.

    From row ``first`` on, each next row is the one with the smallest sum of |cosines| to those
    taken (step 3 of the reference); the nearest orthogonal matrix to them is returned.
    """
    c = rows.shape[1]
    columns = np.empty((c, c))
    columns[:, 0] = rows[first]
    # Step 3. The sum goes on from row to row, so each costs one product with the last one taken.
    cosines = np.zeros(rows.shape[0])
    for k in range(1, c):
        cosines += np.abs(rows @ columns[:, k - 1])
        columns[:, k] = rows[int(np.argmin(cosines))]
    # Rows are orthogonal only nearly, and the steps below need a rotation.
    return nearest_orthogonal(columns)


def _run(rows: np.ndarray, turn: np.ndarray, max_iter: int) -> Discretization:
    """Solve for labels and rotation in turn, steps 5 and 6 of the reference, until labels stay."""
    n, c = rows.shape
    # No row has this label, so the first round cannot look like a fixed point.
    labels = np.full(n, -1)
    history: list[float] = []
    converged = False
    while len(history) < max_iter and not converged:
        # Step 5. Given R, every row goes to its largest coordinate.
        rotated = rows @ turn
        new = np.argmax(rotated, axis=1)
        converged = bool(np.array_equal(new, labels))
        labels = new
        # Step 6. Given Y, R is the nearest to Xᵀ Y, which is made of sums over clusters.
        sums = np.zeros((c, c))
        for j in range(c):
            sums[j] = np.bincount(labels, rows[:, j], minlength=c)
        turn = nearest_orthogonal(sums, turn)
        # ‖X R − Y‖² = ‖X‖² + ‖Y‖² − 2 ⟨R, XᵀY⟩; a row of zeros keeps ‖X‖² below n.
        history.append(float(np.sum(rows**2)) + n - 2.0 * float(np.sum(turn * sums)))
    # By the coordinates that the labels were read off.
    labels = fill_empty_clusters(labels, rotated, c)
    return Discretization(labels, len(history), converged, history[-1], np.array(history))
