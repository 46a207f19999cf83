"""Krylov space with thick restarts, and an upper bound on the eigenvalues that it may have missed.

Let u be a unit eigenvector of the operator for the eigenvalue μ, and γ₀ the component of the start
vector along u. The vectors of a Krylov space are polynomials of the operator applied to the start
vector. The roots of the polynomial of the next direction are the Ritz values θ, and its leading
coefficient is 1 / Π β, where β are the lengths of new directions before normalization. A restart
drops some Ritz vectors, whose values become further roots. The component of the next direction
along u is therefore

    γ = γ₀ Π (μ − θ) / Π β      over all Ritz values, including those dropped at restarts.

But |γ| ≤ 1, and |γ₀| ≥ η except with a probability below η √n, as the start vector is random. So a
μ at which the growth γ/γ₀ exceeds 1/η is not an eigenvalue; and as the growth increases with μ
above all roots, no eigenvalue is larger than the μ at which it equals 1/η. A residual cannot prove
this: it shows that an eigenvalue is near, not that none is larger.

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

CANCELLATION = 0.7  # a vector whose length falls below this fraction is projected again
NOTHING_LEFT = 1e-14  # fraction of a vector's length that consists of rounding errors only
CHANCE = 1e-8  # probability that a bound is wrong, if products are exact up to rounding
MOST_CHANCE = 1e-4  # the same for inexact products; with more noise there is no bound
NOISE = 16.0  # required ratio of the start vector's component to the noise of the operator
BISECTIONS = 60  # enough to determine a logarithm to all digits


@dataclass
class Plan:
    """Size and tolerance of a search, with the products it may use and has used.

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
        """Whether no products are left; raises TimeoutError after the deadline."""
        if time.monotonic() > self.deadline:
            raise TimeoutError(OUT_OF_TIME)
        return self.spent >= self.limit


class Growth:
    """Growth of the component along an unseen eigenvector, as a function of its eigenvalue."""

    def __init__(self) -> None:
        self._values = np.empty(0)
        self._dropped = np.empty(0)
        self._log_lengths = 0.0
        self.ended = False  # whether the space has become invariant, which ends the growth

    def expand(self, length: float) -> None:
        """Record the length of a new direction."""
        if not self.ended:
            self._log_lengths += math.log(length)

    def update(self, values: np.ndarray) -> None:
        """Record the current Ritz values, in descending order."""
        if not self.ended:
            self._values = values

    def restart(self, kept: int) -> None:
        """Record that all but the first ``kept`` Ritz vectors are dropped."""
        if not self.ended:
            self._dropped = np.append(self._dropped, self._values[kept:])

    def log(self, value: float) -> float:
        """Return the logarithm of the growth for an eigenvalue; −∞ if it is not above all roots."""
        roots = np.concatenate([self._values, self._dropped])
        if not (roots < value).all():
            return -math.inf
        return float(np.log(value - roots).sum()) - self._log_lengths

    def top(self, component: float) -> float:
        """Return an upper bound on the eigenvalues, given the start vector's least component."""
        if component <= 0.0:
            return math.inf
        first, needed = float(self._values[0]), -math.log(component)
        # Bisect the logarithm of the distance to the largest Ritz value, which may have any size.
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


def least_component(n_rows: int, noise: float) -> float:
    """Return η, a lower bound on the start vector's component along any eigenvector.

    It holds with high probability. ``noise`` is the relative error of products with the operator; 0
    is returned if it is too large for a bound.
    """
    component = max(CHANCE / math.sqrt(n_rows), NOISE * noise)
    return component if component * math.sqrt(n_rows) <= MOST_CHANCE else 0.0


