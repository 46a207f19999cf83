"""Rotation and labels in turn: the loop of first order and of improved rotation.

Minimises the paper's problem ‖F R − G(Y)‖² + η ⟨G(Y) − F R, ∇⟩, where ∇ = 2 A F R. With orthonormal
F that is 2 Σ (1 − ηλ) − 2 ⟨T, G(Y)⟩ for the target T = (F − ηAF) R, so R comes from an SVD, Y from
one greedy sweep, and the loss never rises. η = 0 is improved spectral rotation.
"""

from __future__ import annotations

import numpy as np

from firstcut.discretizers.candidates import Discretization
from firstcut.discretizers.repair import fill_empty_clusters
from firstcut.discretizers.rotations import procrustes
from firstcut.inputs import check_init
from firstcut.kernels.sweep import Sweeper, cluster_sums
from firstcut.relaxation import Relaxation

Start = tuple[np.ndarray, np.ndarray | None]
"""Labels, and the rotation of the first sweep (None: solved from the labels)."""


def alternate(
    relaxation: Relaxation,
    eta: float,
    labels: np.ndarray,
    rotation: np.ndarray | None,
    max_iter: int,
) -> Discretization:
    """Run Algorithm 1 of the paper from a start until nothing moves any more.

    Parameters
    ----------
    relaxation : Relaxation
    eta : float
        Weight of the gradient term.
    labels : ndarray of shape (n,)
        The start; not changed.
    rotation : ndarray of shape (c, c) or None
        Used in the first sweep in place of the rotation solved from ``labels``.
    max_iter : int
        Most sweeps.

    Returns
    -------
    Discretization
        Converged if a sweep moved nothing and its rotation was solved from the labels it met.
    """
    weights = relaxation.node_weights
    c = relaxation.n_clusters
    rows = np.sqrt(weights)[:, None] * (relaxation.eigenvectors - eta * relaxation.gradient)
    constant = 2.0 * float(np.sum(1.0 - eta * relaxation.eigenvalues))
    sums, volume, count = np.empty((c, c)), np.empty(c), np.empty(c, dtype=np.int64)
    sweep = Sweeper(c)

    labels = labels.copy()
    history: list[float] = []
    converged = False
    while len(history) < max_iter and not converged:
        solved = rotation is None
        if rotation is None:
            cluster_sums(rows, weights, labels, sums, volume, count)
            rotation = procrustes((sums / np.sqrt(volume)[:, None]).T)
        moves, objective = sweep(rows @ rotation, weights, labels)
        history.append(constant - 2.0 * objective)
        converged = solved and moves == 0
        rotation = None
    return Discretization(
        labels, len(history), converged, history[-1], np.array(history), eta=float(eta)
    )


def starts(
    relaxation: Relaxation,
    init: np.ndarray | None,
    rotation: np.ndarray | None,
    n_init: int | None,
    random_state: np.random.Generator,
) -> list[Start]:
    """Return ``n_init`` starts, the first of which is the one given, if any.

    The others are random labels, clusters of equal size, as Algorithm 1 starts. A rotation given
    without labels sends every row to its largest entry. ``n_init=None`` means 10, or 1 where a
    start is given.
    """
    n, c = relaxation.eigenvectors.shape
    given = init is not None or rotation is not None
    if n_init is None:
        n_init = 1 if given else 10
    found: list[Start] = []
    if rotation is not None:
        rotation = _check_rotation(rotation, c)
    if init is not None:
        found.append((check_init(init, n, c), rotation))
    elif rotation is not None:
        rotated = relaxation.eigenvectors @ rotation
        found.append((fill_empty_clusters(np.argmax(rotated, axis=1), rotated, c), rotation))
    while len(found) < n_init:
        found.append((random_state.permutation(np.arange(n) % c), None))
    return found


def _check_rotation(rotation: np.ndarray, c: int) -> np.ndarray:
    matrix = np.asarray(rotation, dtype=np.float64)
    if matrix.shape != (c, c):
        raise ValueError(f"rotation must have shape ({c}, {c}), but it has {matrix.shape}.")
    error = float(np.abs(matrix.T @ matrix - np.eye(c)).max())
    if not error <= 1e-6:
        raise ValueError(
            f"rotation must be orthogonal, but RᵀR differs from the identity by {error:.3g}; "
            "orthogonalise it with an SVD first."
        )
    return matrix
