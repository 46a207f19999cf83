"""How a search begins: a pass by every coarsening rule, the spectral solution, and what they share.

Rules that gather nodes differently fail on different graphs, and what two partitions agree on is
hardly ever wrong, so each that is new is recombined with the best so far.

A huge problem is gathered by the first rule to a level of ordinary size, which all of that is done
on: a partition has the same value there. What is found is then refined on the way up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from leastcut.multilevel.efforts import EFFORTS, Effort
from leastcut.multilevel.interface import Level, Search
from leastcut.multilevel.levels import smallest_level
from leastcut.multilevel.passes import Trial, cycle, descend, grow, recombine, refined, spectral

DIRECT_NODES = 3000
"""Up to this size the last pass agglomerates the nodes themselves, which is slower than to gather
them first and finds better clusters."""

FEW_CLUSTERS = 8
"""With up to so many clusters the spectral solution gets its whole share: it costs little and finds
what passes do not. Its share falls as more of them raise its cost."""

HUGE_NODES, SEARCHED_NODES = 300_000, 50_000
"""Above the first size a level of at most the second is searched: it costs a quarter of the pass
that it is part of, and cuts 3 to 10% less than that pass alone."""


def begin(search: Search, stage: str, given: Sequence[np.ndarray]) -> list[Trial]:
    """Make the passes of the first stage, and a V-cycle from each given partition.

    Returns what they have found, from which other stages go on.
    """
    trials: list[Trial] = []
    effort = EFFORTS[stage]
    is_huge = search.scaled.n_nodes > HUGE_NODES
    for name in effort.coarsening[:1] if is_huge else effort.coarsening:
        # Drawn whether they are used or not: what follows draws what it always draws.
        rng, mixing = search.next_generator(), search.next_generator()
        if trials and search.is_done:
            continue
        made = _huge_pass if is_huge else _passes
        for trial in made(search, effort, name, rng):
            trials += _joined(search, trial, effort.coarsening[-1], mixing)
    for labels in [*given, *search.starts.get(stage, ())]:
        rng = search.next_generator()
        if not search.is_done:
            start = labels.astype(np.int32)
            coarsening = search.coarsening(effort.coarsening[-1])
            trials.append(
                cycle(search.scaled, start, search.n_clusters, rng, coarsening=coarsening)
            )
            search.consider(trials[-1])
    search.note(stage)
    return trials


def _passes(search: Search, effort: Effort, rule: str, rng: np.random.Generator) -> Iterator[Trial]:
    """Find a partition by a coarsening rule, and for the first also by its spectral solution."""
    problem, c, is_first = search.scaled, search.n_clusters, search.best is None
    coarsening = search.coarsening(rule)
    # Without the first there is nothing to return, so that one is never late.
    whole = replace(coarsening, is_late=search.never_late) if is_first else coarsening
    smallest = smallest_level(problem.n_nodes, c)
    if rule == effort.coarsening[-1] and problem.n_nodes <= DIRECT_NODES:
        # A smallest level of n nodes is the graph itself: nothing is gathered first.
        smallest = problem.n_nodes
    steps = descend(problem, c, rng, smallest, whole)
    found = grow(problem, steps, c, rng, whole)
    if found is None:
        return
    yield found
    # Where weights are limited, the search without limits has looked at the spectral solution.
    if not is_first or search.is_done or problem.limits is not None:
        return
    share = effort.spectral_share * min(1.0, FEW_CLUSTERS / c) ** 1.5
    by_spectrum = spectral(
        problem,
        steps,
        c,
        rng,
        n_starts=effort.spectral_starts,
        most_work=min(share * found.work, search.work_left),
        is_late=coarsening.is_late,
    )
    if by_spectrum is not None:
        yield by_spectrum


def _huge_pass(
    search: Search, effort: Effort, rule: str, rng: np.random.Generator
) -> Iterator[Trial]:
    """Gather a huge problem by a rule, search the level that this ends at, and go up from there."""
    problem, c = search.scaled, search.n_clusters
    # It is the first, and without it there is nothing to return.
    whole = replace(search.coarsening(rule), is_late=search.never_late)
    smallest = smallest_level(problem.n_nodes, c)
    # 1. Gather. What is not allowed could leave no partition of a level.
    enough = 0 if problem.is_bound else max(SEARCHED_NODES, 4 * smallest)
    steps = descend(problem, c, rng, smallest, whole, enough)
    low = steps[-1].problem if steps else problem
    if enough == 0 or not enough >= low.n_nodes < problem.n_nodes:
        # Where gathering gets nowhere either, the level is what one pass would end at.
        found = grow(problem, steps, c, rng, whole)
        if found is not None:
            yield found
        return
    # 2. Search the level as a problem of its own.
    inner = search.below(low)
    trials = begin(inner, effort.stages[0], ())
    search.level = Level(steps, inner, trials)
    assert inner.best is not None  # as its first pass is never late
    # 3. Go up.
    labels, work = inner.best.labels, inner.work
    yield refined(problem, steps, labels, c, rng, work, search.never_late)


def _joined(search: Search, trial: Trial, rule: str, rng: np.random.Generator) -> list[Trial]:
    """Return what is new: a trial, and what it makes together with the best so far."""
    best = search.best
    search.consider(trial)
    if best is None or search.is_done:
        return [trial]
    better, other = (trial, best) if trial.beats(best) else (best, trial)
    child = recombine(
        search.scaled,
        better.labels,
        other.labels,
        search.n_clusters,
        rng,
        regrow=True,
        coarsening=search.coarsening(rule),
    )
    search.consider(child)
    return [trial, child]
