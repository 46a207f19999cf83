"""Solvers of the estimators, from a problem to labels.

``multilevel`` is the search of :func:`leastcut.partition`; ``spectral`` relaxes, discretizes and
refines. Each lists the parameters that belong to it, which select it with ``solver="auto"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from leastcut.budget import Budget
from leastcut.constraints import Constraints
from leastcut.feasibility import check_n_clusters
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.number_of_clusters import (
    MAX_CLUSTERS,
    ROUGH,
    Choice,
    choice_of,
    pairs_needed,
    warn_if_weak,
)
from leastcut.multilevel.refinement import refine_problem
from leastcut.multilevel.search import merge_clusters, partition_problem
from leastcut.problem import Problem
from leastcut.progress import BAR, SEARCH_STAGES, TimeEstimate
from leastcut.reductions import Reduced, solve_reduced
from leastcut.results import Partition, Relaxation
from leastcut.spectral.discretizers import options_of, run_discretizer
from leastcut.spectral.relax import relax_problem
from leastcut.validation import warn_caller

Log = Callable[[str], None]  # writes a line if the estimator is verbose


@dataclass(frozen=True, eq=False)
class Settings:
    """Resolved parameters of a fit."""

    solver: str = "multilevel"  # a key of SOLVERS
    method: Any = ""  # the discretizer: a name or a function
    method_options: dict[str, Any] = field(default_factory=dict)
    n_components: int | None = None  # number of eigenvectors; None means the number of clusters
    eigen_options: dict[str, Any] = field(default_factory=dict)  # solver and tol
    refine: bool = True  # whether spectral labels are refined
    effort: str = "auto"  # of the multilevel search
    n_jobs: int | None = None
    verbose: bool = False
    balance: tuple[float | None, float] | None = None
    seed: int = 0


class Outcome(NamedTuple):
    """Labels 0..c-1, the number of iterations, and the eigenpairs if they were computed."""

    labels: np.ndarray
    n_iter: int
    relaxation: Relaxation | None


Run = Callable[[Problem, int, int, Settings, Relaxation | None, Log], Outcome]
"""Signature of a solver: the problem, the number of clusters, the number including isolated nodes
that are clusters, the settings, eigenpairs if they are already known, and the log function."""


def spectral(
    problem: Problem,
    n_clusters: int,
    n_clusters_total: int,
    settings: Settings,
    known: Relaxation | None,
    log: Log,
) -> Outcome:
    """Relax, discretize and refine."""
    # 1. Relax: compute the eigenpairs for the labels, the embedding and the bound.
    n_components = min(settings.n_components or n_clusters_total, problem.n_nodes)
    count = min(max(n_clusters_total, n_components), problem.n_nodes)
    relaxation = known or relax_with_warning(problem, count, settings)
    bound = relaxation.leading(n_clusters).lower_bound
    log(f"Relaxed by {relaxation.solver!r}: no cut into {n_clusters} is below {bound:.6g}")

    # 2. Discretize. k-means has its own number of clusters; rotations need one column per cluster,
    #    so columns of zeros are added if there are fewer components.
    name = getattr(settings.method, "__name__", settings.method)
    log(f"Computing label assignment using {name}")
    selected, options = relaxation.leading(n_components), dict(settings.method_options)
    if "n_clusters" in options_of(settings.method):
        options["n_clusters"] = n_clusters
    elif n_components < n_clusters:
        selected = selected.padded(n_clusters)
    rng = np.random.default_rng(settings.seed)
    result = run_discretizer(settings.method, selected, rng, problem.value, **options)
    # 3. Merge clusters if there are more components than clusters.
    labels = result.labels
    if int(labels.max()) + 1 > n_clusters:
        labels = merge_clusters(problem, labels, n_clusters, random_state=settings.seed)
    log(f"Assigned after {result.n_iter} iterations, cut value {problem.value(labels):.6g}")

    # 4. Refine.
    if settings.refine:
        refined = refine_problem(problem, labels)
        labels = refined.labels
        log(f"Refined, cut value {refined.cut_value:.6g}")
    return Outcome(labels, result.n_iter, relaxation)


def multilevel(
    problem: Problem,
    n_clusters: int,
    n_clusters_total: int,
    settings: Settings,
    known: Relaxation | None,
    log: Log,
) -> Outcome:
    """Run the multilevel search; its iterations are completed stages and improvements."""
    rounds, smallest = 0, np.inf

    def count(progress: Progress) -> bool:
        nonlocal rounds, smallest
        # Long passes also report at time intervals, which must not be counted.
        rounds += progress.fraction == 1.0 or progress.cut_value < smallest
        smallest = min(smallest, progress.cut_value)
        return bar.report(progress)

    with search_bar("SpectralClustering", settings, log) as bar:
        result = partition_problem(
            problem,
            n_clusters,
            effort=settings.effort,
            lower_bound=False,  # computed on first access of ``lower_bound_``
            random_state=settings.seed,
            budget=Budget(callback=count),
            n_jobs=settings.n_jobs,
        )
    # With 1 or n clusters there is no search, but scikit-learn requires n_iter_ >= 1.
    rounds = max(rounds, 1)
    log(f"Searched in {rounds} rounds, cut value {result.cut_value:.6g}")
    return Outcome(result.labels, rounds, known)


@contextmanager
def search_bar(name: str, settings: Settings, log: Log) -> Iterator[Budget]:
    """Log the start of a search, and show a progress bar if the estimator is verbose."""
    log(f"Computing label assignment using multilevel search, effort={settings.effort!r}")
    bar, stages = (
        Budget(callback=BAR if settings.verbose else None),
        EFFORTS[settings.effort].stages,
    )
    with bar.shown(name, lambda: TimeEstimate(stages, SEARCH_STAGES)):
        yield bar


def relax_with_warning(
    problem: Problem, count: int, settings: Settings, **options: Any
) -> Relaxation:
    """Compute ``count`` eigenpairs, and warn if they have not converged."""
    options = {**settings.eigen_options, **options}
    relaxation: Relaxation = relax_problem(problem, count, random_state=settings.seed, **options)
    warn_of_convergence(relaxation)
    return relaxation


def warn_of_convergence(relaxation: Relaxation) -> None:
    """Warn if eigenpairs have not converged."""
    if not relaxation.converged:
        warn_caller(
            f"The eigensolver {relaxation.solver!r} stopped before all {relaxation.n_clusters} "
            "eigenpairs reached the tolerance. The labels are valid, but the lower bound is 0. "
            "Leave eigen_solver=None, or raise eigen_tol.",
            ConvergenceWarning,
        )


class Solver(NamedTuple):
    """A solver, and the parameters of the estimator that belong to it alone."""

    run: Run
    parameters: tuple[str, ...]


SPECTRAL = ("eigen_solver", "n_components", "n_init", "eigen_tol", "assign_labels", "eta", "refine")

SOLVERS: dict[str, Solver] = {
    "multilevel": Solver(multilevel, ("effort", "balance")),
    "spectral": Solver(spectral, SPECTRAL),
}
"""Solvers by name. "auto" selects the first one unless a parameter of another is passed."""


def read_constraints(
    must_link: Any, cannot_link: Any, n_samples: int, n_clusters: int | str, settings: Settings
) -> Constraints:
    """Return the constraints on samples; raise if they are infeasible for every graph."""
    constraints = Constraints.of(n_samples, must_link, cannot_link, settings.balance)
    if constraints.cannot_link is not None and settings.solver != "multilevel":
        raise ValueError(
            f"cannot_link needs the multilevel solver, but the parameters select the "
            f"{settings.solver} solver. Leave them out, or leave cannot_link out."
        )
    if constraints.are_links and not isinstance(n_clusters, str):
        check_n_clusters(constraints, n_samples, int(n_clusters))
    return constraints


class ChosenNumber(NamedTuple):
    """The number of clusters chosen from 1 to ``most``, and the eigenpairs that were used.

    The eigenpairs are None if they were computed with a low accuracy only.
    """

    choice: Choice
    most: int
    relaxation: Relaxation | None


def choose_and_report(
    core: Problem,
    max_clusters: int | None,
    settings: Settings,
    log: Log,
    path: str = "cut_path_",
) -> ChosenNumber | None:
    """Choose the number of clusters, log the reason, and warn if the evidence is weak.

    ``path`` is mentioned in the warning as the place of all evidence. Returns None if there are
    less than two nodes with edges.
    """
    most = min(max_clusters or MAX_CLUSTERS, core.n_nodes)
    if most < 2:
        return None
    count = pairs_needed(most, core.n_nodes)
    # The spectral solver also computes labels from these eigenpairs; otherwise a low accuracy is
    # enough.
    is_spectral = settings.solver == "spectral"
    if is_spectral:
        count = min(core.n_nodes, max(count, settings.n_components or 0))
        relaxation = relax_with_warning(core, count, settings)
    else:
        relaxation = relax_with_warning(core, count, settings, tol=ROUGH)
    choice = choice_of(core, range(1, most + 1), relaxation, settings.seed)
    log(f"Chose {choice.n_clusters} of 1 to {most} clusters: {choice.reason}")
    warn_if_weak(choice, path)
    return ChosenNumber(choice, most, relaxation if is_spectral else None)


def cut_problem(
    problem: Problem, n_clusters: int, settings: Settings, known: Relaxation | None, log: Log
) -> Outcome:
    """Return feasible labels of all nodes, including isolated ones.

    ``known`` are the eigenpairs of the nodes with edges, if they have been computed.
    """
    # With a balance constraint, isolated nodes count with the weight that the cut gives them.
    is_balanced = problem.constraints.balance is not None
    take_part = (problem.node_weights if is_balanced else problem.graph.degrees) > 0
    n_core = np.count_nonzero(take_part)
    outcome = Outcome(np.empty(0, dtype=np.int64), 0, None)

    def solve(reduced: Reduced) -> Partition:
        nonlocal outcome
        core, run = reduced.problem, SOLVERS[settings.solver].run
        # Eigenpairs of a contracted graph are not those of the samples.
        is_same = core.n_nodes == n_core
        pairs = known if is_same else None
        outcome = run(core, reduced.n_clusters, n_clusters, settings, pairs, log)
        if not is_same:
            outcome = outcome._replace(relaxation=None)
        return Partition(outcome.labels, core.value(outcome.labels))

    result = solve_reduced(problem, n_clusters, solve, take_part=take_part)
    return outcome._replace(labels=result.labels)
