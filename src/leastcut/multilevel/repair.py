"""Repair of partitions that violate constraints."""

from __future__ import annotations

import numpy as np

from leastcut.kernels.balance import FAR, fill_clusters, lighten_clusters, propagate_distances
from leastcut.multilevel.coarsening import Step
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem

COUNTED_NODES = 500  # largest level for which violated pairs are counted in a dense table
MOST_ROUNDS = 50  # limit on the rounds of moving weight between clusters; most repairs need 2 or 3


def respecting(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Return allowed labels close to ``labels``, without empty clusters.

    The problem has cannot-links or limits; unassigned nodes have the label -1. Returns None only if
    the problem has no coloring or packing to fall back on.
    """
    if problem.limits is not None:
        return within_limits(problem, labels, n_clusters)
    assert problem.cannot_link is not None
    # 1. Unassign nodes until no pair is violated, and insert each where it adds least to the cut.
    repaired = _placed(problem, _without_conflicts(problem, labels.astype(np.int32)), n_clusters)
    # 2. If a node cannot be inserted, start from the known coloring.
    if repaired is None:
        if problem.cannot_link.coloring is None:
            return None
        repaired = _placed(problem, _colored(problem, labels, n_clusters), n_clusters)
    assert repaired is not None
    # 3. Fill empty clusters by single nodes, which violates no pair.
    _fill(problem, repaired, n_clusters)
    return repaired


# -- limits


def within_limits(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Return labels close to ``labels`` that satisfy the problem's limits.

    Returns None if none are found and the problem has no packing to fall back on.
    """
    limits = problem.limits
    assert limits is not None
    repaired = labels.astype(np.int32)
    if _repair(problem, repaired, n_clusters):
        return repaired
    return None if limits.packing is None else limits.packing.copy()


def _repair(problem: Problem, labels: np.ndarray, n_clusters: int) -> bool:
    """Move weight between clusters, in place; return whether they then satisfy the limits."""
    limits, n = problem.limits, problem.n_nodes
    assert limits is not None
    if limits.allow(np.bincount(labels, problem.node_weights, n_clusters)):
        return True
    state = State(problem, labels, n_clusters)
    assert state.limits is not None
    lightest, heaviest = state.limits
    heap, status = (np.empty(n), np.empty(n, dtype=np.int32)), np.zeros(n, dtype=np.uint8)
    least, weights = float(problem.node_weights.min()), state.cluster_weights
    # Clusters accept or give weight if they can accept or give this much: at first, any node.
    margin = float(problem.node_weights.max())
    for _ in range(MOST_ROUNDS):
        # 1. Move weight out of clusters that are too heavy.
        moved = 0
        if (weights > heaviest).any():
            distance = np.where(weights + margin <= heaviest, 0, FAR).astype(np.int32)
            propagate_distances(state.arrays, labels, distance)
            members = np.argsort(labels, kind="stable").astype(np.int32)
            first = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=n_clusters))))
            moved += lighten_clusters(
                state.arrays, state.sums, state.limits, state.scratch[0], distance, members, first,
                status, heap,
            )  # fmt: skip
        # 2. Move weight into clusters that are too light.
        if (weights < lightest).any():
            distance = np.where(weights - margin >= lightest, 0, FAR).astype(np.int32)
            propagate_distances(state.arrays, labels, distance)
            moved += fill_clusters(state.arrays, state.sums, state.limits, distance, status, heap)
        # 3. Check the limits with recomputed sums.
        state.measure()
        if limits.allow(weights - problem.offset):
            return True
        if moved == 0:
            if margin <= least:
                break
            margin = max(0.5 * margin, least)
    return False


# -- cannot-links


def start_of_merged(
    problem: Problem, steps: list[Step], n_clusters: int
) -> tuple[list[Step], np.ndarray] | None:
    """Return labels of the last level of an agglomeration, or of the coarsest possible level.

    Agglomeration may end with more nodes than clusters, because cannot-links forbid more merges.
    Finer levels allow more partitions. Returns None if no labels are found for the problem itself.
    """
    low = steps[-1].problem if steps else problem
    if low.n_nodes == n_clusters:
        return steps, np.arange(n_clusters, dtype=np.int32)
    labels = _least_violated(problem, steps, n_clusters)
    while True:
        repaired = respecting(low, labels, n_clusters)
        if repaired is not None:
            return steps, repaired
        if not steps:
            return None
        *steps, last = steps
        labels = labels[last.parent]
        low = steps[-1].problem if steps else problem


def _least_violated(problem: Problem, steps: list[Step], n_clusters: int) -> np.ndarray:
    """Return labels of the last level in which the heaviest nodes are clusters.

    Each other node joins the cluster with the fewest violated pairs of ``problem``, and among these
    the one of largest affinity. On large levels the others get the label -1.
    """
    low = steps[-1].problem if steps else problem
    n, links = low.n_nodes, problem.cannot_link
    assert links is not None
    order = np.argsort(-low.node_weights, kind="stable")
    labels = np.full(n, -1, dtype=np.int32)
    labels[order[:n_clusters]] = np.arange(n_clusters)
    if n > COUNTED_NODES:
        return labels
    parent = np.arange(problem.n_nodes)
    for step in steps:
        parent = step.parent[parent]
    # The number of pairs between any two nodes of the level.
    count = np.zeros((n, n))
    np.add.at(count, tuple(parent[links.pairs].T), 1.0)
    count, edges = count + count.T, low.graph.matrix.toarray()
    for i in order[n_clusters:]:
        inside = labels >= 0
        violated = np.bincount(labels[inside], count[i, inside], n_clusters)
        affinity = np.bincount(labels[inside], edges[i, inside], n_clusters)
        labels[i] = np.lexsort((-affinity, violated))[0]
    return labels


