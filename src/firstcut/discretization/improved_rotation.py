"""Improved spectral rotation (ISR): the discrete solution closest to the relaxed one."""

from __future__ import annotations

import numpy as np

from firstcut.discretization.alternation import alternate, starts
from firstcut.discretization.selection import Score, best_of
from firstcut.results import Discretization, Relaxation


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
    """Discretize by minimising ‖F R − G(Y)‖² over rotations R and partitions Y.

    The parameters are those of ``first_order``, which is this method with a gradient term.
    """
    begin = starts(relaxation, init, rotation, n_init, random_state)
    return best_of(
        (alternate(relaxation, 0.0, labels, first, max_iter) for labels, first in begin), score
    )
