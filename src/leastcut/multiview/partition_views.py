"""Partitioning of several graphs over the same nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from leastcut.budget import Budget
from leastcut.multilevel.efforts import Progress, SearchOptions
from leastcut.multilevel.partition import solve
from leastcut.multiview.problem import MultiViewProblem, PartitionOfViews
from leastcut.multiview.search import STAGE
from leastcut.problem import CutLike, Problem, as_problem
from leastcut.progress import TimeEstimate
from leastcut.seeds import RandomState, as_generator
from leastcut.validation import as_floats, check_choice, check_flag, check_starts

LEARNED, EQUAL = "auto", "equal"  # weights learned with the partition, or all 1
ESTIMATED = {STAGE: (10.0, 1.0)}  # rough time estimate in seconds until the first progress report


def partition_views(
    graphs: Sequence[Any],
    n_clusters: int,
    weights: str | npt.ArrayLike = LEARNED,
    *,
    cut: CutLike = "normalized",
    effort: str = "balanced",
    init: npt.ArrayLike | list[npt.ArrayLike] | None = None,
    time_limit: float | None = None,
    lower_bound: bool | None = None,
    random_state: RandomState = None,
    callback: Callable[[Progress], object] | str | None = None,
    n_jobs: int | None = None,
    symmetrize: str | None = None,
    isolated: str = "error",
) -> PartitionOfViews:
    """Partition several graphs over the same nodes into common clusters, with learned weights.

    Parameters
    ----------
    graphs : sequence of graphs
        The views: graphs that :func:`leastcut.partition` accepts, with the same nodes in the same
        order. They need not be connected.
    n_clusters : int
        The number of clusters, from 1 to n.
    weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        The weights of the views. ``"auto"`` minimizes Σ_v √cut_v, which gives the weight
        1 / (2 √cut_v) to a view, so that views with a smaller cut value count more. Non-negative
        numbers w_v minimize Σ_v w_v cut_v, and ``"equal"`` uses 1 for every view.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node. The normalized cut uses the degrees
        of each view and is invariant to the scale of its edge weights; the other cuts are not.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        How much work to spend on the search in each view, and in their weighted sum in each round;
        see :func:`leastcut.partition`. With the same seed, more effort never gives a larger
        objective.
    init : array-like of shape (n,), or list of such, optional
        Initial partitions, each into exactly ``n_clusters`` clusters. The result is never worse
        than the best of them.
    time_limit : float, optional
        Seconds after which the search stops. A first pass over the sum of the views is always
        completed. The time includes the lower bounds, which are None if there was not enough time.
    lower_bound : bool, optional
        Whether to compute lower bounds by solving an eigenproblem for every view and for their sum.
        By default they are computed for small graphs only.
    random_state : int, Generator, RandomState or None, default=None
        Seed. An integer gives the same labels in every call, with any number of threads.
    callback : callable or "tqdm", optional
        Called regularly with a :class:`leastcut.Progress`, whose stage is "views" and whose
        ``cut_value`` is the smallest objective so far. Returning True stops the search, as a time
        limit does. ``"tqdm"`` shows a progress bar.
    n_jobs : int, optional
        Number of threads, as for :func:`leastcut.partition`.
    symmetrize : {"mean", "max"} or None, default=None
        How to make directed graphs symmetric: by the mean of both directions, (S + Sᵀ) / 2, or by
        their maximum. With None directed graphs raise an error.
    isolated : {"error", "ignore"}, default="error"
        How to treat nodes without edges in a view, for which the normalized cut of this view is
        undefined: raise an error, or ignore them in this view, so that the other views determine
        their cluster. Nodes without edges in all views join some cluster.

    Returns
    -------
    PartitionOfViews
        The common partition. For a single graph, the labels are the same as from
        :func:`leastcut.partition`.

    See Also
    --------
    partition : Partition a single graph.
    MultiViewSpectralClustering : Cluster samples with several sets of features.
    refine : Improve a partition of one graph by moving single nodes.

    Notes
    -----
    The objective is from auto-weighted multiple graph learning [1]_. That paper relaxes it to
    eigenvectors and applies k-means; here it is minimized over partitions directly. For the ratio
    cut and for given node weights, Σ_v α_v cut_v is the cut value of the graph Σ_v α_v S_v. For the
    normalized cut it is not the cut value of any graph; the search on the sum of the views then
    proposes partitions, which are improved by moves of nodes with the exact change of the
    objective.

    With the same seed and effort, and without a time limit, the objective is never larger than for
    the partition that :func:`leastcut.partition` finds in any single view. The lower bounds follow
    from the eigenvalues of every view and of their sum. A view in which no edge is cut adds 0 to
    the objective and has an infinite weight.

    References
    ----------
    .. [1] F. Nie, J. Li and X. Li, "Parameter-free auto-weighted multiple graph learning: a
       framework for multiview clustering and semi-supervised classification", IJCAI 2016.

    Examples
    --------
    >>> import leastcut
    >>> one = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> other = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> result = leastcut.partition_views([one, other], 2, cut="ratio", random_state=0)
    >>> result.labels, result.cuts, result.weights.round(3)
    (array([0, 0, 1, 1]), array([1., 2.]), array([0.5  , 0.354]))
    """
    budget = Budget(time_limit, callback)
    if lower_bound is not None:
        lower_bound = check_flag("lower_bound", lower_bound)
    options = SearchOptions.checked(effort, lower_bound, random_state, n_jobs)
    problems = check_views(graphs, cut, symmetrize, isolated)
    problem = MultiViewProblem(problems, check_view_weights(weights, len(problems)))
    n_clusters = problem.check_n_clusters(n_clusters)
    starts = check_starts(init, problem.n_nodes, n_clusters)
    as_generator(random_state)  # raises if it is not a seed
    with budget.shown(
        "partition_views", lambda: TimeEstimate((STAGE,), ESTIMATED, budget.time_limit)
    ):
        result: PartitionOfViews = solve(problem, n_clusters, starts, options, budget)
    return result


def check_views(
    graphs: Any, cut: CutLike = "normalized", symmetrize: str | None = None, isolated: str = "error"
) -> tuple[Problem, ...]:
    """Return the problem of every view; raise unless all views have the same nodes."""
    is_array = isinstance(graphs, np.ndarray) and graphs.ndim == 3
    if not (is_array or isinstance(graphs, list | tuple)):
        raise TypeError(
            f"graphs must be a list of graphs over the same nodes, but its type is "
            f"{type(graphs).__name__}; pass [graph] for a single graph."
        )
    if len(graphs) == 0:
        raise ValueError("graphs is empty; pass at least one graph.")
    problems: list[Problem] = []
    for v, graph in enumerate(graphs):
        try:
            problem = as_problem(graph, cut, symmetrize=symmetrize, isolated=isolated)
        except (TypeError, ValueError) as error:  # add the index of the view
            raise type(error)(f"graphs[{v}]: {error}") from None
        if problems and problem.n_nodes != problems[0].n_nodes:
            raise ValueError(
                f"graphs[0] has {problems[0].n_nodes} nodes, but graphs[{v}] has "
                f"{problem.n_nodes}; all views must have the same nodes in the same order."
            )
        names, others = problem.graph.names, problems[0].graph.names if problems else None
        if names is not None and others is not None and names != others:
            raise ValueError(
                f"The nodes of graphs[0] and graphs[{v}] have different names or a different "
                "order; all views must have the same nodes in the same order."
            )
        problems.append(problem)
    return tuple(problems)


def check_view_weights(weights: Any, n_views: int, name: str = "weights") -> np.ndarray | None:
    """Return the weights of views as an array, or None if they are learned."""
    if isinstance(weights, str):
        known = check_choice(name, weights, (LEARNED, EQUAL))
        return None if known == LEARNED else np.ones(n_views)
    numbers = as_floats(name, weights)
    if numbers.shape != (n_views,):
        raise ValueError(
            f"{name} must be {LEARNED!r}, {EQUAL!r} or an array with one number per view, of shape "
            f"({n_views},), but its shape is {numbers.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if bad.size:
        raise ValueError(
            f"{name}[{bad[0]}] is {numbers[bad[0]]}, but weights of views must be finite and "
            "non-negative."
        )
    if not numbers.any():
        raise ValueError(f"{name} are all 0; at least one must be positive.")
    return numbers.copy()
