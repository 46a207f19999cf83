"""Density gaps between clusters: evidence that clusters are separated by regions of low density.

An elongated shape can be cut anywhere at a similar cost, and eigenvalues do not distinguish such a
cut from one along a density gap. The cost of cuts nearby does. For a cluster C, let the depth of a
node be its number of hops from the boundary of C, and let inside(C) be the minimum cut between the
nodes of depth at most 1 and the nodes of depth at least 3, computed as a maximum flow. At a density
gap, boundary(C) is far below inside(C). Elsewhere the two are similar, except that the search
selects the cheapest place for the boundary.

With m nodes along the inner cut, the probability that a boundary is this small by chance is about
e^-evidence,

    evidence = m (1 − r + r log r),   r = boundary(C) / (usual · inside(C)),

the probability of r m events if m are expected. The evidence of a partition is the evidence of its
weakest cluster.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from leastcut.problem import Problem

# Depths of the source and the sink of the inner cut: with smaller depths it would share nodes with
# the boundary, with larger ones small clusters would have no inner cut.
NEAR, DEEP = 1, 3
FEWEST_DEEP = 5  # fewest nodes of a cluster at depth DEEP
# Boundary divided by inner cut without gaps; the boundary is where cutting is cheapest.
USUAL = 0.45
PER_NODE = 0.2  # fraction of a node's edges that a minimum cut crosses, to count nodes along a cut
DIGITS = 1000  # flows are integers; the edges of an average node have this total capacity


def gap_evidence(problem: Problem, labels: np.ndarray) -> float:
    """Return the evidence that every cluster is separated by a density gap.

    It is 0 if some cluster is not separated, or is too small to decide. Clusters that are unions of
    connected components are ignored.
    """
    boundaries = problem.boundaries(labels)
    depth, rows, columns, weights = _depths(problem, labels)
    unit = float(problem.graph.outward.mean())
    evidence = np.inf
    for cluster in np.flatnonzero(boundaries > 0.0).tolist():
        members, is_inside = labels == cluster, labels[rows] == cluster
        edges = rows[is_inside], columns[is_inside], weights[is_inside] / unit
        boundary, strongest = float(boundaries[cluster]) / unit, 0.0
        # A narrow gap is visible next to the boundary, a wide one at larger depths.
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
    """Return −log of the probability of such a boundary, given the inner cut."""
    if boundary >= USUAL * inside:
        return 0.0
    ratio = max(boundary / (USUAL * inside), float(np.finfo(np.float64).tiny))
    return inside / PER_NODE * (1.0 - ratio + ratio * float(np.log(ratio)))


def has_depth(problem: Problem, labels: np.ndarray) -> bool:
    """Return whether every cluster has enough nodes at depth DEEP, or no boundary."""
    depth, *_ = _depths(problem, labels)
    deep = np.bincount(labels[depth >= DEEP], minlength=int(labels.max()) + 1)
    return bool(deep.min() >= FEWEST_DEEP)


def _depths(
    problem: Problem, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the depth of every node, and the edges inside clusters."""
    graph = problem.graph
    rows, columns = graph.rows, graph.indices
    same = labels[rows] == labels[columns]
    # Nodes that are not connected to a boundary have depth n.
    unknown = problem.n_nodes
    depth = np.full(problem.n_nodes, unknown)
    frontier = np.unique(rows[~same])
    rows, columns, weights = rows[same], columns[same], graph.weights[same]
    matrix = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=graph.matrix.shape)
    hops = 0
    while frontier.size:
        depth[frontier] = hops
        hops += 1
        frontier = np.unique(matrix[frontier].indices)
        frontier = frontier[depth[frontier] == unknown]
    return depth, rows, columns, weights


def _inner_cut(
    depth: np.ndarray, rows: np.ndarray, columns: np.ndarray, weights: np.ndarray
) -> float:
    """Return the minimum cut between the nodes of a cluster of smallest and largest ``depth``."""
    # 1. Contract the nodes of smallest depth to the source, node 0, and of largest depth to the
    #    sink, node 1.
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
    # 2. Round to integers; the total capacity must fit into 32 bits.
    digits = min(float(DIGITS), 1e9 / max(float(summed.sum()), 1.0))
    rounded = np.minimum(np.round(summed.data * digits), 1e9).astype(np.int32)
    capacity = sp.csr_array((rounded, summed.indices, summed.indptr), shape=summed.shape)
    # 3. The maximum flow equals the minimum cut.
    return float(sp.csgraph.maximum_flow(capacity, 0, 1).flow_value) / digits
