"""Discretizers: methods that turn a relaxed solution into labels.

A discretizer is a function ``method(relaxation, *, random_state, score, **options)`` that returns a
:class:`leastcut.Discretization` with exactly c non-empty clusters. It uses eigenvectors,
eigenvalues and node weights, but not the graph. To add one, write the function and list it in
:data:`DISCRETIZERS`. Users may add functions at run time, or pass them in place of a name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import numpy as np

from leastcut.results import Discretization, Relaxation
from leastcut.spectral.discretizers.cluster_qr import cluster_qr
from leastcut.spectral.discretizers.first_order import first_order
from leastcut.spectral.discretizers.kmeans import kmeans, kmeans_norm
from leastcut.spectral.discretizers.rotation import (
    improved_rotation,
    rotation,
    unscaled_rotation,
)
from leastcut.spectral.discretizers.shared import Score
from leastcut.threads import single_threaded
from leastcut.validation import accepted_options, check_choice, check_function, check_init

USAGE = "f(relaxation, *, random_state, score, **options) that returns labels"

Discretizer = Callable[..., Any]
"""The signature ``method(relaxation, *, random_state, score, **options)``. A user's function may
omit ``random_state`` and ``score``, and return labels only."""

DISCRETIZERS: dict[str, Discretizer] = {
    "first_order": first_order,
    "kmeans": kmeans,
    "kmeans_norm": kmeans_norm,
    "rotation": rotation,
    "unscaled_rotation": unscaled_rotation,
    "improved_rotation": improved_rotation,
    "cluster_qr": cluster_qr,
}
"""All methods by name."""


def discretizer_of(method: str | Discretizer, name: str = "method") -> Discretizer:
    """Return the discretizer for a name; a function is returned unchanged."""
    function: Any = method
    if not callable(method):
        function = DISCRETIZERS[check_choice(name, method, DISCRETIZERS)]
        name = f"leastcut.DISCRETIZERS[{method!r}]"
    check_function(name, function, USAGE, 1)
    return cast("Discretizer", function)


def options_of(method: str | Discretizer) -> dict[str, Any]:
    """Return the options of a discretizer with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(discretizer_of(method)).parameters.items()
        if parameter.default is not parameter.empty and name not in ("random_state", "score")
    }


def run_discretizer(
    method: str | Discretizer,
    relaxation: Relaxation,
    rng: np.random.Generator,
    score: Score | None,
    **options: Any,
) -> Discretization:
    """Run a discretizer and check the number of clusters in its result.

    BLAS runs on one thread, as rounding, which breaks ties, depends on the number of threads.
    """
    discretizer = discretizer_of(method)
    shared = accepted_options(discretizer, {"random_state": rng, "score": score})
    is_builtin = any(discretizer is one for one in _BUILTIN)
    # A user's function may change its arguments.
    argument = relaxation if is_builtin else deepcopy(relaxation)
    with single_threaded():
        result = discretizer(argument, **shared, **options)
    discretization = result if isinstance(result, Discretization) else None
    if discretization is not None and is_builtin:
        return discretization
    name = method if isinstance(method, str) else getattr(method, "__name__", method)
    if result is None:
        raise TypeError(f"The discretizer {name!r} returned None; it must be a function {USAGE}.")
    n_clusters = options.get("n_clusters") or relaxation.n_clusters
    name = f"The result of {name!r}"
    labels = result if discretization is None else discretization.labels
    labels = check_init(labels, relaxation.n_nodes, n_clusters, name)
    value = None if score is None else score(labels)
    if discretization is not None:
        return replace(discretization, labels=labels, cut_value=value)
    loss = np.nan if value is None else value
    return Discretization(labels, 1, True, loss, np.array([loss]), value)


_BUILTIN = tuple(DISCRETIZERS.values())
