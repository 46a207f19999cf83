"""Flow refinement: better borders between clusters that keep to limits, by minimum cuts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leastcut.kernels.border_flow import better_borders
from leastcut.multilevel.levels import never
from leastcut.multilevel.refinement import State

MOST_EDGES = 200  # times its stored edges that the search for better borders may visit on a level


def straighten(
    state: State, before: np.ndarray | None = None, is_late: Callable[[], bool] = never
) -> None:
    """Move borders of two clusters to the best place near by, until none moves; never worse.

    The state is on fresh sums before and after. Only clusters that have changed since the labels
    ``before``, if there are any, are looked at to begin with.
    """
    active = np.ones(state.count.size, dtype=np.uint8)
    if before is not None:
        changed = state.labels != before
        active[:] = 0
        active[state.labels[changed]] = active[before[changed]] = 1
    if _moved(state, active, is_late) > 0:
        state.measure()
        state.settle()
        state.measure()


def _moved(state: State, active: np.ndarray, is_late: Callable[[], bool]) -> int:
    """Move borders of clusters that are 1 in ``active``, then of those that changed; count them."""
    n_stored, n_clusters = state.problem.graph.n_stored, state.count.size
    scratch = _scratch(state.problem.n_nodes, n_stored)
    total, left = 0, MOST_EDGES * n_stored
    while active.any() and left > 0:
        # 1. The nodes on borders by cluster, and the pairs of clusters that touch.
        nodes = np.flatnonzero(state.on_border()).astype(np.int32)
        pairs = _touching(state, nodes)
        count = np.bincount(state.labels[nodes], minlength=n_clusters)
        first = np.concatenate(([0], np.cumsum(count)))
        listed = nodes[np.argsort(state.labels[nodes], kind="stable")]
        # 2. In portions of pairs: a kernel cannot be interrupted.
        changed, at = np.zeros(n_clusters, dtype=np.uint8), 0
        while at < len(pairs) and left > 0:
            if is_late():
                return total
            decrease, improved, edges, at = better_borders(
                state.arrays,
                state.sums,
                state.limits,
                pairs,
                (listed, first),
                (active, changed),
                (at, n_stored),
                scratch,
            )
            state.value -= decrease
            state.work += int(edges)
            left -= int(edges)
            total += int(improved)
        state.work += n_stored
        active = changed
    return total


def _touching(state: State, nodes: np.ndarray) -> np.ndarray:
    """Return the pairs of clusters with edges between them, given all nodes on borders."""
    graph, n_clusters = state.problem.graph, state.count.size
    begin, sizes = graph.indptr[nodes], np.diff(graph.indptr)[nodes]
    # The edges of these nodes, one behind the other.
    behind = np.cumsum(sizes) - sizes
    edges = np.arange(int(sizes.sum())) + np.repeat(begin - behind, sizes)
    one = np.repeat(state.labels[nodes].astype(np.int64), sizes)
    other = state.labels[graph.indices[edges]]
    codes = np.unique((one * n_clusters + other)[one < other])
    return np.column_stack([codes // n_clusters, codes % n_clusters])


def _scratch(n: int, n_stored: int) -> tuple[object, ...]:
    """Return the arrays that ``better_borders`` works in."""
    nodes, local, level, queue = np.empty((4, n), dtype=np.int32)
    lean, third, prices, excess = np.empty((4, n))
    starts, path = np.empty((2, n + 1), dtype=np.int64)
    neighbors, reverse = np.empty(n_stored, dtype=np.int32), np.empty(n_stored, dtype=np.int64)
    capacity, residual = np.empty((2, n_stored))
    strip = starts, neighbors, capacity, reverse
    flow = residual, excess, level, np.empty(n, dtype=np.int64), queue, path
    marks = np.zeros(n, dtype=np.uint8), *np.zeros((2, n), dtype=np.int8)
    return nodes, local, strip, (lean, third, prices), marks, flow
