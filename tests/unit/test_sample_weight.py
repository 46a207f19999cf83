"""Weighted samples: node weights are multiplied, and everything that is told of a fit agrees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from conftest import draws, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leastcut import SpectralClustering, cut_value, node_weights

CUTS = ["normalized", "ratio", "given"]


def own_weights(graph, cut: str) -> tuple[object, np.ndarray]:
    """Return a cut of a name, and what nodes weigh under it without sample weights."""
    if cut == "given":
        weights = np.linspace(1.0, 2.0, graph.shape[0])
        return weights, weights
    return cut, node_weights(graph, cut)


@pytest.mark.parametrize("cut", CUTS)
@settings(max_examples=draws(12))
@given(graph=graphs(min_nodes=5), seed=st.integers(0, 1000))
def test_all_that_is_told_of_a_fit_is_of_the_weighted_nodes(cut, graph, seed):
    weight = np.random.default_rng(seed).uniform(0.1, 5.0, graph.shape[0])
    before = weight.copy()
    asked, own = own_weights(graph, cut)
    model = SpectralClustering(2, affinity="precomputed", cut=asked, random_state=0)
    model.fit(graph, sample_weight=weight)
    value = cut_value(graph, model.labels_, weight * own)
    assert model.cut_value_ == pytest.approx(value, abs=1e-12)
    assert model.score() == -model.cut_value_
    assert model.lower_bound_ <= model.cut_value_ + 1e-9
    # The rows of the embedding are orthonormal in the weights, and so is what is told of them.
    E = model.embedding_
    np.testing.assert_allclose(E.T @ ((weight * own)[:, None] * E), np.eye(E.shape[1]), atol=1e-6)
    found = model.certify()
    assert found.cut_value == pytest.approx(cut_value(graph, found.labels, weight * own), abs=1e-12)
    assert found.cut_value <= value + 1e-12
    np.testing.assert_array_equal(weight, before)


@pytest.mark.parametrize("cut", CUTS)
@settings(max_examples=draws(12))
@given(graph=graphs(min_nodes=5), seed=st.integers(0, 1000))
def test_a_new_node_weighs_as_the_mean_and_goes_where_the_cut_is_smallest(cut, graph, seed):
    rng = np.random.default_rng(seed)
    n = graph.shape[0]
    weight, ties = rng.uniform(0.1, 5.0, n), rng.random((1, n))
    asked, own = own_weights(graph, cut)
    model = SpectralClustering(2, affinity="precomputed", cut=asked, random_state=0)
    model.fit(graph, sample_weight=weight)
    grown = np.zeros((n + 1, n + 1))
    grown[:n, :n] = graph
    grown[n, :n] = grown[:n, n] = ties[0]
    if cut == "normalized":
        b = np.append(weight, weight.mean()) * grown.sum(axis=1)
    else:
        b = np.append(weight * own, np.mean(weight * own))
    values = [cut_value(grown, np.append(model.labels_, k), b) for k in (0, 1)]
    chosen = int(model.predict(ties)[0])
    assert values[chosen] == pytest.approx(min(values))
    assert model.score(ties) == pytest.approx(-values[chosen])


@pytest.mark.parametrize("solver", ["multilevel", "spectral"])
def test_equal_weights_change_nothing_and_scale_the_value(blobs, solver):
    X, _ = blobs
    plain = SpectralClustering(3, solver=solver, random_state=0).fit(X)
    for weight in (4.0, np.full(90, 4.0), [4] * 90):
        model = SpectralClustering(3, solver=solver, random_state=0).fit(X, sample_weight=weight)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert model.cut_value_ == pytest.approx(plain.cut_value_ / 4)
        np.testing.assert_allclose(model.transform(X[:5]) * 2, plain.transform(X[:5]), atol=1e-9)


def test_weights_reach_the_choice_of_a_number_and_links(blobs):
    X, _ = blobs
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 90)
    model = SpectralClustering("auto", max_clusters=5, random_state=0)
    model.fit(X, sample_weight=weight)
    S, path = model.affinity_matrix_, model.cut_path_
    b = weight * node_weights(S)
    assert path[model.n_clusters_].cut_value <= model.cut_value_ + 1e-12
    for k in path:
        assert path[k].cut_value == pytest.approx(cut_value(S, path[k].labels, b), abs=1e-12)
    linked = SpectralClustering(3, random_state=0)
    linked.fit(X, sample_weight=weight, must_link=[(0, 1)], cannot_link=[(0, 2)])
    assert linked.cut_value_ == pytest.approx(cut_value(S, linked.labels_, b), abs=1e-12)


def test_nodes_without_edges_keep_their_place():
    S = np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4))
    S[0, 4] = S[4, 0] = 0.1
    S = np.pad(S, (0, 2))
    weight = np.arange(1.0, 11.0)
    for cut in ("normalized", "ratio"):
        model = SpectralClustering(2, affinity="precomputed", cut=cut, random_state=0)
        with pytest.warns(UserWarning, match="no edges"):
            model.fit(S, sample_weight=weight)
        assert set(model.labels_) == {0, 1}
        assert model.lower_bound_ <= model.cut_value_


def test_a_weight_is_not_a_repetition():
    # Three nodes on a line, the first of weight 2: its copy would bring an edge of its own.
    S = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    again = S[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
    labels = np.array([0, 0, 1])
    for cut in ("ratio", "normalized"):
        b = np.array([2.0, 1.0, 1.0]) * node_weights(S, cut)
        weighted, repeated = cut_value(S, labels, b), cut_value(again, labels[[0, 0, 1, 2]], cut)
        # Under another partition by another factor: no scale of the weights makes them equal.
        other = np.array([0, 1, 1])
        ratio = cut_value(S, other, b) / cut_value(again, other[[0, 0, 1, 2]], cut)
        assert weighted / repeated != pytest.approx(ratio)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, 2.0], r"shape \(90,\), but its shape is \(2,\)"),
        (np.ones((90, 1)), r"shape \(90,\), but its shape is \(90, 1\)"),
        (np.r_[np.ones(89), 0.0], r"1 of 90 are not \(the first is 0.0 at sample 89\).*zero"),
        (np.r_[-1.0, np.ones(89)], r"the first is -1.0 at sample 0"),
        (np.r_[np.nan, np.ones(89)], r"the first is nan at sample 0"),
        (np.r_[np.inf, np.ones(89)], r"the first is inf at sample 0"),
        (np.full(90, 1e306), r"overflow or underflow.*Multiply sample_weight"),
        (["a"] * 90, r"real numbers"),
        (np.ma.masked_equal(np.arange(90.0), 0), r"masked"),
    ],
)
def test_bad_weights_are_refused_by_name(blobs, weight, words):
    with pytest.raises((ValueError, TypeError), match=words):
        SpectralClustering(3).fit(blobs[0], sample_weight=weight)


def test_weights_come_through_scikit_learns_routes(blobs):
    X, _ = blobs
    weight = np.random.default_rng(0).uniform(0.1, 9.0, 90)
    model = SpectralClustering(5, random_state=0)
    direct = model.fit_predict(X, sample_weight=weight)
    value = model.cut_value_
    assert value != pytest.approx(SpectralClustering(5, random_state=0).fit(X).cut_value_)
    steps = make_pipeline(StandardScaler(with_mean=False, with_std=False), model)
    steps.fit(X, spectralclustering__sample_weight=weight)
    np.testing.assert_array_equal(steps[-1].labels_, direct)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = SpectralClustering(5, random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler(with_mean=False, with_std=False)
        scaler.set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, asked).fit(X, sample_weight=weight)
        assert routed[-1].cut_value_ == value
    sparse = SpectralClustering(5, random_state=0).fit(sp.csr_array(X), sample_weight=weight)
    assert sparse.cut_value_ == pytest.approx(value)
