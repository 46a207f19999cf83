"""What a discretizer returns, and how the best of several candidates is chosen.

Choosing by the true cut value needs the graph, which no discretizer sees: it is handed a scoring
function, or None, and then its own loss decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

Score = Callable[[np.ndarray], float]
"""Labels in, true cut value out."""


@dataclass(frozen=True, eq=False)
class Discretization:
    """Labels that a method made of a relaxed solution.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty.
    n_iter : int
        Iterations of the run that gave these labels.
    converged : bool
        Whether that run ended at a fixed point rather than at ``max_iter``.
    loss : float
        The method's own loss at the end, the smaller the better; comparable only between runs of
        one method with one eta.
    history : ndarray of shape (n_iter,)
        The loss after every iteration; it never rises.
    cut_value : float or None
        The true cut value; None where no graph was given to compute it from.
    eta : float or None
        The weight of the gradient term, where the method has one.
    """

    labels: np.ndarray
    n_iter: int
    converged: bool
    loss: float
    history: np.ndarray
    cut_value: float | None = None
    eta: float | None = None


def best_of(candidates: Iterable[Discretization], score: Score | None) -> Discretization:
    """Return the candidate of smallest cut value, or of smallest loss without a score.

    The first one wins a tie. NaN cannot win.
    """
    best: Discretization | None = None
    smallest = np.inf
    for candidate in candidates:
        if score is not None:
            candidate = replace(candidate, cut_value=score(candidate.labels))
        value = candidate.loss if candidate.cut_value is None else candidate.cut_value
        if best is None or value < smallest:
            best, smallest = candidate, value
    if best is None:
        raise ValueError("There is no candidate to choose from; n_init must be at least 1.")
    return best
