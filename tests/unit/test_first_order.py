"""First order: fixed points, adaptive η, and the options."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import draws, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import leastcut
from leastcut.spectral.discretizers.first_order import (
    LADDER,
    PAPER_ETAS,
    alternate,
    inverse_of_largest,
)


@pytest.fixture(scope="module")
def iris():
    graph = leastcut.adaptive_neighbors_graph(load_iris().data)
    return graph, leastcut.relax(graph, 3, random_state=0)


@settings(max_examples=draws(25))
@given(
    S=graphs(min_nodes=4, connected=True),
    c=st.integers(2, 4),
    eta=st.sampled_from([0.0, 1e-3, 0.5, 10.0]),
    seed=st.integers(0, 99),
)
def test_stops_only_at_a_fixed_point(S, c, eta, seed):
    """Restarting from the answer moves nothing, and the loss equals its formula."""
    relaxation = leastcut.relax(S, c, "ratio", random_state=0)
    options = {"eta": eta, "n_init": 1}
    found = leastcut.discretize(relaxation, random_state=seed, **options)
    assert found.converged
    again = leastcut.discretize(relaxation, init=found.labels, **options)
    np.testing.assert_array_equal(again.labels, found.labels)
    assert again.n_iter == 1

    F, A = relaxation.eigenvectors, leastcut.operator(S, "ratio").toarray()
    G = np.eye(c)[found.labels] / np.sqrt(np.bincount(found.labels))
    target = F - eta * A @ F
    left, _, right = np.linalg.svd(target.T @ G)
    R = left @ right
    residual = G - F @ R
    loss = np.sum(residual**2) + eta * np.sum(residual * (2 * A @ F @ R))
    assert found.loss == pytest.approx(loss, abs=1e-7)
    assert np.all(np.diff(found.history) <= 1e-9)


def test_a_rotation_given_is_not_a_fixed_point(iris):
    """A first sweep that moves nothing under a given rotation must not end the run."""
    _, relaxation = iris
    rng = np.random.default_rng(0)
    labels = leastcut.discretize(relaxation, random_state=0).labels
    for _ in range(20):
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        found = leastcut.discretize(relaxation, init=labels, rotation=turn)
        assert found.converged
        assert found.n_iter >= 2


def test_max_iter_ends_a_run(iris):
    _, relaxation = iris
    found = leastcut.discretize(relaxation, max_iter=1, n_init=1, random_state=0)
    assert (found.n_iter, found.converged) == (1, False)


def test_adaptive_falls_with_every_round_and_keeps_the_better_start(iris):
    graph, relaxation = iris
    best = leastcut.partition(graph, 3, random_state=0)
    for init in (None, best.labels, np.arange(150) % 3):
        options = {"eta": "adaptive", "graph": graph, "n_init": 1, "random_state": 2}
        found = leastcut.discretize(relaxation, init=init, **options)
        assert found.loss == found.cut_value == found.history[-1]
        assert found.converged
        # strictly, but for the last round, which finds nothing
        assert np.all(np.diff(found.history[:-1]) < 0)
        assert found.history[-1] == found.history[-2]
        if init is not None:
            assert found.cut_value <= leastcut.cut_value(graph, init)


@settings(max_examples=draws(25))
@given(S=graphs(min_nodes=2), c=st.integers(1, 5), seed=st.integers(0, 99))
def test_no_eta_of_the_ladder_lowers_the_cut_where_adaptive_ends(S, c, seed):
    c = min(c, len(S))
    relaxation = leastcut.relax(S, c, random_state=0)
    found = leastcut.discretize(relaxation, eta="adaptive", graph=S, random_state=seed)
    scale = inverse_of_largest(relaxation)
    for factor in LADDER:
        once = alternate(relaxation, factor * scale, found.labels, None, max_iter=1)
        assert leastcut.cut_value(S, once.labels) >= found.cut_value


@pytest.mark.parametrize("eta", ["auto", "adaptive", PAPER_ETAS, [1e-3]])
def test_several_etas_need_the_graph(iris, eta):
    graph, relaxation = iris
    with pytest.raises(ValueError, match=r"needs the graph.*graph=S"):
        leastcut.discretize(relaxation, eta=eta)
    if eta == "adaptive":
        return
    found = leastcut.discretize(relaxation, eta=eta, graph=graph, random_state=0)
    alone = leastcut.discretize(relaxation, eta=1e-3, graph=graph, random_state=0)
    assert found.cut_value <= alone.cut_value


def test_auto_is_never_worse_than_the_papers_grid(iris):
    graph, relaxation = iris
    for seed in range(5):
        grid, auto = (
            leastcut.discretize(relaxation, eta=eta, graph=graph, n_init=2, random_state=seed)
            for eta in (PAPER_ETAS, "auto")
        )
        assert auto.cut_value <= grid.cut_value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eta": "big"}, "eta='big' is not known; pass one or more numbers, 'auto' or 'adaptive'"),
        ({"eta": -1.0}, "finite numbers >= 0"),
        ({"eta": np.nan}, "finite numbers >= 0"),
        ({"init": np.zeros(150)}, "init has 1 clusters, but n_clusters=3"),
        ({"init": np.zeros(7)}, "init must hold one label per node, so 150"),
        ({"rotation": np.eye(2)}, r"shape \(3, 3\), but it has \(2, 2\)"),
        ({"rotation": 2 * np.eye(3)}, "must be orthogonal, but RᵀR differs .* by 3"),
        ({"rotation": np.full((3, 3), np.nan)}, "must be orthogonal"),
    ],
)
def test_words_of_the_errors(iris, options, words):
    with pytest.raises(ValueError, match=words):
        leastcut.discretize(iris[1], **options)


def test_arguments_are_not_changed(iris):
    _, relaxation = iris
    init, turn = np.arange(150) % 3, np.eye(3)
    leastcut.discretize(relaxation, init=init, rotation=turn, n_init=3, random_state=0)
    np.testing.assert_array_equal(init, np.arange(150) % 3)
    np.testing.assert_array_equal(turn, np.eye(3))
