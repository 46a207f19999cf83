"""``n_clusters="auto"``: the number that the eigenpairs of a graph speak for.

Nodes without edges say nothing about clusters and are left out.
"""

from __future__ import annotations

import math

import numpy as np

from leastcut.multilevel.cut_path import choice_of, pairs_of_path
from leastcut.multilevel.number_of_clusters import Choice
from leastcut.problem import Problem
from leastcut.seeds import RandomState, as_generator
from leastcut.spectral.relax import relax_problem
from leastcut.validation import warn_caller

MAX_CLUSTERS = 20
"""The largest number of clusters that is considered, unless told otherwise."""

ROUGH = 1e-3
"""Tolerance of eigenpairs that only a choice is made by: steps that count are far larger, and the
usual tolerance takes three times as long."""


def auto_number(problem: Problem, random_state: RandomState, deadline: float = math.inf) -> int:
    """Choose a number of clusters for a graph, with a warning where the evidence is weak.

    Parameters
    ----------
    problem : Problem
    random_state : int, Generator, RandomState or None
        Seed; a generator moves on.
    deadline : float, default=inf
        On the monotonic clock: a TimeoutError says so where the eigenpairs take longer.

    Returns
    -------
    int
        From 1 to :data:`MAX_CLUSTERS`.
    """
    core = problem.restrict(problem.graph.connected)
    most = min(MAX_CLUSTERS, core.n_nodes)
    generator = as_generator(random_state)
    is_seed = isinstance(random_state, int | np.integer)
    seed = int(random_state) if is_seed else int(generator.integers(2**32))  # type: ignore[arg-type]
    if most < 2:
        return 1  # where there is nothing to choose from there is one cluster
    try:
        relaxation = relax_problem(
            core, pairs_of_path(most, core.n_nodes), random_state=seed, tol=ROUGH, deadline=deadline
        )
    except TimeoutError:
        raise TimeoutError(
            "n_clusters='auto' chooses a number by eigenvectors of the graph, and these take "
            "longer than the time_limit. Raise it, or pass n_clusters."
        ) from None
    choice = choice_of(core, range(1, most + 1), relaxation, seed)
    if choice.is_weak:
        warn_caller(_warning(choice))
    return choice.n_clusters


def _warning(choice: Choice) -> str:
    others = " or ".join(map(str, choice.runners_up))
    return (
        f"The evidence for n_clusters={choice.n_clusters} is weak"
        + (f": it could as well be {others}" if others else "")
        + f". {choice.reason} Pass n_clusters if you know it, or look at "
        "leastcut.cut_path(graph, affinity='precomputed'), which has the evidence for every number."
    )
