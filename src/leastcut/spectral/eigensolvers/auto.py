"""Which solver suits a graph: an estimate of what each would cost, from its size and shape.

A graph that is thin, like the neighbors of points in the plane, has separators of few nodes: a
factorization stays sparse, and a handful of solves finds the eigenpairs that Lanczos would need
thousands of products for. A graph that is wide, like the neighbors of points in twenty dimensions,
fills the factor with n² entries; but then its spectrum is well separated, and Lanczos is quick. How
wide it is shows in the levels of a breadth-first search, at the price of a few products.
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

DENSE_SIZE = 500  # up to this many rows LAPACK is as fast as anything
DENSE_RATIO = 8  # the same if more than one in this many of all eigenpairs is wanted
FACTOR_LIMIT = 5e7  # estimated entries of a factor, 24 bytes each (1.2 GB), that are accepted
SKEWED = 10.0  # largest diagonal entry, in averages, from which the diagonal is worth dividing out
OVERRUN = 2  # times the estimated steps that iteration may take if a factorization can take over
UNRESOLVED = 3000.0  # tolerances below which an eigenvalue is lost in what iteration leaves open

# What follows was fitted to times and counts on neighbor graphs in 2 to 20 dimensions, images and
# meshes. Costs are in nanoseconds; as only their ratio is used, the machine matters little.

FIRST_STEPS = 120.0  # steps that Lanczos needs on any graph
STEPS_PER_PAIR = 3.0  # steps that every wanted eigenpair adds
STEPS_PER_LEVEL = 15.0  # and every level: a product carries information along one edge
STEP_COST_PER_ENTRY = 1.2  # of a stored entry of the matrix in one product
STEP_COST_PER_ROW = 12.0  # of a row in what a step does besides the product
STEP_COST_PER_ROW_AND_PAIR = 2.0  # of a row in making a vector orthogonal to one of the others
ENTRIES_PER_NODE = 20.0  # of the factor that a node brings, however thin the graph
ENTRIES_PER_SQUARE = 3.0  # for every two nodes of a level, which are eliminated as a full block
FACTOR_COST_PER_NODE = 5000.0  # of ordering and eliminating a node of a thin graph
FACTOR_COST_PER_CUBE = 0.9  # of the operations in a full block, cubic in a level's width
CROWDED = 16.0  # entries of a row from which the factor has more entries than its levels say
FIRST_SOLVES = 20  # solves that shift-invert needs for any number of eigenpairs
SOLVES_PER_PAIR = 3  # solves that every wanted eigenpair adds
SOLVE_COST_PER_ENTRY = 4.0  # of an entry of the factor in one solve, forward and back


class Estimate(NamedTuple):
    """What Lanczos and shift-invert would take."""

    n_steps: float  # of Lanczos
    worth: float  # steps of Lanczos that take as long as shift-invert
    entries: float  # of the factor
    seconds: float  # to make the factor, which cannot be cut short


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
    """Run the solver that suits the size and shape of the graph.

    Iteration is stopped when it takes much longer than expected and a factorization can take over.
    """
    options: dict[str, Any] = {"rng": rng, "tol": tol, "deadline": deadline}
    n = null.size
    # 1. Solve in full small blocks, and those of which a large share of all pairs is wanted.
    if n <= max(DENSE_SIZE, DENSE_RATIO * count):
        return dense(matrix, null, count, rng=rng, deadline=deadline)
    # 2. Factorize where that is affordable, and expected to be faster.
    expected = estimate(matrix, count)
    in_time = time.monotonic() + expected.seconds <= deadline
    may_factorize = expected.entries <= FACTOR_LIMIT and in_time
    budget = max_iter
    if may_factorize:
        if expected.worth <= expected.n_steps:
            return shift_invert(matrix, null, count, max_iter=max_iter, **options)
        # An estimate can be wrong: iteration may take OVERRUN times the expected steps, or as many
        # as the factorization is worth, before that takes over.
        budget = min(max_iter, int(max(OVERRUN * expected.n_steps, expected.worth)))
    # 3. Iterate: on the matrix itself, or on its inverse if a few nodes stretch the spectrum.
    diagonal = matrix.diagonal()
    iterate = cg_invert if diagonal.max() > SKEWED * diagonal.mean() else lanczos
    found = iterate(matrix, null, count, max_iter=budget, **options)
    # 4. Where the estimate was wrong, factorize after all; and where eigenvalues are so small that
    #    iteration proves nothing of them, as in a graph that all but falls apart. Who asks for less
    #    than the usual tolerance wants them soon, and not resolved. At the user's own cap, or if
    #    the factor is too large, what was found is returned as it is.
    resolved = found.converged and found.values.mean() > UNRESOLVED * min(tol, TOLERANCE)
    at_cap = not found.converged and budget == max_iter
    if resolved or at_cap or not may_factorize:
        return found
    return shift_invert(matrix, null, count, max_iter=max_iter, **options)


def estimate(matrix: sp.csr_array, count: int) -> Estimate:
    """Estimate what Lanczos and shift-invert would take, from the levels of a breadth-first search.

    A level separates what comes before it from what comes after, so a level of w nodes, eliminated
    last, becomes a full block of w² entries that costs w³ operations. And the number of levels is
    about the diameter, which Lanczos needs a multiple of.
    """
    n = matrix.shape[0]
    # 1. The shape of the graph: sizes of its levels, and how wide they are.
    widths = level_widths(matrix).astype(np.float64)
    width = float(np.sum(widths**2) / np.sum(widths))  # of the level that a node is in, on average
    # 2. Shift-invert: entries of the factor, the cost of making it, and that of all solves.
    crowding = max(1.0, matrix.nnz / (CROWDED * n)) ** 2
    entries = crowding * (ENTRIES_PER_NODE * n + ENTRIES_PER_SQUARE * width**2)
    factorize = crowding * (FACTOR_COST_PER_NODE * n + FACTOR_COST_PER_CUBE * width**3)
    solves = (SOLVES_PER_PAIR * count + FIRST_SOLVES) * SOLVE_COST_PER_ENTRY * entries
    # 3. Lanczos: the cost of a step, and how many steps.
    step = STEP_COST_PER_ENTRY * matrix.nnz + n * (
        STEP_COST_PER_ROW_AND_PAIR * count + STEP_COST_PER_ROW
    )
    n_steps = FIRST_STEPS + STEPS_PER_PAIR * count + STEPS_PER_LEVEL * widths.size
    # 4. Both in the same unit, a step of Lanczos.
    return Estimate(n_steps, (factorize + solves) / step, entries, factorize * 1e-9)


def level_widths(matrix: sp.csr_array) -> np.ndarray:
    """Return the sizes of the levels of a breadth-first search from a far end of the graph."""
    # The last node reached from any is at an end, from where levels are many and narrow.
    far = breadth_first_order(matrix, 0, return_predecessors=False)[-1]
    order, parent = breadth_first_order(matrix, far)
    reached = order.size
    # 1. Where every node comes in the search.
    position = np.zeros(matrix.shape[0], dtype=np.int64)
    position[order] = np.arange(reached)
    # 2. Children come in the order of their parents, so the children of any run of nodes are a run.
    #    ``children_end[q]`` is where those of the first q + 1 nodes end; the root is no one's
    #    child.
    children_end = 1 + np.searchsorted(
        position[parent[order[1:]]], np.arange(reached), side="right"
    )
    # 3. A level ends where the children of the last node of the level before it end.
    next_end = children_end.tolist()
    ends = [0, 1]
    while ends[-1] < reached:
        ends.append(next_end[ends[-1] - 1])
    return np.diff(ends)
