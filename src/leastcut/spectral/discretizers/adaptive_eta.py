"""η chosen while iterating: every sweep takes the η after which the true cut is the smallest.

The first-order criterion weighs eigenvector j by 1 − ηλ_j, so η lives on the scale of 1/λ_c. Which
weight helps depends on the labels: far from a solution another than close to it. So each round
makes one sweep for every η of a short ladder, from the same labels, and goes on from the one of
smallest cut value. Where none is smaller than before, the best of them is followed to its fixed
point, as the cut may rise for a while on the way to a smaller one; if that is none smaller either,
the run ends. So the value falls with every round.
"""

from __future__ import annotations

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.alternation import Start, Sweeper, inverse_of_largest
from leastcut.spectral.discretizers.selection import Score

# What every round tries, in units of 1/λ_c: from improved rotation to almost no weight on the last
# eigenvector. More values mean fewer starts in the same time, and larger cuts.
LADDER = (0.0, 0.3, 0.7, 0.95)
# The first sweep's, in the same units: it is not chosen, as random labels say nothing of a cut.
FIRST = 0.5


def adaptive(
    relaxation: Relaxation,
    starts: list[Start],
    max_iter: int,
    score: Score,
) -> list[Discretization]:
    """Run the alternation from every start with an η that changes from round to round.

    Parameters
    ----------
    relaxation : Relaxation
    starts : list of Start
    max_iter : int
        Most rounds of one run, each of as many sweeps as the ladder is long.
    score : callable
        Labels to true cut value.

    Returns
    -------
    list of Discretization
        For every start; its eta is the one chosen last, its loss and history are of cut values.
    """
    scale = inverse_of_largest(relaxation)
    # Without a scale all η are the same one, 0.
    ladder = [Sweeper(relaxation, factor * scale) for factor in (LADDER if scale else LADDER[:1])]
    first = Sweeper(relaxation, FIRST * scale)
    return [_run(first, ladder, labels, turn, max_iter, score) for labels, turn in starts]


def _run(
    first: Sweeper,
    ladder: list[Sweeper],
    labels: np.ndarray,
    rotation: np.ndarray | None,
    max_iter: int,
    score: Score,
) -> Discretization:
    # 1. One sweep to get from any labels to some that a cut can be read off. A start that was given
    #    may be better than what comes of it, and is kept then.
    swept = labels.copy()
    first.sweep(swept, first.rotation(labels) if rotation is None else rotation)
    best, value, eta = min(
        ((swept, score(swept), first.eta), (labels, score(labels), first.eta)),
        key=lambda one: one[1],
    )
    history = [value]
    converged = False
    while len(history) < max_iter and not converged:
        # 2. One sweep for every η, from the same labels; what moves nothing is no candidate.
        tried = []
        for sweeper in ladder:
            moved = best.copy()
            if sweeper.sweep(moved, sweeper.rotation(best))[0]:
                tried.append((score(moved), sweeper, moved))
        converged = not tried
        if tried:
            # 3. Of these the smallest cut, the first of equal ones; if it is none smaller than
            #    before, what becomes of it.
            found, sweeper, moved = min(tried, key=lambda one: one[0])
            if not found < value:
                found = score(_follow(sweeper, moved, max_iter))
            # 4. Go on from there, or end.
            converged = not found < value
            if not converged:
                best, value, eta = moved, found, sweeper.eta
        history.append(value)
    return Discretization(best, len(history), converged, value, np.array(history), eta=eta)


def _follow(sweeper: Sweeper, labels: np.ndarray, max_iter: int) -> np.ndarray:
    """Alternate with one η until nothing moves; ``labels`` are changed in place and returned."""
    for _ in range(max_iter):
        if sweeper.sweep(labels, sweeper.rotation(labels))[0] == 0:
            break
    return labels
