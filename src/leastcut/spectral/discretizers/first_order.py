"""First-order discretization (Zhang & Li 2023): rotation with the gradient of the cut.

It minimizes ‖F R − G(Y)‖² + η ⟨G(Y) − F R, ∇⟩ over rotations R and partitions Y, where ∇ = 2 A F R.
For orthonormal F this equals 2 Σ (1 − ηλ) − 2 ⟨T, G(Y)⟩ with the target T = (F − ηAF) R. R is
solved by an SVD and Y by greedy sweeps, so the loss never increases. η = 0 is improved rotation.
For exact eigenpairs F − ηAF = F (I − ηΛ): eigenvector j has the weight 1 − ηλ_j. The natural scale
of η is therefore 1/λ_c, at which the last weight changes sign.

The best η depends on the labels. With ``eta="adaptive"``, every round makes one sweep for each η of
a short list, from the same labels, and continues with the smallest cut value. If none is smaller
than before, the best candidate is iterated to its fixed point, as the cut value may increase before
it decreases; if that does not help either, the run ends. The value decreases with every round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastcut.kernels.sweep import cluster_sums, sweep
from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.shared import (
    Score,
    best_of,
    check_rotation,
    fill_empty_clusters,
    nearest_orthogonal,
    random_labels,
)
from leastcut.validation import as_plain, check_init, check_number

DEFAULT_STARTS = 10  # the number that k-means usually has
PAPER_ETAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # the grid of the paper
SCALED_ETAS = (0.1, 0.3, 0.5, 0.7, 0.9)  # added to it by ``eta="auto"``, in units of 1/λ_c
# Names accepted for ``eta``: selection among several runs, and selection at every sweep.
ETA_NAMES = AUTOMATIC, ADAPTIVE = "auto", "adaptive"
# Values tried in every round of "adaptive", in units of 1/λ_c: from improved rotation to almost no
# weight on the last eigenvector. With more values there are fewer starts in the same time, and the
# cuts are larger.
LADDER = (0.0, 0.3, 0.7, 0.95)
FIRST = 0.5  # η of the first sweep, in units of 1/λ_c: from random labels no choice is meaningful

Start = tuple[np.ndarray, np.ndarray | None]  # labels, and the rotation of the first sweep


def first_order(
    relaxation: Relaxation,
    *,
    random_state: np.random.Generator,
    score: Score | None,
    eta: float | Sequence[float] | str = 1e-3,
    init: np.ndarray | None = None,
    rotation: np.ndarray | None = None,
    n_init: int | None = None,
    max_iter: int = 100,
) -> Discretization:
    """Discretize by first-order discretization (Zhang & Li 2023, Algorithm 1).

    ``eta`` is the weight of the gradient term. Several values are tried on the same starts and
    compared by cut value. "auto" tries 1e-3 … 10, as in the paper, and 0.1 … 0.9 times 1/λ_c.
    "adaptive" selects the value at every sweep, by the cut value after it.

    ``init`` are initial labels, and ``rotation`` is the rotation of the first sweep; by default it
    is solved from the labels, as in Algorithm 1 (the authors' program starts from the identity).
    ``n_init`` is the number of starts: 10 by default, or 1 with ``init`` or ``rotation``, which is
    then the first start. ``max_iter`` is the maximum number of sweeps of one run.
    """
    etas = _etas(eta, relaxation)
    if score is None and (isinstance(eta, str) or np.ndim(eta) > 0):
        raise ValueError(
            f"eta={eta!r} selects among several values by their cut value, which needs the graph: "
            "call discretize(..., graph=S), or pass a single number."
        )
    candidates = starts(relaxation, init, rotation, n_init, random_state)
    if isinstance(eta, str) and eta == ADAPTIVE:
        assert score is not None
        return best_of(_adaptive(relaxation, candidates, max_iter, score), score)
    return best_of(
        (
            alternate(relaxation, value, labels, first, max_iter)
            for value in etas
            for labels, first in candidates
        ),
        score,
    )


def _etas(eta: float | Sequence[float] | str, relaxation: Relaxation) -> list[float]:
    """Return the values of ``eta``; none if it is selected adaptively."""
    if isinstance(eta, str):
        if eta == ADAPTIVE:
            return []
        if eta != AUTOMATIC:
            raise ValueError(
                f"eta={eta!r} is not known; pass one or more numbers, {AUTOMATIC!r} or "
                f"{ADAPTIVE!r}."
            )
        scale = inverse_of_largest(relaxation)
        scaled = [factor * scale for factor in SCALED_ETAS] if scale else []
        return sorted({*PAPER_ETAS, *scaled})
    values = np.atleast_1d(as_plain("eta", eta))
    try:
        if values.ndim > 1 or values.size == 0:
            raise ValueError
        return [check_number("eta", value) for value in values]
    except ValueError:
        raise ValueError(
            f"eta={eta!r} must be one or more finite numbers >= 0, {AUTOMATIC!r} or {ADAPTIVE!r}."
        ) from None


class Sweeper:
    """The two steps of the alternation for one η, with their work arrays."""

    def __init__(self, relaxation: Relaxation, eta: float) -> None:
        weights, c = relaxation.node_weights, relaxation.n_clusters
        self.eta = float(eta)
        self._weights = weights
        # √b ⊙ (F − ηAF), (n, c): rotated by R, these are the scores √b ⊙ T of the sweep.
        self._rows = np.sqrt(weights)[:, None] * (
            relaxation.eigenvectors - eta * relaxation.gradient
        )
        # The constant term of the loss, 2 Σ (1 − ηλ).
        self._constant = 2.0 * float(np.sum(1.0 - eta * relaxation.eigenvalues))
        # Work arrays of the sweep: sums of scores, cluster weights, counts, ratios, gains.
        self._sums, cluster_weights = np.empty((c, c)), np.empty(c)
        count = np.empty(c, dtype=np.int64)
        self._scratch = np.empty(c), cluster_weights, count, np.empty(c), np.empty(c)

    def rotation(self, labels: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Return R, the orthogonal matrix nearest to (F − ηAF)ᵀ G.

        If it is not unique, the one nearest to ``before`` is returned (None: the identity).
        """
        _, cluster_weights, count, _, _ = self._scratch
        # Row k of the sums, divided by √b(C_k), is row k of Gᵀ (F − ηAF).
        cluster_sums(self._rows, self._weights, labels, self._sums, cluster_weights, count)
        return nearest_orthogonal((self._sums / np.sqrt(cluster_weights)[:, None]).T, before)

    def sweep(self, labels: np.ndarray, rotation: np.ndarray, most: int = 1) -> tuple[int, float]:
        """Sweep until no row moves, at most ``most`` times; return the moves and the loss.

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
    """Run Algorithm 1 of the paper until no row moves; its steps are numbered below.

    ``rotation`` is used in the first round. Algorithm 1 makes one sweep per rotation; with more
    ``sweeps`` the labels reach a local optimum for every rotation.
    """
    sweeper = Sweeper(relaxation, eta)
    # Step 1. Initialize Y.
    labels = labels.copy()
    history: list[float] = []
    current, converged = None, False
    while len(history) < max_iter and not converged:
        # Step 2. Solve R.
        solved = rotation is None
        current = sweeper.rotation(labels, current) if rotation is None else rotation
        # Steps 3 to 5. Move every row to the cluster with the largest gain δ_ij, unless its cluster
        # would become empty.
        moves, loss = sweeper.sweep(labels, current, sweeps)
        history.append(loss)
        # A rotation passed by the caller is not solved from the labels, so the first round is not a
        # fixed point even if no row moves.
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
    """Return ``n_init`` starts: the one passed by the caller, if any, and uniform random labels.

    With a rotation and no labels, every row is assigned to its largest entry. ``n_init=None`` means
    DEFAULT_STARTS, or 1 if the caller passes a start.
    """
    n, c = relaxation.eigenvectors.shape
    if n_init is None:
        n_init = DEFAULT_STARTS if init is None and rotation is None else 1
    result: list[Start] = []
    if rotation is not None:
        rotation = check_rotation(rotation, c)
    if init is not None:
        result.append((check_init(init, n, c), rotation))
    elif rotation is not None:
        rotated = relaxation.eigenvectors @ rotation
        result.append((fill_empty_clusters(np.argmax(rotated, axis=1), rotated, c), rotation))
    while len(result) < n_init:
        result.append((random_labels(n, c, random_state), None))
    return result


def inverse_of_largest(relaxation: Relaxation) -> float:
    """Return 1/λ_c, the scale of η; 0 if λ_c is 0 or its inverse overflows."""
    largest = float(relaxation.eigenvalues.max())
    scale = 1.0 / largest if largest > 0.0 else 0.0
    return scale if np.isfinite(scale) else 0.0


def _adaptive(
    relaxation: Relaxation, starts: list[Start], max_iter: int, score: Score
) -> list[Discretization]:
    """Run the alternation from every start, and select η in every round.

    The ``eta`` of a result is the last one selected; its loss and history are cut values.
    """
    scale = inverse_of_largest(relaxation)
    # Without a scale, all η are 0.
    ladder = [Sweeper(relaxation, factor * scale) for factor in (LADDER if scale else LADDER[:1])]
    first = Sweeper(relaxation, FIRST * scale)
    return [_adapt(first, ladder, labels, start, max_iter, score) for labels, start in starts]


def _adapt(
    first: Sweeper,
    ladder: list[Sweeper],
    labels: np.ndarray,
    rotation: np.ndarray | None,
    max_iter: int,
    score: Score,
) -> Discretization:
    # 1. Make one sweep from the start, and keep the start if it is better.
    swept = labels.copy()
    first.sweep(swept, first.rotation(labels) if rotation is None else rotation)
    best, value, eta = min(
        ((swept, score(swept), first.eta), (labels, score(labels), first.eta)),
        key=lambda one: one[1],
    )
    history = [value]
    converged = False
    while len(history) < max_iter and not converged:
        # 2. Make one sweep for every η, from the same labels.
        candidates = []
        for sweeper in ladder:
            moved = best.copy()
            if sweeper.sweep(moved, sweeper.rotation(best))[0]:
                candidates.append((score(moved), sweeper, moved))
        converged = not candidates
        if candidates:
            # 3. Select the smallest cut; if it is not smaller than before, iterate it further.
            candidate, sweeper, moved = min(candidates, key=lambda one: one[0])
            if not candidate < value:
                candidate = score(_follow(sweeper, moved, max_iter))
            # 4. Continue from there, or end.
            converged = not candidate < value
            if not converged:
                best, value, eta = moved, candidate, sweeper.eta
        history.append(value)
    return Discretization(best, len(history), converged, value, np.array(history), eta=eta)


def _follow(sweeper: Sweeper, labels: np.ndarray, max_iter: int) -> np.ndarray:
    """Alternate with one η until no row moves; ``labels`` are changed in place and returned."""
    for _ in range(max_iter):
        if sweeper.sweep(labels, sweeper.rotation(labels))[0] == 0:
            break
    return labels
