"""How light and how heavy clusters may be: what ``balance`` means to a problem.

A cluster weighs the sum of its nodes' weights, on every level of a hierarchy the same, so the two
limits are all that has to be carried along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from leastcut.short_reprs import fields_in_one_line

ROUNDING = 1e-9
"""Part of the average by which a limit may be passed: (1 + 0.15) · 100 is below 115 in doubles.
Moves stay within half of it, as they follow sums that round."""

EXACT_BITS = 53
"""Whole numbers of so many bits are exact in doubles, and so are their sums."""


@dataclass(frozen=True, eq=False)
class Limits:
    """What clusters must weigh at least and may weigh at most.

    Attributes
    ----------
    lightest, heaviest : float
        Both are allowed. Multiples of the unit that all nodes' weights are multiples of, if sums of
        them are exact. There is no lower limit where ``lightest`` is 0.
    slack : float
        The rounding error that sums of node weights may have: 0 where they are exact. Moves stay so
        far within the limits, and proofs cover partitions that exceed them by as much.
    packing : ndarray of shape (n,), int32, or None
        Clusters of the nodes that keep to the limits; known of the whole problem, not of levels.
    """

    lightest: float
    heaviest: float
    slack: float = 0.0
    packing: np.ndarray | None = None

    __repr__ = fields_in_one_line

    @classmethod
    def of(cls, below: float | None, above: float, node_weights: np.ndarray, c: int) -> Limits:
        """Return the limits of c clusters: parts of what they weigh on average."""
        average = float(node_weights.sum()) / c
        heaviest = (1.0 + above + ROUNDING) * average
        lightest = 0.0 if below is None else max(1.0 - below - ROUNDING, 0.0) * average
        unit = unit_exponent(node_weights)
        if math.frexp(heaviest)[1] - unit <= EXACT_BITS:
            fewest = math.ceil(math.ldexp(lightest, -unit))
            most = math.floor(math.ldexp(heaviest, -unit))
            return cls(math.ldexp(fewest, unit), math.ldexp(most, unit))
        return cls(lightest, heaviest, 0.5 * ROUNDING * average)

    def of_moves(self, n_clusters: int, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return the two limits of moves for every cluster, as compiled kernels take them.

        ``offset`` is what every cluster weighs besides its nodes.
        """
        return self._shifted(self.slack, n_clusters, offset)

    def of_proofs(self, n_clusters: int, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return limits that every partition accepted by :meth:`keep` is within, as for moves.

        Sums that are added up in another order differ by less than the slack.
        """
        return self._shifted(-self.slack, n_clusters, offset)

    def _shifted(
        self, inward: float, n_clusters: int, offset: float
    ) -> tuple[np.ndarray, np.ndarray]:
        # Without a lower limit no cluster is too light, however little its nodes weigh.
        lightest = self.lightest + inward if self.lightest > 0.0 else -np.inf
        heaviest = self.heaviest - inward
        return np.full(n_clusters, offset + lightest), np.full(n_clusters, offset + heaviest)

    def least_edge_cut(self, floors: np.ndarray, total: float) -> float:
        """Return what no partition that keeps to the limits cuts less than, in weight of edges.

        By Donath and Hoffman (1973) it is ½ Σ_k λ_k m_k, with the smallest eigenvalues of the ratio
        cut ascending, given here as ``floors`` under them, and the clusters' weights m descending.
        It is least where as much weight as possible meets the smallest of them.
        """
        weights, left = np.full(floors.size, self.lightest), total - floors.size * self.lightest
        for k in range(floors.size):
            weights[k] += min(left, self.heaviest - self.lightest)
            left -= weights[k] - self.lightest
        return 0.5 * float(floors @ weights)

    def keep(self, cluster_weights: np.ndarray) -> bool:
        """Whether clusters of such weights keep to the limits."""
        return bool(
            (cluster_weights <= self.heaviest).all() and (cluster_weights >= self.lightest).all()
        )

    def with_packing(self, packing: np.ndarray) -> Limits:
        """Return the limits with clusters that are known to keep to them."""
        return replace(self, packing=packing.astype(np.int32))

    def of_level(self) -> Limits:
        """Return the limits for other nodes than these, of the same weight in all."""
        return self if self.packing is None else replace(self, packing=None)

    def restricted(self, nodes: np.ndarray) -> Limits:
        """Return the limits for some of the nodes, in the order given, where others weigh nothing.

        What is known to keep to them goes along where no cluster is left without a node.
        """
        if self.packing is None:
            return self
        kept = self.packing[nodes]
        if np.unique(kept).size < int(self.packing.max()) + 1:
            return self.of_level()
        return replace(self, packing=kept)

    def scaled(self, exponent: int) -> Limits:
        """Return the limits of nodes whose weights are multiplied by a power of two."""
        return replace(
            self,
            lightest=float(np.ldexp(self.lightest, exponent)),
            heaviest=float(np.ldexp(self.heaviest, exponent)),
            slack=float(np.ldexp(self.slack, exponent)),
        )


def unit_exponent(values: np.ndarray) -> int:
    """Return the exponent of the largest power of two that all values are multiples of."""
    fractions, exponents = np.frexp(values[values > 0.0])
    digits = np.ldexp(fractions, 53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 54
    return int(np.min(exponents + lowest, initial=1100))
