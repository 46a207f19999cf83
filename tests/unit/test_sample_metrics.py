"""Non-Euclidean metrics: graphs equal those of scikit-learn's pairwise distances."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score, pairwise_distances

import leastcut
from leastcut import AFFINITIES, SpectralClustering, cut_path
from leastcut.affinity.neighbors import pairs
from leastcut.affinity.neighbors.index import NeighborIndex
from leastcut.affinity.neighbors.metrics import METRICS, _unit_rows_on_gpu, unit_rows

ANGLES = ("cosine", "correlation")
GRAPHS = ("adaptive_neighbors", "nearest_neighbors", "self_tuning")
PARAMS = {"minkowski": {"p": 3}}


def same_partition(labels, expected) -> bool:
    return adjusted_rand_score(labels, expected) == 1.0


def squared(X: np.ndarray, metric: str, Y: np.ndarray | None = None, **params) -> np.ndarray:
    """Return the squared distances of a graph, from scikit-learn's pairwise distances."""
    if METRICS[metric].is_boolean:
        X, Y = X != 0, Y if Y is None else Y != 0
    D = pairwise_distances(X, Y, metric=metric, **params)
    if metric in ANGLES:
        return 2 * D
    return D if metric == "sqeuclidean" else D**2


def nearest(D: np.ndarray, count: int) -> np.ndarray:
    """Return the samples at the smallest distances of every row, ties by index."""
    return np.argsort(D, axis=1, kind="stable")[:, :count]


def brute_graph(name: str, D: np.ndarray, k: int) -> np.ndarray:
    """Return a neighbor graph by its definition, from squared distances."""
    n = D.shape[0]
    others = D.copy()
    np.fill_diagonal(others, np.inf)
    if name == "self_tuning":
        order = nearest(others, max(k, 7))
        scale = np.sqrt(np.take_along_axis(others, order, 1)[:, 6])
        S = np.zeros((n, n))
        for i in range(n):
            for j in order[i, :k]:
                with np.errstate(divide="ignore"):
                    S[i, j] = np.exp(-D[i, j] / (scale[i] * scale[j])) if D[i, j] > 0 else 1.0
        return np.maximum(np.maximum(S, S.T), np.where((S > 0) | (S.T > 0), 2.0**-1022, 0.0))
    S = np.zeros((n, n))
    order = nearest(others, k)
    for i in range(n):
        if name == "nearest_neighbors":
            S[i, [i, *order[i, : k - 1]]] = 1.0
            continue
        t = others[i, order[i, k - 1]]
        gaps = np.array([t, *(t - others[i, order[i, : k - 1]])])
        total = gaps.sum()
        S[i, [i, *order[i, : k - 1]]] = gaps / total if total > 0 else 1 / k
    return (S + S.T) / 2


