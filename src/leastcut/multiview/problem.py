"""The problem of partitioning several views: one problem per view, and a common objective.

With learned weights the objective is Σ_v √cut_v, otherwise Σ_v w_v cut_v. The square root is at
most its tangent, √x ≤ √y + (x − y) / (2√y). So, up to a constant, Σ_v α_v cut_v with
α_v = 1 / (2 √cut_v) at a partition majorizes the objective, with equality at this partition: a
decrease of the weighted sum decreases the objective. If all views have the same node weights, as
for the ratio cut, this sum is the cut value of the graph Σ_v α_v S_v. Otherwise the cut value of
one graph approximates it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.constraints import FREE, Constraints
from leastcut.formatting import Unquoted, one_line
from leastcut.graph import Graph
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels
from leastcut.results import Partition
from leastcut.validation import check_n_clusters

FLOOR = 1e-6
"""Smallest cut value used in weights of views, as a fraction of the largest; keeps them finite."""


class Combined(NamedTuple):
    """One problem that represents all views.

    Its cut values approximate ``scale`` times Σ_v α_v cut_v. They are equal if all views have the
    same node weights, and not larger if the problem was made for a lower bound.
    """

    problem: Problem
    scale: float


@dataclass(frozen=True, eq=False)
class MultiViewProblem:
    """Problems over the same nodes, with a common objective.

    A node may have weight 0 in problems in which it has no edges. ``view_weights`` are the weights
    of the cut values in the objective; None means the sum of their square roots.
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
        """The names of the nodes of the first graph, or None."""
        return self.problems[0].names

    def check_n_clusters(self, n_clusters: object) -> int:
        """Return ``n_clusters`` as an int, or raise if the nodes cannot form that many clusters."""
        return check_n_clusters(n_clusters, self.n_nodes)

    @property
    def n_views(self) -> int:
        """Number of views V."""
        return len(self.problems)

    @cached_property
    def is_common(self) -> bool:
        """Whether all views have the same node weights, so that weighted sums of cuts are cuts."""
        first, *others = (problem.node_weights for problem in self.problems)
        return all(np.array_equal(first, other) for other in others)

    @property
    def node_weights(self) -> np.ndarray:
        """The largest weight of each node in any view; 0 for nodes without edges in all views."""
        return np.asarray(np.max([problem.node_weights for problem in self.problems], axis=0))

    def as_one(self) -> Problem:
        """Return the sum of all views as one problem."""
        return self.combined(np.ones(self.n_views)).problem

    def cuts(self, labels: np.ndarray) -> np.ndarray:
        """Return the cut value of labels 0..c-1 in every view."""
        return np.array([problem.value(labels) for problem in self.problems])

    def objective(self, cuts: np.ndarray) -> float:
        """Return the objective, given the cut values."""
        terms = np.sqrt(cuts) if self.view_weights is None else self.view_weights * cuts
        return float(np.sum(terms))

    def value(self, labels: np.ndarray) -> float:
        """Return the objective for labels 0..c-1."""
        return self.objective(self.cuts(labels))

    def weights(self, cuts: np.ndarray) -> np.ndarray:
        """Return the weights of the views, or α_v = 1 / (2 √cut_v), infinite if cut_v is 0."""
        if self.view_weights is not None:
            return self.view_weights.copy()
        with np.errstate(divide="ignore"):
            return np.asarray(0.5 / np.sqrt(cuts))

    def finite_weights(self, cuts: np.ndarray) -> np.ndarray:
        """Return finite weights for the sum of the views."""
        return self.weights(np.maximum(cuts, FLOOR * cuts.max()) if cuts.max() > 0 else cuts + 1.0)

    def combined(self, weights: np.ndarray, *, is_bound: bool = False) -> Combined:
        """Return the graph Σ_v α_v S_v with node weights as one problem, for finite weights α.

        If node weights differ, each view is divided by its total weight first, so that the scale of
        a view has no influence. The weight of a node is then its mean over the views, weighted by
        α_v; or, with ``is_bound``, its largest weight, so that no cut value is too large.
        """
        scales, node_weights = weights.copy(), self.problems[0].node_weights
        if not self.is_common:
            totals = np.array([problem.node_weights.sum() for problem in self.problems])
            inverse = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
            scales *= inverse
            each = np.array([problem.node_weights for problem in self.problems])
            if is_bound:
                node_weights = np.max(inverse[:, None] * each, axis=0)
            else:
                node_weights = (scales / weights.sum()) @ each
        # Scale edge weights to at most 1, so that they do not overflow; drop those that underflow.
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
        """Return the views induced by ``nodes``, in their order."""
        problems = tuple(problem.restrict(nodes) for problem in self.problems)
        return MultiViewProblem(problems, self.view_weights)

    def contracted(self, groups: np.ndarray) -> MultiViewProblem:
        """Return the views with each group contracted to one node, which preserves cut values."""
        problems = (contracted_by_labels(one, groups).symmetrized() for one in self.problems)
        return MultiViewProblem(tuple(problems), self.view_weights)


