"""scikit-learn's pairwise kernels, and functions of two samples: all pairs, so n² numbers.

A matrix product rounds a row one way or another, depending on the rows beside it, and a tie between
two clusters would then go by the batch that a new sample comes in. So new samples are multiplied as
sparse ones: row by row, and the coordinates of a row in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from leastcut.affinity.affinity import Affinity, Rows
from leastcut.memory import LITTLE_MEMORY, check_memory
from leastcut.validation import canonical_csr, check_matrix

# The parameters that kernels have, with scikit-learn's defaults in ``SpectralClustering``.
DEFAULTS = {"gamma": 1.0, "degree": 3, "coef0": 1}
# Kernels that scikit-learn adds up pair by pair, and does not take products of samples for.
WITHOUT_PRODUCTS = ("laplacian", "chi2", "additive_chi2")
# Kernels of samples of any size: one adds up sizes of differences, one is of directions alone.
WITHOUT_SQUARES = ("laplacian", "cosine")
# Bytes per pair of samples: the kernel, a copy while it is made, and the graph of it.
PAIR_BYTES = 28
# Powers of two between the largest coordinate and where its square overflows or loses digits.
ROOM = 12


def pairwise_kernel(metric: str | Callable[..., float], *names: str) -> Affinity:
    """Return a kernel as an affinity.

    The metric is what ``sklearn.metrics.pairwise.pairwise_kernels`` takes: the name of a kernel,
    whose parameters ``names`` are, or a function of two samples, which gets all parameters.
    """
    defaults = {name: DEFAULTS[name] for name in names}
    return Affinity(
        partial(_graph, metric, **defaults), partial(_rows, metric, **defaults), defaults
    )


def _graph(metric: Any, X: Any, **parameters: Any) -> np.ndarray:
    check_matrix("X", X)
    X = X if sp.issparse(X) else np.asarray(X)
    # New samples may be as small as they like; of all samples there would be nothing left.
    _check_range(metric, X, "vanish")
    n = X.shape[0] if X.ndim else 1
    if PAIR_BYTES * n * n > LITTLE_MEMORY:
        check_memory(
            PAIR_BYTES * n * n,
            f"affinity={metric!r} of {n} samples, which is between all pairs,",
            "affinity='adaptive_neighbors' needs a small part of it.",
        )
    return _kernel(metric, parameters, X, X)


def _rows(metric: Any, X: Any, **parameters: Any) -> Rows:
    # A partial of a module's function can be pickled, and a nested function cannot.
    return partial(_kernel_of_new, metric, parameters, X)


def _kernel_of_new(metric: Any, parameters: dict[str, Any], X: Any, new: Any) -> np.ndarray:
    """Return the kernel of new samples and X, a row of which does not depend on the others."""
    by_products = not callable(metric) and metric not in WITHOUT_PRODUCTS
    # In the form of X, dense or sparse, where that need not be sparse.
    if sp.issparse(X) or by_products:
        new = sp.csr_array(new)
    elif sp.issparse(new):
        new = new.toarray()
    return _kernel(metric, parameters, X, new)


def _kernel(metric: Any, parameters: dict[str, Any], X: Any, new: Any) -> np.ndarray:
    """Return the kernel between new samples, in rows, and the samples X, in columns."""
    from sklearn.metrics.pairwise import pairwise_kernels  # a third of a second

    _check_range(metric, new, "overflow")
    # Some kernels of sparse samples add up duplicate entries in place: never in the caller's.
    X, new = (canonical_csr(samples) if sp.issparse(samples) else samples for samples in (X, new))
    if metric == "cosine":
        # The same array twice spares scikit-learn one of two norms, and makes the matrix symmetric.
        X, new = (_scaled_rows(X),) * 2 if new is X else (_scaled_rows(X), _scaled_rows(new))
    if callable(metric):
        metric = partial(_number, metric)
    return np.asarray(pairwise_kernels(new, X, metric=metric, **parameters))


def _number(function: Callable[..., Any], x: Any, y: Any, **parameters: Any) -> float:
    """Return the affinity of two samples by a user's function, or raise if it is no number."""
    value = function(x, y, **parameters)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"affinity={function!r} returned {value!r} of two samples; it must return a number."
        ) from None


def _check_range(metric: Any, X: Any, what: Literal["vanish", "overflow"]) -> None:
    """Raise if squares of the samples vanish or overflow in a kernel that they belong to."""
    if callable(metric) or metric in WITHOUT_SQUARES:
        return
    largest = float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0))
    kind = np.finfo(np.float32 if X.dtype == np.float32 else np.float64)
    low, high = 2.0 ** (kind.minexp // 2 + ROOM), 2.0 ** (kind.maxexp // 2 - ROOM)
    if largest > high if what == "overflow" else 0 < largest < low:
        raise ValueError(
            f"affinity={metric!r} takes squares of coordinates, which {what} here: the largest "
            f"coordinate is {largest:.3g}, and from {low:.3g} to {high:.3g} is supported. Scale X "
            "(and gamma), or use affinity='adaptive_neighbors', which takes samples of any scale."
        )


def _scaled_rows(X: Any) -> Any:
    """Return every sample divided by the power of two next to its largest coordinate.

    That rounds nothing and changes no direction, and norms neither overflow nor vanish. (Of arrays
    scikit-learn takes a norm below 2e-15 for 0.)
    """
    if sp.issparse(X):
        exponents = np.frexp(abs(X).max(axis=1).toarray().reshape(-1))[1]
        data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)))
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])
