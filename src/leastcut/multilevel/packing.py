"""``balance``: what it means, whether any partition keeps to it, and one that does.

Whether nodes of given weights fit into clusters of limited weight is the problem of packing bins,
which no method solves quickly in general. Nodes of equal weight are dealt out evenly, and others
are put, heaviest first, each into the lightest cluster; where that fails, few enough are left to an
exact solver. What is called impossible has been proven to be.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.limits import Limits
from leastcut.problem import Problem
from leastcut.results import Partition
from leastcut.validation import check_number

NEARLY = 2.0**22
"""Edge cuts are told apart by a search if they differ by more than one in so many."""

EXACT_CHOICES = 20_000
"""Kinds of nodes times clusters up to which an exact solver is asked."""

EXACT_SECONDS, EXACT_SLACK = 2.0, 1e-5
"""The time it has, and the part of the average that limits must leave: it rounds by a tenth."""


def check_balance(
    balance: Any, *, cannot_link: Any = None, lower_bound: bool | str | None = None
) -> tuple[float | None, float]:
    """Return how far below and above the average a cluster may weigh, as parts of it.

    Raises also for options of :func:`leastcut.partition` that it is not offered with.

    Parameters
    ----------
    balance : float or pair of floats
        One number is what may be above; a pair is below, from 0 to 1, and above.

    Returns
    -------
    tuple of (float or None, float)
        None where there is no limit below.
    """
    if cannot_link is not None:
        raise ValueError(
            "balance and cannot_link are not offered together: whether any partition keeps to both "
            "is not decided here. Leave one of them out; must_link goes with balance."
        )
    if lower_bound == "tight":
        raise ValueError(
            "lower_bound='tight' proves what holds of all partitions, balanced or not. Pass "
            "lower_bound=True, whose bound holds of balanced ones as well, or leave balance out."
        )
    if isinstance(balance, str | bytes) or not isinstance(balance, Sequence | np.ndarray):
        return None, check_number("balance", balance)
    if isinstance(balance, np.ndarray) and balance.ndim == 0:
        return None, check_number("balance", balance)
    if len(balance) != 2:
        raise ValueError(
            f"balance={balance!r} must be a number, such as 0.1, or a pair (below, above) of them."
        )
    below = check_number("balance[0]", balance[0])
    if below > 1.0:
        raise ValueError(f"balance[0]={below} must be at most 1: no cluster weighs less than 0.")
    return below, check_number("balance[1]", balance[1])


def limits_of(problem: Problem, balance: tuple[float | None, float], n_clusters: int) -> Limits:
    """Return the limits that a checked ``balance`` means, with a packing that keeps to them.

    A ValueError says so where there is none, or none is found.
    """
    below, above = balance
    weights = problem.node_weights
    limits = Limits.of(below, above, weights, n_clusters)
    packing = _packed(weights, n_clusters)
    loads = np.bincount(packing, weights, n_clusters)
    if limits.keep(loads):
        return limits.with_packing(packing)
    remedy = _enough(balance, weights, loads)
    heaviest, is_even = int(np.argmax(weights)), bool((weights == weights[0]).all())
    if weights[heaviest] > limits.heaviest:
        raise ValueError(
            f"Clusters may weigh {limits.heaviest:g} at most, and node {heaviest} alone weighs "
            f"{weights[heaviest]:g}. Pass balance={remedy}, which is enough, or ask for fewer "
            "clusters."
        )
    words = (
        f"weigh between {limits.lightest:g} and {limits.heaviest:g}"
        if below is not None
        else f"weigh at most {limits.heaviest:g}"
    )
    remedy = f"Pass balance={remedy}, which is enough, or ask for another number of clusters."
    if is_even:
        raise ValueError(
            f"{weights.size} nodes of weight {weights[0]:g} cannot be cut into {n_clusters} "
            f"clusters that {words}. {remedy}"
        )
    found = _solved(weights, n_clusters, limits)
    if isinstance(found, np.ndarray):
        return limits.with_packing(found)
    known = "There are no" if found else "No"
    raise ValueError(
        f"{known} {n_clusters} clusters that {words}{'' if found else ' were found'}, "
        f"whatever they cut. {remedy}"
    )


def check_given(problem: Problem, given: list[np.ndarray], names: list[str]) -> None:
    """Raise where a partition to begin with does not keep to the limits."""
    limits = problem.limits
    assert limits is not None
    for labels, name in zip(given, names, strict=True):
        weights = problem.cluster_weights(labels)
        if not limits.keep(weights):
            raise ValueError(
                f"{name} has clusters that weigh from {weights.min():g} to {weights.max():g}, and "
                f"balance allows {limits.lightest:g} to {limits.heaviest:g}. Balance it first, "
                "leave it out, or pass a larger balance."
            )


def with_edge_cut(
    whole: Problem,
    found: Partition,
    floor: float | None,
    is_proven: bool,
    given: list[np.ndarray],
) -> Partition:
    """Return what a search by about the edge cut has found, or was given, with the edge cut itself.

    ``floor`` is the bound that it found, and ``is_proven`` whether by going through all partitions.
    """
    labels = min([found.labels, *given], key=whole.edge_cut)
    value, weights = whole.edge_cut(labels), whole.graph.weights
    if is_proven:
        # What is smaller by less than the search could tell is not ruled out. Whole numbers differ
        # by more, and with one partition there is no other.
        is_whole = value < NEARLY and np.array_equal(weights, np.floor(weights))
        is_only = int(labels.max()) + 1 in (1, labels.size)
        floor = value if is_whole or is_only else value * (1.0 - 1.0 / NEARLY)
    return replace(found, labels=labels, cut_value=value, lower_bound=floor)


def _enough(balance: tuple[float | None, float], weights: np.ndarray, loads: np.ndarray) -> str:
    """Return a ``balance`` as text, of few digits, that clusters of such weights keep to."""
    below, above = balance
    average = float(weights.sum()) / loads.size

    def limits(below: float | None, above: float) -> Limits:
        return Limits.of(below, above, weights, loads.size)

    # What is printed is what is checked: rounding to six digits may be downwards.
    upper = _rounded_up(
        max(float(loads.max()) / average - 1.0, above),
        lambda part: bool(loads.max() <= limits(None, part).heaviest),
    )
    if below is None:
        return upper
    lower = _rounded_up(
        max(1.0 - float(loads.min()) / average, below),
        lambda part: bool(loads.min() >= limits(min(part, 1.0), 0.0).lightest),
    )
    return f"({lower}, {upper})"


def _rounded_up(part: float, is_enough: Callable[[float], bool]) -> str:
    """Return a part of the average as text, of few digits, that is enough."""
    number = math.ceil(part * 1e4 - 1e-6)
    while not is_enough(float(f"{number / 1e4:g}")):
        number += 1 + number // 10**6
    return f"{number / 1e4:g}"


def _packed(weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Put every node, heaviest first, into the lightest cluster, the first of equal ones.

    Nodes that weigh nothing are dealt out to the clusters in turn, those without a node first.
    """
    n = weights.size
    labels = np.empty(n, dtype=np.int32)
    if (weights == weights[0]).all():
        # In stretches of consecutive nodes, which are often near each other.
        labels[:] = np.arange(n, dtype=np.int64) * n_clusters // n
        return labels
    order = np.argsort(-weights, kind="stable")
    n_core = int(np.count_nonzero(weights))
    heap = [(0.0, k) for k in range(n_clusters)]
    for i, weight in zip(order[:n_core].tolist(), weights[order].tolist(), strict=False):
        load, k = heap[0]
        labels[i] = k
        heapq.heapreplace(heap, (load + weight, k))
    labels[order[n_core:]] = np.arange(n_core, n) % n_clusters
    return labels


