"""Moves of nodes report exact changes, end at local optima and never increase the cut value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from conftest import draws, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from wide_spans import SMALLEST, Rational, wide_problems

import leastcut
from leastcut.kernels import containers, fm_search, moves
from leastcut.multilevel import refinement
from leastcut.multilevel.refinement import State
from leastcut.problem import as_problem

CUTS = st.sampled_from(["ratio", "normalized", "weights"])


def some_cut(kind, n, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 5.0, n) if kind == "weights" else kind


def some_labels(data, n, c):
    """Return random labels 0..c-1, none missing."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    labels = rng.integers(c, size=n)
    labels[rng.permutation(n)[:c]] = np.arange(c)
    return labels


def random_case(data, max_nodes=12):
    """Return a graph, a cut, labels and the number of clusters."""
    S = data.draw(graphs(min_nodes=3, max_nodes=max_nodes))
    n = len(S)
    c = data.draw(st.integers(2, min(n, 5)))
    return S, some_cut(data.draw(CUTS), n), some_labels(data, n, c), c


def state_of(S, cut, labels, c):
    return State(as_problem(S, cut).within_range(), labels.astype(np.int32), c)


def move_everywhere(S, labels, cut):
    """Yield the value after every single move that leaves no cluster empty."""
    counts = np.bincount(labels)
    for i in np.flatnonzero(counts[labels] > 1):
        for k in range(counts.size):
            if k != labels[i]:
                moved = labels.copy()
                moved[i] = k
                yield i, k, leastcut.cut_value(S, moved, cut)


@given(st.data())
def test_best_move_is_optimal_and_reports_its_change(data):
    S, cut, labels, c = random_case(data)
    state = state_of(S, cut, labels, c)
    before = leastcut.cut_value(S, labels, cut)
    assert state.value == pytest.approx(before)
    changes = {}
    for i, k, after in move_everywhere(S, labels, cut):
        changes.setdefault(i, {})[k] = after - before
    for i in range(len(S)):
        change, k, *_ = moves.best_move(i, state.arrays, state.sums, state.scratch)
        assert not state.scratch[0].any()
        if i not in changes:
            assert k == -1
        elif k == -1:
            assert min(changes[i].values()) >= -1e-12 * before
        else:
            assert change == pytest.approx(changes[i][k], rel=1e-9, abs=1e-12 * before)
            if change < 0:
                smallest = min(changes[i].values())
                assert change == pytest.approx(smallest, rel=1e-9, abs=1e-12 * before)


@given(st.data())
def test_a_move_updates_the_state_like_measuring_it(data):
    S, cut, labels, c = random_case(data)
    state = state_of(S, cut, labels, c)
    for i in range(len(S)):
        change, k, total, internal, into = moves.best_move(
            i, state.arrays, state.sums, state.scratch
        )
        if k < 0:
            continue
        before = leastcut.cut_value(S, state.labels, cut)
        node_weights = state.problem.node_weights
        moves.apply_move(i, k, total, internal, into, node_weights, state.sums)
        after = leastcut.cut_value(S, state.labels, cut)
        assert change == pytest.approx(after - before, rel=1e-9, abs=1e-12 * (before + after))
        measured = state_of(S, cut, state.labels.astype(np.int64), c)
        for name in ("boundary", "cluster_weights", "count", "ratio"):
            expected = getattr(measured, name)
            np.testing.assert_allclose(getattr(state, name), expected, atol=1e-12 * before)


@given(st.data())
def test_the_reported_decrease_is_the_value_before_minus_after(data):
    S, cut, labels, c = random_case(data)
    for act in (
        lambda state: state.local_search(),
        lambda state: state.fm_search(np.arange(len(S), dtype=np.int32), 10, 10**6),
    ):
        state = state_of(S, cut, labels, c)
        before = state.value
        act(state)
        reported = before - state.value
        assert reported >= 0
        assert reported == pytest.approx(before - state.measure(), abs=1e-12 * before)
        assert state.count.min() >= 1


