"""Repair: a partition that the constraints allow, close to one that they do not."""

from __future__ import annotations

import numpy as np

from leastcut.kernels.balance import FAR, fill_clusters, lighten_clusters, propagate_distances
from leastcut.multilevel.coarsening import Step
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem

# Nodes of a level up to which the pairs between any two of them are counted, in a table.
COUNTED_NODES = 500
# Rounds in which weight is handed on between clusters; most repairs need two or three.
MOST_ROUNDS = 50


def respecting(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Return labels close to ``labels`` that the problem allows, with no cluster empty.

    The problem has cannot-links or limits; labels are -1 for nodes that are in no cluster yet. None
    only if the problem has no coloring, or packing, to fall back on.
    """
    if problem.limits is not None:
        return within_limits(problem, labels, n_clusters)
    assert problem.cannot_link is not None
    # 1. Take nodes out of their clusters until no pair is violated, and put each back where it
    #    adds least to the cut.
    found = _placed(problem, _without_conflicts(problem, labels.astype(np.int32)), n_clusters)
    # 2. Where one has no place, the coloring that is known is a partition of all nodes of pairs.
    if found is None:
        if problem.cannot_link.coloring is None:
            return None
        found = _placed(problem, _colored(problem, labels, n_clusters), n_clusters)
    assert found is not None
    # 3. Fill the clusters that are empty: a node alone is in nobody's way.
    _fill(problem, found, n_clusters)
    return found


# -- limits


def within_limits(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Return labels close to ``labels`` whose clusters keep to the problem's limits.

    None if none is found and the problem has no packing to fall back on.
    """
    limits = problem.limits
    assert limits is not None
    found = labels.astype(np.int32)
    if _repair(problem, found, n_clusters):
        return found
    return None if limits.packing is None else limits.packing.copy()


def _repair(problem: Problem, labels: np.ndarray, n_clusters: int) -> bool:
    """Move weight between clusters, in place, and return whether they then keep to the limits."""
    limits, n = problem.limits, problem.n_nodes
    assert limits is not None
    if limits.allow(np.bincount(labels, problem.node_weights, n_clusters)):
        return True
    state = State(problem, labels, n_clusters)
    assert state.limits is not None
    lightest, heaviest = state.limits
    heap, status = (np.empty(n), np.empty(n, dtype=np.int32)), np.zeros(n, dtype=np.uint8)
    least, weights = float(problem.node_weights.min()), state.cluster_weights
    # What a cluster must have room for, or be able to spare, to count: any node to begin with.
    room = float(problem.node_weights.max())
    for _ in range(MOST_ROUNDS):
        # 1. From those that are too heavy to those with room.
        moved = 0
        if (weights > heaviest).any():
            distance = np.where(weights + room <= heaviest, 0, FAR).astype(np.int32)
            propagate_distances(state.arrays, labels, distance)
            members = np.argsort(labels, kind="stable").astype(np.int32)
            first = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=n_clusters))))
            moved += lighten_clusters(
                state.arrays, state.sums, state.limits, state.scratch[0], distance, members, first,
                status, heap,
            )  # fmt: skip
        # 2. To those that are too light from those that can spare nodes.
        if (weights < lightest).any():
            distance = np.where(weights - room >= lightest, 0, FAR).astype(np.int32)
            propagate_distances(state.arrays, labels, distance)
            moved += fill_clusters(state.arrays, state.sums, state.limits, distance, status, heap)
        # 3. By fresh sums: what is handed on many times adds up rounding.
        state.measure()
        if limits.allow(weights - problem.offset):
            return True
        if moved == 0:
            if room <= least:
                break
            room = max(0.5 * room, least)
    return False


# -- cannot-links


def start_of_merged(
    problem: Problem, steps: list[Step], n_clusters: int
) -> tuple[list[Step], np.ndarray] | None:
    """Return labels of the last level of an agglomeration, or of the coarsest that has any.

    Merging may end with more nodes than clusters, none of which can be together. The levels above
    leave more of a choice. None if even the problem itself has no partition that is found.
    """
    low = steps[-1].problem if steps else problem
    if low.n_nodes == n_clusters:
        return steps, np.arange(n_clusters, dtype=np.int32)
    labels = _least_violated(problem, steps, n_clusters)
    while True:
        found = respecting(low, labels, n_clusters)
        if found is not None:
            return steps, found
        if not steps:
            return None
        *steps, last = steps
        labels = labels[last.parent]
        low = steps[-1].problem if steps else problem


