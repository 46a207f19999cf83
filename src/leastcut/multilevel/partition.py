"""``partition``: the smallest cut of a graph that can be found, and what is proven about it."""

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

# The fraction of a time limit for the search if the result is to be certified as well.
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
    """Partition a graph into ``n_clusters`` clusters with the smallest cut that can be found.

    Parameters
    ----------
    graph : Graph, sparse matrix, array-like of shape (n, n), AnchorGraph or graph of a library
        Symmetric non-negative affinities; self-loops allowed, connected or not. Libraries: graphs
        of networkx and igraph, ``(edge_index, edge_weight)`` as torch_geometric has them, edge
        lists in data frames of pandas and polars, and an AnnData with ``obsp["connectivities"]``;
        :mod:`leastcut.integrations.graphs` says how each is read.
    n_clusters : int or "auto"
        Number of clusters, from 1 to n. ``"auto"`` takes the number, from 1 to 20, that the
        eigenpairs of the graph speak for, as :class:`leastcut.SpectralClustering` does, and warns
        where they hardly do.
    cut : {"ratio", "normalized", "edges"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node. ``"edges"`` is the weight of the
        edges between clusters, each once, and needs ``balance``, which is then of nodes.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        ``fast`` recombines two multilevel passes and, where it costs little, a spectral solution;
        above 300,000 nodes on a coarser level of the graph. ``auto`` goes on with further passes
        and recombinations for a quarter of what the graph's eigenvectors would take, if that is
        longer, and above 300,000 nodes for at most half the work of ``fast``, ``balanced`` for
        about a second, longer on large graphs, and ``thorough`` until populations stop improving.
        With the same seed, more effort never gives a larger value.
    init : array-like of shape (n,), or list of such, optional
        Partitions to take part, each into exactly ``n_clusters`` clusters; the result is never
        worse than the best of them.
    must_link : array-like of shape (m, 2), optional
        Pairs of node numbers: the nodes of each pair are in one cluster, and with them all that
        further pairs join to them. Their weights and edges are added up, which is exact.
    cannot_link : array-like of shape (m, 2), optional
        Pairs of node numbers: the nodes of each pair are in different clusters. Pairs that
        contradict each other, ``must_link``, ``init`` or ``n_clusters`` raise before any work.
    balance : float or pair of floats, optional
        No cluster weighs more than ``1 + balance`` times what they weigh on average, by the node
        weights of the cut: nodes for the ratio cut, degrees for the normalized one. A pair is
        ``(below, above)``: none weighs less than ``1 - below`` times that either. Every move keeps
        to it; where no partition can, an error says so before any work. Weights that are not whole
        numbers may pass a limit by 1e-9 of the average, which is their rounding. Not together with
        ``cannot_link`` or ``lower_bound="tight"``.
    time_limit : float, optional
        Seconds after which the search ends, and all but its first pass, which it always makes, is
        cut short; the lower bound is part of them, and None where they are not enough for it.
    lower_bound : bool or "tight", optional
        Whether to compute the lower bound Σλ, an eigenproblem. By default only on small graphs. It
        is the value itself where that is proven to be the smallest there is, as on tiny graphs.
        With ``must_link`` it bounds the partitions that keep those pairs together. ``"tight"``
        certifies what was found as :func:`leastcut.certify` does, which may find something better;
        of a time limit it has half, and what the search leaves.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does: raise, or return the best so far once there is one. On large graphs it
        does not wait for the loop that is running, which ends in a thread of its own.
    random_state : int, Generator, RandomState or None
        Seed. With an integer the labels are the same every time, on any number of threads.
    callback : callable or "tqdm", optional
        Called with a :class:`Progress` after every batch of passes, and on large graphs also
        between the levels of the first. Where it returns True, and nothing else that counts as
        true, the search stops as at a time limit: the first pass is always made, the best so far
        is returned, and the lower bound is None unless it was there already. ``"tqdm"`` is a
        progress bar on the standard error for what takes more than a second.
    n_jobs : int, optional
        Threads; -1 is one per available core. By default as many as there are cores, at most 8,
        where the graph is large enough to gain by them.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of a directed graph: (S + Sᵀ) / 2, or the larger of both directions. With None
        it is an error.
    isolated : {"error", "ignore"}, default="error"
        What becomes of nodes without edges, which the normalized cut does not weigh: an error, or
        the others are cut, into as many clusters as there are to be if they are enough, and then
        each of these joins one of them. Value and bound are of the nodes with edges.

    Returns
    -------
    Partition
        Its labels are in the order of the nodes; :meth:`leastcut.Partition.by_node` has them by
        name where the graph has names of nodes.

    Examples
    --------
    >>> import leastcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> found = leastcut.partition(S, 2, cut="ratio", random_state=0)
    >>> found.cut_value, bool(found.labels[0] == found.labels[2])
    (0.6666666666666666, True)

    Nodes 0 and 3 together, and 1 in another cluster:

    >>> found = leastcut.partition(S, 2, must_link=[(0, 3)], cannot_link=[(1, 3)], random_state=0)
    >>> labels = found.labels
    >>> bool(labels[0] == labels[3]), bool(labels[1] == labels[3])
    (True, False)

    A node without edges beside them:

    >>> S = [[0, 2, 0, 0, 0], [2, 0, 1, 0, 0], [0, 1, 0, 2, 0], [0, 0, 2, 0, 0], [0, 0, 0, 0, 0]]
    >>> leastcut.partition(S, 2, isolated="ignore", random_state=0).cut_value
    0.4
    """
    # The limit counts from here: to check a large graph takes time as well.
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
        found: Partition = solve(problem, number, starts, options, budget)
    return found.named(problem.names)


