"""From samples to a graph: a file per affinity, with its graph and its rows for new samples."""

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
"""The named affinities; ``AFFINITIES[name](X, ...)`` is the graph of X."""


def affinity_of(affinity: str | Callable[..., Any]) -> Affinity:
    """Return the affinity of a name in :data:`AFFINITIES`, or that of a function of two samples.

    What users add to the dict may be a function of two samples as well.

    Examples
    --------
    >>> from leastcut.affinity import affinity_of
    >>> affinity_of("rbf").parameters
    {'gamma': 1.0}
    >>> affinity_of(lambda x, y: min(x[0], y[0]))([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """
    found: Any = affinity
    name = "affinity"
    if not callable(affinity):
        found = AFFINITIES[check_choice(name, affinity, AFFINITIES)]
        name = f"leastcut.AFFINITIES[{affinity!r}]"
    if isinstance(found, Affinity):
        return found
    check_function(name, found, "of two samples that returns a number", 2)
    return pairwise_kernel(found)


def is_function(affinity: str | Callable[..., Any]) -> bool:
    """Whether an affinity, or what its name stands for, is a user's function of two samples."""
    found: Any = affinity if callable(affinity) else AFFINITIES[affinity]
    return not isinstance(found, Affinity)


def affinities_with(parameter: str) -> str:
    """Return the names of all affinities that have a parameter, as an error lists them."""
    return ", ".join(
        repr(name)
        for name, affinity in AFFINITIES.items()
        if isinstance(affinity, Affinity) and parameter in affinity.all_parameters
    )
