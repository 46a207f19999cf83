"""Prediction by the smallest increase of the cut value, and scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, load_dataset
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from leastcut import SpectralClustering, cut_value

AFFINITIES = ["adaptive_neighbors", "nearest_neighbors", "self_tuning", "rbf", "laplacian"]


def agreement(model, X) -> float:
    return float(np.mean(model.predict(X) == model.labels_))


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("affinity", ["adaptive_neighbors", "nearest_neighbors"])
def test_training_samples_are_assigned_to_their_clusters(cut, affinity):
    for X, k in ((load_digits().data, 10), (scale(load_wine().data), 3)):
        model = SpectralClustering(k, cut=cut, affinity=affinity, random_state=0).fit(X)
        assert agreement(model, X) >= 0.99


def test_training_samples_of_usps_are_assigned_to_their_clusters():
    X, _ = load_dataset("usps")
    model = SpectralClustering(10, random_state=0).fit(X)
    assert agreement(model, X) >= 0.99


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_labels_do_not_depend_on_the_batch_size(blobs, affinity):
    X, y = blobs
    model = SpectralClustering(3, affinity=affinity, random_state=0).fit(X[:60])
    expected = model.predict(X)
    assert expected.shape == (90,)
    for size in (1, 7):
        parts = [model.predict(X[i : i + size]) for i in range(0, 90, size)]
        np.testing.assert_array_equal(np.concatenate(parts), expected)
    for k in range(3):
        assert len(set(expected[y == k])) == 1


KERNELS = ["rbf", "laplacian", "linear", "poly", "sigmoid", "cosine", "chi2"]
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}


def samples_with_ties(kind: str, n_features: int) -> np.ndarray:
    """Return samples with equal distances to many others, often up to rounding only."""
    steps = np.random.default_rng(0).integers(0, 4, size=(40, n_features))
    return {"integers": steps * 1.0, "tenths": steps / 10}[kind]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "n_features"), [("integers", 2), ("tenths", 40)])
@pytest.mark.parametrize(
    "affinity", ["adaptive_neighbors", "nearest_neighbors", "self_tuning", *KERNELS]
)
def test_ties_do_not_depend_on_the_other_samples_of_a_batch(affinity, kind, n_features, form):
    if affinity == "chi2" and form == "sparse":
        pytest.skip("scikit-learn's chi2 takes no sparse samples")
    X = samples_with_ties(kind, n_features)
    new = np.vstack([X, (X[:20] + X[20:]) / 2, X[::-1]])
    convert = FORMS[form]
    model = SpectralClustering(4, affinity=affinity, random_state=0, n_jobs=2).fit(convert(X))
    expected = model.predict(convert(new))
    order = np.random.default_rng(1).permutation(len(new))
    np.testing.assert_array_equal(model.predict(convert(new[order])), expected[order])
    for size in (1, 17):
        parts = [model.predict(convert(new[i : i + size])) for i in range(0, len(new), size)]
        np.testing.assert_array_equal(np.concatenate(parts), expected)
    with threadpool_limits(1):
        np.testing.assert_array_equal(model.predict(convert(new)), expected)
    # Dense and sparse new samples get the same labels.
    for other in FORMS.values():
        np.testing.assert_array_equal(model.predict(other(new)), expected)


@pytest.mark.parametrize("affinity", ["precomputed", "precomputed_nearest_neighbors"])
def test_precomputed_rows_in_any_form_and_batch_get_the_same_labels(affinity):
    X = samples_with_ties("tenths", 2)
    new = np.vstack([X, (X[:20] + X[20:]) / 2])
    distances = np.abs(X[:, None] - X).sum(axis=-1), np.abs(new[:, None] - X).sum(axis=-1)
    matrix, rows = distances if "neighbors" in affinity else (np.exp(-d) for d in distances)

    def shuffled(M):
        # All entries are stored, including zeros (which are distances), in unsorted order.
        columns = np.tile(np.random.default_rng(0).permutation(M.shape[1]), (len(M), 1))
        data = np.take_along_axis(M, columns, axis=1).ravel()
        return sp.csr_array((data, columns.ravel(), np.arange(len(M) + 1) * M.shape[1]), M.shape)

    fitted = []
    for convert in (np.asarray, shuffled):
        model = SpectralClustering(4, affinity=affinity, random_state=0).fit(convert(matrix))
        fitted.append(model)
        np.testing.assert_array_equal(model.labels_, fitted[0].labels_)
        for form in (np.asarray, shuffled):
            expected = model.predict(form(rows))
            np.testing.assert_array_equal(expected, fitted[0].predict(rows))
            parts = [model.predict(form(rows[i : i + 7])) for i in range(0, len(rows), 7)]
            np.testing.assert_array_equal(np.concatenate(parts), expected)
            assert model.score(form(matrix)) == -model.cut_value_


@pytest.mark.parametrize("exponent", [-1000, -560, -250, 250, 500, 900])
@pytest.mark.parametrize(
    "affinity", ["adaptive_neighbors", "nearest_neighbors", "self_tuning", "cosine"]
)
def test_labels_do_not_depend_on_the_unit_of_the_samples(blobs, affinity, exponent):
    X = np.abs(blobs[0])
    X[0] *= 2.0**30
    plain = SpectralClustering(3, affinity=affinity, random_state=0).fit(X)
    scaled = np.ldexp(X, exponent)
    model = SpectralClustering(3, affinity=affinity, random_state=0).fit(scaled)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(scaled), plain.predict(X))


@pytest.mark.parametrize("affinity", ["rbf", "linear"])
def test_new_samples_that_overflow_a_kernel_are_rejected(affinity):
    X = np.random.default_rng(0).random((20, 3))
    model = SpectralClustering(2, affinity=affinity, random_state=0).fit(X)
    with pytest.raises(ValueError, match="squares of coordinates, which overflow"):
        model.predict(X * 1e160)
    assert model.predict(X * 1e-170).shape == (20,)


@pytest.mark.parametrize("affinity", ["adaptive_neighbors", "nearest_neighbors", "self_tuning"])
def test_sparse_and_dense_samples_get_the_same_labels(blobs, affinity):
    X, _ = blobs
    model = SpectralClustering(3, affinity=affinity, random_state=0).fit(X)
    sparse = SpectralClustering(3, affinity=affinity, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_array_equal(model.predict(X + 0.1), sparse.predict(sp.csr_array(X + 0.1)))


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@given(graph=graphs(min_nodes=4), seed=st.integers(0, 1000))
def test_a_new_sample_is_assigned_where_the_extended_graph_has_the_smallest_cut(cut, graph, seed):
    model = SpectralClustering(2, affinity="precomputed", cut=cut, random_state=0).fit(graph)
    n = graph.shape[0]
    affinities = np.random.default_rng(seed).random((1, n))
    grown = np.zeros((n + 1, n + 1))
    grown[:n, :n] = graph
    grown[n, :n] = grown[:n, n] = affinities[0]
    values = [cut_value(grown, np.append(model.labels_, k), cut) for k in (0, 1)]
    chosen = int(model.predict(affinities)[0])
    assert values[chosen] == pytest.approx(min(values))
    assert model.score(affinities) == pytest.approx(-values[chosen])


def test_precomputed_affinities_and_distances(blobs):
    X, _ = blobs
    train, new = X[:60], X[60:]
    direct = SpectralClustering(3, affinity="rbf", random_state=0).fit(train)
    kernel = SpectralClustering(3, affinity="precomputed", random_state=0).fit(rbf_kernel(train))
    np.testing.assert_array_equal(direct.predict(new), kernel.predict(rbf_kernel(new, train)))
    sparse = sp.csr_array(rbf_kernel(new, train))
    np.testing.assert_array_equal(direct.predict(new), kernel.predict(sparse))

    search = NearestNeighbors(n_neighbors=15).fit(train)
    model = SpectralClustering(3, affinity="precomputed_nearest_neighbors", random_state=0)
    model.fit(search.kneighbors_graph(train, mode="distance"))
    plain = SpectralClustering(3, affinity="nearest_neighbors", random_state=0).fit(train)
    np.testing.assert_array_equal(
        model.predict(search.kneighbors_graph(new, mode="distance")), plain.predict(new)
    )


def test_samples_without_affinities_follow_the_nearest_training_sample(blobs):
    X, _ = blobs
    model = SpectralClustering(3, affinity="rbf", random_state=0).fit(X)
    far = np.array([[0.0, 1e3], [1e3, 0.0]])
    assert rbf_kernel(far, X).max() == 0.0
    nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(far, return_distance=False)
    np.testing.assert_array_equal(model.predict(far), model.labels_[nearest[:, 0]])
    given_graph = SpectralClustering(3, affinity="precomputed", random_state=0).fit(rbf_kernel(X))
    lost = given_graph.predict(np.zeros((2, 90)))
    assert lost[0] == lost[1]
    assert lost[0] in (0, 1, 2)


def test_negative_affinities_of_new_samples_are_rejected(blobs):
    X, _ = blobs
    model = SpectralClustering(3, affinity="precomputed", random_state=0).fit(rbf_kernel(X))
    with pytest.raises(ValueError, match="non-negative"):
        model.predict(-np.ones((1, 90)))


@pytest.mark.parametrize("affinity", ["adaptive_neighbors", "rbf"])
def test_the_score_of_the_training_data_is_the_negative_cut_value(blobs, affinity):
    X, _ = blobs
    for given_X in (X, sp.csr_array(X)):
        model = SpectralClustering(3, affinity=affinity, random_state=0).fit(given_X)
        assert model.score() == model.score(X) == model.score(sp.csr_array(X)) == -model.cut_value_
        assert model.score(given_X[:50]) <= 0.0
    graph = SpectralClustering(3, affinity="precomputed", random_state=0).fit(rbf_kernel(X))
    assert graph.score(rbf_kernel(X)) == -graph.cut_value_


@pytest.mark.parametrize("n_features", [2, 20])
@pytest.mark.parametrize(
    "affinity", ["adaptive_neighbors", "nearest_neighbors", "self_tuning", "rbf"]
)
def test_new_samples_may_be_dense_or_sparse(affinity, n_features):
    X = np.random.default_rng(0).normal(size=(60, n_features))
    far = np.full((1, n_features), 1e3)  # kernels underflow to 0 there
    new = np.r_[X[:5] + 0.01, far]
    dense = SpectralClustering(3, affinity=affinity, random_state=0).fit(X)
    sparse = SpectralClustering(3, affinity=affinity, random_state=0).fit(sp.csr_array(X))
    labels = dense.predict(new)
    for model in (dense, sparse):
        np.testing.assert_array_equal(model.predict(sp.csr_array(new)), labels)
        np.testing.assert_array_equal(model.predict(new), labels)
