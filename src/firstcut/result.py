"""The answer: labels, their cut value, and how far from optimal they can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of a graph, with the value of its cut.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty.
    cut_value : float
        The true cut value of ``labels``.
    lower_bound : float or None
        No partition into as many clusters has a smaller value; None when it was not computed.
    """

    labels: np.ndarray
    cut_value: float
    lower_bound: float | None = None

    @property
    def gap(self) -> float | None:
        """How far above the optimum this can be, as a fraction of the cut value; None if unknown.

        0 means proven optimal; 0.3 means that no partition is more than 30% smaller.
        """
        if self.lower_bound is None:
            return None
        if self.cut_value <= self.lower_bound:
            return 0.0
        return (self.cut_value - self.lower_bound) / self.cut_value
