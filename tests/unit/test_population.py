"""A population: how its budget is shared out, and when it ends.

The numbers are written out here, and not read from the code, as in ``test_budgets``.
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
"""What every pass costs in a population whose passes are scripted."""


class Script:
    """A search whose passes cost the same and find what they are told to."""

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
    """Return a population of nobody, and its search, whose passes are replaced by a script."""

    def make(values=None):
        script = Script(values)
        monkeypatch.setattr(Passes, "fresh", script.make_fresh)
        monkeypatch.setattr(Passes, "recombine", script.make_child)
        rng = np.random.default_rng(0)
        people = Population(script, [], rng, ["heavy_edges"])
        return people, script

    return make


def test_a_quarter_of_a_budget_goes_into_starts(scripted):
    people, script = scripted()
    people.spend("balanced", 20 * WORK, WORK)
    # As many as are begun before more than a quarter is spent.
    assert len(people.members) == 6
    assert script.work == 20 * WORK


@pytest.mark.parametrize("budget", [1, 3, 17, 40])
def test_a_budget_is_spent_and_not_overrun_by_more_than_a_task(scripted, budget):
    people, script = scripted(itertools.count(100.0, -1.0))
    people.spend("balanced", budget * WORK, WORK)
    # Two starts at least; and every tenth recombination is two passes.
    assert max(2, budget) * WORK <= script.work <= (max(2, budget) + 1) * WORK


def test_batches_are_of_four_and_of_what_the_budget_pays_for(scripted):
    people, script = scripted(itertools.count(100.0, -1.0))
    people.spend("balanced", 40 * WORK, WORK)
    sizes = np.diff([0, *script.batches]) // WORK
    assert sizes[0] == 4
    assert sizes.max() <= 5
    # The last batch of starts, and the last ones of all.
    assert np.count_nonzero(sizes < 4) <= 4


def test_a_population_is_of_sixteen(scripted):
    people, script = scripted()
    sizes = []
    script.report = lambda *_: sizes.append(len(people.members))
    people.spend("balanced", 1e9, WORK)
    assert max(sizes) == 16


def test_populations_that_find_nothing_new_end_after_48_tasks_each(scripted):
    people, script = scripted()
    people.spend("balanced", 1e9, WORK)
    # The first finds the first best, and so is not idle; two more are. Each begins with the best.
    assert script.recombined == 3 * 48
    assert people.members == [script.best]
    # Every tenth task has a newcomer for its second parent, every other one grows anew.
    assert script.n_tasks == (16 + 48) + 2 * (15 + 48)
    tasks = [range(16, 64), range(79, 127), range(142, 190)]
    newcomers = sum(number % 10 == 0 for batch in tasks for number in batch)
    assert script.fresh == 16 + 2 * 15 + newcomers
    assert script.regrown == 72


def test_a_new_best_begins_the_count_again(scripted):
    # Twice, as what a newcomer finds is not looked at.
    worse, found = [5.0] * (16 + 40), [4.0, 4.0]
    people, script = scripted(itertools.chain(worse, found, itertools.repeat(5.0)))
    people.spend("balanced", 1e9, WORK)
    assert 3 * 48 + 28 <= script.recombined <= 3 * 48 + 44


def test_populations_end_after_two_that_bring_nothing(scripted):
    people, script = scripted()
    people.exhaust("thorough", EFFORTS["thorough"].idle_populations)
    # Each is filled, bred until stale, and then bred with the best of all. The first of all finds
    # the first best, and so is not idle.
    assert script.n_tasks == 3 * (16 + 48 + 16)
    assert people.members == []


@pytest.mark.parametrize(
    ("n", "c", "fewest", "most"),
    # 10 to 100 nodes per cluster; on small graphs from a quarter of them, and at least 2, to all.
    [(4000, 5, 50, 500), (600, 10, 100, 600), (200, 10, 50, 200), (40, 10, 20, 40)],
)
def test_starts_are_of_any_size_between_two_limits(monkeypatch, n, c, fewest, most):
    sizes = []
    monkeypatch.setattr(Passes, "fresh", lambda _, smallest: sizes.append(smallest))
    problem = ring(n)
    people = Population(Script(), [], np.random.default_rng(0))
    for seed in range(300):
        people._fresh(Passes(problem, c, np.random.default_rng(seed)))
    assert fewest <= min(sizes) <= 1.05 * fewest + 1
    assert 0.95 * most - 1 <= max(sizes) <= most
    # As many below the mean of the logarithms as above it.
    assert np.median(sizes) == pytest.approx(np.sqrt(fewest * most), rel=0.2)
