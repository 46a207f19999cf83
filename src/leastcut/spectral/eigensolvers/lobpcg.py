"""LOBPCG, with and without algebraic multigrid: the eigensolvers that users of scikit-learn name.

All wanted eigenvectors are improved together, in a block that is kept orthogonal to the null
vector. As many copies of a repeated eigenvalue can be found as the block has columns. What it may
have missed is then looked for as :mod:`leastcut.spectral.eigensolvers.lanczos` does.

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
from leastcut.spectral.eigensolvers.lanczos import basis_for, completed, rayleigh_ritz

GUARDS = 4  # vectors beyond those wanted, which make the wanted ones converge sooner
ROWS_PER_VECTOR = 6  # with fewer a block method has no room, and the matrix is solved in full
COMPLEMENT = 20  # size of the space in which missed pairs are searched for, which are few
MULTIGRID_LIFT = 1e-5  # added to the diagonal before coarsening, as the matrix is singular
# Iterations after which it begins again with the block that it has: where rounding has spoiled its
# directions a run makes no more progress, and without them it goes on, mostly in fewer of them.
RUN = 50
SLACK = 2.0  # tolerances that a residual may be off by, as the last step may round it up


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
    """LOBPCG without a preconditioner; ``max_iter`` counts products with the whole block."""
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
    """LOBPCG preconditioned by a multigrid cycle of pyamg, which is only imported here."""
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
    """Run SciPy's LOBPCG from random vectors, and judge what it returns by the matrix itself."""
    if null.size < ROWS_PER_VECTOR * (count + GUARDS) + 1:
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    preconditioner = _multigrid(matrix, rng) if name == "amg" else None
    n_products = 0

    # In place of the matrix, to count the products.
    def multiply(block: np.ndarray) -> np.ndarray:
        nonlocal n_products
        if time.monotonic() > deadline:
            raise TimeoutError(OUT_OF_TIME)
        n_products += 1
        return np.asarray(matrix @ block)

    # 1. Begin with a block of random vectors, shape (n, count + GUARDS).
    block = rng.standard_normal((null.size, count + GUARDS))
    while True:
        # 2. Let it run for a while, orthogonal to the null vector throughout.
        length = min(RUN, max_iter - n_products)
        end = n_products + length
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the residuals below tell what it would
            values, block = scipy.sparse.linalg.lobpcg(
                multiply,
                block,
                M=preconditioner,
                Y=null[:, None],
                tol=tol,
                maxiter=length,
                largest=False,
            )
        # 3. What the smallest, all but the guards, are worth is asked of the matrix.
        block = block[:, np.argsort(values)]
        values, vectors, residuals = rayleigh_ritz(matrix, block[:, :count])
        if residuals.max() <= SLACK * tol:
            # In single products from here on, of which a block has as many as columns.
            limit, spent = (number * block.shape[1] for number in (max_iter, n_products))
            plan = Plan(COMPLEMENT, tol, rng, limit, deadline, float(spent))
            return _completed(name, matrix, null, vectors, plan)
        if n_products >= max_iter:
            return Eigenpairs(values, vectors, -np.inf, False, name)
        # 4. Go on with what there is. Before its end a run gives up where its block becomes
        #    dependent, as in a graph of equal parts, which has few distinct eigenvalues: then
        #    the guards are drawn anew.
        gave_up = n_products < end
        guards = rng.standard_normal((null.size, GUARDS)) if gave_up else block[:, count:]
        block = np.hstack([vectors, guards])


def _completed(
    name: str, matrix: sp.csr_array, null: np.ndarray, vectors: np.ndarray, plan: Plan
) -> Eigenpairs:
    """Look for pairs that the block has missed; if all is spent before, nothing is proven."""
    # Of I − A the largest are wanted, and Lanczos takes pairs in that order.
    values, vectors, _ = rayleigh_ritz(matrix, vectors)
    basis = basis_for(null, values.size, plan)
    found = completed(lambda v: v - matrix @ v, basis, 1.0 - values, vectors, plan)
    values, vectors, _ = rayleigh_ritz(matrix, found.vectors)
    beyond = 1.0 - found.top if found.converged else -np.inf
    return Eigenpairs(values, vectors, beyond, True, name)


def _multigrid(matrix: sp.csr_array, rng: np.random.Generator) -> Any:
    """Return one cycle of smoothed aggregation, as the operator that preconditions."""
    pyamg: Any = import_module("pyamg")
    lifted = sp.csr_matrix(matrix + MULTIGRID_LIFT * sp.eye_array(matrix.shape[0]))
    # pyamg draws from NumPy's global stream, which is left as it was.
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
        hierarchy = pyamg.smoothed_aggregation_solver(lifted)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return hierarchy.aspreconditioner()
