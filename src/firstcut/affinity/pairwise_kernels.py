"""scikit-learn's pairwise kernels, and functions of two samples: all pairs, so n² numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.affinity.affinity import Affinity, Rows
from firstcut.validation import canonical_csr

DEFAULTS = {"gamma": 1.0, "degree": 3, "coef0": 1}
"""The parameters that kernels have, with scikit-learn's defaults in ``SpectralClustering``."""


def pairwise_kernel(metric: str | Callable[..., float], *names: str) -> Affinity:
    """Return a kernel as an affinity.

    Parameters
    ----------
    metric : str or callable
        What ``sklearn.metrics.pairwise.pairwise_kernels`` takes: the name of a kernel, or a
        function of two samples. To a function all parameters are passed on.
    *names : str
        The parameters of a named kernel, of those in ``DEFAULTS``.

    Returns
    -------
    Affinity

    Examples
    --------
    >>> from firstcut.affinity.pairwise_kernels import pairwise_kernel
    >>> pairwise_kernel("rbf", "gamma")([[0.0], [1.0]], gamma=0.5).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    >>> pairwise_kernel(lambda x, y, power: float((x @ y) ** power))([[1.0], [2.0]], power=2)
    array([[ 1.,  4.],
           [ 4., 16.]])
    """
    defaults = {name: DEFAULTS[name] for name in names}
    return Affinity(
        partial(_graph, metric, **defaults), partial(_rows, metric, **defaults), defaults
    )


def _graph(metric: Any, X: Any, **parameters: Any) -> np.ndarray:
    return _kernel(metric, parameters, X, X)


def _rows(metric: Any, X: Any, **parameters: Any) -> Rows:
    # A partial of a module's function can be pickled, and a nested function cannot.
    return partial(_kernel, metric, parameters, X)


def _kernel(metric: Any, parameters: dict[str, Any], X: Any, new: Any) -> np.ndarray:
    """Return the kernel between new samples, in rows, and the samples X, in columns."""
    from sklearn.metrics.pairwise import pairwise_kernels  # a third of a second

    # Some kernels of sparse samples add up duplicate entries in place: never in the caller's.
    X, new = (canonical_csr(samples) if sp.issparse(samples) else samples for samples in (X, new))
    return np.asarray(pairwise_kernels(new, X, metric=metric, **parameters))
