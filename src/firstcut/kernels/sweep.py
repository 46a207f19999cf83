"""The greedy sweep that improved rotation, first order and direct cut share.

It climbs ⟨T, G(Y)⟩ = Σ_k mass_k / √b(C_k) with mass_k = Σ_{i∈C_k} score_ik, where
score_ik = √b_i T_ik: row by row, each to the cluster where it gains most (the paper's δ_ij).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from firstcut.kernels import kernel


@kernel
def cluster_sums(rows, weights, labels, sums, volume, count):
    """Sum rows and weights by cluster.

    In: rows (n, p), weights (n,), labels (n,). Overwritten: sums (c, p), volume (c,), count (c,).
    O(n p).
    """
    sums[:] = 0.0
    volume[:] = 0.0
    count[:] = 0
    for i in range(rows.shape[0]):
        k = labels[i]
        volume[k] += weights[i]
        count[k] += 1
        for p in range(rows.shape[1]):
            sums[k, p] += rows[i, p]


@kernel
def sweep(scores, weights, labels, mass, volume, count, share, gain):
    """Visit the rows in order, move each to the cluster of largest gain; return moves, objective.

    In: scores (n, c), weights b (n,). Changed in place: labels (n,). Scratch, (c,) each: mass,
    volume, count, share, gain; the sums are taken afresh here, so rounding cannot drift from one
    sweep to the next. Guaranteed: the objective never falls (ties go to the first cluster), the
    only member of a cluster stays, so no cluster is emptied. O(n c).
    """
    n, c = scores.shape
    mass[:] = 0.0
    volume[:] = 0.0
    count[:] = 0
    for i in range(n):
        k = labels[i]
        mass[k] += scores[i, k]
        volume[k] += weights[i]
        count[k] += 1
    for k in range(c):
        share[k] = mass[k] / sqrt(volume[k])

    moves = 0
    for i in range(n):
        a = labels[i]
        b = weights[i]
        rest = volume[a] - b
        if count[a] == 1 or rest <= 0.0:
            continue
        row = scores[i]
        for k in range(c):
            gain[k] = (mass[k] + row[k]) / sqrt(volume[k] + b) - share[k]
        gain[a] = share[a] - (mass[a] - row[a]) / sqrt(rest)
        best, top = 0, gain[0]
        for k in range(1, c):
            value = gain[k]  # selects, not branches: which cluster wins is unpredictable
            best = k if value > top else best
            top = value if value > top else top
        if best != a:
            labels[i] = best
            mass[a] -= row[a]
            volume[a] = rest
            count[a] -= 1
            share[a] = mass[a] / sqrt(rest)
            mass[best] += row[best]
            volume[best] += b
            count[best] += 1
            share[best] = mass[best] / sqrt(volume[best])
            moves += 1

    objective = 0.0
    for k in range(c):
        objective += share[k]
    return moves, objective


class Sweeper:
    """The scratch of :func:`sweep` for c clusters, so that callers pass only what matters."""

    def __init__(self, n_clusters: int) -> None:
        self._mass, self._volume, self._share, self._gain = np.empty((4, n_clusters))
        self._count = np.empty(n_clusters, dtype=np.int64)

    def __call__(
        self, scores: np.ndarray, weights: np.ndarray, labels: np.ndarray
    ) -> tuple[int, float]:
        """Sweep once, changing ``labels`` in place; return the moves and ⟨T, G⟩ after them."""
        moves, objective = sweep(
            scores, weights, labels, self._mass, self._volume, self._count, self._share, self._gain
        )
        return int(moves), float(objective)
