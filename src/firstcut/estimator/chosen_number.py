"""``n_clusters="auto"``: the choice, by eigenpairs alone, and the path that shows its evidence.

Only nodes with edges are counted and cut here: the others say nothing about clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from firstcut.cuts import Cut, Problem
from firstcut.estimator.strategies import Settings, relax_with_warning
from firstcut.graph import as_graph
from firstcut.partitioning.cut_path import CutPath, choice_of, pairs_of_path, path_of
from firstcut.partitioning.number_of_clusters import Choice
from firstcut.partitioning.path_search import path_partitions
from firstcut.results import Partition, Relaxation


@dataclass(frozen=True, eq=False)
class ChosenNumber:
    """A number of clusters, and what it was chosen by.

    Attributes
    ----------
    numbers : range
        The numbers considered.
    relaxation : Relaxation
        The eigenpairs of the nodes with edges.
    choice : Choice
        The number, and why.
    """

    numbers: range
    relaxation: Relaxation
    choice: Choice

    @property
    def warning(self) -> str | None:
        """What to tell the user where the evidence is weak, or None."""
        choice = self.choice
        if not choice.is_weak:
            return None
        others = " or ".join(map(str, choice.runners_up))
        return (
            f"The evidence for n_clusters={choice.n_clusters} is weak"
            + (f": it could as well be {others}" if others else "")
            + f". {choice.reason} Pass n_clusters if you know it, or look at cut_path_, which has "
            "the evidence for every number."
        )

    def path(
        self,
        core: Problem,
        matrix: Any,
        cut: Cut,
        labels: np.ndarray,
        settings: Settings,
        seed: int,
    ) -> CutPath:
        """Return the path of all numbers, whose partitions are found when they are asked for.

        ``core`` are the nodes with edges of the graph ``matrix``, and ``labels`` their own.
        """
        effort, n_jobs = settings.effort, settings.n_jobs
        partitions = FittedPartitions(matrix, cut, self.numbers, effort, seed, n_jobs, labels)
        return path_of(core, self.numbers, self.relaxation, self.choice, partitions)


@dataclass(frozen=True, eq=False)
class FittedPartitions:
    """The partitions of a fitted graph's path, found when first asked for, and then kept.

    Attributes
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The affinities of all nodes.
    cut : Cut
        How nodes are weighed.
    numbers : sequence of int
        The numbers of clusters.
    effort : str
        The effort of the search.
    seed : int
        The seed of the fit.
    n_jobs : int or None
        Threads.
    labels : ndarray
        The fitted labels of the nodes with edges, which take part: the path's own partition into as
        many clusters is never worse than the fitted one.
    """

    matrix: Any
    cut: Cut
    numbers: Sequence[int]
    effort: str
    seed: int
    n_jobs: int | None
    labels: np.ndarray

    @cached_property
    def found(self) -> list[Partition]:
        """The partitions, of the nodes with edges."""
        # Made afresh from the matrix: keeping it could double the memory.
        graph = as_graph(self.matrix)
        core = Problem(graph, self.cut.node_weights(graph)).restrict(graph.connected)
        return path_partitions(
            core,
            self.numbers,
            effort=self.effort,
            seed=self.seed,
            given={int(self.labels.max()) + 1: self.labels},
            n_jobs=self.n_jobs,
        )


def choose(core: Problem, most: int, settings: Settings, seed: int) -> ChosenNumber:
    """Choose a number of clusters from 1 to ``most``, at most the nodes there are."""
    n = core.n_nodes
    count = min(n, max(pairs_of_path(most, n), settings.n_components or 0))
    relaxation = relax_with_warning(core, count, seed, settings.eigen_options)
    numbers = range(1, most + 1)
    return ChosenNumber(numbers, relaxation, choice_of(core, numbers, relaxation, seed))
