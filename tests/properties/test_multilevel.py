"""Coarsening preserves cut values, and passes never increase them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, points_graph
from hypothesis import given
from hypothesis import strategies as st

import leastcut
from leastcut import reductions
from leastcut.kernels import coarsen as kernels
from leastcut.multilevel import coarsening
from leastcut.multilevel.coarsening import COARSENING_RULES, MOST_TARGETS
from leastcut.multilevel.passes import Passes
from leastcut.multilevel.refinement import State
from leastcut.multilevel.search import merge_clusters
from leastcut.problem import as_problem
from leastcut.reductions import BLOCK_EDGES


def star_graph(n_leaves=3000, n_hubs=3):
    """Return a path of hubs with many leaves each; matching alone merges one leaf per step."""
    leaves = np.arange(n_hubs, n_hubs + n_leaves)
    edges = [(i, i + 1) for i in range(n_hubs - 1)]
    edges += [(int(leaf) % n_hubs, int(leaf)) for leaf in leaves]
    i, j = np.array(edges).T
    n = n_hubs + n_leaves
    half = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    return sp.csr_array(half + half.T)


def levels_of(S, cut, smallest=20, parts=None, seed=0, **options):
    problem = as_problem(S, cut)
    how = coarsening.Coarsening(**options)
    return problem, coarsening.build(problem, np.random.default_rng(seed), smallest, parts, how)


def value_of(problem, labels, c):
    return State(problem, labels.astype(np.int32), c).value


@pytest.mark.parametrize("cut", ["ratio", "normalized", "weights"])
def test_every_level_has_the_same_cut_value(cut):
    S = sp.csr_array(points_graph(600) + sp.diags_array(np.linspace(0, 3, 600)))
    cut = np.linspace(0.5, 2.0, 600) if cut == "weights" else cut
    problem, steps = levels_of(S, cut)
    assert len(steps) >= 3
    labels = np.arange(steps[-1].problem.n_nodes, dtype=np.int32) % 4
    coarse = value_of(steps[-1].problem, labels, 4)
    for step, finer in zip(
        steps[::-1], [*(s.problem for s in steps[-2::-1]), problem], strict=True
    ):
        labels = labels[step.parent]
        assert value_of(finer, labels, 4) == pytest.approx(coarse, rel=1e-12)
        assert finer.node_weights.sum() == pytest.approx(problem.node_weights.sum())
    assert leastcut.cut_value(S, labels, cut) == pytest.approx(coarse, rel=1e-12)


@given(graphs(min_nodes=4, max_nodes=14), st.integers(0, 99))
def test_coarse_and_fine_values_agree_on_random_graphs(S, seed):
    problem, steps = levels_of(S, "normalized", smallest=3, seed=seed)
    rng = np.random.default_rng(seed)
    for step in steps:
        coarse = rng.integers(2, size=step.problem.n_nodes)
        coarse[:2] = 0, 1
        fine = value_of(problem, coarse[step.parent], 2)
        assert value_of(step.problem, coarse, 2) == pytest.approx(fine, rel=1e-12)
        assert not np.any(step.problem.graph.rows == step.problem.graph.indices)
        problem = step.problem


@pytest.mark.parametrize("rule", COARSENING_RULES.values(), ids=COARSENING_RULES)
@given(graphs(min_nodes=4, max_nodes=14), st.integers(0, 99), st.booleans())
def test_every_rule_returns_valid_aggregate_ids(rule, S, seed, cannot_link):
    problem = as_problem(S, np.linspace(1.0, 2.0, len(S)))
    parts = (np.arange(len(S)) % 2).astype(np.int32) if cannot_link else None
    aggregate_of = rule(problem, np.random.default_rng(seed), 1.75, parts)
    assert aggregate_of.dtype == np.int32
    np.testing.assert_array_equal(aggregate_of[aggregate_of], aggregate_of)
    assert np.bincount(aggregate_of, problem.node_weights).max() <= MOST_TARGETS * 1.75
    if parts is not None:
        np.testing.assert_array_equal(parts[aggregate_of], parts)
    again = rule(problem, np.random.default_rng(seed), 1.75, parts)
    np.testing.assert_array_equal(aggregate_of, again)


@pytest.mark.parametrize("rule", COARSENING_RULES.values(), ids=COARSENING_RULES)
def test_nodes_of_different_parts_are_never_aggregated(rule):
    S = points_graph(600)
    parts = (np.arange(600) % 3).astype(np.int32)
    _, steps = levels_of(S, "ratio", parts=parts, rule=rule)
    assert steps
    for step in steps:
        coarse = coarsening.coarse_labels([step], parts)
        np.testing.assert_array_equal(coarse[step.parent], parts)
        parts = coarse


@pytest.mark.parametrize("rule", COARSENING_RULES.values(), ids=COARSENING_RULES)
def test_aggregates_respect_the_weight_limit(rule):
    _, steps = levels_of(points_graph(600), "ratio", smallest=30, rule=rule)
    assert max(step.problem.node_weights.max() for step in steps) <= MOST_TARGETS * 600 / 30


@pytest.mark.parametrize("rule", COARSENING_RULES.values(), ids=COARSENING_RULES)
def test_hubs_do_not_stop_coarsening(rule):
    _, steps = levels_of(star_graph(), "ratio", smallest=30, rule=rule)
    assert steps[-1].problem.n_nodes < 200


def same_hierarchies(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.parent, other.parent)
        np.testing.assert_array_equal(one.problem.node_weights, other.problem.node_weights)
        for name in ("indptr", "indices", "weights"):
            left, right = (getattr(step.problem.graph, name) for step in (one, other))
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_hierarchies_do_not_depend_on_the_number_of_threads(n_threads):
    S = points_graph(54_000)
    assert S.nnz >= 3 * BLOCK_EDGES
    _, sequential = levels_of(S, "normalized", smallest=5000)
    _, parallel = levels_of(S, "normalized", smallest=5000, n_threads=n_threads)
    same_hierarchies(sequential, parallel)


def test_compiled_and_interpreted_kernels_agree(monkeypatch):
    S = star_graph(60)
    problem, compiled = levels_of(S, "normalized", smallest=5)
    grown = coarsening.agglomerate(problem, 2)
    by_label = COARSENING_RULES["label_propagation"]
    _, propagated = levels_of(S, "normalized", smallest=5, rule=by_label)
    for name in ("aggregate", "aggregate_leaves", "aggregate_pairs", "propagate",
                 "number_aggregates", "list_members", "contract"):  # fmt: skip
        for home in (coarsening, reductions):
            if hasattr(home, name):
                monkeypatch.setattr(home, name, getattr(kernels, name).py_func)
    same_hierarchies(compiled, levels_of(S, "normalized", smallest=5)[1])
    same_hierarchies(propagated, levels_of(S, "normalized", smallest=5, rule=by_label)[1])
    same_hierarchies(grown, coarsening.agglomerate(problem, 2))


@given(graphs(min_nodes=5, max_nodes=14, connected=True), st.integers(2, 4))
def test_agglomeration_ends_with_one_node_per_cluster(S, c):
    problem = as_problem(S, "normalized")
    assert coarsening.agglomerate(problem, c)[-1].problem.n_nodes == c


@given(graphs(min_nodes=5, max_nodes=14, connected=True), st.integers(2, 4), st.integers(0, 99))
def test_passes_are_monotone_and_report_their_value(S, c, seed):
    for cut in ("ratio", "normalized"):
        problem = as_problem(S, cut)
        passes = Passes(problem, c, np.random.default_rng(seed))
        first, second = passes.fresh(6), passes.fresh(len(S))
        spectral = passes.spectral(passes.descend(6), n_starts=2, most_work=np.inf)
        better, worse = sorted((first, second), key=lambda one: one.value)
        after_cycle = passes.cycle(better.labels)
        child = passes.recombine(better.labels, worse.labels)
        regrown = passes.recombine(better.labels, worse.labels, regrow=True)
        for result in (first, second, spectral, after_cycle, child, regrown):
            assert np.unique(result.labels).tolist() == list(range(c))
            assert leastcut.cut_value(S, result.labels, cut) == pytest.approx(result.value)
            assert result.work > 0
        for result in (after_cycle, child, regrown):
            assert result.value <= better.value * (1 + 1e-12)


def test_passes_are_monotone_on_a_larger_graph():
    passes = Passes(as_problem(points_graph(3000)), 8, np.random.default_rng(0))
    first, second = (passes.fresh(100) for _ in range(2))
    value, labels = first.value, first.labels
    kept = labels.copy()
    for _ in range(3):
        result = passes.cycle(labels)
        assert result.value <= value * (1 + 1e-12)
        value, labels = result.value, result.labels
    np.testing.assert_array_equal(first.labels, kept)
    child = passes.recombine(first.labels, second.labels)
    assert child.value <= first.value * (1 + 1e-12)
    np.testing.assert_array_equal(first.labels, kept)


@given(graphs(min_nodes=8, max_nodes=16, connected=True), st.integers(2, 4), st.integers(0, 40))
def test_stopped_passes_are_valid_and_never_worse(S, c, moment):
    """The time limit passes at the call ``moment`` of ``is_late``."""
    passes = Passes(as_problem(S), c, np.random.default_rng(moment))
    first, second = (passes.fresh(6) for _ in range(2))
    better, worse = sorted((first, second), key=lambda one: one.value)

    def until():
        calls = itertools.count()
        late = coarsening.Coarsening(is_late=lambda: next(calls) >= moment)
        return replace(passes, coarsening=late)

    kept = better.labels.copy()
    candidates = [
        until().fresh(6),
        until().cycle(better.labels),
        until().recombine(better.labels, worse.labels),
        until().recombine(better.labels, worse.labels, regrow=True),
        until().spectral([], n_starts=2, most_work=np.inf),
    ]
    np.testing.assert_array_equal(better.labels, kept)
    # A new pass may return None, but not with enough time.
    assert candidates[0] is not None or moment < 30
    for candidate in candidates:
        if candidate is not None:
            assert np.unique(candidate.labels).tolist() == list(range(c))
            assert passes.problem.value(candidate.labels) == pytest.approx(candidate.value)
    for candidate in candidates[1:4]:
        assert candidate.value <= better.value * (1 + 1e-12)


def test_labels_do_not_change_after_the_time_limit():
    late = coarsening.Coarsening(is_late=lambda: True)
    passes = Passes(as_problem(points_graph(400)), 5, np.random.default_rng(0), late)
    labels = (np.arange(400) % 5).astype(np.int32)
    assert passes.fresh(50) is None
    for result in (passes.cycle(labels), passes.recombine(labels, labels[::-1], regrow=True)):
        np.testing.assert_array_equal(result.labels, labels)


def test_levels_with_fewer_nodes_than_clusters_are_not_used():
    """If one node has most of the weight, the aggregates of the others are large."""
    n, c = 2500, 1000
    rim = np.arange(1, n)
    spokes = sp.coo_array((np.ones(n - 1), (np.zeros(n - 1, dtype=int), rim)), shape=(n, n))
    ring = sp.coo_array((np.full(n - 1, 0.1), (rim, np.roll(rim, -1))), shape=(n, n))
    problem = as_problem(spokes + spokes.T + ring + ring.T)
    steps = coarsening.build(problem, np.random.default_rng(0), 2 * c)
    assert steps[-1].problem.n_nodes < c
    result = Passes(problem, c, np.random.default_rng(0)).fresh(2 * c)
    assert np.unique(result.labels).size == c
    assert problem.value(result.labels) == pytest.approx(result.value)


def test_components_are_clusters_of_value_zero():
    S = sp.block_diag([points_graph(50, seed) for seed in range(7)], format="csr")
    problem = as_problem(S, "ratio")
    result = Passes(problem, 5, np.random.default_rng(0)).fresh(40)
    assert result.value == 0.0
    assert leastcut.cut_value(S, result.labels, "ratio") == 0.0
    assert np.unique(result.labels).size == 5


@given(graphs(min_nodes=6, max_nodes=14), st.integers(2, 4), st.integers(0, 99))
def test_merging_does_not_split_clusters(S, c, seed):
    problem = as_problem(S, "ratio")
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(len(S)) % 5)
    merged = merge_clusters(problem, labels, c, random_state=seed)
    assert np.unique(merged).tolist() == list(range(c))
    assert all(np.unique(merged[labels == k]).size == 1 for k in range(5))
    if c == 4:  # no merge of two clusters is better
        joined = [np.where(labels == i, j, labels) for i in range(5) for j in range(i)]
        smallest = min(leastcut.cut_value(S, one, "ratio") for one in joined)
        assert problem.value(merged) >= smallest * (1 - 1e-12)


def test_merging_no_clusters_and_all_clusters():
    problem = as_problem(points_graph(60))
    labels = np.arange(60) % 7
    unchanged = merge_clusters(problem, labels, 7, random_state=0)
    assert problem.value(unchanged) == pytest.approx(problem.value(labels))
    assert not merge_clusters(problem, labels, 1, random_state=0).any()
