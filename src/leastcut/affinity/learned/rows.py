"""The weights that are learned: rows on the simplex, over candidates only.

Row i has weights s_ij ≥ 0 on its candidates j, which add up to 1, targets a_ij, which do so too,
and costs e_ij ≥ 0, which are 0 where a_ij > 0. With vectors f of the nodes, weights are to be near
their targets and small where they cost much or vectors are far apart:

    Σ_ij (s_ij − a_ij)² / (2 q_ij) + Σ_ij e_ij s_ij + λ Σ_ij ‖f_i − f_j‖² s_ij,

where Σ_ij ‖f_i − f_j‖² s_ij = 2 tr(Fᵀ L F), with L of (S + Sᵀ) / 2. At λ = 0 the targets are the
optimum, of value 0. No term is ever negative, so that nothing cancels, whatever the orders of
magnitude that spreads and costs span. For given vectors every row is a projection onto the simplex,
of a_ij − q_ij (e_ij + λ ‖f_i − f_j‖²) under the spreads q.

In place of squares there may be absolute differences |s_ij − a_ij|, smoothed to
√((s_ij − a_ij)² + δ²) − δ. Then q_ij is √((s_ij − a_ij)² + δ²) at the weights there are, again and
again: squares with these q touch the smoothed differences there and lie above them elsewhere, so
that the sum never rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leastcut.graph import ROWS, Graph, symmetric_graph
from leastcut.kernels.simplex import pair_distances, project_rows
from leastcut.threads import in_blocks

ROUNDING = 1e-12  # weights up to this are rounding: as edges they would join components
SMOOTHING = 1e-4  # δ: weights are at most 1
REWEIGHTINGS = 10  # renewals of the spreads for one set of vectors, under absolute differences


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """Candidates of every node, and the targets, costs and spreads of their weights.

    The candidates of node i are ``indices[indptr[i]:indptr[i + 1]]``, never the node itself. Under
    absolute differences ``spreads`` are not used.
    """

    indptr: np.ndarray
    indices: np.ndarray
    targets: np.ndarray  # a: the weights at λ = 0
    costs: np.ndarray  # e: not negative, and 0 where the target is positive
    spreads: np.ndarray  # q: positive and the same in a row
    is_absolute: bool = False
    n_threads: int = 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return int(self.indptr.size) - 1

    def objective(self, weights: np.ndarray, penalty: float, distances: np.ndarray) -> float:
        """Return the objective at this λ."""
        # Sums of the same length round alike: where no row is larger, the total is not.
        return float(np.sum(self._objectives(weights, self._prices(penalty, distances))))

    def _prices(self, penalty: float, distances: np.ndarray) -> np.ndarray:
        """Return what a unit of weight costs, besides its distance from the target."""
        return self.costs + penalty * distances

    def _objectives(self, weights: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return the objective of every row that has candidates."""
        off = weights - self.targets
        if self.is_absolute:
            # √(x² + δ²) − δ, written without cancellation.
            near = off**2 / (np.hypot(off, SMOOTHING) + SMOOTHING)
        else:
            near = off**2 / (2.0 * self.spreads)
        return np.add.reduceat(near + prices * weights, self._begins)

    @cached_property
    def _begins(self) -> np.ndarray:
        """Where the rows that have candidates begin."""
        return self.indptr[:-1][np.diff(self.indptr) > 0]

    @cached_property
    def _lengths(self) -> np.ndarray:
        """How many candidates these rows have."""
        lengths = np.diff(self.indptr)
        return lengths[lengths > 0]

    def scale(self, weights: np.ndarray) -> float:
        """Return the objective of no weights under the median spread, which no duplicate sets."""
        if self.is_absolute:
            return float(weights.sum())
        return float(np.sum(weights**2) / (2.0 * np.median(self.spreads)))

    def distances(self, vectors: np.ndarray) -> np.ndarray:
        """Return ‖f_i − f_j‖² for every candidate."""
        vectors, squared = np.ascontiguousarray(vectors), np.empty(self.targets.size)

        def measure(start: int, stop: int) -> None:
            pair_distances(start, stop, self.indptr, self.indices, vectors, squared)

        in_blocks(measure, self.n_nodes, ROWS, self.n_threads)
        return squared

    def weights(self, penalty: float, distances: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return weights of the smallest objective there is for these distances, at this λ.

        Under absolute differences it is smaller than ``before``, but need not be the smallest. A
        row keeps its weights where others are no better: doubles hold weights to 1e-16, and of the
        objective that can be much where spreads are small.
        """
        prices = self._prices(penalty, distances)
        for _ in range(REWEIGHTINGS if self.is_absolute else 1):
            spreads = self.spreads
            if self.is_absolute:
                spreads = np.hypot(before - self.targets, SMOOTHING)
            found = self._projected(prices, spreads)
            better = self._objectives(found, prices) < self._objectives(before, prices)
            before = np.where(np.repeat(better, self._lengths), found, before)
        return before

    def graph(self, weights: np.ndarray) -> Graph:
        """Return the graph (S + Sᵀ) / 2, where only weights above 0 are edges."""
        # It sorts its arguments in place.
        indices, own = self.indices.copy(), weights.copy()
        matrix = symmetric_graph(self.indptr, indices, own, n_threads=self.n_threads)
        return Graph(matrix.indptr, matrix.indices, matrix.data)

    def _projected(self, prices: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        # A constant for a whole row changes no weight, and would take digits from the others.
        lowest = np.minimum.reduceat(prices, self._begins)
        points = self.targets - spreads * (prices - np.repeat(lowest, self._lengths))
        weights = np.empty(points.size)

        def project(start: int, stop: int) -> None:
            project_rows(start, stop, self.indptr, points, spreads, ROUNDING, weights)

        in_blocks(project, self.n_nodes, ROWS, self.n_threads)
        return weights


def project_simplex(points: np.ndarray) -> np.ndarray:
    """Return every row of a matrix projected onto the simplex."""
    n_rows, length = points.shape
    weights = np.empty(points.size)
    indptr = np.arange(n_rows + 1, dtype=np.int64) * length
    spreads = np.ones(points.size)
    project_rows(0, n_rows, indptr, points.reshape(-1), spreads, ROUNDING, weights)
    return weights.reshape(points.shape)
