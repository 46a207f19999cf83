"""The contract of discretizers, tested for every registered method, and the shared sweep."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from conftest import draws, graphs, knn_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine
from threadpoolctl import threadpool_limits

import leastcut
from leastcut.kernels.sweep import cluster_sums, sweep
from leastcut.spectral.discretizers.first_order import Sweeper
from leastcut.spectral.discretizers.shared import (
    best_of,
    fill_empty_clusters,
    nearest_orthogonal,
    random_labels,
)

METHODS = list(leastcut.DISCRETIZERS)


@pytest.fixture(scope="module")
def wine_graph():
    return leastcut.adaptive_neighbors_graph(load_wine().data)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=draws(15))
@given(S=graphs(min_nodes=1), c=st.integers(1, 12), cut=st.sampled_from([*leastcut.CUTS]))
def test_exactly_c_clusters_and_never_below_the_bound(method, S, c, cut):
    c = min(c, len(S))
    relaxation = leastcut.relax(S, c, cut, random_state=0)
    before = relaxation.eigenvectors.copy()
    result = leastcut.discretize(relaxation, method, graph=S, random_state=0)
    assert sorted(set(result.labels)) == list(range(c))
    assert result.labels.dtype == np.int64
    assert result.cut_value == leastcut.cut_value(S, result.labels, cut)
    assert result.cut_value >= relaxation.lower_bound - 1e-9
    assert result.n_iter == len(result.history) or method in ("kmeans", "kmeans_norm")
    assert np.all(np.diff(result.history) <= 1e-9)
    np.testing.assert_array_equal(relaxation.eigenvectors, before)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("points", ["equal", "zero", "two"])
def test_degenerate_rows_still_give_c_clusters(method, points):
    n, c = 9, 4
    rows = {
        "equal": np.full((n, c), 0.5),
        "zero": np.zeros((n, c)),
        "two": np.repeat(np.eye(2, c), [5, 4], axis=0),
    }[points]
    relaxation = leastcut.Relaxation(
        eigenvalues=np.zeros(c), eigenvectors=rows, node_weights=np.ones(n)
    )
    labels = leastcut.discretize(relaxation, method, random_state=0).labels
    assert sorted(set(labels)) == list(range(c))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cut", [*leastcut.CUTS])
def test_same_seed_same_labels_for_any_number_of_threads(method, cut):
    graph = knn_graph(load_digits().data)
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            relaxation = leastcut.relax(graph, 10, cut, random_state=3)
            answers.append(leastcut.discretize(relaxation, method, random_state=3).labels)
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "cluster_qr"])
def test_more_starts_are_never_worse(method, wine_graph):
    relaxation = leastcut.relax(wine_graph, 5, random_state=0)
    values = [
        leastcut.discretize(
            relaxation, method, graph=wine_graph, n_init=n, random_state=1
        ).cut_value
        for n in (1, 3, 10)
    ]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("method", METHODS)
def test_components_are_found_at_value_zero(method):
    rng = np.random.default_rng(0)
    S = np.zeros((30, 30))
    for part in np.split(rng.permutation(30), 3):
        S[np.ix_(part, part)] = 1.0
    result = leastcut.discretize(leastcut.relax(S, 3, random_state=0), method, graph=S)
    assert result.cut_value == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_the_graph_only_selects_the_start(method, wine_graph):
    """With one start, the labels do not depend on the graph."""
    relaxation = leastcut.relax(wine_graph, 3, random_state=0)
    single = {} if method == "cluster_qr" else {"n_init": 1}
    blind = leastcut.discretize(relaxation, method, random_state=5, **single)
    seeing = leastcut.discretize(relaxation, method, graph=wine_graph, random_state=5, **single)
    np.testing.assert_array_equal(blind.labels, seeing.labels)
    assert blind.cut_value is None
    assert seeing.cut_value == leastcut.cut_value(wine_graph, blind.labels)


def test_selection_by_another_cut(wine_graph):
    relaxation = leastcut.relax(wine_graph, 3, "ratio", random_state=0)
    result = leastcut.discretize(relaxation, graph=wine_graph, cut="normalized", random_state=0)
    assert result.cut_value == leastcut.cut_value(wine_graph, result.labels, "normalized")


def test_errors_name_the_argument_and_the_remedy(wine_graph):
    relaxation = leastcut.relax(wine_graph, 3, random_state=0)
    with pytest.raises(
        ValueError, match=r"method='first-order' is not known; .*'first_order', 'km"
    ):
        leastcut.discretize(relaxation, "first-order")
    with pytest.raises(TypeError, match="'kmeans' has no option 'eta'; its options are 'n_init'"):
        leastcut.discretize(relaxation, "kmeans", eta=1.0)
    with pytest.raises(ValueError, match="n_init=0 is too small"):
        leastcut.discretize(relaxation, n_init=0)
    with pytest.raises(TypeError, match=r"max_iter=1.5 is not an integer"):
        leastcut.discretize(relaxation, max_iter=1.5)
    with pytest.raises(ValueError, match="no effect without a graph"):
        leastcut.discretize(relaxation, cut="ratio")
    with pytest.raises(ValueError, match="graph has 2 nodes and the relaxation 178"):
        leastcut.discretize(relaxation, graph=np.ones((2, 2)))
    with pytest.raises(ValueError, match="random_state=-1 is not a seed"):
        leastcut.discretize(relaxation, random_state=-1)


@given(n=st.integers(1, 30), c=st.integers(1, 30), seed=st.integers(0, 99))
def test_random_labels_leave_no_cluster_empty(n, c, seed):
    c = min(c, n)
    drawn = random_labels(n, c, np.random.default_rng(seed))
    assert sorted(set(drawn.tolist())) == list(range(c))


def test_random_labels_are_uniform_if_no_cluster_is_empty():
    """All labels of three rows in two clusters, where two of eight are repaired."""
    rng = np.random.default_rng(0)
    drawn = [tuple(random_labels(3, 2, rng).tolist()) for _ in range(12_000)]
    counts = Counter(drawn)
    # 1/8 each, and a third of the 1/8 of (0, 0, 0) or of (1, 1, 1)
    assert len(counts) == 6
    for count in counts.values():
        assert count / 12_000 == pytest.approx(1 / 8 + 1 / 24, abs=0.015)


@settings(max_examples=draws(30))
@given(S=graphs(min_nodes=3), c=st.integers(2, 6), seed=st.integers(0, 99))
def test_signs_of_eigenvectors_are_a_start_of_unscaled_rotation(S, c, seed):
    """Flipping signs of eigenvectors is equivalent to flipping them on the diagonal of R."""
    c = min(c, len(S))
    relaxation = leastcut.relax(S, c, random_state=0)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=c)
    flipped = replace(relaxation, eigenvectors=relaxation.eigenvectors * signs)
    # one iteration, as in later ones ties may depend on rounding
    options = {"method": "unscaled_rotation", "max_iter": 1}
    rotated = leastcut.discretize(relaxation, rotation=np.diag(signs), **options)
    np.testing.assert_array_equal(rotated.labels, leastcut.discretize(flipped, **options).labels)


@given(c=st.integers(1, 8), lost=st.integers(0, 4), seed=st.integers(0, 999))
def test_the_nearest_rotation_does_not_depend_on_rounding(c, lost, seed):
    """If R is not unique, because clusters are empty, it is the one nearest to the previous R."""
    rng = np.random.default_rng(seed)
    matrix, before = rng.standard_normal((c, c)), np.linalg.qr(rng.standard_normal((c, c)))[0]
    matrix[:, rng.permutation(c)[: min(lost, c)]] = 0.0
    turn = nearest_orthogonal(matrix, before)
    np.testing.assert_allclose(turn.T @ turn, np.eye(c), atol=1e-12)
    largest = np.linalg.svd(matrix, compute_uv=False).sum()
    assert np.sum(turn * matrix) == pytest.approx(largest, rel=1e-12)
    # A small multiple of the previous R makes the matrix regular, with nearly the same result.
    tiny = 1e-8 * max(np.abs(matrix).max(), 1.0)
    np.testing.assert_allclose(turn, nearest_orthogonal(matrix + tiny * before), atol=1e-4)
    # A change of coordinates, for which the SVD rounds differently, has the same result.
    other = np.linalg.qr(rng.standard_normal((c, c)))[0]
    np.testing.assert_allclose(
        turn, other.T @ nearest_orthogonal(other @ matrix, other @ before), atol=1e-8
    )


@settings(max_examples=draws(30))
@given(S=graphs(min_nodes=3), c=st.integers(1, 6), seed=st.integers(0, 99))
def test_improved_rotation_solves_the_labels_of_every_rotation(S, c, seed):
    c = min(c, len(S))
    relaxation = leastcut.relax(S, c, random_state=0)
    sweeper = Sweeper(relaxation, 0.0)
    labels = random_labels(len(S), c, np.random.default_rng(seed))
    options = {"init": labels, "max_iter": 1}
    result = leastcut.discretize(relaxation, "improved_rotation", **options).labels
    moves, _ = sweeper.sweep(result.copy(), sweeper.rotation(labels))
    assert moves == 0


@given(labels=st.lists(st.integers(0, 4), min_size=5, max_size=12), seed=st.integers(0, 99))
def test_filling_empty_clusters_changes_as_few_labels_as_possible(labels, seed):
    labels = np.array(labels)
    points = np.random.default_rng(seed).random((len(labels), 2))
    missing = 5 - len(set(labels.tolist()))
    repaired = fill_empty_clusters(labels, points, 5)
    assert sorted(set(repaired.tolist())) == list(range(5))
    assert np.count_nonzero(repaired != labels) == missing


@given(n=st.integers(3, 40), c=st.integers(1, 3), seed=st.integers(0, 999))
def test_a_sweep_reports_its_objective(n, c, seed):
    """Compiled and interpreted sweeps agree; the objective equals its formula and never falls."""
    rng = np.random.default_rng(seed)
    scores, weights = rng.standard_normal((n, c)), rng.random(n) + 0.1
    start = rng.permutation(np.arange(n) % c)

    def objective(labels):
        mass = np.bincount(labels, scores[np.arange(n), labels])
        return np.sum(mass / np.sqrt(np.bincount(labels, weights)))

    answers = []
    for function in (sweep, sweep.py_func):
        labels = start.copy()
        scratch = [np.empty(c) for _ in range(5)]
        scratch[2] = np.empty(c, dtype=np.int64)
        moves, reached = function(scores, weights, labels, *scratch)
        assert moves == np.count_nonzero(labels != start)
        assert len(set(labels.tolist())) == c
        assert reached == pytest.approx(objective(labels))
        assert reached >= objective(start) - 1e-12
        answers.append(labels)
    np.testing.assert_array_equal(*answers)

    sums, volume, count = np.empty((2, c, c)), np.empty((2, c)), np.empty((2, c), dtype=np.int64)
    cluster_sums(scores, weights, start, sums[0], volume[0], count[0])
    cluster_sums.py_func(scores, weights, start, sums[1], volume[1], count[1])
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12)
    np.testing.assert_array_equal(count[0], np.bincount(start))


def test_the_sweep_visits_rows_in_order_and_breaks_ties_low():
    labels = np.array([1, 1, 0])
    scratch = [np.empty(2), np.empty(2), np.empty(2, dtype=np.int64), np.empty(2), np.empty(2)]
    sweep(np.ones((3, 2)), np.ones(3), labels, *scratch)
    # Row 0 has equal gains and moves to cluster 0; row 1 is then alone; row 2 has a tie and stays.
    np.testing.assert_array_equal(labels, [0, 1, 0])


@pytest.mark.parametrize("losses", [[np.nan, 1.0], [2.0, np.nan, 1.0], [1.0, np.nan, np.inf]])
def test_nan_is_never_the_best(losses):
    candidates = [
        leastcut.Discretization(np.zeros(2, dtype=np.int64), 1, True, loss, np.array([loss]))
        for loss in losses
    ]
    assert best_of(candidates, None).loss == 1.0
