"""Views that are known to be valid: what takes part is cut, the rest labelled, all is bounded."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from leastcut.isolated import clusters_of_core, label_isolated
from leastcut.multilevel.search import partition_problem
from leastcut.multiview.bounds import bound_of, objective_bound, weighted_bound
from leastcut.multiview.problem import Views
from leastcut.multiview.result import PartitionOfViews
from leastcut.multiview.search import Found, Options, search_views
from leastcut.validation import number_by_appearance


class Proven(NamedTuple):
    """What nothing is below: no objective, no weighted sum of cuts, and no cut of each view."""

    objective: float | None = None
    weighted: float | None = None
    views: np.ndarray | None = None


def cut_views(
    whole: Views,
    n_clusters: int,
    inits: Sequence[tuple[str, np.ndarray]],
    options: Options,
    names: tuple[Any, ...] | None = None,
) -> PartitionOfViews:
    """Search views that are known to be valid, and bound what no partition of them is below.

    ``inits`` are labels 0..n_clusters-1, each with the name that errors have for it.
    """
    # 1. Views without a weight take no part, nor do nodes that weigh nothing in any other.
    used = np.arange(whole.n_views)
    if whole.given is not None:
        used = np.flatnonzero(whole.given > 0)
    views = Views(
        tuple(whole.problems[v] for v in used), None if whole.given is None else whole.given[used]
    )
    heaviest = np.max([problem.node_weights for problem in views.problems], axis=0)
    nodes = np.flatnonzero(heaviest > 0)
    # 2. Search what is left.
    labels, found = _cut_core(views, nodes, n_clusters, inits, options)
    cuts = whole.cuts(labels)
    # 3. Bound, in the time that is left.
    deadline = math.inf if options.time_limit is None else options.began + options.time_limit
    proven = Proven()
    is_stopped = options.callback is not None and options.callback.has_stopped
    if options.lower_bound and not is_stopped:
        proven = prove(
            whole, cuts, n_clusters, dict(zip(used, found.bounds, strict=True)), deadline
        )
    return PartitionOfViews(
        labels,
        whole.objective(cuts),
        cuts,
        whole.weights(cuts),
        proven.objective,
        proven.weighted,
        proven.views,
        np.array(found.history),
        found.n_iter,
        found.converged,
        names,
    )


def _cut_core(
    views: Views,
    nodes: np.ndarray,
    n_clusters: int,
    inits: Sequence[tuple[str, np.ndarray]],
    options: Options,
) -> tuple[np.ndarray, Found]:
    """Return labels of all nodes, cut as ``nodes`` are, which weigh something in some view."""
    n = views.n_nodes
    nothing: list[float | None] = [None] * views.n_views
    if nodes.size == 0:
        labels = np.minimum(np.arange(n), n_clusters - 1)
        return labels, Found(labels, [0.0], 0, True, nothing)
    core, is_whole = views.restrict(nodes), nodes.size == n
    count = clusters_of_core(n_clusters, nodes.size, n - nodes.size)
    for name, labels in inits:
        there = np.unique(labels[nodes]).size
        if there != count:
            raise ValueError(
                f"{name} has nodes with edges in {there} of its {n_clusters} clusters, and "
                f"{count} are wanted: nodes without edges are clusters only where there are not "
                "enough others. Give it so many, or leave it out."
            )
    given = [number_by_appearance(labels[nodes]) for _, labels in inits]
    if count in (1, nodes.size):
        only = np.arange(nodes.size) if count > 1 else np.zeros(nodes.size, dtype=np.int64)
        found = Found(only, [core.value(only)], 0, True, core.cuts(only).tolist())
    elif core.n_views == 1:
        found = _cut_one(core, count, given, options)
    else:
        found = search_views(core, count, given, options)
        found = found._replace(labels=number_by_appearance(found.labels))
    if is_whole:
        return found.labels, found
    equal = np.ones(views.n_views)
    labels = label_isolated(views.combined(equal).problem, nodes, found.labels, n_clusters)
    # What bounds the nodes with edges does so in as many clusters as they are in.
    return number_by_appearance(labels), found._replace(bounds=nothing)


def _cut_one(views: Views, n_clusters: int, given: list[np.ndarray], options: Options) -> Found:
    """Cut the only view, as :func:`leastcut.partition` does."""
    found = partition_problem(
        views.problems[0],
        n_clusters,
        effort=options.effort,
        given=given,
        time_limit=options.time_limit,
        lower_bound=options.lower_bound,
        random_state=options.random_state,
        callback=options.callback,
        n_jobs=options.n_jobs,
        began=options.began,
    )
    late = options.time_limit is not None and time.monotonic() > options.began + options.time_limit
    ended = not late and not (options.callback is not None and options.callback.has_stopped)
    return Found(found.labels, [views.value(found.labels)], 0, ended, [found.lower_bound])


def prove(
    whole: Views,
    cuts: np.ndarray,
    n_clusters: int,
    known: Mapping[int, float | None] | None = None,
    deadline: float = math.inf,
) -> Proven:
    """Return what is proven of a partition with these cuts, given what is known of some views.

    Nothing is, where there is not enough time for all of it.
    """
    weights = whole.weights(cuts)
    try:
        found = [(known or {}).get(v) for v in range(whole.n_views)]
        bounds = np.array(
            [
                bound_of(problem, n_clusters, deadline) if bound is None else bound
                for problem, bound in zip(whole.problems, found, strict=True)
            ]
        )
        counts = (weights > 0) if whole.given is not None else np.ones(cuts.size, dtype=bool)
        if np.all(cuts[counts] <= bounds[counts]):
            # Every view that counts is cut as well as it can be: this is proven, whatever rounding.
            finite = np.isfinite(weights)
            weighted = float(np.sum(weights[finite] * cuts[finite]))
            return Proven(whole.objective(cuts), weighted, bounds)
        weighted = weighted_bound(whole, weights, bounds, n_clusters, deadline)
        least = objective_bound(whole, weights, bounds, weighted, n_clusters)
        return Proven(least, weighted, bounds)
    except TimeoutError:  # which is what it says
        return Proven()
