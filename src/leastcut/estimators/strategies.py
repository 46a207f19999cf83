"""The ways from a problem to labels that the estimator offers, with one signature.

``multilevel`` is the search of :func:`leastcut.partition`; ``spectral`` is the classical line:
relax, discretize and, where asked for, refine. Each says which parameters of the estimator are its
own, and that is what decides where ``solver="auto"`` leaves the choice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from leastcut.budget import Budget
from leastcut.constraints import Constraints
from leastcut.feasibility import check_n_clusters
from leastcut.multilevel.cluster_merging import merge_clusters
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.refinement import refine_problem
from leastcut.multilevel.search import partition_problem
from leastcut.problem import Problem
from leastcut.progress import BAR, SEARCH_STAGES, TimeEstimate
from leastcut.reductions import Reduced, solve_reduced
from leastcut.results import Partition, Relaxation
from leastcut.spectral.discretizers import DISCRETIZERS, OPTIONS
from leastcut.spectral.relax import relax_problem
from leastcut.threads import single_threaded

Say = Callable[[str], None]
"""Takes a line of progress."""


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of a fit, resolved: nothing is None any more that has a default.

    Attributes
    ----------
    solver : str
        The strategy, a name in :data:`STRATEGIES`.
    method : str
        The discretizer, a name in ``leastcut.DISCRETIZERS``.
    method_options : dict
        Its options.
    n_components : int or None
        Eigenvectors that labels are made of; None means as many as clusters.
    eigen_options : dict
        ``solver`` and ``tol`` of the eigenproblem.
    refine : bool
        Whether spectral labels are refined.
    effort : str
        The effort of the multilevel search, a name in ``leastcut.EFFORTS``.
    n_jobs : int or None
        Threads.
    verbose : bool
        Whether somebody wants to see how far a search is.
    balance : pair or None
        How far below, or None, and above the average a cluster may weigh.
    """

    solver: str
    method: str
    method_options: dict[str, Any]
    n_components: int | None
    eigen_options: dict[str, Any]
    refine: bool
    effort: str
    n_jobs: int | None
    verbose: bool = False
    balance: tuple[float | None, float] | None = None


class Outcome(NamedTuple):
    """Labels 0..c-1, the iterations they took, and the eigenpairs if there are any."""

    labels: np.ndarray
    n_iter: int
    relaxation: Relaxation | None


class Run(Protocol):
    """The signature that every strategy shares.

    ``n_clusters`` are to be made of the problem; where isolated nodes are clusters by themselves
    there are more of them in all. ``known`` are eigenpairs that are there already.
    """

    def __call__(
        self,
        problem: Problem,
        n_clusters: int,
        n_clusters_in_all: int,
        settings: Settings,
        seed: int,
        known: Relaxation | None,
        say: Say,
    ) -> Outcome: ...


