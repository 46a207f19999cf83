"""What a search over several views returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leastcut.formatting import Words, one_line
from leastcut.results import Partition


@dataclass(frozen=True, eq=False)
class PartitionOfViews:
    """One partition of several graphs over the same nodes, and what it costs in each.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty.
    objective : float
        What was minimised: Σ_v √cut_v where the weights are learned, else Σ_v w_v cut_v.
    cuts : ndarray of shape (V,)
        The cut value of ``labels`` in every view, as :func:`leastcut.cut_value` has it.
    weights : ndarray of shape (V,)
        The weights of the views: α_v = 1 / (2 √cut_v) where they are learned, infinite where
        nothing is cut, as no edge of such a view is worth what the first one would cost; else those
        given.
    lower_bound : float or None
        No partition into as many clusters has a smaller objective; None when not computed.
    weighted_bound : float or None
        No partition into as many clusters has a smaller Σ_v α_v cut_v with these weights, summed
        over the views whose weight is finite; None when not computed.
    view_bounds : ndarray of shape (V,) or None
        No partition into as many clusters has a smaller cut in a view; None when not computed.
    history : ndarray
        The smallest objective after every start and every round of weighing; it never rises.
    n_iter : int
        Rounds of weighing.
    converged : bool
        Whether the search ended because nothing fell any more, and not for time.
    nodes : tuple or None
        The names of the nodes, in the order of ``labels``; None where the first graph has none.

    Examples
    --------
    >>> import leastcut
    >>> path = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> found = leastcut.partition_views([path, path], 2, random_state=0)
    >>> found.cuts, found.gap
    (array([0.4, 0.4]), 0.0)
    """

    labels: np.ndarray
    objective: float
    cuts: np.ndarray
    weights: np.ndarray
    lower_bound: float | None
    weighted_bound: float | None
    view_bounds: np.ndarray | None
    history: np.ndarray
    n_iter: int
    converged: bool
    nodes: tuple[Any, ...] | None = None

    @property
    def gap(self) -> float | None:
        """How far above the optimum it can be, as a fraction of the objective; None if unknown."""
        return Partition(self.labels, self.objective, self.lower_bound).gap

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node by its name, as ``{name: cluster}``."""
        return Partition(self.labels, self.objective, nodes=self.nodes).by_node()

    def __repr__(self) -> str:
        return one_line(
            self,
            n_nodes=np.size(self.labels),
            cuts=Words("[" + ", ".join(f"{cut:.3g}" for cut in self.cuts) + "]"),
            objective=self.objective,
            gap=self.gap,
        )

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import views_html  # which only notebooks need

        return views_html(self)
