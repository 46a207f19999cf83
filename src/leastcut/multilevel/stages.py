"""The stages of a search: first passes, and recombination.

The first stage makes a pass with every coarsening rule, and a spectral solution. Different rules
fail on different graphs, and groups of nodes that two partitions have in common are rarely wrong,
so every new partition is recombined with the best so far. A huge problem is coarsened by the first
rule to a smaller level, on which the whole stage is run; the result is refined while uncoarsening.

Later stages recombine the results with further passes and spectral solutions.
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

# Up to this size the last pass agglomerates the graph without coarsening first, which is slower and
# finds better clusters.
DIRECT_NODES = 3000
# Up to this number of clusters the spectral solution gets its full share of work; the share
# decreases for more clusters, as the cost increases.
FEW_CLUSTERS = 8
# Above HUGE_NODES, a level of at most SEARCHED_NODES is searched: a pass takes longer, and the cut
# is smaller.
HUGE_NODES, SEARCHED_NODES = 300_000, 50_000


def first_stage(search: Search, stage: str, starts: Sequence[np.ndarray]) -> list[Candidate]:
    """Make the passes of the first stage, and a V-cycle from each start; return the results."""
    candidates: list[Candidate] = []
    effort = EFFORTS[stage]
    last = effort.coarsening[-1]
    is_huge = search.scaled.n_nodes > HUGE_NODES
    for rule in effort.coarsening[:1] if is_huge else effort.coarsening:
        # Create generators even if they are not used, so that later tasks keep their numbers.
        passes = search.passes(search.next_generator(), rule)
        mixing = search.passes(search.next_generator(), last)
        if candidates and search.is_done:
            continue
        if is_huge:
            results = _huge_pass(search, effort, passes)
        else:
            results = _passes(search, effort, passes, rule == last)
        for candidate in results:
            candidates += _recombined(search, candidate, mixing)
    for labels in [*starts, *search.starts.get(stage, ())]:
        passes = search.passes(search.next_generator(), last)
        if not search.is_done:
            candidates.append(passes.cycle(labels.astype(np.int32)))
            search.consider(candidates[-1])
    search.store(stage)
    return candidates


def _passes(search: Search, effort: Effort, passes: Passes, is_last: bool) -> Iterator[Candidate]:
    """Make a pass with one rule; the first also gives a spectral solution."""
    problem, c, is_first = search.scaled, search.n_clusters, search.best is None
    # The first pass is completed regardless of the time limit, to have a result.
    first = _never_late(search, passes) if is_first else passes
    smallest = smallest_level(problem.n_nodes, c)
    if is_last and problem.n_nodes <= DIRECT_NODES:
        smallest = problem.n_nodes  # no coarsening
    steps = first.descend(smallest)
    candidate = first.grow(steps)
    if candidate is None:
        return
    yield candidate
    # With weight limits, the search without limits has computed the spectral solution.
    if not is_first or search.is_done or problem.limits is not None:
        return
    share = effort.spectral_share * min(1.0, FEW_CLUSTERS / c) ** 1.5
    most_work = min(share * candidate.work, search.work_left)
    spectral = passes.spectral(steps, n_starts=effort.spectral_starts, most_work=most_work)
    if spectral is not None:
        yield spectral


def _huge_pass(search: Search, effort: Effort, passes: Passes) -> Iterator[Candidate]:
    """Coarsen a huge problem, search the last level, and uncoarsen."""
    problem = search.scaled
    passes = _never_late(search, passes)
    smallest = smallest_level(problem.n_nodes, search.n_clusters)
    # 1. Coarsen. With constraints, a coarse level may have no allowed partition.
    enough = 0 if problem.constraints.restrict_moves else max(SEARCHED_NODES, 4 * smallest)
    steps = passes.descend(smallest, enough)
    low = steps[-1].problem if steps else problem
    if enough == 0 or not enough >= low.n_nodes < problem.n_nodes:
        # Make an ordinary pass, also if coarsening makes no progress.
        candidate = passes.grow(steps)
        if candidate is not None:
            yield candidate
        return
    # 2. Search the level.
    inner = search.below(low)
    candidates = first_stage(inner, effort.stages[0], ())
    search.level = Level(steps, inner, candidates)
    assert inner.best is not None  # its first pass is always completed
    # 3. Uncoarsen.
    yield passes.refined(inner.best.labels, steps, inner.work)


def _never_late(search: Search, passes: Passes) -> Passes:
    return replace(passes, coarsening=replace(passes.coarsening, is_late=search.never_late))


def _recombined(search: Search, candidate: Candidate, passes: Passes) -> list[Candidate]:
    """Return a candidate, and its recombination with the best so far."""
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
    """Recombine the candidates of the first stage with spectral solutions and further passes.

    ``parents`` samples the pairs that are recombined.
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
            _search_level(search, search.level, population, stage, budget)
        else:
            _search_graph(search, population, stage, budget, is_spent, pass_work)
        search.store(stage)
        # A stage that was stopped early is not complete.
        if not search.is_late:
            search.report(stage, 1.0)


def _search_graph(
    search: Search,
    population: Population,
    stage: str,
    budget: float,
    is_spent: bool,
    pass_work: int,
) -> None:
    """Add a spectral solution or recursive bisection, and passes, and recombine them."""
    problem, effort = search.scaled, EFFORTS[stage]
    # On some graphs only the spectral solution leads to the best partition. With weight limits the
    # search without limits has computed it; for the edge cut, recursive bisection replaces it.
    for number, rule in enumerate(effort.coarsening):
        passes = search.passes(search.next_generator(), rule)
        if search.is_done or is_spent:
            continue
        candidate = None
        if problem.offset > 0.0 and effort.edges > 0:
            candidate = _bisected(search, passes)
        elif problem.limits is None:
            most_work = min(effort.spectral_share * search.work, search.work_left)
            if budget > 0:
                most_work = min(most_work, budget - search.work)
            # Only the first rule uses full eigenvectors; the others use their coarse levels.
            candidate = _spectral(search, passes, effort.spectral_starts, most_work, number == 0)
        if candidate is not None:
            population.add(candidate)
    population.spend(stage, budget, pass_work)
    if effort.idle_populations > 0:
        population.exhaust(stage, effort.idle_populations)
    population.finish()


def _search_level(
    search: Search, level: Level, population: Population, stage: str, budget: float
) -> None:
    """Recombine the candidates of the level of a huge problem, and uncoarsen the best."""
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


def _bisected(search: Search, passes: Passes) -> Candidate | None:
    """Return a partition by recursive bisection, if the number of clusters is even."""
    c = search.n_clusters
    result = passes.bisect() if c > 2 and c % 2 == 0 else None
    if result is None:
        return None
    labels, work = result
    return passes.refined(search.allowed(labels), work=work)


def _spectral(
    search: Search, passes: Passes, n_starts: int, most_work: float, may_be_full: bool
) -> Candidate | None:
    """Return the spectral solution of the full graph if affordable, else of a coarser level."""
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
