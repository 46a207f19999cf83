"""What every eigensolver takes and returns."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

TOLERANCE = 1e-9  # residual norm: labels would do with less, but a lower bound loses all residuals
MAX_ITER = 10_000  # products: a graph that needs more is better given to another solver
OUT_OF_TIME = "The eigenproblem cannot be solved in the time there is."  # what a TimeoutError says


class Eigenpairs(NamedTuple):
    """Ascending values, orthonormal columns, whether all converged, and the solver that ran."""

    values: np.ndarray
    vectors: np.ndarray
    # No eigenvalue of another vector is below, as far as the solver has seen; -inf: it has not.
    beyond: float
    converged: bool
    solver: str


class Solver(Protocol):
    """The signature that every solver shares: the smallest eigenpairs of one connected block.

    ``matrix`` is symmetric positive semi-definite with its spectrum in [0, 1], ``null`` the unit
    vector that spans its null space, and ``count``, less than the number of rows, how many of the
    other eigenpairs are wanted. ``tol`` is the residual norm at which a pair has converged, and
    ``max_iter`` a cap on products with the matrix or its inverse; each has the default that suits
    the solver. The arrays given are never changed. A solver raises TimeoutError where it cannot
    end by ``deadline``, on the monotonic clock.
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
