"""What is to be cut: the problem of every view, and what is minimised over all of them.

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
from leastcut.graph import Graph
from leastcut.problem import Problem
from leastcut.reductions import contracted_by_labels
from leastcut.validation import check_n_clusters

FLOOR = 1e-6
"""What a cut counts for at least when views are weighed to be added up, as a part of the largest:
a view in which nothing is cut has an infinite weight, and no graph has infinite edges."""


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

    Attributes
    ----------
    problems : tuple of Problem
        One for every view; a node may weigh nothing in some of them, where it has no edges.
    view_weights : ndarray of shape (V,) or None
        The weights of the views' cuts in the objective; None for the sum of their roots.
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
        return float(
            np.sum(np.sqrt(cuts) if self.view_weights is None else self.view_weights * cuts)
        )

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
        total = sum(
            scale * problem.graph.matrix
            for scale, problem in zip(scales, self.problems, strict=True)
        )
        matrix = sp.csr_array(total)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        graph = Graph(matrix.indptr, matrix.indices, matrix.data)
        return Combined(Problem(graph, node_weights), scale)

    def restrict(self, nodes: np.ndarray) -> MultiViewProblem:
        """Return the views of some of the nodes, in the order given."""
        return MultiViewProblem(
            tuple(problem.restrict(nodes) for problem in self.problems), self.view_weights
        )

    def contracted(self, groups: np.ndarray) -> MultiViewProblem:
        """Return the views in which every group of nodes is one, which changes no cut's value."""
        return MultiViewProblem(
            tuple(contracted_by_labels(one, groups).symmetrised() for one in self.problems),
            self.view_weights,
        )


def stacked(problems: Sequence[Problem]) -> tuple[np.ndarray, ...]:
    """Return the arrays of several problems one behind the other, as kernels take them."""
    ends = np.cumsum([0, *(problem.graph.n_stored for problem in problems)])
    indptr = np.array(
        [end + problem.graph.indptr for end, problem in zip(ends, problems, strict=False)],
        dtype=np.int64,
    )
    indices = np.concatenate([problem.graph.indices for problem in problems])
    weights = np.concatenate([problem.graph.weights for problem in problems])
    node_weights = np.array([problem.node_weights for problem in problems])
    return indptr, indices.astype(np.int32, copy=False), weights, node_weights