@given(st.data())
def test_refine_ends_at_a_local_optimum(data):
    S, cut, labels, c = random_case(data)
    result = leastcut.refine(S, labels, cut)
    assert result.cut_value == leastcut.cut_value(S, result.labels, cut)
    assert result.cut_value <= leastcut.cut_value(S, labels, cut)
    assert np.unique(result.labels).tolist() == list(range(c))
    for _, _, value in move_everywhere(S, result.labels, cut):
        assert value >= result.cut_value * (1 - 1e-9)


@settings(max_examples=draws(400))
@given(wide_problems())
def test_refine_ends_at_a_local_optimum_for_numbers_of_any_span(problem):
    S, cut, labels = problem
    result = leastcut.refine(S, labels, cut)
    rational = Rational(S, cut)
    value = rational.value(result.labels.tolist())
    slack = 100 * SMALLEST
    assert rational.best_move(result.labels.tolist()) >= value * (1 - Fraction(1, 10**9)) - slack
    assert abs(Fraction(result.cut_value) - value) <= value / 10**12 + slack
    assert value <= rational.value(labels.tolist()) * (1 + Fraction(1, 10**12)) + slack


@given(st.data())
def test_compiled_and_interpreted_kernels_agree(data):
    S, cut, labels, c = random_case(data)
    compiled = state_of(S, cut, labels, c)
    compiled.local_search()
    compiled.fm_search(np.arange(len(S), dtype=np.int32), 10, 10**6)
    with pytest.MonkeyPatch.context() as patch:
        for module in (moves, fm_search, containers, refinement):
            for name, member in list(vars(module).items()):
                if hasattr(member, "py_func"):
                    patch.setattr(module, name, member.py_func)
        interpreted = state_of(S, cut, labels, c)
        interpreted.local_search()
        interpreted.fm_search(np.arange(len(S), dtype=np.int32), 10, 10**6)
    np.testing.assert_array_equal(compiled.labels, interpreted.labels)
    np.testing.assert_array_equal(compiled.boundary, interpreted.boundary)
    assert compiled.value == interpreted.value
    assert compiled.work == interpreted.work


def test_the_heap_returns_keys_in_order():
    rng = np.random.default_rng(0)
    keys, nodes = np.empty(50), np.empty(50, dtype=np.int32)
    random_keys = rng.integers(20, size=50).astype(float)
    size = 0
    for node, key in enumerate(random_keys):
        size = containers.push(keys, nodes, size, key, node)
    out = []
    while size:
        out.append((keys[0], nodes[0]))
        size = containers.pop(keys, nodes, size)
    assert [key for key, _ in out] == sorted(random_keys)
    assert all(random_keys[node] == key for key, node in out)


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
@pytest.mark.parametrize("seed", range(8))
def test_chains_do_not_depend_on_the_order_of_the_nodes(cut, seed):
    """The nodes of a chain and their order depend on weights only."""
    rng, n, c = np.random.default_rng(seed), 60, 3
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.07), 1)
    S[np.arange(n - 1), np.arange(1, n)] += rng.uniform(0.5, 1.0, n - 1)
    S += S.T
    labels = rng.permutation(np.arange(n) % c)
    order = rng.permutation(n)
    for patience in (2, 8, 30):
        plain, permuted = (
            state_of(S, cut, labels, c),
            state_of(S[order][:, order], cut, labels[order], c),
        )
        plain.finish()
        permuted.labels[:] = plain.labels[order]
        permuted.measure()
        first = rng.permutation(n)[:5].astype(np.int32)
        same = np.argsort(order)[first].astype(np.int32)
        work = plain.work, permuted.work
        gain = plain.fm_search(first, patience, 10**9)
        assert permuted.fm_search(same, patience, 10**9) == pytest.approx(gain, rel=1e-9, abs=1e-12)
        np.testing.assert_array_equal(permuted.labels, plain.labels[order])
        assert plain.work - work[0] == permuted.work - work[1]


