"""Dense affinities: scikit-learn's pairwise kernels and functions of two samples.

The rounding of a row in a dense matrix product depends on the other rows, so that ties between two
clusters would depend on the batch of a new sample. New samples are therefore multiplied as sparse
matrices: row by row, with the coordinates of a row in order.
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

# Kernel parameters, with the defaults of scikit-learn's ``SpectralClustering``.
DEFAULTS = {"gamma": 1.0, "degree": 3, "coef0": 1}
# Kernels that scikit-learn computes pair by pair, without matrix products.
WITHOUT_PRODUCTS = ("laplacian", "chi2", "additive_chi2")
# Kernels without squares of coordinates: absolute differences, or directions alone.
WITHOUT_SQUARES = ("laplacian", "cosine")
# Bytes per pair of samples: the kernel, a temporary copy, and the graph.
PAIR_BYTES = 28
# Margin, as a power of two, between the largest coordinate and overflow or underflow of its square.
MARGIN = 12


def pairwise_kernel(metric: str | Callable[..., float], *names: str) -> Affinity:
    """Return the affinity of a pairwise kernel.

    ``metric`` is the name of a kernel in ``sklearn.metrics.pairwise.pairwise_kernels`` with the
    parameters ``names``, or a function of two samples, which receives all parameters.
    """
    defaults = {name: DEFAULTS[name] for name in names}
    return Affinity(
        partial(_graph, metric, **defaults), partial(_rows, metric, **defaults), defaults
    )


def _graph(metric: Any, X: Any, **parameters: Any) -> np.ndarray:
    check_matrix("X", X)
    X = X if sp.issparse(X) else np.asarray(X)
    # For new samples alone, underflow is harmless.
    _check_range(metric, X, "underflow")
    n = X.shape[0] if X.ndim else 1
    if PAIR_BYTES * n * n > LITTLE_MEMORY:
        check_memory(
            PAIR_BYTES * n * n,
            f"affinity={metric!r}, which stores all pairs of {n} samples,",
            "Use a sparse affinity such as affinity='adaptive_neighbors'.",
        )
    return _kernel(metric, parameters, X, X)


def _rows(metric: Any, X: Any, **parameters: Any) -> Rows:
    # Unlike a nested function, a partial can be pickled.
    return partial(_kernel_of_new, metric, parameters, X)


def _kernel_of_new(metric: Any, parameters: dict[str, Any], X: Any, new: Any) -> np.ndarray:
    """Return the kernel of new samples and X; its rows do not depend on each other."""
    by_products = not callable(metric) and metric not in WITHOUT_PRODUCTS
    # Otherwise, new samples get the format of X.
    if sp.issparse(X) or by_products:
        new = sp.csr_array(new)
    elif sp.issparse(new):
        new = new.toarray()
    return _kernel(metric, parameters, X, new)


def _kernel(metric: Any, parameters: dict[str, Any], X: Any, new: Any) -> np.ndarray:
    """Return the kernel between new samples, in rows, and the samples X, in columns."""
    from sklearn.metrics.pairwise import pairwise_kernels  # slow to import

    _check_range(metric, new, "overflow")
    # Some kernels sum the duplicate entries of sparse samples in place: copy the caller's arrays.
    X, new = (canonical_csr(samples) if sp.issparse(samples) else samples for samples in (X, new))
    if metric == "cosine":
        # If both are the same array, scikit-learn computes norms once and the matrix is symmetric.
        X, new = (_scaled_rows(X),) * 2 if new is X else (_scaled_rows(X), _scaled_rows(new))
    if callable(metric):
        metric = partial(_number, metric)
    return np.asarray(pairwise_kernels(new, X, metric=metric, **parameters))


def _number(function: Callable[..., Any], x: Any, y: Any, **parameters: Any) -> float:
    """Return the value of a user's function for two samples; raise if it is not a number."""
    value = function(x, y, **parameters)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"affinity={function!r} returned {value!r} for two samples; it must return a number."
        ) from None


def _check_range(metric: Any, X: Any, failure: Literal["underflow", "overflow"]) -> None:
    """Raise if a kernel uses squares of coordinates and they underflow or overflow."""
    if callable(metric) or metric in WITHOUT_SQUARES:
        return
    largest = float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0))
    kind = np.finfo(np.float32 if X.dtype == np.float32 else np.float64)
    low, high = 2.0 ** (kind.minexp // 2 + MARGIN), 2.0 ** (kind.maxexp // 2 - MARGIN)
    if largest > high if failure == "overflow" else 0 < largest < low:
        raise ValueError(
            f"affinity={metric!r} uses squares of coordinates, which {failure} for this X: its "
            f"largest coordinate is {largest:.3g}, and only {low:.3g} to {high:.3g} is supported. "
            "Scale X (and gamma), or use affinity='adaptive_neighbors', which supports any scale."
        )


def _scaled_rows(X: Any) -> Any:
    """Return every sample divided by the power of two next to its largest coordinate.

    The division is exact, and norms then neither overflow nor underflow. (For dense arrays
    scikit-learn treats a norm below 2e-15 as 0.)
    """
    if sp.issparse(X):
        exponents = np.frexp(abs(X).max(axis=1).toarray().reshape(-1))[1]
        data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)))
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])
