"""The solvers of the estimator, from a problem to labels, with one signature.

``multilevel`` is the search of :func:`leastcut.partition`; ``spectral`` is the classical line:
relax, discretize and refine. Each lists the parameters of the estimator that belong to it, which
decide if ``solver="auto"`` leaves the choice.
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

Say = Callable[[str], None]  # takes a line of progress


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of a fit, resolved: None only where it has a meaning of its own."""

    solver: str = "multilevel"  # a name in SOLVERS
    method: Any = ""  # the discretizer, as leastcut.discretize takes it
    method_options: dict[str, Any] = field(default_factory=dict)
    n_components: int | None = None  # eigenvectors for labels; None means as many as clusters
    eigen_options: dict[str, Any] = field(default_factory=dict)  # solver and tol
    refine: bool = True  # whether spectral labels are refined
    effort: str = "auto"  # of the multilevel search
    n_jobs: int | None = None
    verbose: bool = False
    balance: tuple[float | None, float] | None = None
    seed: int = 0


class Outcome(NamedTuple):
    """Labels 0..c-1, the iterations they took, and the eigenpairs if there are any."""

    labels: np.ndarray
    n_iter: int
    relaxation: Relaxation | None


Run = Callable[[Problem, int, int, Settings, Relaxation | None, Say], Outcome]
"""The signature that every solver shares.

It makes so many clusters of a problem; if isolated nodes are clusters by themselves, the second
number is that of all clusters. The eigenpairs are those that have been computed already.
"""


def spectral(
    problem: Problem,
    n_clusters: int,
    n_clusters_in_all: int,
    settings: Settings,
    known: Relaxation | None,
    say: Say,
) -> Outcome:
    """Relax, discretize and refine."""
    # 1. Relax: eigenpairs for the labels and the embedding, and as many as clusters for the bound.
    n_components = min(settings.n_components or n_clusters_in_all, problem.n_nodes)
    count = min(max(n_clusters_in_all, n_components), problem.n_nodes)
    relaxation = known or relax_with_warning(problem, count, settings)
    bound = relaxation.leading(n_clusters).lower_bound
    say(f"Relaxed by {relaxation.solver!r}: no cut into {n_clusters} is below {bound:.6g}")

    # 2. Discretize. k-means makes any number of clusters of the columns it sees. A rotation makes
    #    as many as there are columns: if there are too few, zeros are added.
    name = getattr(settings.method, "__name__", settings.method)
    say(f"Computing label assignment using {name}")
    seen, options = relaxation.leading(n_components), dict(settings.method_options)
    if "n_clusters" in options_of(settings.method):
        options["n_clusters"] = n_clusters
    elif n_components < n_clusters:
        seen = seen.padded(n_clusters)
    rng = np.random.default_rng(settings.seed)
    found = run_discretizer(settings.method, seen, rng, problem.value, **options)
    # 3. Merge clusters if there were more columns than clusters.
    labels = found.labels
    if int(labels.max()) + 1 > n_clusters:
        labels = merge_clusters(problem, labels, n_clusters, random_state=settings.seed)
    say(f"Assigned after {found.n_iter} iterations, cut value {problem.value(labels):.6g}")

    # 4. Refine.
    if settings.refine:
        refined = refine_problem(problem, labels)
        labels = refined.labels
        say(f"Refined, cut value {refined.cut_value:.6g}")
    return Outcome(labels, found.n_iter, relaxation)


def multilevel(
    problem: Problem,
    n_clusters: int,
    n_clusters_in_all: int,
    settings: Settings,
    known: Relaxation | None,
    say: Say,
) -> Outcome:
    """Search, and count the rounds of it: stages that end, and smaller values in between."""
    rounds, smallest = 0, np.inf

    def count(progress: Progress) -> bool:
        nonlocal rounds, smallest
        # Long passes report by the clock, too, and a result must not depend on the clock.
        rounds += progress.fraction == 1.0 or progress.cut_value < smallest
        smallest = min(smallest, progress.cut_value)
        return bar.report(progress)

    with search_bar("SpectralClustering", settings, say) as bar:
        found = partition_problem(
            problem,
            n_clusters,
            effort=settings.effort,
            # Eigenpairs are computed when they are asked for, and not by a fit.
            lower_bound=False,
            random_state=settings.seed,
            budget=Budget(callback=count),
            n_jobs=settings.n_jobs,
        )
    # With 1 or n clusters there is nothing to search, and scikit-learn wants n_iter_ >= 1.
    rounds = max(rounds, 1)
    say(f"Searched in {rounds} rounds, cut value {found.cut_value:.6g}")
    return Outcome(found.labels, rounds, known)


@contextmanager
def search_bar(name: str, settings: Settings, say: Say) -> Iterator[Budget]:
    """Announce a search, and show a progress bar for a verbose estimator of this name."""
    say(f"Computing label assignment using multilevel search, effort={settings.effort!r}")
    bar, stages = (
        Budget(callback=BAR if settings.verbose else None),
        EFFORTS[settings.effort].stages,
    )
    with bar.shown(name, lambda: TimeEstimate(stages, SEARCH_STAGES)):
        yield bar


