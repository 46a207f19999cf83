"""The weights of a learned graph: rows on the simplex, restricted to candidates.

Row i has weights s_ij ≥ 0 on its candidates j, which sum to 1; targets a_ij, which also sum to 1;
and costs e_ij ≥ 0, which are 0 if a_ij > 0. For vectors f of the nodes, the weights minimize

    Σ_ij (s_ij − a_ij)² / (2 q_ij) + Σ_ij e_ij s_ij + λ Σ_ij ‖f_i − f_j‖² s_ij,

where Σ_ij ‖f_i − f_j‖² s_ij = 2 tr(Fᵀ L F), with L the Laplacian of (S + Sᵀ) / 2. At λ = 0 the
targets are optimal, with the value 0. All terms are non-negative, so no digits cancel. The optimal
row is the projection of a_ij − q_ij (e_ij + λ ‖f_i − f_j‖²) onto the simplex with the spreads q.

The first term may also be the absolute difference |s_ij − a_ij|, smoothed to
√((s_ij − a_ij)² + δ²) − δ and minimized by iteratively reweighted least squares: with
q_ij = √((s_ij − a_ij)² + δ²) at the current weights, the squares majorize the smoothed differences,
so that the objective never increases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leastcut.graph import ROWS, Graph, symmetric_graph
from leastcut.kernels.simplex import pair_distances, project_rows
from leastcut.threads import in_blocks

ROUNDING = 1e-12  # weights up to this are rounding errors, and would join components as edges
SMOOTHING = 1e-4  # δ; weights are at most 1
REWEIGHTINGS = 10  # updates of the spreads for one set of vectors, for absolute differences


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """Candidates of every node, and the targets, costs and spreads of their weights.

    The candidates of node i are ``indices[indptr[i]:indptr[i + 1]]``, without the node itself.
    ``spreads`` are not used for absolute differences.
    """

    indptr: np.ndarray
    indices: np.ndarray
    targets: np.ndarray  # a: the weights at λ = 0
    costs: np.ndarray  # e: non-negative, and 0 if the target is positive
    spreads: np.ndarray  # q: positive and constant in a row
    is_absolute: bool = False
    n_threads: int = 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return int(self.indptr.size) - 1

    def objective(self, weights: np.ndarray, penalty: float, distances: np.ndarray) -> float:
        """Return the objective at this λ."""
        # Sums of equal length round monotonically: if no row increases, neither does the total.
        return float(np.sum(self._objectives(weights, self._linear(penalty, distances))))

    def _linear(self, penalty: float, distances: np.ndarray) -> np.ndarray:
        """Return the linear coefficients of the weights in the objective."""
        return self.costs + penalty * distances

    def _objectives(self, weights: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """Return the objective of every row with candidates."""
        off = weights - self.targets
        if self.is_absolute:
            # √(x² + δ²) − δ, written without cancellation.
            near = off**2 / (np.hypot(off, SMOOTHING) + SMOOTHING)
        else:
            near = off**2 / (2.0 * self.spreads)
        return np.add.reduceat(near + linear * weights, self._starts)

    @cached_property
    def _starts(self) -> np.ndarray:
        """Start positions of the rows with candidates."""
        return self.indptr[:-1][np.diff(self.indptr) > 0]

    @cached_property
    def _lengths(self) -> np.ndarray:
        """Number of candidates of these rows."""
        lengths = np.diff(self.indptr)
        return lengths[lengths > 0]

    def scale(self, weights: np.ndarray) -> float:
        """Return the objective of zero weights for the median spread, robust to duplicates."""
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
        """Return the weights with the smallest objective for these distances and λ.

        For absolute differences, the objective decreases but need not be minimal. A row keeps its
        weights unless the new ones are better: rounding errors of weights can dominate the
        objective if spreads are small.
        """
        linear = self._linear(penalty, distances)
        for _ in range(REWEIGHTINGS if self.is_absolute else 1):
            spreads = self.spreads
            if self.is_absolute:
                spreads = np.hypot(before - self.targets, SMOOTHING)
            projected = self._projected(linear, spreads)
            better = self._objectives(projected, linear) < self._objectives(before, linear)
            before = np.where(np.repeat(better, self._lengths), projected, before)
        return before

    def graph(self, weights: np.ndarray) -> Graph:
        """Return the graph (S + Sᵀ) / 2, with an edge for every positive weight."""
        # symmetric_graph sorts its arguments in place.
        indices, weights = self.indices.copy(), weights.copy()
        matrix = symmetric_graph(self.indptr, indices, weights, n_threads=self.n_threads)
        return Graph(matrix.indptr, matrix.indices, matrix.data)

    def _projected(self, linear: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        # A constant of the row changes no weight; subtracting it avoids cancellation.
        lowest = np.minimum.reduceat(linear, self._starts)
        points = self.targets - spreads * (linear - np.repeat(lowest, self._lengths))
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
