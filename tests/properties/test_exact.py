"""Exact optima against enumeration, examples of the paper, and properties of the search."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from math import factorial

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from wide_spans import SMALLEST, Rational, wide_problems

import leastcut
from leastcut.kernels.branch_and_bound import branch, lower_bound
from leastcut.multilevel import exact
from leastcut.problem import as_problem

PAPER_EXAMPLE = np.array(
    [[0, 0.5, 0.1, 0.8], [0.5, 0, 0.4, 0.2], [0.1, 0.4, 0, 0.5], [0.8, 0.2, 0.5, 0]]
)


def smallest_by_enumeration(S, c, cut) -> float:
    """Return the minimum over every labeling whose labels appear in the order 0, 1, ..., c-1."""
    return min(
        leastcut.cut_value(S, labels, cut)
        for labels in product(range(c), repeat=len(S))
        if tuple(dict.fromkeys(labels)) == tuple(range(c))
    )


def some_cut(data, n):
    kind = data.draw(st.sampled_from(["ratio", "normalized", "weights"]))
    if kind != "weights":
        return kind
    return np.random.default_rng(data.draw(st.integers(0, 99))).uniform(0.1, 5.0, size=n)


@settings(max_examples=draws(80))
@given(S=graphs(min_nodes=1, max_nodes=8), data=st.data())
def test_the_optimum_equals_enumeration(S, data):
    c = data.draw(st.integers(1, min(4, len(S))))
    cut = some_cut(data, len(S))
    optimum = leastcut.exact_partition(S, c, cut)
    assert optimum.cut_value == pytest.approx(smallest_by_enumeration(S, c, cut), rel=1e-12)
    assert optimum.cut_value == leastcut.cut_value(S, optimum.labels, cut)
    assert optimum.lower_bound == optimum.cut_value
    assert optimum.gap == 0
    first = [list(optimum.labels).index(k) for k in range(c)]  # raises if a cluster is empty
    assert first == sorted(first)


@settings(max_examples=draws(300))
@given(wide_problems())
def test_the_optimum_is_proven_for_weights_of_any_range(problem):
    S, cut, labels = problem
    c = int(labels.max()) + 1
    result = leastcut.exact_partition(S, c, cut)
    rational = Rational(S, cut)
    value, optimum = rational.value(result.labels.tolist()), rational.optimum(c)
    rounding = optimum / 10**12
    assert value <= optimum + rounding + 100 * SMALLEST
    assert abs(Fraction(result.cut_value) - value) <= rounding + 100 * SMALLEST
    assert Fraction(result.lower_bound) <= optimum + rounding
    assert result.gap == 0 or result.cut_value < 1e-307


def test_a_self_loop_does_not_hide_the_optimum():
    S = np.array([[1e12, 1, 1, 0], [1, 0, 5, 1], [1, 5, 0, 1], [0, 1, 1, 0]])
    assert leastcut.exact_partition(S, 2).cut_value == pytest.approx(0.125)


@pytest.mark.parametrize("safety", [0.0, 0.05, 0.3, 0.9])
@given(S=graphs(min_nodes=4, max_nodes=8, connected=True), data=st.data())
def test_the_safety_margin_prevents_wrong_pruning(safety, S, data):
    """The optimum is found although the initial value is within the safety margin of it.

    Pruning by the initial value itself would lose the optimum.
    """
    c = data.draw(st.integers(2, 3))
    problem = as_problem(S, some_cut(data, len(S)))
    best = exact.exact_problem(problem, c)
    ordered, order = exact._ordered(problem)
    close = ordered.value(best.labels[order]) * (1 + safety / 2 + 1e-9)

    def start_close(forward_edges, nodes, small, visits, cursor, value, *rest):
        value[0] = min(value[0], close)
        branch(forward_edges, nodes, safety, visits, cursor, value, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_first_labels", lambda problem, c: np.arange(len(S)) % c)
        patch.setattr(exact, "branch", start_close)
        result = exact.exact_problem(problem, c)
    assert result.cut_value == pytest.approx(best.cut_value, rel=1e-12)


@given(S=graphs(min_nodes=4, max_nodes=11), data=st.data())
def test_no_random_partition_is_below_the_optimum(S, data):
    c = data.draw(st.integers(2, 4))
    cut = some_cut(data, len(S))
    best = leastcut.exact_partition(S, c, cut).cut_value
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for _ in range(20):
        labels = rng.permutation(np.append(np.arange(c), rng.integers(0, c, size=len(S) - c)))
        assert best <= leastcut.cut_value(S, labels, cut) * (1 + 1e-12)


@given(S=graphs(min_nodes=4, max_nodes=10), data=st.data())
def test_the_optimum_is_invariant_to_permutation_and_scale(S, data):
    c = data.draw(st.integers(2, 4))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(S))
    for cut in ("ratio", "normalized"):
        value = leastcut.exact_partition(S, c, cut).cut_value
        permuted = leastcut.exact_partition(S[np.ix_(order, order)], c, cut)
        assert permuted.cut_value == pytest.approx(value, rel=1e-12)
    scaled = leastcut.exact_partition(S * 2.0**-900, c)
    assert scaled.cut_value == pytest.approx(value, rel=1e-12)


@given(S=graphs(min_nodes=4, max_nodes=9), data=st.data())
def test_compiled_interpreted_and_interrupted_searches_agree(S, data):
    c = data.draw(st.integers(2, 4))
    cut = some_cut(data, len(S))
    single = leastcut.exact_partition(S, c, cut)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "VISITS_PER_CALL", 7)
        sliced = leastcut.exact_partition(S, c, cut)
        patch.setattr(exact, "branch", branch.py_func)
        interpreted = leastcut.exact_partition(S, c, cut)
    np.testing.assert_array_equal(sliced.labels, single.labels)
    np.testing.assert_array_equal(interpreted.labels, single.labels)


@given(S=graphs(min_nodes=4, max_nodes=9), data=st.data())
def test_the_optimum_does_not_depend_on_the_initial_labels(S, data):
    c = data.draw(st.integers(2, 4))
    value = leastcut.exact_partition(S, c).cut_value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_first_labels", lambda problem, c: np.arange(len(S)) % c)
        assert leastcut.exact_partition(S, c).cut_value == pytest.approx(value, rel=1e-12)


@given(k=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_the_bound_is_the_minimum_over_distributions_of_the_remaining_weight(k, seed):
    rng = np.random.default_rng(seed)
    boundary = rng.exponential(size=k) ** 3 * (rng.random(k) < 0.8)
    weight, remaining = rng.exponential(size=k) ** 2, rng.exponential()
    scratch = np.empty(k), np.empty(k, dtype=bool)
    bound = lower_bound(boundary, weight, remaining, *scratch)
    assert bound == lower_bound.py_func(boundary, weight, remaining, *scratch)
    for fractions in rng.dirichlet(np.full(k, 0.5), size=200):
        assert bound <= np.sum(boundary / (weight + remaining * fractions)) * (1 + 1e-12)
    simple = max(
        np.sum(boundary / (weight + remaining)),
        np.sqrt(boundary).sum() ** 2 / (weight.sum() + remaining),
    )
    assert bound >= simple * (1 - 1e-12)


def test_the_example_of_the_paper():
    best = leastcut.exact_partition(PAPER_EXAMPLE, 2, cut="ratio")
    assert best.labels.tolist() == [0, 1, 1, 0]
    assert best.cut_value == pytest.approx(1.3)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_components_are_found_at_value_zero(c):
    block = np.ones((4, 4)) * np.random.default_rng(0).random()
    S = np.kron(np.eye(3), block)
    for cut in ("ratio", "normalized"):
        best = leastcut.exact_partition(S, c, cut)
        assert best.cut_value == 0
        assert len(set(best.labels)) == c


def test_one_cluster_and_one_cluster_per_node_need_no_search():
    S = np.ones((300, 300))
    assert leastcut.exact_partition(S, 1).cut_value == 0
    assert leastcut.exact_partition(S, 300, "ratio").labels.tolist() == list(range(300))


@pytest.mark.parametrize("factor", [1e-300, 1e300])
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_the_optimum_of_extreme_weights(factor, cut):
    S = PAPER_EXAMPLE * factor
    best = leastcut.exact_partition(S, 2, cut)
    assert best.cut_value == pytest.approx(smallest_by_enumeration(S, 2, cut), rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("c", [2, 3])
def test_the_optimum_of_weights_of_all_magnitudes(seed, c):
    rng = np.random.default_rng(seed)
    weights = np.triu(10.0 ** rng.uniform(-300, 300, size=(6, 6)), 1)
    S = weights + weights.T
    for cut in ("ratio", "normalized", 10.0 ** rng.uniform(-3, 3, size=6)):
        best = leastcut.exact_partition(S, c, cut)
        assert np.isfinite(best.cut_value)
        assert best.cut_value == pytest.approx(smallest_by_enumeration(S, c, cut), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "c", "most", "message"),
    [
        (30, 2, 2**28, r"There are 536,870,911 partitions of 30 nodes into 2 .*=268,435,456\."),
        (7, 3, 300, r"There are 301 partitions .*max_partitions=300"),
        (30, 8, 2**28, r"about 10\^22 partitions of 30 nodes into 8 clusters"),
        (1000, 400, 2**28, r"more than 10\^1561 partitions of 1,000 nodes"),
        (2100, 2099, 2**28, r"2,203,950 partitions .* 4,407,900 pairs of a node and a cluster"),
        (
            200,
            198,
            2**28,
            r"partitions .* 1.1e\+12 steps.* max_partitions=268,435,456 .* \S+ would be enough",
        ),
    ],
)
def test_problems_too_large_to_enumerate_are_explained(n, c, most, message):
    reason = exact.too_many(n, c, most)
    assert reason is not None
    assert re.search(message, reason)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 31}, r"n_clusters=31 is more than the 30 nodes"),
        ({"max_partitions": 0}, r"max_partitions=0"),
        ({"time_limit": -1}, r"time_limit=-1"),
    ],
)
def test_invalid_options_raise(options, message):
    ring = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(30, 30))
    with pytest.raises(ValueError, match=message):
        leastcut.exact_partition(ring, **{"n_clusters": 2, **options})


def test_an_unproven_result_raises():
    S = np.random.default_rng(0).random((120, 120))
    with pytest.raises(
        RuntimeError, match=r"partitions .* did not end in 0.1 s: .* gap of .*leastcut\.certify"
    ):
        leastcut.exact_partition(S + S.T, 5, time_limit=0.1)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("c", [2, 3, 5])
def test_problems_too_large_to_enumerate_are_proven_by_relaxations(c):
    n = 45
    path = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n))
    best = leastcut.exact_partition(path, c, "ratio")
    # Runs of nearly equal length: the ends have one cut edge, the others two.
    assert best.gap < 1e-6
    sizes = np.bincount(best.labels)
    assert best.cut_value <= sum(2.0 / len(run) for run in np.array_split(np.arange(n), c))
    assert sizes.min() >= 1
    assert best.labels.tolist() == sorted(best.labels.tolist())


@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_stirling_counts_partitions(c):
    for n in range(c, 8):
        named = sum(len(set(labels)) == c for labels in product(range(c), repeat=n))
        assert exact.stirling(n, c) * factorial(c) == named


@pytest.mark.parametrize("c", [2, 3, 6, 8])
def test_the_search_cost_is_the_sum_over_all_steps(c):
    n = 9

    def steps(m, k):
        """Yield the cost of every step for the nodes from m on, with k open clusters."""
        for other in range(min(k + 1, c)):
            n_open = max(k, other + 1)
            if c - n_open <= n - m - 1:
                yield (n - m) * (n_open + 1) + exact.STEP
                if c - n_open < n - m - 1:
                    yield from steps(m + 1, n_open)

    assert exact.search_cost(n, c) == sum(steps(0, 0))


def test_max_partitions_limits_the_cost():
    ring = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(40, 40))
    cost = int(exact.search_cost(40, 38))
    sufficient = -(-cost // exact.COST_PER_PARTITION)
    reason = exact.too_many(40, 38, exact.stirling(40, 38))
    assert reason is not None
    assert f"{sufficient:,} would be enough" in reason
    assert leastcut.exact_partition(ring, 38, max_partitions=sufficient).gap == 0


@pytest.mark.parametrize("short", [1, 2, 3])
def test_nearly_as_many_clusters_as_nodes(short):
    weights = np.triu(np.random.default_rng(short).random((12, 12)), 1)
    S = weights + weights.T
    best = leastcut.exact_partition(S, 12 - short, "ratio")
    if short == 1:  # one pair is merged, which saves only its affinity
        i, j = np.unravel_index(np.argmin(_merged(S)), S.shape)
        assert best.labels[i] == best.labels[j]
    assert len(set(best.labels)) == 12 - short


def _merged(S):
    """Return the change of the ratio cut by merging two single nodes, for every pair."""
    degrees = S.sum(axis=1)
    change = -(degrees[:, None] + degrees) / 2 - S
    np.fill_diagonal(change, np.inf)
    return change
