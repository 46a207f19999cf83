"""From a relaxed solution to labels: one function per method, one dict that lists them.

A discretizer is a function ``method(relaxation, *, random_state, score, **options)`` that returns a
:class:`leastcut.Discretization` with exactly c non-empty clusters. It sees eigenvectors,
eigenvalues and node weights, never the graph. To add one, write it and a line in
:data:`DISCRETIZERS`; users may also add a function at run time, or pass it where a name is
expected.
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
from leastcut.validation import accepted, check_choice, check_function, check_init

USAGE = "f(relaxation, *, random_state, score, **options) that returns labels"

Discretizer = Callable[..., Any]
"""The signature ``method(relaxation, *, random_state, score, **options)``; a user's function may
leave ``random_state`` and ``score`` out, and return labels alone."""

DISCRETIZERS: dict[str, Discretizer] = {
    "first_order": first_order,
    "kmeans": kmeans,
    "kmeans_norm": kmeans_norm,
    "rotation": rotation,
    "unscaled_rotation": unscaled_rotation,
    "improved_rotation": improved_rotation,
    "cluster_qr": cluster_qr,
}
"""Every method by name. Options, errors, documentation and contract tests read this dict."""


def discretizer_of(method: str | Discretizer, name: str = "method") -> Discretizer:
    """Return the discretizer of a name, or a function as it is."""
    function: Any = method
    if not callable(method):
        function = DISCRETIZERS[check_choice(name, method, DISCRETIZERS)]
        name = f"leastcut.DISCRETIZERS[{method!r}]"
    check_function(name, function, USAGE, 1)
    return cast("Discretizer", function)


def options_of(method: str | Discretizer) -> dict[str, Any]:
    """Return the options of a discretizer and their defaults, as its signature has them."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(discretizer_of(method)).parameters.items()
        # The arguments that all discretizers share have no default; options all have one.
        if parameter.default is not parameter.empty and name not in ("random_state", "score")
    }


def run_discretizer(
    method: str | Discretizer,
    relaxation: Relaxation,
    rng: np.random.Generator,
    score: Score | None,
    **options: Any,
) -> Discretization:
    """Run a discretizer, and check that its labels form the clusters that were asked for.

    BLAS has one thread: at a tie the last bit decides, and several threads round it differently.
    """
    discretizer = discretizer_of(method)
    shared = accepted(discretizer, {"random_state": rng, "score": score})
    is_trusted = any(discretizer is one for one in _TRUSTED)
    # A user's function may change what it gets, and return anything.
    seen = relaxation if is_trusted else deepcopy(relaxation)
    with single_threaded():
        result = discretizer(seen, **shared, **options)
    known = result if isinstance(result, Discretization) else None
    if known is not None and is_trusted:
        return known
    name = method if isinstance(method, str) else getattr(method, "__name__", method)
    if result is None:
        raise TypeError(f"The discretizer {name!r} returned None; it must be a function {USAGE}.")
    n_clusters = options.get("n_clusters") or relaxation.n_clusters
    name = f"The result of {name!r}"
    labels = result if known is None else known.labels
    labels = check_init(labels, relaxation.n_nodes, n_clusters, name)
    value = None if score is None else score(labels)
    if known is not None:
        return replace(known, labels=labels, cut_value=value)
    loss = np.nan if value is None else value
    return Discretization(labels, 1, True, loss, np.array([loss]), value)


_TRUSTED = tuple(DISCRETIZERS.values())