def samples(metric: str, n: int = 40, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if metric == "haversine":
        return rng.uniform(-1.0, 1.0, (n, 2))
    if METRICS[metric].is_boolean or metric == "hamming":
        return rng.integers(0, 3, (n, 12)).astype(float)
    return rng.normal(size=(n, 6))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("metric", METRICS)
def test_graphs_equal_those_of_pairwise_distances(name, metric):
    X, params = samples(metric), PARAMS.get(metric, {})
    graph = getattr(leastcut, f"{name}_graph")(X, 8, metric=metric, metric_params=params or None)
    expected = brute_graph(name, squared(X, metric, **params), 8)
    np.testing.assert_allclose(graph.toarray(), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_sparse_samples_give_the_dense_graph(metric):
    X = samples(metric)
    X[np.random.default_rng(1).random(X.shape) < 0.4] = 0.0
    X[X.any(axis=1) == 0] = 1.0
    X[:, 0] += np.arange(40) % 7 + 1.0  # no row is zero or constant
    dense = leastcut.adaptive_neighbors_graph(X, metric=metric)
    for kind in (sp.csr_array, sp.csc_matrix):
        graph = leastcut.adaptive_neighbors_graph(kind(X), metric=metric)
        np.testing.assert_allclose(graph.toarray(), dense.toarray(), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "hamming", "jaccard", "canberra"])
@settings(max_examples=draws(15))
@given(seed=st.integers(0, 10_000), offset=st.sampled_from([0.0, 0.5, 2.0]))
def test_ties_are_broken_by_index(metric, seed, offset):
    X = np.random.default_rng(seed).integers(0, 3, (30, 3)).astype(float)
    D = squared(X, metric)
    np.fill_diagonal(D, np.inf)
    near = NeighborIndex(X, metric=metric).neighborhoods(5, offset)
    order = nearest(D, 29)
    for i in range(30):
        within = [
            j for r, j in enumerate(order[i]) if r < 5 or D[i, j] < D[i, order[i, 4]] + offset
        ]
        part = slice(near.indptr[i], near.indptr[i + 1])
        assert near.indices[part].tolist() == within
        np.testing.assert_array_equal(near.squared[part], D[i, within])


@pytest.mark.parametrize("metric", [name for name in METRICS if METRICS[name].has_tree])
def test_a_ball_tree_gives_the_lists_of_all_pairs(metric, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-1.5, 1.5, (300, 2)), 1)  # many ties
    all_pairs = NeighborIndex(X, metric=metric)
    by_pairs, new_by_pairs = all_pairs.neighborhoods(6, 0.02), all_pairs.nearest(X[:50] + 0.05, 6)
    monkeypatch.setattr(pairs, "TREE_SAMPLES", 100)
    tree = NeighborIndex(X, metric=metric)
    by_tree, new_by_tree = tree.neighborhoods(6, 0.02), tree.nearest(X[:50] + 0.05, 6)
    assert by_pairs.search.method == "pairs"
    assert by_tree.search.method == "ball tree"
    if metric in ("canberra", "minkowski", "haversine"):  # rounding differs
        np.testing.assert_allclose(new_by_tree[1], new_by_pairs[1], atol=1e-12)
        return
    for value, expected in zip(by_tree.__dict__.values(), by_pairs.__dict__.values(), strict=True):
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(new_by_tree, new_by_pairs)


@pytest.mark.parametrize("metric", METRICS)
def test_new_samples_use_the_same_metric(metric):
    X, new = samples(metric), samples(metric, 10, seed=1)
    params = {"V": np.var(X, axis=0, ddof=1)} if metric == "seuclidean" else {}
    if metric == "mahalanobis":
        params = {"VI": np.linalg.inv(np.cov(X.T))}
    D = squared(new, metric, X, **params)
    order = nearest(D, 8)
    _, distances = NeighborIndex(X, metric=metric).nearest(new, 8)
    np.testing.assert_allclose(distances, np.take_along_axis(D, order, 1), atol=1e-12)
    for name in GRAPHS:
        rows = AFFINITIES[name].rows(X, n_neighbors=8, metric=metric)
        copy = pickle.loads(pickle.dumps(rows))
        assert (rows(new) != copy(new)).nnz == 0
        # Rows do not depend on the batch.
        for i in (0, 9):
            assert (rows(new[i : i + 1]) != rows(new)[i : i + 1]).nnz == 0
        entries = rows(new).toarray()
        assert entries.min() >= 0
        is_near = np.sort(D, axis=1)[:, 7] >= np.where(entries > 0, D, 0).max(axis=1) - 1e-9
        assert is_near.all() or name == "self_tuning"


