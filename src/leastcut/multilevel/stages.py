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

from leastcut.multilevel.coarsening import smallest_level
from leastcut.multilevel.efforts import EFFORTS, Effort
from leastcut.multilevel.passes import Candidate, Passes
from leastcut.multilevel.population import Population
from leastcut.multilevel.search_state import Level, Search
from leastcut.multilevel.spectral_start import (
    eigenproblem_work,
    spectral_labels,
    start_work,
    within_solvers_range,
)

# Up to this size the last pass agglomerates the nodes themselves, which is slower than to aggregate
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
    last = effort.coarsening[-1]
    is_huge = search.scaled.n_nodes > HUGE_NODES
    for rule in effort.coarsening[:1] if is_huge else effort.coarsening:
        # Drawn whether they are used or not: what follows draws what it always draws.
        passes = search.passes(search.next_generator(), rule)
        mixing = search.passes(search.next_generator(), last)
        if candidates and search.is_done:
            continue
        if is_huge:
            made = _huge_pass(search, effort, passes)
        else:
            made = _passes(search, effort, passes, rule == last)
        for candidate in made:
            candidates += _joined(search, candidate, mixing)
    for labels in [*starts, *search.starts.get(stage, ())]:
        passes = search.passes(search.next_generator(), last)
        if not search.is_done:
            candidates.append(passes.cycle(labels.astype(np.int32)))
            search.consider(candidates[-1])
    search.note(stage)
    return candidates


def _passes(search: Search, effort: Effort, passes: Passes, is_last: bool) -> Iterator[Candidate]:
    """Find a partition by a coarsening rule, and for the first also by its spectral solution."""
    problem, c, is_first = search.scaled, search.n_clusters, search.best is None
    # Without the first there is nothing to return, so that one is never late.
    first = _never_late(search, passes) if is_first else passes
    smallest = smallest_level(problem.n_nodes, c)
    if is_last and problem.n_nodes <= DIRECT_NODES:
        # A smallest level of n nodes is the graph itself: nothing is aggregated first.
        smallest = problem.n_nodes
    steps = first.descend(smallest)
    found = first.grow(steps)
    if found is None:
        return
    yield found
    # If weights are limited, the search without limits has looked at the spectral solution.
    if not is_first or search.is_done or problem.limits is not None:
        return
    share = effort.spectral_share * min(1.0, FEW_CLUSTERS / c) ** 1.5
    most_work = min(share * found.work, search.work_left)
    by_spectrum = passes.spectral(steps, n_starts=effort.spectral_starts, most_work=most_work)
    if by_spectrum is not None:
        yield by_spectrum


def _huge_pass(search: Search, effort: Effort, passes: Passes) -> Iterator[Candidate]:
    """Coarsen a huge problem, search the level where that ends, and go up from there."""
    problem = search.scaled
    # It is the first, and without it there is nothing to return.
    passes = _never_late(search, passes)
    smallest = smallest_level(problem.n_nodes, search.n_clusters)
    # 1. Coarsen. What is not allowed could leave no partition of a level.
    enough = 0 if problem.constraints.restrict_moves else max(SEARCHED_NODES, 4 * smallest)
    steps = passes.descend(smallest, enough)
    low = steps[-1].problem if steps else problem
    if enough == 0 or not enough >= low.n_nodes < problem.n_nodes:
        # If coarsening makes no progress either, the level is what one pass would end at.
        found = passes.grow(steps)
        if found is not None:
            yield found
        return
    # 2. Search the level as a problem of its own.
    inner = search.below(low)
    candidates = first_stage(inner, effort.stages[0], ())
    search.level = Level(steps, inner, candidates)
    assert inner.best is not None  # as its first pass is never late
    # 3. Go up.
    yield passes.refined(inner.best.labels, steps, inner.work)


def _never_late(search: Search, passes: Passes) -> Passes:
    return replace(passes, coarsening=replace(passes.coarsening, is_late=search.never_late))


