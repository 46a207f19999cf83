"""The eigenpairs of a fitted graph, computed when they are first asked for, and then kept.

The multilevel solver needs none, so a fit does not pay for them; the lower bound, the embedding
and the eigenvalues are there all the same.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from firstcut.cuts import CutLike
from firstcut.estimator.blocksolvers import relax_with
from firstcut.estimator.isolated import Core, connected_core
from firstcut.estimator.leading import leading
from firstcut.graph import as_graph
from firstcut.relaxation import Relaxation, lower_bound


@dataclass(eq=False)
class Spectrum:
    """The relaxation of a graph without its isolated nodes.

    Attributes
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The affinities of all nodes.
    cut : {"ratio", "normalized"} or array-like of shape (n,)
    seed : int
        Seed of iterative eigensolvers.
    options : dict
        ``solver`` and ``tol`` of the eigenproblem.
    n_clusters : int
        The number of clusters of all nodes.
    n_components : int
        The number of columns of the embedding.
    """

    matrix: Any
    cut: CutLike
    seed: int
    options: dict[str, Any] = field(default_factory=dict)
    n_clusters: int = 1
    n_components: int = 1

    @property
    def core(self) -> Core:
        """The nodes with edges, afresh from the matrix: keeping them could double the memory."""
        return connected_core(as_graph(self.matrix), self.cut)

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs, as many as clusters and embedding need."""
        core = self.core
        return self.relax(core, min(max(self.n_clusters, self.n_components), core.nodes.size))

    def relax(self, core: Core, count: int) -> Relaxation:
        """Solve for ``count`` eigenpairs and warn if the solver gave up early."""
        found = relax_with(core.graph, count, core.weights, random_state=self.seed, **self.options)
        if not found.converged:
            warnings.warn(
                f"The eigensolver {found.solver!r} stopped before all {count} eigenpairs reached "
                "the tolerance; labels and the lower bound stay valid, but the bound is looser. "
                "Leave eigen_solver=None, or raise eigen_tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    @cached_property
    def embedding(self) -> np.ndarray:
        """B^-½ F, in which nodes that belong together lie together; 0 for isolated nodes."""
        core = self.core
        if core.nodes.size == 0:
            return np.zeros((core.n_isolated, self.n_components))
        columns = min(self.n_components, core.nodes.size)
        rows = self.relaxation.eigenvectors[:, :columns] / np.sqrt(core.weights)[:, None]
        return core.scatter(rows)

    @cached_property
    def lower_bound(self) -> float:
        """A number that no partition into ``n_clusters`` clusters has a smaller cut value than.

        Isolated nodes can be clusters of value 0 by themselves. The normalized cut does not weigh
        them, and its bound is that of the other nodes.
        """
        core = self.core
        if core.n_isolated == 0:
            return leading(self.relaxation, self.n_clusters).lower_bound
        if isinstance(self.cut, str) and self.cut == "normalized":
            if core.nodes.size < self.n_clusters:
                return 0.0
            return leading(self.relaxation, self.n_clusters).lower_bound
        return lower_bound(as_graph(self.matrix), self.n_clusters, self.cut, self.seed)
