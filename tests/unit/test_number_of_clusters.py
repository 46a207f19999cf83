"""Properties of the selection of the number of clusters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, premise
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_circles, make_moons

import leastcut
from leastcut.multilevel.density_gap import _inner_cut, gap_evidence, has_depth
from leastcut.multilevel.number_of_clusters import (
    ENOUGH,
    WEAK,
    _leak,
    choose_number,
    pairs_needed,
)
from leastcut.problem import as_problem
from leastcut.spectral.relax import relax_problem

CUTS = ["normalized", "ratio"]


def choose(graph, cut="normalized", numbers=range(1, 21), seed=0):
    problem = as_problem(graph, cut)
    count = pairs_needed(max(numbers), problem.n_nodes)
    relaxation = relax_problem(problem, count, random_state=0)
    return choose_number(problem, relaxation, numbers, random_state=seed)


def of_points(X):
    return leastcut.adaptive_neighbors_graph(X, n_neighbors=min(10, len(X) - 1))


def planted(n, k, degree, strength, seed=0):
    """Return a random graph with a fraction ``strength`` of its edges inside k equal blocks."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(n, size=(2, n * degree // 2))
    inside = rng.random(i.size) < strength
    size = n // k
    n = k * size
    i, j = i % n, j % n
    j[inside] = i[inside] // size * size + rng.integers(size, size=int(inside.sum()))
    half = sp.csr_array((np.ones(i.size), (i, j)), shape=(n, n))
    return sp.csr_array(half + half.T)


def grid(rows, columns):
    line = [sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]) for n in (rows, columns)]
    return sp.csr_array(sp.kronsum(line[0], line[1]))


@st.composite
def odd_graphs(draw):
    """Draw small graphs: dense or sparse, with weights over few or many orders of magnitude."""
    n, seed = draw(st.integers(1, 14)), draw(st.integers(0, 2**32 - 1))
    density, orders = draw(st.sampled_from([0.2, 0.6, 1.0])), draw(st.sampled_from([0, 2, 130]))
    rng = np.random.default_rng(seed)
    weights = 10.0 ** rng.uniform(-orders, orders, (n, n)) * (rng.random((n, n)) < density)
    return np.triu(weights) + np.triu(weights, 1).T + np.eye(n)


# -- components


@pytest.mark.parametrize("cut", CUTS)
@given(sizes=st.lists(st.integers(4, 12), min_size=1, max_size=20))
@settings(max_examples=draws(15), deadline=None)
def test_components_without_clusters_are_the_clusters(cut, sizes):
    result = choose(sp.block_diag([np.ones((size, size)) for size in sizes], format="csr"), cut)
    assert result.n_clusters == len(sizes)
    assert not result.is_weak
    if len(sizes) > 1:
        assert f"{len(sizes)} connected components" in result.reason


@given(odd_graphs(), st.sampled_from(CUTS))
@settings(max_examples=draws(60), deadline=None)
def test_there_are_at_least_as_many_clusters_as_large_components(graph, cut):
    problem = as_problem(graph, cut)
    sizes = np.bincount(problem.graph.components[1])
    even = int(np.count_nonzero(sizes >= sizes.max() / 3))
    assert choose(graph, cut).n_clusters >= even


def test_outliers_are_not_clusters():
    parts = [np.ones((60, 60)), np.ones((50, 50)), np.ones((1, 1)), np.ones((1, 1))]
    result = choose(sp.block_diag(parts, format="csr"))
    assert result.n_clusters == 2
    assert "left out as too small: 2" in result.reason


def test_the_reason_names_the_number_of_components():
    result = choose(sp.block_diag([np.ones((4, 4))] * 25, format="csr"))
    assert result.n_clusters == 20
    assert result.is_weak
    assert "25 connected components" in result.reason


# -- one cluster


@pytest.mark.parametrize("cut", CUTS)
def test_complete_graphs_and_grids_do_not_split(cut):
    for graph in (np.ones((40, 40)), np.ones((3, 3)), grid(25, 20), grid(2, 150)):
        assert choose(graph, cut).n_clusters == 1


