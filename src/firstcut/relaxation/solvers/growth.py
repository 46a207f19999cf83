"""What a Lanczos search would have shown by now: a bound on every eigenvalue that it has not.

Let u be a unit eigenvector of the operator for the eigenvalue μ, with a part of size γ₀ in the
start vector. A Krylov space is made of polynomials of the operator, and the direction to go on in
is the one whose roots are the Ritz values θ, the leading coefficient being one over the product of
the lengths β that new directions had before they were scaled to 1. A restart leaves out some Ritz
vectors, which makes their values further roots. So u's part in that direction is

    γ = γ₀ Π (μ − θ) / Π β      over all Ritz values, those left out at restarts included.

But no part is larger than 1, and a random start vector has a part of at least η in u, but for a
chance below η √n. So what would have grown by more than 1/η is not an eigenvalue; and as growth
rises with μ above all roots, nothing lies above the μ at which it is 1/η. A residual cannot say
that: it tells of an eigenvalue nearby, not that none is beyond.
"""

from __future__ import annotations

import math

import numpy as np

CHANCE = 1e-8
"""The chance, at most, that a start vector is so unlucky that what is said here is false."""

MOST_CHANCE = 1e-2
"""Where noise in the operator leaves more than this chance, nothing is said."""

NOISE = 16.0
"""How much larger than the noise of the operator a start vector's part must be to stand out."""

BISECTIONS = 60
"""Halvings of an interval of logarithms after which its ends are equal to all digits."""


class Growth:
    """By how much the part of an unseen eigenvector would have grown, for any eigenvalue.

    Attributes
    ----------
    ended : bool
        Whether the space has become invariant, so that nothing grows any more.
    """

    def __init__(self) -> None:
        self._now = np.empty(0)
        self._left_out = np.empty(0)
        self._log_lengths = 0.0
        self.ended = False

    def expand(self, length: float) -> None:
        """Take note of a new direction that had this length."""
        if not self.ended:
            self._log_lengths += math.log(length)

    def see(self, values: np.ndarray) -> None:
        """Take note of the Ritz values that there are, descending."""
        if not self.ended:
            self._now = values

    def restart(self, kept: int) -> None:
        """Take note that all but the first ``kept`` Ritz vectors are left out."""
        if not self.ended:
            self._left_out = np.append(self._left_out, self._now[kept:])

    def end(self) -> None:
        """Take note that nothing is left of the last direction, and that what comes is new.

        The start vector lies in an invariant space then, and has a part in every eigenspace.
        """
        self.ended = True

    def log(self, value: float) -> float:
        """Return the logarithm of the growth for an eigenvalue; minus infinity for one in sight."""
        roots = np.concatenate([self._now, self._left_out])
        if not (roots < value).all():
            return -math.inf
        return float(np.log(value - roots).sum()) - self._log_lengths

    def top(self, part: float) -> float:
        """Return what no eigenvalue lies above if the start vector has this part in each."""
        if part <= 0.0:
            return math.inf
        first, needed = float(self._now[0]), -math.log(part)
        # In logarithms of the distance to the largest Ritz value, as it may be of any size.
        low, high = math.log(np.finfo(np.float64).eps * first), math.log(first)
        while self.log(first + math.exp(high)) < needed:
            high += 1.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if self.log(first + math.exp(middle)) < needed:
                low = middle
            else:
                high = middle
        return first + math.exp(high)


def sure_part(n_rows: int, noise: float) -> float:
    """Return the part η that a start vector has in an eigenvector, but for a small chance.

    ``noise`` is the relative error of the operator's products. 0 means that nothing is sure.
    """
    part = max(CHANCE / math.sqrt(n_rows), NOISE * noise)
    return part if part * math.sqrt(n_rows) <= MOST_CHANCE else 0.0
