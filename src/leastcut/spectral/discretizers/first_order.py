"""The paper's method: rotation made aware of the cut through the gradient at the relaxed optimum.

Minimises the paper's problem ‖F R − G(Y)‖² + η ⟨G(Y) − F R, ∇⟩, where ∇ = 2 A F R. With orthonormal
F that is 2 Σ (1 − ηλ) − 2 ⟨T, G(Y)⟩ for the target T = (F − ηAF) R, so R comes from an SVD, Y from
greedy sweeps, and the loss never rises. η = 0 is improved spectral rotation. For exact eigenpairs
F − ηAF = F (I − ηΛ): the gradient term weighs eigenvector j by 1 − ηλ_j. So the natural scale of η
is 1/λ_c, where the last weight changes sign.

Which weight helps depends on the labels: far from a solution another than close to it. So with
``eta="adaptive"`` each round makes one sweep for every η of a short ladder, from the same labels,
and goes on from the one of smallest cut value. If none is smaller than before, the best of them is
followed to its fixed point, as the cut may rise for a while on the way to a smaller one; if that is
none smaller either, the run ends. So the value falls with every round.
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

DEFAULT_STARTS = 10  # as many as k-means usually has, so that methods compare evenly
PAPER_ETAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # the grid the paper searches
SCALED_ETAS = (0.1, 0.3, 0.5, 0.7, 0.9)  # what ``eta="auto"`` adds to it, in units of 1/λ_c
# Names that ``eta`` takes: a ladder to choose from in the end, and a choice at every sweep.
ETA_NAMES = AUTOMATIC, ADAPTIVE = "auto", "adaptive"
# What every round of "adaptive" tries, in units of 1/λ_c: from improved rotation to almost no
# weight on the last eigenvector. More values mean fewer starts in the same time, and larger cuts.
LADDER = (0.0, 0.3, 0.7, 0.95)
FIRST = 0.5  # the first sweep's: it is not chosen, as random labels say nothing of a cut

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

    ``eta`` weighs the gradient term. Several are tried on the same starts and judged by the true
    cut value. "auto" is a ladder: the paper's 1e-3 … 10, and 0.1 … 0.9 times 1/λ_c. "adaptive"
    chooses anew at every sweep, by the true cut value after it.

    ``init`` are labels to start from, and ``rotation`` that of the first sweep, by default solved
    from the labels, as Algorithm 1 has it; the authors' program starts from the identity.
    ``n_init`` starts are 10 by default, or 1 if a start is given, which is the first of them.
    ``max_iter`` is the largest number of sweeps of one run.
    """
    etas = _etas(eta, relaxation)
    if score is None and (isinstance(eta, str) or np.ndim(eta) > 0):
        raise ValueError(
            f"eta={eta!r} asks for a choice between several values, which is made by the true cut "
            "value: pass the graph, discretize(..., graph=S), or a single number."
        )
    # The same starts for every η: what differs between them is η alone.
    begin = starts(relaxation, init, rotation, n_init, random_state)
    if isinstance(eta, str) and eta == ADAPTIVE:
        assert score is not None
        return best_of(_adaptive(relaxation, begin, max_iter, score), score)
    return best_of(
        (
            alternate(relaxation, value, labels, first, max_iter)
            for value in etas
            for labels, first in begin
        ),
        score,
    )


def _etas(eta: float | Sequence[float] | str, relaxation: Relaxation) -> list[float]:
    """Return the numbers that ``eta`` stands for; none if it is chosen while iterating."""
    if isinstance(eta, str):
        if eta == ADAPTIVE:
            return []
        if eta != AUTOMATIC:
            raise ValueError(
                f"eta={eta!r} is not known; pass a number, several, {AUTOMATIC!r} or {ADAPTIVE!r}."
            )
        scale = inverse_of_largest(relaxation)
        scaled = [factor * scale for factor in SCALED_ETAS] if scale else []
        # A set, as a value on both ladders need not run twice; sorted, as the first one wins a tie.
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
    """The two steps of the alternation for one η, and the memory that they need."""

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

    A rotation that is given takes the place of the first one. One sweep for every rotation is
    Algorithm 1, whose steps are numbered; many solve the labels up to a local optimum.
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


def inverse_of_largest(relaxation: Relaxation) -> float:
    """Return 1/λ_c, the scale of η; 0 where there is none.

    λ_c is 0 where components are enough for clusters, and the inverse of a tiny one overflows.
    """
    largest = float(relaxation.eigenvalues.max())
    scale = 1.0 / largest if largest > 0.0 else 0.0
    return scale if np.isfinite(scale) else 0.0


def _adaptive(
    relaxation: Relaxation, starts: list[Start], max_iter: int, score: Score
) -> list[Discretization]:
    """Run the alternation from every start with an η that changes from round to round.

    The eta of a result is the one chosen last; its loss and history are of cut values.
    """
    scale = inverse_of_largest(relaxation)
    # Without a scale all η are the same one, 0.
    ladder = [Sweeper(relaxation, factor * scale) for factor in (LADDER if scale else LADDER[:1])]
    first = Sweeper(relaxation, FIRST * scale)
    return [_adapt(first, ladder, labels, turn, max_iter, score) for labels, turn in starts]


def _adapt(
    first: Sweeper,
    ladder: list[Sweeper],
    labels: np.ndarray,
    rotation: np.ndarray | None,
    max_iter: int,
    score: Score,
) -> Discretization:
    # 1. One sweep to get from any labels to some that a cut can be read off. A start that was given
    #    may be better than what comes of it, and is kept then.
    swept = labels.copy()
    first.sweep(swept, first.rotation(labels) if rotation is None else rotation)
    best, value, eta = min(
        ((swept, score(swept), first.eta), (labels, score(labels), first.eta)),
        key=lambda one: one[1],
    )
    history = [value]
    converged = False
    while len(history) < max_iter and not converged:
        # 2. One sweep for every η, from the same labels; what moves nothing is no candidate.
        tried = []
        for sweeper in ladder:
            moved = best.copy()
            if sweeper.sweep(moved, sweeper.rotation(best))[0]:
                tried.append((score(moved), sweeper, moved))
        converged = not tried
        if tried:
            # 3. Of these the smallest cut, the first of equal ones; if it is none smaller than
            #    before, what becomes of it.
            found, sweeper, moved = min(tried, key=lambda one: one[0])
            if not found < value:
                found = score(_follow(sweeper, moved, max_iter))
            # 4. Go on from there, or end.
            converged = not found < value
            if not converged:
                best, value, eta = moved, found, sweeper.eta
        history.append(value)
    return Discretization(best, len(history), converged, value, np.array(history), eta=eta)


def _follow(sweeper: Sweeper, labels: np.ndarray, max_iter: int) -> np.ndarray:
    """Alternate with one η until nothing moves; ``labels`` are changed in place and returned."""
    for _ in range(max_iter):
        if sweeper.sweep(labels, sweeper.rotation(labels))[0] == 0:
            break
    return labels
