"""The interface of eigensolvers."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

TOLERANCE = 1e-9  # residual norm; labels need less, but residuals reduce the lower bound
MAX_ITER = 10_000  # products; a graph that needs more should be solved by factorization
OUT_OF_TIME = "The eigenproblem cannot be solved within the time limit."  # of a TimeoutError


class Eigenpairs(NamedTuple):
    """Eigenvalues in ascending order, with orthonormal eigenvectors as columns."""

    values: np.ndarray
    vectors: np.ndarray
    beyond: float  # lower bound on all other eigenvalues; -inf if the solver has none
    converged: bool  # whether all pairs reached the tolerance
    solver: str  # the name of the solver that ran


class Solver(Protocol):
    """Signature of an eigensolver, which computes the smallest eigenpairs of a connected graph.

    ``matrix`` is symmetric positive semi-definite with its spectrum in [0, 1], ``null`` is the unit
    vector that spans its null space, and ``count``, less than the number of rows, is the number of
    further eigenpairs to compute. ``tol`` is the residual norm at which a pair has converged, and
    ``max_iter`` the maximum number of products with the matrix or its inverse; the defaults depend
    on the solver. The arguments are not changed. A solver raises TimeoutError if it cannot finish
    by ``deadline``, a time of :func:`time.monotonic`.
    """

    def __call__(
        self,
        matrix: sp.csr_array,
        null: np.ndarray,
        count: int,
        *,
        rng: np.random.Generator,
        tol: float = ...,
        max_iter: int = ...,
        deadline: float = ...,
    ) -> Eigenpairs: ...