def spectral(
    problem: Problem,
    n_clusters: int,
    n_clusters_in_all: int,
    settings: Settings,
    seed: int,
    known: Relaxation | None,
    say: Say,
) -> Outcome:
    """Relax, discretize and refine."""
    # 1. Relax: eigenpairs for the labels and the embedding, and as many as clusters for the bound.
    n_components = min(settings.n_components or n_clusters_in_all, problem.n_nodes)
    count = min(max(n_clusters_in_all, n_components), problem.n_nodes)
    relaxation = known or relax_with_warning(problem, count, seed, settings.eigen_options)
    bound = relaxation.leading(n_clusters).lower_bound
    say(f"Relaxed by {relaxation.solver!r}: no cut into {n_clusters} is below {bound:.6g}")

    say(f"Computing label assignment using {settings.method}")
    # 2. Discretize. k-means makes any number of clusters of the columns it sees. A rotation makes
    #    as many as there are columns: where there are too few, zeros are added.
    seen, options = relaxation.leading(n_components), dict(settings.method_options)
    if "n_clusters" in OPTIONS[settings.method]:
        options["n_clusters"] = n_clusters
    elif n_components < n_clusters:
        seen = seen.padded(n_clusters)
    with single_threaded():
        found = DISCRETIZERS[settings.method](
            seen, random_state=np.random.default_rng(seed), score=problem.value, **options
        )
    # 3. Where there were more columns than clusters, merge clusters.
    labels = found.labels
    if int(labels.max()) + 1 > n_clusters:  # a rotation of more eigenvectors than clusters
        labels = merge_clusters(problem, labels, n_clusters, random_state=seed)
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
    seed: int,
    known: Relaxation | None,
    say: Say,
) -> Outcome:
    """Search, and count the rounds of it: stages that end, and smaller values in between."""
    rounds, smallest = 0, np.inf

    def listen(progress: Progress) -> None:
        nonlocal rounds, smallest
        # Long passes report by the clock, too, and the clock must not be told in a result.
        rounds += progress.fraction == 1.0 or progress.cut_value < smallest
        smallest = min(smallest, progress.cut_value)
        bar.report(progress)

    say(f"Computing label assignment using multilevel search, effort={settings.effort!r}")
    bar = Budget(callback=BAR if settings.verbose else None)
    with bar.shown(
        "SpectralClustering", lambda: TimeEstimate(EFFORTS[settings.effort].stages, SEARCH_STAGES)
    ):
        found = partition_problem(
            problem,
            n_clusters,
            effort=settings.effort,
            # Eigenpairs are computed when they are asked for, and not by a fit.
            lower_bound=False,
            random_state=seed,
            budget=Budget(callback=listen),
            n_jobs=settings.n_jobs,
        )
    say(f"Searched in {max(rounds, 1)} rounds, cut value {found.cut_value:.6g}")
    # With 1 or n clusters there is nothing to search, and scikit-learn wants n_iter_ >= 1.
    return Outcome(found.labels, max(rounds, 1), known)


def relax_with_warning(
    problem: Problem, count: int, seed: int, options: dict[str, Any]
) -> Relaxation:
    """Solve for ``count`` eigenpairs and warn if the solver gave up early."""
    found = relax_problem(problem, count, random_state=seed, **options)
    if not found.converged:
        warnings.warn(
            f"The eigensolver {found.solver!r} stopped before all {count} eigenpairs reached "
            "the tolerance; labels stay valid, but the lower bound is 0, as nothing is proven. "
            "Leave eigen_solver=None, or raise eigen_tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found


@dataclass(frozen=True)
class Strategy:
    """A way to labels, and the parameters of the estimator that mean something to it alone."""

    run: Run
    parameters: tuple[str, ...]


STRATEGIES: dict[str, Strategy] = {
    "multilevel": Strategy(multilevel, ("effort", "balance")),
    "spectral": Strategy(
        spectral,
        (
            "eigen_solver",
            "n_components",
            "n_init",
            "eigen_tol",
            "assign_labels",
            "eta",
            "refine",
        ),
    ),
}
"""The strategies by the names that ``solver`` has for them; "auto" is the first unless told."""


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


def cut_problem(
    problem: Problem,
    n_clusters: int,
    settings: Settings,
    seed: int,
    known: Relaxation | None,
    say: Say,
) -> Outcome:
    """Return labels of all nodes, those without edges included, that the constraints allow.

    ``known`` are eigenpairs of the nodes with edges, if they have been computed.
    """
    # Under a balance isolated nodes count for what the cut weighs them.
    is_balanced = problem.constraints.balance is not None
    take_part = (problem.node_weights if is_balanced else problem.graph.degrees) > 0
    outcome = Outcome(np.empty(0, dtype=np.int64), 0, None)

    def solve(reduced: Reduced) -> Partition:
        nonlocal outcome
        core = reduced.problem
        # Eigenpairs of contracted nodes are none of the samples.
        is_same = core.n_nodes == np.count_nonzero(take_part)
        run = STRATEGIES[settings.solver].run
        outcome = run(
            core, reduced.n_clusters, n_clusters, settings, seed, known if is_same else None, say
        )
        outcome = outcome._replace(relaxation=outcome.relaxation if is_same else None)
        return Partition(outcome.labels, core.value(outcome.labels))

    found = solve_reduced(problem, n_clusters, solve, take_part=take_part)
    return outcome._replace(labels=found.labels)
