"""The flagship: ``partition``, which checks everything once and then searches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from firstcut.cuts import CutLike, as_problem
from firstcut.partitioning.efforts import EFFORTS, Progress
from firstcut.partitioning.search import partition_problem
from firstcut.results import Partition
from firstcut.threads import count_threads
from firstcut.validation import (
    RandomState,
    check_choice,
    check_flag,
    check_init,
    check_n_clusters,
    check_number,
)


def partition(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    effort: str = "balanced",
    init: npt.ArrayLike | list[npt.ArrayLike] | None = None,
    time_limit: float | None = None,
    lower_bound: bool | None = None,
    on_interrupt: str = "raise",
    random_state: RandomState = None,
    callback: Callable[[Progress], object] | None = None,
    n_jobs: int | None = None,
) -> Partition:
    """Partition a graph into ``n_clusters`` clusters with the smallest cut that can be found.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities; self-loops allowed, connected or not.
    n_clusters : int
        Number of clusters, from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        ``fast`` recombines two multilevel passes and, where it costs little, a spectral solution.
        ``auto`` goes on with further passes and recombinations for a quarter of what the graph's
        eigenvectors would take, if that is longer, ``balanced`` for about a second, longer on large
        graphs, and ``thorough`` until populations stop improving. With the same seed, more effort
        never gives a larger value.
    init : array-like of shape (n,), or list of such, optional
        Partitions to take part, each into exactly ``n_clusters`` clusters; the result is never
        worse than the best of them.
    time_limit : float, optional
        Seconds after which the search ends, and all but its first pass, which it always makes, is
        cut short; the lower bound is part of them, and None where they are not enough for it.
    lower_bound : bool, optional
        Whether to compute the lower bound Σλ, an eigenproblem. By default only on small graphs. It
        is the value itself where that is proven to be the smallest there is, as on tiny graphs.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does: raise, or return the best so far once there is one.
    random_state : int, Generator, RandomState or None
        Seed. With an integer the labels are the same every time, on any number of threads.
    callback : callable, optional
        Called with a :class:`Progress` after every batch of passes.
    n_jobs : int, optional
        Threads; -1 is one per available core. By default as many as there are cores, at most 8,
        where the graph is large enough to gain by them.

    Returns
    -------
    Partition

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> found = firstcut.partition(S, 2, cut="ratio", random_state=0)
    >>> found.cut_value, bool(found.labels[0] == found.labels[2])
    (0.6666666666666666, True)
    """
    # The limit counts from here: to check a large graph takes time as well.
    began = time.monotonic()
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, allow_infinite=True)
    if lower_bound is not None:
        lower_bound = check_flag("lower_bound", lower_bound)
    if callback is not None and not callable(callback):
        raise TypeError(
            f"callback={callback!r} cannot be called; pass a function of one argument, or None."
        )
    problem = as_problem(graph, cut)
    n_clusters = check_n_clusters(n_clusters, problem.n_nodes)
    return partition_problem(
        problem,
        n_clusters,
        effort=check_choice("effort", effort, EFFORTS),
        given=_given(init, problem.n_nodes, n_clusters),
        time_limit=time_limit,
        lower_bound=lower_bound,
        on_interrupt=check_choice("on_interrupt", on_interrupt, ("raise", "return")),
        random_state=random_state,
        callback=callback,
        n_jobs=n_jobs if n_jobs is None else count_threads(n_jobs),
        began=began,
    )


def _given(init: Any, n_nodes: int, n_clusters: int) -> list[np.ndarray]:
    """Return the initial partitions as a list of labels 0..n_clusters-1."""
    if init is None:
        return []
    # A list of numbers is one partition, a list of arrays or lists is several.
    several = isinstance(init, list | tuple) and len(init) > 0 and np.ndim(init[0]) > 0
    if not several:
        return [check_init(init, n_nodes, n_clusters)]
    return [
        check_init(labels, n_nodes, n_clusters, f"init[{number}]")
        for number, labels in enumerate(init)
    ]
