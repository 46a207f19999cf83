"""The cut of an anchor graph S = Z Λ⁻¹ Zᵀ, whose edges are never formed.

Z has n rows, one per point, with weights on its nearest anchors that add up to exactly 1, and
Λ = diag(Zᵀ1). Every degree is 1, so that ratio and normalized cut are the same. The rows of Z stay
with the workers; the value of any partition follows from a table of anchors and clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from leastcut.anchors.contraction import graph_of_anchors
from leastcut.anchors.table import Table, table_of
from leastcut.anchors.workers import Workers
from leastcut.problem import Problem
from leastcut.validation import check_n_clusters


@dataclass(frozen=True, eq=False)
class AnchorProblem:
    """Points that are joined through anchors, and the workers that hold them.

    Attributes
    ----------
    workers : Workers
        They hold the rows of Z.
    masses : ndarray of shape (p,)
        Λ.
    most_clusters : int or None
        Clusters for whose tables there is memory; None is any number.
    checkpoint : callable or None
        ``checkpoint(n_clusters, effort, seed)`` returns where a search saves its state.
    """

    workers: Workers
    masses: np.ndarray
    most_clusters: int | None = None
    checkpoint: Callable[[int, str, int], Any] | None = None

    names: ClassVar[None] = None
    counts_edges: ClassVar[bool] = False

    @property
    def n_nodes(self) -> int:
        """Number of points n."""
        return sum(self.workers.sizes)

    @cached_property
    def core(self) -> Problem:
        """The graph ZᵀZ of the anchors with weights Λ, without those that no point is joined to.

        The eigenvalues of its normalized cut are those of all points.
        """
        return graph_of_anchors(self.workers, self.masses)

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int if points of so many anchors can form them."""
        number, used = check_n_clusters(n_clusters, self.n_nodes), np.count_nonzero(self.masses)
        if number > used:
            raise ValueError(
                f"n_clusters={number} is more than the {used} anchors that points are joined to; "
                "pass more n_anchors, if X has so many different samples, or fewer clusters."
            )
        if self.most_clusters is not None and number > self.most_clusters:
            raise ValueError(
                f"n_clusters={number} is more than the {self.most_clusters} clusters for whose "
                "tables max_memory leaves room; pass more max_memory to anchor_graph."
            )
        return number

    def with_threads(self, n_threads: int | None) -> AnchorProblem:
        """Return the problem with so many threads for every worker; None leaves it as it is."""
        if n_threads is None:
            return self
        return replace(self, workers=self.workers.with_threads(n_threads))

    def split(self, labels: np.ndarray) -> list[np.ndarray]:
        """Return labels of all points as those of every block, in 32 bits."""
        ends = np.cumsum(self.workers.sizes)[:-1]
        return [part.astype(np.int32) for part in np.split(labels, ends)]

    def table(self, kept: Sequence[Any], n_clusters: int) -> Table:
        """Return the table of labels that the workers keep."""
        return table_of(self.workers, self.masses, kept, n_clusters)

    def table_of_labels(self, labels: np.ndarray) -> Table:
        """Return the table of labels 0..c-1 of all points."""
        return self.table(self.split(labels), int(labels.max()) + 1)

    def value(self, labels: np.ndarray) -> float:
        """Return the cut value of labels 0..c-1 of all points."""
        return self.table_of_labels(labels).value
