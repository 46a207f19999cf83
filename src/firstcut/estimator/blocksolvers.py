"""LOBPCG, with and without algebraic multigrid: the eigensolvers that users of scikit-learn name.

All wanted eigenvectors are improved together, orthogonal to the null vectors of the components,
which are known. The multigrid preconditioner comes from pyamg, which is only imported here.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lobpcg

from firstcut.cuts import operator
from firstcut.graph import Graph
from firstcut.inputs import as_generator
from firstcut.relaxation import Relaxation, relax
from firstcut.threads import single_threaded

BLOCK_SOLVERS = ("lobpcg", "amg")
"""The names of both."""

GUARDS = 4
"""Vectors beyond those wanted, which make the wanted ones converge sooner."""

SMALLEST = 6
"""Below so many nodes per vector a block method has no room, and the default solver is used."""

MAX_ITER = 300
"""Most iterations; what is reached by then is returned, and marked as not converged."""


def relax_with(
    graph: Graph,
    n_clusters: int,
    weights: np.ndarray,
    *,
    random_state: Any,
    solver: str = "auto",
    tol: float | None = None,
) -> Relaxation:
    """Solve the relaxed cut problem by :func:`firstcut.relax` or by one of the block solvers.

    Parameters
    ----------
    graph : Graph
    n_clusters : int
        Number of eigenpairs.
    weights : ndarray of shape (n,)
        Node weights of the cut.
    random_state : int or Generator
    solver : str, default="auto"
        "lobpcg", "amg", or what :func:`firstcut.relax` takes.
    tol : float, optional
        Relative residual norm; by default 1e-6 for the block solvers.

    Returns
    -------
    Relaxation
    """
    if solver not in BLOCK_SOLVERS:
        options: dict[str, Any] = {} if tol is None else {"tol": tol}
        return relax(
            graph, n_clusters, weights, random_state=random_state, solver=solver, **options
        )
    n_components, component = graph.components()
    wanted = n_clusters - n_components
    if wanted <= 0 or graph.n_nodes < SMALLEST * (wanted + GUARDS) + n_components:
        return relax(graph, n_clusters, weights, random_state=random_state)
    rng = as_generator(random_state)
    matrix = operator(graph, weights)
    known = np.zeros((graph.n_nodes, n_components))
    totals = np.bincount(component, weights)
    known[np.arange(graph.n_nodes), component] = np.sqrt(weights / totals[component])
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the residuals below tell what it would
        preconditioner = _multigrid(matrix, rng) if solver == "amg" else None
        start = rng.standard_normal((graph.n_nodes, wanted + GUARDS))
        scale = float(abs(matrix).sum(axis=1).max())
        limit = (1e-6 if tol is None else tol) * scale
        values, vectors = lobpcg(
            matrix, start, M=preconditioner, Y=known, tol=limit, maxiter=MAX_ITER, largest=False
        )
    smallest = np.argsort(values)[:wanted]
    vectors = np.hstack([known, vectors[:, smallest]])
    values = np.concatenate([np.zeros(n_components), np.maximum(values[smallest], 0.0)])
    found = Relaxation(values, vectors, weights, matrix @ vectors, solver)
    if found.residuals.max() <= 2 * limit:
        return found
    return Relaxation(values, vectors, weights, found.operator_product, solver, False)


def _multigrid(matrix: sp.csr_array, rng: np.random.Generator) -> LinearOperator:
    """Return a multigrid cycle as the preconditioner."""
    pyamg: Any = import_module("pyamg")
    # The matrix is singular, and pyamg draws from NumPy's global stream, which is left as it was.
    lifted = sp.csr_matrix(matrix + 1e-5 * sp.eye_array(matrix.shape[0]))
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
        hierarchy = pyamg.smoothed_aggregation_solver(lifted)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return hierarchy.aspreconditioner()
