"""Eigensolvers: the smallest eigenpairs of one connected block, and which solver suits it.

Every solver takes the same arguments: a matrix that is symmetric positive semi-definite with its
spectrum in [0, 1], the unit vector that spans its null space, and how many of the other eigenpairs
are wanted. :data:`SOLVERS` lists them; :func:`auto` chooses.

Which is fast depends on the shape of the graph. A graph that is thin, like the neighbours of points
in the plane, has separators of few nodes: a factorization stays sparse, and a handful of solves
finds the eigenpairs that Lanczos would need thousands of products for. A graph that is wide, like
the neighbours of points in twenty dimensions, fills the factor with n² entries; but then its
spectrum is well separated, and Lanczos is quick. How wide it is shows in the levels of a
breadth-first search, at the price of a few products.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from firstcut.krylov import Apply, Budget, largest_eigenpairs, smallest_size

DENSE_SIZE = 500
"""Up to this many rows LAPACK is as fast as anything."""

DENSE_RATIO = 8
"""Nor is anything faster when more than one in this many of all eigenpairs is wanted."""

FACTOR_LIMIT = 5e7
"""Foreseen entries of a factor (24 bytes each) beyond which ``auto`` does not factorize."""

SHIFT = 1e-9
"""Added to the diagonal before factorizing: small beside any eigenvalue, enough for a pivot."""

CG_PRICE = 0.25
"""What a step of conjugate gradients costs, in steps of Lanczos."""

SKEWED = 10.0
"""Largest diagonal entry, in averages, from which the diagonal is worth dividing out."""


class Eigenpairs(NamedTuple):
    """Ascending values, orthonormal columns, whether all converged, and the solver that ran."""

    values: np.ndarray
    vectors: np.ndarray
    converged: bool
    solver: str


class Solver(Protocol):
    """The signature that every solver shares.

    ``tol`` is the residual norm at which a pair has converged, ``max_iter`` a cap on products with
    the matrix or its inverse. ``count`` is less than the number of rows.
    """

    def __call__(
        self,
        matrix: sp.csr_array,
        null: np.ndarray,
        count: int,
        *,
        rng: np.random.Generator,
        tol: float,
        max_iter: int,
    ) -> Eigenpairs: ...


def dense(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
) -> Eigenpairs:
    """LAPACK on the matrix in full: exact to rounding, in O(n³) time and O(n²) memory."""
    full = matrix.toarray()
    full += 2.0 * np.outer(null, null)  # lifts the known pair above the rest of the spectrum
    values, vectors = scipy.linalg.eigh(
        full, subset_by_index=(0, count - 1), overwrite_a=True, check_finite=False
    )
    return Eigenpairs(values, vectors, True, "dense")


def lanczos(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
) -> Eigenpairs:
    """Lanczos on I − A: products only, in memory for some 3 ``count`` vectors."""
    dimension = max(20, 2 * count + 12)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, tol=tol, max_iter=max_iter)
    budget = Budget(max_iter)

    def apply(vector: np.ndarray) -> np.ndarray:
        return np.asarray(vector - matrix @ vector)

    return _krylov("lanczos", apply, matrix, null, count, dimension, rng, tol, budget)


def shift_invert(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
) -> Eigenpairs:
    """Lanczos on the inverse, by a sparse factorization: few products, if the factor is sparse."""
    dimension = max(20, 2 * count + 2)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, tol=tol, max_iter=max_iter)
    shifted = sp.csc_array(matrix + SHIFT * sp.eye_array(null.size, format="csr"))
    factor = splu(
        shifted,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,  # positive definite: no pivoting, so the ordering stands
        options={"SymmetricMode": True},
    )
    apply, budget = factor.solve, Budget(max_iter)
    return _krylov("shift_invert", apply, matrix, null, count, dimension, rng, tol, budget)


def cg_invert(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
) -> Eigenpairs:
    """Lanczos on the inverse, by conjugate gradients preconditioned with the diagonal.

    Where a few nodes have a diagonal far above the others (hubs under the ratio cut, node weights
    of very different size), they stretch the spectrum, and Lanczos on the matrix itself crawls.
    """
    dimension = max(20, 2 * count + 2)
    if null.size < smallest_size(count, dimension):
        return dense(matrix, null, count, rng=rng, tol=tol, max_iter=max_iter)
    inverse_diagonal = 1.0 / np.maximum(matrix.diagonal(), np.finfo(np.float64).eps)
    budget = Budget(max_iter)

    def apply(right_side: np.ndarray) -> np.ndarray:
        solution = _conjugate_gradients(matrix, right_side, inverse_diagonal, tol, budget)
        return np.asarray(solution - null * (null @ solution))

    return _krylov("cg_invert", apply, matrix, null, count, dimension, rng, tol, budget)


SOLVERS: dict[str, Solver] = {
    "dense": dense,
    "lanczos": lanczos,
    "shift_invert": shift_invert,
    "cg_invert": cg_invert,
}
"""Every solver by name."""


def auto(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
) -> Eigenpairs:
    """Run the solver that suits the size and shape of the graph.

    Iteration is stopped when it takes much longer than foreseen and a factorization can take over.
    """
    if null.size <= max(DENSE_SIZE, DENSE_RATIO * count):
        return dense(matrix, null, count, rng=rng, tol=tol, max_iter=max_iter)
    n_steps, worth, entries = _forecast(matrix, count)
    budget = max_iter
    if entries <= FACTOR_LIMIT:
        if worth <= n_steps:
            return shift_invert(matrix, null, count, rng=rng, tol=tol, max_iter=max_iter)
        budget = min(max_iter, int(max(2 * n_steps, worth)))
    diagonal = matrix.diagonal()
    iterate = cg_invert if diagonal.max() > SKEWED * diagonal.mean() else lanczos
    pairs = iterate(matrix, null, count, rng=rng, tol=tol, max_iter=budget)
    if pairs.converged or budget == max_iter:
        return pairs
    return shift_invert(matrix, null, count, rng=rng, tol=tol, max_iter=max_iter)


def _forecast(matrix: sp.csr_array, count: int) -> tuple[float, float, float]:
    """Foresee the steps of Lanczos, how many such steps shift-invert is worth, and its entries.

    A level of a breadth-first search separates what comes before it from what comes after, so a
    level of w nodes, eliminated last, becomes a full block of w² entries that costs w³ operations.
    And their number is about the diameter: a product carries information along one edge, so Lanczos
    needs a multiple of that many. The constants were fitted to neighbour graphs in 2 to 20
    dimensions, images and meshes; costs are in nanoseconds, and only their ratio is used.
    """
    n = matrix.shape[0]
    widths = _level_widths(matrix).astype(np.float64)
    width = float(np.sum(widths**2) / np.sum(widths))  # of the level that a node is in, on average
    entries = 20.0 * n + 3.0 * width**2
    factorize = 5000.0 * n + 0.9 * width**3
    solves = (3 * count + 20) * 4.0 * entries
    step = 1.2 * matrix.nnz + n * (2.0 * count + 12.0)
    n_steps = 120.0 + 3.0 * count + 15.0 * widths.size
    return n_steps, (factorize + solves) / step, entries


def _level_widths(matrix: sp.csr_array) -> np.ndarray:
    """Return the sizes of the levels of a breadth-first search from a far end of the graph."""
    far = breadth_first_order(matrix, 0, return_predecessors=False)[-1]
    order, parent = breadth_first_order(matrix, far)
    reached = order.size
    position = np.zeros(matrix.shape[0], dtype=np.int64)
    position[order] = np.arange(reached)
    # Children come in the order of their parents, so the children of any run of nodes are a run.
    children_end = 1 + np.searchsorted(
        position[parent[order[1:]]], np.arange(reached), side="right"
    )
    next_end = children_end.tolist()
    ends = [0, 1]
    while ends[-1] < reached:
        ends.append(next_end[ends[-1] - 1])
    return np.diff(ends)


def _conjugate_gradients(
    matrix: sp.csr_array,
    right_side: np.ndarray,
    inverse_diagonal: np.ndarray,
    tol: float,
    budget: Budget,
) -> np.ndarray:
    """Solve to a relative residual of ``tol``, or as far as the budget goes (but ten steps)."""
    solution = np.zeros_like(right_side)
    residual = right_side.copy()
    direction = inverse_diagonal * residual
    energy = residual @ direction
    limit = tol * np.linalg.norm(right_side)
    n_steps = 0
    while np.linalg.norm(residual) > limit and (n_steps < 10 or not budget.exhausted):
        product = matrix @ direction
        length = energy / (direction @ product)
        solution += length * direction
        residual -= length * product
        preconditioned = inverse_diagonal * residual
        energy, before = residual @ preconditioned, energy
        direction *= energy / before
        direction += preconditioned
        n_steps += 1
        budget.spent += CG_PRICE
    return solution


def _krylov(
    name: str,
    apply: Apply,
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    dimension: int,
    rng: np.random.Generator,
    tol: float,
    budget: Budget,
) -> Eigenpairs:
    """Run Lanczos on a function of the matrix, and take eigenvalues and residuals from itself."""
    found = largest_eigenpairs(
        apply, null, count, dimension=dimension, rng=rng, tol=tol, budget=budget
    )
    product = matrix @ found.vectors
    small = found.vectors.T @ product
    values, rotation = scipy.linalg.eigh((small + small.T) / 2, check_finite=False)
    vectors = found.vectors @ rotation
    residuals = np.linalg.norm(product @ rotation - vectors * values, axis=0)
    accurate = bool(residuals.max() <= 10.0 * max(tol, 1e-10))
    return Eigenpairs(values, vectors, found.converged and accurate, name)