class Ritz(NamedTuple):
    """Ritz pairs of a search space, in descending order."""

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
    """Expand, test and restart a Krylov space orthogonal to the first ``locked`` columns of basis.

    The other columns are overwritten. Returns the Ritz pairs, and the space (a view of ``basis``)
    that their coordinates refer to. Steps are numbered as in the algorithm of Wu and Simon, which
    tests only when the space is full.
    """
    space, dimension = basis[:, locked:], plan.dimension
    projected = np.zeros((dimension, dimension))  # the projected operator, lower triangle
    size, growth = 0, Growth()
    # 1. Start with a random direction orthogonal to the locked columns.
    space[:, 0] = _random_direction(basis[:, :locked], plan.rng)
    # A test solves an eigenproblem of the size of the space, so it is not run after every product.
    pause = max(5, dimension // 6)
    # Loop invariant: the first ``size`` columns of the space are orthonormal, ``projected`` is the
    # operator on them, and column ``size`` is the next direction.
    while True:
        # At least ``count`` pairs are needed, which are returned if no products are left.
        pause_at = min(dimension, max(size + pause, count))
        while size < pause_at:
            # 2. Expand by one product. Its coefficients are a row of the projected operator: an
            #    arrow that couples all kept vectors after a restart, then two entries.
            vector, coefficients, coupling = _orthogonalize(
                apply(space[:, size]), basis[:, : locked + size + 1]
            )
            plan.spent += 1.0
            # The locked columns are eigenvectors, up to the tolerance, and do not couple.
            projected[size, : size + 1] = coefficients[locked:]
            size += 1
            # A coupling that was rounded to 0 may have any value up to this bound.
            growth.expand(coupling or NOTHING_LEFT * float(np.linalg.norm(coefficients)))
            if coupling == 0.0:  # the space is invariant: continue with a random direction
                vector = _random_direction(basis[:, : locked + size], plan.rng)
                _ritz(projected[:size, :size], coupling, growth)
                # The invariant space contains the start vector, so no eigenvector is missed.
                growth.ended = True
            space[:, size] = vector
        # 3. Solve the projected problem (Rayleigh-Ritz) and test its pairs.
        ritz = _ritz(projected[:size, :size], coupling, growth)
        if done(ritz) or plan.is_exhausted:
            return ritz, space[:, :size]
        if size == dimension:
            # 4. Thick restart: keep the leading ``count`` Ritz vectors and half of the others, and
            #    continue with their common residual direction.
            kept = count + (dimension - count) // 2
            growth.restart(kept)
            residual_direction = space[:, size].copy()
            space[:, :kept] = space[:, :size] @ ritz.coordinates[:, :kept]
            space[:, kept] = residual_direction
            # The operator is diagonal on Ritz vectors. Their coupling to the next column, the
            # arrow, follows from the coefficients of the next product.
            projected[:kept, :kept] = np.diag(ritz.values[:kept])
            size = kept


def _ritz(projected: np.ndarray, coupling: float, growth: Growth) -> Ritz:
    """Return the eigenpairs of the lower triangle of ``projected``, with residual norms."""
    values, coordinates = scipy.linalg.eigh(projected, lower=True, check_finite=False)
    values, coordinates = values[::-1], coordinates[:, ::-1]
    growth.update(values)
    # The residual is ``coupling`` times the last coordinate, along the next column.
    return Ritz(values, np.abs(coupling * coordinates[-1]), coordinates, growth)


def _orthogonalize(vector: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Orthogonalize ``vector`` to ``columns`` in place and normalize it.

    Returns the vector, its coefficients, and its length before normalization. The length is 0 if
    only rounding errors are left; the vector is then meaningless.
    """
    coefficients = np.zeros(columns.shape[1])
    initial_length = float(np.linalg.norm(vector))
    # In exact arithmetic a Lanczos vector couples to the last two columns only. After they have
    # been removed, one projection on all columns is usually enough.
    recent = columns[:, -2:]
    coefficients[-2:] = recent.T @ vector
    vector -= recent @ coefficients[-2:]
    length = float(np.linalg.norm(vector))
    # Repeat the projection if it cancels much of the vector (Kahan: twice is enough).
    for _ in range(3):
        before = length
        correction = columns.T @ vector
        vector -= columns @ correction
        coefficients += correction
        length = float(np.linalg.norm(vector))
        if length > CANCELLATION * before:
            break
    if length <= NOTHING_LEFT * initial_length:
        return vector, coefficients, 0.0
    vector /= length
    return vector, coefficients, length


def _random_direction(columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random unit vector orthogonal to ``columns``."""
    vector = np.asarray(rng.standard_normal(columns.shape[0]))
    return _orthogonalize(vector, columns)[0]