@pytest.mark.parametrize("seed", range(4))
def test_random_networks_do_not_split(seed):
    assert choose(planted(500, 1, 20, 0.0, seed)).n_clusters == 1
    rng = np.random.default_rng(seed)
    # A union of random cycles, with equal degrees.
    ends = np.concatenate([rng.permutation(300) for _ in range(6)]).reshape(6, -1)
    edges = np.concatenate([np.stack([order, np.roll(order, 1)]) for order in ends], axis=1)
    half = sp.csr_array((np.ones(edges.shape[1]), tuple(edges)), shape=(300, 300))
    assert choose(half + half.T).n_clusters == 1


@pytest.mark.parametrize("seed", range(3))
def test_clouds_without_clusters_do_not_split(seed):
    rng = np.random.default_rng(seed)
    for n, d in product((200, 600), (2, 3, 8)):
        assert choose(of_points(rng.normal(size=(n, d)))).n_clusters == 1
        assert choose(of_points(rng.random((n, d)))).n_clusters == 1


# -- clusters


@pytest.mark.sampled(6)
@pytest.mark.parametrize("k", range(1, 21))
def test_well_separated_clouds_are_counted(k):
    rng = np.random.default_rng(k)
    d = int(rng.integers(2, 20))
    centers = 60.0 * np.arange(k)[:, None] * np.eye(d)[0]
    X = np.concatenate([rng.normal(center, 1.0, (30, d)) for center in centers])
    assert choose(of_points(X)).n_clusters == k


def test_a_graph_for_which_the_largest_eigengap_is_wrong():
    moons, _ = make_moons(500, noise=0.05, random_state=0)
    rings, _ = make_circles(500, factor=0.5, noise=0.05, random_state=0)
    far, _ = make_blobs(400, centers=[[0, 0], [40, 0]], random_state=0)
    joined, _ = make_moons(3000, noise=0.1, random_state=1)
    for X in (moons, rings, far, joined):
        assert choose(of_points(X)).n_clusters == 2


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_planted_blocks_are_counted(k):
    assert choose(planted(800, k, 24, 0.8)).n_clusters == k


def test_evidence_is_weak_between_one_cluster_and_two():
    result = [choose(planted(600, 2, 16, strength)) for strength in np.linspace(0.0, 0.8, 17)]
    numbers = [choice.n_clusters for choice in result]
    assert numbers[0] == 1
    assert numbers[-1] == 2
    assert not result[0].is_weak
    assert not result[-1].is_weak
    assert any(choice.is_weak for choice in result)


# -- consistency of the selection


@given(odd_graphs(), st.sampled_from(CUTS), st.sampled_from([range(1, 21), [2, 3, 5], [1], [14]]))
@settings(max_examples=draws(80), deadline=None)
def test_the_selection_has_the_most_evidence(graph, cut, numbers):
    premise(min(numbers) <= graph.shape[0])
    result = choose(graph, cut, numbers)
    assert result.numbers.tolist() == [k for k in numbers if k <= graph.shape[0]]
    assert result.evidence.shape == result.numbers.shape
    assert np.all(result.evidence >= 0.0)
    assert np.all(np.isfinite(result.evidence))
    best = result.numbers.tolist().index(result.n_clusters)
    assert result.evidence[best] == result.evidence.max()
    assert result.n_clusters not in result.runners_up
    second = np.sort(result.evidence)[-2] if result.numbers.size > 1 else 0.0
    # The threshold is largest with as many components as nodes.
    least, most = ENOUGH, ENOUGH + np.log(graph.shape[0])
    assert result.is_weak or result.evidence[best] >= max(WEAK * second, least)
    assert not result.is_weak or result.evidence[best] < max(WEAK * second, most)
    assert result.reason.endswith(".")


def test_a_seed_determines_the_selection():
    X, _ = make_moons(600, noise=0.12, random_state=0)
    first, again = (choose(of_points(X), seed=5) for _ in range(2))
    assert first.reason == again.reason
    np.testing.assert_array_equal(first.evidence, again.evidence)


