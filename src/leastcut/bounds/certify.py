"""``certify``: how small the cut could be, proven, and the optimum where the proof gets there."""

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

SEARCH_FRACTION = 0.1  # of the time limit, for a search for better labels before the proof
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
    """Prove how small the cut into as many clusters could be, and find a smaller one if there is.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n) or graph of a library
        Symmetric non-negative affinities; self-loops allowed, connected or not. Libraries: as for
        :func:`leastcut.partition`.
    labels : array-like of shape (n,)
        The partition, by whatever tool it was made; any labels will do.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.
    gap : float, default=0.0
        The gap that is enough, as a fraction of the cut value, below 1. The proof ends once it is
        reached; 0 asks for a proof of optimality, which a gap of 1e-7 counts as.
    time_limit : float, optional
        Seconds after which the proof ends with what it has. Without, it ends at the gap, or where
        it makes no more progress, which can take long.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of node numbers that are in one cluster, and in different ones, as for
        :func:`leastcut.partition`: the proof is of the partitions that keep to them, as ``labels``
        must.
    callback : callable or "tqdm", optional
        Called with a :class:`leastcut.ProofProgress` after every round of the proof, and of the
        search for better labels before it. Where it returns True, and nothing else that counts as
        true, the proof stops and returns what it has, whose bound holds. ``"tqdm"`` is a progress
        bar on the standard error for what takes more than a second.
    random_state : int, Generator, RandomState or None
        Seed of the search for better labels. With an integer, and without a time limit, the result
        is the same every time.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.
    isolated : {"error", "ignore"}, default="error"
        What becomes of nodes without edges, which the normalized cut does not weigh: an error, or
        they take no part. Value and bound are then of the nodes with edges, in as many clusters as
        ``labels`` has them in.

    Returns
    -------
    Partition
        The labels given, or better ones if some were found. No partition into as many clusters has
        a value below its ``lower_bound``, which counts rounding errors; ``gap`` tells how far it is
        from the value.

    Notes
    -----
    The bound comes from a semidefinite relaxation with inequalities that every partition fulfils
    or, beyond 600 nodes, from dual prices of nodes where these prove more. Where it leaves a gap,
    problems of up to 1,000 nodes are solved by branch and bound: two nodes share a cluster or do
    not, with a bound for each. Memory is O(n²), with some 4 GiB at 15,000 nodes; on more there are
    dual prices, in O(n + edges), and else the eigenvalues Σλ.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> proven = leastcut.certify(S, ["a", "a", "a", "b", "b", "b"], cut="ratio")
    >>> proven.labels, proven.cut_value, proven.gap
    (array([0, 0, 0, 1, 1, 1]), 0.6666666666666666, 0.0)
    """
    # The limit counts from here: to check a large graph takes time as well.
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
    known = check_labels(labels, problem.n_nodes)
    proven: Partition = certify_labels(
        problem, known, gap=gap, budget=budget, random_state=random_state
    )
    return proven.named(problem.names)


def check_gap(gap: object) -> float:
    """Return ``gap`` as a float if it is at least 0 and less than 1."""
    number = check_number("gap", gap)
    if number >= 1.0:
        raise ValueError(
            f"gap={number:g} must be less than 1: every bound, even 0, is that near. Pass a part "
            "of the cut value, such as 0.01 for one percent."
        )
    return number


@singledispatch
def certify_labels(problem: AnyProblem, labels: np.ndarray, **options: Any) -> Partition:
    """Look for better labels of a problem than those given, 0..c-1, and certify the best."""
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
    """Look for better labels of a graph, and certify the best.

    Isolated nodes without weight take no part: value and bound are of the others, in as many
    clusters as ``labels`` has them in.
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
    known = problem.value(starts[0]) if starts else np.inf

    def progress_of_proof(search: Progress) -> ProofProgress:
        return ProofProgress(0.0, min(known, search.cut_value), 1, search.seconds)

    found = partition_problem(
        problem,
        n_clusters,
        starts=starts,
        budget=budget.share(fraction, progress_of_proof),
        lower_bound=False,
        random_state=random_state,
    )
    return certify_problem(problem, n_clusters, found, gap=gap, budget=budget)


def certify_problem(
    problem: Problem,
    n_clusters: int,
    found: Partition,
    *,
    gap: float = 0.0,
    budget: Budget | None = None,
) -> Partition:
    """Prove a bound for a partition of a reduced problem, and return the best partition known.

    ``found`` has labels 0..c-1 that the constraints allow, and perhaps a bound already.
    """
    budget = budget or Budget()
    # Numbers near the ends of the range of doubles are raised by powers of two.
    scaled = problem.within_range()
    up = _power(scaled) - _power(problem)
    bound = 0.0 if found.lower_bound is None else float(np.ldexp(found.lower_bound, up))
    proof = Proof(scaled, n_clusters, found.labels, gap, bound)

    def proven(value: float) -> float:
        # At its end the value itself, and what underflows is rounded down.
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
    if proof.labels is found.labels:
        return replace(found, lower_bound=proven(found.cut_value))
    value = problem.value(proof.labels)
    return Partition(number_by_appearance(proof.labels), value, proven(value))


def _power(problem: Problem) -> int:
    """Return the power of two of the largest edge, less that of the heaviest node."""
    edge = float(problem.graph.weights.max(initial=0.0))
    return int(np.frexp(edge)[1]) - int(np.frexp(problem.node_weights.max())[1])
