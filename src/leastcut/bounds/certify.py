"""``certify``: lower bounds on the cut, and proofs of optimality."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from leastcut.bounds.proof import Proof, ProofProgress
from leastcut.budget import Budget
from leastcut.multilevel.efforts import Progress
from leastcut.multilevel.search import partition_problem
from leastcut.problem import AnyProblem, CutLike, Problem, as_any_problem, unsupported_problem
from leastcut.progress import ProofReading
from leastcut.reductions import Reduced, solve_reduced
from leastcut.results import Partition
from leastcut.seeds import RandomState
from leastcut.validation import check_labels, check_number, number_by_appearance

SEARCH_FRACTION = 0.1  # of the time limit is for the search before the proof
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)

ProofCallback = Callable[[ProofProgress], object]


def certify(
    graph: Any,
    labels: npt.ArrayLike,
    cut: CutLike = "normalized",
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    must_link: npt.ArrayLike | None = None,
    cannot_link: npt.ArrayLike | None = None,
    callback: ProofCallback | str | None = None,
    random_state: RandomState = None,
    symmetrize: str | None = None,
    isolated: str = "error",
) -> Partition:
    """Prove a lower bound on the cut, and improve the given partition if possible.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n_nodes, n_nodes) or graph of a library
        Symmetric non-negative affinities, in any form that :func:`leastcut.partition` accepts. The
        graph may be disconnected.
    labels : array-like of shape (n_nodes,)
        The partition to certify, from any method; labels may be numbers or strings.
    cut : {"ratio", "normalized"} or array-like of shape (n_nodes,), default="normalized"
        The name of a cut, or a positive weight for every node.
    gap : float, default=0.0
        Relative gap between cut value and lower bound at which the proof stops, below 1. With 0 it
        stops at optimality, for which a gap of 1e-7 is sufficient.
    time_limit : float, optional
        Seconds after which the proof stops with the bound so far. By default it stops when the gap
        is reached or the bound no longer rises, which can take long.
    must_link, cannot_link : array-like of shape (n_pairs, 2), optional
        Pairs of nodes in the same cluster and in different clusters, as for
        :func:`leastcut.partition`. ``labels`` must satisfy them; the bound holds for partitions
        that do.
    callback : callable or "tqdm", optional
        Function called with a :class:`leastcut.ProofProgress` after every round of the search and
        of the proof. If it returns True, the proof stops and the result so far is returned, whose
        bound is valid. ``"tqdm"`` shows a progress bar on the standard error after one second.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search for better labels. With an integer, results without a time limit are
        reproducible.
    symmetrize : {"mean", "max"} or None, default=None
        How to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions. None
        raises an error.
    isolated : {"error", "ignore"}, default="error"
        How to treat nodes without edges, whose weight is zero in the normalized cut: raise an
        error, or exclude them. Value and bound then refer to the other nodes and their clusters.

    Returns
    -------
    Partition
        The given labels, or better ones found during the proof. No partition into the same number
        of clusters has a cut value below its ``lower_bound``, which accounts for rounding errors;
        ``gap`` is the relative difference to the cut value.

    See Also
    --------
    exact_partition : Find the optimal partition of a graph.
    lower_bound : Compute a quick lower bound from eigenvalues.
    partition : Search for a small cut; ``lower_bound="tight"`` certifies the result.

    Notes
    -----
    The bound comes from a semidefinite relaxation with inequalities that hold for every partition
    or, beyond 600 nodes, from dual prices of nodes if this bound is larger. If a gap remains,
    problems of up to 1,000 nodes are solved by branch and bound on pairs of nodes. Memory is O(n²),
    about 4 GiB at 15,000 nodes. Larger graphs are bounded by dual prices, in O(n + edges) memory,
    or by the sum of the smallest eigenvalues.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> certified = leastcut.certify(S, ["a", "a", "a", "b", "b", "b"], cut="ratio")
    >>> certified.labels, certified.cut_value, certified.gap
    (array([0, 0, 0, 1, 1, 1]), 0.6666666666666666, 0.0)
    """
    # The time limit includes the validation of the graph.
    budget = Budget(time_limit, callback)
    gap = check_gap(gap)
    problem = as_any_problem(
        graph,
        cut,
        must_link=must_link,
        cannot_link=cannot_link,
        symmetrize=symmetrize,
        isolated=isolated,
    )
    initial = check_labels(labels, problem.n_nodes)
    certified: Partition = certify_labels(
        problem, initial, gap=gap, budget=budget, random_state=random_state
    )
    return certified.named(problem.names)


def check_gap(gap: object) -> float:
    """Return ``gap`` as a float; raise ValueError unless it is at least 0 and below 1."""
    number = check_number("gap", gap)
    if number >= 1.0:
        raise ValueError(
            f"gap={number:g} must be less than 1, the gap of the trivial bound 0. Pass a fraction "
            "of the cut value, such as 0.01 for one percent."
        )
    return number


@singledispatch
def certify_labels(problem: AnyProblem, labels: np.ndarray, **options: Any) -> Partition:
    """Search for better labels than the given ones, 0..c-1, and certify the best."""
    raise unsupported_problem("certify", problem)


@certify_labels.register(Problem)
def certify_graph(
    problem: Problem,
    labels: np.ndarray,
    *,
    gap: float = 0.0,
    budget: Budget | None = None,
    random_state: RandomState = None,
) -> Partition:
    """Search for better labels of a graph, and certify the best.

    Isolated nodes without weight are excluded: value and bound refer to the other nodes, in the
    number of clusters that they have in ``labels``.
    """
    budget = budget or Budget()

    def solve(reduced: Reduced) -> Partition:
        core, c, starts = reduced.problem, reduced.n_clusters, reduced.starts
        return search_and_certify(core, c, budget, SEARCH_FRACTION, starts, gap, random_state)

    start, n_clusters = ("labels", labels), int(labels.max()) + 1
    with budget.shown("certify", lambda: ProofReading(budget.time_limit)):
        return solve_reduced(problem, n_clusters, solve, [start], keep_isolated=True)


def search_and_certify(
    problem: Problem,
    n_clusters: int,
    budget: Budget,
    fraction: float,
    starts: Sequence[np.ndarray] = (),
    gap: float = 0.0,
    random_state: RandomState = None,
) -> Partition:
    """Search a reduced problem for a fraction of the time limit, and certify the best partition."""
    initial_value = problem.value(starts[0]) if starts else np.inf

    def progress_of_proof(search: Progress) -> ProofProgress:
        return ProofProgress(0.0, min(initial_value, search.cut_value), 1, search.seconds)

    partition = partition_problem(
        problem,
        n_clusters,
        starts=starts,
        budget=budget.share(fraction, progress_of_proof),
        lower_bound=False,
        random_state=random_state,
    )
    return certify_problem(problem, n_clusters, partition, gap=gap, budget=budget)


def certify_problem(
    problem: Problem,
    n_clusters: int,
    partition: Partition,
    *,
    gap: float = 0.0,
    budget: Budget | None = None,
) -> Partition:
    """Certify a partition of a reduced problem, and return the best known partition.

    ``partition`` has labels 0..c-1 that satisfy the constraints, and possibly a bound.
    """
    budget = budget or Budget()
    # Values near the limits of double precision are scaled by powers of two.
    scaled = problem.within_range()
    up = _exponent_difference(scaled) - _exponent_difference(problem)
    bound = 0.0 if partition.lower_bound is None else float(np.ldexp(partition.lower_bound, up))
    proof = Proof(scaled, n_clusters, partition.labels, gap, bound)

    def proven(value: float) -> float:
        # After a completed proof the bound is the value; underflow is rounded down.
        if proof.bound == proof.value:
            return value
        return max(float(np.ldexp(proof.bound, -up)) - (SMALLEST if up else 0.0), 0.0)

    def progress(proof: Proof) -> ProofProgress:
        value = problem.value(proof.labels)
        return ProofProgress(proven(value), value, proof.n_open, budget.seconds)

    try:
        proof.run(budget.share(translate=progress))
    except KeyboardInterrupt:
        if budget.on_interrupt == "raise":
            raise
    if proof.labels is partition.labels:
        return replace(partition, lower_bound=proven(partition.cut_value))
    value = problem.value(proof.labels)
    return Partition(number_by_appearance(proof.labels), value, proven(value))


def _exponent_difference(problem: Problem) -> int:
    """Return the exponent of the largest edge weight, minus that of the largest node weight."""
    edge = float(problem.graph.weights.max(initial=0.0))
    return int(np.frexp(edge)[1]) - int(np.frexp(problem.node_weights.max())[1])
