"""What the eigenproblem of a problem will cost, foreseen from its size.

In edges visited, the unit in which the search counts its work. Fitted to times on neighbour graphs,
planted blocks, grids and power laws of 1,000 to 8,000 nodes with 5 to 150 clusters, which it meets
within a factor of 3.
"""

from __future__ import annotations

from firstcut.cuts import Problem

SECONDS_PER_EDGE = 8e-9
"""Time of a visit, which is taken only where there is a time limit to be kept."""

DENSE_NODES, DENSE_RATIO = 500, 8
"""Up to so many nodes, or so many per cluster, eigenproblems are solved in full."""

EDGES_PER_CUBE = 1 / 60
"""Of a full eigenproblem, for every n³."""

FIRST_STEPS, STEPS_PER_CLUSTER = 240, 6
"""Products that other eigenproblems take, for any number of clusters and for each."""


def eigenproblem_work(problem: Problem, n_clusters: int) -> float:
    """Foresee what the ``n_clusters`` smallest eigenpairs of a problem cost."""
    n, c = problem.n_nodes, n_clusters
    if n <= max(DENSE_NODES, DENSE_RATIO * c):
        return EDGES_PER_CUBE * float(n) ** 3
    # A product visits the edges, and is made orthogonal to about twice the vectors wanted.
    step = 0.15 * problem.graph.n_stored + n * (0.25 * c + 1.5)
    return (FIRST_STEPS + STEPS_PER_CLUSTER * c) * step
