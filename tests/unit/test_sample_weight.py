"""Sample weights multiply node weights, consistently in all results of a fit."""

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


def cut_and_node_weights(graph, cut: str) -> tuple[object, np.ndarray]:
    """Return the ``cut`` argument, and the node weights without sample weights."""
    if cut == "given":
        weights = np.linspace(1.0, 2.0, graph.shape[0])
        return weights, weights
    return cut, node_weights(graph, cut)


@pytest.mark.parametrize("cut", CUTS)
@settings(max_examples=draws(12))
@given(graph=graphs(min_nodes=5), seed=st.integers(0, 1000))
def test_all_results_of_a_fit_use_the_weighted_nodes(cut, graph, seed):
    weight = np.random.default_rng(seed).uniform(0.1, 5.0, graph.shape[0])
    before = weight.copy()
    cut_argument, node_weight = cut_and_node_weights(graph, cut)
    model = SpectralClustering(2, affinity="precomputed", cut=cut_argument, random_state=0)
    model.fit(graph, sample_weight=weight)
    value = cut_value(graph, model.labels_, weight * node_weight)
    assert model.cut_value_ == pytest.approx(value, abs=1e-12)
    assert model.score() == -model.cut_value_
    assert model.lower_bound_ <= model.cut_value_ + 1e-9
    # The columns of the embedding are orthonormal with respect to the node weights.
    E = model.embedding_
    np.testing.assert_allclose(
        E.T @ ((weight * node_weight)[:, None] * E), np.eye(E.shape[1]), atol=1e-6
    )
    result = model.certify()
    assert result.cut_value == pytest.approx(
        cut_value(graph, result.labels, weight * node_weight), abs=1e-12
    )
    assert result.cut_value <= value + 1e-12
    np.testing.assert_array_equal(weight, before)


@pytest.mark.parametrize("cut", CUTS)
@settings(max_examples=draws(12))
@given(graph=graphs(min_nodes=5), seed=st.integers(0, 1000))
def test_a_new_node_has_the_mean_weight_and_is_assigned_by_the_smallest_cut(cut, graph, seed):
    rng = np.random.default_rng(seed)
    n = graph.shape[0]
    weight, affinities = rng.uniform(0.1, 5.0, n), rng.random((1, n))
    cut_argument, node_weight = cut_and_node_weights(graph, cut)
    model = SpectralClustering(2, affinity="precomputed", cut=cut_argument, random_state=0)
    model.fit(graph, sample_weight=weight)
    grown = np.zeros((n + 1, n + 1))
    grown[:n, :n] = graph
    grown[n, :n] = grown[:n, n] = affinities[0]
    if cut == "normalized":
        b = np.append(weight, weight.mean()) * grown.sum(axis=1)
    else:
        b = np.append(weight * node_weight, np.mean(weight * node_weight))
    values = [cut_value(grown, np.append(model.labels_, k), b) for k in (0, 1)]
    chosen = int(model.predict(affinities)[0])
    assert values[chosen] == pytest.approx(min(values))
    assert model.score(affinities) == pytest.approx(-values[chosen])


@pytest.mark.parametrize("solver", ["multilevel", "spectral"])
def test_equal_weights_scale_the_value_and_do_not_change_labels(blobs, solver):
    X, _ = blobs
    plain = SpectralClustering(3, solver=solver, random_state=0).fit(X)
    for weight in (4.0, np.full(90, 4.0), [4] * 90):
        model = SpectralClustering(3, solver=solver, random_state=0).fit(X, sample_weight=weight)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert model.cut_value_ == pytest.approx(plain.cut_value_ / 4)
        np.testing.assert_allclose(model.transform(X[:5]) * 2, plain.transform(X[:5]), atol=1e-9)


def test_weights_are_used_by_the_choice_of_a_number_and_with_links(blobs):
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


def test_weights_with_isolated_nodes():
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


def test_a_weight_is_not_equivalent_to_a_duplicate():
    # Three nodes on a line, the first with weight 2: a duplicate of it has another edge.
    S = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    again = S[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
    labels = np.array([0, 0, 1])
    for cut in ("ratio", "normalized"):
        b = np.array([2.0, 1.0, 1.0]) * node_weights(S, cut)
        weighted, repeated = cut_value(S, labels, b), cut_value(again, labels[[0, 0, 1, 2]], cut)
        # The ratio depends on the partition, so no scale of the weights makes the values equal.
        other = np.array([0, 1, 1])
        ratio = cut_value(S, other, b) / cut_value(again, other[[0, 0, 1, 2]], cut)
        assert weighted / repeated != pytest.approx(ratio)


@pytest.mark.parametrize(
    ("weight", "message"),
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
def test_invalid_weights_are_rejected(blobs, weight, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SpectralClustering(3).fit(blobs[0], sample_weight=weight)


def test_weights_are_routed_by_scikit_learn(blobs):
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
        cut_argument = SpectralClustering(5, random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler(with_mean=False, with_std=False)
        scaler.set_fit_request(sample_weight=False)
        make_routed_pipeline = make_pipeline(scaler, cut_argument).fit(X, sample_weight=weight)
        assert make_routed_pipeline[-1].cut_value_ == value
    sparse = SpectralClustering(5, random_state=0).fit(sp.csr_array(X), sample_weight=weight)
    assert sparse.cut_value_ == pytest.approx(value)
