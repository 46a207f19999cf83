"""Direct cut: every round decreases the cut value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from conftest import draws, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine
from wide_spans import SMALLEST, Rational, wide_problems

import leastcut
from leastcut.spectral.discretizers.shared import random_labels


@given(
    S=graphs(min_nodes=1),
    c=st.integers(1, 5),
    cut=st.sampled_from(["ratio", "normalized", "weights"]),
    seed=st.integers(0, 99),
)
def test_results_are_monotone_valid_and_never_worse_than_the_start(S, c, cut, seed):
    n = len(S)
    c = min(c, n)
    weights = np.linspace(0.5, 2, n) if cut == "weights" else cut
    init = np.random.default_rng(seed).permutation(np.arange(n) % c)
    start = init.copy()
    result = leastcut.direct_cut(S, c, weights, init=init)
    np.testing.assert_array_equal(init, start)
    assert sorted(set(result.labels.tolist())) == list(range(c))
    assert result.cut_value == result.loss == leastcut.cut_value(S, result.labels, weights)
    assert result.cut_value <= leastcut.cut_value(S, init, weights)
    assert np.all(np.diff(result.history) <= 0)
    assert result.cut_value >= leastcut.lower_bound(S, c, weights) - 1e-9
    # No move of a single node decreases it.
    refined = leastcut.refine(S, result.labels, weights)
    assert refined.cut_value >= result.cut_value * (1 - 1e-9)


@settings(max_examples=draws(150))
@given(wide_problems())
def test_the_value_is_exact_for_numbers_of_any_span(case):
    S, cut, init = case
    result = leastcut.direct_cut(S, int(init.max()) + 1, cut, init=init)
    rational = Rational(S, cut)
    value, start = (rational.value(labels.tolist()) for labels in (result.labels, init))
    assert abs(Fraction(result.cut_value) - value) <= value / 10**12 + 100 * SMALLEST
    assert value <= start + start / 10**12 + 100 * SMALLEST


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
@pytest.mark.parametrize("largest", [5e-324, 1e-320, 1e-310, 1e-306, 1e-300])
def test_the_smallest_possible_affinities(largest, cut):
    """With denormal numbers the value is correct, or an error reports the supported range."""
    S = np.ceil(8 * np.random.default_rng(0).random((9, 9))) * largest
    S = np.maximum(S, S.T)
    if cut == "ratio" and largest < 1e-307:
        with pytest.raises(ValueError, match="ratios down to 1e-307 are supported"):
            leastcut.direct_cut(S, 3, cut, random_state=0)
        return
    result = leastcut.direct_cut(S, 3, cut, random_state=0)
    exact = Rational(S, cut).value(result.labels.tolist())
    assert result.cut_value == pytest.approx(float(exact), rel=1e-12)


def test_node_weights_of_any_span_do_not_warn():
    result = leastcut.direct_cut(np.diag([1e150, 1e-150]), 2, np.array([1e-125, 1e135]))
    assert result.cut_value == 0.0


def test_labels_depend_on_the_seed_and_more_starts_are_never_worse():
    graph = leastcut.adaptive_neighbors_graph(load_wine().data)
    values = []
    for n_init in (1, 4, 8):
        once, twice = (
            leastcut.direct_cut(graph, 3, n_init=n_init, random_state=7) for _ in range(2)
        )
        np.testing.assert_array_equal(once.labels, twice.labels)
        values.append(once.cut_value)
    assert values == sorted(values, reverse=True)


def test_the_labels_of_another_method_can_be_improved():
    graph = leastcut.adaptive_neighbors_graph(load_digits().data)
    relaxation = leastcut.relax(graph, 10, random_state=0)
    result = leastcut.discretize(relaxation, "cluster_qr", graph=graph)
    assert leastcut.direct_cut(graph, 10, init=result.labels).cut_value <= result.cut_value


def test_errors():
    S = np.ones((4, 4))
    with pytest.raises(ValueError, match="n_clusters=5 is more than the 4 nodes"):
        leastcut.direct_cut(S, 5)
    with pytest.raises(ValueError, match="n_clusters=0 is too small"):
        leastcut.direct_cut(S, 0)
    with pytest.raises(TypeError, match=r"n_clusters=2.0 is not an integer"):
        leastcut.direct_cut(S, 2.0)
    with pytest.raises(ValueError, match="init has 1 cluster, but n_clusters=2"):
        leastcut.direct_cut(S, 2, init=[0, 0, 0, 0])


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_the_rounds_improve_more_than_the_final_moves(cut):
    """If not, labels would hardly change before the final moves."""
    graph = leastcut.adaptive_neighbors_graph(load_digits().data)
    direct, moved = [], []
    for seed in range(5):
        labels = random_labels(graph.shape[0], 10, np.random.default_rng(seed))
        direct.append(leastcut.direct_cut(graph, 10, cut, init=labels).cut_value)
        moved.append(leastcut.refine(graph, labels, cut).cut_value)
    assert np.mean(direct) < 0.85 * np.mean(moved)
