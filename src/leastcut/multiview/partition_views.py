"""``partition_views``, which checks everything once and then searches several graphs as one."""

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

LEARNED, EQUAL = "auto", "equal"  # weights that are learned with the partition, or are all 1
ESTIMATED = {STAGE: (10.0, 1.0)}  # rough seconds of a search until its first step tells more


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
    """Partition several graphs over the same nodes at once, each weighed by how well it is cut.

    Parameters
    ----------
    graphs : sequence of graphs
        The views, each as :func:`leastcut.partition` takes a graph, of as many nodes in the same
        order; connected or not.
    n_clusters : int
        Number of clusters, from 1 to n.
    weights : {"auto", "equal"} or array-like of shape (V,), default="auto"
        ``"auto"`` minimises Σ_v √cut_v: a view that is cut well weighs more, by 1 / (2 √cut_v).
        Numbers w_v, none negative and not all 0, minimise Σ_v w_v cut_v, and ``"equal"`` is 1 for
        every view.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node. Under the normalized cut every view
        weighs nodes by its own degrees, so that it makes no difference if all edges of a view are
        multiplied by a number; under the others it does.
    effort : {"fast", "auto", "balanced", "thorough"}, default="balanced"
        How long every graph is searched on the way, as :func:`leastcut.partition` has it: each
        view, and their sum once for every round of weighing. With the same seed more effort is
        never worse.
    init : array-like of shape (n,), or list of such, optional
        Partitions to take part, each into exactly ``n_clusters`` clusters; the result is never
        worse than the best of them.
    time_limit : float, optional
        Seconds after which the search ends; a first pass over the sum of the views is always made.
        The bounds are part of them, and None where they are not enough.
    lower_bound : bool, optional
        Whether to compute lower bounds, an eigenproblem for every view. By default only on small
        graphs.
    random_state : int, Generator, RandomState or None
        Seed. With an integer the labels are the same every time, on any number of threads.
    callback : callable or "tqdm", optional
        Called with a :class:`leastcut.Progress`, whose stage is "views" and whose ``cut_value`` is
        the smallest objective so far, now and then. Where it returns True, and nothing else that
        counts as true, the search stops as at a time limit. ``"tqdm"`` is a progress bar.
    n_jobs : int, optional
        Threads, as :func:`leastcut.partition` has it.
    symmetrize : {"mean", "max"} or None, default=None
        What to make of directed graphs: (S + Sᵀ) / 2, or the larger of both directions. With None
        they are an error.
    isolated : {"error", "ignore"}, default="error"
        What becomes of nodes without edges in a view, which the normalized cut does not weigh
        there: an error, or they add nothing to the cut of that view, and go where other views have
        them. Nodes without edges in any view join some cluster.

    Returns
    -------
    PartitionOfViews
        With one graph, the labels are those of :func:`leastcut.partition`. With the same seed and
        effort its objective is never above that of what :func:`leastcut.partition` finds of any
        view by itself, unless there is a time limit.

    Notes
    -----
    The objective is that of auto-weighted multiple graph learning [1]_; what that paper relaxes to
    eigenvectors and k-means is minimised here over partitions themselves. Under the ratio cut, or
    given weights of nodes, Σ_v α_v cut_v is the cut of the one graph Σ_v α_v S_v. Under the
    normalized cut no graph has it as its cut; the sum of the views is then searched for proposals,
    which moves of nodes improve by the exact change of the objective.

    Both bounds are proven by eigenvalues, of every view and of their sum. A view in which nothing
    is cut adds 0 to the objective, and its weight is infinite: its first edge cut would cost more
    than any other gains.

    References
    ----------
    .. [1] F. Nie, J. Li and X. Li, "Parameter-free auto-weighted multiple graph learning: a
       framework for multiview clustering and semi-supervised classification", IJCAI 2016.

    Examples
    --------
    >>> import leastcut
    >>> one = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> other = [[0, 3, 1, 0], [3, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]]
    >>> found = leastcut.partition_views([one, other], 2, cut="ratio", random_state=0)
    >>> found.labels, found.cuts, found.weights.round(3)
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
    as_generator(random_state)  # which raises if it is no seed
    with budget.shown(
        "partition_views", lambda: TimeEstimate((STAGE,), ESTIMATED, budget.time_limit)
    ):
        found: PartitionOfViews = solve(problem, n_clusters, starts, options, budget)
    return found


def check_views(
    graphs: Any, cut: CutLike = "normalized", symmetrize: str | None = None, isolated: str = "error"
) -> tuple[Problem, ...]:
    """Return the problem of every view, if there is one at least and all have the same nodes."""
    is_array = isinstance(graphs, np.ndarray) and graphs.ndim == 3
    if not (is_array or isinstance(graphs, list | tuple)):
        raise TypeError(
            f"graphs must be a list of graphs over the same nodes, but it is of type "
            f"{type(graphs).__name__}; pass [graph] if there is one."
        )
    if len(graphs) == 0:
        raise ValueError("graphs is empty; there must be one graph at least.")
    problems: list[Problem] = []
    for v, graph in enumerate(graphs):
        try:
            problem = as_problem(graph, cut, symmetrize=symmetrize, isolated=isolated)
        except (TypeError, ValueError) as error:  # repeated with the view that it is about
            raise type(error)(f"graphs[{v}]: {error}") from None
        if problems and problem.n_nodes != problems[0].n_nodes:
            raise ValueError(
                f"graphs[0] has {problems[0].n_nodes} nodes and graphs[{v}] has "
                f"{problem.n_nodes}; views are graphs over the same nodes, in the same order."
            )
        names, others = problem.graph.names, problems[0].graph.names if problems else None
        if names is not None and others is not None and names != others:
            raise ValueError(
                f"The nodes of graphs[0] and graphs[{v}] have other names, or the same in another "
                "order; views are graphs over the same nodes, in the same order."
            )
        problems.append(problem)
    return tuple(problems)


def check_view_weights(weights: Any, n_views: int, name: str = "weights") -> np.ndarray | None:
    """Return the weights of views as numbers, or None where they are to be learned."""
    if isinstance(weights, str):
        known = check_choice(name, weights, (LEARNED, EQUAL))
        return None if known == LEARNED else np.ones(n_views)
    numbers = as_floats(name, weights)
    if numbers.shape != (n_views,):
        raise ValueError(
            f"{name} needs one number for every view, so shape ({n_views},), but its shape is "
            f"{numbers.shape}; or pass {LEARNED!r} or {EQUAL!r}."
        )
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if bad.size:
        raise ValueError(
            f"{name}[{bad[0]}] is {numbers[bad[0]]}; weights of views must be finite and none "
            "below 0."
        )
    if not numbers.any():
        raise ValueError(f"{name} are all 0, so that every partition is as good; make one larger.")
    return numbers.copy()