@given(st.data(), st.sampled_from([-300, -150, 0, 150, 300]), st.booleans())
def test_huge_and_tiny_weights(data, exponent, mixed):
    S, cut, labels, c = random_case(data)
    rng = np.random.default_rng(3)
    if mixed:
        exponents = rng.choice([-300.0, 0.0, abs(exponent) * 1.0], size=S.shape)
        exponents = np.triu(exponents) + np.triu(exponents, 1).T
        S = S * 10.0**exponents
    else:
        S = S * 10.0**exponent
    with np.errstate(over="ignore"):
        before = leastcut.cut_value(S, labels, cut)
    result = leastcut.refine(S, labels, cut)
    assert result.cut_value <= before
    assert not np.isnan(result.cut_value)
    assert np.unique(result.labels).size == c


@pytest.mark.parametrize("exponent", [-996, -700, 700, 996])
def test_scaling_the_graph_does_not_change_the_labels(exponent):
    rng = np.random.default_rng(0)
    S = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.3), 1)
    S = S + S.T + 0.1 * np.eye(30)
    labels = rng.integers(3, size=30)
    for cut in ("ratio", "normalized"):
        expected = leastcut.refine(S, labels, cut).labels
        np.testing.assert_array_equal(
            leastcut.refine(np.ldexp(S, exponent), labels, cut).labels, expected
        )


def test_labels_may_be_strings_or_any_integers():
    S = np.kron(np.eye(2), np.ones((3, 3)))
    S[2, 3] = S[3, 2] = 0.1
    result = leastcut.refine(S, ["a", "a", "b", "b", "b", "b"], "ratio")
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1]
    result = leastcut.refine(S, [-1, -1, 7, 7, 7, 7])
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_the_callers_labels_are_not_changed():
    S = np.kron(np.eye(2), np.ones((3, 3)))
    labels = np.array([0, 0, 1, 1, 1, 1])
    kept = labels.copy()
    leastcut.refine(S, labels)
    np.testing.assert_array_equal(labels, kept)


def test_one_cluster_and_singletons_do_not_change():
    S = np.ones((4, 4))
    assert leastcut.refine(S, [0, 0, 0, 0]).cut_value == 0.0
    assert leastcut.refine(S, [0, 1, 2, 3]).labels.tolist() == [0, 1, 2, 3]


def test_a_node_may_move_to_a_cluster_without_a_common_edge():
    """Under the ratio cut, adding any node to a cluster increases its weight."""
    S = np.zeros((7, 7))
    for i, j, weight in [(0, 1, 9), (2, 3, 9), (0, 2, 9), (1, 3, 9), (4, 5, 9), (4, 6, 1e-3)]:
        S[i, j] = S[j, i] = weight
    labels = np.array([0, 0, 1, 1, 2, 2, 2])
    result = leastcut.refine(S, labels, "ratio")
    for _, _, value in move_everywhere(S, result.labels, "ratio"):
        assert value >= result.cut_value * (1 - 1e-9)
    assert result.cut_value < leastcut.cut_value(S, labels, "ratio")


def test_moves_below_rounding_do_not_hide_larger_ones():
    graph = np.diag([1e-12, 1.0, 1e-12])
    graph[0, 2] = graph[2, 0] = 7.3e-5
    assert leastcut.refine(graph, [0, 1, 1]).cut_value == 0.0
    # Refinement also ends at a local optimum if all values underflow to 0.
    graph = np.zeros((6, 6))
    graph[1, 2] = graph[2, 1] = 1e-300
    graph[4, 5] = graph[5, 4] = 1e-301
    graph[5, 5] = 1e-274
    weights = [1e30, 1e8, 1e3, 1e26, 1e35, 1e17]
    labels = leastcut.refine(graph, [0, 1, 2, 3, 3, 2], weights).labels
    assert labels[4] == labels[5]
