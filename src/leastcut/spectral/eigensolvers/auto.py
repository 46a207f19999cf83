"""Choice of an eigensolver by an estimate of the cost of each.

A graph with small separators, such as the neighbor graph of points in the plane, has a sparse
factorization, and shift-invert needs few solves where Lanczos would need thousands of products. The
factor of a graph with large separators, such as the neighbor graph of points in twenty dimensions,
has about n² entries; but its spectrum is well separated, and Lanczos converges fast. The sizes of
the levels of a breadth-first search estimate the separators at the cost of a few products.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from leastcut.spectral.eigensolvers.dense import dense
from leastcut.spectral.eigensolvers.interface import MAX_ITER, TOLERANCE, Eigenpairs
from leastcut.spectral.eigensolvers.inverse import cg_invert, shift_invert
from leastcut.spectral.eigensolvers.lanczos import lanczos

DENSE_SIZE = 500  # rows up to which LAPACK is as fast as the other solvers
DENSE_RATIO = 8  # LAPACK is also used if more than this fraction (1/8) of all eigenpairs is needed
FACTOR_LIMIT = 5e7  # estimated entries of a factor, 24 bytes each (1.2 GB), that are accepted
SKEWED = 10.0  # ratio of largest to mean diagonal entry from which cg_invert is used
OVERRUN = 2  # multiple of the estimated steps after which a factorization replaces Lanczos
UNRESOLVED = 3000.0  # eigenvalues below this multiple of the tolerance give no useful lower bound

# Fitted to times and counts on neighbor graphs in 2 to 20 dimensions, images and meshes. Costs are
# in nanoseconds; only their ratio is used, so the machine matters little.

FIRST_STEPS = 120.0  # Lanczos steps on any graph
STEPS_PER_PAIR = 3.0  # further steps per eigenpair
STEPS_PER_LEVEL = 15.0  # further steps per level: a product carries information along one edge
STEP_COST_PER_ENTRY = 1.2  # per stored entry of the matrix, for one product
STEP_COST_PER_ROW = 12.0  # per row, for the rest of a step
STEP_COST_PER_ROW_AND_PAIR = 2.0  # per row, for orthogonalizing against one vector
ENTRIES_PER_NODE = 20.0  # entries of the factor per node, even with small separators
ENTRIES_PER_SQUARE = 3.0  # per pair of nodes of a level, which are eliminated as a dense block
FACTOR_COST_PER_NODE = 5000.0  # for ordering and eliminating a node
FACTOR_COST_PER_CUBE = 0.9  # per operation in a dense block, cubic in the width of a level
CROWDED = 16.0  # entries per row above which the factor fills more than its levels suggest
FIRST_SOLVES = 20  # solves of shift-invert for any number of eigenpairs
SOLVES_PER_PAIR = 3  # further solves per eigenpair
SOLVE_COST_PER_ENTRY = 4.0  # per entry of the factor, for one forward and backward solve


class Estimate(NamedTuple):
    """Estimated cost of Lanczos and shift-invert."""

    n_steps: float  # of Lanczos
    worth: float  # Lanczos steps that take as long as shift-invert
    entries: float  # of the factor
    seconds: float  # for the factorization, which cannot be interrupted


def auto(
    matrix: sp.csr_array,
    null: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
    deadline: float = np.inf,
) -> Eigenpairs:
    """Choose a solver by the size and shape of the graph, and run it.

    If Lanczos takes much longer than estimated, a factorization replaces it if it is affordable.
    """
    options: dict[str, Any] = {"rng": rng, "tol": tol, "deadline": deadline}
    n = null.size
    # 1. Use LAPACK for small matrices, and for a large fraction of all eigenpairs.
    if n <= max(DENSE_SIZE, DENSE_RATIO * count):
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    # 2. Factorize if it is affordable and estimated to be faster.
    expected = estimate(matrix, count)
    in_time = time.monotonic() + expected.seconds <= deadline
    may_factorize = expected.entries <= FACTOR_LIMIT and in_time
    budget = max_iter
    if may_factorize:
        if expected.worth <= expected.n_steps:
            return shift_invert(matrix, null, count, max_iter=max_iter, **options)
        # The estimate may be wrong, so the number of Lanczos steps is limited.
        budget = min(max_iter, int(max(OVERRUN * expected.n_steps, expected.worth)))
    # 3. Iterate: with the matrix, or with its inverse if a few nodes dominate the spectrum.
    diagonal = matrix.diagonal()
    iterate = cg_invert if diagonal.max() > SKEWED * diagonal.mean() else lanczos
    pairs = iterate(matrix, null, count, max_iter=budget, **options)
    # 4. Factorize if the iteration did not converge, or if the eigenvalues are too small for a
    #    useful lower bound, as in a graph of nearly disconnected clusters. Not if the user's own
    #    limit was reached, or if the factor is too large.
    resolved = pairs.converged and pairs.values.mean() > UNRESOLVED * min(tol, TOLERANCE)
    at_cap = not pairs.converged and budget == max_iter
    if resolved or at_cap or not may_factorize:
        return pairs
    return shift_invert(matrix, null, count, max_iter=max_iter, **options)


def estimate(matrix: sp.csr_array, count: int) -> Estimate:
    """Estimate the cost of Lanczos and shift-invert from the levels of a breadth-first search.

    A level separates the nodes before it from the nodes after it, so a level of w nodes, eliminated
    last, becomes a dense block of w² entries that takes w³ operations. The number of levels
    approximates the diameter, to which the number of Lanczos steps is proportional.
    """
    n = matrix.shape[0]
    # 1. The shape of the graph: the sizes of its levels.
    widths = level_widths(matrix).astype(np.float64)
    width = float(np.sum(widths**2) / np.sum(widths))  # of the level of a node, on average
    # 2. Shift-invert: entries of the factor, cost of the factorization, and cost of all solves.
    crowding = max(1.0, matrix.nnz / (CROWDED * n)) ** 2
    entries = crowding * (ENTRIES_PER_NODE * n + ENTRIES_PER_SQUARE * width**2)
    factorize = crowding * (FACTOR_COST_PER_NODE * n + FACTOR_COST_PER_CUBE * width**3)
    solves = (SOLVES_PER_PAIR * count + FIRST_SOLVES) * SOLVE_COST_PER_ENTRY * entries
    # 3. Lanczos: cost of a step, and number of steps.
    step = STEP_COST_PER_ENTRY * matrix.nnz + n * (
        STEP_COST_PER_ROW_AND_PAIR * count + STEP_COST_PER_ROW
    )
    n_steps = FIRST_STEPS + STEPS_PER_PAIR * count + STEPS_PER_LEVEL * widths.size
    # 4. Convert the cost of shift-invert to Lanczos steps.
    return Estimate(n_steps, (factorize + solves) / step, entries, factorize * 1e-9)


def level_widths(matrix: sp.csr_array) -> np.ndarray:
    """Return the sizes of the levels of a breadth-first search from a peripheral node."""
    # The last node reached is peripheral; levels from there are many and narrow.
    far = breadth_first_order(matrix, 0, return_predecessors=False)[-1]
    order, parent = breadth_first_order(matrix, far)
    reached = order.size
    # 1. The position of every node in the search order.
    position = np.zeros(matrix.shape[0], dtype=np.int64)
    position[order] = np.arange(reached)
    # 2. Children are in the order of their parents, so the children of consecutive nodes are
    #    consecutive. ``children_end[q]`` is the end of the children of the first q + 1 nodes.
    children_end = 1 + np.searchsorted(
        position[parent[order[1:]]], np.arange(reached), side="right"
    )
    # 3. A level ends with the children of the last node of the previous level.
    next_end = children_end.tolist()
    ends = [0, 1]
    while ends[-1] < reached:
        ends.append(next_end[ends[-1] - 1])
    return np.diff(ends)
