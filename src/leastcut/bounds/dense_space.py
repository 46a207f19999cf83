"""The spectral side of the relaxation: the nearest Z with Zu = u, tr Z = c and 0 ⪯ Z ⪯ I.

Two spaces share one interface: this one keeps Z as it is, ``grouped_space`` sees it through groups.
``root`` and ``mass`` are the √b and the numbers of nodes of what the rows of matrices stand for,
``nearest`` is a step of Z, and ``floor`` proves the bound of multipliers N.
"""

from __future__ import annotations

import numpy as np

from leastcut.bounds.proven_floor import Floor, proven_floor
from leastcut.problem import Problem
from leastcut.spectral.dense_eigenpairs import eigenpairs

SPARE = 8
"""Eigenpairs computed beyond those that counted the last time."""


class DenseSpace:
    """Z as a full matrix, from eigenpairs by LAPACK."""

    def __init__(self, problem: Problem, n_clusters: int, scale: float) -> None:
        self._n_clusters, self.rank = n_clusters, n_clusters
        self._A = problem.operator().toarray() / scale
        self.root = np.sqrt(problem.node_weights)
        self.mass = np.ones(self.root.size)
        self.unit = self.root / np.linalg.norm(self.root)

    def nearest(self, W: np.ndarray, N: np.ndarray, penalty: float) -> np.ndarray:
        """Return the nearest Z to W + (N − A) / penalty."""
        target = W + (N - self._A) / penalty
        Z, self.rank = nearest_spectral(target, self.unit, self._n_clusters, self.rank)
        return Z

    def floor(self, N: np.ndarray, size: float, deadline: float = np.inf) -> Floor:
        """Return the proven bound of N; raises TimeoutError at ``deadline``."""
        return proven_floor(self._A - N, self.unit, self._n_clusters, size, deadline)


def nearest_spectral(
    matrix: np.ndarray, unit: np.ndarray, n_clusters: int, guess: int
) -> tuple[np.ndarray, int]:
    """Return the nearest matrix in the Frobenius norm, and how many eigenpairs it has besides u.

    On the complement of u the eigenvectors stay, and eigenvalues w become clip(w − θ, 0, 1) with
    the θ that makes their sum c − 1. Those below θ are not needed: ``guess`` is how many may be
    above.
    """
    n, total = unit.size, n_clusters - 1
    # 1. Take u out of the matrix, and its eigenvalue below all others.
    product = matrix @ unit
    bottom = -2.0 * float(np.abs(matrix).sum(axis=1).max()) - 1.0
    outer = np.outer(unit, product - 0.5 * (float(unit @ product) + bottom) * unit)
    compressed = matrix - outer - outer.T
    # 2. The largest eigenpairs, more of them until the last is not needed.
    count = min(max(guess, total) + SPARE, n - 1)
    while True:
        values, vectors = eigenpairs(compressed, n - count, n - 1)
        shares = np.clip(values - threshold(values, total), 0.0, 1.0)
        if count == n - 1 or shares[0] == 0.0:
            break
        count = min(2 * count, n - 1)
    # 3. Put together.
    used = shares > 0.0
    scaled = vectors[:, used] * np.sqrt(shares[used])
    return scaled @ scaled.T + np.outer(unit, unit), int(used.sum())


def threshold(values: np.ndarray, total: float) -> float:
    """Return the θ for which clip(values − θ, 0, 1) sums to ``total``; values ascend.

    The sum falls with θ, in straight lines between the values and the values less 1. It is
    Σ max(v − θ, 0) − Σ max(v − 1 − θ, 0), and both parts come from sums of the largest values.
    """
    count = values.size
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    points = np.sort(np.concatenate([values - 1.0, values]))

    def above(theta: np.ndarray) -> np.ndarray:
        first = np.searchsorted(values, theta, side="right")
        return np.asarray(tails[first] - (count - first) * theta)

    sums = above(points) - above(points + 1.0)
    # The first point at which the sum is not above the total, and where the line to it crosses it.
    right = int(np.argmax(sums <= total))
    if right == 0:
        return float(points[0])
    left = right - 1
    fall = float(sums[left] - sums[right])
    share = (float(sums[left]) - total) / fall if fall > 0.0 else 1.0
    return float(points[left] + share * (points[right] - points[left]))