def stacked(problems: Sequence[Problem]) -> tuple[np.ndarray, ...]:
    """Return the concatenated arrays of several problems, as kernels take them."""
    graphs = [problem.graph for problem in problems]
    ends = np.cumsum([0, *(graph.n_stored for graph in graphs)])[:-1, None]
    indptr = np.array([graph.indptr for graph in graphs], dtype=np.int64) + ends
    indices = np.concatenate([graph.indices for graph in graphs])
    weights = np.concatenate([graph.weights for graph in graphs])
    node_weights = np.array([problem.node_weights for problem in problems])
    return indptr, indices.astype(np.int32, copy=False), weights, node_weights


@dataclass(frozen=True, eq=False)
class PartitionOfViews:
    """A partition of several graphs over the same nodes.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of every node, 0..c-1, none empty.
    objective : float
        The minimized objective: Σ_v √cut_v for learned weights, otherwise Σ_v w_v cut_v.
    cuts : ndarray of shape (n_views,)
        The cut value of ``labels`` in every view.
    weights : ndarray of shape (n_views,)
        The weights of the views. Learned weights are α_v = 1 / (2 √cut_v), infinite for a view in
        which no edge is cut.
    lower_bound : float or None
        A lower bound on the objective of every partition into the same number of clusters; None if
        it was not computed.
    gap : float or None
        The relative gap between objective and lower bound; see :attr:`Partition.gap`.
    weighted_bound : float or None
        A lower bound on Σ_v α_v cut_v with these weights, over the views of finite weight; None if
        it was not computed.
    view_bounds : ndarray of shape (n_views,) or None
        A lower bound on the cut value in every view; None if it was not computed.
    history : ndarray of shape (n_steps,)
        The smallest objective after every start and every round; non-increasing.
    n_iter : int
        The number of rounds in which the views were weighted again.
    converged : bool
        Whether the search ended without further improvement, not by a time limit.
    nodes : tuple or None
        The names of the nodes, in the order of ``labels``; None if the first graph has none.

    See Also
    --------
    partition_views : Compute the partition.
    Partition : The partition of a single graph.

    Notes
    -----
    A view in which no edge is cut has an infinite learned weight, and is omitted from
    ``weighted_bound``.

    Examples
    --------
    >>> import leastcut
    >>> path = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> result = leastcut.partition_views([path, path], 2, random_state=0)
    >>> result.cuts, result.gap
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
        """The relative gap between objective and lower bound; None without a lower bound."""
        return Partition(self.labels, self.objective, self.lower_bound).gap

    def by_node(self) -> dict[Any, int]:
        """Return the cluster of every node as a dict ``{name: cluster}``."""
        return Partition(self.labels, self.objective, nodes=self.nodes).by_node()

    def __repr__(self) -> str:
        return one_line(
            self,
            n_nodes=np.size(self.labels),
            cuts=Unquoted("[" + ", ".join(f"{cut:.3g}" for cut in self.cuts) + "]"),
            objective=self.objective,
            gap=self.gap,
        )

    def _repr_html_(self) -> str:
        from leastcut.report.notebook import views_html  # used in notebooks only

        return views_html(self)