def relax_with_warning(
    problem: Problem, count: int, settings: Settings, **options: Any
) -> Relaxation:
    """Solve for ``count`` eigenpairs and warn if the solver gave up early."""
    options = {**settings.eigen_options, **options}
    found: Relaxation = relax_problem(problem, count, random_state=settings.seed, **options)
    warn_of_convergence(found)
    return found


def warn_of_convergence(found: Relaxation) -> None:
    """Warn if eigenpairs have not converged."""
    if not found.converged:
        warn_caller(
            f"The eigensolver {found.solver!r} stopped before all {found.n_clusters} eigenpairs "
            "reached the tolerance; labels stay valid, but the lower bound is 0, as nothing is "
            "proven. Leave eigen_solver=None, or raise eigen_tol.",
            ConvergenceWarning,
        )


class Solver(NamedTuple):
    """A way to labels, and the parameters of the estimator that belong to it alone."""

    run: Run
    parameters: tuple[str, ...]


SPECTRAL = ("eigen_solver", "n_components", "n_init", "eigen_tol", "assign_labels", "eta", "refine")

SOLVERS: dict[str, Solver] = {
    "multilevel": Solver(multilevel, ("effort", "balance")),
    "spectral": Solver(spectral, SPECTRAL),
}
"""The solvers by name; "auto" is the first unless a parameter of another was given."""


def read_constraints(
    must_link: Any, cannot_link: Any, n_samples: int, n_clusters: int | str, settings: Settings
) -> Constraints:
    """Return the constraints on samples, checked as far as can be before there is a graph."""
    found = Constraints.of(n_samples, must_link, cannot_link, settings.balance)
    if found.cannot_link is not None and settings.solver != "multilevel":
        raise ValueError(
            f"cannot_link needs the multilevel solver, and the parameters given are those of the "
            f"{settings.solver} one. Leave them out, or leave cannot_link out."
        )
    if found.are_links and not isinstance(n_clusters, str):
        check_n_clusters(found, n_samples, int(n_clusters))
    return found


class ChosenNumber(NamedTuple):
    """A choice of the number of clusters, among 1 to ``most``, and the eigenpairs it was made by.

    The eigenpairs are None if they were only computed roughly.
    """

    choice: Choice
    most: int
    relaxation: Relaxation | None


def choose_and_report(
    core: Problem,
    max_clusters: int | None,
    settings: Settings,
    say: Say,
    path: str = "cut_path_",
) -> ChosenNumber | None:
    """Choose a number of clusters, report why, and warn if the evidence is weak.

    ``path`` is where all evidence is found. None if there are no two nodes with edges to choose a
    number by.
    """
    most = min(max_clusters or MAX_CLUSTERS, core.n_nodes)
    if most < 2:
        return None
    count = pairs_needed(most, core.n_nodes)
    # The spectral solver makes labels of the same eigenpairs; otherwise rough ones will do.
    is_spectral = settings.solver == "spectral"
    if is_spectral:
        count = min(core.n_nodes, max(count, settings.n_components or 0))
        relaxation = relax_with_warning(core, count, settings)
    else:
        relaxation = relax_with_warning(core, count, settings, tol=ROUGH)
    choice = choice_of(core, range(1, most + 1), relaxation, settings.seed)
    say(f"Of 1 to {most} clusters {choice.n_clusters}: {choice.reason}")
    warn_if_weak(choice, path)
    return ChosenNumber(choice, most, relaxation if is_spectral else None)


def cut_problem(
    problem: Problem, n_clusters: int, settings: Settings, known: Relaxation | None, say: Say
) -> Outcome:
    """Return labels of all nodes, isolated ones included, that the constraints allow.

    ``known`` are eigenpairs of the nodes with edges, if they have been computed.
    """
    # Under a balance isolated nodes count with the weight that the cut gives them.
    is_balanced = problem.constraints.balance is not None
    take_part = (problem.node_weights if is_balanced else problem.graph.degrees) > 0
    n_core = np.count_nonzero(take_part)
    outcome = Outcome(np.empty(0, dtype=np.int64), 0, None)

    def solve(reduced: Reduced) -> Partition:
        nonlocal outcome
        core, run = reduced.problem, SOLVERS[settings.solver].run
        # Eigenpairs of contracted nodes are none of the samples.
        is_same = core.n_nodes == n_core
        pairs = known if is_same else None
        outcome = run(core, reduced.n_clusters, n_clusters, settings, pairs, say)
        if not is_same:
            outcome = outcome._replace(relaxation=None)
        return Partition(outcome.labels, core.value(outcome.labels))

    found = solve_reduced(problem, n_clusters, solve, take_part=take_part)
    return outcome._replace(labels=found.labels)
