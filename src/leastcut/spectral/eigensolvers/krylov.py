"""A Krylov space that grows and restarts, and knows what it would have shown by now.

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

References
----------
K. Wu and H. Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems", SIAM
Journal on Matrix Analysis and Applications 22 (2000).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from leastcut.spectral.eigensolvers.interface import OUT_OF_TIME

Apply = Callable[[np.ndarray], np.ndarray]  # a symmetric operator, which returns a new vector

CANCELLATION = 0.7  # a vector that keeps less of its length under a projection is projected again
NOTHING_LEFT = 1e-14  # fraction of a vector's length that is nothing but rounding
CHANCE = 1e-8  # that what is said here is false, at most, if products are exact up to rounding
MOST_CHANCE = 1e-4  # the same if they are not; if their noise leaves more, nothing is said
NOISE = 16.0  # how much larger than the operator's noise a start vector's part must be
BISECTIONS = 60  # after which the ends of an interval of logarithms are equal to all digits


@dataclass
class Plan:
    """The size of a search space, its tolerance, and how many products it may take and has taken.

    A pair has converged if its residual is at most ``tol`` times its value.
    """

    dimension: int
    tol: float
    rng: np.random.Generator
    limit: int
    deadline: float = np.inf
    spent: float = 0.0
    noise: float = 0.0  # largest relative error of a product

    @property
    def is_exhausted(self) -> bool:
        """Whether there is no product left to spend; out of time is an error."""
        if time.monotonic() > self.deadline:
            raise TimeoutError(OUT_OF_TIME)
        return self.spent >= self.limit


class Growth:
    """By how much the part of an unseen eigenvector would have grown, for any eigenvalue."""

    def __init__(self) -> None:
        self._now = np.empty(0)
        self._left_out = np.empty(0)
        self._log_lengths = 0.0
        self.ended = False  # whether the space has become invariant, so that nothing grows any more

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


class Ritz(NamedTuple):
    """What a search space knows about the top of the spectrum: values descending."""

    values: np.ndarray
    residuals: np.ndarray
    coordinates: np.ndarray
    growth: Growth


def search(
    apply: Apply,
    basis: np.ndarray,
    locked: int,
    count: int,
    done: Callable[[Ritz], bool],
    plan: Plan,
) -> tuple[Ritz, np.ndarray]:
    """Grow, test and restart a Krylov space orthogonal to the first ``locked`` columns of basis.

    The columns from ``locked`` on are overwritten. Returns the Ritz pairs and the space (a view of
    basis) that their coordinates refer to. Steps are numbered as in Wu and Simon's algorithm; that
    one tests when the space is full, this one also on the way there.
    """
    space, dimension = basis[:, locked:], plan.dimension
    projected = np.zeros((dimension, dimension))  # of the operator onto the space, lower triangle
    size, growth = 0, Growth()
    # 1. Start from a random direction outside of what is locked.
    space[:, 0] = _random_direction(basis[:, :locked], plan.rng)
    # A test costs an eigenproblem of the size of the space, so not after every product.
    pause = max(5, dimension // 6)
    # At the head of the loop the first ``size`` columns of the space are orthonormal, ``projected``
    # is the operator on them, and column ``size`` is the direction to go on in.
    while True:
        # Not before there are as many pairs as are wanted: they are returned if all is spent.
        pause_at = min(dimension, max(size + pause, count))
        while size < pause_at:
            # 2. Expand by one product. Its coefficients are a row of the projected operator: after
            #    a restart an arrow that meets every kept vector, from then on two entries.
            vector, coefficients, coupling = _orthogonalize(
                apply(space[:, size]), basis[:, : locked + size + 1]
            )
            plan.spent += 1.0
            # The locked columns are eigenvectors, to the tolerance: no part of the operator on the
            # space.
            projected[size, : size + 1] = coefficients[locked:]
            size += 1
            # What counts as nothing may be anything up to that.
            growth.expand(coupling or NOTHING_LEFT * float(np.linalg.norm(coefficients)))
            if coupling == 0.0:  # the space is invariant: go on from anywhere else
                vector = _random_direction(basis[:, : locked + size], plan.rng)
                _ritz(projected[:size, :size], coupling, growth)
                # The start vector lies in this space, and has a part in every eigenspace.
                growth.ended = True
            space[:, size] = vector
        # 3. Solve the projected problem (Rayleigh-Ritz) and test its pairs.
        ritz = _ritz(projected[:size, :size], coupling, growth)
        if done(ritz) or plan.is_exhausted:
            return ritz, space[:, :size]
        if size == dimension:
            # 4. Restart thick: keep the wanted Ritz vectors and half of the others, and go on from
            #    the residual direction, which all of them share.
            kept = count + (dimension - count) // 2
            growth.restart(kept)
            residual_direction = space[:, size].copy()
            space[:, :kept] = space[:, :size] @ ritz.coordinates[:, :kept]
            space[:, kept] = residual_direction
            # The kept vectors are Ritz vectors, on which the operator is diagonal. How they couple
            # to the next column, the arrow, comes with the first product as its coefficients.
            projected[:kept, :kept] = np.diag(ritz.values[:kept])
            size = kept


def _ritz(projected: np.ndarray, coupling: float, growth: Growth) -> Ritz:
    """Return the eigenpairs of the lower triangle of ``projected``, and their residual norms."""
    values, coordinates = scipy.linalg.eigh(projected, lower=True, check_finite=False)
    # The operator takes a Ritz vector out of the space along the next column only, by ``coupling``
    # times its last coordinate.
    values, coordinates = values[::-1], coordinates[:, ::-1]
    growth.see(values)
    return Ritz(values, np.abs(coupling * coordinates[-1]), coordinates, growth)


def _orthogonalize(vector: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the unit part of ``vector`` outside ``columns``, its coefficients, and that length.

    The length is 0 when nothing but rounding is left; the first result then has no meaning.
    Changes ``vector``.
    """
    coefficients = np.zeros(columns.shape[1])
    whole = float(np.linalg.norm(vector))
    # In exact arithmetic a Lanczos vector meets the last two columns only. With them gone, one
    # projection on all cancels nothing but rounding, and does not have to be repeated.
    recent = columns[:, -2:]
    coefficients[-2:] = recent.T @ vector
    vector -= recent @ coefficients[-2:]
    length = float(np.linalg.norm(vector))
    # Projecting rounds in proportion to what it takes away. Little taken means that what is left is
    # orthogonal to the last digits; else it is done again (Kahan: twice is enough).
    for _ in range(3):
        before = length
        part = columns.T @ vector
        vector -= columns @ part
        coefficients += part
        length = float(np.linalg.norm(vector))
        if length > CANCELLATION * before:
            break
    if length <= NOTHING_LEFT * whole:
        return vector, coefficients, 0.0
    vector /= length
    return vector, coefficients, length


def _random_direction(columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random unit vector orthogonal to ``columns``."""
    vector = np.asarray(rng.standard_normal(columns.shape[0]))
    return _orthogonalize(vector, columns)[0]
