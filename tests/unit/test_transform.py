"""Coordinates of training samples and new samples in the embedding."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import draws, graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leastcut import SpectralClustering, node_weights

AFFINITIES = ["adaptive_neighbors", "nearest_neighbors", "self_tuning", "rbf"]


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, np.float32])
def test_training_samples_have_the_coordinates_of_the_embedding(blobs, affinity, cut, container):
    X = container(blobs[0])
    model = SpectralClustering(3, affinity=affinity, cut=cut, random_state=0)
    np.testing.assert_array_equal(model.fit_transform(X), model.embedding_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    # In any order and number, dense or sparse, and together with new samples.
    some = np.random.default_rng(0).permutation(90)[:20]
    np.testing.assert_array_equal(model.transform(X[some]), model.embedding_[some])
    dense = X.toarray() if sp.issparse(X) else X
    other = dense if sp.issparse(X) else sp.csr_array(dense)
    np.testing.assert_array_equal(model.transform(other[some]), model.embedding_[some])
    mixed = np.vstack([dense[:1] + 0.01, dense[5:6]])
    np.testing.assert_array_equal(model.transform(mixed)[1], model.embedding_[5])


def test_equal_training_samples_have_the_coordinates_of_the_embedding():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 3, axis=0)
    model = SpectralClustering(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    # If only some are passed, all equal samples have the coordinates of the first.
    first = np.arange(30) // 3 * 3
    np.testing.assert_array_equal(model.transform(X[:29]), model.embedding_[first[:29]])
    minus = np.where(X == 0, -0.0, X)
    np.testing.assert_array_equal(model.transform(minus[:5]), model.embedding_[first[:5]])


def test_a_pickled_model_recognizes_its_training_samples(blobs, tmp_path):
    """The keys of rows are pickled, and must not depend on Python's hash of a process."""
    X, _ = blobs
    model = SpectralClustering(3, random_state=0).fit(X)
    model.transform(X[:5])
    (tmp_path / "model").write_bytes(pickle.dumps((model, X[:5], model.embedding_[:5])))
    code = (
        "import pickle, sys; model, X, E = pickle.load(open(sys.argv[1], 'rb'));"
        "assert (model.transform(X) == E).all()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model")], check=True)


