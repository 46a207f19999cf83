"""Refinement: move nodes on the exact cut value until no single move helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from firstcut.cuts import CutLike, Problem, as_problem
from firstcut.partitioning.moves import State
from firstcut.results import Partition
from firstcut.validation import check_labels


def refine(graph: Any, labels: npt.ArrayLike, cut: CutLike = "normalized") -> Partition:
    """Improve a partition by moving nodes until no single move makes its cut smaller.

    Parameters
    ----------
    graph : Graph, sparse matrix or array-like of shape (n, n)
        Symmetric non-negative affinities.
    labels : array-like of shape (n,)
        The partition to start from, by whatever tool it was made; any labels will do.
    cut : {"ratio", "normalized"} or array-like of shape (n,), default="normalized"
        The name of a cut, or a positive weight for every node.

    Returns
    -------
    Partition
        With as many clusters as ``labels`` has. Its value is never above that of ``labels``, and
        no move of one node to another cluster lowers it.

    Notes
    -----
    A move is judged by the exact change of the cut value, which takes only the node's own edges;
    a node that moves brings its neighbours back for another look. The cost is O(edges) plus that of
    the moves.

    Examples
    --------
    >>> import firstcut
    >>> S = [[0, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0], [2, 2, 0, 1, 0, 0],
    ...      [0, 0, 1, 0, 2, 2], [0, 0, 0, 2, 0, 2], [0, 0, 0, 2, 2, 0]]
    >>> firstcut.refine(S, [0, 0, 1, 1, 1, 1], cut="ratio").labels
    array([0, 0, 0, 1, 1, 1])
    """
    problem = as_problem(graph, cut)
    return refine_problem(problem, check_labels(labels, problem.n_nodes))


def refine_problem(problem: Problem, labels: np.ndarray) -> Partition:
    """Move single nodes of a partition, labels 0..k-1, until no such move lowers its value.

    The value is compared in the problem's own numbers, so the result is never worse than the start
    even where the problem has to be scaled for the moves.
    """
    before = problem.value(labels)
    state = State(problem.within_range(), labels.astype(np.int32), int(labels.max()) + 1)
    state.finish()
    refined = state.labels.astype(np.int64)
    after = problem.value(refined)
    if not after < before:
        return Partition(labels, before)
    return Partition(refined, after)