def _joined(search: Search, candidate: Candidate, passes: Passes) -> list[Candidate]:
    """Return what is new: a candidate, and what it makes together with the best so far."""
    best = search.best
    search.consider(candidate)
    if best is None or search.is_done:
        return [candidate]
    better, other = (candidate, best) if candidate.beats(best) else (best, candidate)
    child = passes.recombine(better.labels, other.labels, regrow=True)
    search.consider(child)
    return [candidate, child]


def later_stages(
    search: Search, stages: Sequence[str], candidates: list[Candidate], parents: np.random.Generator
) -> None:
    """Let what the first stage found, the spectral solution and further passes recombine.

    ``parents`` draws who is recombined with whom.
    """
    pass_work = search.work // max(1, len(candidates))
    population = Population(search, candidates, parents)
    for stage in stages:
        effort = EFFORTS[stage]
        budget, is_spent = search.work_limit(stage), search.is_spent(stage)
        population.rules = effort.coarsening
        for labels in search.starts.get(stage, ()):
            passes = search.passes(search.next_generator(), effort.coarsening[-1])
            population.add(passes.cycle(labels))
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
    for number, rule in enumerate(effort.coarsening):
        passes = search.passes(search.next_generator(), rule)
        if search.is_done or is_spent:
            continue
        found = None
        if problem.offset > 0.0 and effort.edges > 0:
            found = _halved(search, passes)
        elif problem.limits is None:
            most_work = min(effort.spectral_share * search.work, search.work_left)
            # A stage that ends with its budget is not over it before it begins.
            if budget > 0:
                most_work = min(most_work, budget - search.work)
            # Full eigenvectors serve the first rule; the others look through their own levels.
            found = _spectral(search, passes, effort.spectral_starts, most_work, number == 0)
        if found is not None:
            population.add(found)
    population.spend(stage, budget, pass_work)
    if effort.idle_populations > 0:
        population.exhaust(stage, effort.idle_populations)
    population.finish()


def _go_on_below(
    search: Search, level: Level, population: Population, stage: str, budget: float
) -> None:
    """Let what the level of a huge problem has found recombine there, and go up from the best."""
    inner, rules = level.search, EFFORTS[stage].coarsening
    passes = search.passes(search.next_generator(), rules[0])
    below = Population(inner, level.candidates, inner.next_generator(), rules)
    before, work = inner.best, inner.work
    if search.is_done or search.work >= budget:
        return
    pass_work = inner.work // max(1, len(level.candidates))
    below.spend(stage, inner.work + budget - search.work, pass_work)
    below.finish()
    search.work += inner.work - work
    if inner.best is not None and inner.best is not before:
        population.add(passes.refined(inner.best.labels, level.steps))


def _halved(search: Search, passes: Passes) -> Candidate | None:
    """Return clusters made by cutting in two again and again, if their number is even."""
    c = search.n_clusters
    found = passes.halved() if c > 2 and c % 2 == 0 else None
    if found is None:
        return None
    labels, work = found
    return passes.refined(search.allowed(labels), work=work)


def _spectral(
    search: Search, passes: Passes, n_starts: int, most_work: float, may_be_full: bool
) -> Candidate | None:
    """Return the spectral solution: of the full graph if affordable, else by a new hierarchy."""
    problem, c = search.scaled, search.n_clusters
    work = eigenproblem_work(problem, c) + n_starts * start_work(problem.n_nodes, c)
    if not (may_be_full and work <= most_work and within_solvers_range(problem)):
        steps = passes.descend(smallest_level(problem.n_nodes, c))
        return passes.spectral(steps, n_starts=n_starts, most_work=most_work)
    relaxation = search.relax()
    if relaxation is None or search.is_late:
        return None
    late = passes.coarsening.is_late
    labels = spectral_labels(problem, relaxation, passes.rng, n_starts=n_starts, is_late=late)
    return passes.refined(search.allowed(labels), work=work)
