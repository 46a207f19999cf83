"""Rotation and labels in turn: the loop of first order and of improved rotation.

Minimises the paper's problem ‖F R − G(Y)‖² + η ⟨G(Y) − F R, ∇⟩, where ∇ = 2 A F R. With orthonormal
F that is 2 Σ (1 − ηλ) − 2 ⟨T, G(Y)⟩ for the target T = (F − ηAF) R, so R comes from an SVD, Y from
greedy sweeps, and the loss never rises. η = 0 is improved spectral rotation.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from leastcut.kernels.sweep import cluster_sums, sweep
from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.empty_clusters import fill_empty_clusters
from leastcut.validation import as_floats, check_init

# Starts where none is given: what k-means is usually given, so that methods compare evenly.
DEFAULT_STARTS = 10
# How far RᵀR of a given rotation may be from the identity: more than rounding, no real error.
ORTHOGONAL = 1e-6

# Labels, and the rotation of the first sweep (None: solved from the labels).
Start = tuple[np.ndarray, np.ndarray | None]


class Sweeper:
    """The two steps of the alternation for one η, and the room they need.

    Parameters
    ----------
    relaxation : Relaxation
    eta : float
        Weight of the gradient term.
    """

    def __init__(self, relaxation: Relaxation, eta: float) -> None:
        weights, c = relaxation.node_weights, relaxation.n_clusters
        self.eta = float(eta)
        self._weights = weights
        # √b ⊙ (F − ηAF), (n, c): turned by R they are the scores √b ⊙ T of the sweep.
        self._rows = np.sqrt(weights)[:, None] * (
            relaxation.eigenvectors - eta * relaxation.gradient
        )
        # The part of the loss that no labels change, 2 Σ (1 − ηλ).
        self._constant = 2.0 * float(np.sum(1.0 - eta * relaxation.eigenvalues))
        # Scratch, in the sweep's order: sums of scores, cluster weights, counts, shares, gains.
        self._sums, cluster_weights = np.empty((c, c)), np.empty(c)
        count = np.empty(c, dtype=np.int64)
        self._scratch = np.empty(c), cluster_weights, count, np.empty(c), np.empty(c)

    def rotation(self, labels: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Solve R: of all orthogonal matrices the nearest to (F − ηAF)ᵀ G, U Vᵀ of its SVD.

        Where more than one is, it is the one nearest to ``before`` (None: the identity).
        """
        _, cluster_weights, count, _, _ = self._scratch
        # The product is made of sums over clusters: row k of the sums, divided by √b(C_k), is row
        # k of Gᵀ (F − ηAF).
        cluster_sums(self._rows, self._weights, labels, self._sums, cluster_weights, count)
        return nearest_orthogonal((self._sums / np.sqrt(cluster_weights)[:, None]).T, before)

    def sweep(self, labels: np.ndarray, rotation: np.ndarray, most: int = 1) -> tuple[int, float]:
        """Sweep over the rows until none moves, or ``most`` times; return moves and the loss.

        ``labels`` are changed in place.
        """
        scores = self._rows @ rotation
        moves = 0
        for _ in range(most):
            moved, objective = sweep(scores, self._weights, labels, *self._scratch)
            moves += moved
            if moved == 0:
                break
        return moves, self._constant - 2.0 * objective


