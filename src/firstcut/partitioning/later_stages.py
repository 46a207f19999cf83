"""What a search does after its first pass, stage by stage; one pass alone needs nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from firstcut.partitioning.efforts import EFFORTS, Effort
from firstcut.partitioning.forecasts import spectral_work
from firstcut.partitioning.passes import Trial, spectral_start
from firstcut.partitioning.population import Population, Search
from firstcut.relaxation.relax import within_solvers_range


def go_on(
    search: Search, stages: Sequence[str], trials: list[Trial], parents: np.random.Generator
) -> None:
    """Let what the first pass found, the spectral solution and further passes recombine.

    Parameters
    ----------
    search : Search
        The search, whose first pass has been made.
    stages : sequence of str
        The efforts whose parts are to be run.
    trials : list of Trial
        What the first pass has found.
    parents : Generator
        Draws who is recombined with whom.
    """
    problem, c, pass_work = search.scaled, search.n_clusters, search.work
    population = Population(problem, c, search, trials, parents, search.coarsening(stages[0]))
    tried = False
    for stage in stages:
        effort = EFFORTS[stage]
        budget = max(effort.edges, effort.passes * search.work)
        population.coarsening = search.coarsening(stage)
        # On some graphs the relaxed solution of the whole finds what no level shows.
        rng = search.next_generator()
        # Not again where an earlier stage has tried it already.
        if not tried and _is_affordable(search, effort):
            tried = True
            relaxation = search.relax()
            if relaxation is not None and not search.is_late:
                late = population.coarsening.is_late
                population.add(spectral_start(problem, c, rng, relaxation, late))
        if effort.edges > 0:
            population.spend(stage, budget, pass_work)
        if effort.idle_populations > 0:
            population.exhaust(stage, effort.idle_populations)
        population.finish()
        # A stage that was cut short is not done.
        if not search.is_late:
            search.report(stage, 1.0)


def _is_affordable(search: Search, effort: Effort) -> bool:
    """Whether the spectral solution of the whole is in proportion to the effort and to the time."""
    problem = search.scaled
    if problem.n_nodes > effort.spectral_nodes or search.is_done:
        return False
    work = spectral_work(problem, search.n_clusters)
    in_time = search.foreseen(work) <= search.seconds_left
    # Weights too far apart drown in the rounding of an eigensolver.
    return work <= effort.spectral_edges and in_time and within_solvers_range(problem)
