"""SpectralClustering: cut values, number of clusters, determinism, degenerate data."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, knn_graph
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from threadpoolctl import threadpool_limits

from leastcut import (
    DISCRETIZERS,
    EFFORTS,
    SpectralClustering,
    cut_path,
    cut_value,
    lower_bound,
    partition,
)

ALL_LABELINGS = [*DISCRETIZERS, "discretize"]


def two_cliques(n_isolated: int = 0) -> np.ndarray:
    S = np.zeros((10 + n_isolated, 10 + n_isolated))
    S[:5, :5] = S[5:10, 5:10] = 1.0
    S[4, 5] = S[5, 4] = 0.1
    return S


# -- cut value and lower bound


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("solver", ["spectral", "multilevel"])
@given(graph=graphs(min_nodes=3), seed=st.integers(0, 100))
def test_the_cut_value_is_that_of_the_labels_and_above_the_bound(cut, solver, graph, seed):
    model = SpectralClustering(
        2, affinity="precomputed", cut=cut, solver=solver, random_state=seed
    ).fit(graph)
    assert model.cut_value_ == pytest.approx(cut_value(graph, model.labels_, cut))
    assert model.lower_bound_ <= model.cut_value_
    assert model.lower_bound_ == pytest.approx(lower_bound(graph, 2, cut), abs=1e-7)
    assert 0.0 <= model.gap_ <= 1.0
    assert model.solver_ == solver


@pytest.mark.parametrize("distance", [3, 10, 26, 27, 100])
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_kernels_of_distant_blobs(cut, distance):
    # Affinities from 1 down to denormals and 0.
    X = np.random.default_rng(0).normal(scale=0.3, size=(60, 2))
    X[20:40, 0] += distance
    X[40:, 1] += distance
    planted = np.repeat([0, 1, 2], 20)
    merged = {2: np.minimum(planted, 1), 3: planted, 4: planted + (np.arange(60) == 0) * 3}
    for n_clusters, labels in merged.items():
        model = SpectralClustering(n_clusters, affinity="rbf", cut=cut, random_state=0).fit(X)
        known = cut_value(model.affinity_matrix_, labels, cut)
        assert 0 <= model.lower_bound_ <= min(known, model.cut_value_)
        assert model.cut_value_ == cut_value(model.affinity_matrix_, model.labels_, cut)
        assert model.cut_value_ <= known
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_node_weights_are_a_cut(blobs):
    X, _ = blobs
    weights = np.linspace(1, 2, 90)
    model = SpectralClustering(3, cut=weights, random_state=0).fit(X)
    assert model.cut_value_ == pytest.approx(
        cut_value(model.affinity_matrix_, model.labels_, weights)
    )
    with pytest.raises(ValueError, match="one weight per node"):
        SpectralClustering(3, cut=weights[:-1]).fit(X)


def test_multilevel_is_partition(blobs):
    X, _ = blobs
    model = SpectralClustering(4, random_state=5, effort="balanced").fit(X)
    result = partition(model.affinity_matrix_, 4, random_state=5)
    assert model.cut_value_ == result.cut_value
    assert adjusted_rand_score(result.labels, model.labels_) == 1


def test_refinement_never_makes_the_cut_larger(blobs):
    X, _ = blobs
    for assign_labels in ALL_LABELINGS:
        plain, refined = (
            SpectralClustering(
                5, assign_labels=assign_labels, solver="spectral", refine=refine, random_state=0
            ).fit(X)
            for refine in (False, True)
        )
        assert refined.cut_value_ <= plain.cut_value_


def test_embedding_and_eigenvalues_are_computed_on_first_access(blobs):
    X, _ = blobs
    model = SpectralClustering(3, random_state=0).fit(X)
    assert model._fitted.known is None
    assert "relaxation" not in vars(model._fitted)
    assert model.embedding_.shape == (90, 3)
    assert model.eigenvalues_.shape == (3,)
    assert model.embedding_ is model.embedding_
    wide = SpectralClustering(3, n_components=5, random_state=0).fit(X)
    assert wide.embedding_.shape == (90, 5)
    narrow = SpectralClustering(3, n_components=2, random_state=0).fit(X)
    assert narrow.embedding_.shape == (90, 2)
    assert narrow.eigenvalues_.shape == (3,)  # the bound needs them


@pytest.mark.parametrize("eigen_solver", ["arpack", "lobpcg", "amg"])
def test_every_eigensolver_finds_the_same_eigenvalues(eigen_solver):
    if eigen_solver == "amg":
        pytest.importorskip("pyamg")
    X, _ = make_moons(400, noise=0.05, random_state=0)
    reference = SpectralClustering(4, solver="spectral", random_state=0).fit(X)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    models = [
        SpectralClustering(4, eigen_solver=eigen_solver, random_state=0).fit(X) for _ in range(2)
    ]
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.testing.assert_allclose(models[0].eigenvalues_, reference.eigenvalues_, atol=1e-6)
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)


# -- exactly n_clusters labels


@pytest.mark.parametrize("assign_labels", ALL_LABELINGS)
@pytest.mark.parametrize("n_components", [1, 2, 3, 6])
@pytest.mark.parametrize("refine", [False, True])
def test_the_number_of_labels_is_n_clusters_for_any_n_components(
    blobs, assign_labels, n_components, refine
):
    X, _ = blobs
    model = SpectralClustering(
        3, n_components=n_components, assign_labels=assign_labels, refine=refine, random_state=0
    ).fit(X)
    assert set(model.labels_) == {0, 1, 2}


def test_a_wide_embedding_still_finds_the_groups(blobs):
    X, y = blobs
    for assign_labels in ALL_LABELINGS:
        model = SpectralClustering(
            3, n_components=6, assign_labels=assign_labels, random_state=0
        ).fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1


# -- determinism


@pytest.mark.parametrize("solver", ["spectral", "multilevel"])
@pytest.mark.parametrize("n_clusters", [3, 7])
def test_a_seed_determines_the_labels_on_any_number_of_threads(solver, n_clusters):
    X, _ = make_blobs(300, centers=4, cluster_std=0.3, random_state=1)
    labels = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            model = SpectralClustering(
                n_clusters, solver=solver, random_state=0, n_jobs=threads
            ).fit(X)
        labels.append(model.labels_)
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[1], labels[2])


def test_random_state_is_that_of_scikit_learn(blobs):
    X, _ = blobs
    first = SpectralClustering(7, random_state=np.random.RandomState(0)).fit(X)
    second = SpectralClustering(7, random_state=np.random.RandomState(0)).fit(X)
    np.testing.assert_array_equal(first.labels_, second.labels_)


# -- disconnected graphs and isolated nodes


def test_components_are_found_without_a_warning():
    X, y = make_blobs(80, centers=[[0, 0], [50, 0], [0, 50], [50, 50]], random_state=0)
    for settings in ({}, {"solver": "spectral"}, {"affinity": "nearest_neighbors"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = SpectralClustering(4, random_state=0, **settings).fit(X)
        assert model.cut_value_ == 0.0
        assert model.gap_ == 0.0
        assert adjusted_rand_score(y, model.labels_) == 1


@pytest.mark.parametrize("cut", ["normalized", "ratio", "weights"])
@pytest.mark.parametrize("solver", ["spectral", "multilevel"])
def test_isolated_nodes_get_a_label_and_one_warning(cut, solver):
    S = two_cliques(n_isolated=3)
    chosen = np.ones(13) if cut == "weights" else cut
    model = SpectralClustering(2, affinity="precomputed", cut=chosen, solver=solver, random_state=0)
    with pytest.warns(UserWarning, match="3 of 13 nodes have no edges") as caught:
        model.fit(sp.csr_array(S))
    assert len(caught) == 1
    assert set(model.labels_[:5]) != set(model.labels_[5:10])
    assert set(model.labels_) == {0, 1}
    assert model.lower_bound_ <= model.cut_value_
    assert model.embedding_.shape == (13, 2)
    if cut != "normalized":
        assert model.cut_value_ == pytest.approx(cut_value(S, model.labels_, chosen))


@pytest.mark.parametrize("solver", ["spectral", "multilevel"])
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize(("n_connected", "n_isolated", "n_clusters"), [(3, 2, 4), (2, 2, 3)])
def test_isolated_nodes_as_clusters(cut, solver, n_connected, n_isolated, n_clusters):
    """With fewer connected nodes than clusters, the embedding has one column per connected node."""
    n = n_connected + n_isolated
    S = np.zeros((n, n))
    S[:n_connected, :n_connected] = 1 - np.eye(n_connected)
    model = SpectralClustering(
        n_clusters, affinity="precomputed", cut=cut, solver=solver, random_state=0
    )
    with pytest.warns(UserWarning, match="no edges"):
        model.fit(S)
    assert set(model.labels_) == set(range(n_clusters))
    assert model.eigenvalues_.shape == (n_connected,)
    assert model.embedding_.shape == (n, n_connected)
    assert np.linalg.matrix_rank(model.embedding_) == n_connected
    assert not model.embedding_[n_connected:].any()
    assert model.predict(np.zeros((1, n))).shape == (1,)


def test_a_graph_of_isolated_nodes_only():
    with pytest.warns(UserWarning, match="5 of 5 nodes have no edges"):
        model = SpectralClustering(3, affinity="precomputed").fit(np.zeros((5, 5)))
    assert set(model.labels_) == {0, 1, 2}
    assert model.cut_value_ == 0.0
    assert model.predict(np.zeros((2, 5))).shape == (2,)


# -- sparse graphs and input arrays


def test_a_sparse_graph_stays_sparse_and_is_not_copied():
    S = knn_graph(make_moons(200, noise=0.05, random_state=0)[0])
    S.sort_indices()
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(S)
    assert sp.issparse(model.affinity_matrix_)
    assert np.shares_memory(model.affinity_matrix_.data, S.data)


def test_long_indices_work_and_inputs_are_not_changed():
    S = knn_graph(make_moons(100, noise=0.05, random_state=0)[0])
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    before = S.copy()
    for array in (S.data, S.indices, S.indptr):
        array.flags.writeable = False
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(S)
    assert (before != S).nnz == 0
    assert S.indices.dtype == np.int64
    assert set(model.labels_) == {0, 1}


def test_float32_is_kept_where_it_is_safe(blobs):
    X, y = blobs
    small = X.astype(np.float32)
    model = SpectralClustering(3, affinity="rbf", random_state=0).fit(small)
    assert model.affinity_matrix_.dtype == np.float32
    assert model.embedding_.dtype == np.float32
    assert adjusted_rand_score(y, model.labels_) == 1
    graph = knn_graph(X).astype(np.float32)
    given = SpectralClustering(3, affinity="precomputed", random_state=0).fit(graph)
    assert given.affinity_matrix_.dtype == np.float32


def test_peak_memory_is_at_most_three_times_the_graph():
    X, _ = make_blobs(20_000, centers=8, random_state=0)
    S = knn_graph(X, 30)
    size = S.data.nbytes + S.indices.nbytes + S.indptr.nbytes
    SpectralClustering(8, affinity="precomputed", random_state=0).fit(S[:, :])  # compiles
    tracemalloc.start()
    SpectralClustering(8, affinity="precomputed", random_state=0).fit(S)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3 * size


def test_an_asymmetric_graph_is_averaged_with_a_warning():
    from sklearn.neighbors import kneighbors_graph

    directed = kneighbors_graph(make_moons(60, random_state=0)[0], 5)
    for matrix in (directed, directed.toarray()):
        with pytest.warns(UserWarning, match="not symmetric"):
            model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(matrix)
        difference = model.affinity_matrix_ - model.affinity_matrix_.T
        assert abs(difference).max() == 0


# -- small, equal and constant data


@pytest.mark.parametrize("solver", ["spectral", "multilevel"])
@pytest.mark.parametrize(
    "affinity", ["adaptive_neighbors", "nearest_neighbors", "self_tuning", "rbf"]
)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples(solver, affinity, n):
    X = np.array([[0.0, 1.0], [1.0, 1.0], [5.0, 2.0]])[:n]
    for k in range(1, n + 1):
        model = SpectralClustering(k, affinity=affinity, solver=solver, random_state=0).fit(X)
        assert set(model.labels_) == set(range(k))
        assert model.predict(X).shape == (n,)
        assert model.lower_bound_ <= model.cut_value_
    assert SpectralClustering("auto", affinity=affinity).fit(X).n_clusters_ <= n


@pytest.mark.parametrize("solver", ["spectral", "multilevel"])
@pytest.mark.parametrize(
    "X",
    [
        np.ones((20, 3)),
        np.repeat(np.eye(3), 8, axis=0),
        np.arange(20.0)[:, None],
        np.r_[np.zeros((19, 2)), [[1e6, 1e6]]],
    ],
    ids=["constant", "duplicates", "one feature", "outlier"],
)
def test_degenerate_data(solver, X):
    n = X.shape[0]
    for k in (1, 2, 5, n):
        model = SpectralClustering(k, solver=solver, random_state=0).fit(X)
        assert set(model.labels_) == set(range(k))
        assert np.isfinite(model.cut_value_)


# -- distances passed by mistake


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_features", [2, 30])
def test_distances_give_a_warning_with_the_remedy(power, container, n_features):
    X, _ = make_blobs(40, n_features=n_features, random_state=0)
    distances = euclidean_distances(X) ** power
    np.fill_diagonal(distances, 0.0)
    matrix = container(distances)
    with pytest.warns(
        UserWarning, match=r"looks like a distance matrix.*precomputed_nearest_neighbors"
    ):
        SpectralClustering(3, affinity="precomputed", random_state=0).fit(matrix)
    with pytest.warns(UserWarning, match="looks like a distance matrix"):
        cut_path(matrix, [2, 3], affinity="precomputed", random_state=0)


@pytest.mark.parametrize("left", [1, 7])
def test_a_graph_that_could_be_distances_is_cut(left):
    """A star and a complete bipartite graph are pseudometrics too, dense or sparse."""
    S = np.zeros((14, 14))
    S[:left, left:] = S[left:, :left] = 1.0
    result = []
    for matrix in (S, sp.csr_array(S)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(matrix)
        result.append((model.labels_.tolist(), [str(one.message) for one in caught]))
    assert result[0] == result[1]
    assert set(result[0][0]) == {0, 1}


@given(seed=st.integers(0, 10_000), n=st.integers(6, 30))
def test_affinities_without_a_diagonal_are_not_mistaken_for_distances(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    for S in (rbf_kernel(X, gamma=0.5), np.ones((n, n)), 1 / (1 + euclidean_distances(X))):
        S = S.copy()
        np.fill_diagonal(S, 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SpectralClustering(2, affinity="precomputed", random_state=0).fit(S)


# -- choice of the solver


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("n_init", [1, 5, 10]),
        ("assign_labels", ["first_order", "kmeans"]),
        ("eigen_tol", ["auto", 1e-4]),
        ("n_components", [2, 3, 4]),
        ("eta", ["auto", 0.1]),
        ("refine", [True, False]),
    ],
)
def test_every_value_of_a_spectral_parameter_runs_the_spectral_solver(blobs, parameter, values):
    """A grid search over the parameter compares values, not solvers."""
    for value in values:
        model = SpectralClustering(3, random_state=0, **{parameter: value}).fit(blobs[0])
        assert model.solver_ == "spectral"


def test_the_multilevel_solver_runs_by_default(blobs):
    assert SpectralClustering(3, random_state=0).fit(blobs[0]).solver_ == "multilevel"
    for effort in EFFORTS:
        model = SpectralClustering(3, effort=effort, random_state=0).fit(blobs[0])
        assert model.solver_ == "multilevel"


def test_more_components_than_considered_clusters(blobs):
    settings = {"n_components": 12, "max_clusters": 4, "random_state": 0}
    model = SpectralClustering("auto", **settings).fit(blobs[0])
    assert model.embedding_.shape == (90, 12)
    assert model.n_clusters_ <= 4


def test_n_jobs_does_not_change_the_labels(blobs):
    X, _ = make_blobs(3000, centers=6, random_state=0)
    labels = [
        SpectralClustering(6, effort="balanced", n_jobs=n_jobs, random_state=0).fit(X).labels_
        for n_jobs in (1, 2, -1)
    ]
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])


# -- progress


def test_verbose_logs_the_steps_and_is_off_by_default(blobs, capsys):
    X, _ = blobs
    SpectralClustering(3, random_state=0).fit(X)
    assert capsys.readouterr().out == ""
    SpectralClustering(3, verbose=True, random_state=0).fit(X)
    caught = capsys.readouterr().out
    assert "Computing label assignment using multilevel" in caught
    assert "cut value" in caught
    SpectralClustering(3, verbose=True, assign_labels="kmeans", random_state=0).fit(X)
    assert "Computing label assignment using kmeans" in capsys.readouterr().out
