"""Nodes without edges: cut the graph without them, then give each a label.

The normalized cut does not weigh a node of degree 0, so that it takes no part in the cut. Where the
graph stores entries of weight 0, such as the idle lines of a power grid, these name its neighbours,
and it joins a cluster of theirs. Other nodes join the cluster whose term they lower most.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from leastcut.problem import Problem

SLIGHT = 2.0**-30
"""What a node that weighs nothing counts for beside the lightest of the others: too little to be
seen in a cut value, and more than rounding."""


class NoPlace(Exception):
    """A node without edges is to be apart from a node of every cluster."""


def clusters_of_core(wanted: int, n_core: int, n_isolated: int) -> int:
    """Return in how many clusters the nodes with edges are cut so that all nodes form ``wanted``.

    It is ``wanted`` unless there are fewer of them; isolated nodes are clusters then, as many as
    there can be.
    """
    return wanted if n_core >= wanted else min(n_core, max(1, wanted - n_isolated))


def label_isolated(
    problem: Problem, nodes: np.ndarray, labels: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Return labels of all nodes, in ``n_clusters`` clusters, given those of the nodes with edges.

    Parameters
    ----------
    problem : Problem
        All nodes; those without edges may weigh nothing. Its pairs that are to be apart are so
        among the nodes with edges.
    nodes : ndarray of shape (m,)
        The nodes with edges.
    labels : ndarray of shape (m,)
        Their labels, 0..k-1.
    n_clusters : int
        The number of clusters of all nodes, at least k.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    NoPlace
        Where pairs are to be apart, and the clusters of the nodes with edges leave one no place.
    """
    # 1. Nodes with edges keep their labels.
    everywhere = np.full(problem.n_nodes, -1, dtype=np.int64)
    everywhere[nodes] = labels
    lonely = np.flatnonzero(everywhere < 0)
    outside = problem.node_weights[lonely]
    # 2. Clusters that the nodes with edges are too few for are single isolated nodes.
    used = int(labels.max()) + 1 if labels.size else 0
    alone = n_clusters - used
    everywhere[lonely[:alone]] = np.arange(used, n_clusters)
    # 3. Take the sums of all clusters; a cluster of one isolated node has no boundary.
    boundary, cluster_weights = np.zeros(n_clusters), np.zeros(n_clusters)
    if labels.size:
        core = problem.restrict(nodes)
        boundary[:used] = core.boundaries(labels)
        cluster_weights[:used] = core.cluster_weights(labels)
    cluster_weights[used:] = outside[:alone]
    # 4. Each of the others joins the cluster of its stored neighbours, the cluster whose term it
    #    lowers most, or else the heaviest.
    sums = boundary, cluster_weights
    idle, light = problem.graph.idle, np.zeros(problem.n_nodes, dtype=bool)
    light[lonely] = outside <= SLIGHT * problem.node_weights.max()
    if idle is None:
        return _join_others(problem, everywhere, sums)
    try:
        joined = join_neighbors(problem, everywhere.copy(), light, idle)
        return _join_others(problem, joined, (boundary, cluster_weights.copy()))
    except NoPlace:
        # Those with pairs that are to be apart go first, wherever they have a place.
        assert problem.apart is not None
        held = np.setdiff1d(problem.apart.linked, nodes)
        everywhere = _join_others(problem, everywhere, sums, held[everywhere[held] < 0])
        return _join_others(problem, join_neighbors(problem, everywhere, light, idle), sums)


def join_neighbors(
    problem: Problem, labels: np.ndarray, light: np.ndarray, idle: sp.csr_array
) -> np.ndarray:
    """Give nodes that weigh nothing a cluster of their neighbours by stored zeros.

    Breadth first, from the nodes that have labels: each joins the cluster that most of its
    neighbours are in, of equally many the one of the smallest number. ``labels`` are -1 where a
    node has none yet, and are changed in place.
    """
    waiting = np.flatnonzero((labels < 0) & light & (np.diff(idle.indptr) > 0))
    while waiting.size:
        before, reached = labels.copy(), []
        for node in waiting:
            near = before[idle.indices[idle.indptr[node] : idle.indptr[node + 1]]]
            near = near[near >= 0]
            if problem.apart is not None:
                near = near[~np.isin(near, labels[problem.apart.of_node(node)])]
            if near.size:
                labels[node] = np.argmax(np.bincount(near))
                reached.append(node)
        if not reached:
            break
        waiting = np.setdiff1d(waiting, reached)
    return labels


def _join_others(
    problem: Problem,
    labels: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray],
    some: np.ndarray | None = None,
) -> np.ndarray:
    """Give nodes without labels the cluster whose term each lowers most, or else the heaviest.

    ``sums`` are the boundaries and the weights of all clusters, and ``some`` the nodes that are
    meant, by default all without labels. Labels and weights are changed in place.
    """
    boundary, cluster_weights = sums
    initial = cluster_weights.copy()
    apart, left = problem.apart, np.flatnonzero(labels < 0) if some is None else some
    if apart is not None:
        # Those of most pairs first: the others have more of a choice.
        left = left[np.argsort(-np.diff(apart.indptr)[left], kind="stable")]
    barred = np.zeros(boundary.size, dtype=bool)
    for node, weight in zip(left, problem.node_weights[left], strict=True):
        if apart is not None:
            barred[:] = False
            near = labels[apart.of_node(node)]
            barred[near[near >= 0]] = True
            if barred.all():
                raise NoPlace(int(node))
        # Boundaries stay: the node has no edges. A cluster that weighs nothing is 0 / 0, no gain.
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = boundary / cluster_weights - boundary / (cluster_weights + weight)
        gain = np.nan_to_num(gain)
        gain[barred] = -np.inf
        best = int(np.argmax(gain))
        if gain[best] <= 0:
            best = int(np.argmax(np.where(barred, -np.inf, initial)))
        labels[node] = best
        cluster_weights[best] += weight
    return labels
