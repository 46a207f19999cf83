"""Eigensolvers for the smallest eigenpairs of a connected graph.

Every solver has the signature :class:`leastcut.spectral.eigensolvers.interface.Solver`. To add one,
write the function and list it in :data:`EIGENSOLVERS`. Users may add functions at run time, or pass
them in place of a name.
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
from leastcut.validation import accepted_options, as_floats, check_choice, check_function

EIGENSOLVERS: dict[str, Solver] = {
    "dense": dense,
    "lanczos": lanczos,
    "shift_invert": shift_invert,
    "cg_invert": cg_invert,
    "lobpcg": lobpcg,
    "amg": amg,
}
"""All eigensolvers by name."""

PACKAGES = {"amg": "pyamg"}  # optional dependencies by solver
ORTHONORMAL = 1e-6  # largest error of an inner product of vectors from a user's solver
USAGE = "f(matrix, null, count, *, rng, tol, max_iter, deadline) that returns values and vectors"
_BUILTIN = tuple(EIGENSOLVERS.values())


def check_solver(solver: Any, name: str = "solver") -> Any:
    """Return a solver or its name; raise if it is unknown or if the package it needs is missing.

    ``name`` is the name of the user's parameter, for the error.
    """
    if callable(solver):
        check_function(name, solver, USAGE, 3)
        return solver
    solver = check_choice(name, solver, ("auto", *EIGENSOLVERS))
    if solver != "auto":
        check_function(f"leastcut.EIGENSOLVERS[{solver!r}]", EIGENSOLVERS[solver], USAGE, 3)
    package = PACKAGES.get(solver)
    if package is not None and find_spec(package) is None:
        raise ValueError(
            f"{name}={solver!r} needs the package {package}, which is not installed: "
            f"pip install {package} (or 'leastcut[{solver}]'), or omit {name} to choose a solver "
            "by the size and shape of the graph."
        )
    return solver


def solver_of(solver: str | Solver) -> Solver:
    """Return the solver for a name; the result of a user's function is checked."""
    if solver == "auto":
        return auto
    function = EIGENSOLVERS[solver] if isinstance(solver, str) else solver
    if any(function is one for one in _BUILTIN):
        return function
    name = solver if isinstance(solver, str) else getattr(solver, "__name__", str(solver))
    return partial(_run_checked, function, name)


def _run_checked(
    solver: Any,
    name: str,
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    tol: float = TOLERANCE,
    **options: Any,
) -> Eigenpairs:
    """Run a user's solver with the options that it accepts, and check its result.

    It may return values and vectors, or :class:`Eigenpairs`, which can include a bound on further
    eigenvalues. Convergence is determined from the residuals.
    """
    result = solver(matrix, null, count, **accepted_options(solver, {"tol": tol, **options}))
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
