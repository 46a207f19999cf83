"""One relaxation serves many numbers of clusters, and says which of them to take."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import graphs
from hypothesis import given
from sklearn.datasets import load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from firstcut import SpectralClustering, cut_path, cut_value, relax
from firstcut.cuts import as_problem
from firstcut.graph import as_graph
from firstcut.partitioning import cut_path as module
from firstcut.partitioning.cut_path import cut_path_problem
from firstcut.relaxation.relax import relax_problem

SIX = [[0, 0], [9, 0], [0, 9], [9, 9], [4, 18], [18, 4]]


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@given(graph=graphs(min_nodes=3))
def test_every_row_is_a_valid_partition_with_its_bound(cut, graph):
    n = graph.shape[0]
    path = cut_path(graph, range(1, 2 * n), affinity="precomputed", cut=cut, random_state=0)
    assert list(path) == list(range(1, n + 1))
    for k in path:
        found = path[k]
        assert set(found.labels) == set(range(k))
        assert found.cut_value == pytest.approx(cut_value(graph, found.labels, cut))
        alone = relax(graph, k, cut, random_state=0).lower_bound
        assert found.lower_bound == pytest.approx(alone, abs=1e-6)
        assert found.lower_bound <= found.cut_value * (1 + 1e-9) + 1e-12
        assert 0.0 <= found.gap <= 1.0


def test_the_relaxation_is_solved_once(monkeypatch):
    X = scale(load_wine().data)
    calls = []

    def counted(problem, n_clusters, **options):
        calls.append(n_clusters)
        return relax_problem(problem, n_clusters, **options)

    monkeypatch.setattr(module, "relax_problem", counted)
    path = cut_path(X, range(2, 12), random_state=0)
    assert len(path) == 10
    assert calls[0] == 12
    assert all(k <= 1 for k in calls[1:])


@pytest.mark.parametrize(("width", "columns"), [(None, 5), (3, 5), (9, 9), (40, 30)])
@pytest.mark.parametrize("solver", ["auto", "lobpcg"])
def test_as_many_eigenpairs_as_are_asked_for_and_there_are(width, columns, solver):
    S = np.random.default_rng(0).random((30, 30))
    problem = as_problem(S + S.T)
    path = cut_path_problem(problem, [2, 4], random_state=0, width=width, solver=solver)
    assert path.relaxation.n_clusters == path.eigenvalues.size == columns
    assert list(path) == [2, 4]


def test_same_seed_same_path():
    X, _ = make_blobs(100, centers=4, random_state=2)
    first, second = (cut_path(X, [3, 6], random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)


def test_the_table_and_the_text_show_the_evidence():
    X, _ = make_blobs(100, centers=4, random_state=2)
    path = cut_path(X, range(2, 6), random_state=0)
    assert list(path.table()) == ["n_clusters", "eigengap", "cut_value", "lower_bound", "gap"]
    assert len(str(path).splitlines()) == 5
    with pytest.raises(KeyError, match="9 is not among"):
        path[9]


@pytest.mark.parametrize("n_clusters", [5, None, "25"])
def test_one_number_alone_is_refused_before_any_work(n_clusters):
    with pytest.raises(TypeError, match=r"must be several numbers of clusters"):
        cut_path(None, n_clusters)
    with pytest.raises(TypeError, match=r"must be several numbers of clusters"):
        cut_path_problem(as_problem(np.ones((6, 6))), n_clusters, random_state=0)


@pytest.mark.parametrize("n_clusters", [[2, 2.5], [2, "x"], [None]])
def test_what_is_no_number_is_named(n_clusters):
    with pytest.raises(TypeError, match=r"n_clusters=.* is not a whole number"):
        cut_path(None, n_clusters)


def test_no_possible_number_is_an_error():
    with pytest.raises(ValueError, match="no number from 1 to 3"):
        cut_path([[0.0], [1.0], [2.0]], [5, 6])


@pytest.mark.parametrize("settings", [{}, {"solver": "spectral"}, {"cut": "ratio"}])
def test_auto_finds_separated_groups(settings):
    X, y = make_blobs(240, centers=SIX, cluster_std=0.8, random_state=0)
    model = SpectralClustering("auto", random_state=0, **settings).fit(X)
    assert model.n_clusters_ == 6
    assert adjusted_rand_score(y, model.labels_) == 1
    assert list(model.cut_path_) == list(range(2, 21))
    assert model.eigenvalues_.shape == (21,)
    assert model.embedding_.shape == (240, 6)
    table = model.cut_path_.table()
    row = list(table["n_clusters"]).index(6)
    assert table["eigengap"][row] == table["eigengap"].max()
    assert model.cut_value_ <= table["cut_value"][row] + 1e-12 or settings != {"cut": "ratio"}


def test_auto_respects_max_clusters():
    X, _ = make_blobs(240, centers=SIX, cluster_std=0.8, random_state=0)
    model = SpectralClustering("auto", max_clusters=4, random_state=0).fit(X)
    assert model.n_clusters_ <= 4
    assert list(model.cut_path_) == [2, 3, 4]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.eye(3) * 1j, "must hold real numbers"),
        (np.array([["1", "2"], ["2", "1"]]), "must hold real numbers"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "2 NaN or infinite entries"),
        (np.array([[0.0, np.inf], [np.inf, 0.0]]), "2 NaN or infinite entries"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "Negative values"),
        (3.0, "needs a square matrix"),
        (None, "needs a square matrix"),
    ],
)
def test_what_is_no_graph_is_refused_with_words_and_no_warning(X, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=words):
            cut_path(X, [1, 2], affinity="precomputed")


def test_a_graph_that_is_checked_already_will_do():
    S = np.ones((6, 6))
    found = cut_path(as_graph(S), [2], affinity="precomputed", random_state=0)
    assert (
        found[2].cut_value == cut_path(S, [2], affinity="precomputed", random_state=0)[2].cut_value
    )
