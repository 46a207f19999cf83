"""Direct cut (DNC): climb the true objective without a relaxed solution.

Minimising tr(Gᵀ A G) is maximising the convex function tr(Gᵀ (σI − A) G), σ ≥ λ_max(A), as GᵀG = I.
Its linearisation at the current labels is ⟨T, G⟩ with T = (σI − A) G(Y_t); whatever sweep raises
that raises the function at least as much, so every round improves the true cut or ends. Close to
λ_max the steps are short, as T then clings to the current labels; a smaller σ takes longer steps
but promises nothing. So σ climbs a ladder up to λ_max, and a round counts only if it lowers the
true cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import eigsh

from firstcut.cuts import CutLike, cut_value, node_weights, operator
from firstcut.discretizers.candidates import Discretization, best_of
from firstcut.graph import Graph, as_graph
from firstcut.inputs import RandomState, as_generator, check_count, check_init, check_n_clusters
from firstcut.kernels.sweep import Sweeper
from firstcut.threads import single_threaded

SHIFTS = (0.6, 0.7, 0.8, 0.9, 1.0)
"""The ladder of σ, in units of λ_max."""


def direct_cut(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    init: npt.ArrayLike | None = None,
    n_init: int | None = None,
    max_iter: int = 300,
    random_state: RandomState = None,
) -> Discretization:
    """Cut a graph by re-weighted optimisation of the discrete problem itself.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities.
    n_clusters : int
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
    init : array-like of shape (n,), optional
        Labels to start from, with exactly ``n_clusters`` clusters.
    n_init : int, optional
        Number of starts, all but ``init`` random; by default 10, or 1 where ``init`` is given.
    max_iter : int, default=300
        Most rounds of one run.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Discretization
        The best of the starts by cut value. Its loss is the cut value, and ``history`` the cut
        value after every round.

    References
    ----------
    Chen, Nie, Huang and Yang, "Direct Normalized Cut", NIPS 2017.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> firstcut.direct_cut(S, 2, cut="ratio", init=[0, 0, 1, 1]).cut_value
    1.0
    """
    graph = as_graph(graph)
    n = graph.n_nodes
    c = check_n_clusters(n_clusters, n)
    weights = node_weights(graph, cut)
    max_iter = check_count("max_iter", max_iter)
    n_init = (10 if init is None else 1) if n_init is None else check_count("n_init", n_init)
    generator = as_generator(random_state)

    found: list[np.ndarray] = []
    if init is not None:
        found.append(check_init(init, n, c))
    while len(found) < n_init:
        found.append(generator.permutation(np.arange(n) % c))

    def score(labels: np.ndarray) -> float:
        return cut_value(graph, labels, weights)

    with single_threaded():
        largest = _largest_eigenvalue(graph, weights)
        shifts = [factor * largest for factor in SHIFTS]
        return best_of(
            (_climb(graph, weights, shifts, labels, c, max_iter) for labels in found), score
        )


def _climb(
    graph: Graph,
    weights: np.ndarray,
    shifts: list[float],
    labels: np.ndarray,
    c: int,
    max_iter: int,
) -> Discretization:
    """Linearise and sweep, shift after shift, until the last one finds nothing more."""
    sweep = Sweeper(c)
    rows = np.arange(graph.n_nodes)
    value = cut_value(graph, labels, weights)
    history: list[float] = []
    stage = 0
    while len(history) < max_iter and stage < len(shifts):
        # √b ⊙ T = √b ⊙ (σI − A) G = (σB − L) Y (YᵀBY)^-½
        indicator = np.zeros((graph.n_nodes, c))
        indicator[rows, labels] = 1.0 / np.sqrt(np.bincount(labels, weights, minlength=c))[labels]
        scores = graph.matrix @ indicator
        scores[rows, labels] += (shifts[stage] * weights - graph.degrees) * indicator[rows, labels]
        moved = labels.copy()
        sweep(scores, weights, moved)
        found = cut_value(graph, moved, weights)
        if found < value:
            labels, value = moved, found
        else:
            stage += 1
        history.append(value)
    return Discretization(labels, len(history), stage == len(shifts), value, np.array(history))


def _largest_eigenvalue(graph: Graph, weights: np.ndarray) -> float:
    """Return λ_max(A), to a hundredth and from above."""
    # A is similar to B^-1 L, whose absolute row sums bound the spectrum
    bound = float(np.max(2.0 * (graph.degrees - graph.matrix.diagonal()) / weights))
    if graph.n_nodes <= 3 or bound == 0.0:
        return bound
    start = np.cos(
        np.arange(graph.n_nodes)
    )  # any fixed vector that no eigenvector is orthogonal to
    ritz = eigsh(
        operator(graph, weights) / bound,
        k=1,
        which="LA",
        tol=1e-3,
        v0=start,
        return_eigenvectors=False,
    )
    return min(bound, 1.01 * bound * float(ritz[0]))
