"""``affinity="learned"``: a graph that knows how many clusters it is for.

It is the estimator's alone, as those in :data:`leastcut.AFFINITIES` are made of samples whatever
the number of clusters. New samples are tied to their nearest as adaptive neighbours are: what was
learned of the training samples is in which of them belong together.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from leastcut.affinity.adaptive_neighbors import ADAPTIVE_NEIGHBORS
from leastcut.affinity.affinity import Affinity, Rows, defaults_of
from leastcut.affinity.learned.learned_graph import learned_graph
from leastcut.validation import check_n_clusters

FEWEST = 3
"""Samples from which on each has a neighbour and one beyond it; fewer are joined as they are."""

DEFAULTS = {
    name: value
    for name, value in defaults_of(learned_graph).items()
    if name not in ("n_clusters", "solver")
}
"""The parameters that a user may pass, by themselves or in ``kernel_params``."""


def learned_affinity(n_clusters: Any, solver: str) -> Affinity:
    """Return the affinity that learns a graph of so many components.

    Parameters
    ----------
    n_clusters : int or "auto"
        "auto" raises: the graph needs a number.
    solver : {"auto", "spectral", "multilevel"}
        That of the estimator; "auto" is the default of :func:`leastcut.learned_graph`.
    """
    if isinstance(n_clusters, str):
        raise ValueError(
            f"n_clusters={n_clusters!r} leaves open what affinity='learned' needs: it makes a "
            "graph with a component for every cluster. Pass a number; "
            "SpectralClustering('auto').fit(X).n_clusters_ is one that the graph of adaptive "
            "neighbours speaks for."
        )
    chosen = {} if solver == "auto" else {"solver": solver}
    graph = partial(_graph, int(n_clusters), chosen)
    return Affinity(graph, _rows, DEFAULTS, _limited, searches=True)


def _graph(n_clusters: int, chosen: dict[str, Any], X: Any, **options: Any) -> Any:
    """Learn the graph of X, and warn where it has not the components that it should have."""
    if X.shape[0] < FEWEST:
        return ADAPTIVE_NEIGHBORS.graph(X, **_of_few(options))
    check_n_clusters(n_clusters, X.shape[0])
    found = learned_graph(X, n_clusters, **chosen, **options)
    if not found.converged:
        count = found.n_components
        remedy = "Pass fewer n_clusters, or fewer n_neighbors."
        if count > n_clusters and found.n_iter == 0:
            remedy = "Pass more n_neighbors, which join more, or more n_clusters."
        elif found.n_iter == options["max_iter"]:
            remedy = f"Pass kernel_params={{'max_iter': {2 * found.n_iter}}}, or other n_neighbors."
        warnings.warn(
            f"The learned graph has {count} component{'' if count == 1 else 's'} after "
            f"{found.n_iter} turns, and not n_clusters={n_clusters}; labels are the smallest cut "
            f"of it that was found. {remedy}",
            ConvergenceWarning,
            # The user's line: above are the estimator's _graph and fit, and scikit-learn's wrapper.
            stacklevel=5,
        )
    return found.graph


def _rows(X: Any, **options: Any) -> Rows:
    """Return the function from new samples to their weights, those of adaptive neighbours."""
    return ADAPTIVE_NEIGHBORS.rows(X, **_of_few(options))


def _of_few(options: dict[str, Any]) -> dict[str, Any]:
    """Return what adaptive neighbours take of the options."""
    return {name: value for name, value in options.items() if name != "max_iter"}


def _limited(n_samples: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Cut k down so that a further sample is left to set the threshold."""
    parameters = {**DEFAULTS, **parameters}
    few = ADAPTIVE_NEIGHBORS.limited(n_samples, {"n_neighbors": parameters["n_neighbors"]})
    most = n_samples - 2 if n_samples >= FEWEST else few["n_neighbors"]
    return {**parameters, "n_neighbors": min(parameters["n_neighbors"], most)}
