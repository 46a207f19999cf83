"""What a search does after its first stage; that one alone needs nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.interface import Level, Search
from leastcut.multilevel.levels import Coarsening, smallest_level
from leastcut.multilevel.passes import Trial, cycle, descend, refined, spectral
from leastcut.multilevel.population import Population
from leastcut.multilevel.spectral_start import (
    eigenproblem_work,
    spectral_labels,
    start_work,
    within_solvers_range,
)


def go_on(
    search: Search, stages: Sequence[str], trials: list[Trial], parents: np.random.Generator
) -> None:
    """Let what the first stage found, the spectral solution and further passes recombine.

    Parameters
    ----------
    search : Search
        The search, whose first stage is done.
    stages : sequence of str
        The efforts whose parts are to be run.
    trials : list of Trial
        What the first stage has found.
    parents : Generator
        Draws who is recombined with whom.
    """
    problem, c = search.scaled, search.n_clusters
    pass_work = search.work // max(1, len(trials))
    population = Population(problem, c, search, trials, parents, ())
    for stage in stages:
        effort = EFFORTS[stage]
        budget, is_spent = search.budget(stage), search.is_spent(stage)
        population.coarsenings = [search.coarsening(rule) for rule in effort.coarsening]
        for labels in search.starts.get(stage, ()):
            rng, whole = search.next_generator(), population.coarsenings[-1]
            population.add(cycle(problem, labels, c, rng, coarsening=whole))
        if search.level is not None and effort.huge_share > 0.0:
            _go_on_below(search, search.level, population, stage, budget)
            continue
        # On some graphs the relaxed solution finds what no pass does. Where weights are limited,
        # the search without limits has looked at it; where edges are counted then, halves do that.
        for coarsening in population.coarsenings:
            rng = search.next_generator()
            if search.is_done or is_spent:
                continue
            if problem.offset > 0.0 and effort.edges > 0:
                _add_halved(search, population, coarsening, rng)
            elif problem.limits is None:
                most_work = min(effort.spectral_share * search.work, search.work_left)
                # A stage that ends with its budget is not over it before it begins.
                if budget > 0:
                    most_work = min(most_work, budget - search.work)
                _add_spectral(
                    search, population, effort.spectral_starts, most_work, coarsening, rng
                )
        population.spend(stage, budget, pass_work)
        if effort.idle_populations > 0:
            population.exhaust(stage, effort.idle_populations)
        population.finish()
        search.note(stage)
        # A stage that was cut short is not done.
        if not search.is_late:
            search.report(stage, 1.0)


def _go_on_below(
    search: Search, level: Level, population: Population, stage: str, budget: float
) -> None:
    """Let what the level of a huge problem has found recombine there, and go up from the best."""
    inner, rng = level.search, search.next_generator()
    parents, before, work = inner.next_generator(), inner.best, inner.work
    if not search.is_done and search.work < budget:
        below = Population(
            inner.scaled,
            search.n_clusters,
            inner,
            level.trials,
            parents,
            [inner.coarsening(rule) for rule in EFFORTS[stage].coarsening],
        )
        pass_work = inner.work // max(1, len(level.trials))
        below.spend(stage, inner.work + budget - search.work, pass_work)
        below.finish()
        search.work += inner.work - work
        if inner.best is not None and inner.best is not before:
            c, late = search.n_clusters, search.coarsening(EFFORTS[stage].coarsening[0]).is_late
            labels = inner.best.labels
            population.add(refined(search.scaled, level.steps, labels, c, rng, 0, late))
    search.note(stage)
    if not search.is_late:
        search.report(stage, 1.0)


def _add_halved(
    search: Search, population: Population, coarsening: Coarsening, rng: np.random.Generator
) -> None:
    """Add clusters that were made by cutting in two again and again, if their number is even."""
    from leastcut.multilevel.halving import halved  # which few searches need
    from leastcut.multilevel.repair import respecting

    problem, c = search.scaled, search.n_clusters
    if c % 2 == 1 or c == 2:
        return
    found = halved(problem, c, rng, coarsening)
    if found is None:
        return
    labels, work = found
    kept = respecting(problem, labels, c)
    assert kept is not None  # as there is a packing
    population.add(refined(problem, [], kept, c, rng, work, coarsening.is_late))


def _add_spectral(
    search: Search,
    population: Population,
    n_starts: int,
    most_work: float,
    coarsening: Coarsening,
    rng: np.random.Generator,
) -> None:
    """Add the spectral solution: of the whole where that is affordable, else by a new hierarchy."""
    problem, c = search.scaled, search.n_clusters
    # The eigenvectors of the whole serve the first rule; the others look through their own levels.
    work = eigenproblem_work(problem, c) + n_starts * start_work(problem.n_nodes, c)
    is_first = coarsening is population.coarsenings[0]
    if is_first and work <= most_work and within_solvers_range(problem):
        relaxation = search.relax()
        if relaxation is not None and not search.is_late:
            late = coarsening.is_late
            labels = spectral_labels(problem, relaxation, rng, n_starts=n_starts, is_late=late)
            if problem.apart is not None:
                from leastcut.multilevel.repair import respecting  # which few searches need

                kept = respecting(problem, labels, c)
                assert kept is not None  # as there is a colouring
                labels = kept
            population.add(refined(problem, [], labels, c, rng, work, late))
        return
    smallest = smallest_level(problem.n_nodes, c)
    steps = descend(problem, c, rng, smallest, coarsening)
    found = spectral(
        problem,
        steps,
        c,
        rng,
        n_starts=n_starts,
        most_work=most_work,
        is_late=coarsening.is_late,
    )
    if found is not None:
        population.add(found)
