"""``balance``: what it means, whether any partition keeps to it, and one that does.

Whether nodes of given weights fit into clusters of limited weight is the problem of packing bins,
which no method solves quickly in general. Nodes of equal weight are dealt out evenly, and others
are put, heaviest first, each into the lightest cluster; where that fails, few enough are left to an
exact solver. What is called impossible has been proven to be.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from firstcut.cuts import Problem
from firstcut.limits import Limits
from firstcut.results import Partition
from firstcut.validation import check_number

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

    Raises also for options of :func:`firstcut.partition` that it is not offered with.

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
    _check_heaviest(weights, n_clusters, limits)
    packing = _packed(weights, n_clusters)
    loads = np.bincount(packing, weights, n_clusters)
    if limits.keep(loads) and np.unique(packing).size == n_clusters:
        return limits.with_packing(packing)
    # What the packing needs is enough; less may be.
    average = float(weights.sum()) / n_clusters
    enough = _rounded_up(float(loads.max()) / average - 1.0)
    remedy = f"Pass balance={enough:g}, which is enough, or more"
    if below is not None:
        lower = _rounded_up(1.0 - float(loads.min()) / average)
        remedy = f"Pass balance=({max(lower, below):g}, {max(enough, above):g}), which is enough"
    words = (
        f"weigh between {limits.lightest:g} and {limits.heaviest:g}"
        if below is not None
        else f"weigh at most {limits.heaviest:g}"
    )
    if (weights == weights[0]).all():
        raise ValueError(
            f"{weights.size} nodes of weight {weights[0]:g} cannot be cut into {n_clusters} "
            f"clusters that {words}. {remedy}, or ask for another number of clusters."
        )
    found = _solved(weights, n_clusters, limits)
    if isinstance(found, np.ndarray):
        return limits.with_packing(found)
    known = "There are no" if found else "No"
    raise ValueError(
        f"{known} {n_clusters} clusters that {words}{'' if found else ' were found'}, "
        f"whatever they cut. {remedy}, or ask for another number of clusters."
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


def _check_heaviest(weights: np.ndarray, n_clusters: int, limits: Limits) -> None:
    """Raise where a single node is too heavy for any cluster."""
    i = int(np.argmax(weights))
    if weights[i] > limits.heaviest:
        average = float(weights.sum()) / n_clusters
        needed = _rounded_up(float(weights[i]) / average - 1.0)
        raise ValueError(
            f"Clusters may weigh {limits.heaviest:g} at most, and node {i} alone weighs "
            f"{weights[i]:g}. Pass balance={needed:g} or more, or ask for fewer clusters."
        )


def _rounded_up(part: float) -> float:
    """Return a part of the average, of few digits and, but for rounding, not below what it was."""
    return max(math.ceil(part * 1e4 - 1e-6) / 1e4, 0.0)


def _packed(weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Put every node, heaviest first, into the lightest cluster, the first of equal ones."""
    n = weights.size
    labels = np.empty(n, dtype=np.int32)
    if (weights == weights[0]).all():
        # In stretches of consecutive nodes, which are often near each other.
        labels[:] = np.arange(n, dtype=np.int64) * n_clusters // n
        return labels
    order = np.argsort(-weights, kind="stable")
    heap = [(0.0, k) for k in range(n_clusters)]
    for i, weight in zip(order.tolist(), weights[order].tolist(), strict=True):
        load, k = heap[0]
        labels[i] = k
        heapq.heapreplace(heap, (load + weight, k))
    return labels


def _solved(weights: np.ndarray, n_clusters: int, limits: Limits) -> np.ndarray | bool:
    """Return a packing by an exact solver, True where it proves there is none, else False.

    x_wk says how many nodes of weight w cluster k has. Whole numbers of them, all of each weight,
    none of the clusters empty, and each within its limits.
    """
    from scipy import sparse as sp
    from scipy.optimize import Bounds, LinearConstraint, milp  # which few calls need

    kinds, kind, count = np.unique(weights, return_inverse=True, return_counts=True)
    size, average = kinds.size * n_clusters, float(weights.sum()) / n_clusters
    spare = min(limits.heaviest - average, average - limits.lightest) / average
    # Sums of whole numbers are further from a limit than it rounds, if they are not beyond it.
    if size > EXACT_CHOICES or (limits.slack > 0.0 and spare < EXACT_SLACK):
        return False
    # 1. As parts of the average: the solver's own tolerance is absolute. Moves of rounding are
    #    checked below, by sums.
    of_kind = sp.kron(sp.eye_array(kinds.size), np.ones((1, n_clusters)))
    loads = sp.kron((kinds / average)[None, :], sp.eye_array(n_clusters))
    sizes = sp.kron(np.ones((1, kinds.size)), sp.eye_array(n_clusters))
    answer = milp(
        np.zeros(size),
        integrality=np.ones(size),
        bounds=Bounds(0, np.repeat(count, n_clusters)),
        constraints=[
            LinearConstraint(of_kind.tocsr(), count, count),
            LinearConstraint(loads.tocsr(), limits.lightest / average, limits.heaviest / average),
            LinearConstraint(sizes.tocsr(), 1, np.inf),
        ],
        options={"time_limit": EXACT_SECONDS},
    )
    if answer.status == 2:
        return True
    if answer.x is None:
        return False
    # 2. Deal the nodes of every weight out as it says.
    amounts = np.round(answer.x).astype(np.int64).reshape(kinds.size, n_clusters)
    labels = np.empty(weights.size, dtype=np.int32)
    for number, row in enumerate(amounts):
        labels[kind.reshape(-1) == number] = np.repeat(np.arange(n_clusters), row)
    return labels if limits.keep(np.bincount(labels, weights, n_clusters)) else False