def alternate(
    relaxation: Relaxation,
    eta: float,
    labels: np.ndarray,
    rotation: np.ndarray | None,
    max_iter: int,
    *,
    sweeps: int = 1,
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
        Used in the first round in place of the rotation solved from ``labels``.
    max_iter : int
        Most rounds, each of one rotation and the labels for it.
    sweeps : int, default=1
        Most sweeps of one round: 1 is Algorithm 1, many solve the labels for a rotation up to a
        local optimum.

    Returns
    -------
    Discretization
        Converged if a round moved nothing and its rotation was solved from the labels it met.

    Notes
    -----
    The numbered steps are those of Algorithm 1.
    """
    sweeper = Sweeper(relaxation, eta)
    # Step 1. Initialize Y.
    labels = labels.copy()
    history: list[float] = []
    turn, converged = None, False
    while len(history) < max_iter and not converged:
        # Step 2. Solve R.
        solved = rotation is None
        turn = sweeper.rotation(labels, turn) if rotation is None else rotation
        # Steps 3 to 5. For every row in turn, move it to the cluster of largest gain δ_ij, unless
        # that would empty the cluster it is in.
        moves, loss = sweeper.sweep(labels, turn, sweeps)
        history.append(loss)
        # A rotation that was given need not be the one these labels ask for: that nothing moved
        # under it does not make a fixed point. It serves the first round only.
        converged = solved and moves == 0
        rotation = None
    return Discretization(
        labels, len(history), converged, history[-1], np.array(history), eta=float(eta)
    )


def inverse_of_largest(relaxation: Relaxation) -> float:
    """Return 1/λ_c, the scale of η; 0 where there is none.

    λ_c is 0 where components are enough for clusters, and the inverse of a tiny one overflows.
    """
    largest = float(relaxation.eigenvalues.max())
    scale = 1.0 / largest if largest > 0.0 else 0.0
    return scale if np.isfinite(scale) else 0.0


def nearest_orthogonal(matrix: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    """Return the orthogonal R that maximises tr(Rᵀ matrix): U Vᵀ of its SVD (the paper's Eq. R).

    A singular matrix, as an empty cluster makes it, has more than one such R: then it is the one
    nearest to ``before`` (None: the identity). An SVD would let rounding choose among them.

    ``scipy.linalg.polar`` returns it too, in 30 µs instead of 19 for ten clusters, which is a sixth
    of the time of :func:`leastcut.cut_path`.
    """
    left, sizes, right = np.linalg.svd(matrix)
    rank = int(np.count_nonzero(sizes > sizes.size * np.finfo(float).eps * sizes[0]))
    if rank < sizes.size:
        # R is free between what the matrix does not reach and what it loses.
        unreached, lost = left[:, rank:], right[rank:]
        free = unreached.T @ (lost.T if before is None else before @ lost.T)
        outer, _, inner = np.linalg.svd(free)
        left[:, rank:] = unreached @ (outer @ inner)
    return np.asarray(left @ right)


def pivot_rotation(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return c rows that are as far apart as can be, and the rotation that turns them onto axes.

    Each row is the farthest from the span of those before it, so there is one for every cluster;
    the rotation turns them as nearly onto the axes as one can.
    """
    pivots = qr(vectors.T, mode="r", pivoting=True)[1][: vectors.shape[1]]
    return pivots, nearest_orthogonal(vectors[pivots].T)


def starts(
    relaxation: Relaxation,
    init: np.ndarray | None,
    rotation: np.ndarray | None,
    n_init: int | None,
    random_state: np.random.Generator,
) -> list[Start]:
    """Return ``n_init`` starts, the first of which is the one given, if any.

    The others are random labels, drawn uniformly, as Algorithm 1 starts. A rotation given without
    labels sends every row to its largest entry. ``n_init=None`` means DEFAULT_STARTS, or 1 where a
    start is given.
    """
    n, c = relaxation.eigenvectors.shape
    given = init is not None or rotation is not None
    if n_init is None:
        n_init = 1 if given else DEFAULT_STARTS
    found: list[Start] = []
    if rotation is not None:
        rotation = check_rotation(rotation, c)
    if init is not None:
        # The given start comes first, so that it wins ties.
        found.append((check_init(init, n, c), rotation))
    elif rotation is not None:
        rotated = relaxation.eigenvectors @ rotation
        found.append((fill_empty_clusters(np.argmax(rotated, axis=1), rotated, c), rotation))
    while len(found) < n_init:
        found.append((random_labels(n, c, random_state), None))
    return found


def random_labels(n: int, n_clusters: int, random_state: np.random.Generator) -> np.ndarray:
    """Return labels drawn uniformly, every row for itself; empty clusters take a random row each.

    So sizes differ as chance has it. Clusters of equal size would be a narrower choice, in which
    no start has a small cluster beside a large one.
    """
    labels = random_state.integers(n_clusters, size=n)
    count = np.bincount(labels, minlength=n_clusters)
    for k in np.flatnonzero(count == 0):
        # the only row of a cluster cannot be spared
        i = int(random_state.choice(np.flatnonzero(count[labels] > 1)))
        count[labels[i]] -= 1
        labels[i] = k
        count[k] = 1
    return labels


def check_rotation(rotation: np.ndarray, c: int) -> np.ndarray:
    """Return a rotation that a caller gave; it must be orthogonal."""
    matrix = as_floats("rotation", rotation)
    if matrix.shape != (c, c):
        raise ValueError(f"rotation must have shape ({c}, {c}), but it has {matrix.shape}.")
    error = float(np.abs(matrix.T @ matrix - np.eye(c)).max())
    # Not ``error > ORTHOGONAL``, which NaN would pass.
    if not error <= ORTHOGONAL:
        raise ValueError(
            f"rotation must be orthogonal, but RᵀR differs from the identity by {error:.3g}; "
            "orthogonalise it with an SVD first."
        )
    return matrix
