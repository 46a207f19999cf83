"""The methods that give labels, each by its name, and the name of what they give."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

import leastcut
from leastcut.paper.runs.protocol import Problem
from leastcut.validation import number_by_appearance

Found = tuple[np.ndarray, int, dict[str, Any]]
"""Labels, iterations, and what else is worth a field."""


def discretized(
    problem: Problem, method: str, seed: int, judge: str, **options: Any
) -> leastcut.Discretization:
    """Discretize, the starts judged by the method's own loss or, with the graph, by the cut."""
    graph = {"graph": problem.graph} if judge == "cut" else {}
    return leastcut.discretize(problem.relaxation, method, random_state=seed, **graph, **options)


def _discretizer(method: str) -> Callable[..., Found]:
    """Return the labeller of a method that ``leastcut.discretize`` knows."""

    def run(problem: Problem, seed: int, *, judge: str, **options: Any) -> Found:
        found = discretized(problem, method, seed, judge, **options)
        return found.labels, found.n_iter, {} if found.eta is None else {"eta": found.eta}

    return run


def _refined(problem: Problem, seed: int, *, judge: str, **options: Any) -> Found:
    found = discretized(problem, "first_order", seed, judge, **options)
    refined = leastcut.refine(problem.graph, found.labels, problem.cut)
    return refined.labels, found.n_iter, {"eta": found.eta}


def _direct(problem: Problem, seed: int, *, n_init: int) -> Found:
    found = leastcut.direct_cut(
        problem.graph, problem.n_clusters, problem.cut, n_init=n_init, random_state=seed
    )
    return found.labels, found.n_iter, {}


def partitioned(problem: Problem, seed: int, *, effort: str) -> Found:
    found = leastcut.partition(
        problem.graph, problem.n_clusters, problem.cut, effort=effort, random_state=seed
    )
    return found.labels, 0, {}


def _exact(problem: Problem, seed: int) -> Found:
    found = leastcut.exact_partition(problem.graph, problem.n_clusters, problem.cut)
    return found.labels, 0, {}


LABELLERS: dict[str, Callable[..., Found]] = {
    "kmeans": _discretizer("kmeans"),
    "kmeans_norm": _discretizer("kmeans_norm"),
    "rotation": _discretizer("rotation"),
    "unscaled_rotation": _discretizer("unscaled_rotation"),
    "improved_rotation": _discretizer("improved_rotation"),
    "first_order": _discretizer("first_order"),
    "first_order+refine": _refined,
    "direct_cut": _direct,
    "partition": partitioned,
    "exact_partition": _exact,
}
"""Every method that gives labels."""


def hash_of(labels: np.ndarray) -> str:
    """Return a hash of a partition: the same for the same clusters, however they are numbered."""
    # bytes in one order, so that other machines get the same hash
    return hashlib.sha256(number_by_appearance(labels).astype("<i8").tobytes()).hexdigest()[:12]
