"""What the spectral solution of a problem will cost, foreseen from its size.

In edges visited, the unit in which the search counts its work, so that a seed and not the clock
decides what takes part. Fitted to times on neighbour graphs, planted blocks, grids and power laws
of 1,000 to 8,000 nodes with 5 to 150 clusters, which they meet within a factor of 3.
"""

from __future__ import annotations

from firstcut.cuts import Problem
from firstcut.partitioning.passes import STARTS

SECONDS_PER_EDGE = 8e-9
"""Time of a visit, which is taken only where there is a time limit to be kept."""

DENSE_NODES, DENSE_RATIO = 500, 8
"""Up to so many nodes, or so many per cluster, eigenproblems are solved in full."""

EDGES_PER_CUBE = 1 / 60
"""Of a full eigenproblem, for every n³."""

FIRST_STEPS, STEPS_PER_CLUSTER = 240, 6
"""Products that other eigenproblems take, for any number of clusters and for each."""

TYPICAL_SWEEPS = 30
"""Sweeps of a start of the discretization."""

SWEEP_TERMS = 0.009, 0.1, 0.5
"""Edges of a sweep for every n·c² (a product), c³ (its rotation) and n·c (the sweep itself)."""


def eigenproblem_work(problem: Problem, n_clusters: int) -> float:
    """Foresee what the ``n_clusters`` smallest eigenpairs of a problem cost."""
    n, c = problem.n_nodes, n_clusters
    if n <= max(DENSE_NODES, DENSE_RATIO * c):
        return EDGES_PER_CUBE * float(n) ** 3
    # A product visits the edges, and is made orthogonal to about twice the vectors wanted.
    step = 0.15 * problem.graph.n_stored + n * (0.25 * c + 1.5)
    return (FIRST_STEPS + STEPS_PER_CLUSTER * c) * step


def spectral_work(problem: Problem, n_clusters: int) -> float:
    """Foresee what the spectral solution costs: the eigenproblem, and all starts from it."""
    n, c = float(problem.n_nodes), float(n_clusters)
    product, rotation, sweep = SWEEP_TERMS
    start = TYPICAL_SWEEPS * (product * n * c**2 + rotation * c**3 + sweep * n * c)
    return eigenproblem_work(problem, n_clusters) + STARTS * start
