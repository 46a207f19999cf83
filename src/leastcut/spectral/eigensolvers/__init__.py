"""Eigensolvers: the smallest eigenpairs of one connected block, one file per solver.

Every solver has the signature :class:`leastcut.spectral.eigensolvers.interface.Solver`. To add one,
write its file and a line in :data:`EIGENSOLVERS`; users may also add a function at run time, or
pass it where a name is expected.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.spectral.eigensolvers.auto import auto
from leastcut.spectral.eigensolvers.dense import dense
from leastcut.spectral.eigensolvers.interface import TOLERANCE, Eigenpairs, Solver
from leastcut.spectral.eigensolvers.inverse import cg_invert, shift_invert
from leastcut.spectral.eigensolvers.lanczos import lanczos
from leastcut.spectral.eigensolvers.lobpcg import amg, lobpcg
from leastcut.validation import accepted, as_floats, check_choice, check_function

EIGENSOLVERS: dict[str, Solver] = {
    "dense": dense,
    "lanczos": lanczos,
    "shift_invert": shift_invert,
    "cg_invert": cg_invert,
    "lobpcg": lobpcg,
    "amg": amg,
}
"""Every solver by name. Errors, documentation and contract tests read this dict."""

PACKAGES = {"amg": "pyamg"}  # packages that a solver needs beyond the dependencies of leastcut
ORTHONORMAL = 1e-6  # largest error of an inner product of vectors from a user's solver
USAGE = "f(matrix, null, count, *, rng, tol, max_iter, deadline) that returns values and vectors"
_TRUSTED = tuple(EIGENSOLVERS.values())


def check_solver(solver: Any, name: str = "solver") -> Any:
    """Return a solver, its name or "auto", if it is known and the package it needs is installed.

    ``name`` is that of the user's parameter, for the error.
    """
    if callable(solver):
        check_function(name, solver, USAGE, 3)
        return solver
    known = check_choice(name, solver, ("auto", *EIGENSOLVERS))
    if known != "auto":
        check_function(f"leastcut.EIGENSOLVERS[{known!r}]", EIGENSOLVERS[known], USAGE, 3)
    package = PACKAGES.get(known)
    if package is not None and find_spec(package) is None:
        raise ValueError(
            f"{name}={known!r} needs the package {package}, which is not installed: "
            f"pip install {package} (or 'leastcut[{known}]'), or leave the choice of a solver to "
            "leastcut, which goes by the size and shape of the graph."
        )
    return known


def solver_of(solver: str | Solver) -> Solver:
    """Return the solver of a name, or a user's function with its result checked."""
    if solver == "auto":
        return auto
    chosen = EIGENSOLVERS[solver] if isinstance(solver, str) else solver
    if any(chosen is one for one in _TRUSTED):
        return chosen
    name = solver if isinstance(solver, str) else getattr(solver, "__name__", str(solver))
    return partial(_checked, chosen, name)


def _checked(
    solver: Any,
    name: str,
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    tol: float = TOLERANCE,
    **options: Any,
) -> Eigenpairs:
    """Run a user's solver with those options that it has, and measure what it returns.

    It returns values and vectors, or :class:`Eigenpairs`. Whether they have converged is computed
    from their residuals; nothing is proven of eigenvalues beyond them unless it says so itself.
    """
    result = solver(matrix, null, count, **accepted(solver, {"tol": tol, **options}))
    if not isinstance(result, tuple | list) or len(result) < 2:
        raise TypeError(
            f"The eigensolver {name} returned {type(result).__name__}; it must be a function "
            f"{USAGE}."
        )
    values, vectors = as_floats("eigenvalues", result[0]), as_floats("eigenvectors", result[1])
    if values.shape != (count,) or vectors.shape != (null.size, count):
        raise ValueError(
            f"The eigensolver {name} returned arrays of shapes {values.shape} and {vectors.shape}; "
            f"it must return ({count},) eigenvalues and ({null.size}, {count}) eigenvectors."
        )
    basis = np.column_stack([null, vectors])
    off = np.abs(basis.T @ basis - np.eye(count + 1)).max()
    if not off <= ORTHONORMAL:
        raise ValueError(
            f"The eigenvectors that the eigensolver {name} returned must be orthonormal, and "
            f"orthogonal to the null vector; an inner product is off by {off:.2g}."
        )
    order = np.argsort(values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    residuals = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    beyond = result.beyond if isinstance(result, Eigenpairs) else -np.inf
    return Eigenpairs(values, vectors, beyond, bool(residuals.max() <= tol), name)
