"""Populations: how their work is divided, and when they end.

The numbers are literal here, not read from the code, as in ``test_budgets``.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import ring

from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.passes import Candidate, Passes
from leastcut.multilevel.population import Population

WORK = 1000
"""Work of every pass in a population with scripted passes."""


class Script:
    """A search whose passes have equal work and predefined values."""

    scaled, n_clusters, n_threads = ring(8), 2, 1

    def __init__(self, values=None):
        self.values = values or itertools.repeat(1.0)
        self.best, self.work, self.n_tasks = None, 0, 0
        self.is_late = self.is_done = False
        self.fresh = self.recombined = self.regrown = 0
        self.batches = []

    def next_generator(self):
        self.n_tasks += 1
        return np.random.default_rng(0)

    def passes(self, rng, rule, n_threads):
        return Passes(self.scaled, self.n_clusters, rng)

    def consider(self, candidate):
        self.work += candidate.work
        better = self.best is None or candidate.value < self.best.value
        self.best = candidate if better else self.best
        return better

    def report(self, stage, fraction):
        self.batches.append(self.work)

    def make_fresh(self, *_, **__):
        self.fresh += 1
        return Candidate(np.zeros(4, dtype=np.int32), next(self.values), WORK)

    def make_child(self, *_, regrow, **__):
        self.recombined += 1
        self.regrown += regrow
        return Candidate(np.zeros(4, dtype=np.int32), next(self.values), WORK)


@pytest.fixture
def scripted(monkeypatch):
    """Return a factory of empty populations whose passes are scripted."""

    def make(values=None):
        script = Script(values)
        monkeypatch.setattr(Passes, "fresh", script.make_fresh)
        monkeypatch.setattr(Passes, "recombine", script.make_child)
        rng = np.random.default_rng(0)
        people = Population(script, [], rng, ["heavy_edges"])
        return people, script

    return make


def test_a_quarter_of_the_work_is_for_new_members(scripted):
    people, script = scripted()
    people.spend("balanced", 20 * WORK, WORK)
    # All that start before more than a quarter is spent.
    assert len(people.members) == 6
    assert script.work == 20 * WORK


@pytest.mark.parametrize("budget", [1, 3, 17, 40])
def test_the_work_limit_is_exceeded_by_at_most_one_task(scripted, budget):
    people, script = scripted(itertools.count(100.0, -1.0))
    people.spend("balanced", budget * WORK, WORK)
    # At least two new members; every tenth recombination makes two passes.
    assert max(2, budget) * WORK <= script.work <= (max(2, budget) + 1) * WORK


def test_batches_have_four_tasks_or_what_the_work_limit_allows(scripted):
    people, script = scripted(itertools.count(100.0, -1.0))
    people.spend("balanced", 40 * WORK, WORK)
    sizes = np.diff([0, *script.batches]) // WORK
    assert sizes[0] == 4
    assert sizes.max() <= 5
    # The last batch of new members, and the last batches of all.
    assert np.count_nonzero(sizes < 4) <= 4


def test_a_population_has_sixteen_members(scripted):
    people, script = scripted()
    sizes = []
    script.report = lambda *_: sizes.append(len(people.members))
    people.spend("balanced", 1e9, WORK)
    assert max(sizes) == 16


def test_populations_without_improvement_end_after_48_tasks(scripted):
    people, script = scripted()
    people.spend("balanced", 1e9, WORK)
    # The first has the first best, so it is not idle; two more are. Each starts with the best.
    assert script.recombined == 3 * 48
    assert people.members == [script.best]
    # Every tenth task has a new second parent, and every other one uses regrow.
    assert script.n_tasks == (16 + 48) + 2 * (15 + 48)
    tasks = [range(16, 64), range(79, 127), range(142, 190)]
    newcomers = sum(number % 10 == 0 for batch in tasks for number in batch)
    assert script.fresh == 16 + 2 * 15 + newcomers
    assert script.regrown == 72


def test_a_new_best_resets_the_count(scripted):
    # Twice, as the value of a new second parent is ignored.
    worse, result = [5.0] * (16 + 40), [4.0, 4.0]
    people, script = scripted(itertools.chain(worse, result, itertools.repeat(5.0)))
    people.spend("balanced", 1e9, WORK)
    assert 3 * 48 + 28 <= script.recombined <= 3 * 48 + 44


def test_the_search_ends_after_two_populations_without_improvement(scripted):
    people, script = scripted()
    people.exhaust("thorough", EFFORTS["thorough"].idle_populations)
    # Each is filled, recombined until stale, and then recombined with the best of all. The first
    # has the first best, so it is not idle.
    assert script.n_tasks == 3 * (16 + 48 + 16)
    assert people.members == []


@pytest.mark.parametrize(
    ("n", "c", "fewest", "most"),
    # 10 to 100 nodes per cluster; on small graphs a quarter of them (at least 2) to all of them.
    [(4000, 5, 50, 500), (600, 10, 100, 600), (200, 10, 50, 200), (40, 10, 20, 40)],
)
def test_smallest_levels_are_log_uniform_between_two_limits(monkeypatch, n, c, fewest, most):
    sizes = []
    monkeypatch.setattr(Passes, "fresh", lambda _, smallest: sizes.append(smallest))
    problem = ring(n)
    people = Population(Script(), [], np.random.default_rng(0))
    for seed in range(300):
        people._fresh(Passes(problem, c, np.random.default_rng(seed)))
    assert fewest <= min(sizes) <= 1.05 * fewest + 1
    assert 0.95 * most - 1 <= max(sizes) <= most
    # As many below the logarithmic mean as above it.
    assert np.median(sizes) == pytest.approx(np.sqrt(fewest * most), rel=0.2)
