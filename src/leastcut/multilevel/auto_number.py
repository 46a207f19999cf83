"""``n_clusters="auto"``: the number of clusters that the eigenpairs of a graph indicate."""

from __future__ import annotations

import math
from typing import Any

from leastcut.multilevel.cut_path import choice_of, pairs_of_path
from leastcut.multilevel.number_of_clusters import Choice
from leastcut.problem import Problem
from leastcut.seeds import RandomState, as_seed
from leastcut.spectral.relax import relax_problem
from leastcut.validation import warn_caller

MAX_CLUSTERS = 20  # the largest number of clusters that is considered by default
# Tolerance of eigenpairs that only a choice is made by: steps that count are far larger, and the
# usual tolerance takes three times as long.
ROUGH = 1e-3


def auto_number(problem: Any, random_state: RandomState, deadline: float = math.inf) -> int:
    """Return a number of clusters, from 1 to 20, and warn if the evidence is weak.

    Raise TimeoutError if the eigenpairs cannot be computed by ``deadline``.
    """
    core: Problem = problem.core
    most, seed = min(MAX_CLUSTERS, core.n_nodes), as_seed(random_state, 2**32)
    if most < 2:
        return 1
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
    warn_if_weak(choice, "leastcut.cut_path(graph, affinity='precomputed')")
    return choice.n_clusters


def warn_if_weak(choice: Choice, path: str) -> None:
    """Warn of weak evidence for a number of clusters; ``path`` is where all evidence is found."""
    if choice.is_weak:
        others = " or ".join(map(str, choice.runners_up))
        warn_caller(
            f"The evidence for n_clusters={choice.n_clusters} is weak"
            + (f": it could as well be {others}" if others else "")
            + f". {choice.reason} Pass n_clusters if you know it, or look at {path}, which has the "
            "evidence for every number."
        )
