"""``n_clusters="auto"``: the choice, by eigenpairs alone, and the path that shows its evidence.

Only nodes with edges are counted and cut here: the others say nothing about clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leastcut.estimators.strategies import Say, Settings, relax_with_warning
from leastcut.formatting import fields_in_one_line
from leastcut.graph import as_graph
from leastcut.multilevel.auto_number import MAX_CLUSTERS, ROUGH
from leastcut.multilevel.cut_path import CutPath, choice_of, pairs_of_path
from leastcut.multilevel.number_of_clusters import Choice
from leastcut.multilevel.path_search import path_partitions
from leastcut.problem import Cut, Problem
from leastcut.results import Partition, Relaxation
from leastcut.validation import warn_caller


@dataclass(frozen=True, eq=False)
class ChosenNumber:
    """A number of clusters, and what it was chosen by.

    Attributes
    ----------
    numbers : range
        The numbers considered.
    n_pairs : int
        The number of eigenpairs it was chosen by.
    known : Relaxation or None
        Those of the nodes with edges, if they are good for more than a choice.
    choice : Choice
        The number, and why.
    """

    numbers: range
    n_pairs: int
    known: Relaxation | None
    choice: Choice

    __repr__ = fields_in_one_line

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
        names: tuple[Any, ...] | None = None,
    ) -> CutPath:
        """Return the path of all numbers, whose contents are computed when they are asked for.

        ``core`` are the nodes with edges of the graph ``matrix``, and ``labels`` and ``names``
        their own.
        """
        n_components, _ = core.graph.components
        source = FittedPath(
            matrix, cut, self.numbers, self.n_pairs, self.known, labels, settings, seed
        )
        return CutPath(np.array(self.numbers), n_components, self.choice, source, names)


@dataclass(frozen=True, eq=False)
class FittedPath:
    """The path of a fitted graph, computed when it is first asked for, and then kept.

    Attributes
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The affinities of all nodes.
    cut : Cut
        How nodes are weighed.
    numbers : sequence of int
        The numbers of clusters.
    n_pairs : int
        The number of eigenpairs.
    known : Relaxation or None
        The eigenpairs, where the fit has computed them.
    labels : ndarray
        The fitted labels of the nodes with edges, which take part: the path's own partition into as
        many clusters is never worse than the fitted one.
    settings : Settings
        Those of the fit: the effort and the threads of the search, and the eigensolver.
    seed : int
        The seed of the fit.
    """

    matrix: Any
    cut: Cut
    numbers: Sequence[int]
    n_pairs: int
    known: Relaxation | None
    labels: np.ndarray
    settings: Settings
    seed: int

    __repr__ = fields_in_one_line

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the nodes with edges."""
        if self.known is not None:
            return self.known
        options = self.settings.eigen_options
        return relax_with_warning(self._core(), self.n_pairs, self.seed, options)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions of the nodes with edges."""
        return path_partitions(
            self._core(),
            self.numbers,
            effort=self.settings.effort,
            seed=self.seed,
            starts={int(self.labels.max()) + 1: self.labels},
            n_jobs=self.settings.n_jobs,
        )

    def _core(self) -> Problem:
        """Return the nodes with edges, made afresh: keeping them could double the memory."""
        graph = as_graph(self.matrix)
        return Problem(graph, self.cut.node_weights(graph)).restrict(graph.connected)


def choose(core: Problem, most: int, settings: Settings, seed: int) -> ChosenNumber:
    """Choose a number of clusters from 1 to ``most``, at most the nodes there are."""
    numbers = range(1, most + 1)
    count, options = pairs_of_path(most, core.n_nodes), settings.eigen_options
    # The spectral solver makes labels of the same eigenpairs; otherwise rough ones will do.
    is_spectral = settings.solver == "spectral"
    if is_spectral:
        count = min(core.n_nodes, max(count, settings.n_components or 0))
    else:
        options = {**options, "tol": ROUGH}
    relaxation = relax_with_warning(core, count, seed, options)
    choice = choice_of(core, numbers, relaxation, seed)
    return ChosenNumber(numbers, count, relaxation if is_spectral else None, choice)


def choose_told(
    core: Problem, max_clusters: int | None, settings: Settings, seed: int, say: Say
) -> ChosenNumber | None:
    """Choose a number of clusters, tell why, and warn where the evidence is weak.

    None where there are no two nodes with edges to choose one by.
    """
    most = min(max_clusters or MAX_CLUSTERS, core.n_nodes)
    if most < 2:
        return None
    chosen = choose(core, most, settings, seed)
    say(f"Of 1 to {most} clusters {chosen.choice.n_clusters}: {chosen.choice.reason}")
    if chosen.warning is not None:
        warn_caller(chosen.warning)
    return chosen
