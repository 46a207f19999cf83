"""``cut_path``: partitions of samples or a graph into several numbers of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.affinity import affinities_with, affinity_of
from leastcut.affinity.precomputed import warn_of_graph
from leastcut.budget import Budget
from leastcut.estimators.inputs import read_input
from leastcut.graph import as_graph
from leastcut.multilevel.cut_path import CutPath, check_numbers, cut_path_problem
from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.path_search import PathProgress
from leastcut.problem import CutLike, as_affinity_graph, as_problem
from leastcut.seeds import RandomState
from leastcut.validation import (
    as_plain,
    check_choice,
    check_matrix,
    check_symmetrize,
    refuse_masked,
)


def cut_path(
    X: Any,
    n_clusters: Iterable[int] = range(2, 30),
    *,
    affinity: Any = "adaptive_neighbors",
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    cut: CutLike = "normalized",
    effort: str | None = None,
    random_state: RandomState = None,
    callback: Callable[[PathProgress], object] | str | None = None,
    symmetrize: str | None = None,
) -> CutPath:
    """Cut one graph into several numbers of clusters, and suggest one of them.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or graph of a library
        Samples; or, with ``affinity="precomputed"``, affinities of shape (n_samples, n_samples) or
        a graph of networkx, igraph, torch_geometric, pandas (an edge list) or AnnData.
    n_clusters : iterable of int, default=range(2, 30)
        The numbers of clusters. Numbers larger than n_samples are skipped.
    affinity : str or callable, default="adaptive_neighbors"
        How the graph is constructed, as in :class:`leastcut.SpectralClustering`.
    n_neighbors : int, default=10
        Number of neighbors, for affinities that use neighbors.
    metric : str or callable, default="euclidean"
        Metric of the neighbor graphs; see :func:`leastcut.adaptive_neighbors_graph`.
    cut : {"ratio", "normalized"} or array-like of shape (n_samples,), default="normalized"
        The name of a cut, or a positive weight for every node.
    effort : {"fast", "auto", "balanced", "thorough"} or None, default=None
        Search effort, as in :func:`leastcut.partition`; None means "auto". With the same seed, more
        effort never increases a cut value.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start vectors and of the search.
    callback : callable or "tqdm", optional
        Called with a :class:`leastcut.PathProgress` after every search for one number of clusters.
        If it returns True, the search stops; numbers that it has not reached get the partition of a
        single pass. ``"tqdm"`` shows a progress bar on the standard error if the search takes more
        than a second.
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions. None
        means the mean, with a warning.

    Returns
    -------
    CutPath
        The partitions and the suggested number. Cut values never decrease as the number of clusters
        grows.

    See Also
    --------
    CutPath : The result, with its evidence for each number.
    partition : Search for one number of clusters.
    SpectralClustering : ``n_clusters="auto"`` chooses the number in the same way.

    Notes
    -----
    The eigenproblem is solved once for all numbers. Partitions into similar numbers of clusters
    improve each other. With ``effort="balanced"`` the search for many numbers takes less time than
    separate searches; with less effort it takes somewhat more. With ``"fast"``, values are never
    above those of :func:`leastcut.partition` with the same effort and integer seed.

    Examples
    --------
    >>> import leastcut
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]]
    >>> path = leastcut.cut_path(X, range(1, 5), n_neighbors=3, random_state=0)
    >>> path.best, path[3].cut_value
    (3, 0.0)
    """
    budget = Budget(callback=callback)
    numbers = check_numbers(n_clusters)
    effort = check_choice("effort", "auto" if effort is None else effort, EFFORTS)
    refuse_masked("X", X)
    chosen, symmetrize = affinity_of(affinity), check_symmetrize(symmetrize)
    if "n_clusters" in chosen.parameters:
        raise ValueError(
            f"affinity={affinity!r} makes another graph for every number of clusters, but a path "
            "cuts one graph; pass affinity='adaptive_neighbors', from which it starts."
        )
    if symmetrize is not None and chosen.takes != "affinities":
        raise ValueError(
            f"symmetrize={symmetrize!r} has no effect: affinity={affinity!r} makes a symmetric "
            "graph. Leave it out, or pass a graph and affinity='precomputed'."
        )
    X, names = read_input(X, chosen.takes, affinity)
    check_matrix("X", X)
    samples = X if hasattr(X, "shape") else as_plain("X", X)
    options: dict[str, Any] = {}
    if "metric" in chosen.parameters:
        options["metric"] = metric
    elif not isinstance(metric, str) or metric != "euclidean":
        raise ValueError(
            f"metric={metric!r} has no effect: affinity={affinity!r} has no metric. Affinities "
            f"with a metric: {affinities_with('metric')}."
        )
    if "n_neighbors" in chosen.parameters:
        # Reduced if there are fewer samples than neighbors.
        n_samples = samples.shape[0] if np.ndim(samples) else 0
        options = chosen.limited(n_samples, {**options, "n_neighbors": n_neighbors})
    if symmetrize is None:
        graph = as_graph(chosen.graph(samples, **options))
    else:
        graph = as_affinity_graph(samples, symmetrize)
    if chosen.takes == "samples" and samples.shape[0] == samples.shape[1]:
        warn_of_graph(samples)
    problem = as_problem(replace(graph, names=names), cut)
    return cut_path_problem(
        problem, numbers, effort=effort, random_state=random_state, budget=budget
    )
