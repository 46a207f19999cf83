"""``exact_partition``: the smallest cut there is, or an error that says what is not proven."""

from __future__ import annotations

from typing import Any

from leastcut.bounds.certify import ProofCallback, search_and_certify
from leastcut.budget import Budget
from leastcut.multilevel.exact import exact_problem, too_many
from leastcut.problem import CutLike, Problem, as_problem
from leastcut.progress import ProofReading
from leastcut.results import Partition
from leastcut.validation import check_count, check_n_clusters, number_by_appearance

OPTIMAL = 1e-6  # the gap below which a partition counts as optimal
SEARCH_FRACTION = 0.2  # of the time limit, for the search that finds what is then proven


def exact_partition(
    graph: Any,
    n_clusters: int,
    cut: CutLike = "normalized",
    *,
    max_partitions: int = 2**28,
    time_limit: float | None = None,
    callback: ProofCallback | str | None = None,
    symmetrize: str | None = None,
) -> Partition:
    """Return the partition with the smallest cut value there is, proven.

    Tiny graphs are proven by going through all partitions, others as by :func:`leastcut.certify`.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities; self-loops allowed. Libraries: as for
        :func:`leastcut.partition`.
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
    callback : callable or "tqdm", optional
        Called with a :class:`leastcut.ProofProgress` as :func:`leastcut.certify` calls it; where
        partitions are gone through it is not. Where it returns True the proof stops, and unless it
        is done an error is raised as at a time limit. ``"tqdm"`` is a progress bar.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.

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
    >>> import leastcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> best = leastcut.exact_partition(S, 2, cut="ratio")
    >>> best.labels, best.cut_value, best.gap
    (array([0, 0, 1, 1]), 2.0, 0.0)
    """
    budget = Budget(time_limit, callback)
    max_partitions = check_count("max_partitions", max_partitions)
    problem = as_problem(graph, cut, symmetrize=symmetrize)
    n_clusters = check_n_clusters(n_clusters, problem.n_nodes)
    words = too_many(problem.n_nodes, n_clusters, max_partitions)
    if words is None:
        return exact_problem(problem, n_clusters).named(problem.graph.names)
    with budget.shown("exact_partition", lambda: ProofReading(budget.time_limit)):
        proven = _proven(problem, n_clusters, words, budget)
    return proven.named(problem.graph.names)


def _proven(problem: Problem, n_clusters: int, words: str, budget: Budget) -> Partition:
    """Search, and prove the result; ``words`` say why partitions are not enumerated."""
    proven = search_and_certify(problem, n_clusters, budget, SEARCH_FRACTION, random_state=0)
    assert proven.gap is not None
    if proven.gap < OPTIMAL:
        return Partition(number_by_appearance(proven.labels), proven.cut_value, proven.lower_bound)
    if budget.is_stopped:
        end, remedy = "was stopped by callback", "let it go on."
    elif budget.time_limit is None:
        end, remedy = "made no more progress", "leave it."
    else:
        end, remedy = f"did not end in {budget.time_limit:g} s", "raise time_limit."
    raise RuntimeError(
        f"{words} A proof by relaxations {end}: the best cut found, {proven.cut_value:.6g}, has a "
        f"gap of {proven.gap:.2g}. Let leastcut.certify return it with its bound, or {remedy}"
    )