# -- angular metrics


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("n_features", [3, 60])
def test_cosine_graphs_do_not_depend_on_lengths(name, n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_features))
    build = getattr(leastcut, f"{name}_graph")
    graph = build(X, metric="cosine")
    for exponents in (rng.integers(-40, 40, 60), rng.integers(-900, 900, 60)):
        scaled = build(np.ldexp(X, exponents[:, None]), metric="cosine")
        assert (scaled != graph).nnz == 0
    other = build(X * rng.uniform(0.1, 9.0, (60, 1)), metric="cosine")
    np.testing.assert_allclose(other.toarray(), graph.toarray(), atol=1e-9)
    # Euclidean distances of unit rows.
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(build(unit).toarray(), graph.toarray(), atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_correlation_graphs_do_not_depend_on_shifts_and_lengths(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    graph = leastcut.adaptive_neighbors_graph(kind(X), metric="correlation")
    moved = X * rng.uniform(0.1, 9.0, (60, 1)) + rng.normal(size=(60, 1))
    other = leastcut.adaptive_neighbors_graph(kind(moved), metric="correlation")
    np.testing.assert_allclose(other.toarray(), graph.toarray(), atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("metric", ANGLES)
@pytest.mark.parametrize("name", GRAPHS)
def test_degenerate_rows_are_equal_and_orthogonal_to_others(metric, name, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X[[3, 17, 29]] = 0.0 if metric == "cosine" else np.array([[0.1], [-3.0], [0.0]])
    with np.errstate(invalid="ignore"):
        D = squared(X, metric)
    degenerate = np.array([3, 17, 29])
    D[degenerate] = D[:, degenerate] = 2.0
    D[np.ix_(degenerate, degenerate)] = 0.0
    build = getattr(leastcut, f"{name}_graph")
    with pytest.warns(
        UserWarning, match=rf"{metric!r}: 3 of 40 samples.*first: sample 3.*orthogonal"
    ):
        graph = build(kind(X), 8, metric=metric).toarray()
    assert np.isfinite(graph).all()
    assert (graph[np.ix_(degenerate, degenerate)] > 0).sum() >= 6
    others = np.setdiff1d(np.arange(40), degenerate)
    expected = brute_graph(name, D, 8)
    # All other samples are equally far from a degenerate row, so ties are broken by index.
    np.testing.assert_allclose(graph, expected, rtol=1e-7, atol=1e-10)
    rows = AFFINITIES[name].rows(kind(X), n_neighbors=8, metric=metric)
    new = np.vstack([np.zeros(5), X[5]])
    weights = rows(kind(new)).toarray()
    assert (weights[0, degenerate] > 0).all()
    without = AFFINITIES[name].rows(kind(X[others]), n_neighbors=8, metric=metric)
    assert np.flatnonzero(without(kind(new)).toarray()[0]).max() < 9  # all are equal


@settings(max_examples=draws(10))
@given(seed=st.integers(0, 10_000), metric=st.sampled_from(ANGLES))
def test_angles_of_equal_and_orthogonal_rows_are_exact(seed, metric):
    """No weight is due to rounding errors."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (40, 3)) * rng.choice([0.1, 0.3, 7.0], (40, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (np.asarray, sp.csr_array, np.float32):
            for name in GRAPHS:
                graph = getattr(leastcut, f"{name}_graph")(kind(X), 6, metric=metric)
                assert np.isfinite(graph.data).all()
                assert graph.data.min() > 0
            near = NeighborIndex(kind(X), metric=metric).neighborhoods(6)
            assert not np.any((near.squared > 0) & (near.squared < 1e-6))
            assert not np.any((near.squared != 2) & (np.abs(near.squared - 2) < 1e-6))


def test_single_precision_is_kept_and_gives_the_same_neighbors():
    X = np.random.default_rng(0).normal(size=(200, 30)).astype(np.float32)
    index = NeighborIndex(X, metric="cosine")
    assert index.points.dtype == np.float32
    single = leastcut.nearest_neighbors_graph(X, metric="cosine")
    double = leastcut.nearest_neighbors_graph(X.astype(float), metric="cosine")
    assert abs(single - double).sum() <= 0.001 * double.sum()


@pytest.mark.parametrize("metric", ANGLES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows_of_tensors_equal_those_of_arrays(metric, dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(50, 7)) * 10.0 ** rng.integers(-30, 30, (50, 1))).astype(dtype)
    X[3], X[4] = 0.0, 2.5
    array, tensor = unit_rows(X, metric), _unit_rows_on_gpu(torch.tensor(X), metric)
    np.testing.assert_array_equal(array.is_degenerate, tensor.is_degenerate)
    assert tensor.points.numpy().dtype == dtype
    np.testing.assert_allclose(tensor.points.numpy(), array.points, atol=4 * np.finfo(dtype).eps)


# -- from samples to labels

TOPICS = {
    "sea": "ship sail wave harbour captain anchor tide fish storm deck",
    "kitchen": "bread oven flour salt butter soup pepper knife onion sugar",
    "forest": "tree leaf root moss deer owl branch bark fern mushroom",
}


def documents(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 3, n)
    words = [text.split() for text in TOPICS.values()]
    noise = ["the", "a", "of", "and", "to"]
    texts = [" ".join([*rng.choice(words[t], 12), *rng.choice(noise, 6)]) for t in topics]
    return texts, topics


@pytest.mark.parametrize("metric", ANGLES)
@pytest.mark.parametrize("affinity", GRAPHS)
def test_sparse_text_can_be_fitted_predicted_and_scored(metric, affinity):
    texts, topics = documents(120, 0)
    new_texts, new_topics = documents(40, 1)
    vectors = TfidfVectorizer(sublinear_tf=True)
    X, new = vectors.fit_transform(texts), vectors.transform(new_texts)
    model = SpectralClustering(3, affinity=affinity, metric=metric, random_state=0)
    labels = model.fit_predict(X)
    assert same_partition(labels, topics)
    predicted = model.predict(new)
    assert same_partition(np.r_[labels, predicted], np.r_[topics, new_topics])
    assert model.transform(new).shape == (40, 3)
    assert np.isfinite(model.score(new))


def test_sparse_text_is_never_made_dense():
    """With a million columns, dense rows would take 16 GB."""
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 10**6), density=1e-5, rng=rng, format="csr")
    groups = sp.csr_array(np.kron(np.eye(4), rng.random((500, 5))))
    X = sp.hstack([groups, X], format="csr")
    for metric in ANGLES:
        tracemalloc.start()
        graph = leastcut.adaptive_neighbors_graph(X, metric=metric, n_jobs=1)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 500e6
        assert graph.shape == (2000, 2000)


def test_cosine_clusters_signed_embeddings():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(4, 50))
    y = rng.integers(0, 4, 300)
    X = (centers[y] + 0.5 * rng.normal(size=(300, 50))) * rng.lognormal(sigma=2.0, size=(300, 1))
    assert X.min() < 0
    model = SpectralClustering(4, metric="cosine", random_state=0).fit(X[:250])
    assert model.affinity_matrix_.data.min() > 0
    assert same_partition(model.labels_, y[:250])
    assert same_partition(np.r_[model.labels_, model.predict(X[250:])], y)
    path = cut_path(X, [2, 4, 6], metric="cosine", random_state=0)
    assert same_partition(path[4].labels, y)
    # Euclidean distances are dominated by the lengths.
    assert not same_partition(SpectralClustering(4, random_state=0).fit_predict(X), y)


def test_a_function_of_two_samples_is_a_metric():
    X = np.random.default_rng(0).normal(size=(60, 3))

    def distance(x, y, power=1.0):
        return float(np.abs(x - y).sum() ** power)

    graph = leastcut.adaptive_neighbors_graph(X, metric=distance)
    named = leastcut.adaptive_neighbors_graph(X, metric="manhattan")
    np.testing.assert_allclose(graph.toarray(), named.toarray(), atol=1e-12)
    model = SpectralClustering(2, metric=distance, random_state=0).fit(X)
    plain = SpectralClustering(2, metric="manhattan", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X + 0.1), plain.predict(X + 0.1))
    wider = {"metric_params": {"power": 2.0}}
    other = SpectralClustering(2, metric=distance, kernel_params=wider, random_state=0).fit(X)
    assert abs(other.affinity_matrix_ - model.affinity_matrix_).max() > 0.01


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "jaccard", "haversine"])
def test_results_do_not_depend_on_threads_and_samples_are_not_changed(metric):
    X = samples(metric, 500)
    before = X.copy()
    one, two = (leastcut.adaptive_neighbors_graph(X, metric=metric, n_jobs=n) for n in (1, 2))
    assert (one != two).nnz == 0
    np.testing.assert_array_equal(X, before)


def test_memory_is_linear_in_the_number_of_samples(monkeypatch):
    X = np.random.default_rng(0).random((3000, 20))
    tracemalloc.start()
    leastcut.adaptive_neighbors_graph(X, metric="chebyshev", n_jobs=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A few blocks of 16 MiB; all pairs would take 72 MB, and their order another 72 MB.
    assert peak < 120e6
    monkeypatch.setattr(pairs, "BLOCK", 2**15)
    tracemalloc.start()
    leastcut.adaptive_neighbors_graph(X, metric="chebyshev", n_jobs=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


# -- errors


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"metric": "cosin"},
            r"metric='cosin' is not known; choose one of 'euclidean', 'l2'.*'cosine'",
        ),
        ({"metric": 3}, r"metric=3 is not known"),
        ({"metric": np.eye(2)}, r"is not known; choose one of"),
        ({"metric": "precomputed"}, r"affinity='precomputed_nearest_neighbors'"),
        ({"metric": "nan_euclidean"}, r"fill in the missing values"),
        ({"metric": "cosine", "metric_params": {"p": 2}}, r"'cosine' has no parameters"),
        ({"metric_params": {"p": 2}}, r"'euclidean' has no parameters"),
        ({"metric": "haversine"}, r"two columns.*X has 3"),
        ({"metric": "manhattan", "neighbors": "approximate"}, r"searched exactly.*Leave neighbors"),
        ({"metric": "manhattan", "device": "cuda"}, r"device='cuda' supports only dense samples"),
        ({"metric": lambda x, y: -1.0}, r"negative, infinite or NaN"),
        ({"metric": lambda x, y: float("nan")}, r"negative, infinite or NaN"),
        ({"metric": lambda x, y: 1e200}, r"overflow or vanish.*1e\+200.*Scale X"),
    ],
)
@pytest.mark.parametrize("name", GRAPHS)
def test_errors_state_the_value_and_the_remedy(name, parameters, words):
    X = np.random.default_rng(0).random((20, 3))
    with pytest.raises(ValueError, match=words):
        getattr(leastcut, f"{name}_graph")(X, **parameters)


def test_metrics_of_constant_columns_raise():
    X = np.random.default_rng(0).random((20, 3))
    X[:, 1] = 1.0
    with pytest.raises(ValueError, match=r"variances.*column 1 has variance 0"):
        leastcut.adaptive_neighbors_graph(X, metric="seuclidean")
    with pytest.raises(ValueError, match=r"inverts the covariance"):
        leastcut.adaptive_neighbors_graph(X, metric="mahalanobis")
    with pytest.raises(TypeError, match=r"metric_params=3 must be a dict"):
        leastcut.adaptive_neighbors_graph(X, metric="minkowski", metric_params=3)


def test_the_estimator_and_cut_path_reject_unusable_metrics(blobs):
    X, _ = blobs
    with pytest.raises(ValueError, match=r"metric.*cosine.*Got 'cosin'"):
        SpectralClustering(3, metric="cosin").fit(X)
    with pytest.warns(UserWarning, match=r"metric='cosine' has no effect.*'adaptive_neighbors'"):
        SpectralClustering(3, affinity="rbf", metric="cosine").fit(X)
    with pytest.raises(ValueError, match=r"metric='cosine' has no effect.*'self_tuning'"):
        cut_path(X, [2], affinity="rbf", metric="cosine")
    with pytest.raises(ValueError, match=r"metric='cosin' is not known"):
        cut_path(X, [2], metric="cosin")
