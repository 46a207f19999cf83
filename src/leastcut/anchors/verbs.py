"""What the public verbs do with an anchor graph: its points are cut, refined, valued and relaxed.

Ratio and normalized cut are the same here, as every degree is 1; weights of nodes and links need
the edges themselves, and are refused with the way to them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leastcut.anchors.points import AnchoredPoints
from leastcut.anchors.search import cut_crew, refine_crew, starts_of
from leastcut.anchors.table import inverse_of, table_of_crew
from leastcut.budget import Budget
from leastcut.memory import check_memory
from leastcut.multilevel.efforts import EFFORTS
from leastcut.problem import CUTS
from leastcut.progress import SEARCH_STAGES, TimeEstimate
from leastcut.results import Partition, Relaxation
from leastcut.seeds import RandomState, as_generator
from leastcut.spectral.relax import relax_problem
from leastcut.validation import check_choice, check_init, check_labels, check_n_clusters

EPSILON = float(np.finfo(np.float64).eps)

LARGEST_EIGENVALUE = 1.0 - 1e-9
"""Eigenvalues from here on are 1 to rounding: their eigenvectors are not made of anchors."""


def check_cut(cut: object) -> None:
    """Raise where a cut is not one of those that anchor graphs have."""
    if not isinstance(cut, str):
        raise ValueError(
            "An anchor graph weighs every point by 1, which is its degree; weights of nodes need "
            "graph.to_sparse(), if it is small enough. Leave cut out."
        )
    check_choice("cut", cut, CUTS)


def check_number_of_clusters(n_clusters: object, graph: AnchoredPoints) -> int:
    """Return ``n_clusters`` if points of so many anchors can form them."""
    number = check_n_clusters(n_clusters, graph.n_nodes)
    used = int(np.count_nonzero(graph.masses))
    if number > used:
        raise ValueError(
            f"n_clusters={number} is more than the {used} anchors that points are tied to; pass "
            "more n_anchors to anchor_graph."
        )
    if graph.most_clusters is not None and number > graph.most_clusters:
        raise ValueError(
            f"n_clusters={number} is more than the {graph.most_clusters} clusters for whose tables "
            "max_memory leaves room; pass more max_memory to anchor_graph."
        )
    return number


def cut_value_of_anchors(graph: AnchoredPoints, labels: npt.ArrayLike, cut: object) -> float:
    """Return the value of a cut of all points; see :func:`leastcut.cut_value`."""
    check_cut(cut)
    own = check_labels(labels, graph.n_nodes)
    kept = graph.split(own)
    return table_of_crew(graph.crew, graph.masses, kept, int(own.max()) + 1).value


def refine_anchors(graph: AnchoredPoints, labels: npt.ArrayLike, cut: object) -> Partition:
    """Move points until no single move makes the cut smaller; see :func:`leastcut.refine`."""
    check_cut(cut)
    own = check_labels(labels, graph.n_nodes)
    found = refine_crew(graph.crew, graph.masses, graph.split(own), int(own.max()) + 1)
    return Partition(np.concatenate(found.kept), found.value)


def partition_anchors(
    graph: AnchoredPoints,
    n_clusters: int | str,
    cut: object,
    *,
    effort: str,
    inits: list[tuple[str, Any]],
    budget: Budget,
    lower_bound: bool | str | None,
    random_state: RandomState,
    n_jobs: int | None,
) -> Partition:
    """Cut all points; see :func:`leastcut.partition`, whose options these are, checked."""
    check_cut(cut)
    if lower_bound == "tight":
        raise ValueError(
            "lower_bound='tight' needs the edges, which an anchor graph does not store; pass "
            "lower_bound=True, or graph.to_sparse() if it is small enough."
        )
    seed = int(as_generator(random_state).integers(2**31))
    if n_jobs is not None:
        graph = replace(graph, n_threads=n_jobs)
    if isinstance(n_clusters, str):
        from leastcut.multilevel.auto_number import auto_number

        n_clusters = auto_number(graph.anchor_problem, seed, budget.deadline)
    number = check_number_of_clusters(n_clusters, graph)
    given = [graph.split(check_init(labels, graph.n_nodes, number, name)) for name, labels in inits]
    # Only a call that can be made again, to the same labels, has something to go on with.
    is_repeatable = not given and budget.time_limit is None and random_state is not None
    stages = tuple(dict.fromkeys(start.stage for start in starts_of(effort)))
    with budget.shown("partition", lambda: TimeEstimate(stages, SEARCH_STAGES, budget.time_limit)):
        found = cut_crew(
            graph.crew,
            graph.masses,
            number,
            effort=effort,
            seed=seed,
            given=given,
            deadline=budget.deadline,
            listener=None if budget.callback is None else budget.report,
            checkpoint=_checkpoint(graph, number, effort, seed) if is_repeatable else None,
            began=budget.began,
            on_interrupt=budget.on_interrupt,
            of_anchors=lambda: graph.anchor_problem,
        )
    is_small = graph.n_anchors <= EFFORTS[effort].bound_nodes
    bound = None
    if lower_bound or (lower_bound is None and is_small and budget.seconds_left > 0.0):
        bound = lower_bound_of_anchors(graph, number, seed)
    return Partition(np.concatenate(found.kept), found.value, bound)


def _checkpoint(graph: AnchoredPoints, n_clusters: int, effort: str, seed: int) -> Any:
    """Return where a search leaves how far it is, if the graph has a folder."""
    if graph.store.folder is None:
        return None
    from leastcut.anchors.checkpoint import FolderCheckpoint
    from leastcut.anchors.files import sum_of

    name = f"{n_clusters}-clusters-{effort}-seed-{seed}"
    numbers = sum_of([graph.anchors, graph.masses])
    return FolderCheckpoint(graph.store.folder, name, numbers, graph.store.sizes, n_clusters)


def relax_anchors(
    graph: AnchoredPoints,
    n_clusters: int,
    cut: object,
    *,
    random_state: RandomState,
    **options: Any,
) -> Relaxation:
    """Return the smallest eigenpairs of I − S; see :func:`leastcut.relax`.

    With V the eigenvectors of Λ^-½ ZᵀZ Λ^-½ and 1 − λ their eigenvalues, those of S are
    Z Λ^-½ V / √(1 − λ).
    """
    check_cut(cut)
    number = check_number_of_clusters(n_clusters, graph)
    n = graph.n_nodes
    check_memory(
        3.0 * 8.0 * n * number,
        f"{number} eigenvectors of {n} points",
        "lower_bound and partition need no eigenvectors of points.",
    )
    small = relaxed_anchors(graph, number, random_state, **options)
    if small.eigenvalues[-1] > LARGEST_EIGENVALUE:
        raise ValueError(
            f"n_clusters={number} is more than the directions that {graph.n_anchors} anchors have; "
            "pass fewer, or more n_anchors to anchor_graph."
        )
    used = graph.masses > 0
    scaled = np.zeros((graph.n_anchors, number))
    scaled[used] = small.eigenvectors / np.sqrt(graph.masses[used])[:, None]
    weights = graph.weights
    vectors = np.asarray(weights @ scaled) / np.sqrt(1.0 - small.eigenvalues)
    joined = weights @ (inverse_of(graph.masses)[:, None] * (weights.T @ vectors))
    return Relaxation(
        small.eigenvalues,
        vectors,
        np.ones(n),
        vectors - joined,
        small.solver,
        small.converged,
        small.floors,
    )


def lower_bound_of_anchors(
    graph: AnchoredPoints, n_clusters: int, random_state: RandomState
) -> float:
    """Return a number that no cut of all points is below; see :func:`leastcut.lower_bound`."""
    number = check_number_of_clusters(n_clusters, graph)
    return relaxed_anchors(graph, number, random_state).lower_bound


def relaxed_anchors(
    graph: AnchoredPoints, n_clusters: int, random_state: RandomState, **options: Any
) -> Relaxation:
    """Return the eigenpairs of the anchors' own graph, with floors that hold for all points.

    The eigenvalues are the same. Sums of ZᵀZ are rounded: of terms that are not negative, each by
    at most half a unit in the last place per term, so that the matrix and its degrees are off by
    at most that part of their norm, which is 1.
    """
    found = relax_problem(graph.anchor_problem, n_clusters, random_state=random_state, **options)
    if found.floors is None:
        return found
    sizes = graph.store.sizes
    off = 2.0 * (max(sizes) + len(sizes) + 8) * EPSILON
    return replace(found, floors=np.maximum(found.floors - off, 0.0))
