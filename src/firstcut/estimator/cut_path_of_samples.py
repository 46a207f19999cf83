"""``cut_path``: from samples, or a graph, to partitions into many numbers of clusters at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from firstcut.affinity import affinity_of
from firstcut.cuts import CutLike, as_problem
from firstcut.estimator.parameters import DEFAULTS
from firstcut.graph import Graph
from firstcut.partitioning.cut_path import CutPath, check_numbers, cut_path_problem
from firstcut.partitioning.efforts import EFFORTS
from firstcut.validation import RandomState, as_plain, check_choice, refuse_masked


def cut_path(
    X: Any,
    n_clusters: Iterable[int] = range(2, 30),
    *,
    affinity: Any = "adaptive_neighbors",
    n_neighbors: int = 10,
    cut: CutLike = "normalized",
    effort: str | None = None,
    random_state: RandomState = None,
) -> CutPath:
    """Cut one graph into many numbers of clusters, and tell which of them it speaks for.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), or (n, n)
        Samples; or a graph, with ``affinity="precomputed"``.
    n_clusters : iterable of int, default=range(2, 30)
        The numbers of clusters; those above n are left out.
    affinity : str or callable, default="adaptive_neighbors"
        As in :class:`firstcut.SpectralClustering`.
    n_neighbors : int, default=10
        Neighbours of a sample, where the affinity has them.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    effort : {"fast", "auto", "balanced", "thorough"} or None, default=None
        How long to search for the partitions, as in :func:`firstcut.partition`; None means what it
        means in :class:`firstcut.SpectralClustering`. With the same seed, more effort never gives a
        larger value.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start vectors and of the search.

    Returns
    -------
    CutPath
        Its values never fall as the number of clusters grows.

    Notes
    -----
    The eigenproblem is solved once for all numbers. Every partition takes part in the search for
    those into a little more and a little fewer clusters, so that many numbers together take less
    than each alone, but for ``effort="fast"``, where they take as long and no value is above that
    of :func:`firstcut.partition` with the same effort and integer seed.

    Examples
    --------
    >>> import firstcut
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]]
    >>> path = firstcut.cut_path(X, range(1, 5), n_neighbors=3, random_state=0)
    >>> path.best, path[3].cut_value
    (3, 0.0)
    """
    numbers = check_numbers(n_clusters)
    effort = check_choice("effort", DEFAULTS["effort"] if effort is None else effort, EFFORTS)
    chosen = affinity_of(affinity)
    # Sparse matrices and arrays are for the affinity to check; only lists have no shape.
    refuse_masked("X", X)
    samples = X if hasattr(X, "shape") or isinstance(X, Graph) else as_plain("X", X)
    options: dict[str, Any] = {}
    if "n_neighbors" in chosen.parameters:
        # A few samples do not have as many neighbours as the default asks for.
        n_samples = samples.shape[0] if np.ndim(samples) else 0
        options = chosen.limited(n_samples, {"n_neighbors": n_neighbors})
    matrix = chosen.graph(samples, **options)
    problem = as_problem(matrix, cut)
    return cut_path_problem(problem, numbers, effort=effort, random_state=random_state)
