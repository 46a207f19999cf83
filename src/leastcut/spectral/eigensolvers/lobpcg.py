"""LOBPCG, with and without algebraic multigrid, as in scikit-learn.

All eigenvectors are improved together, in a block orthogonal to the null vector, so that a repeated
eigenvalue can be found as often as the block has columns. Missed pairs are then searched for as in
:mod:`leastcut.spectral.eigensolvers.lanczos`.

References
----------
A. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
conjugate gradient method", SIAM Journal on Scientific Computing 23 (2001).
"""

from __future__ import annotations

import time
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

from leastcut.spectral.eigensolvers.dense import dense
from leastcut.spectral.eigensolvers.interface import OUT_OF_TIME, Eigenpairs
from leastcut.spectral.eigensolvers.krylov import Plan
from leastcut.spectral.eigensolvers.lanczos import basis_for, complete, rayleigh_ritz

GUARDS = 4  # additional vectors, which speed up convergence
ROWS_PER_VECTOR = 6  # with fewer rows, the dense solver is used
COMPLEMENT = 20  # dimension of the search for missed pairs
MULTIGRID_LIFT = 1e-5  # added to the diagonal before coarsening, as the matrix is singular
# Iterations before a restart with the current block: rounding can spoil the search directions of a
# run, and without them it converges again, mostly in fewer iterations.
RUN = 50
SLACK = 2.0  # multiple of the tolerance for residuals, which the last step may round up


def lobpcg(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float = 1e-6,
    max_iter: int = 300,
    deadline: float = np.inf,
) -> Eigenpairs:
    """Run LOBPCG without a preconditioner; ``max_iter`` counts products with the full block."""
    return _iterate("lobpcg", matrix, null, count, rng, tol, max_iter, deadline)


def amg(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float = 1e-6,
    max_iter: int = 300,
    deadline: float = np.inf,
) -> Eigenpairs:
    """Run LOBPCG with a multigrid cycle of pyamg as preconditioner."""
    return _iterate("amg", matrix, null, count, rng, tol, max_iter, deadline)


def _iterate(
    name: str,
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
    deadline: float,
) -> Eigenpairs:
    """Run SciPy's LOBPCG from random vectors, and check its residuals with the matrix."""
    if null.size < ROWS_PER_VECTOR * (count + GUARDS) + 1:
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    preconditioner = _multigrid(matrix, rng) if name == "amg" else None
    n_products = 0

    def multiply(block: np.ndarray) -> np.ndarray:
        nonlocal n_products
        if time.monotonic() > deadline:
            raise TimeoutError(OUT_OF_TIME)
        n_products += 1
        return np.asarray(matrix @ block)

    # 1. Start with a block of random vectors, of shape (n, count + GUARDS).
    block = rng.standard_normal((null.size, count + GUARDS))
    while True:
        # 2. Iterate, orthogonal to the null vector.
        length = min(RUN, max_iter - n_products)
        end = n_products + length
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # residuals are checked below
            values, block = scipy.sparse.linalg.lobpcg(
                multiply,
                block,
                M=preconditioner,
                Y=null[:, None],
                tol=tol,
                maxiter=length,
                largest=False,
            )
        # 3. Compute Ritz values and residuals of all pairs but the guards.
        block = block[:, np.argsort(values)]
        values, vectors, residuals = rayleigh_ritz(matrix, block[:, :count])
        if residuals.max() <= SLACK * tol:
            # From here on, products with single vectors are counted.
            limit, spent = (number * block.shape[1] for number in (max_iter, n_products))
            plan = Plan(COMPLEMENT, tol, rng, limit, deadline, float(spent))
            return _complete(name, matrix, null, vectors, plan)
        if n_products >= max_iter:
            return Eigenpairs(values, vectors, -np.inf, False, name)
        # 4. Continue with the current block. A run ends early if its block becomes linearly
        #    dependent, as in symmetric graphs with few distinct eigenvalues; the guards are then
        #    replaced.
        ended_early = n_products < end
        guards = rng.standard_normal((null.size, GUARDS)) if ended_early else block[:, count:]
        block = np.hstack([vectors, guards])


def _complete(
    name: str, matrix: sp.csr_array, null: np.ndarray, vectors: np.ndarray, plan: Plan
) -> Eigenpairs:
    """Search for pairs that the block has missed; there is no bound if the limit is reached."""
    # The largest eigenpairs of I − A.
    values, vectors, _ = rayleigh_ritz(matrix, vectors)
    basis = basis_for(null, values.size, plan)
    pairs = complete(lambda v: v - matrix @ v, basis, 1.0 - values, vectors, plan)
    values, vectors, _ = rayleigh_ritz(matrix, pairs.vectors)
    beyond = 1.0 - pairs.top if pairs.converged else -np.inf
    return Eigenpairs(values, vectors, beyond, True, name)


def _multigrid(matrix: sp.csr_array, rng: np.random.Generator) -> Any:
    """Return one cycle of smoothed aggregation as a preconditioner."""
    pyamg: Any = import_module("pyamg")
    lifted = sp.csr_matrix(matrix + MULTIGRID_LIFT * sp.eye_array(matrix.shape[0]))
    # pyamg uses NumPy's global random state, which is restored.
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
        hierarchy = pyamg.smoothed_aggregation_solver(lifted)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return hierarchy.aspreconditioner()