@given(odd_graphs(), st.sampled_from(CUTS), st.integers(-20, 20))
@settings(max_examples=draws(30), deadline=None)
def test_the_selection_does_not_depend_on_the_unit_of_weights(graph, cut, power):
    one, other = choose(graph, cut), choose(np.ldexp(graph, power), cut)
    assert one.n_clusters == other.n_clusters
    np.testing.assert_allclose(one.evidence, other.evidence, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_selection_does_not_depend_on_the_order_of_nodes(seed):
    rng = np.random.default_rng(seed)
    X, _ = make_blobs(300, n_features=4, centers=6, random_state=seed)
    for graph in (of_points(X), planted(400, 4, 20, 0.7, seed)):
        order = rng.permutation(graph.shape[0])
        assert choose(graph).n_clusters == choose(graph[order][:, order]).n_clusters


@given(st.integers(1, 100), st.integers(1, 100))
def test_pairs_needed_do_not_exceed_the_number_of_nodes(most, n):
    assert pairs_needed(most, n) <= n
    assert pairs_needed(most, 10 * n + most) > most or n == 1


# -- leaks and density gaps


@given(st.integers(0, 2**32 - 1), st.integers(6, 12), st.integers(2, 4), st.sampled_from(CUTS))
@settings(max_examples=draws(60), deadline=None)
def test_a_leak_bounds_the_residual_of_a_cluster_indicator(seed, n, k, cut):
    rng = np.random.default_rng(seed)
    weights = rng.random((n, n)) + 0.01
    problem = as_problem(weights + weights.T, cut)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    result = relax_problem(problem, k + 1, random_state=0)
    leak = _leak(problem, labels, float(result.eigenvalues[k]))
    for cluster in range(k):
        inside = labels == cluster
        b, total = problem.node_weights, problem.node_weights.sum()
        part = b[inside].sum()
        # The indicator of the cluster against the rest, orthogonal to the null vector.
        two_way = np.where(inside, np.sqrt((total - part) / part), -np.sqrt(part / (total - part)))
        vector = np.sqrt(b / total) * two_way
        assert vector @ vector == pytest.approx(1.0)
        outside = 1.0 - np.sum((result.eigenvectors[:, :k].T @ vector) ** 2)
        assert outside <= leak + 1e-9


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(max_examples=draws(40), deadline=None)
def test_the_inner_cut_is_the_minimum_of_all_cuts(seed, n_between):
    rng = np.random.default_rng(seed)
    depth = np.concatenate([[1, 1], np.full(n_between, 2), [3, 3, 3]])
    n = depth.size
    weights = np.triu(rng.integers(0, 9, (n, n)), 1).astype(float)
    # Depths of adjacent nodes differ by at most one hop.
    weights[np.abs(depth[:, None] - depth) > 1] = 0.0
    both = sp.coo_array(weights + weights.T)
    smallest = np.inf
    for choice in product([False, True], repeat=n_between):
        deep = np.concatenate([[False, False], choice, [True, True, True]])
        smallest = min(smallest, weights[np.ix_(deep, ~deep)].sum() + weights[~deep][:, deep].sum())
    assert _inner_cut(depth, both.row, both.col, both.data) == pytest.approx(smallest, abs=0.01)


def test_a_bridge_between_grids_is_a_gap_and_a_cut_grid_has_none():
    side = 12
    one = grid(side, side)
    labels = np.repeat([0, 1], side * side)
    bridge = sp.lil_array((2 * side * side, 2 * side * side))
    bridge[side - 1, side * side] = bridge[side * side, side - 1] = 1.0
    joined = as_problem(sp.csr_array(sp.block_diag([one, one])) + sp.csr_array(bridge))
    assert has_depth(joined, labels)
    assert gap_evidence(joined, labels) > ENOUGH
    single = as_problem(grid(2 * side, side))
    assert has_depth(single, labels)
    assert gap_evidence(single, labels) == 0.0
    assert gap_evidence(as_problem(sp.block_diag([one, one])), labels) == 0.0
    assert not has_depth(as_problem(np.ones((20, 20))), np.repeat([0, 1], 10))


@pytest.mark.parametrize("seed", [5, 9, 11])
def test_the_edge_cut_uses_the_evidence_of_the_ratio_cut(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(40, 140)), int(rng.integers(2, 6))
    z = rng.integers(k, size=n)
    same = z[:, None] == z
    chance = np.where(same, rng.uniform(0.15, 0.5), rng.uniform(0.005, 0.08))
    upper = np.triu(rng.random((n, n)) < chance, 1) * rng.random((n, n))
    S = upper + upper.T
    edges = as_problem(S, "edges", balance=0.5, allow_edges=True).core
    ratio = as_problem(S, "ratio").core
    relaxation = relax_problem(ratio, pairs_needed(20, ratio.n_nodes), random_state=0)
    result, expected = (
        choose_number(problem, relaxation, range(1, 21), random_state=0)
        for problem in (edges, ratio)
    )
    np.testing.assert_array_equal(result.evidence, expected.evidence)
