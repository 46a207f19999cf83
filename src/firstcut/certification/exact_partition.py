"""``exact_partition``: the smallest cut there is, or an error that tells what is not proven."""

from __future__ import annotations

import math
import time
from typing import Any

from firstcut.certification.certify import certify_problem
from firstcut.cuts import CutLike, Problem, as_problem
from firstcut.partitioning.exact import exact_problem, too_many
from firstcut.partitioning.search import partition_problem
from firstcut.results import Partition
from firstcut.validation import check_count, check_n_clusters, check_number, number_by_appearance

OPTIMAL = 1e-6
"""The gap below which a partition counts as optimal."""

SEARCH_SHARE = 0.2
"""The part of a time limit for the search that finds what is then proven."""


def exact_partition(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    max_partitions: int = 2**28,
    time_limit: float | None = None,
) -> Partition:
    """Return the partition with the smallest cut value there is, proven.

    Tiny graphs are proven by going through all partitions, others as by :func:`firstcut.certify`.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities; self-loops allowed.
    n_clusters : int
        Number of clusters c, none of them empty.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    max_partitions : int, default=2**28
        Graphs with more partitions than this, or so many nodes that to go through their partitions
        would take longer than that many of a small graph, are proven by relaxations instead. The
        default goes through those of 29 nodes in 2 clusters, 19 in 3, 16 in 4, 14 in any number,
        and up to 750 in one less than that: fractions of a second as a rule, half a minute at
        worst.
    time_limit : float, optional
        Seconds in which the proof by relaxations must end, else an error is raised; going through
        all partitions is not limited by it. Any of both can be interrupted.

    Returns
    -------
    Partition
        Where partitions were gone through its ``lower_bound`` is its ``cut_value``: the gap is 0.
        (Only a value so small that doubles underflow, below 1e-307, has one that is a few units
        less.) Otherwise the bound is what was proven, and the gap is less than 1e-6. Clusters are
        numbered in the order of their first nodes.

    Raises
    ------
    RuntimeError
        Where nothing smaller was found, but that there is nothing is not proven: it tells the gap.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> best = firstcut.exact_partition(S, 2, cut="ratio")
    >>> best.labels, best.cut_value, best.gap
    (array([0, 0, 1, 1]), 2.0, 0.0)
    """
    began = time.monotonic()
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, allow_infinite=True)
    max_partitions = check_count("max_partitions", max_partitions)
    problem = as_problem(graph, cut)
    n_clusters = check_n_clusters(n_clusters, problem.n_nodes)
    words = too_many(problem.n_nodes, n_clusters, max_partitions)
    if words is None:
        return exact_problem(problem, n_clusters)
    return _proven(problem, n_clusters, words, time_limit, began)


def _proven(
    problem: Problem, n_clusters: int, words: str, time_limit: float | None, began: float
) -> Partition:
    """Search, and prove what was found; ``words`` say why partitions are not gone through."""
    limit = math.inf if time_limit is None else time_limit
    found = partition_problem(
        problem,
        n_clusters,
        time_limit=None if time_limit is None else SEARCH_SHARE * limit,
        lower_bound=False,
        random_state=0,
        began=began,
    )
    proven = certify_problem(problem, n_clusters, found, deadline=began + limit, began=began)
    assert proven.gap is not None
    if proven.gap < OPTIMAL:
        return Partition(number_by_appearance(proven.labels), proven.cut_value, proven.lower_bound)
    end = "made no more progress" if time_limit is None else f"did not end in {time_limit:g} s"
    raise RuntimeError(
        f"{words} A proof by relaxations {end}: the best cut found, {proven.cut_value:.6g}, has a "
        f"gap of {proven.gap:.2g}. Let firstcut.certify return it with its bound, "
        + ("or leave it." if time_limit is None else "or raise time_limit.")
    )
