"""The paper's method: rotation made aware of the cut through the gradient at the relaxed optimum.

For exact eigenpairs F − ηAF = F (I − ηΛ): the gradient term weighs eigenvector j by 1 − ηλ_j. So
the natural scale of η is 1/λ_c, where the last weight changes sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.adaptive_eta import adaptive
from leastcut.spectral.discretizers.alternation import alternate, inverse_of_largest, starts
from leastcut.spectral.discretizers.selection import Score, best_of
from leastcut.validation import as_plain, check_number

PAPER_ETAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # the grid the paper searches
# Names that ``eta`` takes: a ladder to choose from in the end, and a choice at every sweep.
ETA_NAMES = AUTOMATIC, ADAPTIVE = "auto", "adaptive"
SCALED_ETAS = (0.1, 0.3, 0.5, 0.7, 0.9)  # what ``eta="auto"`` adds to it, in units of 1/λ_c


def first_order(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    eta: float | Sequence[float] | str = 1e-3,
    init: np.ndarray | None = None,
    rotation: np.ndarray | None = None,
    n_init: int | None = None,
    max_iter: int = 100,
) -> Discretization:
    """Discretize by first-order discretization (Zhang & Li 2023, Algorithm 1).

    Parameters
    ----------
    relaxation : Relaxation
        The relaxed solution.
    random_state : Generator
        Draws the starts.
    score : callable or None
        Labels to true cut value; None judges the starts by the method's own loss.
    eta : float, sequence of floats, "auto" or "adaptive", default=1e-3
        Weight of the gradient term. Several are tried on the same starts and judged by the true
        cut value. "auto" is a ladder: the paper's 1e-3 … 10, and 0.1 … 0.9 times 1/λ_c.
        "adaptive" chooses anew at every sweep, by the true cut value after it.
    init : array of shape (n,), optional
        Labels to start from.
    rotation : array of shape (c, c), optional
        Rotation of the first sweep. Without it, it is solved from the starting labels, as
        Algorithm 1 has it; the authors' program starts from the identity.
    n_init : int, optional
        Number of starts; by default 10, or 1 where ``init`` or ``rotation`` is given, which is
        then the first of them.
    max_iter : int, default=100
        Most sweeps of one run.

    Returns
    -------
    Discretization
    """
    etas = _etas(eta, relaxation)
    if score is None and (isinstance(eta, str) or np.ndim(eta) > 0):
        raise ValueError(
            f"eta={eta!r} asks for a choice between several values, which is made by the true cut "
            "value: pass the graph, discretize(..., graph=S), or a single number."
        )
    # The same starts for every η: what differs between them is η alone.
    begin = starts(relaxation, init, rotation, n_init, random_state)
    if isinstance(eta, str) and eta == ADAPTIVE:
        assert score is not None
        return best_of(adaptive(relaxation, begin, max_iter, score), score)
    return best_of(
        (
            alternate(relaxation, value, labels, first, max_iter)
            for value in etas
            for labels, first in begin
        ),
        score,
    )


def _etas(eta: float | Sequence[float] | str, relaxation: Relaxation) -> list[float]:
    """Return the numbers that ``eta`` stands for; none if it is chosen while iterating."""
    if isinstance(eta, str):
        if eta == ADAPTIVE:
            return []
        if eta != AUTOMATIC:
            raise ValueError(
                f"eta={eta!r} is not known; pass a number, several, {AUTOMATIC!r} or {ADAPTIVE!r}."
            )
        scale = inverse_of_largest(relaxation)
        scaled = [factor * scale for factor in SCALED_ETAS] if scale else []
        # A set, as a value on both ladders need not run twice; sorted, as the first one wins a tie.
        return sorted({*PAPER_ETAS, *scaled})
    values = np.atleast_1d(as_plain("eta", eta))
    try:
        if values.ndim > 1 or values.size == 0:
            raise ValueError
        return [check_number("eta", value) for value in values]
    except ValueError:
        raise ValueError(
            f"eta={eta!r} must be one or more finite numbers >= 0, {AUTOMATIC!r} or {ADAPTIVE!r}."
        ) from None
