"""``exact_partition``: the smallest cut, proven by enumeration or by bounds."""

from __future__ import annotations

from typing import Any

from leastcut.bounds.certify import ProofCallback, search_and_certify
from leastcut.budget import Budget
from leastcut.multilevel.exact import exact_problem, too_many
from leastcut.problem import CutLike, Problem, as_problem
from leastcut.progress import ProofReading
from leastcut.results import Partition
from leastcut.validation import check_count, check_n_clusters, number_by_appearance

OPTIMAL = 1e-6  # gap below which a partition counts as optimal
SEARCH_FRACTION = 0.2  # of the time limit is for the search before the proof


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
    """Find the partition with the smallest cut value, and prove that it is optimal.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n_nodes, n_nodes) or graph of a library
        Symmetric non-negative affinities, in any form that :func:`leastcut.partition` accepts.
    n_clusters : int
        Number of non-empty clusters.
    cut : {"ratio", "normalized"} or array-like of shape (n_nodes,), default="normalized"
        The name of a cut, or a positive weight for every node.
    max_partitions : int, default=2**28
        Largest number of partitions that are enumerated, by branch and bound. Optimality is proven
        by relaxations instead if a graph has more partitions, or if their enumeration could take
        more steps than this number allows. By default up to 29 nodes in 2 clusters, 19 in 3, 16 in
        4, 14 in any number, and up to 750 in one cluster less than nodes are enumerated, usually in
        fractions of a second, at worst in half a minute.
    time_limit : float, optional
        Seconds after which a proof by relaxations ends with an error. Enumeration is not limited,
        but can be interrupted.
    callback : callable or "tqdm", optional
        Function called with a :class:`leastcut.ProofProgress` as by :func:`leastcut.certify`, but
        not during enumeration. If it returns True, the proof stops, with an error unless it is
        complete. ``"tqdm"`` shows a progress bar.
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions. None
        raises an error.

    Returns
    -------
    Partition
        The optimal partition, with clusters numbered in the order of their first nodes. After an
        enumeration ``lower_bound`` equals ``cut_value`` (or is slightly less below 1e-307, where
        doubles underflow). Otherwise it is the proven bound, and the gap is less than 1e-6.

    Raises
    ------
    RuntimeError
        If optimality was not proven. The message contains the remaining gap.

    See Also
    --------
    certify : Certify a partition, and return the bound even if a gap remains.
    partition : Search for a small cut of graphs of any size.

    Notes
    -----
    Enumeration visits every partition once up to relabeling, and prunes branches whose lower bound
    reaches the best value. The problem is NP-hard; the time of a proof depends strongly on how well
    the clusters are separated.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> optimum = leastcut.exact_partition(S, 2, cut="ratio")
    >>> optimum.labels, optimum.cut_value, optimum.gap
    (array([0, 0, 1, 1]), 2.0, 0.0)
    """
    budget = Budget(time_limit, callback)
    max_partitions = check_count("max_partitions", max_partitions)
    problem = as_problem(graph, cut, symmetrize=symmetrize)
    n_clusters = check_n_clusters(n_clusters, problem.n_nodes)
    reason = too_many(problem.n_nodes, n_clusters, max_partitions)
    if reason is None:
        return exact_problem(problem, n_clusters).named(problem.graph.names)
    with budget.shown("exact_partition", lambda: ProofReading(budget.time_limit)):
        optimum = _search_and_prove(problem, n_clusters, reason, budget)
    return optimum.named(problem.graph.names)


def _search_and_prove(problem: Problem, n_clusters: int, reason: str, budget: Budget) -> Partition:
    """Search, and prove optimality; ``reason`` says why partitions are not enumerated."""
    proven = search_and_certify(problem, n_clusters, budget, SEARCH_FRACTION, random_state=0)
    assert proven.gap is not None
    if proven.gap < OPTIMAL:
        return Partition(number_by_appearance(proven.labels), proven.cut_value, proven.lower_bound)
    end, remedy = "stopped making progress", ""
    if budget.is_stopped:
        end = "was stopped by callback"
    elif budget.time_limit is not None:
        end, remedy = f"did not end in {budget.time_limit:g} s", ", or raise time_limit"
    raise RuntimeError(
        f"{reason} The proof by relaxations {end}: the best cut found, {proven.cut_value:.6g}, has "
        f"a gap of {proven.gap:.2g}. Call leastcut.certify to get it with its bound{remedy}."
    )
