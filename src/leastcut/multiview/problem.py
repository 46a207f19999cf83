"""The problem of several views: that of every view, and what is minimised over all of them.

With weights that are learned the objective is Σ_v √cut_v, else Σ_v w_v cut_v. A root is at most its
tangent, √x ≤ √y + (x − y) / (2√y), so that Σ_v α_v cut_v with α_v = 1 / (2 √cut_v) at a partition
lies above the objective everywhere, but for a constant, and touches it there: whatever lowers the
weighted sum lowers the objective. This sum is the cut of one graph, Σ_v α_v S_v, if all views weigh
nodes alike, as under the ratio cut. Else that graph is as near as one graph comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.constraints import FREE, Constraints
from leastcut.formatting import Words, one_line
from leastcut.graph import Graph
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels
from leastcut.results import Partition
from leastcut.validation import check_n_clusters

FLOOR = 1e-6
"""What a cut counts for at least when views are weighted to be added up, as a fraction of the
largest: a view in which nothing is cut has an infinite weight, and no graph has infinite edges."""


class Combined(NamedTuple):
    """One problem that stands for all views.

    Its cut values are about ``scale`` times Σ_v α_v cut_v: exactly, if all views weigh nodes alike,
    and not more, if it was made for a bound.
    """

    problem: Problem
    scale: float


@dataclass(frozen=True, eq=False)
class MultiViewProblem:
    """Problems over the same nodes, and what is minimised over them.

    A node may weigh nothing in some of the problems, where it has no edges. ``view_weights`` are
    the weights of the views' cuts in the objective; None stands for the sum of their roots.
    """

    problems: tuple[Problem, ...]
    view_weights: np.ndarray | None = None

    constraints: ClassVar[Constraints] = FREE
    counts_edges: ClassVar[bool] = False

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return self.problems[0].n_nodes

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names of the nodes, where the first graph has names."""
        return self.problems[0].names

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int if the nodes can form that many clusters."""
        return check_n_clusters(n_clusters, self.n_nodes)

    @property
    def n_views(self) -> int:
        """Number of views V."""
        return len(self.problems)

    @cached_property
    def is_common(self) -> bool:
        """Whether all views weigh nodes alike, so that weighted sums of cuts are cuts."""
        first, *others = (problem.node_weights for problem in self.problems)
        return all(np.array_equal(first, other) for other in others)

    @property
    def node_weights(self) -> np.ndarray:
        """The most that each node weighs in any view; 0 for a node without edges in all of them."""
        return np.asarray(np.max([problem.node_weights for problem in self.problems], axis=0))

    def as_one(self) -> Problem:
        """Return the sum of all views as one problem."""
        return self.combined(np.ones(self.n_views)).problem

    def cuts(self, labels: np.ndarray) -> np.ndarray:
        """Return the cut value of labels 0..c-1 in every view."""
        return np.array([problem.value(labels) for problem in self.problems])

    def objective(self, cuts: np.ndarray) -> float:
        """Return what is minimised, given the cut values."""
        terms = np.sqrt(cuts) if self.view_weights is None else self.view_weights * cuts
        return float(np.sum(terms))

    def value(self, labels: np.ndarray) -> float:
        """Return what is minimised, of labels 0..c-1."""
        return self.objective(self.cuts(labels))

    def weights(self, cuts: np.ndarray) -> np.ndarray:
        """Return α_v = 1 / (2 √cut_v), infinite where nothing is cut, or the weights given."""
        if self.view_weights is not None:
            return self.view_weights.copy()
        with np.errstate(divide="ignore"):
            return np.asarray(0.5 / np.sqrt(cuts))

    def finite_weights(self, cuts: np.ndarray) -> np.ndarray:
        """Return the weights with which views can be added up: none is infinite."""
        return self.weights(np.maximum(cuts, FLOOR * cuts.max()) if cuts.max() > 0 else cuts + 1.0)

    def combined(self, weights: np.ndarray, *, is_bound: bool = False) -> Combined:
        """Return the graph Σ_v α_v S_v with node weights, as one problem, for finite weights.

        Where views weigh nodes differently each is divided by its whole weight first, so that a
        view of heavy edges counts no more than others. Nodes then weigh their mean over the views,
        weighed by α_v. With ``is_bound`` they weigh the most that they do in any view: clusters are
        no lighter than in every one of them, and so no cut is above what it stands for.
        """
        scales, node_weights = weights.copy(), self.problems[0].node_weights
        if not self.is_common:
            wholes = np.array([problem.node_weights.sum() for problem in self.problems])
            shares = np.divide(1.0, wholes, out=np.zeros_like(wholes), where=wholes > 0)
            scales *= shares
            each = np.array([problem.node_weights for problem in self.problems])
            if is_bound:
                node_weights = np.max(shares[:, None] * each, axis=0)
            else:
                node_weights = (scales / weights.sum()) @ each
        # At most 1, so that nothing overflows; what vanishes beside the others is no edge.
        largest = [problem.graph.weights.max(initial=0.0) for problem in self.problems]
        scale = 1.0 / (float(np.max(scales * largest)) or 1.0)
        scales *= scale
        pairs = zip(scales, self.problems, strict=True)
        matrix = sp.csr_array(sum(scale * problem.graph.matrix for scale, problem in pairs))
        matrix.eliminate_zeros()
        matrix.sort_indices()
        graph = Graph(matrix.indptr, matrix.indices, matrix.data)
        return Combined(Problem(graph, node_weights), scale)

    def restrict(self, nodes: np.ndarray) -> MultiViewProblem:
        """Return the views of some of the nodes, in the order given."""
        problems = tuple(problem.restrict(nodes) for problem in self.problems)
        return MultiViewProblem(problems, self.view_weights)

    def contracted(self, groups: np.ndarray) -> MultiViewProblem:
        """Return the views in which every group of nodes is one, which changes no cut's value."""
        problems = (contracted_by_labels(one, groups).symmetrized() for one in self.problems)
        return MultiViewProblem(tuple(problems), self.view_weights)


def stacked(problems: Sequence[Problem]) -> tuple[np.ndarray, ...]:
    """Return the arrays of several problems one behind the other, as kernels take them."""
    graphs = [problem.graph for problem in problems]
    ends = np.cumsum([0, *(graph.n_stored for graph in graphs)])[:-1, None]
    indptr = np.array([graph.indptr for graph in graphs], dtype=np.int64) + ends
    indices = np.concatenate([graph.indices for graph in graphs])
    weights = np.concatenate([graph.weights for graph in graphs])
    node_weights = np.array([problem.node_weights for problem in problems])
    return indptr, indices.astype(np.int32, copy=False), weights, node_weights


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
        from leastcut.report.notebook import views_html  # which is above this package

        return views_html(self)
