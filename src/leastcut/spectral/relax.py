"""Spectral relaxation of a cut problem.

The minimum of tr(Gᵀ A G) over all G with orthonormal columns is the sum of the c smallest
eigenvalues of A = B^-½ L B^-½ (see :mod:`leastcut.problem`). It is a lower bound on the value of
every c-way cut, and discretizers turn the eigenvectors into labels.

A has one diagonal block per connected component, and √b spans the null space of each block. The
components are computed by graph search, and an eigensolver is called for one connected block at a
time with a known null vector, so a repeated eigenvalue 0 needs no special care.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.budget import Budget
from leastcut.problem import (
    AnyProblem,
    CutLike,
    Problem,
    as_any_problem,
    indicator,
    unsupported_problem,
)
from leastcut.results import Relaxation
from leastcut.seeds import RandomState, as_generator
from leastcut.spectral.eigensolvers import check_solver, solver_of
from leastcut.spectral.eigensolvers.interface import Eigenpairs, Solver
from leastcut.threads import single_threaded
from leastcut.validation import check_count, check_number

Solve = Callable[[sp.csr_array, np.ndarray, int], Eigenpairs]
"""A solver with its options bound."""

SMALLEST_TOLERANCE = 1e-11  # smaller tolerances are raised to this, which every solver reaches
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # of a matrix of norm 1, per row
FURTHER_ROWS = 16  # added to the number of rows, for rounding errors that do not depend on it
SMALLEST_SCALE = 1e-280  # size of the entries of A below which they may have lost digits
TIED = 1e-6  # relative difference up to which entries of an eigenvector count as equal


def relax(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    random_state: RandomState = None,
    solver: str | Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
    symmetrize: str | None = None,
) -> Relaxation:
    """Compute the spectral relaxation of a cut: the ``n_clusters`` smallest eigenpairs of A.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n_nodes, n_nodes), AnchorGraph or graph of a library
        Symmetric non-negative affinities, in any form that :func:`leastcut.partition` accepts. The
        graph may be disconnected.
    n_clusters : int
        Number of eigenpairs, from 1 to n_nodes.
    cut : {"ratio", "normalized"} or array-like of shape (n_nodes,), default="normalized"
        The name of a cut, or a positive weight for every node.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start vectors of iterative solvers.
    solver : str or callable, default="auto"
        A key of :data:`leastcut.EIGENSOLVERS`, a function with their signature, or ``"auto"`` to
        choose by the size and shape of the graph. ``Relaxation.solver`` is the one that was used.
    tol : float, optional
        Residual norm, relative to the norm of A, at which an eigenpair has converged; 0 requests
        the highest accuracy that rounding allows. By default 1e-9, or 1e-6 for "lobpcg" and "amg".
    max_iter : int, optional
        Maximum number of products with A, or with its inverse. If it is reached, the best
        eigenpairs so far are returned with ``converged=False``. By default 10,000, or 300 products
        with a block of vectors for "lobpcg" and "amg".
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions. None
        raises an error.

    Returns
    -------
    Relaxation
        Eigenvalues, eigenvectors and node weights, with the lower bound that they prove.

    See Also
    --------
    discretize : Turn the relaxed solution into labels.
    lower_bound : Compute the lower bound alone.
    partition : Search for the smallest cut.

    Notes
    -----
    A = B^-½ L B^-½, where L is the graph Laplacian and B the diagonal matrix of node weights. The
    eigenvectors minimize the cut over all matrices with orthonormal columns, so the sum of their
    eigenvalues is at most the value of every cut into ``n_clusters`` clusters. Every connected
    component is solved separately. The sign of each eigenvector is fixed, so a seed determines the
    result.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    >>> relaxation = leastcut.relax(S, 2)
    >>> relaxation.eigenvalues.round(6), relaxation.solver
    (array([0., 1.]), 'dense')
    """
    solver = check_solver(solver)
    if max_iter is not None:
        max_iter = check_count("max_iter", max_iter)
    if tol is not None:
        tol = check_number("tol", tol, allow_infinite=True)
    problem = as_any_problem(graph, cut, symmetrize=symmetrize)
    options = {"solver": solver, "tol": tol, "max_iter": max_iter}
    n_clusters = problem.check_n_clusters(n_clusters)
    return relax_problem(problem, n_clusters, random_state=random_state, **options)


def lower_bound(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    random_state: RandomState = None,
    *,
    symmetrize: str | None = None,
) -> float:
    """Return a lower bound on the cut value of every partition, computed from eigenvalues.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n_nodes, n_nodes), AnchorGraph or graph of a library
        Symmetric non-negative affinities, in any form that :func:`leastcut.partition` accepts. The
        graph may be disconnected.
    n_clusters : int
        Number of clusters, from 1 to n_nodes.
    cut : {"ratio", "normalized"} or array-like of shape (n_nodes,), default="normalized"
        The name of a cut, or a positive weight for every node.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start vectors of iterative solvers.
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions. None
        raises an error.

    Returns
    -------
    float
        The bound; 0 if nothing better can be proven.

    See Also
    --------
    relax : Compute the eigenpairs as well.
    certify : Prove larger bounds, up to optimality.

    Notes
    -----
    The bound is the sum of the ``n_clusters`` smallest eigenvalues, reduced by the effects of
    rounding, residuals and eigenvalues that the solver may have missed.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    >>> round(leastcut.lower_bound(S, 2), 6)
    1.0
    """
    problem = as_any_problem(graph, cut, symmetrize=symmetrize)
    return lower_bound_problem(problem, problem.check_n_clusters(n_clusters), random_state)


@singledispatch
def lower_bound_problem(problem: AnyProblem, n_clusters: int, random_state: RandomState) -> float:
    """Return a lower bound on the value of every partition, by eigenvalues."""
    return relax_problem(problem, n_clusters, random_state=random_state).lower_bound


@singledispatch
def relax_problem(
    problem: AnyProblem, n_clusters: int, *, random_state: RandomState, **options: Any
) -> Relaxation:
    """Compute the spectral relaxation of a problem; the options are those of :func:`relax`."""
    raise unsupported_problem("relax", problem)


@relax_problem.register(Problem)
def relax_graph(
    problem: Problem,
    n_clusters: int,
    *,
    random_state: RandomState,
    solver: str | Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
    budget: Budget | None = None,
) -> Relaxation:
    """Compute the spectral relaxation of a graph; raise TimeoutError if the budget is too small."""
    matrix = problem.operator()
    budget = budget or Budget()
    options: dict[str, Any] = {"rng": as_generator(random_state), "deadline": budget.deadline}
    # Omitted options keep the defaults of the solver.
    if tol is not None:
        options["tol"] = max(tol, SMALLEST_TOLERANCE)
    if max_iter is not None:
        options["max_iter"] = max_iter
    solve = partial(solver_of(solver), **options)
    n_components, component = problem.graph.components
    # One thread: rounding depends on the number of threads, and decides the basis of an eigenspace.
    with single_threaded():
        if n_components >= n_clusters:
            pairs, floors = _null_vectors(problem, n_clusters), np.zeros(n_clusters)
        else:
            pairs, floors = _solve_components(
                matrix, problem.node_weights, component, n_clusters, solve
            )
        vectors = pairs.vectors * _signs(pairs.vectors)
        product = matrix @ vectors
    return Relaxation(
        pairs.values,
        vectors,
        problem.node_weights,
        product,
        pairs.solver,
        pairs.converged,
        floors,
    )


class _Block(NamedTuple):
    """Nodes of a component, eigenpairs of its block without the null vector, and their floors."""

    nodes: np.ndarray
    pairs: Eigenpairs
    floors: np.ndarray


def _null_vectors(problem: Problem, n_clusters: int) -> Eigenpairs:
    """Return ``n_clusters`` null vectors of a problem with at least as many components.

    They indicate groups of components of similar weight, from which every discretizer recovers a
    cut of value 0.
    """
    labels = problem.uncut_labels(n_clusters)
    assert labels is not None  # there are enough components
    vectors = indicator(labels, problem.node_weights)
    return Eigenpairs(np.zeros(n_clusters), vectors, 0.0, True, "components")


def _solve_components(
    matrix: sp.csr_array,
    node_weights: np.ndarray,
    component: np.ndarray,
    n_clusters: int,
    solve: Solve,
) -> tuple[Eigenpairs, np.ndarray]:
    """Return the smallest eigenpairs of a matrix with fewer components than clusters, and floors.

    Every component contributes its null vector; the other pairs are the smallest of all blocks.
    """
    n_components = int(component.max()) + 1
    # 1. All of the other pairs may come from the same block, so each is solved for that number.
    n_further = n_clusters - n_components
    blocks = _solve_blocks(matrix, node_weights, component, n_further, solve)
    values = np.concatenate([block.pairs.values for block in blocks])
    # 2. Select the smallest values. Of equal ones, the sort puts the larger component first, as
    #    blocks are sorted by size.
    counts = [block.pairs.values.size for block in blocks]
    owner = np.repeat(np.arange(len(blocks)), counts)
    column = np.concatenate([np.arange(count) for count in counts])
    smallest = np.argsort(values, kind="stable")[:n_further]
    # 3. Vectors of the full graph: the null vectors, then the others, which are 0 outside of their
    #    block.
    vectors = np.zeros((component.size, n_clusters))
    vectors[:, :n_components] = indicator(component, node_weights)
    for position, pick in enumerate(smallest, start=n_components):
        block = blocks[owner[pick]]
        vectors[block.nodes, position] = block.pairs.vectors[:, column[pick]]
    # 4. The further eigenvalues of a block are at least its last floor. So the smallest of all
    #    floors are lower bounds on the smallest of all eigenvalues.
    floors = np.sort(np.concatenate([block.floors for block in blocks]))[:n_further]
    pairs = Eigenpairs(
        np.concatenate([np.zeros(n_components), values[smallest]]),
        vectors,
        float(floors[-1]),
        all(block.pairs.converged for block in blocks),
        blocks[0].pairs.solver,
    )
    return pairs, np.concatenate([np.zeros(n_components), floors])


def _solve_blocks(
    matrix: sp.csr_array,
    node_weights: np.ndarray,
    component: np.ndarray,
    count: int,
    solve: Solve,
) -> list[_Block]:
    """Solve each component of more than one node for up to ``count`` pairs, the largest first."""
    sizes = np.bincount(component)
    # With the nodes sorted by component, every block is a slice of rows and columns.
    order = np.argsort(component, kind="stable")
    ends = np.cumsum(sizes)
    connected = sizes.size == 1  # then the matrix is not copied
    sorted_matrix = matrix if connected else matrix[order][:, order]
    blocks = []
    for k in np.argsort(-sizes, kind="stable"):
        # Only isolated nodes follow, which have a null vector and no other eigenpair.
        if sizes[k] == 1:
            break
        span = slice(ends[k] - sizes[k], ends[k])
        nodes = order[span]
        block, scale = _scaled(sorted_matrix if connected else sorted_matrix[span, span])
        null = np.sqrt(node_weights[nodes] / node_weights[nodes].sum())
        pairs = solve(block, null, min(count, int(sizes[k]) - 1))
        floors = _floors(block, pairs)
        # Near underflow, entries have lost digits, and no positive bound can be proven.
        if scale < SMALLEST_SCALE:
            floors[:] = 0.0
        # A is positive semi-definite; values below 0 are rounding errors.
        pairs = pairs._replace(values=np.maximum(pairs.values, 0.0) * scale)
        blocks.append(_Block(nodes, pairs, floors * scale))
    return blocks


def _scaled(block: sp.csr_array) -> tuple[sp.csr_array, float]:
    """Return the block divided by a scale such that its spectrum is in [0, 1], and the scale.

    L ⪯ 2 diag(L), and therefore A ⪯ 2 diag(A) for all node weights.
    """
    scale = 2.0 * float(block.diagonal().max()) or 1.0  # the diagonal may underflow to 0
    return sp.csr_array((block.data / scale, block.indices, block.indptr), block.shape), scale


def _floors(matrix: sp.csr_array, pairs: Eigenpairs) -> np.ndarray:
    """Return a lower bound on the true eigenvalue of every rank.

    Let V be the vectors, Θ their values, R = AV − VΘ, and let A have no eigenvalue below β on the
    complement of V and the null vector. In a basis of V and that complement, A is
    [[Θ, Rᵀ], [R, C]] with C ⪰ βI. For every σ < β it has as many eigenvalues below σ as the Schur
    complement Θ − σ − Rᵀ(C − σ)⁻¹R ⪰ Θ − σ − ‖R‖²/(β − σ) has below 0. So the j-th is at least the
    smaller eigenvalue of [[θ_j, ‖R‖], [‖R‖, β]], up to rounding.
    """
    values, beyond = pairs.values, pairs.beyond if pairs.converged else -np.inf
    columns = zip(values, pairs.vectors.T, strict=True)
    squared = float(
        sum(np.sum((matrix @ vector - value * vector) ** 2) for value, vector in columns)
    )
    # That eigenvalue is min(θ, β) + half − √(half² + ‖R‖²), written here without cancellation.
    half = 0.5 * np.abs(beyond - values)
    spread = half + np.sqrt(half**2 + squared)
    loss = np.divide(squared, spread, out=np.zeros_like(spread), where=spread > 0)
    rounding = ROUNDING * (matrix.shape[0] + FURTHER_ROWS)
    floors = np.maximum(np.minimum(values, beyond) - loss - rounding, 0.0)
    # Eigenvalues ascend, so the bound on a smaller one holds too.
    return np.asarray(np.maximum.accumulate(floors))


def _signs(vectors: np.ndarray) -> np.ndarray:
    """Return the signs that make the largest entry of every column positive.

    If entries are equal up to rounding, the first of them decides.
    """
    size = np.abs(vectors)
    first = np.argmax(size >= (1.0 - TIED) * size.max(axis=0), axis=0)
    return np.asarray(np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0))