def _without_conflicts(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """Return labels without violated pairs, by unassigning nodes in most of them first."""
    links = problem.cannot_link
    assert links is not None
    labels = labels.copy()
    broken = links.violated(labels)
    broken = broken[labels[broken[:, 0]] >= 0]
    count = np.bincount(broken.reshape(-1), minlength=problem.n_nodes)
    nodes = np.unique(broken)
    # Among equals, the lightest node first.
    nodes = nodes[np.argsort(problem.node_weights[nodes], kind="stable")]
    while nodes.size and count[nodes].max() > 0:
        i = nodes[np.argmax(count[nodes])]
        others = links.partners(i)
        count[others[labels[others] == labels[i]]] -= 1
        count[i], labels[i] = 0, -1
    return labels


def _placed(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Assign nodes of label -1 where they add least to the cut, those with fewest choices first.

    Returns None if a node has cannot-links to every cluster.
    """
    links, graph = problem.cannot_link, problem.graph
    assert links is not None
    waiting = np.flatnonzero(labels < 0)
    if waiting.size == 0:
        return labels
    # 1. Compute the sums of clusters without the unassigned nodes.
    outside = np.where(labels < 0, n_clusters, labels).astype(np.int64)
    boundary = _padded(problem.boundaries(outside), n_clusters + 1)[:n_clusters]
    weight = _padded(problem.cluster_weights(outside), n_clusters + 1)[:n_clusters]
    barred = np.zeros((waiting.size, n_clusters), dtype=bool)
    place = np.full(problem.n_nodes, -1)
    place[waiting] = np.arange(waiting.size)
    for row, i in enumerate(waiting.tolist()):
        near = labels[links.partners(i)]
        barred[row, near[near >= 0]] = True
    left = np.ones(waiting.size, dtype=bool)
    # 2. Take the node with the fewest choices, and among equals the heaviest.
    order = np.argsort(-problem.node_weights[waiting], kind="stable")
    n_barred = barred.sum(axis=1)
    for _ in range(waiting.size):
        row = order[np.argmax(np.where(left, n_barred, -1)[order])]
        i, left[row] = waiting[row], False
        if n_barred[row] == n_clusters:
            return None
        # 3. Compute the increase of the cut for each cluster; an empty one has no term yet.
        edges = slice(graph.indptr[i], graph.indptr[i + 1])
        ends = graph.indices[edges]
        outward = np.where(ends == i, 0.0, graph.weights[edges])
        inside = labels[ends] >= 0
        link = np.bincount(labels[ends[inside]], outward[inside], n_clusters)
        joined = boundary + (outward.sum() - link) - link
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(weight > 0, boundary / weight, 0.0)
        growth = joined / (weight + problem.node_weights[i]) - before
        k = int(np.argmin(np.where(barred[row], np.inf, growth)))
        if barred[row, k]:  # NaN in growth
            k = int(np.argmin(barred[row]))
        labels[i] = k
        boundary[k] = max(joined[k], 0.0)
        weight[k] += problem.node_weights[i]
        # 4. Exclude the cluster for the partners of the node.
        rows = place[links.partners(i)]
        rows = rows[rows >= 0]
        n_barred[rows] += ~barred[rows, k]
        barred[rows, k] = True
    return labels


def _colored(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels in which nodes with cannot-links follow the known coloring.

    Colors are matched with labels so that as much weight as possible keeps its label.
    """
    links = problem.cannot_link
    assert links is not None
    assert links.coloring is not None
    colors, linked = links.coloring[links.nodes], links.nodes
    agreed = np.zeros((n_clusters, n_clusters))
    has_label = labels[linked] >= 0
    weights = problem.node_weights[linked]
    # Relative weights, so that sums do not overflow.
    np.add.at(
        agreed,
        (colors[has_label], labels[linked[has_label]]),
        weights[has_label] / weights.max(),
    )
    from scipy.optimize import linear_sum_assignment  # slow to import

    _, name = linear_sum_assignment(agreed, maximize=True)
    recolored = labels.astype(np.int32)
    recolored[linked] = name[colors]
    return recolored


def _fill(problem: Problem, labels: np.ndarray, n_clusters: int) -> None:
    """Move the node that adds least to the cut into every empty cluster, in place."""
    graph, rows, node_weights = problem.graph, problem.graph.rows, problem.node_weights
    outward = graph.outward
    for k in range(n_clusters):
        count = np.bincount(labels, minlength=n_clusters)
        if count[k] > 0:
            continue
        boundary = _padded(problem.boundaries(labels), n_clusters)[labels]
        weight = _padded(problem.cluster_weights(labels), n_clusters)[labels]
        same = (labels[rows] == labels[graph.indices]) & (rows != graph.indices)
        internal = np.bincount(rows[same], graph.weights[same], problem.n_nodes)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left = (boundary - (outward - internal) + internal) / (weight - node_weights)
            change = left - boundary / weight + outward / node_weights
        change[~(change < np.inf)] = np.finfo(np.float64).max
        change[count[labels] == 1] = np.inf  # the move would leave a cluster empty
        labels[int(np.argmin(change))] = k


def _padded(sums: np.ndarray, size: int) -> np.ndarray:
    """Return sums of clusters, padded with zeros for empty ones."""
    result = np.zeros(size)
    result[: sums.size] = sums
    return result