def _least_violated(problem: Problem, steps: list[Step], n_clusters: int) -> np.ndarray:
    """Return labels of the last level: the heaviest nodes are clusters, and the others join one.

    Each joins where it violates the fewest pairs of ``problem``, of those where it has the most
    affinity. On large levels the others are left without a cluster, -1.
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
    # How many pairs there are between two nodes of the level.
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
    """Return labels with -1 for nodes that leave, those in most violated pairs first."""
    links = problem.cannot_link
    assert links is not None
    labels = labels.copy()
    broken = links.violated(labels)
    broken = broken[labels[broken[:, 0]] >= 0]
    count = np.bincount(broken.reshape(-1), minlength=problem.n_nodes)
    nodes = np.unique(broken)
    # Of those in equally many pairs the lightest, whose place matters least.
    nodes = nodes[np.argsort(problem.node_weights[nodes], kind="stable")]
    while nodes.size and count[nodes].max() > 0:
        i = nodes[np.argmax(count[nodes])]
        others = links.partners(i)
        count[others[labels[others] == labels[i]]] -= 1
        count[i], labels[i] = 0, -1
    return labels


def _placed(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Put nodes of label -1 where they add least to the cut, those with the least choice first.

    None where a node has no cluster that it may join.
    """
    links, graph = problem.cannot_link, problem.graph
    assert links is not None
    waiting = np.flatnonzero(labels < 0)
    if waiting.size == 0:
        return labels
    # 1. The sums of clusters; those that wait are outside of all of them.
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
    # 2. The heaviest of those with the least choice comes next.
    order = np.argsort(-problem.node_weights[waiting], kind="stable")
    n_barred = barred.sum(axis=1)
    for _ in range(waiting.size):
        row = order[np.argmax(np.where(left, n_barred, -1)[order])]
        i, left[row] = waiting[row], False
        if n_barred[row] == n_clusters:
            return None
        # 3. What the cut grows by in each cluster; an empty one has no term yet.
        edges = slice(graph.indptr[i], graph.indptr[i + 1])
        ends = graph.indices[edges]
        own = np.where(ends == i, 0.0, graph.weights[edges])
        inside = labels[ends] >= 0
        link = np.bincount(labels[ends[inside]], own[inside], n_clusters)
        joined = boundary + (own.sum() - link) - link
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(weight > 0, boundary / weight, 0.0)
        growth = joined / (weight + problem.node_weights[i]) - before
        k = int(np.argmin(np.where(barred[row], np.inf, growth)))
        if barred[row, k]:  # growth that is no number
            k = int(np.argmin(barred[row]))
        labels[i] = k
        boundary[k] = max(joined[k], 0.0)
        weight[k] += problem.node_weights[i]
        # 4. Its partners have one cluster less.
        rows = place[links.partners(i)]
        rows = rows[rows >= 0]
        n_barred[rows] += ~barred[rows, k]
        barred[rows, k] = True
    return labels


def _colored(problem: Problem, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return labels in which nodes of pairs have the colors known, and the others keep theirs.

    Colors are named so that as much weight as possible keeps its label too.
    """
    links = problem.cannot_link
    assert links is not None
    assert links.coloring is not None
    colors, linked = links.coloring[links.nodes], links.nodes
    agreed = np.zeros((n_clusters, n_clusters))
    has_label = labels[linked] >= 0
    weights = problem.node_weights[linked]
    # As parts of the heaviest, so that no sum overflows.
    np.add.at(
        agreed,
        (colors[has_label], labels[linked[has_label]]),
        weights[has_label] / weights.max(),
    )
    from scipy.optimize import linear_sum_assignment  # slow to import, and few searches repair

    _, name = linear_sum_assignment(agreed, maximize=True)
    found = labels.astype(np.int32)
    found[linked] = name[colors]
    return found


def _fill(problem: Problem, labels: np.ndarray, n_clusters: int) -> None:
    """Move a node into every empty cluster, in place: each time the one that adds least."""
    graph, rows, node_weights = problem.graph, problem.graph.rows, problem.node_weights
    outward = graph.outward
    for k in range(n_clusters):
        count = np.bincount(labels, minlength=n_clusters)
        if count[k] > 0:
            continue
        boundary = _padded(problem.boundaries(labels), n_clusters)[labels]
        weight = _padded(problem.cluster_weights(labels), n_clusters)[labels]
        same = (labels[rows] == labels[graph.indices]) & (rows != graph.indices)
        own = np.bincount(rows[same], graph.weights[same], problem.n_nodes)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left = (boundary - (outward - own) + own) / (weight - node_weights)
            change = left - boundary / weight + outward / node_weights
        change[~(change < np.inf)] = np.finfo(np.float64).max
        change[count[labels] == 1] = np.inf  # it would leave a cluster empty
        labels[int(np.argmin(change))] = k


def _padded(sums: np.ndarray, size: int) -> np.ndarray:
    """Return sums of clusters with zeros for the last ones, which have no node."""
    found = np.zeros(size)
    found[: sums.size] = sums
    return found