def _solved(weights: np.ndarray, n_clusters: int, limits: Limits) -> np.ndarray | bool:
    """Return a packing by an exact solver, True where it proves there is none, else False.

    Nodes that weigh nothing are no cluster by themselves unless there are too few others.
    """
    core, n_core = np.flatnonzero(weights), int(np.count_nonzero(weights))
    if n_core < n_clusters:
        return True  # each is a cluster, as in the packing that does not keep to the limits
    average = float(weights.sum()) / n_clusters
    kinds, kind, count = np.unique(weights[core], return_inverse=True, return_counts=True)
    spare = min(limits.heaviest - average, average - limits.lightest) / average
    # Sums of whole numbers are further from a limit than it rounds, if they are not beyond it.
    if kinds.size * n_clusters > EXACT_CHOICES or (limits.slack > 0.0 and spare < EXACT_SLACK):
        return False
    labels = np.empty(weights.size, dtype=np.int32)
    labels[weights == 0.0] = 0
    # What the solver calls infeasible is so up to its tolerances, and coefficients below 1e-9 are 0
    # to it: it is proven where it is infeasible within limits that are wider by more than that.
    for margin in (0.0, max(EXACT_SLACK, 1e-9 * n_core)):
        lightest = np.full(n_clusters, limits.lightest / average - margin)
        heaviest = np.full(n_clusters, limits.heaviest / average + margin)
        amounts = _amounts(kinds / average, count, lightest, heaviest)
        if amounts is None:
            return False
        if amounts.size == 0:
            if margin > 0.0:
                return True
            continue
        # Deal the nodes of every weight out as it says.
        for number, row in enumerate(amounts):
            labels[core[kind == number]] = np.repeat(np.arange(n_clusters), row)
        if limits.keep(np.bincount(labels, weights, n_clusters)):
            return labels
    return False


def _amounts(
    kinds: np.ndarray, count: np.ndarray, lightest: np.ndarray, heaviest: np.ndarray
) -> np.ndarray | None:
    """Return how many nodes of every weight each cluster has; empty if infeasible, else None.

    All nodes of each weight, none of the clusters empty, and each within its limits. Weights are
    parts of the average, as the solver's own tolerance is absolute.
    """
    from scipy import sparse as sp
    from scipy.optimize import Bounds, LinearConstraint, milp  # which few calls need

    n_clusters = lightest.size
    size = kinds.size * n_clusters
    of_kind = sp.kron(sp.eye_array(kinds.size), np.ones((1, n_clusters)))
    loads = sp.kron(kinds[None, :], sp.eye_array(n_clusters))
    sizes = sp.kron(np.ones((1, kinds.size)), sp.eye_array(n_clusters))
    answer = milp(
        np.zeros(size),
        integrality=np.ones(size),
        bounds=Bounds(0, np.repeat(count, n_clusters)),
        constraints=[
            LinearConstraint(of_kind.tocsr(), count, count),
            LinearConstraint(loads.tocsr(), lightest, heaviest),
            LinearConstraint(sizes.tocsr(), 1, np.inf),
        ],
        options={"time_limit": EXACT_SECONDS},
    )
    if answer.status == 2:
        return np.empty((0, n_clusters), dtype=np.int64)
    if answer.x is None:
        return None
    return np.asarray(np.round(answer.x), dtype=np.int64).reshape(kinds.size, n_clusters)
