"""The eigenpairs of a fitted graph, computed when they are first asked for, and then kept.

The multilevel strategy needs none, so a fit does not pay for them; the lower bound, the embedding
and the eigenvalues are there all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leastcut.estimators.strategies import relax_with_warning
from leastcut.graph import as_graph
from leastcut.problem import Cut, Problem
from leastcut.results import Relaxation
from leastcut.spectral.relax import relax_problem


@dataclass(frozen=True, eq=False)
class FittedEigenpairs:
    """The relaxation of a fitted graph, its isolated nodes left out.

    Attributes
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The affinities of all nodes.
    cut : Cut
        How nodes are weighed.
    n_clusters : int
        The number of clusters of all nodes.
    n_components : int
        The number of columns of the embedding.
    seed : int
        Seed of iterative eigensolvers.
    options : dict
        ``solver`` and ``tol`` of the eigenproblem.
    known : Relaxation or None
        The eigenpairs, where the fit has computed them.
    """

    matrix: Any
    cut: Cut
    n_clusters: int
    n_components: int
    seed: int
    options: dict[str, Any]
    known: Relaxation | None

    @cached_property
    def relaxation(self) -> Relaxation:
        """The eigenpairs of the nodes with edges, as many as clusters and embedding need."""
        # A frozen dataclass may cache all the same: cached_property writes to __dict__ directly.
        if self.known is not None:
            return self.known
        problem = self._problem()
        # Isolated nodes may weigh 0, and there is no B^-½ then.
        core = problem.restrict(problem.graph.connected)
        if core.n_nodes == 0:
            raise ValueError("The graph has no edges, and so there are no eigenpairs to compute.")
        count = min(max(self.n_clusters, self.n_components), core.n_nodes)
        return relax_with_warning(core, count, self.seed, self.options)

    @cached_property
    def embedding(self) -> np.ndarray:
        """B^-½ F, in which nodes that belong together lie together; 0 for isolated nodes."""
        problem = self._problem()
        nodes = problem.graph.connected
        # Of a graph without edges there are no eigenpairs, and the embedding is all zeros.
        columns = min(self.n_components, nodes.size) if nodes.size else self.n_components
        rows = np.zeros((problem.n_nodes, columns))
        if nodes.size:
            scale = np.sqrt(problem.node_weights[nodes])
            # There may be more pairs than columns: the bound needs as many as clusters.
            rows[nodes] = self.relaxation.eigenvectors[:, :columns] / scale[:, None]
        return rows

    @property
    def eigenvalues(self) -> np.ndarray:
        """Those of the columns of the embedding; 0 where there are no edges."""
        columns = self.embedding.shape[1]
        # Of a graph without edges there are no eigenpairs, and the embedding is all zeros.
        if not self.embedding.any():
            return np.zeros(columns)
        return self.relaxation.eigenvalues[:columns]

    @cached_property
    def lower_bound(self) -> float:
        """A number that no partition into ``n_clusters`` clusters has a smaller cut value than.

        Isolated nodes can be clusters of value 0 by themselves, so where they weigh anything the
        bound is that of all nodes. Where they do not, it is that of the others.
        """
        problem = self._problem()
        n_connected = problem.graph.connected.size
        # Isolated nodes that weigh something: each is a component of its own, with an eigenvalue 0.
        if n_connected < problem.n_nodes and problem.node_weights.min() > 0:
            return relax_problem(problem, self.n_clusters, random_state=self.seed).lower_bound
        # Isolated nodes that weigh nothing are clusters here, and there are fewer eigenpairs than
        # clusters: 0 is what is sure.
        if n_connected < self.n_clusters:
            return 0.0
        return self.relaxation.leading(self.n_clusters).lower_bound

    def _problem(self) -> Problem:
        """Return the graph and the weights of all nodes, isolated ones perhaps of weight 0.

        It is made afresh from the matrix: keeping it could double the memory.
        """
        graph = as_graph(self.matrix)
        return Problem(graph, self.cut.node_weights(graph))
