"""Direct cut (DNC): minimize the cut value without a relaxed solution.

As GᵀG = I, minimizing tr(Gᵀ A G) is equivalent to maximizing the convex function tr(Gᵀ (σI − A) G)
for σ ≥ λ_max(A). Its linearization at the current labels is ⟨T, G⟩ with T = (σI − A) G(Y_t). An
increase of the linearization increases the function at least as much, so every round decreases the
cut value or ends. With σ near λ_max, steps are short; a smaller σ takes longer steps without a
guarantee. Therefore σ increases in steps to λ_max, and a round is accepted only if it decreases
the cut value. Finally, single nodes are moved until no move decreases it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import eigsh

from leastcut.kernels.sweep import sweep
from leastcut.multilevel.refinement import refine_problem
from leastcut.problem import CutLike, Problem, as_problem
from leastcut.results import Discretization
from leastcut.seeds import RandomState, as_generator
from leastcut.spectral.discretizers.shared import best_of, random_labels
from leastcut.threads import single_threaded
from leastcut.validation import check_count, check_init, check_n_clusters

# The first σ, relative to the median of a node's edges divided by its weight: with a larger one
# labels hardly change, with a smaller one more rounds are rejected. λ_max is not a suitable unit,
# as a single hub can increase it.
LOWEST = 0.5
# Number of values of σ, in geometric progression; with fewer the cuts are larger.
N_SHIFTS = 9
DEFAULT_STARTS = 10  # as for the discretizers, so that comparisons are fair
LOOSE = 1e-3  # relative tolerance of λ_max; needs a few products with A instead of hundreds
MARGIN = 1.01  # factor that makes the computed λ_max an upper bound
MOST = 1e300  # scores are clipped here to avoid overflow


def direct_cut(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    init: npt.ArrayLike | None = None,
    n_init: int | None = None,
    max_iter: int = 300,
    random_state: RandomState = None,
    symmetrize: str | None = None,
) -> Discretization:
    """Partition a graph by direct optimization of the cut, without eigenvectors (DNC).

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities, or a graph of a library that
        :func:`leastcut.partition` accepts.
    n_clusters : int
        The number of clusters, from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    init : array-like of shape (n,), optional
        Initial labels with exactly ``n_clusters`` clusters.
    n_init : int, optional
        Number of starts, including ``init``; the others are random. By default 10, or 1 with
        ``init``.
    max_iter : int, default=300
        Maximum number of rounds of one run.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts.
    symmetrize : {"mean", "max"} or None, default=None
        How to make a directed graph symmetric: by the mean of both directions, (S + Sᵀ) / 2, or by
        their maximum. With None a directed graph raises an error.

    Returns
    -------
    Discretization
        The result of the start with the smallest cut value; no move of a single node decreases it.
        ``loss`` is the cut value, and ``history`` the cut value after every round; the last round
        moves single nodes.

    See Also
    --------
    partition : Multilevel search for the smallest cut.
    discretize : Compute labels from a relaxed solution.
    refine : Improve a partition by moving single nodes.

    Notes
    -----
    Each round increases a linearization of the objective in one sweep over all nodes, in
    O(c · edges) time and O(n c) memory.

    References
    ----------
    X. Chen, W. Hong, F. Nie, D. He, M. Yang, J. Z. Huang, "Spectral Clustering of Large-scale Data
    by Directly Solving Normalized Cut", KDD 2018. Not in that paper: the ratio cut and other node
    weights, the increasing σ and the moves of single nodes at the end.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> leastcut.direct_cut(S, 2, cut="ratio", init=[0, 0, 1, 1]).cut_value
    1.0
    """
    problem = as_problem(graph, cut, symmetrize=symmetrize)
    n = problem.n_nodes
    c = check_n_clusters(n_clusters, n)
    max_iter = check_count("max_iter", max_iter)
    if n_init is not None:
        n_init = check_count("n_init", n_init)
    # init comes first, so it wins ties.
    starts = [] if init is None else [check_init(init, n, c)]
    rng = as_generator(random_state)
    if n_init is None:
        n_init = 1 if starts else DEFAULT_STARTS
    while len(starts) < n_init:
        starts.append(random_labels(n, c, rng))
    # The search scales very small numbers; reported values are for the original problem.
    scaled = problem.within_range()
    with single_threaded():
        shifts = _shifts(scaled)
        return best_of(
            (_descent(scaled, problem, shifts, labels, c, max_iter) for labels in starts),
            problem.value,
        )


def _descent(
    problem: Problem,
    original: Problem,
    shifts: list[float],
    labels: np.ndarray,
    c: int,
    max_iter: int,
) -> Discretization:
    """Linearize and sweep with increasing shifts until the last one fails; then move single nodes.

    ``original`` is the unscaled problem, in which values are reported.
    """
    graph, node_weights = problem.graph, problem.node_weights
    rows = np.arange(problem.n_nodes)
    count = np.empty(c, dtype=np.int64)
    # For the sweep: sums of scores, cluster weights, counts, terms and gains.
    scratch = np.empty(c), np.empty(c), count, np.empty(c), np.empty(c)
    value = original.value(labels)
    history: list[float] = []
    stage = 0
    while len(history) < max_iter and stage < len(shifts):
        # 1. Linearize at the labels: √b ⊙ T = √b ⊙ (σI − A) G = (σB − L) Y (YᵀBY)^-½.
        #    ``entry`` is the nonzero entry of every row of Y (YᵀBY)^-½. As L = diag(d) − S, this is
        #    a product with S plus (σB − diag(d)) times the entry.
        entry = 1.0 / np.sqrt(problem.cluster_weights(labels))[labels]
        indicator = np.zeros((problem.n_nodes, c))
        indicator[rows, labels] = entry
        scores = graph.matrix @ indicator
        # Clipping does not change the labels: a node with such a score does not move.
        with np.errstate(over="ignore"):
            diagonal = np.minimum(shifts[stage] * node_weights, MOST)
            scores[rows, labels] += np.clip((diagonal - graph.degrees) * entry, -MOST, MOST)
        # 2. Increase ⟨T, G⟩ by one sweep.
        moved = labels.copy()
        sweep(scores, node_weights, moved, *scratch)
        # 3. Accept the labels if the cut value decreased, else use the next shift. Equal values
        #    are rejected, so the loop ends.
        moved_value = original.value(moved)
        if moved_value < value:
            labels, value = moved, moved_value
        else:
            stage += 1
        history.append(value)
    # 4. Move single nodes while that decreases the cut value.
    refined = refine_problem(original, labels)
    history.append(refined.cut_value)
    converged, values = stage == len(shifts), np.array(history)
    return Discretization(refined.labels, len(history), converged, refined.cut_value, values)


def _shifts(problem: Problem) -> list[float]:
    """Return the shifts σ in ascending order; the last is λ_max."""
    largest = _largest_eigenvalue(problem)
    typical = float(np.median(problem.graph.outward / problem.node_weights))
    lowest = min(LOWEST * typical, largest)
    if not lowest > 0.0:  # half of the nodes have no edges
        return [largest]
    return [float(shift) for shift in np.geomspace(lowest, largest, N_SHIFTS)]


def _largest_eigenvalue(problem: Problem) -> float:
    """Return an upper bound on λ_max(A), accurate to one percent."""
    # A is similar to B^-1 L, whose absolute row sums bound the spectrum.
    graph, n = problem.graph, problem.n_nodes
    bound = float(np.max(2.0 * (graph.outward / problem.node_weights)))
    if n <= 3 or bound == 0.0:
        return bound
    start = np.cos(np.arange(n))  # a fixed vector that is not orthogonal to eigenvectors
    # Scale the spectrum to [0, 1].
    matrix = problem.operator() / bound
    ritz = eigsh(matrix, k=1, which="LA", tol=LOOSE, v0=start, return_eigenvectors=False)
    # A Ritz value is at most λ_max; MARGIN covers the error allowed by LOOSE.
    return min(bound, MARGIN * bound * float(ritz[0]))
