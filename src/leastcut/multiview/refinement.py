"""A partition of several views that is being improved by moves of single nodes."""

from __future__ import annotations

import numpy as np

from leastcut.kernels.moves import HEAVY
from leastcut.kernels.view_moves import measure_views, settle_views
from leastcut.multiview.problem import MultiViewProblem, stacked
from leastcut.problem import Problem

VISITS_PER_NODE = 20
"""One settling may visit this many times the nodes there are, before its sums are taken afresh."""


class ViewsState:
    """Labels, changed in place, and in every view the sums that give their cut value.

    Numbers that are near the ends of what doubles hold are raised first, view by view and by powers
    of two, which the factors of the objective undo.
    """

    def __init__(self, views: MultiViewProblem, labels: np.ndarray, n_clusters: int) -> None:
        self.views = views
        self.labels = labels.astype(np.int32)  # a copy
        raised = [problem.within_range() for problem in views.problems]
        self._arrays = stacked(raised)
        shape = views.n_views, n_clusters
        self._sums = (
            self.labels,
            np.empty(n_clusters, dtype=np.int64),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape, dtype=np.int64),
            np.empty(views.n_views, dtype=np.int64),
            np.empty(views.n_views),
        )
        self._scratch = (
            np.zeros(shape),
            np.zeros(shape, dtype=np.int64),
            *np.empty((3, views.n_views)),
        )
        scales = np.array([_scale(*pair) for pair in zip(views.problems, raised, strict=True)])
        rooted = views.view_weights is None
        factors = (
            1.0 / np.sqrt(scales) if views.view_weights is None else views.view_weights / scales
        )
        self._objective = np.ascontiguousarray(factors), rooted

    def settle(self, nodes: np.ndarray | None = None) -> int:
        """Make improving moves, on fresh sums, until no queued node has one; return how many.

        The queue begins with ``nodes`` (default: all), and a move brings neighbours into it.
        """
        measure_views(self._arrays, self._sums)
        n = self.views.n_nodes
        first = np.arange(n) if nodes is None else nodes
        queue, queued = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
        queue[: first.size], queued[first] = first, 1
        moves, _ = settle_views(
            self._arrays,
            self._sums,
            self._objective,
            self._scratch,
            queue,
            first.size,
            queued,
            VISITS_PER_NODE * n,
        )
        return int(moves)

    def finish(self) -> np.ndarray:
        """Settle for as long as the objective falls; return labels, never worse than before.

        What counts is the value of the labels, not what the moves say they have gained.
        """
        views = self.views
        best, value = self.labels.astype(np.int64), views.value(self.labels)
        while self.settle() > 0 or self._move_heavy(value):
            found = views.value(self.labels)
            if not found < value:
                break
            best, value = self.labels.astype(np.int64), found
        return best

    def _move_heavy(self, value: float) -> bool:
        """Move one node that is too heavy for the kernels, if that lowers the value.

        Such a node holds nearly all of its cluster's weight in some view, so that there are few;
        each of its moves is judged by the value of all labels, O(edges).
        """
        _, members, _, cluster_weights, weighing, _, _ = self._sums
        heavy = self._arrays[3] > HEAVY * cluster_weights[:, self.labels]
        heavy &= weighing[:, self.labels] > 1
        for i in np.flatnonzero(heavy.any(axis=0) & (members[self.labels] > 1)):
            own = int(self.labels[i])
            for k in range(members.size):
                self.labels[i] = k
                if self.views.value(self.labels) < value:
                    return True
            self.labels[i] = own
        return False


def refine_labels(views: MultiViewProblem, labels: np.ndarray) -> np.ndarray:
    """Return labels 0..c-1 that moves of single nodes have improved, or as they are."""
    return ViewsState(views, labels, int(labels.max()) + 1).finish()


def refine_near(views: MultiViewProblem, labels: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return labels after moves that begin at some nodes and at their neighbours in any view."""
    near = np.zeros(views.n_nodes, dtype=bool)
    near[nodes] = True
    for problem in views.problems:
        graph = problem.graph
        near[graph.indices[np.repeat(near, np.diff(graph.indptr))]] = True
    state = ViewsState(views, labels, int(labels.max()) + 1)
    state.settle(np.flatnonzero(near))
    return state.labels.astype(np.int64)


def _scale(problem: Problem, raised: Problem) -> float:
    """Return by how much cut values were raised: a power of two, which rounds nothing."""
    if raised is problem or problem.graph.n_stored == 0:
        return 1.0
    edge = raised.graph.weights[0] / problem.graph.weights[0]
    heaviest = int(np.argmax(problem.node_weights))
    return float(edge / (raised.node_weights[heaviest] / problem.node_weights[heaviest]))
