"""The dual price bound: minimum cuts and cheapest sets against enumeration, bounds against cuts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine

import leastcut
from leastcut.bounds.dual_prices import MARGIN, DualPriceBound, _scratch, _with_reverse
from leastcut.budget import Budget
from leastcut.kernels import cheapest_cluster
from leastcut.kernels.cheapest_cluster import N_ALLOWED, N_FOUND, search_clusters
from leastcut.kernels.minimum_cut import minimum_cut
from leastcut.problem import as_problem


def sampled(seed: int, n: int) -> tuple[np.ndarray, np.random.Generator]:
    """Return random symmetric affinities with about half of the pairs missing."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    ring = np.roll(np.eye(n), 1, axis=1) * 0.1
    return upper + upper.T + ring + ring.T, rng


def every_set(n: int):
    """Yield every non-empty set of nodes, as a mask."""
    for bits in itertools.product([False, True], repeat=n):
        if any(bits):
            yield np.array(bits)


def boundary(S: np.ndarray, inside: np.ndarray) -> float:
    return float(S[np.ix_(inside, ~inside)].sum())


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_a_minimum_cut_is_the_minimum_over_all_sets(seed, n):
    S, rng = sampled(seed, n)
    costs = rng.normal(size=n)
    fixed = rng.integers(-1, 2, size=n).astype(np.int8)
    edges = _with_reverse(as_problem(S, "ratio").graph, 1.0)
    inside = np.zeros(n, dtype=np.int8)
    bound, _ = minimum_cut(edges, costs, fixed, inside, _scratch(n, edges[1].size)[0])
    allowed = [
        mask
        for mask in [np.zeros(n, dtype=bool), *every_set(n)]
        if mask[fixed == 1].all() and not mask[fixed == -1].any()
    ]
    smallest = min(boundary(S, mask) + costs[mask].sum() for mask in allowed)
    mask = inside.astype(bool)
    assert mask[fixed == 1].all()
    assert not mask[fixed == -1].any()
    assert bound <= smallest + 1e-14
    assert bound == pytest.approx(smallest, abs=1e-9)
    assert boundary(S, mask) + costs[mask].sum() == pytest.approx(smallest, abs=1e-9)


@given(
    st.integers(0, 10**6),
    st.integers(2, 8),
    st.sampled_from([0.3, 1.0, 3.0]),
    st.sampled_from([1, 7, 10**6]),
)
def test_the_search_finds_the_cheapest_set(seed, n, t, slice_size):
    S, rng = sampled(seed, n)
    weights = rng.uniform(0.1, 2.0, size=n)
    prices = rng.normal(-0.5, 0.5, size=n)
    edges = _with_reverse(as_problem(S, "ratio").graph, 1.0)
    order = rng.permutation(n)
    level, sets, cursor = searched(
        search_clusters, edges, (weights, prices, t), order, slice_size=slice_size
    )
    cheapest = min(
        boundary(S, mask) / weights[mask].sum() - prices[mask].sum() for mask in every_set(n)
    )
    assert cheapest >= level[0] - 1e-6 - 1e-12
    assert level[0] >= cheapest - 1e-12
    # Every set found lowered the level; the last is the cheapest.
    last = sets[cursor[N_FOUND] - 1].astype(bool)
    cost = boundary(S, last) / weights[last].sum() - prices[last].sum()
    assert cost == pytest.approx(level[0], abs=1e-12)


def searched(search, edges, priced, order, slice_size):
    """Search all sets in slices; return the final level, sets and cursor."""
    n = order.size
    level, cursor = np.array([10.0]), np.array([0, slice_size, 0, 0])
    progress = level, np.zeros((100, n), dtype=np.int8), cursor
    work = _scratch(n, edges[1].size)
    while not search(edges, priced, order, 1e-6, progress, work):
        cursor[N_ALLOWED] = slice_size
    return progress


@settings(max_examples=draws(15))
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_compiled_and_interpreted_searches_agree(seed, n):
    S, rng = sampled(seed, n)
    priced = rng.uniform(0.1, 2.0, size=n), rng.normal(-0.5, 0.5, size=n), 1.0
    arguments = _with_reverse(as_problem(S, "ratio").graph, 1.0), priced, rng.permutation(n)
    compiled = searched(search_clusters, *arguments, slice_size=10**6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            cheapest_cluster, "bound_subproblem", cheapest_cluster.bound_subproblem.py_func
        )
        interpreted = searched(search_clusters.py_func, *arguments, slice_size=10**6)
    np.testing.assert_allclose(interpreted[0], compiled[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(interpreted[1], compiled[1])
    np.testing.assert_array_equal(interpreted[2], compiled[2])


@settings(max_examples=draws(15))
@given(st.integers(0, 10**6), st.integers(5, 9), st.integers(2, 4), st.floats(-6, 6))
def test_bounds_never_exceed_the_optimum(seed, n, c, power):
    S, rng = sampled(seed, n)
    cut = rng.uniform(0.01, 1.0, size=n) ** 3 * 10.0**power
    best = leastcut.exact_partition(S, c, cut)
    problem = as_problem(S, cut)
    for labels in (best.labels, rng.permutation(np.arange(n) % c)):
        bound, before = DualPriceBound(problem, c, labels), 0.0
        for _ in range(5):
            has_more = bound.improve()
            assert before <= bound.bound <= best.cut_value * (1.0 + 1e-13)
            before = bound.bound
            if not has_more:
                break


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("power", [-200, 0, 200])
def test_well_separated_clusters_are_proven_optimal(cut, power):
    """Real data of three clusters whose boundaries weigh less than a node, in any units."""
    data = load_wine().data
    S = leastcut.adaptive_neighbors_graph(data / data.max(), n_neighbors=10) * 10.0**power
    partition = leastcut.partition(S, 3, cut, random_state=0)
    bound = DualPriceBound(as_problem(S, cut), 3, partition.labels)
    while bound.improve(target=partition.cut_value * (1.0 - 1e-7)):
        pass
    assert 0.0 <= partition.cut_value - bound.bound <= 1e-6 * partition.cut_value


@pytest.mark.sampled(1)
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_bounds_of_real_data_neither_fall_nor_exceed_the_value(load):
    data = load()
    S = leastcut.adaptive_neighbors_graph(data.data / data.data.max(axis=0), n_neighbors=10)
    partition = leastcut.partition(S, 3, random_state=0)
    bound, before = DualPriceBound(as_problem(S), 3, partition.labels), 0.0
    while bound.improve():
        assert before <= bound.bound <= partition.cut_value * (1.0 + MARGIN)
        before = bound.bound


def test_the_search_stops_without_time():
    S, _ = sampled(0, 30)
    labels = np.arange(30) % 3
    bound = DualPriceBound(as_problem(S), 3, labels)
    assert not bound.improve(Budget(0))
    assert bound.bound == 0.0
