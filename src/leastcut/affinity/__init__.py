"""Affinities: functions that build a graph of samples, one module for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leastcut.affinity.adaptive_neighbors import ADAPTIVE_NEIGHBORS
from leastcut.affinity.affinity import Affinity
from leastcut.affinity.learned.graphs import LEARNED
from leastcut.affinity.nearest_neighbors import NEAREST_NEIGHBORS
from leastcut.affinity.pairwise_kernels import pairwise_kernel
from leastcut.affinity.precomputed import PRECOMPUTED, PRECOMPUTED_NEIGHBORS
from leastcut.affinity.self_tuning import SELF_TUNING
from leastcut.validation import check_choice, check_function

AFFINITIES: dict[str, Affinity] = {
    "adaptive_neighbors": ADAPTIVE_NEIGHBORS,
    "nearest_neighbors": NEAREST_NEIGHBORS,
    "self_tuning": SELF_TUNING,
    "learned": LEARNED,
    "additive_chi2": pairwise_kernel("additive_chi2"),
    "chi2": pairwise_kernel("chi2", "gamma"),
    "linear": pairwise_kernel("linear"),
    "poly": pairwise_kernel("poly", "gamma", "degree", "coef0"),
    "polynomial": pairwise_kernel("polynomial", "gamma", "degree", "coef0"),
    "rbf": pairwise_kernel("rbf", "gamma"),
    "laplacian": pairwise_kernel("laplacian", "gamma"),
    "sigmoid": pairwise_kernel("sigmoid", "gamma", "coef0"),
    "cosine": pairwise_kernel("cosine"),
    "precomputed": PRECOMPUTED,
    "precomputed_nearest_neighbors": PRECOMPUTED_NEIGHBORS,
}
"""The named affinities; ``AFFINITIES[name](X, ...)`` returns the graph of X."""


def affinity_of(affinity: str | Callable[..., Any]) -> Affinity:
    """Return the affinity for a name in :data:`AFFINITIES` or for a function of two samples.

    Values that users add to the dict may also be functions of two samples.

    Examples
    --------
    >>> from leastcut.affinity import affinity_of
    >>> affinity_of("rbf").parameters
    {'gamma': 1.0}
    >>> affinity_of(lambda x, y: min(x[0], y[0]))([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """
    value: Any = affinity
    name = "affinity"
    if not callable(affinity):
        value = AFFINITIES[check_choice(name, affinity, AFFINITIES)]
        name = f"leastcut.AFFINITIES[{affinity!r}]"
    if isinstance(value, Affinity):
        return value
    check_function(name, value, "of two samples that returns a number", 2)
    return pairwise_kernel(value)


def is_function(affinity: str | Callable[..., Any]) -> bool:
    """Return whether an affinity or its registered value is a user's function of two samples."""
    value: Any = affinity if callable(affinity) else AFFINITIES[affinity]
    return not isinstance(value, Affinity)


def affinities_with(parameter: str) -> str:
    """Return the names of all affinities with a parameter, separated by commas."""
    return ", ".join(
        repr(name)
        for name, affinity in AFFINITIES.items()
        if isinstance(affinity, Affinity) and parameter in affinity.all_parameters
    )
