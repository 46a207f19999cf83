"""Precomputed affinities and distances, and the recognition of distance matrices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from leastcut import AFFINITIES
from leastcut.affinity.precomputed import precomputed_graph
from leastcut.distance_check import looks_like_distances


def both_agree(matrix: np.ndarray) -> bool:
    """Return whether a matrix looks like distances, the same for dense and sparse matrices."""
    result = looks_like_distances(matrix)
    assert looks_like_distances(sp.csr_array(matrix)) == result
    return result


# -- distances passed by mistake


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize(
    ("n", "n_features"), [(20, 1), (20, 2), (20, 3), (20, 5), (60, 2), (60, 10), (300, 20)]
)
def test_distances_are_recognized(n, n_features, metric):
    rng = np.random.default_rng(n + n_features)
    normal = rng.normal(size=(n, n_features))
    blobs = normal + 4 * rng.normal(size=(4, n_features))[rng.integers(0, 4, n)]
    copies = normal[rng.integers(0, n // 2, n)]
    for X in (normal, rng.random((n, n_features)), blobs, copies, normal + 1e3):
        assert both_agree(squareform(pdist(X, metric)))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_of_real_data_are_recognized(load, dtype):
    X = load().data[::3].astype(dtype)
    D = euclidean_distances(X)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    assert both_agree(D)
    assert both_agree(D**2)
    assert both_agree(np.round(D * 1000 / D.max()))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock"])
def test_most_distances_of_few_samples_are_recognized(metric):
    rng = np.random.default_rng(0)
    recognized = [
        looks_like_distances(squareform(pdist(rng.normal(size=(10, 2)), metric)))
        for _ in range(100)
    ]
    assert np.mean(recognized) > 0.85


def ring(n: int) -> np.ndarray:
    return np.eye(n, k=1) + np.eye(n, k=1 - n)


def grid(side: int) -> np.ndarray:
    path = np.eye(side, k=1)
    return np.kron(path, np.eye(side)) + np.kron(np.eye(side), path)


def cliques(count: int, size: int) -> np.ndarray:
    blocks = np.triu(np.kron(np.eye(count), np.ones((size, size))), 1)
    blocks[np.arange(count - 1) * size, np.arange(1, count) * size + 1] = 1.0
    return blocks


def planted(rng: np.random.Generator, n: int, inside: float, outside: float) -> np.ndarray:
    same = np.equal.outer(np.arange(n) % 3, np.arange(n) % 3)
    return np.triu(rng.random((n, n)) < np.where(same, inside, outside), 1).astype(float)


def power_law(rng: np.random.Generator, n: int, edges: int) -> np.ndarray:
    upper, ends = np.zeros((n, n)), list(range(edges))
    for node in range(edges, n):
        for other in set(rng.choice(ends, edges).tolist()):
            upper[other, node] = 1.0
            ends += [other, node]
    return upper


def sparse_graphs(rng: np.random.Generator, n: int):
    """Yield the upper triangles of various graphs, none of them complete."""
    X = rng.normal(size=(n, 2))
    for k in (2, 5, n // 2):
        near = kneighbors_graph(X, k).toarray()
        for S in (np.maximum(near, near.T), np.minimum(near, near.T), near + near.T):
            yield np.triu(S, 1)
    yield from (ring(n), np.eye(n, k=1), grid(int(np.sqrt(n))), cliques(n // 4, 4))
    yield from (power_law(rng, n, 1), power_law(rng, n, 3))
    for inside, outside in ((0.05, 0.05), (0.5, 0.02), (0.7, 0.1), (0.5, 0.5), (0.95, 0.6)):
        yield planted(rng, n, inside, outside)
    hub = ring(n)
    hub[0, 1:] = 1.0
    yield hub
    yield np.triu(1.0 - hub - np.eye(n), 1)  # the complement of a wheel
    missing = np.triu(np.ones((n, n)), 1)
    missing[0, 1] = 0.0
    yield missing
    star_and_edge = np.zeros((n, n))
    star_and_edge[0, 1:] = star_and_edge[1, 2] = 1.0
    yield star_and_edge


@pytest.mark.parametrize("n", [10, 11, 14, 25, 60, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_graphs_are_not_recognized_as_distances(n, weighted):
    rng = np.random.default_rng(n)
    for upper in sparse_graphs(rng, n):
        if weighted:
            upper = upper * rng.random(upper.shape)
        assert not both_agree(upper + upper.T)


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_distances_of_neighbors_are_recognized(n_features):
    rng = np.random.default_rng(n_features)
    for X in (rng.random((200, n_features)), rng.normal(size=(300, n_features))):
        near = kneighbors_graph(X, 10, mode="distance").toarray()
        D = np.maximum(near, near.T)
        assert both_agree(D)
        assert both_agree(D**2)
        # Affinities of these distances, and unrelated weights.
        is_edge = D > 0
        sampled = np.triu(rng.random(D.shape), 1)
        for S in (np.exp(-((D / D.max()) ** 2)), 1 / (1 + D), D.max() + 1 - D, sampled + sampled.T):
            assert not both_agree(S * is_edge)


@pytest.mark.parametrize("n", [20, 40, 150])
def test_complete_graphs_are_not_recognized_as_distances(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    D = euclidean_distances(X)
    w = rng.pareto(1.5, n) + 1
    symmetric = [rbf_kernel(X, gamma=gamma) for gamma in (0.01, 0.5, 2)]
    symmetric += [1 / (1 + D), D.max() - D, np.outer(w, w), np.outer(w, w) / (D**2 + 0.1)]
    symmetric += [abs(np.corrcoef(rng.normal(size=(n, 6)))), np.ones((n, n))]
    for low in (0.0, 0.3, 0.9):
        upper = np.triu(rng.uniform(low, 1, (n, n)))
        symmetric.append(upper + upper.T)
    for sampled in (rng.exponential(size=(n, n)), rng.lognormal(0, 2, (n, n))):
        symmetric.append(sampled + sampled.T)
    for S in symmetric:
        np.fill_diagonal(S, 0.0)
        assert not both_agree(S)


@given(seed=st.integers(0, 10_000), n=st.integers(10, 16))
def test_independent_weights_are_hardly_ever_recognized_as_distances(seed, n):
    rng = np.random.default_rng(seed)
    n_recognized = 0
    for _ in range(20):
        upper = np.triu(rng.uniform(0.3, 1, (n, n)), 1)
        n_recognized += looks_like_distances(upper + upper.T)
    assert n_recognized <= 2


@pytest.mark.parametrize("left", [1, 4, 7])
def test_unweighted_graphs_are_not_recognized_as_distances(left):
    S = np.zeros((14, 14))
    S[:left, left:] = S[left:, :left] = 1.0  # a star; complete bipartite graphs
    assert not both_agree(S)


def test_a_matrix_with_a_self_loop_is_not_recognized_as_distances():
    D = euclidean_distances(np.random.default_rng(0).normal(size=(30, 2)))
    np.fill_diagonal(D, 0.0)
    assert both_agree(D)
    D[3, 3] = 1e-3
    assert not both_agree(D)
    assert not both_agree(np.zeros((30, 30)))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_the_warning_states_the_remedy_and_points_to_the_caller(container):
    D = squareform(pdist(np.random.default_rng(0).normal(size=(40, 3))))
    with pytest.warns(UserWarning, match=r"np\.exp.*precomputed_nearest_neighbors.*ign") as warning:
        S = AFFINITIES["precomputed"](container(D))
    assert len(warning) == 1
    assert warning[0].filename == __file__
    assert abs(S - D).max() == 0


def test_a_large_sparse_matrix_stays_sparse():
    n = 200_000
    S = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1]))
    assert precomputed_graph(S).nnz == S.nnz
    assert not looks_like_distances(S)


# -- affinities


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_symmetric_affinities_are_shared_and_not_changed(container, dtype):
    S = container(rbf_kernel(np.random.default_rng(0).normal(size=(30, 2))).astype(dtype))
    for array in (S.data, S.indices, S.indptr) if sp.issparse(S) else (S,):
        array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = precomputed_graph(S)
    assert graph.dtype == dtype
    rows = AFFINITIES["precomputed"].rows(S)(S)
    for result in (graph, rows):
        assert np.shares_memory(*((g.data if sp.issparse(g) else g) for g in (result, S)))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_asymmetry_is_relative_to_the_largest_affinity(container, scale):
    S = scale * rbf_kernel(np.random.default_rng(0).normal(size=(30, 2)))
    off = np.triu(np.random.default_rng(1).random((30, 30)), 1) * scale
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        precomputed_graph(container(S + 1e-10 * off))
    with pytest.warns(UserWarning, match="not symmetric"):
        graph = precomputed_graph(container(S + 1e-6 * off))
    assert abs(graph - graph.T).max() == 0
    assert abs(graph - container(S + 5e-7 * (off + off.T))).max() <= 1e-15 * scale
    assert isinstance(graph, sp.csr_array) == (container is sp.csr_array)


def test_single_precision_is_kept_and_integers_become_floats():
    directed = kneighbors_graph(np.random.default_rng(0).normal(size=(30, 2)), 5)
    with pytest.warns(UserWarning, match="not symmetric"):
        assert precomputed_graph(directed.astype(np.float32)).dtype == np.float32
    assert precomputed_graph([[0, 1], [1, 0]]).dtype == np.float64


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.ones((3, 2)), r"square matrix of affinities.*shape \(3, 2\)"),
        (np.array([[0.0, -2.0], [-2.0, 0.0]]), "Negative values.*smallest is -2"),
        (sp.csr_array(np.array([[0.0, -2.0], [-2.0, 0.0]])), "Negative values.*smallest is -2"),
    ],
)
def test_invalid_affinities_are_rejected(matrix, words):
    with pytest.raises(ValueError, match=words):
        precomputed_graph(matrix)


# -- neighbors from precomputed distances


@pytest.mark.parametrize("include_self", [True, False])
def test_precomputed_distances_give_the_graph_of_the_samples(include_self):
    X = np.random.default_rng(0).normal(size=(60, 3))
    affinity = AFFINITIES["precomputed_nearest_neighbors"]
    assert affinity.takes == "distances"
    D = squareform(pdist(X))
    if not include_self:
        np.fill_diagonal(D, np.inf)
    expected = AFFINITIES["nearest_neighbors"](X, 6, include_self).toarray()
    np.testing.assert_array_equal(affinity(D, n_neighbors=6).toarray(), expected)
    stored = NearestNeighbors(n_neighbors=9).fit(X).kneighbors_graph(mode="distance")
    if not include_self:
        np.testing.assert_array_equal(affinity(stored, n_neighbors=6).toarray(), expected)


def test_rows_of_precomputed_distances_equal_those_of_the_samples():
    rng = np.random.default_rng(0)
    X, new = rng.integers(0, 4, size=(50, 2)).astype(float), rng.random((8, 2))
    between = euclidean_distances(new, X)
    expected = AFFINITIES["nearest_neighbors"].rows(X, n_neighbors=6)(new).toarray()
    rows = AFFINITIES["precomputed_nearest_neighbors"].rows(squareform(pdist(X)), n_neighbors=6)
    np.testing.assert_array_equal(rows(between).toarray(), expected)
    np.testing.assert_array_equal(rows(sp.csr_array(between)).toarray(), expected)


def test_ties_are_broken_by_index_in_both_formats():
    D = np.ones((6, 6)) - np.eye(6)
    stored = sp.csr_array(np.ones((6, 6)))
    stored.data[:] = D.reshape(-1)  # zeros are stored
    affinity = AFFINITIES["precomputed_nearest_neighbors"]
    S = affinity(D, n_neighbors=2).toarray()
    np.testing.assert_array_equal(S[0, 1:], [1.0, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_array_equal(affinity(stored, n_neighbors=2).toarray(), S)


@pytest.mark.parametrize(
    ("matrix", "n_neighbors", "words"),
    [
        (np.ones((3, 2)), 1, r"square matrix of distances.*shape \(3, 2\)"),
        (np.ones((3, 3)), 4, "n_neighbors=4 is greater than the number of samples, 3"),
        (np.ones((3, 3)), 0, "n_neighbors=0"),
        (sp.csr_array(np.eye(3)), 2, "row 0 of X stores only 1 distances"),
    ],
)
def test_invalid_distances_are_rejected(matrix, n_neighbors, words):
    with pytest.raises(ValueError, match=words):
        AFFINITIES["precomputed_nearest_neighbors"](matrix, n_neighbors=n_neighbors)
    assert AFFINITIES["precomputed_nearest_neighbors"].limited(3, {}) == {"n_neighbors": 3}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("smallest", [-1e-300, -1e-9, -0.5, -3.0])
def test_any_negative_affinity_is_rejected(container, smallest):
    S = np.ones((4, 4))
    S[1, 2] = S[2, 1] = smallest
    with pytest.raises(ValueError, match=f"smallest is {smallest:g}"):
        precomputed_graph(container(S))


@pytest.mark.parametrize("entry", [0.25, 0.5, 2.0])
@pytest.mark.parametrize("spread", [0.0, 0.01])
def test_a_single_outlier_is_not_recognized_as_distances(entry, spread):
    upper = np.triu(1.0 + spread * np.random.default_rng(0).random((20, 20)), 1)
    upper[0, 1] = entry
    assert not both_agree(upper + upper.T)
