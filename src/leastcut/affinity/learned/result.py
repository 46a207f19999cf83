"""What learning a graph returns: the graph, its clusters, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.formatting import one_line
from leastcut.results import Columns, Partition


@dataclass(frozen=True, eq=False)
class LearnedGraph:
    """A graph with a component for every cluster: what ``learned_graph`` and others return.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        Symmetric affinities (S + Sᵀ) / 2, where the rows of S add up to 1.
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty: the components of ``graph`` where there are
        exactly c of them, and else the smallest ratio cut of it that was found.
    n_iter : int
        How many times weights and vectors took turns.
    converged : bool
        Whether ``graph`` has exactly c components, by graph search.
    history : Columns
        A row for every turn: ``penalty`` (λ), ``n_components`` of the graph after it, and the
        objective at this λ ``before`` it, ``after_weights`` and ``after_vectors``, less what
        weights cost at λ = 0. It never rises within a row, nor from row to row while λ stays the
        same.
    nodes : tuple or None
        The names of the nodes, in the order of ``labels``; None where there are no names.

    Examples
    --------
    >>> import leastcut
    >>> X = [[0.0], [1.0], [2.0], [3.0], [5.5], [6.5], [7.5], [8.5]]
    >>> found = leastcut.learned_graph(X, 2, n_neighbors=3, random_state=0)
    >>> found
    LearnedGraph(n_nodes=8, n_components=2, n_iter=9, converged=True)
    >>> found.labels
    array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> leastcut.cut_value(found.graph, found.labels)
    0.0
    >>> list(found.history)
    ['penalty', 'n_components', 'before', 'after_weights', 'after_vectors']
    """

    graph: sp.csr_array
    labels: np.ndarray
    n_iter: int
    converged: bool
    history: Columns
    nodes: tuple[Any, ...] | None = None

    @property
    def n_components(self) -> int:
        """The number of components of the graph, by graph search."""
        return int(sp.csgraph.connected_components(self.graph, directed=False)[0])

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node by its name, where the graph given has names.

        Returns
        -------
        dict
            ``{name: cluster}``, in the order of ``labels``.
        """
        return Partition(self.labels, 0.0, None, self.nodes).by_node()

    def __repr__(self) -> str:
        return one_line(
            self,
            n_nodes=np.size(self.labels),
            n_components=self.n_components,
            n_iter=self.n_iter,
            converged=self.converged,
        )