@singledispatch
def solve(
    problem: AnyProblem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> Any:
    """Search for the smallest cut of a problem, and prove as much as the options ask for.

    The result, a Partition or the like, has the labels of all nodes.
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
    """Reduce the problem, search what is left, prove, and expand."""

    def solve_core(reduced: Reduced) -> Partition:
        found = partition_problem(
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
            return found
        from leastcut.bounds.certify import certify_problem  # which is above this package

        proof = budget.share(translate=_as_stage)
        return certify_problem(reduced.problem, reduced.n_clusters, found, budget=proof)

    return solve_reduced(problem, n_clusters, solve_core, starts)


def _as_stage(proof: Any) -> Progress:
    """Return the progress of a proof as that of one more stage."""
    # The bound rises to the value: that fraction of it is done.
    done = proof.lower_bound / proof.cut_value if proof.n_open else 1.0
    return Progress(TIGHT, done, proof.cut_value, proof.seconds)


def _check_balance(balance: object, options: SearchOptions, cut: CutLike) -> None:
    """Raise if the balance is needed, or contradicts the bound."""
    if balance is None and isinstance(cut, str) and cut == EDGES:
        raise ValueError(
            "cut='edges' needs balance=, such as 0.03: without limits the smallest edge cut is "
            "that of single nodes. Pass balance, or a cut that weighs clusters, as 'normalized'."
        )
    if balance is not None and options.is_tight:
        raise ValueError(
            "lower_bound='tight' proves a bound of all partitions, balanced or not. Pass "
            "lower_bound=True, whose bound holds for balanced ones as well, or leave balance out."
        )


def _check_auto(n_clusters: object, init: object) -> None:
    """Raise if ``n_clusters`` is a word other than "auto", or contradicts ``init``."""
    if not isinstance(n_clusters, str):
        return
    if n_clusters != "auto":
        raise TypeError(f"n_clusters={n_clusters!r} must be a whole number or 'auto'.")
    if init is not None:
        raise ValueError(
            "init and n_clusters='auto' contradict each other: init has a number of clusters "
            "already. Pass that number as n_clusters, or leave init out."
        )
