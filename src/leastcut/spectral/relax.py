"""The relaxation: a cut problem without its discreteness, solved exactly by eigenvectors.

The smallest cut value over all G with orthonormal columns, whether or not they indicate clusters,
is the sum of the c smallest eigenvalues of A = B^-½ L B^-½ (see :mod:`leastcut.problem`). It is a
lower bound on every c-way cut value, and its eigenvectors are where discretizers start.

A is block diagonal, one block per connected component, and √b on a component spans the null space
of its block. So nothing is left to chance where the eigenvalue 0 repeats: components are found by
graph search, and a solver only ever sees one connected block, with its null vector.
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
"""A solver with its options filled in."""

SMALLEST_TOLERANCE = 1e-11  # asked for if the user asks for less: every solver reaches this
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # of a matrix of norm 1, per row
FURTHER_ROWS = 16  # rows that stand for the rounding which does not grow with the matrix
SMALLEST_SCALE = 1e-280  # size of A's entries below which they may not have all their digits
TIED = 1e-6  # relative difference up to which entries of an eigenvector count as equally large


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
    """Solve the relaxed cut problem: the ``n_clusters`` smallest eigenpairs of A.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities; it may be disconnected. Libraries: as for
        :func:`leastcut.partition`.
    n_clusters : int
        How many eigenpairs, c; any number from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    random_state : int, Generator, RandomState or None
        Seeds the start vectors of iterative solvers.
    solver : {"auto", ...} or callable, default="auto"
        A name in :data:`leastcut.EIGENSOLVERS`, a function with their signature, or ``"auto"`` to
        choose by the size and shape of the graph. The result says which was used.
    tol : float, optional
        Residual norm, relative to the norm of A, at which an eigenpair has converged; 0 asks for
        all that rounding allows. By default the solver's own: 1e-9, or 1e-6 for "lobpcg" and "amg".
    max_iter : int, optional
        Cap on the products with A, or its inverse, of iterative solvers. When it is reached the
        best pairs so far are returned, with ``converged=False``. By default the solver's own:
        10,000, or 300 products with a block of vectors for "lobpcg" and "amg".
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    Relaxation

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
    """Return a number that no partition into ``n_clusters`` clusters has a smaller cut value than.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities; it may be disconnected. Libraries: as for
        :func:`leastcut.partition`.
    n_clusters : int
        The number of clusters, from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    random_state : int, Generator, RandomState or None
        Seeds the start vectors of iterative solvers.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

    Returns
    -------
    float
        Σλ, less all that rounding, residuals and eigenvalues that may have been missed leave open;
        0 where nothing more can be proven.

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
    """Solve the relaxed cut of a problem, with options that :func:`relax` would accept."""
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
    """Solve the relaxed cut of a graph.

    Raises TimeoutError if it cannot be solved within the budget.
    """
    matrix = problem.operator()
    budget = budget or Budget()
    options: dict[str, Any] = {"rng": as_generator(random_state), "deadline": budget.deadline}
    # What is not given stays out of the options, so that each solver has its own default.
    if tol is not None:
        options["tol"] = max(tol, SMALLEST_TOLERANCE)
    if max_iter is not None:
        options["max_iter"] = max_iter
    solve = partial(solver_of(solver), **options)
    n_components, component = problem.graph.components
    # One thread, as the sums of several round differently, and an eigenspace may be any basis of it
    with single_threaded():
        if n_components >= n_clusters:
            found, floors = _components_alone(problem, n_clusters), np.zeros(n_clusters)
        else:
            found, floors = _by_component(
                matrix, problem.node_weights, component, n_clusters, solve
            )
        # A solver may return f or −f; one of the two is agreed on, so that a seed fixes the answer.
        vectors = found.vectors * _signs(found.vectors)
        # A F from the matrix itself: what the residuals and the first-order method need.
        product = matrix @ vectors
    return Relaxation(
        found.values,
        vectors,
        problem.node_weights,
        product,
        found.solver,
        found.converged,
        floors,
    )


class _Block(NamedTuple):
    """The nodes of a component, the eigenpairs of its block but the null vector, their floors."""

    nodes: np.ndarray
    found: Eigenpairs
    floors: np.ndarray


def _components_alone(problem: Problem, n_clusters: int) -> Eigenpairs:
    """Return ``n_clusters`` null vectors of a problem with at least as many components.

    They are the indicators of groups of components of about even weight, so that whatever turns
    eigenvectors into clusters finds a cut of value 0.
    """
    labels = problem.uncut_labels(n_clusters)
    assert labels is not None  # there are enough components
    vectors = indicator(labels, problem.node_weights)
    return Eigenpairs(np.zeros(n_clusters), vectors, 0.0, True, "components")


def _by_component(
    matrix: sp.csr_array,
    node_weights: np.ndarray,
    component: np.ndarray,
    n_clusters: int,
    solve: Solve,
) -> tuple[Eigenpairs, np.ndarray]:
    """Return the smallest eigenpairs of a matrix with fewer components than clusters, and floors.

    Every component gives its null vector. The rest are the smallest of what the components have
    beyond it, each solved on its own block.
    """
    n_components = int(component.max()) + 1
    # 1. Any of the pairs beyond the null vectors may come from any block, so that each is asked for
    #    all that are wanted.
    wanted = n_clusters - n_components
    blocks = _solved_blocks(matrix, node_weights, component, wanted, solve)
    values = np.concatenate([block.found.values for block in blocks])
    # 2. All values in one array, with the block and the column that each comes from. Of equal
    #    values the sort keeps those of the larger component first, as blocks come by size.
    counts = [block.found.values.size for block in blocks]
    owner = np.repeat(np.arange(len(blocks)), counts)
    column = np.concatenate([np.arange(count) for count in counts])
    smallest = np.argsort(values, kind="stable")[:wanted]
    # 3. Vectors of the whole graph: null vectors first, then the others, 0 outside their block.
    vectors = np.zeros((component.size, n_clusters))
    vectors[:, :n_components] = indicator(component, node_weights)
    for position, pick in enumerate(smallest, start=n_components):
        block = blocks[owner[pick]]
        vectors[block.nodes, position] = block.found.vectors[:, column[pick]]
    # 4. What a block has beyond its floors is no smaller than the last of them, so that the
    #    smallest of all floors are floors of the smallest of all eigenvalues.
    floors = np.sort(np.concatenate([block.floors for block in blocks]))[:wanted]
    found = Eigenpairs(
        np.concatenate([np.zeros(n_components), values[smallest]]),
        vectors,
        float(floors[-1]),
        all(block.found.converged for block in blocks),
        blocks[0].found.solver,
    )
    return found, np.concatenate([np.zeros(n_components), floors])


def _solved_blocks(
    matrix: sp.csr_array,
    node_weights: np.ndarray,
    component: np.ndarray,
    wanted: int,
    solve: Solve,
) -> list[_Block]:
    """Solve every component of more than one node for up to ``wanted`` pairs, the largest first."""
    sizes = np.bincount(component)
    # With the nodes sorted by component, every block is a slice of rows and columns.
    order = np.argsort(component, kind="stable")
    ends = np.cumsum(sizes)
    # A connected graph is its own block, and is not copied.
    connected = sizes.size == 1
    sorted_matrix = matrix if connected else matrix[order][:, order]
    blocks = []
    for k in np.argsort(-sizes, kind="stable"):
        # From here on components are single nodes, which have a null vector and nothing else.
        if sizes[k] == 1:
            break
        span = slice(ends[k] - sizes[k], ends[k])
        nodes = order[span]
        block, scale = _scaled(sorted_matrix if connected else sorted_matrix[span, span])
        null = np.sqrt(node_weights[nodes] / node_weights[nodes].sum())
        found = solve(block, null, min(wanted, int(sizes[k]) - 1))
        floors = _floors(block, found)
        # Near underflow entries have lost digits, and nothing is known of small eigenvalues.
        if scale < SMALLEST_SCALE:
            floors[:] = 0.0
        # Back in the units of A. A is positive semi-definite; only rounding goes below 0.
        found = found._replace(values=np.maximum(found.values, 0.0) * scale)
        blocks.append(_Block(nodes, found, floors * scale))
    return blocks


def _scaled(block: sp.csr_array) -> tuple[sp.csr_array, float]:
    """Return the block with its spectrum brought into [0, 1], and what it was divided by.

    A Laplacian is at most twice its diagonal, and so is A, whatever the node weights.
    """
    # A diagonal of 0, where all weights underflow, is left as it is. Indices are shared.
    scale = 2.0 * float(block.diagonal().max()) or 1.0
    return sp.csr_array((block.data / scale, block.indices, block.indptr), block.shape), scale


def _floors(matrix: sp.csr_array, found: Eigenpairs) -> np.ndarray:
    """Return for every eigenpair a number that the true eigenvalue of its rank is not below.

    Let V be the vectors, Θ their values, R = AV − VΘ, and let A on the complement of V and the null
    vector have nothing below β. In a basis of V and that complement A is [[Θ, Rᵀ], [R, C]] with
    C ⪰ βI. For every σ < β it has as many eigenvalues below σ as the Schur complement
    Θ − σ − Rᵀ(C − σ)⁻¹R ⪰ Θ − σ − ‖R‖²/(β − σ) has below 0. So the j-th is at least the smaller
    eigenvalue of [[θ_j, ‖R‖], [‖R‖, β]]; and rounding leaves open some of that.
    """
    values, beyond = found.values, found.beyond if found.converged else -np.inf
    pairs = zip(values, found.vectors.T, strict=True)
    squared = float(sum(np.sum((matrix @ vector - value * vector) ** 2) for value, vector in pairs))
    # That eigenvalue is min(θ, β) + half − √(half² + ‖R‖²), here written without cancellation.
    half = 0.5 * np.abs(beyond - values)
    spread = half + np.sqrt(half**2 + squared)
    loss = np.divide(squared, spread, out=np.zeros_like(spread), where=spread > 0)
    unknown = ROUNDING * (matrix.shape[0] + FURTHER_ROWS)
    # A is positive semi-definite, and no eigenvalue is below the floor of a smaller one.
    floors = np.maximum(np.minimum(values, beyond) - loss - unknown, 0.0)
    return np.asarray(np.maximum.accumulate(floors))


def _signs(vectors: np.ndarray) -> np.ndarray:
    """Return the sign that makes the largest entry of every column positive.

    Of entries that are equal up to rounding the first decides, so that rounding does not.
    """
    size = np.abs(vectors)
    first = np.argmax(size >= (1.0 - TIED) * size.max(axis=0), axis=0)
    return np.asarray(np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0))
