"""Density gaps between clusters: whether clusters are cut off where cutting is cheap.

Long shapes can be cut across anywhere at about one cost, and no eigenvalue tells such a cut from
one that follows a gap. What tells them is the cost next to it. For a cluster C let ``depth`` be the
hops of a node of C from its boundary, and let inside(C) be the smallest cut between the nodes of
depth at most 1 and those of depth at least 3, a maximum flow. At a density gap boundary(C) is far
below inside(C); elsewhere it is not, as both are smallest cuts, but for what the search for the
boundary gains by its choice of place.

With m nodes along the inner cut, a boundary that chance makes so small has about the
probability e^-evidence,

    evidence = m (1 − r + r log r),   r = boundary(C) / (usual · inside(C)),

which is that of counting r m events if m are expected. A partition has that of its weakest
cluster.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from leastcut.problem import Problem

# Hops from the boundary between which the inner cut is sought: nearer it would share nodes with
# the boundary, deeper small clusters would have no place for it.
NEAR, DEEP = 1, 3
FEWEST_DEEP = 5  # nodes that lie deep in a cluster, at least: fewer are a corner of it
# Boundary over inner cut without gaps: the search chooses the cheapest place for the first.
USUAL = 0.45
# Part of a node's edges that a smallest cut along it crosses: it counts the nodes of a cut.
PER_NODE = 0.2
DIGITS = 1000  # flows are of whole numbers: so many make the edges of a mean node


def gap_evidence(problem: Problem, labels: np.ndarray) -> float:
    """Return the evidence that every cluster is enclosed by a density gap, and not by chance.

    0 if some cluster is not, or is too small to tell. Clusters that are entire components are left
    out.
    """
    boundaries = problem.boundaries(labels)
    depth, rows, columns, weights = _depths(problem, labels)
    unit = float(problem.graph.outward.mean())
    evidence = np.inf
    for cluster in np.flatnonzero(boundaries > 0.0).tolist():
        members, here = labels == cluster, labels[rows] == cluster
        edges = rows[here], columns[here], weights[here] / unit
        boundary, strongest = float(boundaries[cluster]) / unit, 0.0
        # A narrow gap shows next to the boundary, and a wide one halfway to the middle.
        middle = int(depth[members].max())
        for near, deep in {(NEAR, DEEP), (max(middle // 4, NEAR), max(middle // 2, DEEP))}:
            if np.count_nonzero(members & (depth >= deep)) >= FEWEST_DEEP:
                inside = _inner_cut(np.clip(depth, near, deep), *edges)
                strongest = max(strongest, _surprise(boundary, inside))
        evidence = min(evidence, strongest)
        if evidence == 0.0:
            return 0.0
    return float(evidence) if np.isfinite(evidence) else 0.0


def _surprise(boundary: float, inside: float) -> float:
    """Return −log of the probability of such a boundary, given the cut inside of it."""
    if boundary >= USUAL * inside:
        return 0.0
    ratio = max(boundary / (USUAL * inside), float(np.finfo(np.float64).tiny))
    return inside / PER_NODE * (1.0 - ratio + ratio * float(np.log(ratio)))


def has_depth(problem: Problem, labels: np.ndarray) -> bool:
    """Return whether every cluster has nodes deep enough for an inner cut, or is a component."""
    depth, *_ = _depths(problem, labels)
    deep = np.bincount(labels[depth >= DEEP], minlength=int(labels.max()) + 1)
    return bool(deep.min() >= FEWEST_DEEP)


def _depths(
    problem: Problem, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return every node's hops from its cluster's boundary, and the edges inside clusters."""
    graph = problem.graph
    rows, columns = graph.rows, graph.indices
    same = labels[rows] == labels[columns]
    # What the boundary does not reach, as entire components, is as deep as there are nodes.
    unknown = problem.n_nodes
    depth = np.full(problem.n_nodes, unknown)
    front = np.unique(rows[~same])
    rows, columns, weights = rows[same], columns[same], graph.weights[same]
    matrix = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=graph.matrix.shape)
    hops = 0
    while front.size:
        depth[front] = hops
        hops += 1
        front = np.unique(matrix[front].indices)
        front = front[depth[front] == unknown]
    return depth, rows, columns, weights


def _inner_cut(
    depth: np.ndarray, rows: np.ndarray, columns: np.ndarray, weights: np.ndarray
) -> float:
    """Return the smallest cut between the nodes of a cluster of least and of most ``depth``."""
    # 1. What is near is the source, node 0, and what is deep is the sink, node 1.
    near, deep = depth.min(), depth.max()
    band = np.unique(rows[(depth[rows] > near) & (depth[rows] < deep)])
    both = np.stack([rows, columns])
    ends = np.searchsorted(band, both) + 2
    ends[depth[both] == near] = 0
    ends[depth[both] == deep] = 1
    between = ends[0] != ends[1]
    size = band.size + 2
    summed = sp.coo_array(
        (weights[between], (ends[0, between], ends[1, between])), shape=(size, size)
    ).tocsr()
    # 2. Whole numbers; all that leaves the source must stay within 32 bits.
    digits = min(float(DIGITS), 1e9 / max(float(summed.sum()), 1.0))
    whole = np.minimum(np.round(summed.data * digits), 1e9).astype(np.int32)
    capacity = sp.csr_array((whole, summed.indices, summed.indptr), shape=summed.shape)
    # 3. The largest flow is the smallest cut.
    return float(sp.csgraph.maximum_flow(capacity, 0, 1).flow_value) / digits
