"""Graph partitioning: search for the smallest cut, with an optional lower bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import numpy.typing as npt

from leastcut.budget import Budget
from leastcut.multilevel.efforts import EFFORTS, TIGHT, Progress, SearchOptions
from leastcut.multilevel.number_of_clusters import auto_number
from leastcut.multilevel.search import partition_problem
from leastcut.problem import (
    EDGES,
    AnyProblem,
    CutLike,
    Problem,
    as_any_problem,
    unsupported_problem,
)
from leastcut.progress import SEARCH_STAGES, TimeEstimate
from leastcut.reductions import Reduced, Start, solve_reduced
from leastcut.results import Partition
from leastcut.seeds import RandomState
from leastcut.validation import check_starts

# Fraction of the time limit for the search if the result is then certified.
TIGHT_SHARE = 0.5


def partition(
    graph: Any,
    n_clusters: int | str,
    cut: CutLike = "normalized",
    *,
    effort: str = "balanced",
    init: npt.ArrayLike | list[npt.ArrayLike] | None = None,
    must_link: npt.ArrayLike | None = None,
    cannot_link: npt.ArrayLike | None = None,
    balance: float | tuple[float, float] | None = None,
    time_limit: float | None = None,
    lower_bound: bool | str | None = None,
    on_interrupt: str = "raise",
    random_state: RandomState = None,
    callback: Callable[[Progress], object] | str | None = None,
    n_jobs: int | None = None,
    symmetrize: str | None = None,
    isolated: str = "error",
) -> Partition:
    """Partition a graph into clusters, searching for the smallest cut.

    Parameters
    ----------
    graph : sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities. Self-loops are allowed, and the graph need not be
        connected. Graphs of networkx and igraph, ``(edge_index, edge_weight)`` tuples of
        torch_geometric, edge lists in pandas or polars data frames, and AnnData objects with
        ``obsp["connectivities"]`` are accepted as well; see :mod:`leastcut.integrations.graphs`.
    n_clusters : int or "auto"
        The number of clusters, from 1 to n. ``"auto"`` selects a number from 1 to 20 from the
        eigenvalues and eigenvectors of the graph, like :class:`leastcut.SpectralClustering`, and
        warns if the evidence for it is weak.
    cut : {"ratio", "normalized", "edges"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node. ``"edges"`` is the total weight of
        the edges between clusters; it requires ``balance``, which then limits numbers of nodes.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        How much work to spend on the search; see Notes. With the same seed, more effort never gives
        a larger cut value.
    init : array-like of shape (n,), or list of such, optional
        Initial partitions, each into exactly ``n_clusters`` clusters. The result is never worse
        than the best of them.
    must_link : array-like of shape (m, 2), optional
        Pairs of node numbers; the nodes of each pair are in the same cluster.
    cannot_link : array-like of shape (m, 2), optional
        Pairs of node numbers; the nodes of each pair are in different clusters. Pairs that
        contradict each other, ``must_link``, ``init`` or ``n_clusters`` raise an error before the
        search starts.
    balance : float or pair of floats, optional
        The largest allowed deviation of cluster weights from their average, as a fraction: no
        cluster weighs more than ``1 + balance`` times the average. With a pair ``(below, above)``,
        no cluster weighs less than ``1 - below`` times the average either. Weights are the node
        weights of the cut: numbers of nodes for the ratio cut, degrees for the normalized cut. A
        balance that no partition satisfies raises an error before the search starts. Cannot be
        combined with ``cannot_link`` or ``lower_bound="tight"``.
    time_limit : float, optional
        Seconds after which the search stops. The first multilevel pass is always completed. The
        time includes the lower bound, which is None if there was not enough time for it.
    lower_bound : bool or "tight", optional
        Whether to compute the lower bound Σλ by solving an eigenproblem. By default it is computed
        for small graphs only. ``"tight"`` computes a larger bound like :func:`leastcut.certify`,
        which may also improve the partition; the search then has half of the time limit.
    on_interrupt : {"raise", "return"}, default="raise"
        Whether Ctrl-C raises, or returns the best partition so far once there is one.
    random_state : int, Generator, RandomState or None, default=None
        Seed. An integer gives the same labels in every call, with any number of threads.
    callback : callable or "tqdm", optional
        Called with a :class:`Progress` after every batch of passes, and on large graphs also
        between the levels of the first pass. Returning True, not another truthy value, stops the
        search, as a time limit does. ``"tqdm"`` shows a progress bar on standard error if the
        search takes more than a second.
    n_jobs : int, optional
        Number of threads; -1 means one per available core. By default one per core, at most 8, if
        the graph is large enough to benefit.
    symmetrize : {"mean", "max"} or None, default=None
        How to make a directed graph symmetric: by the mean of both directions, (S + Sᵀ) / 2, or by
        their maximum. With None a directed graph raises an error.
    isolated : {"error", "ignore"}, default="error"
        How to treat nodes without edges, for which the normalized cut is undefined: raise an error,
        or ignore them: partition the other nodes, then assign each isolated node to a cluster. Cut
        value and lower bound then refer to the other nodes.

    Returns
    -------
    Partition
        The labels are in the order of the nodes. If the graph has node names,
        :meth:`leastcut.Partition.by_node` returns the labels by name.

    See Also
    --------
    refine : Improve an existing partition by moving single nodes.
    cut_path : Partition a graph for several numbers of clusters.
    exact_partition : Find and prove the smallest cut of a small graph.
    certify : Compute a tight lower bound for a partition.
    partition_views : Partition several graphs over the same nodes together.
    SpectralClustering : Cluster samples with the scikit-learn interface.

    Notes
    -----
    ``"fast"`` recombines two multilevel passes and, if it is cheap, a spectral solution; above
    300,000 nodes it does so on a coarser level of the graph. ``"auto"`` adds passes and
    recombinations for a quarter of the estimated work of computing the graph's eigenvectors, and
    above 300,000 nodes for at most half the work of ``"fast"``. ``"balanced"`` continues for about
    a second, longer on large graphs, and ``"thorough"`` until new populations bring no improvement.
    Work is counted in visited edges, so results do not depend on the speed of the machine unless
    there is a time limit.

    The lower bound equals the cut value if the partition is proven optimal, as on tiny graphs. With
    ``must_link`` it is a bound on the partitions that satisfy the pairs. Must-linked nodes are
    contracted, which is exact. With non-integer node weights, cluster weights may exceed the limits
    of ``balance`` by rounding, at most 1e-9 of the average.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> result = leastcut.partition(S, 2, cut="ratio", random_state=0)
    >>> result.cut_value, bool(result.labels[0] == result.labels[2])
    (0.6666666666666666, True)

    Require nodes 0 and 3 in the same cluster, and nodes 1 and 3 in different clusters:

    >>> result = leastcut.partition(S, 2, must_link=[(0, 3)], cannot_link=[(1, 3)], random_state=0)
    >>> labels = result.labels
    >>> bool(labels[0] == labels[3]), bool(labels[1] == labels[3])
    (True, False)

    Ignore an isolated node:

    >>> S = [[0, 2, 0, 0, 0], [2, 0, 1, 0, 0], [0, 1, 0, 2, 0], [0, 0, 2, 0, 0], [0, 0, 0, 0, 0]]
    >>> leastcut.partition(S, 2, isolated="ignore", random_state=0).cut_value
    0.4
    """
    # The clock starts before validation, which takes time on large graphs.
    budget = Budget(time_limit, callback, on_interrupt)
    options = SearchOptions.checked(effort, lower_bound, random_state, n_jobs)
    _check_balance(balance, options, cut)
    _check_auto(n_clusters, init)
    problem = as_any_problem(
        graph,
        cut,
        must_link=must_link,
        cannot_link=cannot_link,
        balance=balance,
        allow_edges=True,
        symmetrize=symmetrize,
        isolated=isolated,
    )
    if isinstance(n_clusters, str):
        n_clusters = auto_number(problem, random_state, budget)
    number: int = problem.check_n_clusters(n_clusters)
    starts = check_starts(init, problem.n_nodes, number)
    stages = (*EFFORTS[options.effort].stages, *((TIGHT,) if options.is_tight else ()))
    with budget.shown("partition", lambda: TimeEstimate(stages, SEARCH_STAGES, budget.time_limit)):
        result: Partition = solve(problem, number, starts, options, budget)
    return result.named(problem.names)


@singledispatch
def solve(
    problem: AnyProblem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> Any:
    """Search for the smallest cut of a problem, with the lower bound that the options require.

    The type of the result depends on the type of problem.
    """
    raise unsupported_problem("partition", problem)


@solve.register(Problem)
def solve_graph(
    problem: Problem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> Partition:
    """Reduce the problem, search, compute the lower bound, and expand the result."""

    def solve_core(reduced: Reduced) -> Partition:
        result = partition_problem(
            reduced.problem,
            reduced.n_clusters,
            effort=options.effort,
            starts=reduced.starts,
            budget=budget.share(TIGHT_SHARE if options.is_tight else 1.0),
            lower_bound=options.bound_of_search,
            random_state=options.random_state,
            n_jobs=options.n_jobs,
        )
        if not options.is_tight or budget.is_stopped:
            return result
        from leastcut.bounds.certify import certify_problem  # imports this package

        proof = budget.share(translate=_as_stage)
        return certify_problem(reduced.problem, reduced.n_clusters, result, budget=proof)

    return solve_reduced(problem, n_clusters, solve_core, starts)


def _as_stage(proof: Any) -> Progress:
    """Return the progress of a proof as the progress of another stage."""
    # The bound increases towards the value.
    done = proof.lower_bound / proof.cut_value if proof.n_open else 1.0
    return Progress(TIGHT, done, proof.cut_value, proof.seconds)


def _check_balance(balance: object, options: SearchOptions, cut: CutLike) -> None:
    """Raise if the balance is missing, or cannot be combined with the lower bound."""
    if balance is None and isinstance(cut, str) and cut == EDGES:
        raise ValueError(
            "cut='edges' needs balance, such as balance=0.03: without limits the smallest edge cut "
            "separates single nodes. Pass balance, or another cut, such as 'normalized'."
        )
    if balance is not None and options.is_tight:
        raise ValueError(
            "lower_bound='tight' cannot be combined with balance. Pass lower_bound=True, whose "
            "bound holds for balanced partitions too, or leave balance out."
        )


def _check_auto(n_clusters: object, init: object) -> None:
    """Raise if ``n_clusters`` is a string other than "auto", or contradicts ``init``."""
    if not isinstance(n_clusters, str):
        return
    if n_clusters != "auto":
        raise TypeError(f"n_clusters={n_clusters!r} must be an integer or 'auto'.")
    if init is not None:
        raise ValueError(
            "init cannot be combined with n_clusters='auto', because init defines a number of "
            "clusters. Pass that number as n_clusters, or leave init out."
        )