@pytest.mark.parametrize("cut", ["normalized", "ratio", "given"])
@settings(max_examples=draws(20))
@given(graph=graphs(min_nodes=5), seed=st.integers(0, 1000))
def test_a_new_node_solves_the_equation_of_the_eigenvectors(cut, graph, seed):
    rng = np.random.default_rng(seed)
    n = graph.shape[0]
    cut_argument = np.linspace(1.0, 2.0, n) if cut == "given" else cut
    weight = rng.uniform(0.5, 2.0, n)
    model = SpectralClustering(2, affinity="precomputed", cut=cut_argument, random_state=0)
    model.fit(graph, sample_weight=weight)
    affinities = rng.uniform(0.5, 1.0, (1, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coordinates = model.transform(affinities)
    E, eigenvalues, d = model.embedding_, model.eigenvalues_[:2], affinities.sum()
    b = (
        weight.mean() * d
        if cut == "normalized"
        else np.mean(weight * node_weights(graph, cut_argument))
    )
    left = d - eigenvalues * b
    solves = np.where(left > 1e-3 * d, coordinates[0] * left - (affinities @ E)[0], coordinates[0])
    np.testing.assert_allclose(solves, 0.0, atol=1e-9 * max(1.0, np.abs(E).max() * d))


@settings(max_examples=draws(20))
@given(graph=graphs(min_nodes=5))
def test_the_formula_reproduces_the_coordinates_of_a_training_node(graph):
    """For its own row of the graph, the equation of a new node with b = d is the same."""
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(graph)
    model._fitted.samples.__dict__["_indices"] = {}  # no sample is recognized
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coordinates = model.transform(graph[:3])
    determined = model.eigenvalues_[:2] < 0.99
    np.testing.assert_allclose(
        coordinates[:, determined], model.embedding_[:3][:, determined], atol=1e-5
    )


@pytest.mark.parametrize("affinity", ["adaptive_neighbors", "self_tuning", "rbf"])
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_near_samples_have_near_coordinates(blobs, affinity, cut):
    X, _ = blobs
    model = SpectralClustering(3, affinity=affinity, cut=cut, random_state=0).fit(X[:60])
    spread = np.ptp(model.embedding_, axis=0).max()
    step = 1e-7 * np.random.default_rng(0).normal(size=X[60:].shape)
    moved = np.abs(model.transform(X[60:] + step) - model.transform(X[60:]))
    assert moved.max() < 1e-4 * spread
    # For kernels, the coordinates of near samples converge to those of training samples.
    if affinity == "rbf":
        beside = model.transform(X[:60] + 1e-9)
        np.testing.assert_allclose(beside, model.embedding_, atol=1e-4 * spread)


def test_coordinates_do_not_depend_on_the_batch_size(blobs):
    X, _ = blobs
    for affinity in AFFINITIES:
        model = SpectralClustering(3, affinity=affinity, random_state=0).fit(X[:60])
        full = model.transform(X[50:])
        parts = np.vstack([model.transform(row[None]) for row in X[50:]])
        np.testing.assert_array_equal(full, parts)


def test_new_digits_are_near_their_cluster():
    X, _ = load_digits(return_X_y=True)
    model = SpectralClustering(10, random_state=0).fit(X[:1200])
    nearest = NearestCentroid().fit(model.embedding_, model.labels_)
    agree = nearest.predict(model.transform(X[1200:])) == model.predict(X[1200:])
    assert agree.mean() > 0.9


def test_samples_without_affinities_are_at_the_origin(blobs):
    X, _ = blobs
    model = SpectralClustering(3, affinity="rbf", random_state=0).fit(X)
    far = np.array([[0.0, 1e3], [1e3, 0.0], X[0] + 0.1])
    with pytest.warns(UserWarning, match=r"2 of 3 samples have no affinity.*first is 0.*origin"):
        coordinates = model.transform(far)
    np.testing.assert_array_equal(coordinates[:2], 0.0)
    assert coordinates[2].any()
    graph = SpectralClustering(3, affinity="precomputed", random_state=0).fit(rbf_kernel(X))
    with pytest.warns(UserWarning, match="no affinity"):
        np.testing.assert_array_equal(graph.transform(np.zeros((2, 90))), 0.0)


def test_weak_affinities_give_a_warning(blobs):
    X, _ = blobs
    model = SpectralClustering(3, affinity="precomputed", cut="ratio", random_state=0)
    model.fit(rbf_kernel(X))
    # Between the second and the third eigenvalue.
    weak = np.full((1, 90), model.eigenvalues_[1:].mean() / 90)
    with pytest.warns(UserWarning, match=r"connected too weakly.*1 of 3 components.*component 2"):
        coordinates = model.transform(weak)
    assert coordinates[0, 2] == 0.0
    assert coordinates[0, :2].all()


def test_all_samples_of_a_graph_without_edges_are_at_the_origin():
    with pytest.warns(UserWarning, match="no edges"):
        model = SpectralClustering(2, affinity="precomputed").fit(np.zeros((4, 4)))
    np.testing.assert_array_equal(model.transform(np.ones((1, 4))), 0.0)


def test_output_columns_have_names_and_may_be_a_frame(blobs):
    X, _ = blobs
    model = SpectralClustering(3, n_components=2, random_state=0).set_output(transform="pandas")
    frame = model.fit_transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == list(model.get_feature_names_out())
    assert list(frame) == ["spectralclustering0", "spectralclustering1"]
    model = SpectralClustering(3, random_state=0)
    steps = make_pipeline(StandardScaler(), model, NearestCentroid())
    y = blobs[1]
    assert (steps.fit(X, y).predict(X) == y).all()
