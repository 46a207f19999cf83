"""Cut values agree with the trace formula, have the expected invariances, and are exact at 0."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs
from hypothesis import given
from hypothesis import strategies as st

import leastcut

CUTS = [*leastcut.CUTS, "weights"]


def weights_of(cut: str, n: int):
    return np.linspace(0.5, 2.0, n) if cut == "weights" else cut


def random_labels(n: int, c: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.arange(n) % c)


def indicator(labels: np.ndarray, b: np.ndarray) -> np.ndarray:
    Y = np.eye(labels.max() + 1)[labels]
    return np.sqrt(b)[:, None] * Y / np.sqrt(b @ Y)


@pytest.mark.parametrize("cut", CUTS)
@given(S=graphs(), c=st.integers(1, 4), seed=st.integers(0, 999))
def test_the_value_agrees_with_the_trace_formula(cut, S, c, seed):
    n = len(S)
    labels = random_labels(n, min(c, n), seed)
    weights = weights_of(cut, n)
    b = leastcut.node_weights(S, weights)
    L = np.diag(S.sum(axis=1)) - S
    A = L / np.sqrt(np.outer(b, b))
    G = indicator(labels, b)
    np.testing.assert_allclose(G.T @ G, np.eye(labels.max() + 1), atol=1e-12)
    np.testing.assert_allclose(leastcut.operator(S, weights).toarray(), A, atol=1e-12)
    value = leastcut.cut_value(S, labels, weights)
    assert value == pytest.approx(np.trace(G.T @ A @ G), abs=1e-10)
    assert value == pytest.approx(leastcut.cut_value(sp.coo_matrix(S), labels, weights), abs=1e-13)


@given(S=graphs(), seed=st.integers(0, 999), scale=st.sampled_from([1e-250, 1e-3, 7.0, 1e250]))
def test_scaling_the_graph_scales_the_ratio_cut_only(S, seed, scale):
    labels = random_labels(len(S), 2, seed)
    value = leastcut.cut_value(S, labels, "normalized")
    assert leastcut.cut_value(scale * S, labels, "normalized") == pytest.approx(value, rel=1e-9)
    ratio = leastcut.cut_value(S, labels, "ratio")
    assert leastcut.cut_value(scale * S, labels, "ratio") == pytest.approx(scale * ratio, rel=1e-9)


@given(S=graphs(), seed=st.integers(0, 999))
def test_the_ratio_cut_ignores_self_loops_and_node_order(S, seed):
    labels = random_labels(len(S), 2, seed)
    value = leastcut.cut_value(S, labels, "ratio")
    assert leastcut.cut_value(S + np.eye(len(S)), labels, "ratio") == pytest.approx(value)
    assert leastcut.cut_value(S, np.array(["yes", "no"])[labels], "ratio") == pytest.approx(value)
    assert leastcut.cut_value(S, labels * 7 - 3, "ratio") == pytest.approx(value)
    order = np.random.default_rng(seed).permutation(len(S))
    moved = leastcut.cut_value(S[np.ix_(order, order)], labels[order], "ratio")
    assert moved == pytest.approx(value)


@pytest.mark.parametrize("cut", CUTS)
def test_the_value_without_cut_edges_is_exactly_zero(cut):
    rng = np.random.default_rng(0)
    block = rng.random((30, 30)) * 1e7
    S = sp.block_diag([block + block.T, 1e-7 * (block + block.T)])
    assert leastcut.cut_value(S, np.arange(60) // 30, weights_of(cut, 60)) == 0.0
    assert leastcut.cut_value(S, np.zeros(60), weights_of(cut, 60)) == 0.0


def test_the_operator_is_exact_with_heavy_self_loops():
    loops = np.diag([1e16, 1e17, 0.0])
    plain = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]], dtype=float)
    np.testing.assert_array_equal(
        leastcut.operator(plain + loops, "ratio").toarray(), np.diag([1, 3, 2]) - plain
    )


def test_isolated_nodes_raise():
    S = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match=r"1 of 3 nodes have no edges \(first: node 2\)"):
        leastcut.cut_value(S, [0, 1, 1])
    assert leastcut.cut_value(S, [0, 0, 1], cut="ratio") == 0.0


def test_unknown_cuts_raise():
    with pytest.raises(ValueError, match=r"cut='ncut' is not known; .*'ratio', 'normalized'"):
        leastcut.cut_value(np.eye(2), [0, 1], cut="ncut")
    with pytest.raises(ValueError, match=r"cut=.* is not known"):
        leastcut.cut_value(np.eye(2), [0, 1], cut={"a": 1})


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], r"shape \(2,\), but its shape is \(1,\)"),
        ([1.0, 0.0], "1 of 2 are not .the first is 0.0 at node 1"),
        ([np.nan, 1.0], "positive and finite"),
        ([[1.0], [1.0]], "one weight per node"),
    ],
)
def test_invalid_node_weights_raise(weights, words):
    with pytest.raises(ValueError, match=words):
        leastcut.cut_value(np.ones((2, 2)), [0, 1], cut=weights)


@pytest.mark.parametrize("labels", [[0], [0, 1, 1], [[0, 1]], 3])
def test_labels_of_the_wrong_length_raise(labels):
    with pytest.raises(ValueError, match="one label per node, so 2 in one dimension"):
        leastcut.cut_value(np.ones((2, 2)), labels)


def test_labels_may_be_strings():
    with pytest.raises(ValueError, match="NaN or infinity"):
        leastcut.cut_value(np.ones((2, 2)), [0.0, np.nan])


@pytest.mark.parametrize("weights", [None, "weights"])
def test_arguments_are_not_changed(weights):
    S, labels = np.ones((4, 4)), np.array([3, 3, 5, 5])
    b = np.ones(4)
    leastcut.cut_value(S, labels, b if weights else "ratio")
    np.testing.assert_array_equal(labels, [3, 3, 5, 5])
    np.testing.assert_array_equal(b, np.ones(4))


def test_the_value_of_millions_of_edges_has_thirteen_correct_digits():
    n = 1500
    graph = np.full((n, n), 0.1)  # all rounding errors have the same sign
    labels = np.arange(n) % 2
    value = leastcut.cut_value(graph, labels, cut="ratio")
    boundary = math.fsum(graph[np.ix_(labels == 0, labels == 1)].ravel())
    assert value == pytest.approx(2 * boundary / (n / 2), rel=1e-13)
