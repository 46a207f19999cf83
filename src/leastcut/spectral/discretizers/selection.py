"""How the best of several candidates is chosen.

Choosing by the true cut value needs the graph, which no discretizer sees: it is handed a scoring
function, or None, and then its own loss decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from leastcut.results import Discretization

Score = Callable[[np.ndarray], float]  # labels in, true cut value out


def best_of(candidates: Iterable[Discretization], score: Score | None) -> Discretization:
    """Return the candidate of smallest cut value, or of smallest loss without a score.

    The first one wins a tie. NaN wins over nothing but NaN.
    """
    best: Discretization | None = None
    smallest = np.inf
    for candidate in candidates:
        if score is not None:
            candidate = replace(candidate, cut_value=score(candidate.labels))
        # Without a score, candidates that come with a cut value are compared by that.
        value = candidate.loss if candidate.cut_value is None else candidate.cut_value
        if best is None or value < smallest:
            # nothing is smaller than NaN, which would therefore stay
            best, smallest = candidate, np.inf if np.isnan(value) else value
    if best is None:
        raise ValueError("There is no candidate to choose from; n_init must be at least 1.")
    return best
