"""The verbs for anchor graphs, registered with those for stored graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from leastcut.anchors.problem import AnchorProblem
from leastcut.anchors.search import descend, search_anchors
from leastcut.anchors.table import inverse_of
from leastcut.bounds.certify import certify_labels
from leastcut.budget import Budget
from leastcut.memory import check_memory
from leastcut.multilevel.efforts import SearchOptions
from leastcut.multilevel.partition import solve
from leastcut.multilevel.refinement import refine_problem
from leastcut.problem import Problem
from leastcut.reductions import Start
from leastcut.results import Partition, Relaxation
from leastcut.seeds import RandomState
from leastcut.spectral.relax import lower_bound_problem, relax_problem

EPSILON = float(np.finfo(np.float64).eps)

LARGEST_EIGENVALUE = 1.0 - 1e-9  # from here on eigenvectors are not made of anchors


@solve.register(AnchorProblem)
def solve_anchors(
    problem: AnchorProblem,
    n_clusters: int,
    starts: Sequence[Start],
    options: SearchOptions,
    budget: Budget,
) -> Partition:
    """Cut all points; see :func:`leastcut.partition`."""
    if options.is_tight:
        raise ValueError(
            "lower_bound='tight' needs the edges, which an anchor graph does not store; pass "
            "lower_bound=True, or graph.to_sparse() if it is small enough."
        )
    problem = problem.with_threads(options.n_jobs)
    found = search_anchors(
        problem, n_clusters, [problem.split(labels) for _, labels in starts], options, budget
    )
    bound = None
    if options.lower_bound or (
        options.wants_bound(problem.masses.size) and budget.seconds_left > 0.0
    ):
        bound = lower_bound_problem(problem, n_clusters, 0)
    return Partition(np.concatenate(found.kept), found.value, bound)


@refine_problem.register(AnchorProblem)
def refine_anchors(problem: AnchorProblem, labels: np.ndarray) -> Partition:
    """Move points until no single move makes the cut smaller."""
    kept = problem.split(labels)
    found = descend(problem.workers, kept, problem.table(kept, int(labels.max()) + 1))
    return Partition(np.concatenate(found.kept), found.table.value)


@certify_labels.register(AnchorProblem)
def certify_anchors(problem: AnchorProblem, labels: np.ndarray, **options: Any) -> NoReturn:
    """Raise: a proof needs the edges."""
    raise TypeError(
        "A proof needs the edges, and an anchor graph stores no edges; lower_bound gives a bound "
        "by eigenvalues. If there are few samples, pass graph.to_sparse() and the labels to "
        "leastcut.certify."
    )


@lower_bound_problem.register(AnchorProblem)
def lower_bound_anchors(
    problem: AnchorProblem, n_clusters: int, random_state: RandomState
) -> float:
    """Return a lower bound on every cut of all points."""
    return relax_core(problem.core, problem.workers.sizes, n_clusters, random_state).lower_bound


@relax_problem.register(AnchorProblem)
def relax_anchors(
    problem: AnchorProblem, n_clusters: int, *, random_state: RandomState, **options: Any
) -> Relaxation:
    """Return the smallest eigenpairs of I − S.

    With V the eigenvectors of Λ^-½ ZᵀZ Λ^-½ and 1 − λ their eigenvalues, those of S are
    Z Λ^-½ V / √(1 − λ).
    """
    n, p = problem.n_nodes, problem.masses.size
    check_memory(
        3.0 * 8.0 * n * n_clusters,
        f"{n_clusters} eigenvectors of {n} points",
        "lower_bound and partition need no eigenvectors of points.",
    )
    sizes = problem.workers.sizes
    small = relax_core(problem.core, sizes, n_clusters, random_state, **options)
    if small.eigenvalues[-1] > LARGEST_EIGENVALUE:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the directions that {p} anchors have; pass "
            "fewer, or more n_anchors to anchor_graph."
        )
    used, scaled = problem.masses > 0, np.zeros((p, n_clusters))
    scaled[used] = small.eigenvectors / np.sqrt(problem.masses[used])[:, None]
    weights = problem.weights
    vectors = np.asarray(weights @ scaled) / np.sqrt(1.0 - small.eigenvalues)
    joined = weights @ (inverse_of(problem.masses)[:, None] * (weights.T @ vectors))
    return Relaxation(
        small.eigenvalues,
        vectors,
        np.ones(n),
        vectors - joined,
        small.solver,
        small.converged,
        small.floors,
    )


def relax_core(
    core: Problem,
    sizes: Sequence[int],
    n_clusters: int,
    random_state: RandomState,
    **options: Any,
) -> Relaxation:
    """Return the eigenpairs of the anchors' own graph, with floors that hold for all points.

    The eigenvalues are the same. Sums of ZᵀZ over blocks of these sizes are rounded: of terms that
    are not negative, each by at most half a unit in the last place per term, so that the matrix and
    its degrees are off by at most that fraction of their norm, which is 1.
    """
    found: Relaxation = relax_problem(core, n_clusters, random_state=random_state, **options)
    if found.floors is None:
        return found
    off = 2.0 * (max(sizes) + len(sizes) + 8) * EPSILON
    return replace(found, floors=np.maximum(found.floors - off, 0.0))
