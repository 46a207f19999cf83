"""The spectral solution as a start of the search: rough eigenvectors, labels, and what both cost.

1. On the smallest level, the eigenvectors are computed in full.
2. Level by level they are carried up, and a polynomial of the operator damps what carrying them up
   has brought in of other eigenvectors; a Rayleigh–Ritz step sorts them.
3. On the finest level that the work allows they are discretized as exact ones would be,
   and the labels are carried up from there.

Rough eigenvectors prove nothing, but labels do not need the digits that bounds do, and the cost of
a level is linear in its edges (``python -m benchmarks spectral_start`` compares both). What rough
and exact ones will cost is estimated from sizes and counted in edges visited, the unit in which the
search counts its work, so that a seed and not the clock decides what takes part. The costs were
fitted to times on neighbor graphs, planted blocks, grids, power laws and networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from leastcut.multilevel.coarsening import Step, never
from leastcut.problem import Problem
from leastcut.results import Relaxation
from leastcut.spectral.discretizers.first_order import alternate, starts
from leastcut.spectral.discretizers.shared import pivot_rotation
from leastcut.spectral.eigensolvers.dense import eigenpairs
from leastcut.threads import single_threaded

# Rounds of damping on every level, and the degree of the polynomial of each: a second round damps
# what the first did not know to be too much, and less than 15 misses clusters that more finds.
ROUNDS, DEGREE = 2, 15
# One vector more for so many clusters, and at least so many: they take up what lies next.
SPARE_SHARE, FEWEST_SPARE = 4, 2
NARROWEST = 1e-3  # fraction of the spectrum that a polynomial of that degree can keep
WIDEST_RANGE = 1e12  # ratio of weights beyond which rounding hides the small ones from a solver
ETA = 1e-3  # weight of the gradient term in the discretization: the paper's
SWEEPS = 100  # most sweeps of each start; on most graphs none takes half of them
# Up to so many nodes, or so many per cluster, eigenproblems are solved in full.
DENSE_NODES, DENSE_RATIO = 500, 8
EDGES_PER_CUBE = 1 / 60  # of a full eigenproblem, for every n³
# Products that other eigenproblems take, for any number of clusters and for each.
FIRST_STEPS, STEPS_PER_CLUSTER = 240, 6
# Times the products estimated that are made: on images and other graphs with hardly any edges
# between clusters eigenpairs converge slowly, and rough ones are as good a start.
OVERRUN = 3
# Edges that could be visited in the time of making a level's operator, for every stored edge; of
# a product with one vector, for every stored edge and for every node; and of making k vectors
# orthogonal, for every n·k².
SETUP, PRODUCT, UPDATE, ORTHOGONAL = 2.0, 0.06, 1.0, 0.1
START = 0.15, 1.5, 8.0  # and of one start of the discretization: for every n·c², c³ and n·c


def rough_eigenvectors(levels: Sequence[Problem], steps: Sequence[Step], count: int) -> Relaxation:
    """Return about the ``count`` smallest eigenpairs of ``levels[0]``, marked as not converged.

    ``levels`` are problems from fine to coarse, the last with at least ``count`` nodes, and
    ``steps[i]`` leads from ``levels[i]`` to the next.
    """
    # 1. Solve the smallest level, which is symmetric up to the rounding of its contractions.
    low = levels[-1]
    width = min(low.n_nodes, count + _spare(count))
    dense = low.symmetrized().operator().toarray()
    values, vectors = eigenpairs(dense, 0, width - 1)
    # 2. Carry the vectors up. As rows of B^-½ F they are the same for all nodes of a group.
    for fine, step in zip(levels[-2::-1], steps[::-1], strict=True):
        rows = vectors / np.sqrt(step.problem.node_weights)[:, None]
        carried = rows[step.parent] * np.sqrt(fine.node_weights)[:, None]
        values, vectors = _smoothed(fine, carried, float(values[-1]))
    return Relaxation(values[:count], vectors[:, :count], levels[0].node_weights, converged=False)


def eigenproblem_work(problem: Problem, n_clusters: int) -> float:
    """Estimate what the ``n_clusters`` smallest eigenpairs of a problem cost, in edges visited."""
    n, c = problem.n_nodes, n_clusters
    if n <= max(DENSE_NODES, DENSE_RATIO * c):
        return EDGES_PER_CUBE * float(n) ** 3
    # A product visits the edges, and is made orthogonal to about twice the vectors wanted.
    step = 0.15 * problem.graph.n_stored + n * (0.25 * c + 1.5)
    return (FIRST_STEPS + STEPS_PER_CLUSTER * c) * step


def most_products(n_clusters: int) -> int:
    """Return how many products eigenpairs that prove nothing are worth."""
    return OVERRUN * (FIRST_STEPS + STEPS_PER_CLUSTER * n_clusters)


def rough_work(levels: Sequence[Problem], n_clusters: int, n_starts: int) -> float:
    """Estimate what the spectral labels of ``levels[0]`` cost, in edges visited."""
    width = n_clusters + _spare(n_clusters)
    work = EDGES_PER_CUBE * float(levels[-1].n_nodes) ** 3
    for level in levels[:-1]:
        n, stored = level.n_nodes, level.graph.n_stored
        products = width * (DEGREE + 1) * (PRODUCT * stored + UPDATE * n)
        work += SETUP * stored + ROUNDS * (products + ORTHOGONAL * n * width**2)
    return work + n_starts * start_work(levels[0].n_nodes, n_clusters)


def start_work(n_nodes: int, n_clusters: int) -> float:
    """Estimate what one start of a discretization costs, in edges visited."""
    n, c = float(n_nodes), float(n_clusters)
    square, cube, linear = START
    return square * n * c**2 + cube * c**3 + linear * n * c


def rough_labels(
    problem: Problem,
    steps: Sequence[Step],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_starts: int,
    most_work: float,
    is_late: Callable[[], bool] = never,
) -> tuple[np.ndarray, int, float] | None:
    """Discretize rough eigenvectors of the finest level for which ``most_work`` is enough.

    Return labels of that level, the number of steps down to it, and the estimated work; None if no
    level is affordable, or if weights span too many orders of magnitude. ``steps`` is a hierarchy
    with at least ``n_clusters`` nodes on its smallest level.
    """
    if not within_solvers_range(problem):
        return None
    levels = [problem, *(step.problem for step in steps)]
    for first in range(len(levels)):
        work = rough_work(levels[first:], n_clusters, n_starts)
        if work <= most_work:
            break
    else:
        return None
    # Sums of several BLAS threads round differently, and at a tie that decides the labels.
    with single_threaded():
        found = rough_eigenvectors(levels[first:], steps[first:], n_clusters)
    labels = spectral_labels(levels[first], found, rng, n_starts=n_starts, is_late=is_late)
    return labels, first, work


def spectral_labels(
    problem: Problem,
    relaxation: Relaxation,
    rng: np.random.Generator,
    *,
    n_starts: int,
    is_late: Callable[[], bool] = never,
) -> np.ndarray:
    """Discretize eigenvectors from several starts, and return the labels of the smallest cut."""
    with single_threaded():
        tried = [alternate(relaxation, ETA, _pivot_labels(relaxation), None, SWEEPS).labels]
        if n_starts > 1:
            for start, rotation in starts(relaxation, None, None, n_starts - 1, rng):
                if is_late():
                    break
                tried.append(alternate(relaxation, ETA, start, rotation, SWEEPS).labels)
        return min(tried, key=problem.value)


def within_solvers_range(problem: Problem) -> bool:
    """Whether weights span no more orders of magnitude than an eigensolver can tell apart."""
    # Divided, as the smallest times the range could overflow.
    return all(
        weights.size == 0 or weights.max() / WIDEST_RANGE <= weights.min()
        for weights in (problem.graph.weights, problem.node_weights)
    )


def _pivot_labels(relaxation: Relaxation) -> np.ndarray:
    """Send every row to the one of c rows far apart that it is nearest to: a start, none empty."""
    vectors = relaxation.eigenvectors
    pivots, turn = pivot_rotation(vectors)
    labels: np.ndarray = np.argmax(np.abs(vectors @ turn), axis=1)
    labels[pivots] = np.arange(pivots.size)
    return labels


def _spare(count: int) -> int:
    """Return how many vectors beyond those wanted are carried along."""
    return max(FEWEST_SPARE, count // SPARE_SHARE)


def _smoothed(
    problem: Problem, vectors: np.ndarray, beyond: float
) -> tuple[np.ndarray, np.ndarray]:
    """Damp what lies above the eigenvalue ``beyond``, and return Ritz pairs of what is left.

    The damping is a Chebyshev polynomial of A, which is small on an interval and grows fast outside
    of it.
    """
    diagonal, crossing = problem.operator_parts()
    # No eigenvalue is above twice the largest entry of the diagonal. A polynomial grows beyond the
    # numbers it is taken of: it is taken of numbers up to 1, by a power of two that rounds nothing.
    exponent = int(np.frexp(diagonal.max())[1]) + 1
    diagonal = np.ldexp(diagonal, -exponent)[:, None]
    crossing.data = np.ldexp(crossing.data, -exponent)
    top = 2.0 * float(diagonal.max())
    values = np.array([np.ldexp(beyond, -exponent)])
    # The first round knows where to damp from a coarser level only, where eigenvalues are larger.
    for _ in range(ROUNDS):
        bottom = min(max(float(values[-1]), NARROWEST * top), 0.5 * top)
        center, half = 0.5 * (top + bottom), 0.5 * (top - bottom)
        shifted = (diagonal - center) / half
        before, vectors = vectors, shifted * vectors - crossing @ vectors / half
        for _ in range(DEGREE - 1):
            before, vectors = (
                vectors,
                2.0 * (shifted * vectors - crossing @ vectors / half) - before,
            )
        # Rayleigh–Ritz.
        basis = np.linalg.qr(vectors)[0]
        values, turn = np.linalg.eigh(basis.T @ (diagonal * basis - crossing @ basis))
        vectors = basis @ turn
    return np.ldexp(values, exponent), vectors
