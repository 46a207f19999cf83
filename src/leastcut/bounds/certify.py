"""``certify``: how small the cut could be, proven, and the optimum where the proof gets there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leastcut.apart import Apart
from leastcut.bounds.proof import Proof, ProofProgress
from leastcut.multilevel.efforts import Progress
from leastcut.multilevel.search import partition_problem
from leastcut.problem import CutLike, Problem, as_problem
from leastcut.progress import ProofReading, check_listener, listening
from leastcut.results import Partition
from leastcut.validation import (
    RandomState,
    check_labels,
    check_number,
    number_by_appearance,
)

SEARCH_SHARE = 0.1
"""The part of a time limit for a search that looks for better labels before the proof begins."""

SMALLEST = float(np.finfo(np.float64).smallest_subnormal)

Tell = Callable[[ProofProgress], object]
"""What is called with the progress of a proof."""


def certify(
    graph: Any,
    labels: npt.ArrayLike,
    cut: CutLike = "normalized",
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    must_link: npt.ArrayLike | None = None,
    cannot_link: npt.ArrayLike | None = None,
    callback: Tell | str | None = None,
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
        The gap that is enough, as a part of the cut value, below 1. The proof ends once it is
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
    or, beyond 600 nodes, from prices of nodes where these prove more. Where it leaves a gap,
    problems of up to 1,000 nodes are split into cases, pairs of nodes that are together or apart,
    each with a bound of its own. Memory is O(n²), with some 4 GiB at 15,000 nodes; on more there
    are prices, in O(n + edges), and else the eigenvalues Σλ.

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
    began = time.monotonic()
    gap = check_gap(gap)
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, allow_infinite=True)
    check_listener(callback)
    problem = as_problem(graph, cut, symmetrize=symmetrize, isolated=isolated)
    names, own = problem.graph.names, check_labels(labels, problem.n_nodes)
    contraction = None
    if must_link is not None or cannot_link is not None:
        from leastcut.multilevel.links import Contraction, check_links  # which few calls need

        links = check_links(must_link, cannot_link, problem.n_nodes)
        if links is not None:
            links.check_init(own, "labels")
            if links.n_groups < problem.n_nodes:
                contraction = Contraction.of(problem, links.groups)
                problem, own = contraction.problem, contraction.carry(own)
            if links.apart is not None:
                problem = replace(problem, apart=Apart.of(links.apart, links.n_groups))

    def proven(problem: Problem, labels: np.ndarray) -> Partition:
        if problem.apart is not None:
            from leastcut.multilevel.links import with_apart

            problem = with_apart(problem, problem.apart.pairs, int(labels.max()) + 1)
        return certify_labels(
            problem,
            labels,
            gap=gap,
            time_limit=time_limit,
            callback=callback,
            random_state=random_state,
            began=began,
        )

    if problem.node_weights.min() > 0:
        found = proven(problem, own)
    else:
        found = _certify_core(problem, own, proven)
    return (found if contraction is None else contraction.expanded(found)).named(names)


def _certify_core(
    whole: Problem, labels: np.ndarray, proven: Callable[[Problem, np.ndarray], Partition]
) -> Partition:
    """Certify the labels, 0..c-1, of the nodes that weigh something, and keep the others with them.

    ``proven`` certifies a problem in which all nodes weigh something.
    """
    from leastcut.isolated import NoPlace, label_isolated  # which few calls need
    from leastcut.multilevel.core import of_all

    # 1. The clusters that hold such nodes, numbered without gaps.
    nodes = np.flatnonzero(whole.node_weights > 0)
    if nodes.size == 0:
        return Partition(number_by_appearance(labels), 0.0, 0.0)
    clusters, own = np.unique(labels[nodes], return_inverse=True)
    core = whole.restrict(nodes)
    if core.apart is not None and len(core.apart.pairs) == 0:
        core = replace(core, apart=None)
    before = core.value(own)
    found = proven(core, own)
    if not found.cut_value < before:
        return of_all(whole, replace(found, cut_value=before), labels)
    # 2. Better labels: clusters of other nodes alone stay, and each of the rest joins one anew.
    alone = np.flatnonzero(~np.isin(labels, clusters))
    better = np.empty_like(labels)
    better[nodes] = found.labels
    better[alone] = clusters.size + np.unique(labels[alone], return_inverse=True)[1].reshape(-1)
    placed = np.union1d(nodes, alone)
    try:
        everywhere = label_isolated(whole, placed, better[placed], int(labels.max()) + 1)
    except NoPlace:
        # What was found shows how small the value could be, but not that it can be so small.
        return of_all(whole, replace(found, cut_value=before), labels)
    return of_all(whole, found, everywhere)


def check_gap(gap: object) -> float:
    """Return ``gap`` as a float if it is at least 0 and less than 1."""
    found = check_number("gap", gap)
    if found >= 1.0:
        raise ValueError(
            f"gap={found:g} must be less than 1: every bound, even 0, is that near. Pass a part "
            "of the cut value, such as 0.01 for one percent."
        )
    return found


def certify_labels(
    problem: Problem,
    labels: np.ndarray,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    callback: Tell | str | None = None,
    random_state: RandomState = None,
    began: float | None = None,
) -> Partition:
    """Look for better labels of a problem than those given, 0..c-1, and certify what is found."""
    began = time.monotonic() if began is None else began
    n_clusters = int(labels.max()) + 1
    with listening(callback, "certify", lambda: ProofReading(time_limit)) as listener:
        found = partition_problem(
            replace(problem, apart=None),
            n_clusters,
            given=[labels],
            apart=None if problem.apart is None else problem.apart.pairs,
            time_limit=None if time_limit is None else SEARCH_SHARE * time_limit,
            lower_bound=False,
            random_state=random_state,
            callback=None if listener is None else before_proof(listener, problem.value(labels)),
            began=began,
        )
        deadline = math.inf if time_limit is None else began + time_limit
        if listener is not None and listener.has_stopped:
            deadline = -math.inf
        return certify_problem(
            problem, n_clusters, found, gap=gap, deadline=deadline, callback=listener, began=began
        )


def before_proof(tell: Tell, value: float = math.inf) -> Callable[[Progress], object]:
    """Return what tells of a search as of a proof that has proven nothing yet.

    ``value`` is that of the labels that are known.
    """
    return lambda progress: tell(
        ProofProgress(0.0, min(value, progress.cut_value), 1, progress.seconds)
    )


def certify_problem(
    problem: Problem,
    n_clusters: int,
    found: Partition,
    *,
    gap: float = 0.0,
    deadline: float = math.inf,
    callback: Tell | None = None,
    began: float | None = None,
    on_interrupt: str = "raise",
) -> Partition:
    """Prove what can be proven of a partition, with options that :func:`certify` would accept.

    ``found`` has labels 0..c-1 that keep apart what the problem says, and perhaps a bound already.
    ``deadline`` and ``began`` are on the monotonic clock.
    """
    began = time.monotonic() if began is None else began
    # Where numbers are near the ends of what doubles hold, they are raised by powers of two.
    scaled = problem.within_range()
    up = _power(scaled) - _power(problem)
    bound = 0.0 if found.lower_bound is None else float(np.ldexp(found.lower_bound, up))
    proof = Proof(scaled, n_clusters, found.labels, gap, bound)

    def proven(value: float) -> float:
        # At its end the value itself, and what underflows is rounded down.
        if proof.bound == proof.value:
            return value
        return max(float(np.ldexp(proof.bound, -up)) - (SMALLEST if up else 0.0), 0.0)

    def tell(proof: Proof) -> object:
        assert callback is not None
        seconds, value = time.monotonic() - began, problem.value(proof.labels)
        return callback(ProofProgress(proven(value), value, proof.n_open, seconds))

    try:
        proof.run(deadline, None if callback is None else tell)
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
    if proof.labels is found.labels:
        return replace(found, lower_bound=proven(found.cut_value))
    value = problem.value(proof.labels)
    return Partition(number_by_appearance(proof.labels), value, proven(value))


def _power(problem: Problem) -> int:
    """Return the power of two of the largest edge, less that of the heaviest node."""
    edge = float(problem.graph.weights.max(initial=0.0))
    return int(np.frexp(edge)[1]) - int(np.frexp(problem.node_weights.max())[1])
