"""New points among clusters: each joins the one where the cut grows least.

A point with ties t_k to the clusters (they add up to 1) and z = Σ_j w_j² / Λ_j adds
1 − 2 t_k − z to the boundary of the cluster it joins and 1 to its size, so that the value grows by
(1 − 2 t_k − z − boundary_k / n_k) / (n_k + 1). A training point is one whose weights are counted
already; where no move of it makes the cut smaller, its own cluster is the answer, too, unless
hardly anything else is tied to its anchors.
"""

from __future__ import annotations

import numpy as np

from leastcut.anchors.blocks import Block
from leastcut.anchors.table import Table, inverse_of
from leastcut.kernels.anchor_moves import join_clusters


def place(block: Block, table: Table) -> np.ndarray:
    """Return the clusters that new points join, as int32.

    Parameters
    ----------
    block : Block
        The new points, with their ties.
    table : Table
        That of the clusters.
    """
    labels = np.empty(block.n_points, dtype=np.int32)
    sizes = table.sizes
    clusters = table.weights * inverse_of(table.masses)[:, None], table.boundaries / sizes, sizes
    ties = np.empty(sizes.size)
    inverse = inverse_of(table.masses)
    join_clusters(block.anchors, block.weights, inverse, clusters, labels, ties)
    return labels
