"""Spectral solutions as starts of the search: rough eigenvectors, labels, and cost estimates.

1. Compute the eigenvectors of the smallest level.
2. Interpolate them to the finer level, damp components of other eigenvectors by a polynomial of the
   operator, and apply a Rayleigh–Ritz step, level by level.
3. On the finest level that the work allows, discretize them like exact eigenvectors; the labels are
   then uncoarsened.

Rough eigenvectors give no lower bound, but good labels, and the cost of a level is linear in its
edges (``python -m benchmarks spectral_start`` compares exact and rough ones). The costs of rough
and exact eigenvectors are estimated from sizes in visited edges, the unit of work of the search, so
that results do not depend on the clock. The estimates were fitted to times on neighbor graphs,
planted partitions, grids, power-law graphs and networks.
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

# Rounds of damping per level, and the degree of each polynomial. The second round has better
# estimates of the eigenvalues; with a degree below 15 some clusters are missed.
ROUNDS, DEGREE = 2, 15
# Number of additional vectors: one per SPARE_SHARE clusters, but at least FEWEST_SPARE.
SPARE_SHARE, FEWEST_SPARE = 4, 2
NARROWEST = 1e-3  # smallest fraction of the spectrum that a polynomial of this degree can resolve
WIDEST_RANGE = 1e12  # largest ratio of weights for which eigensolvers resolve the small ones
ETA = 1e-3  # weight of the gradient term in the discretization, as in the paper
SWEEPS = 100  # limit on the sweeps of each start; most graphs need fewer than half
# Up to this number of nodes, in total or per cluster, dense eigensolvers are used.
DENSE_NODES, DENSE_RATIO = 500, 8
EDGES_PER_CUBE = 1 / 60  # cost of a dense eigenproblem, per n³
# Number of products of iterative eigensolvers: a constant, and per cluster.
FIRST_STEPS, STEPS_PER_CLUSTER = 240, 6
# Limit on the products of a start, relative to the estimate: with hardly any edges between
# clusters, as in images, eigenpairs converge slowly, and rough ones are equally good starts.
OVERRUN = 3
# Costs in visited edges: building a level's operator, per stored edge; a product with a vector, per
# stored edge and per node; orthogonalizing k vectors, per n·k²; and a start of the discretization,
# per n·c², c³ and n·c.
SETUP, PRODUCT, UPDATE, ORTHOGONAL = 2.0, 0.06, 1.0, 0.1
START = 0.15, 1.5, 8.0


def rough_eigenvectors(levels: Sequence[Problem], steps: Sequence[Step], count: int) -> Relaxation:
    """Return approximations of the ``count`` smallest eigenpairs of ``levels[0]``, not converged.

    ``levels`` are problems from fine to coarse, the last with at least ``count`` nodes, and
    ``steps[i]`` is the coarsening step from ``levels[i]`` to the next.
    """
    # 1. Solve the smallest level, after removing the asymmetry due to rounding.
    low = levels[-1]
    width = min(low.n_nodes, count + _spare(count))
    dense = low.symmetrized().operator().toarray()
    # LAPACK has absolute thresholds: with a fixed magnitude, units of weights do not matter.
    exponent = int(np.frexp(np.abs(dense).max())[1])
    values, vectors = eigenpairs(np.ldexp(dense, -exponent), 0, width - 1)
    values = np.ldexp(values, exponent)
    # 2. Interpolate: all nodes of an aggregate get the same row of B^-½ F.
    for fine, step in zip(levels[-2::-1], steps[::-1], strict=True):
        rows = vectors / np.sqrt(step.problem.node_weights)[:, None]
        interpolated = rows[step.parent] * np.sqrt(fine.node_weights)[:, None]
        values, vectors = _smoothed(fine, interpolated, float(values[-1]))
    return Relaxation(values[:count], vectors[:, :count], levels[0].node_weights, converged=False)


def eigenproblem_work(problem: Problem, n_clusters: int) -> float:
    """Return the estimated work to compute the ``n_clusters`` smallest eigenpairs of a problem."""
    n, c = problem.n_nodes, n_clusters
    if n <= max(DENSE_NODES, DENSE_RATIO * c):
        return EDGES_PER_CUBE * float(n) ** 3
    # A product, and orthogonalization against about 2c vectors.
    step = 0.15 * problem.graph.n_stored + n * (0.25 * c + 1.5)
    return (FIRST_STEPS + STEPS_PER_CLUSTER * c) * step


def most_products(n_clusters: int) -> int:
    """Return the largest number of products for eigenpairs that are used as a start only."""
    return OVERRUN * (FIRST_STEPS + STEPS_PER_CLUSTER * n_clusters)


def rough_work(levels: Sequence[Problem], n_clusters: int, n_starts: int) -> float:
    """Return the estimated work to compute spectral labels of ``levels[0]``."""
    width = n_clusters + _spare(n_clusters)
    work = EDGES_PER_CUBE * float(levels[-1].n_nodes) ** 3
    for level in levels[:-1]:
        n, stored = level.n_nodes, level.graph.n_stored
        products = width * (DEGREE + 1) * (PRODUCT * stored + UPDATE * n)
        work += SETUP * stored + ROUNDS * (products + ORTHOGONAL * n * width**2)
    return work + n_starts * start_work(levels[0].n_nodes, n_clusters)


def start_work(n_nodes: int, n_clusters: int) -> float:
    """Return the estimated work of one start of a discretization."""
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

    Returns labels of that level, the number of coarsening steps to it, and the estimated work; or
    None if no level is affordable or weights span too many orders of magnitude. The smallest level
    must have at least ``n_clusters`` nodes.
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
    # With several BLAS threads, rounding would depend on their number.
    with single_threaded():
        relaxation = rough_eigenvectors(levels[first:], steps[first:], n_clusters)
    labels = spectral_labels(levels[first], relaxation, rng, n_starts=n_starts, is_late=is_late)
    return labels, first, work


def spectral_labels(
    problem: Problem,
    relaxation: Relaxation,
    rng: np.random.Generator,
    *,
    n_starts: int,
    is_late: Callable[[], bool] = never,
) -> np.ndarray:
    """Discretize eigenvectors from several starts; return the labels of the smallest cut."""
    with single_threaded():
        results = [alternate(relaxation, ETA, _pivot_labels(relaxation), None, SWEEPS).labels]
        if n_starts > 1:
            for start, rotation in starts(relaxation, None, None, n_starts - 1, rng):
                if is_late():
                    break
                results.append(alternate(relaxation, ETA, start, rotation, SWEEPS).labels)
        return min(results, key=problem.value)


def within_solvers_range(problem: Problem) -> bool:
    """Return whether the range of weights is small enough for an eigensolver."""
    return all(
        weights.size == 0 or weights.max() / WIDEST_RANGE <= weights.min()
        for weights in (problem.graph.weights, problem.node_weights)
    )


def _pivot_labels(relaxation: Relaxation) -> np.ndarray:
    """Return initial labels from c pivot rows, one per cluster."""
    vectors = relaxation.eigenvectors
    pivots, rotation = pivot_rotation(vectors)
    labels: np.ndarray = np.argmax(np.abs(vectors @ rotation), axis=1)
    labels[pivots] = np.arange(pivots.size)
    return labels


def _spare(count: int) -> int:
    """Return the number of additional vectors."""
    return max(FEWEST_SPARE, count // SPARE_SHARE)


def _smoothed(
    problem: Problem, vectors: np.ndarray, beyond: float
) -> tuple[np.ndarray, np.ndarray]:
    """Damp components above the eigenvalue ``beyond`` by polynomials; return Ritz pairs."""
    diagonal, crossing = problem.operator_parts()
    # The spectrum is bounded by twice the largest diagonal entry. Scale A by a power of two, so
    # that the polynomial does not overflow.
    exponent = int(np.frexp(diagonal.max())[1]) + 1
    diagonal = np.ldexp(diagonal, -exponent)[:, None]
    crossing.data = np.ldexp(crossing.data, -exponent)
    top = 2.0 * float(diagonal.max())
    values = np.array([np.ldexp(beyond, -exponent)])
    # In the first round, ``beyond`` comes from the coarser level, whose eigenvalues are larger.
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
        values, rotation = np.linalg.eigh(basis.T @ (diagonal * basis - crossing @ basis))
        vectors = basis @ rotation
    return np.ldexp(values, exponent), vectors
