"""First-order discretization: fixed points, adaptive η, and options."""

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
    """A restart from the result moves no row, and the loss equals its formula."""
    relaxation = leastcut.relax(S, c, "ratio", random_state=0)
    options = {"eta": eta, "n_init": 1}
    result = leastcut.discretize(relaxation, random_state=seed, **options)
    assert result.converged
    again = leastcut.discretize(relaxation, init=result.labels, **options)
    np.testing.assert_array_equal(again.labels, result.labels)
    assert again.n_iter == 1

    F, A = relaxation.eigenvectors, leastcut.operator(S, "ratio").toarray()
    G = np.eye(c)[result.labels] / np.sqrt(np.bincount(result.labels))
    target = F - eta * A @ F
    left, _, right = np.linalg.svd(target.T @ G)
    R = left @ right
    residual = G - F @ R
    loss = np.sum(residual**2) + eta * np.sum(residual * (2 * A @ F @ R))
    assert result.loss == pytest.approx(loss, abs=1e-7)
    assert np.all(np.diff(result.history) <= 1e-9)


def test_a_rotation_passed_by_the_user_is_not_a_fixed_point(iris):
    """A first sweep without moves under the user's rotation must not end the run."""
    _, relaxation = iris
    rng = np.random.default_rng(0)
    labels = leastcut.discretize(relaxation, random_state=0).labels
    for _ in range(20):
        rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        result = leastcut.discretize(relaxation, init=labels, rotation=rotation)
        assert result.converged
        assert result.n_iter >= 2


def test_max_iter_ends_a_run(iris):
    _, relaxation = iris
    result = leastcut.discretize(relaxation, max_iter=1, n_init=1, random_state=0)
    assert (result.n_iter, result.converged) == (1, False)


def test_adaptive_decreases_in_every_round_and_keeps_a_better_start(iris):
    graph, relaxation = iris
    best = leastcut.partition(graph, 3, random_state=0)
    for init in (None, best.labels, np.arange(150) % 3):
        options = {"eta": "adaptive", "graph": graph, "n_init": 1, "random_state": 2}
        result = leastcut.discretize(relaxation, init=init, **options)
        assert result.loss == result.cut_value == result.history[-1]
        assert result.converged
        # strictly, except for the last round
        assert np.all(np.diff(result.history[:-1]) < 0)
        assert result.history[-1] == result.history[-2]
        if init is not None:
            assert result.cut_value <= leastcut.cut_value(graph, init)


@settings(max_examples=draws(25))
@given(S=graphs(min_nodes=2), c=st.integers(1, 5), seed=st.integers(0, 99))
def test_no_eta_of_the_ladder_decreases_the_result_of_adaptive(S, c, seed):
    c = min(c, len(S))
    relaxation = leastcut.relax(S, c, random_state=0)
    result = leastcut.discretize(relaxation, eta="adaptive", graph=S, random_state=seed)
    scale = inverse_of_largest(relaxation)
    for factor in LADDER:
        once = alternate(relaxation, factor * scale, result.labels, None, max_iter=1)
        assert leastcut.cut_value(S, once.labels) >= result.cut_value


@pytest.mark.parametrize("eta", ["auto", "adaptive", PAPER_ETAS, [1e-3]])
def test_several_etas_need_the_graph(iris, eta):
    graph, relaxation = iris
    with pytest.raises(ValueError, match=r"needs the graph.*graph=S"):
        leastcut.discretize(relaxation, eta=eta)
    if eta == "adaptive":
        return
    result = leastcut.discretize(relaxation, eta=eta, graph=graph, random_state=0)
    alone = leastcut.discretize(relaxation, eta=1e-3, graph=graph, random_state=0)
    assert result.cut_value <= alone.cut_value


def test_auto_is_never_worse_than_the_grid_of_the_paper(iris):
    graph, relaxation = iris
    for seed in range(5):
        grid, auto = (
            leastcut.discretize(relaxation, eta=eta, graph=graph, n_init=2, random_state=seed)
            for eta in (PAPER_ETAS, "auto")
        )
        assert auto.cut_value <= grid.cut_value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": "big"}, "eta='big' is not known; pass one or more numbers, 'auto' or 'adaptive'"),
        ({"eta": -1.0}, "finite numbers >= 0"),
        ({"eta": np.nan}, "finite numbers >= 0"),
        ({"init": np.zeros(150)}, "init has 1 cluster, but n_clusters=3"),
        ({"init": np.zeros(7)}, "init must hold one label per node, so 150"),
        ({"rotation": np.eye(2)}, r"shape \(3, 3\), but it has \(2, 2\)"),
        ({"rotation": 2 * np.eye(3)}, "must be orthogonal, but RᵀR differs .* by 3"),
        ({"rotation": np.full((3, 3), np.nan)}, "must be orthogonal"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(iris, options, message):
    with pytest.raises(ValueError, match=message):
        leastcut.discretize(iris[1], **options)


def test_arguments_are_not_changed(iris):
    _, relaxation = iris
    init, rotation = np.arange(150) % 3, np.eye(3)
    leastcut.discretize(relaxation, init=init, rotation=rotation, n_init=3, random_state=0)
    np.testing.assert_array_equal(init, np.arange(150) % 3)
    np.testing.assert_array_equal(rotation, np.eye(3))
