"""The stages of a search: the passes it begins with, and what goes on from them.

The first stage makes a pass by every coarsening rule, and a spectral solution. Rules that aggregate
nodes differently fail on different graphs, and what two partitions agree on is hardly ever wrong,
so each that is new is recombined with the best so far. A huge problem is coarsened by the first
rule to a level of ordinary size, which all of that is done on: a partition has the same value
there. The result is then refined on the way up.

Later stages recombine the results with further passes and more of the spectral solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from leastcut.multilevel.coarsening import Coarsening, smallest_level
from leastcut.multilevel.efforts import EFFORTS, Effort
from leastcut.multilevel.passes import (
    Candidate,
    cycle,
    descend,
    grow,
    halved,
    recombine,
    refined,
    spectral,
)
from leastcut.multilevel.population import Population
from leastcut.multilevel.repair import respecting
from leastcut.multilevel.search_state import Level, Search
from leastcut.multilevel.spectral_start import (
    eigenproblem_work,
    spectral_labels,
    start_work,
    within_solvers_range,
)

# Up to this size the last pass agglomerates the nodes themselves, which is slower than to gather
# them first and finds better clusters.
DIRECT_NODES = 3000
# With up to so many clusters the spectral solution gets its whole share: it costs little and
# finds what passes do not. Its share falls as more of them raise its cost.
FEW_CLUSTERS = 8
# Above the first size a level of at most the second is searched: it costs a quarter of the pass
# that it is part of, and cuts 3 to 10% less than that pass alone.
HUGE_NODES, SEARCHED_NODES = 300_000, 50_000


def first_stage(search: Search, stage: str, starts: Sequence[np.ndarray]) -> list[Candidate]:
    """Make the passes of the first stage, and a V-cycle from each start; return the results."""
    candidates: list[Candidate] = []
    effort = EFFORTS[stage]
    is_huge = search.scaled.n_nodes > HUGE_NODES
    for name in effort.coarsening[:1] if is_huge else effort.coarsening:
        # Drawn whether they are used or not: what follows draws what it always draws.
        rng, mixing = search.next_generator(), search.next_generator()
        if candidates and search.is_done:
            continue
        made = _huge_pass if is_huge else _passes
        for candidate in made(search, effort, name, rng):
            candidates += _joined(search, candidate, effort.coarsening[-1], mixing)
    for labels in [*starts, *search.starts.get(stage, ())]:
        rng = search.next_generator()
        if not search.is_done:
            start, how = labels.astype(np.int32), search.coarsening(effort.coarsening[-1])
            candidates.append(cycle(search.scaled, start, search.n_clusters, rng, coarsening=how))
            search.consider(candidates[-1])
    search.note(stage)
    return candidates


def _passes(
    search: Search, effort: Effort, rule: str, rng: np.random.Generator
) -> Iterator[Candidate]:
    """Find a partition by a coarsening rule, and for the first also by its spectral solution."""
    problem, c, is_first = search.scaled, search.n_clusters, search.best is None
    coarsening = search.coarsening(rule)
    # Without the first there is nothing to return, so that one is never late.
    first = replace(coarsening, is_late=search.never_late) if is_first else coarsening
    smallest = smallest_level(problem.n_nodes, c)
    if rule == effort.coarsening[-1] and problem.n_nodes <= DIRECT_NODES:
        # A smallest level of n nodes is the graph itself: nothing is gathered first.
        smallest = problem.n_nodes
    steps = descend(problem, c, rng, smallest, first)
    found = grow(problem, steps, c, rng, first)
    if found is None:
        return
    yield found
    # Where weights are limited, the search without limits has looked at the spectral solution.
    if not is_first or search.is_done or problem.limits is not None:
        return
    share = effort.spectral_share * min(1.0, FEW_CLUSTERS / c) ** 1.5
    n_starts, most_work = effort.spectral_starts, min(share * found.work, search.work_left)
    by_spectrum = spectral(
        problem, steps, c, rng, n_starts=n_starts, most_work=most_work, coarsening=coarsening
    )
    if by_spectrum is not None:
        yield by_spectrum


def _huge_pass(
    search: Search, effort: Effort, rule: str, rng: np.random.Generator
) -> Iterator[Candidate]:
    """Coarsen a huge problem by a rule, search the level where that ends, and go up from there."""
    problem, c = search.scaled, search.n_clusters
    # It is the first, and without it there is nothing to return.
    first = replace(search.coarsening(rule), is_late=search.never_late)
    smallest = smallest_level(problem.n_nodes, c)
    # 1. Coarsen. What is not allowed could leave no partition of a level.
    enough = 0 if problem.constraints.restrict_moves else max(SEARCHED_NODES, 4 * smallest)
    steps = descend(problem, c, rng, smallest, first, enough)
    low = steps[-1].problem if steps else problem
    if enough == 0 or not enough >= low.n_nodes < problem.n_nodes:
        # If coarsening makes no progress either, the level is what one pass would end at.
        found = grow(problem, steps, c, rng, first)
        if found is not None:
            yield found
        return
    # 2. Search the level as a problem of its own.
    inner = search.below(low)
    candidates = first_stage(inner, effort.stages[0], ())
    search.level = Level(steps, inner, candidates)
    assert inner.best is not None  # as its first pass is never late
    # 3. Go up.
    yield refined(problem, steps, inner.best.labels, c, rng, inner.work, first)


def _joined(
    search: Search, candidate: Candidate, rule: str, rng: np.random.Generator
) -> list[Candidate]:
    """Return what is new: a candidate, and what it makes together with the best so far."""
    best = search.best
    search.consider(candidate)
    if best is None or search.is_done:
        return [candidate]
    better, other = (candidate, best) if candidate.beats(best) else (best, candidate)
    child = recombine(
        search.scaled, better.labels, other.labels, search.n_clusters, rng,
        regrow=True, coarsening=search.coarsening(rule),
    )  # fmt: skip
    search.consider(child)
    return [candidate, child]


def later_stages(
    search: Search, stages: Sequence[str], candidates: list[Candidate], parents: np.random.Generator
) -> None:
    """Let what the first stage found, the spectral solution and further passes recombine.

    ``parents`` draws who is recombined with whom.
    """
    problem, c = search.scaled, search.n_clusters
    pass_work = search.work // max(1, len(candidates))
    population = Population(search, candidates, parents, ())
    for stage in stages:
        effort = EFFORTS[stage]
        budget, is_spent = search.work_limit(stage), search.is_spent(stage)
        population.coarsenings = [search.coarsening(rule) for rule in effort.coarsening]
        for labels in search.starts.get(stage, ()):
            rng, how = search.next_generator(), population.coarsenings[-1]
            population.add(cycle(problem, labels, c, rng, coarsening=how))
        if search.level is not None and effort.huge_share > 0.0:
            _go_on_below(search, search.level, population, stage, budget)
        else:
            _go_on_above(search, population, stage, budget, is_spent, pass_work)
        search.note(stage)
        # A stage that was cut short is not done.
        if not search.is_late:
            search.report(stage, 1.0)


def _go_on_above(
    search: Search,
    population: Population,
    stage: str,
    budget: float,
    is_spent: bool,
    pass_work: int,
) -> None:
    """Add the spectral solution or halves of halves, and passes, and recombine them all."""
    problem, effort = search.scaled, EFFORTS[stage]
    # On some graphs the relaxed solution finds what no pass does. If weights are limited, the
    # search without limits has looked at it; if edges are counted then, halves do that.
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
            _add_spectral(search, population, effort.spectral_starts, most_work, coarsening, rng)
    population.spend(stage, budget, pass_work)
    if effort.idle_populations > 0:
        population.exhaust(stage, effort.idle_populations)
    population.finish()


def _go_on_below(
    search: Search, level: Level, population: Population, stage: str, budget: float
) -> None:
    """Let what the level of a huge problem has found recombine there, and go up from the best."""
    inner, rng = level.search, search.next_generator()
    parents, before, work = inner.next_generator(), inner.best, inner.work
    if search.is_done or search.work >= budget:
        return
    coarsenings = [inner.coarsening(rule) for rule in EFFORTS[stage].coarsening]
    below = Population(inner, level.candidates, parents, coarsenings)
    pass_work = inner.work // max(1, len(level.candidates))
    below.spend(stage, inner.work + budget - search.work, pass_work)
    below.finish()
    search.work += inner.work - work
    if inner.best is not None and inner.best is not before:
        c, labels, how = search.n_clusters, inner.best.labels, population.coarsenings[0]
        population.add(refined(search.scaled, level.steps, labels, c, rng, 0, how))


def _add_halved(
    search: Search, population: Population, coarsening: Coarsening, rng: np.random.Generator
) -> None:
    """Add clusters that were made by cutting in two again and again, if their number is even."""
    problem, c = search.scaled, search.n_clusters
    if c % 2 == 1 or c == 2:
        return
    found = halved(problem, c, rng, coarsening)
    if found is None:
        return
    labels, work = found
    kept = respecting(problem, labels, c)
    assert kept is not None  # as there is a packing
    population.add(refined(problem, [], kept, c, rng, work, coarsening))


def _add_spectral(
    search: Search,
    population: Population,
    n_starts: int,
    most_work: float,
    coarsening: Coarsening,
    rng: np.random.Generator,
) -> None:
    """Add the spectral solution: of the full graph if affordable, else by a new hierarchy."""
    problem, c = search.scaled, search.n_clusters
    # Full eigenvectors serve the first rule; the others look through their own levels.
    work = eigenproblem_work(problem, c) + n_starts * start_work(problem.n_nodes, c)
    is_first = coarsening is population.coarsenings[0]
    if is_first and work <= most_work and within_solvers_range(problem):
        relaxation = search.relax()
        if relaxation is not None and not search.is_late:
            labels = spectral_labels(
                problem, relaxation, rng, n_starts=n_starts, is_late=coarsening.is_late
            )
            if problem.cannot_link is not None:
                kept = respecting(problem, labels, c)
                assert kept is not None  # as there is a coloring
                labels = kept
            population.add(refined(problem, [], labels, c, rng, work, coarsening))
        return
    smallest = smallest_level(problem.n_nodes, c)
    steps = descend(problem, c, rng, smallest, coarsening)
    found = spectral(
        problem, steps, c, rng, n_starts=n_starts, most_work=most_work, coarsening=coarsening
    )
    if found is not None:
        population.add(found)
