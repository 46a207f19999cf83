"""Improved spectral rotation (ISR): the discrete solution closest to the relaxed one.

For every rotation the labels are solved before the next rotation is: sweeps until nothing moves.
First order with η = 0 has the same criterion and makes one sweep per rotation.
"""

from __future__ import annotations

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.alternation import alternate, starts
from leastcut.spectral.discretizers.selection import Score, best_of

# Sweeps for one rotation: a guard, as a handful is enough for nothing to move any more.
MOST_SWEEPS = 100


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
    """Discretize by minimising ‖F R − G(Y)‖² over rotations R and partitions Y in turn.

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
