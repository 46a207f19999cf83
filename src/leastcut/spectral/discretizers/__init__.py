"""From a relaxed solution to labels: one file per method, one dict that lists them.

A discretizer is a function ``method(relaxation, *, random_state, score, **options)`` that returns a
:class:`leastcut.Discretization` with exactly c non-empty clusters. It sees eigenvectors,
eigenvalues and node weights, never the graph. To add one, write its file and a line in
:data:`DISCRETIZERS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from leastcut.results import Discretization
from leastcut.spectral.discretizers.cluster_qr import cluster_qr
from leastcut.spectral.discretizers.first_order import first_order
from leastcut.spectral.discretizers.improved_rotation import improved_rotation
from leastcut.spectral.discretizers.kmeans import kmeans, kmeans_norm
from leastcut.spectral.discretizers.spectral_rotation import rotation, unscaled_rotation

DISCRETIZERS: dict[str, Callable[..., Discretization]] = {
    "first_order": first_order,
    "kmeans": kmeans,
    "kmeans_norm": kmeans_norm,
    "rotation": rotation,
    "unscaled_rotation": unscaled_rotation,
    "improved_rotation": improved_rotation,
    "cluster_qr": cluster_qr,
}
"""Every method by name. Options, errors, documentation and contract tests read this dict."""


def _options(discretizer: Callable[..., Any]) -> dict[str, Any]:
    return {
        name: parameter.default
        for name, parameter in inspect.signature(discretizer).parameters.items()
        # The arguments that all discretizers share have no default; options all have one.
        if parameter.default is not inspect.Parameter.empty
    }


OPTIONS: dict[str, dict[str, Any]] = {
    name: _options(discretizer) for name, discretizer in DISCRETIZERS.items()
}
"""The options of every discretizer and their defaults, as its signature has them."""
