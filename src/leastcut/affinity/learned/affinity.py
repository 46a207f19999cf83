"""``affinity="learned"``: a graph with one component for every cluster.

New samples get the weights of adaptive neighbors: what was learned about the training samples is
which of them belong together.
"""

from __future__ import annotations

from typing import Any

from leastcut.affinity.adaptive_neighbors import ADAPTIVE_NEIGHBORS
from leastcut.affinity.affinity import Affinity, Rows, defaults_of
from leastcut.affinity.learned.learned_graph import learned_graph
from leastcut.validation import warn_caller

FEWEST = 3
"""Samples from which on each has a neighbor and one beyond it; fewer are joined as they are."""

DEFAULTS = {**defaults_of(learned_graph), "n_clusters": 8}
"""The parameters of the affinity, with the default of the estimators for ``n_clusters``."""


def _graph(X: Any, **parameters: Any) -> Any:
    """Learn the graph of X, and warn if it has not as many components as clusters."""
    if X.shape[0] < FEWEST:
        return ADAPTIVE_NEIGHBORS.graph(X, **_of_neighbors(parameters))
    found = learned_graph(X, **parameters)
    if not found.converged:
        from sklearn.exceptions import ConvergenceWarning  # slow to import

        count, n_clusters = found.n_components, parameters["n_clusters"]
        remedy = "Pass fewer n_clusters, or fewer n_neighbors."
        if count > n_clusters and found.n_iter == 0:
            remedy = "Pass more n_neighbors, which join more, or more n_clusters."
        elif found.n_iter == parameters.get("max_iter", DEFAULTS["max_iter"]):
            remedy = f"Pass kernel_params={{'max_iter': {2 * found.n_iter}}}, or other n_neighbors."
        warn_caller(
            f"The learned graph has {count} component{'' if count == 1 else 's'} after "
            f"{found.n_iter} iterations, and not n_clusters={n_clusters}; labels are the smallest "
            f"cut of it that was found. {remedy}",
            ConvergenceWarning,
        )
    return found.graph


def _rows(X: Any, **parameters: Any) -> Rows:
    """Return the function from new samples to their weights, those of adaptive neighbors."""
    return ADAPTIVE_NEIGHBORS.rows(X, **_of_neighbors(parameters))


def _of_neighbors(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that adaptive neighbors have as well."""
    learning = ("n_clusters", "solver", "max_iter")
    return {name: value for name, value in parameters.items() if name not in learning}


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Reduce k so that a further sample is left to set the threshold, and c to the samples."""
    parameters = {**DEFAULTS, **parameters}
    few = ADAPTIVE_NEIGHBORS.limited(n_samples, {"n_neighbors": parameters["n_neighbors"]})
    most = n_samples - 2 if n_samples >= FEWEST else few["n_neighbors"]
    parameters["n_neighbors"] = min(parameters["n_neighbors"], most)
    parameters["n_clusters"] = min(parameters["n_clusters"], n_samples)
    return parameters


LEARNED = Affinity(_graph, _rows, DEFAULTS, _limited, searches=True)
