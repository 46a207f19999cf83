"""The top of the spectrum of a symmetric operator, by Chebyshev filters on a block that is kept.

A polynomial of the operator that is small on the rest of the spectrum and large above takes a block
of vectors near the top eigenvectors; the projected problem then gives pairs. Where the operator has
changed little since the block was made, one filter is enough.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

Apply = Callable[[np.ndarray], np.ndarray]


def lowest_estimate(
    apply: Apply, start: np.ndarray, n_steps: int = 12, margin: float = 1.0
) -> float:
    """Return about the bottom of the spectrum, by a few steps of Lanczos.

    It is above, and lowered by ``margin`` times what its residual may be probably below.
    """
    vector, before, coupling = start / np.linalg.norm(start), np.zeros_like(start), 0.0
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(n_steps):
        product = apply(vector[:, None])[:, 0] - coupling * before
        diagonal.append(float(vector @ product))
        product -= diagonal[-1] * vector
        coupling = float(np.linalg.norm(product))
        beside.append(coupling)
        if coupling < 1e-12:
            break
        before, vector = vector, product / coupling
    low = scipy.linalg.eigvalsh_tridiagonal(np.array(diagonal), np.array(beside[:-1]))[0]
    # The residual of a Ritz value is at most the last coupling.
    return float(low) - margin * beside[-1]


def filtered(
    apply: Apply, block: np.ndarray, low: float, high: float, degree: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return Ritz values, ascending, and vectors after a filter that damps what is in [low, high].

    Parameters
    ----------
    apply : callable
        The product of the operator with a block of columns.
    block : ndarray of shape (n, k)
        Where to start.
    low, high : float
        The part of the spectrum that is not wanted: all of it below ``high``.
    degree : int
        Products, each with k columns.
    """
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    last, now = block, (apply(block) - centre * block) / half
    for _ in range(degree - 1):
        last, now = now, (apply(now) - centre * now) * (2.0 / half) - last
    basis = np.linalg.qr(now)[0]
    projected = basis.T @ apply(basis)
    values, coordinates = scipy.linalg.eigh(0.5 * (projected + projected.T), check_finite=False)
    return values, basis @ coordinates
