"""How many clusters a graph has, by evidence that a graph without clusters would not show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firstcut.cuts import Problem
from firstcut.results import Relaxation
from firstcut.validation import RandomState

FLOOR = 1e-3
"""Part of the largest eigenvalue looked at that is added to all: zeros have no logarithm."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A number of clusters, and why.

    Attributes
    ----------
    n_clusters : int
        The number chosen.
    numbers : ndarray of shape (m,)
        The numbers considered, ascending.
    evidence : ndarray of shape (m,)
        How much speaks for each: the larger, the more.
    reason : str
        Why it was chosen, in plain words.
    runners_up : tuple of int
        The numbers that come next, best first.
    is_weak : bool
        Whether the evidence hardly tells it from the runners-up.
    """

    n_clusters: int
    numbers: np.ndarray
    evidence: np.ndarray
    reason: str
    runners_up: tuple[int, ...]
    is_weak: bool


def pairs_needed(most: int, n_nodes: int) -> int:
    """Return how many eigenpairs a choice of up to ``most`` clusters looks at."""
    return min(n_nodes, most + 1)


def choose_number(
    problem: Problem,
    relaxation: Relaxation,
    numbers: Sequence[int],
    *,
    random_state: RandomState,
) -> Choice:
    """Choose one of ``numbers``, given the ``pairs_needed`` leading eigenpairs of the problem."""
    values = relaxation.eigenvalues
    level = np.log(np.maximum(values, 0.0) + FLOOR * values[-1] + np.finfo(float).tiny)
    growth = np.diff(level) / np.diff(np.log(np.arange(1, len(values) + 1)))
    considered = np.array([k for k in numbers if k <= len(growth)], dtype=np.int64)
    evidence = growth[considered - 1]
    best = considered[np.argsort(-evidence, kind="stable")]
    reason = f"The eigenvalues grow most after {best[0]}."
    return Choice(int(best[0]), considered, evidence, reason, tuple(best[1:3].tolist()), False)
