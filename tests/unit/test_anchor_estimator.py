"""The estimator on anchor graphs: attributes and methods for samples in any container."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import leastcut
from leastcut import AnchorSpectralClustering, SpectralClustering, anchor_graph
from leastcut.anchors.graph import AnchorGraph
from leastcut.anchors.problem import Table
from leastcut.estimators import anchor_spectral_clustering as module
from leastcut.validation import number_by_appearance

X = load_digits().data[:600]


def fitted(data=X, n_clusters=5, **options):
    parameters = {"n_anchors": 60, "effort": "fast", "random_state": 0, **options}
    return AnchorSpectralClustering(n_clusters, **parameters).fit(data)


@pytest.fixture(scope="module")
def model():
    return fitted()


# -- fitted attributes


def test_a_fit_equals_the_graph_and_its_partition(model):
    graph = anchor_graph(X, 60, random_state=0)
    partition = leastcut.partition(graph, 5, effort="fast", random_state=0)
    assert isinstance(model.affinity_matrix_, AnchorGraph)
    assert np.array_equal(model.affinity_matrix_.masses, graph.masses)
    assert np.array_equal(model.labels_, number_by_appearance(partition.labels))
    assert model.cut_value_ == pytest.approx(partition.cut_value, rel=1e-12)
    assert model.cut_value_ == leastcut.cut_value(graph, model.labels_)
    assert (model.n_clusters_, model.solver_, model.n_features_in_) == (5, "multilevel", 64)
    assert model.n_iter_ >= 1


def test_bound_and_eigenpairs_equal_those_of_the_explicit_graph(model):
    S = model.affinity_matrix_.to_sparse()
    assert model.lower_bound_ == pytest.approx(leastcut.lower_bound(S, 5), abs=1e-9)
    assert model.lower_bound_ <= model.cut_value_
    assert model.gap_ == pytest.approx(1.0 - model.lower_bound_ / model.cut_value_)
    E = model.embedding_
    assert E.shape == (600, 5)
    np.testing.assert_allclose(E.T @ E, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(E - S @ E, E * model.eigenvalues_, atol=1e-8)


def test_the_defaults_equal_those_of_the_graph():
    of_graph = inspect.signature(anchor_graph).parameters
    of_model = inspect.signature(AnchorSpectralClustering).parameters
    shared = {"n_anchors", "n_neighbors", "max_memory", "folder", "device", "n_jobs"}
    for name in shared:
        assert of_model[name].default == of_graph[name].default
    model = AnchorSpectralClustering(2, effort="fast").fit(load_iris().data)
    assert model.affinity_matrix_.n_neighbors == of_graph["n_neighbors"].default == 5


def test_neighbor_graphs_have_ten_neighbors_by_default():
    data = load_iris().data
    plain = SpectralClustering(3, random_state=0).fit(data)
    explicit = SpectralClustering(3, n_neighbors=10, random_state=0).fit(data)
    assert (plain.affinity_matrix_ != explicit.affinity_matrix_).nnz == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7])
def test_few_samples_have_few_anchors_and_weights(n):
    data = np.arange(float(n))[:, None] ** 2
    model = AnchorSpectralClustering(1, random_state=0).fit(data)
    graph = model.affinity_matrix_
    assert (graph.n_anchors, graph.n_neighbors) == (n, max(1, min(5, n - 1)))
    assert model.predict(data).tolist() == [0] * n
    assert model.embedding_.shape == (n, 1)


def test_insufficient_memory_raises(model, monkeypatch):
    monkeypatch.setattr("leastcut.memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="5 coordinates of 600 samples"):
        model.transform(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outputs_have_the_dtype_of_the_samples(dtype):
    model = fitted(load_wine().data.astype(dtype), 3)
    for array in (model.embedding_, model.transform(load_wine().data.astype(dtype))):
        assert array.dtype == dtype


def test_labels_are_numbered_by_appearance_for_late_clusters(monkeypatch):
    labels = np.concatenate([np.full(90, 2), [0], np.full(9, 1)]).astype(np.int32)
    for count in (1, 95, 1000):
        monkeypatch.setattr(module, "APPEARING", count)
        numbered = module.renumbered(labels, 3)
        assert numbered.dtype == np.int32
        assert np.array_equal(numbered, number_by_appearance(labels))


# -- new samples


def test_transform_of_training_samples_equals_the_embedding(model, monkeypatch):
    assert np.array_equal(model.transform(X), model.embedding_)
    monkeypatch.setattr(module, "NUMBERS", 64 * 7)
    assert np.array_equal(model.transform(X), model.embedding_)
    new = load_digits().data[600:700]
    assert np.array_equal(model.transform(new)[7:9], model.transform(new[7:9]))


def test_the_embedding_has_n_components_columns():
    more = fitted(n_components=8)
    assert more.embedding_.shape == (600, 8)
    assert more.eigenvalues_.size == 8
    assert more.lower_bound_ == pytest.approx(fitted().lower_bound_, abs=1e-9)
    assert len(more.get_feature_names_out()) == 8
    few = fitted(n_components=2)
    assert few.transform(X[:3]).shape == (3, 2)
    assert few.eigenvalues_.size == 5  # the bound needs them
    assert np.array_equal(few.labels_, more.labels_)


def test_the_embedding_has_at_most_as_many_columns_as_the_rank():
    # Two distinct points with four samples each: the rank is two.
    data = np.repeat([[0.0, 0.0], [1.0, 5.0]], 4, axis=0)
    model = fitted(data, 1, n_components=5, n_neighbors=1)
    assert model.embedding_.shape == (8, 2)
    assert np.isfinite(model.embedding_).all()


def test_scores_equal_cut_values_of_the_graph_with_new_samples(model):
    assert model.score() == model.score(X) == -model.cut_value_
    new = load_digits().data[700:720]
    labels = np.concatenate([model.labels_, model.predict(new)])
    graph = model.affinity_matrix_
    Z = sp.vstack([graph.weights, graph.nearest.block(new).to_sparse(graph.n_anchors)])
    member = sp.csr_array((np.ones(620), labels, np.arange(621)), shape=(620, 5))
    weights = (Z.T @ member).toarray()
    value = Table(weights, weights.sum(axis=1)).value
    assert model.score(new) == pytest.approx(-value, rel=1e-12)
    # In another order they are new samples; duplicating all samples hardly changes the value.
    assert model.score(X[::-1]) == pytest.approx(-model.cut_value_, rel=1e-2)


def test_predictions_do_not_depend_on_other_new_samples(model):
    new = load_digits().data[600:700]
    assert np.array_equal(model.predict(new)[::9], model.predict(new[::9]))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(new[:, :3])


# -- containers of samples


def forms(tmp_path):
    np.save(tmp_path / "x.npy", X)
    yield str(tmp_path / "x.npy")
    yield tmp_path / "x.npy"
    yield np.load(tmp_path / "x.npy", mmap_mode="r")
    try:
        import h5py

        file = h5py.File(tmp_path / "x.h5", "w")
        yield file.create_dataset("x", data=X)
    except ImportError:
        pass
    try:
        import zarr

        yield zarr.create_array(store=str(tmp_path / "x.zarr"), data=X)
    except ImportError:
        pass
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        frame = pa.table({f"x{i}": X[:, i] for i in range(64)})
        yield frame
        pq.write_table(frame, tmp_path / "x.parquet")
        yield tmp_path / "x.parquet"
    except ImportError:
        pass


def test_results_do_not_depend_on_the_container_of_samples(tmp_path, model):
    def refused(*_, **__):
        raise AssertionError("scikit-learn would load all samples")

    predicted = model.predict(X)
    for data in forms(tmp_path):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("leastcut.estimators.inputs.validate_data", refused)
            other = fitted(data)
            assert np.array_equal(other.labels_, model.labels_)
            assert other.n_features_in_ == 64
            assert np.array_equal(other.predict(data), predicted)
            assert np.array_equal(other.transform(data), model.embedding_)
            assert other.score(data) == -model.cut_value_
    np.save(tmp_path / "narrow.npy", X[:, :2])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(tmp_path / "narrow.npy")
    with pytest.raises(ValueError, match="n_samples=600 should be >= n_clusters=601"):
        fitted(tmp_path / "x.npy", 601)


def test_feature_names_are_those_of_the_last_fit(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(load_iris().data, columns=list("abcd"))
    model = fitted(frame, 3)
    assert model.feature_names_in_.tolist() == list("abcd")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)
    np.save(tmp_path / "x.npy", X)
    model.fit(tmp_path / "x.npy")
    assert not hasattr(model, "feature_names_in_")


def test_a_folder_is_resumed(tmp_path):
    first = fitted(folder=tmp_path / "run", random_state=None)
    resumed = fitted(folder=str(tmp_path / "run"), random_state=None)
    assert np.array_equal(first.labels_, resumed.labels_)
    assert first.cut_value_ == resumed.cut_value_
    with pytest.raises(ValueError, match="n_anchors"):
        fitted(folder=tmp_path / "run", random_state=None, n_anchors=50)
    assert fitted(max_memory="8GiB").cut_value_ == fitted().cut_value_
    with pytest.raises(ValueError, match="max_memory"):
        fitted(max_memory="much")


def test_tensors_can_be_fitted():
    torch = pytest.importorskip("torch")
    assert np.array_equal(fitted(torch.from_numpy(X)).labels_, fitted().labels_)


# -- scikit-learn conventions


def test_estimators_can_be_cloned_pickled_and_used_in_pipelines(model):
    copy = clone(model)
    assert copy.n_anchors == 60
    assert not hasattr(copy, "labels_")
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(restored.predict(X), model.predict(X))
    assert np.array_equal(restored.embedding_, model.embedding_)
    assert restored.lower_bound_ == model.lower_bound_
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert pipeline.fit(X).predict(X[:4]).shape == (4,)
    wide = make_pipeline(StandardScaler(), clone(model)).set_output(transform="pandas").fit(X)
    assert list(wide.transform(X[:2]).columns) == [f"anchorspectralclustering{k}" for k in range(5)]
    options = {"n_anchors": [30, 60], "n_neighbors": [3, 5]}
    search = GridSearchCV(clone(model), options, cv=2, error_score="raise").fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_labels_depend_on_the_seed_but_not_on_threads():
    one, other = fitted(n_jobs=1), fitted(n_jobs=2)
    assert np.array_equal(one.labels_, other.labels_)
    assert np.array_equal(one.labels_, fitted(random_state=np.int64(0)).labels_)
    labels = [fitted(random_state=np.random.RandomState(3)).labels_ for _ in range(2)]
    assert np.array_equal(*labels)


def test_more_effort_never_increases_the_cut():
    values = [fitted(effort=effort).cut_value_ for effort in ("fast", "auto", "balanced")]
    assert values == sorted(values, reverse=True)


def test_verbose_prints_progress(capsys):
    fitted(verbose=True)
    out = capsys.readouterr().out
    assert "600 samples connected by" in out
    assert "5 clusters, cut value" in out


def test_samples_are_not_changed():
    data = X.copy()
    fitted(data)
    assert np.array_equal(data, X)


# -- the number of clusters


@pytest.mark.filterwarnings("ignore:The evidence")
def test_auto_selects_the_number_of_partition_and_has_a_path():
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(size=(60, 2)) + 40.0 * k for k in range(3)])
    model = fitted(data, "auto", n_anchors=40, max_clusters=5)
    assert model.n_clusters_ == 3
    partition = leastcut.partition(model.affinity_matrix_, "auto", effort="fast", random_state=0)
    assert partition.labels.max() == 2
    path = model.cut_path_
    assert list(path) == [1, 2, 3, 4, 5]
    assert path.best == 3
    assert (np.diff(path.cut_values) >= 0).all()
    assert (path.lower_bounds <= path.cut_values + 1e-12).all()
    assert path[3].cut_value <= model.cut_value_
    for k in path:
        value = leastcut.cut_value(model.affinity_matrix_, path[k].labels)
        assert path[k].cut_value == pytest.approx(value, rel=1e-12)
        assert np.unique(path[k].labels).size == k
    pickle.loads(pickle.dumps(model))
    model.set_params(n_clusters=2, max_clusters=None).fit(data)
    assert not hasattr(model, "cut_path_")


def test_weak_evidence_warns_at_the_line_of_the_caller():
    with pytest.warns(UserWarning, match="The evidence for n_clusters") as caught:
        fitted(load_digits().data, "auto", n_anchors=300, max_clusters=12)
    assert caught[0].filename == __file__


# -- errors and warnings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_anchors": 4}, "n_anchors=4 should be >= n_clusters=5"),
        ({"n_clusters": 601}, "n_samples=600 should be >= n_clusters=601"),
        ({"max_clusters": 3}, "n_clusters=5 is more than max_clusters=3"),
        ({"max_memory": "much"}, "max_memory"),
        ({"n_anchors": 0}, "The 'n_anchors' parameter of AnchorSpectralClustering must be"),
        ({"n_neighbors": None}, "The 'n_neighbors' parameter of AnchorSpectralClustering must"),
        ({"max_memory": -1}, "The 'max_memory' parameter of AnchorSpectralClustering must be"),
        ({"folder": 3}, "The 'folder' parameter of AnchorSpectralClustering must be"),
        ({"effort": "lazy"}, "The 'effort' parameter of AnchorSpectralClustering must be"),
    ],
)
def test_invalid_options_raise_immediately(options, words, monkeypatch):
    def built(*_, **__):
        raise AssertionError("the graph was built")

    if "max_memory" not in options:  # which the graph validates
        monkeypatch.setattr(module, "anchor_graph", built)
    with pytest.raises(ValueError, match=words):
        AnchorSpectralClustering(**{"n_clusters": 5, **options}).fit(X)


@pytest.mark.parametrize(
    "options",
    [
        {"affinity": "rbf", "metric": "cosine"},
        {"affinity": "rbf", "neighbors": "exact"},
        {"affinity": "rbf", "n_neighbors": 10},
    ],
)
def test_options_without_effect_warn(options):
    with pytest.warns(UserWarning, match="has no effect") as caught:
        SpectralClustering(3, effort="fast", random_state=0, **options).fit(load_iris().data)
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (sp.csr_array(X), "sparse"),
        (np.ma.masked_array(X, X > 15), "masked"),
        (np.where(X > 15, np.nan, X), "NaN"),
        (X[0], "1D array|2-dimensional|Expected 2D"),
        ("nowhere.npy", "nowhere.npy"),
        ("samples.csv", "samples.csv"),
    ],
    ids=["sparse", "masked", "NaN", "one dimension", "no file", "no such format"],
)
def test_invalid_samples_raise(data, words):
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        fitted(data)


def test_a_proof_needs_edges(model):
    with pytest.raises(TypeError, match=r"A proof needs the edges.*affinity_matrix_\.to_sparse"):
        model.certify()
    certificate = leastcut.certify(model.affinity_matrix_.to_sparse(), model.labels_, time_limit=0)
    assert certificate.cut_value == pytest.approx(model.cut_value_)
    with pytest.raises(ValueError, match="no names of nodes"):
        model.by_node()
    with pytest.raises(TypeError, match="A proof needs the edges"):
        leastcut.certify(model.affinity_matrix_, model.labels_)
    with pytest.raises(NotFittedError):
        AnchorSpectralClustering().predict(X)


@pytest.mark.parametrize(
    "estimator",
    [
        AnchorSpectralClustering(3),
        SpectralClustering(3, affinity="precomputed"),
        SpectralClustering(3),
    ],
)
def test_an_anchor_graph_as_samples_raises(model, estimator):
    with pytest.raises(TypeError, match=r"leastcut\.partition, which cuts it as it is"):
        estimator.fit(model.affinity_matrix_)


# -- plots


def test_plots_that_do_not_need_edges_are_drawn(model):
    pytest.importorskip("matplotlib.pyplot")
    assert "5 clusters" in model.plot("embedding").get_title()
    assert "5 clusters" in model.plot("sizes").get_title()
    graph = model.affinity_matrix_
    assert "5 clusters" in leastcut.plot.sizes(model.labels_, graph).get_title()
    for kind in ("affinity", "graph"):
        with pytest.raises(
            (TypeError, ValueError), match=r"stores no edges|layout is computed for at most 500"
        ):
            model.plot(kind)
    with pytest.raises(ValueError, match="cut_path_"):
        model.plot("evidence")


def test_plots_equal_those_of_the_explicit_graph(model):
    pytest.importorskip("matplotlib")
    from leastcut.plot.clusters import clusters_of

    plotted = clusters_of(model)
    expected = clusters_of(model.labels_, model.affinity_matrix_.to_sparse())
    np.testing.assert_allclose(plotted.terms, expected.terms, rtol=1e-9)
    np.testing.assert_allclose(plotted.between, expected.between, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plotted.weights, expected.weights, rtol=1e-9)
    rows, expected = plotted.eigenvector_rows, expected.eigenvector_rows
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=1e-7)
