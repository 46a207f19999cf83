"""The evidence for every number of clusters on anchors, and the partitions that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leastcut.anchors.graph import AnchorGraph
from leastcut.anchors.table import Table, inverse_of
from leastcut.anchors.verbs import partition_anchors, relaxed_anchors
from leastcut.budget import Budget
from leastcut.estimators.chosen_number import ChosenNumber
from leastcut.estimators.strategies import Settings
from leastcut.formatting import fields_in_one_line
from leastcut.multilevel.cut_path import CutPath
from leastcut.multilevel.efforts import Progress
from leastcut.results import Partition, Relaxation


def search(
    graph: AnchorGraph,
    n_clusters: int,
    settings: Settings,
    seed: int,
    *,
    given: Sequence[np.ndarray] = (),
    callback: Callable[[Progress], object] | None = None,
) -> Partition:
    """Cut the points of a graph as the settings of a fit say, at or below what is given."""
    return partition_anchors(
        graph,
        n_clusters,
        "normalized",
        effort=settings.effort,
        inits=[("init", labels) for labels in given],
        budget=Budget(callback=callback),
        lower_bound=False,
        random_state=seed,
        n_jobs=None,
    )


def anchored_path(
    chosen: ChosenNumber, graph: AnchorGraph, labels: np.ndarray, settings: Settings, seed: int
) -> CutPath:
    """Return the path of all numbers, whose contents are computed when they are asked for."""
    n_components, _ = graph.anchor_problem.graph.components
    source = AnchoredPath(graph, chosen.numbers, chosen.n_pairs, labels, settings, seed)
    return CutPath(np.array(chosen.numbers), n_components, chosen.choice, source)


@dataclass(frozen=True, eq=False)
class AnchoredPath:
    """The path of a fit on anchors, computed when it is first asked for, and then kept.

    Attributes
    ----------
    graph : AnchorGraph
    numbers : range
        The numbers of clusters, one after another.
    n_pairs : int
        The number of eigenpairs.
    labels : ndarray of shape (n,)
        The fitted labels, which take part.
    settings : Settings
    seed : int
    """

    graph: AnchorGraph
    numbers: range
    n_pairs: int
    labels: np.ndarray
    settings: Settings
    seed: int

    __repr__ = fields_in_one_line

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the anchors' own graph; its eigenvalues are those of all points."""
        return relaxed_anchors(self.graph, self.n_pairs, self.seed)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions of all points, from many clusters to few.

        Each begins with that into one cluster more, two of them merged, which never makes the
        value larger; so the values never fall as the number grows.
        """
        fitted = int(self.labels.max()) + 1
        found: list[Partition] = []
        given: list[np.ndarray] = []
        for number in reversed(self.numbers):
            if number == fitted:
                given = [self.labels, *given]
            one = search(self.graph, number, self.settings, self.seed, given=given)
            found.append(one)
            if number > 1:
                given = [merged(one.labels, self.graph.table(one.labels))]
        return found[::-1]


def merged(labels: np.ndarray, table: Table) -> np.ndarray:
    """Return labels with the two clusters as one whose merging lets the value fall most."""
    sizes, boundaries = table.sizes, table.boundaries
    between = (table.weights * inverse_of(table.masses)[:, None]).T @ table.weights
    joined = (boundaries[:, None] + boundaries - 2.0 * between) / (sizes[:, None] + sizes)
    ratios = boundaries / sizes
    change: Any = joined - ratios[:, None] - ratios
    np.fill_diagonal(change, np.inf)
    one, other = sorted(map(int, np.unravel_index(np.argmin(change), change.shape)))
    new = np.arange(sizes.size, dtype=labels.dtype)
    new[other] = one
    new[other + 1 :] -= 1
    return np.asarray(new[labels])
