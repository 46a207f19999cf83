"""The flagship: ``partition``, a search over multilevel passes for the smallest cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from firstcut.cuts import CutLike, cut_value
from firstcut.graph import as_graph
from firstcut.inputs import RandomState, as_generator, check_choice, check_init, check_n_clusters
from firstcut.partitioning.multilevel import within_eigensolvers_range
from firstcut.partitioning.population import Population
from firstcut.partitioning.refinement import as_level
from firstcut.partitioning.schedule import Clock, Search
from firstcut.partitioning.schedule import Progress as Progress
from firstcut.result import Partition

EFFORTS = ("fast", "balanced", "thorough")
"""One pass; a few passes and recombinations; a search until it stops improving."""

BOUND_NODES = {"fast": 500, "balanced": 2000, "thorough": 2000}
"""Up to this size the lower bound is computed without being asked for."""


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
) -> Partition:
    """Partition a graph into ``n_clusters`` clusters with the smallest cut that can be found.

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities; self-loops allowed, connected or not.
    n_clusters : int
        Number of clusters, from 1 to n.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        ``fast`` makes one multilevel pass; ``balanced`` adds passes, recombinations and, on graphs
        of a few thousand nodes, the spectral solution; ``thorough`` recombines populations until
        they stop improving. With the same seed, more effort never gives a larger value.
    init : array-like of shape (n,), or list of such, optional
        Partitions to take part, each into exactly ``n_clusters`` clusters; the result is never
        worse than the best of them.
    time_limit : float, optional
        Seconds after which no further pass is begun.
    lower_bound : bool, optional
        Whether to compute the lower bound Σλ, an eigenproblem. By default only on small graphs.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does: raise, or return the best so far once there is one.
    random_state : int, Generator, RandomState or None
        Seed. With an integer the labels are the same every time, on any number of threads.
    callback : callable, optional
        Called with a :class:`Progress` after every batch of passes.

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
    clock = Clock(time_limit)
    graph = as_graph(graph)
    n_clusters = check_n_clusters(n_clusters, graph.n_nodes)
    check_choice("effort", effort, EFFORTS)
    check_choice("on_interrupt", on_interrupt, ("raise", "return"))
    level = as_level(graph, cut)
    seed = as_generator(random_state).integers(2**32, size=4).tolist()
    given = _given(init, graph.n_nodes, n_clusters)
    if n_clusters in (1, graph.n_nodes):
        only = np.arange(graph.n_nodes) if n_clusters > 1 else np.zeros(graph.n_nodes, np.int64)
        value = cut_value(graph, only, cut)
        return Partition(only, value, value)

    population = Population(level, n_clusters, seed, clock.is_over)
    search = Search(graph, cut, population, clock, callback)
    try:
        search.fast(given)
        if effort != "fast":
            search.balanced()
        if effort == "thorough":
            search.thorough()
    except KeyboardInterrupt:
        if on_interrupt == "raise" or population.best is None:
            raise
    labels, value = search.answer(given)
    if lower_bound is None:
        lower_bound = graph.n_nodes <= BOUND_NODES[effort] and within_eigensolvers_range(level)
    bound = 0.0 if value == 0.0 else search.relaxation().lower_bound if lower_bound else None
    return Partition(labels, value, bound)


def _given(init: Any, n_nodes: int, n_clusters: int) -> list[np.ndarray]:
    """Return the initial partitions as a list of labels 0..n_clusters-1."""
    if init is None:
        return []
    several = isinstance(init, list | tuple) and len(init) > 0 and np.ndim(init[0]) > 0
    if not several:
        return [check_init(init, n_nodes, n_clusters)]
    return [
        check_init(labels, n_nodes, n_clusters, f"init[{number}]")
        for number, labels in enumerate(init)
    ]
