"""Coarse value = fine value, and passes that never end above where they start."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, knn_graph
from hypothesis import given
from hypothesis import strategies as st

import firstcut
from firstcut.graph import as_graph
from firstcut.kernels import coarsen as kernels
from firstcut.partitioning import hierarchy, multilevel
from firstcut.partitioning.refinement import State, as_level


def points_graph(n=600, seed=0):
    return knn_graph(np.random.default_rng(seed).normal(size=(n, 2)))


def star_graph(n_leaves=3000, n_hubs=3):
    """Hubs in a row, each with many leaves: matching alone would take one leaf per step."""
    leaves = np.arange(n_hubs, n_hubs + n_leaves)
    edges = [(i, i + 1) for i in range(n_hubs - 1)]
    edges += [(int(leaf) % n_hubs, int(leaf)) for leaf in leaves]
    i, j = np.array(edges).T
    n = n_hubs + n_leaves
    half = sp.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    return sp.csr_array(half + half.T)


def levels_of(S, cut, smallest=20, parts=None, seed=0):
    level = as_level(as_graph(S), cut)
    return level, hierarchy.build(level, np.random.default_rng(seed), smallest, parts)


def value_of(level, labels, c):
    return State(level, labels.astype(np.int32), c).value


@pytest.mark.parametrize("cut", ["ratio", "normalized", "weights"])
def test_coarse_value_is_fine_value_at_every_level(cut):
    S = sp.csr_array(points_graph() + sp.diags_array(np.linspace(0, 3, 600)))
    cut = np.linspace(0.5, 2.0, 600) if cut == "weights" else cut
    level, steps = levels_of(S, cut)
    assert len(steps) >= 3
    labels = np.arange(steps[-1].level.n_nodes, dtype=np.int32) % 4
    coarse = value_of(steps[-1].level, labels, 4)
    for step, finer in zip(steps[::-1], [*(s.level for s in steps[-2::-1]), level], strict=True):
        labels = labels[step.parent]
        assert value_of(finer, labels, 4) == pytest.approx(coarse, rel=1e-12)
        assert finer.node_weights.sum() == pytest.approx(level.node_weights.sum())
    assert firstcut.cut_value(S, labels, cut) == pytest.approx(coarse, rel=1e-12)


@given(graphs(min_nodes=4, max_nodes=14), st.integers(0, 99))
def test_coarse_value_is_fine_value_on_any_graph(S, seed):
    level, steps = levels_of(S, "normalized", smallest=3, seed=seed)
    rng = np.random.default_rng(seed)
    for step in steps:
        coarse = rng.integers(2, size=step.level.n_nodes)
        coarse[:2] = 0, 1
        fine = value_of(level, coarse[step.parent], 2)
        assert value_of(step.level, coarse, 2) == pytest.approx(fine, rel=1e-12)
        assert not np.any(step.level.indices == np.repeat(
            np.arange(step.level.n_nodes), np.diff(step.level.indptr)
        ))  # fmt: skip
        level = step.level


def test_parts_are_never_gathered_together():
    S = points_graph()
    parts = (np.arange(600) % 3).astype(np.int32)
    _, steps = levels_of(S, "ratio", parts=parts)
    assert steps
    for step in steps:
        coarse = hierarchy.coarse_labels([step], parts)
        np.testing.assert_array_equal(coarse[step.parent], parts)
        parts = coarse


def test_groups_stay_within_their_weight():
    _, steps = levels_of(points_graph(), "ratio", smallest=30)
    assert max(step.level.node_weights.max() for step in steps) <= 1.5 * 600 / 30


def test_hubs_do_not_stop_coarsening():
    _, steps = levels_of(star_graph(), "ratio", smallest=30)
    assert steps[-1].level.n_nodes < 200


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads, monkeypatch):
    S = points_graph(2000)
    monkeypatch.setattr(hierarchy, "available_threads", lambda: 1)
    _, alone = levels_of(S, "normalized")
    monkeypatch.setattr(hierarchy, "available_threads", lambda: threads)
    monkeypatch.setattr(hierarchy, "BLOCK_EDGES", 1000)
    _, together = levels_of(S, "normalized")
    assert len(alone) == len(together)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.parent, other.parent)
        for left, right in zip(one.level.csr, other.level.csr, strict=True):
            np.testing.assert_array_equal(left, right)


def test_kernels_compiled_and_interpreted_agree(monkeypatch):
    S = star_graph(60)
    compiled = levels_of(S, "normalized", smallest=5)[1]
    grown = hierarchy.agglomerate(as_level(as_graph(S), "normalized"), 2)
    for name in ("gather", "gather_leaves", "gather_listed", "number_groups", "list_members",
                 "contract"):  # fmt: skip
        monkeypatch.setattr(hierarchy, name, getattr(kernels, name).py_func)
    interpreted = levels_of(S, "normalized", smallest=5)[1]
    grown_again = hierarchy.agglomerate(as_level(as_graph(S), "normalized"), 2)
    for ours, theirs in ((compiled, interpreted), (grown, grown_again)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one.parent, other.parent)
            np.testing.assert_array_equal(one.level.weights, other.level.weights)


@given(graphs(min_nodes=5, max_nodes=14, connected=True), st.integers(2, 4))
def test_agglomeration_ends_at_as_many_nodes_as_clusters(S, c):
    level = as_level(as_graph(S), "normalized")
    assert hierarchy.agglomerate(level, c)[-1].level.n_nodes == c


@given(graphs(min_nodes=5, max_nodes=14, connected=True), st.integers(2, 4), st.integers(0, 99))
def test_passes_are_monotone_and_know_their_value(S, c, seed):
    for cut in ("ratio", "normalized"):
        level = as_level(as_graph(S), cut)
        rng = np.random.default_rng(seed)
        found = multilevel.fresh(level, c, rng, 6)
        other = multilevel.fresh(level, c, rng, len(S), spectral=True)
        better, worse = sorted((found, other), key=lambda one: one.value)
        after_cycle = multilevel.cycle(level, better.labels, c, rng)
        child = multilevel.recombine(level, better.labels, worse.labels, c, rng)
        regrown = multilevel.recombine(level, better.labels, worse.labels, c, rng, regrow=True)
        for result in (found, other, after_cycle, child, regrown):
            assert np.unique(result.labels).tolist() == list(range(c))
            assert firstcut.cut_value(S, result.labels, cut) == pytest.approx(result.value)
            assert result.work > 0
        for result in (after_cycle, child, regrown):
            assert result.value <= better.value * (1 + 1e-12)


def test_passes_are_monotone_on_a_larger_graph():
    level = as_level(as_graph(points_graph(3000)), "normalized")
    rng = np.random.default_rng(0)
    first, second = (multilevel.fresh(level, 8, rng, 100) for _ in range(2))
    value, labels = first.value, first.labels
    kept = labels.copy()
    for _ in range(3):
        found = multilevel.cycle(level, labels, 8, rng)
        assert found.value <= value * (1 + 1e-12)
        value, labels = found.value, found.labels
    np.testing.assert_array_equal(first.labels, kept)
    child = multilevel.recombine(level, first.labels, second.labels, 8, rng)
    assert child.value <= first.value * (1 + 1e-12)
    np.testing.assert_array_equal(first.labels, kept)


def test_components_are_found_at_value_zero():
    S = sp.block_diag([points_graph(50, seed) for seed in range(7)], format="csr")
    level = as_level(as_graph(S), "ratio")
    found = multilevel.fresh(level, 5, np.random.default_rng(0), 40)
    assert found.value == 0.0
    assert firstcut.cut_value(S, found.labels, "ratio") == 0.0
    assert np.unique(found.labels).size == 5
