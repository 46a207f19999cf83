"""From a relaxed solution to labels: one file per method, one dict that lists them.

A discretizer is a function ``method(relaxation, *, random_state, score, **options)`` that returns a
:class:`Discretization` with exactly c non-empty clusters. It sees eigenvectors, eigenvalues and
node weights, never the graph. To add one, write its file and a line in :data:`DISCRETIZERS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from firstcut.discretizers.candidates import Discretization as Discretization
from firstcut.discretizers.cluster_qr import cluster_qr
from firstcut.discretizers.first_order import first_order
from firstcut.discretizers.improved_rotation import improved_rotation
from firstcut.discretizers.kmeans import kmeans, kmeans_norm
from firstcut.discretizers.rotation import rotation
from firstcut.inputs import check_choice

DISCRETIZERS: dict[str, Callable[..., Discretization]] = {
    "first_order": first_order,
    "kmeans": kmeans,
    "kmeans_norm": kmeans_norm,
    "rotation": rotation,
    "improved_rotation": improved_rotation,
    "cluster_qr": cluster_qr,
}
"""Every method by name."""


def options_of(method: str) -> dict[str, Any]:
    """Return the options of a discretizer and their defaults."""
    signature = inspect.signature(DISCRETIZERS[check_choice("method", method, DISCRETIZERS)])
    return {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
