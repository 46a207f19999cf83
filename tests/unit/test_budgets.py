"""The work of a search: limits are used, are not exceeded, and have the documented values.

The numbers are literal here, not read from the code, so that changing a limit requires changing a
test.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, points_graph, ring
from hypothesis import given
from hypothesis import strategies as st

import leastcut
from leastcut.budget import Budget
from leastcut.multilevel import (
    coarsening,
    passes,
    population,
    search,
    search_state,
    spectral_start,
    stages,
)
from leastcut.multilevel.coarsening import Coarsening, heavy_edges, label_propagation
from leastcut.multilevel.efforts import EFFORTS
from leastcut.multilevel.passes import Passes
from leastcut.multilevel.refinement import State
from leastcut.multilevel.search_state import Search
from leastcut.multilevel.spectral_start import eigenproblem_work
from leastcut.problem import as_problem
from leastcut.spectral.relax import relax_problem

# -- the efforts


def spent(S, c, names, seed=0):
    """Return the work of a search with these stages, and the work of its first pass."""
    made = Search(as_problem(S), c, [seed], 1, Budget(), False)
    search._run(made, names[:1], ())
    first = made.work
    made = Search(as_problem(S), c, [seed], 1, Budget(), False)
    search._run(made, names, ())
    return made.work, first


def test_every_task_has_its_own_random_numbers():
    def numbers(seed):
        made = Search(ring(50), 4, [seed], 1, Budget(), False)
        return [made.next_generator().integers(2**62) for _ in range(50)]

    assert len({*numbers(0), *numbers(1)}) == 100
    assert numbers(0) == numbers(0)


def test_balanced_visits_150_million_edges():
    S = sp.csr_array(sp.random_array((1500, 1500), density=0.004, rng=0))
    S = S + S.T + sp.diags_array([np.full(1499, 0.1)] * 2, offsets=[-1, 1])
    work, _ = spent(S, 8, EFFORTS["balanced"].stages)
    assert 150e6 <= work <= 165e6


def test_balanced_visits_four_times_the_first_stage_on_large_graphs(monkeypatch):
    monkeypatch.setitem(EFFORTS, "balanced", replace(EFFORTS["balanced"], edges=1))
    work, first = spent(points_graph(6000), 6, ("fast", "balanced"))
    # The last task, a recombination, visits at most as much as three passes.
    assert 4 * first <= work <= 7 * first


def test_auto_visits_a_quarter_of_the_work_of_the_eigenproblem():
    S = points_graph(6000)
    estimate = eigenproblem_work(as_problem(S), 60)
    work, first = spent(S, 60, EFFORTS["auto"].stages)
    assert first < 0.25 * estimate <= work <= 0.25 * estimate + 2 * first
    # It does nothing if the first stage has cost as much.
    estimate = eigenproblem_work(as_problem(S), 2)
    work, first = spent(S, 2, EFFORTS["auto"].stages)
    assert 0.25 * estimate < first <= work <= 1.5 * first


def test_the_spectral_solution_respects_its_share_of_the_work(monkeypatch):
    calls = []

    def recorded(problem, steps, n_clusters, rng, *, n_starts, most_work, is_late):
        result = spectral_start.rough_labels(
            problem, steps, n_clusters, rng, n_starts=n_starts, most_work=most_work
        )
        calls.append((n_starts, most_work, result))
        return result

    monkeypatch.setattr(passes, "rough_labels", recorded)
    problem = as_problem(points_graph(4000))
    # Ignore the work after the spectral solutions.
    monkeypatch.setattr(population.Population, "spend", lambda *_: None)
    monkeypatch.setattr(population.Population, "exhaust", lambda *_: None)
    monkeypatch.setattr(stages, "eigenproblem_work", lambda *_: np.inf)
    monkeypatch.setattr(search_state, "eigenproblem_work", lambda *_: np.inf)
    for names, starts in (
        (("fast",), [1]),
        (("fast", "auto"), [1, 2, 2]),
        (("fast", "balanced"), [1, 4, 4]),
        (("fast", "thorough"), [1, 10, 10]),
    ):
        calls.clear()
        made = Search(problem, 6, [0], 1, Budget(), False)
        search._run(made, names, ())
        assert [n_starts for n_starts, _, _ in calls] == starts
        for _, most_work, result in calls:
            assert result is None or result[2] <= most_work


def test_the_share_of_the_spectral_solution_is_relative_to_previous_work(monkeypatch):
    calls = []
    monkeypatch.setattr(passes, "rough_labels", lambda *_, most_work, **__: calls.append(most_work))
    # The full share for up to 8 clusters, and an eighth of it for 32.
    for c, share in ((2, 5.0), (8, 5.0), (32, 0.625)):
        made = Search(ring(4000), c, [0], 1, Budget(), False)
        passes_made, consider = [], made.consider

        def recorded(candidate, passes_made=passes_made, consider=consider):
            passes_made.append(candidate.work)
            return consider(candidate)

        made.consider = recorded
        calls.clear()
        search._run(made, ("fast",), ())
        assert calls == [pytest.approx(share * passes_made[0])]
    # And never more than the time allows.
    late = Search(ring(4000), 4, [0], 1, Budget(time_limit=0.0), False)
    assert late.work_left <= 0.0
    early = Search(ring(4000), 4, [0], 1, Budget(time_limit=8.0), False)
    assert early.work_left <= 1e9


@pytest.mark.parametrize(
    ("effort", "most"), [("fast", 500), ("auto", 500), ("balanced", 2000), ("thorough", 2000)]
)
def test_the_bound_is_computed_by_default_up_to_a_size(monkeypatch, effort, most):
    class Stopped(Exception):
        """Raised instead of searching."""

    def recorded(*arguments):
        computed.append(arguments[5])
        raise Stopped

    computed: list[bool] = []
    monkeypatch.setattr(search, "Search", recorded)
    for n in (most, most + 1):
        for bound in (None, False, True):
            with pytest.raises(Stopped):
                leastcut.partition(ring(n).graph, 4, effort=effort, lower_bound=bound)
    assert computed == [True, False, True, False, False, True]


@given(st.integers(50, 20_000), st.integers(2, 500))
def test_estimated_work_increases_with_nodes_and_clusters(n, c):
    def shape(n_nodes):
        return SimpleNamespace(n_nodes=n_nodes, graph=SimpleNamespace(n_stored=10 * n_nodes))

    def rough(n_nodes, n_clusters, n_starts=1):
        return spectral_start.rough_work([shape(n_nodes), shape(50)], n_clusters, n_starts)

    assert rough(n, c) < rough(n, c + 1)
    assert rough(n, c) < rough(n + 1, c)
    assert rough(n, c) < rough(n, c, 2)
    assert eigenproblem_work(shape(n), c) <= eigenproblem_work(shape(n), c + 1) or n <= 8 * (c + 1)


@pytest.mark.parametrize(("n", "c"), [(500, 5), (501, 5), (792, 100), (801, 100)])
def test_dense_eigenproblems_are_estimated_as_dense(n, c):
    problem = ring(n)
    in_full = relax_problem(problem, c, random_state=0).solver == "dense"
    assert in_full is (n in (500, 792))
    # Only then the estimate does not depend on the number of edges.
    twice = SimpleNamespace(n_nodes=n, graph=SimpleNamespace(n_stored=2 * problem.graph.n_stored))
    assert (eigenproblem_work(twice, c) == eigenproblem_work(problem, c)) is in_full


# -- the passes


def test_a_huge_graph_gets_one_pass(monkeypatch):
    assert stages.HUGE_NODES == 300_000
    monkeypatch.setattr(stages, "HUGE_NODES", 1000)
    for n, n_considered in ((1000, 5), (1001, 1)):
        made = Search(ring(n), 4, [0], 1, Budget(), False)
        # Two passes, a spectral solution, and a child of each of the last two.
        assert len(stages.first_stage(made, "fast", ())) == n_considered


@pytest.mark.parametrize(
    ("n", "c", "sizes"),
    [
        # 40 nodes per cluster, or 320 if that is fewer, but at least 12 per cluster; a quarter of a
        # small graph. The second pass does not coarsen up to 3,000 nodes.
        (3000, 4, [160, 3000]),
        (3001, 4, [160, 160]),
        (3001, 16, [320, 320]),
        (3001, 40, [480, 480]),
        (400, 20, [100, 400]),
        (400, 90, [180, 400]),
    ],
)
def test_the_passes_of_the_first_stage_coarsen_to_documented_sizes(monkeypatch, n, c, sizes):
    seen = []

    def recorded(made, smallest):
        seen.append(smallest)
        return descend(made, smallest)

    descend = Passes.descend
    monkeypatch.setattr(Passes, "descend", recorded)
    leastcut.partition(points_graph(n), c, effort="fast", random_state=0)
    assert seen == sizes


def test_cycles_coarsen_to_two_to_four_nodes_per_cluster(monkeypatch):
    problem, rng = as_problem(points_graph(900)), np.random.default_rng(0)
    coarsest = []

    def recorded(*arguments, **options):
        steps = coarsening.build(*arguments, **options)
        coarsest.append(steps[-1].problem.n_nodes)
        return steps

    monkeypatch.setattr(passes, "build", recorded)
    nine = Passes(problem, 9, rng)
    labels = nine.fresh(100).labels
    coarsest.clear()
    nine.cycle(labels)
    nine.recombine(labels, labels)
    assert all(2 * 9 < size <= 4 * 9 for size in coarsest)


def test_the_work_of_a_level_is_three_visits_per_edge_plus_a_constant():
    problem = as_problem(points_graph(900))
    steps = coarsening.build(problem, np.random.default_rng(0), 100)
    assert len(steps) > 1
    made_from = [problem, *(step.problem for step in steps[:-1])]
    edges = sum(level.graph.n_stored for level in made_from)
    assert passes.hierarchy_work(problem, steps) == 3 * edges + 10_000 * (len(steps) + 1)
    assert passes.hierarchy_work(problem, []) == 10_000


def test_the_work_of_a_pass_includes_its_start(monkeypatch):
    problem, counted = as_problem(points_graph(900)), []

    def recorded(*arguments, **options):
        state = uncoarsen(*arguments, **options)
        counted.append(state.work)
        return state

    uncoarsen = Passes.uncoarsen
    monkeypatch.setattr(Passes, "uncoarsen", recorded)
    nine = Passes(problem, 9, np.random.default_rng(0))
    first = nine.fresh(100)
    assert first.work == sum(counted)
    counted.clear()
    # With regrow the better parent is also refined before the comparison.
    child = nine.recombine(first.labels, first.labels, regrow=True)
    assert len(counted) == 2
    assert child.work > sum(counted)


def test_a_step_of_agglomeration_merges_a_quarter_of_the_nodes():
    steps = coarsening.agglomerate(as_problem(points_graph(600)), 3)
    sizes = [600, *(step.problem.n_nodes for step in steps)]
    expected = [600]
    while expected[-1] > 3:
        expected.append(max(3, expected[-1] - max(1, expected[-1] // 4)))
    assert sizes == expected


def test_a_step_of_agglomeration_merges_an_eighth_of_the_leaves_of_a_hub():
    n = 801
    spokes = sp.coo_array((np.ones(n - 1), (np.zeros(n - 1, dtype=int), np.arange(1, n))), (n, n))
    steps = coarsening.agglomerate(as_problem(sp.csr_array(spokes + spokes.T), "ratio"), 3)
    # With pairs only, there would be one merge per step.
    sizes = np.array([n, *(step.problem.n_nodes for step in steps)])
    merged = -np.diff(sizes)
    assert (merged[:-1] >= sizes[:-2] // 8).all()
    assert len(steps) < 60


def test_a_level_without_progress_is_discarded():
    S = points_graph(1000)

    def kept(share):
        # This fraction of the nodes is isolated, and the others can be paired.
        parts = np.zeros(1000, dtype=np.int32)
        alone = int(share * 1000)
        parts[:alone] = np.arange(1, alone + 1)
        return coarsening.build(as_problem(S), np.random.default_rng(0), 10, parts)

    assert kept(0.97) == []
    first = kept(0.8)[0].problem.n_nodes
    assert 900 <= first <= 950


@pytest.mark.parametrize(
    ("rule", "fewest", "most"), [(heavy_edges, 20, 30), (label_propagation, 40, 80)]
)
def test_aggregates_respect_the_weight_limit_of_their_rule(rule, fewest, most):
    problem = as_problem(points_graph(2000), "ratio")
    steps = coarsening.build(problem, np.random.default_rng(0), 100, coarsening=Coarsening(rule))
    heaviest = max(step.problem.node_weights.max() for step in steps)
    assert fewest < heaviest <= most


@pytest.mark.parametrize(("n", "largest"), [(2000, 2), (2001, 4)])
def test_aggregates_have_two_nodes_on_small_levels_and_four_on_large_ones(n, largest):
    aggregate_of = heavy_edges(as_problem(points_graph(n)), np.random.default_rng(0), 1e9, None)
    assert np.bincount(aggregate_of).max() == largest
    parts = np.zeros(n, dtype=np.int32)
    aggregate_of = heavy_edges(as_problem(points_graph(n)), np.random.default_rng(0), 1e9, parts)
    assert np.bincount(aggregate_of).max() == 2


@pytest.mark.parametrize(("n_leaves", "are_aggregated"), [(700, True), (200, False)])
def test_leaves_of_hubs_are_aggregated_if_three_in_four_nodes_are_left(n_leaves, are_aggregated):
    """A hub with leaves, and a path: half of the path and one of the leaves can be paired."""
    n = 1000
    path = np.arange(n_leaves + 1, n)
    i = np.concatenate([np.zeros(n_leaves, dtype=int), path[:-1]])
    j = np.concatenate([np.arange(1, n_leaves + 1), path[1:]])
    half = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    problem = as_problem(sp.csr_array(half + half.T), "ratio")
    aggregate_of = heavy_edges(problem, np.random.default_rng(0), 1e9, None)
    leaves = np.unique(aggregate_of[1 : n_leaves + 1]).size
    assert (leaves <= 0.6 * n_leaves) is are_aggregated


# -- the moves


def slow_boundary(n=100):
    """Return a path with edge weights that decrease towards its start, plus faint other edges.

    The boundary moves towards the start, one node at a time; every move adds all nodes to the queue
    before the next one to move.
    """
    S = np.full((n, n), 1e-9)
    link = np.arange(n - 1)
    S[link, link + 1] = S[link + 1, link] = 1.0 + 0.1 * link
    np.fill_diagonal(S, 0.0)
    return S


def test_a_local_search_visits_at_most_twenty_times_as_many_nodes():
    problem = as_problem(slow_boundary(), "ratio")
    labels = (np.arange(100) >= 75).astype(np.int32)
    state = State(problem, labels, 2)
    before = state.work
    moves = state.local_search()
    assert state.work - before == 20 * problem.graph.n_stored
    assert moves <= 25
    # The next searches make the remaining moves.
    state.measure()
    state.finish()
    assert int(state.labels.sum()) > 25 + moves + 5


def walled(k, n_side=60):
    """Return two large cliques, and one of k nodes in the wrong cluster.

    Moving it decreases the cut value, but only after the last of its nodes has moved.
    """
    n = 2 * n_side + k
    S = np.zeros((n, n))
    first, other, small = slice(0, n_side), slice(n_side, 2 * n_side), slice(2 * n_side, n)
    S[first, other] = S[other, first] = 0.001
    S[small, other] = S[other, small] = 0.11
    S[small, first] = S[first, small] = 0.1
    for clique in (first, other, small):
        S[clique, clique] = 1.0
    np.fill_diagonal(S, 0.0)
    labels = np.zeros(n, dtype=np.int32)
    labels[other] = 1
    return as_problem(S, "ratio"), labels


def test_chains_end_after_fifteen_moves_and_twenty_visits_per_edge(monkeypatch):
    calls = []
    search = State.fm_search

    def recorded(state, seeds, patience, max_edges):
        calls.append((patience, max_edges / state.problem.graph.n_stored))
        return search(state, seeds, patience, max_edges)

    monkeypatch.setattr(State, "fm_search", recorded)
    for n, n_full in ((200, 5000), (201, 5000), (1000, 1000), (1000, 1001)):
        state = State(as_problem(points_graph(n)), (np.arange(n) % 3).astype(np.int32), 3)
        full = state.problem if n_full == n else ring(n_full)
        before = len(calls)
        Passes(full, 3, np.random.default_rng(0)).improve(state)
        # FM search runs on levels of up to 200 nodes, and in problems of up to 1000.
        assert len(calls) - before == (n <= 200 or n_full <= 1000)
    assert calls == [(15, 20)] * 2


@pytest.mark.parametrize("patience", [1, 4, 15])
def test_a_chain_escapes_local_optima_within_its_patience(patience):
    for k in (2, 4, 10, 15, 16, 20):
        problem, labels = walled(k)
        over = labels.copy()
        over[-k:] = 1
        state = State(problem, labels, 2)
        decrease = state.fm_search(np.array([120], dtype=np.int32), patience, 10**9)
        crossed = decrease > 0
        assert crossed == (k <= patience)
        assert state.value == pytest.approx(problem.value(over if crossed else walled(k)[1]))


@given(graphs(min_nodes=6, max_nodes=16), st.integers(2, 4), st.integers(0, 99))
def test_larger_limits_of_chains_visit_more_and_decrease_no_less(S, c, seed):
    problem = as_problem(S).within_range()
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(len(S)) % c).astype(np.int32)
    seeds = rng.permutation(len(S)).astype(np.int32)

    def search(max_edges):
        state = State(problem, labels.copy(), c)
        before = state.work
        decrease = state.fm_search(seeds, 5, max_edges)
        return state.work - before, decrease

    # The chains are the same, in the same order; the limit determines where they stop.
    total, gain = search(10**9)
    budgets = sorted({-1, 0, *rng.integers(0, max(1, total), size=4).tolist(), total})
    visits, gains = zip(*(search(budget) for budget in budgets), strict=True)
    assert visits[0] == 0
    assert list(visits) == sorted(visits)
    assert list(gains) == sorted(gains)
    assert (visits[-1], gains[-1]) == (total, gain)
    for budget, visited in zip(budgets, visits, strict=True):
        assert visited > budget or visited == total
