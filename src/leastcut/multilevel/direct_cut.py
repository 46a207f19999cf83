"""Direct cut (DNC): optimize the true objective without a relaxed solution.

Minimizing tr(Gᵀ A G) is maximizing the convex function tr(Gᵀ (σI − A) G), σ ≥ λ_max(A), as GᵀG = I.
Its linearization at the current labels is ⟨T, G⟩ with T = (σI − A) G(Y_t); whatever sweep raises
that raises the function at least as much, so every round improves the true cut or ends. Close to
λ_max the steps are short, as T then clings to the current labels; a smaller σ takes longer steps
but promises nothing. So σ goes up a ladder to λ_max, and a round counts only if it lowers the
true cut. Where no round does, single nodes are moved until none lowers it.
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

# Where the ladder of σ begins, in units of the typical node's edges by its weight: higher, and
# labels stick where they are; lower, and more of the steps come to nothing. λ_max is no measure
# of it, as a hub alone can raise that.
LOWEST = 0.5
# Rungs of the ladder, from there to λ_max by equal factors: with five the cuts are 10% larger.
N_SHIFTS = 9
# Starts where none is given: as many as the discretizers make, so that methods compare evenly.
DEFAULT_STARTS = 10
# Relative tolerance to which λ_max is computed, a few products with A instead of hundreds.
LOOSE = 1e-3
MARGIN = 1.01  # what is added to it for that, so that it is a bound from above
# Largest share of a node that is worth telling apart from larger ones, which could overflow.
MOST = 1e300


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
    """Cut a graph by re-weighted optimization of the discrete problem itself.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities. Libraries: as for :func:`leastcut.partition`.
    n_clusters : int
        Number of clusters, from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    init : array-like of shape (n,), optional
        Labels to start from, with exactly ``n_clusters`` clusters.
    n_init : int, optional
        Number of starts, all but ``init`` random; by default 10, or 1 where ``init`` is given.
    max_iter : int, default=300
        Most rounds of one run.
    random_state : int, Generator, RandomState or None
        Seed of the starts.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    Discretization
        The best of the starts by cut value; no move of a single node lowers it. Its loss is the cut
        value, and ``history`` the cut value after every round, the moves of single nodes being the
        last.

    References
    ----------
    X. Chen, W. Hong, F. Nie, D. He, M. Yang, J. Z. Huang, "Spectral Clustering of Large-scale Data
    by Directly Solving Normalized Cut", KDD 2018. The ratio cut and other node weights, the ladder
    of σ and the moves at the end are not in it.

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
    # The given start comes first, and so wins a tie. The others are random labels.
    starts = [] if init is None else [check_init(init, n, c)]
    rng = as_generator(random_state)
    if n_init is None:
        n_init = 1 if starts else DEFAULT_STARTS
    while len(starts) < n_init:
        starts.append(random_labels(n, c, rng))
    # Very small numbers are raised, and the values reported in the problem's own.
    scaled = problem.within_range()
    # The ladder belongs to the problem and serves all starts.
    with single_threaded():
        shifts = _ladder(scaled)
        return best_of(
            (_descent(scaled, problem, shifts, labels, c, max_iter) for labels in starts),
            problem.value,
        )


def _descent(
    problem: Problem,
    posed: Problem,
    shifts: list[float],
    labels: np.ndarray,
    c: int,
    max_iter: int,
) -> Discretization:
    """Linearize and sweep, shift after shift, until the last one finds nothing; then move nodes.

    ``posed`` is the problem in the numbers in which values are reported.
    """
    graph, node_weights = problem.graph, problem.node_weights
    rows = np.arange(problem.n_nodes)
    count = np.empty(c, dtype=np.int64)
    # The sweep's: sums of scores, cluster weights, counts, shares and gains.
    scratch = np.empty(c), np.empty(c), count, np.empty(c), np.empty(c)
    value = posed.value(labels)
    history: list[float] = []
    stage = 0
    while len(history) < max_iter and stage < len(shifts):
        # 1. Linearize at the labels: √b ⊙ T = √b ⊙ (σI − A) G = (σB − L) Y (YᵀBY)^-½.
        #    ``own`` is the one nonzero entry of every row of Y (YᵀBY)^-½. As L = diag(d) − S, the
        #    product is one with S, and what σB − diag(d) adds to that entry itself.
        own = 1.0 / np.sqrt(problem.cluster_weights(labels))[labels]
        indicator = np.zeros((problem.n_nodes, c))
        indicator[rows, labels] = own
        scores = graph.matrix @ indicator
        # A node so heavy that its own entry overflows stays where it is with less as well.
        with np.errstate(over="ignore"):
            share = np.minimum(shifts[stage] * node_weights, MOST)
            scores[rows, labels] += np.clip((share - graph.degrees) * own, -MOST, MOST)
        # 2. Raise ⟨T, G⟩ by one sweep.
        moved = labels.copy()
        sweep(scores, node_weights, moved, *scratch)
        # 3. Go on from there if the true cut fell, else with the next shift.
        found = posed.value(moved)
        # Strictly: an equal value uses up a shift, so the loop cannot go round in circles.
        if found < value:
            labels, value = moved, found
        else:
            stage += 1
        history.append(value)
    # 4. Move single nodes while that lowers the cut.
    refined = refine_problem(posed, labels)
    history.append(refined.cut_value)
    converged, values = stage == len(shifts), np.array(history)
    return Discretization(refined.labels, len(history), converged, refined.cut_value, values)


def _ladder(problem: Problem) -> list[float]:
    """Return the shifts σ, from what is typical of a node up to λ_max."""
    largest = _largest_eigenvalue(problem)
    typical = float(np.median(problem.graph.outward / problem.node_weights))
    lowest = min(LOWEST * typical, largest)
    if not lowest > 0.0:  # half of the nodes have no edges, and tell nothing of the others
        return [largest]
    return [float(shift) for shift in np.geomspace(lowest, largest, N_SHIFTS)]


def _largest_eigenvalue(problem: Problem) -> float:
    """Return λ_max(A), to a hundredth and from above."""
    # A is similar to B^-1 L, whose absolute row sums bound the spectrum
    graph, n = problem.graph, problem.n_nodes
    bound = float(np.max(2.0 * (graph.outward / problem.node_weights)))
    # Any σ ≥ λ_max is allowed, so where there is little to compute the bound will do.
    if n <= 3 or bound == 0.0:
        return bound
    start = np.cos(np.arange(n))  # any fixed vector that no eigenvector is orthogonal to
    # The bound brings the spectrum into [0, 1], whatever the scale of the weights.
    matrix = problem.operator() / bound
    ritz = eigsh(matrix, k=1, which="LA", tol=LOOSE, v0=start, return_eigenvectors=False)
    # A Ritz value lies below λ_max, by a part that LOOSE limits and MARGIN makes up for.
    return min(bound, MARGIN * bound * float(ritz[0]))
