"""Exact nearest neighbors: comparison of all searches with brute force."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from leastcut.affinity.neighbors import index as neighbor_index
from leastcut.affinity.neighbors import products as product_search
from leastcut.affinity.neighbors.index import NeighborIndex

KINDS = [
    "general",
    "offset",
    "huge",
    "tiny",
    "mixed units",
    "two places",
    "outlier",
    "duplicates",
    "one point",
    "lattice",
]
EXACT = ("offset", "two places", "lattice", "one point")
"""The kinds whose sums of squares are exact in any order."""


@pytest.fixture(autouse=True, scope="module", params=["tree", "products"])
def _search(request):
    """Run all tests with every search, for any number of features."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbor_index, "TREE_FEATURES", 10**6 if request.param == "tree" else 0)
        patch.setattr(neighbor_index, "PROBED_FEATURES", 0)
        yield


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_tree_and_products_give_the_same_lists(offset, monkeypatch):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(100, 4)), rng.integers(0, 3, size=(150, 4))])
    monkeypatch.setattr(neighbor_index, "TREE_FEATURES", 4)
    by_tree = NeighborIndex(X).neighborhoods(7, offset)
    monkeypatch.setattr(neighbor_index, "TREE_FEATURES", 0)
    by_products = NeighborIndex(X).neighborhoods(7, offset)
    for name in ("indptr", "indices", "squared"):
        np.testing.assert_array_equal(getattr(by_tree, name), getattr(by_products, name))


def by_definition(X: np.ndarray, k: int) -> np.ndarray:
    """Return the k nearest neighbors of every sample by brute force, ties by index."""
    rows = []
    for i, x in enumerate(X):
        d = ((X - x) ** 2).sum(axis=1)
        d[i] = np.inf
        rows.append(np.argsort(d, kind="stable")[:k])
    return np.array(rows)


def difficult_samples(kind: str, n: int, n_features: int) -> np.ndarray:
    """Return samples that are difficult in single precision."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    if kind == "offset":  # the mean is far larger than the spread
        return 1e7 + rng.integers(-512, 512, size=X.shape) / 1024
    if kind == "huge":
        return X * 2.0**240
    if kind == "tiny":
        return X * 2.0**-240
    if kind == "mixed units":  # a feature that dominates the others
        X[:, 0] = 2.0**60 * rng.integers(0, 3, size=n)
        return X
    if kind == "two places":
        X[: n // 2] += 2.0**20
        return np.round(X * 1024) / 1024
    if kind == "outlier":
        X[n // 3] = 2.0**100
        return X
    if kind == "duplicates":
        return np.repeat(X[: n // 7 + 1], 7, axis=0)[rng.permutation(n)]
    if kind == "one point":
        return np.full((n, n_features), 0.1)
    if kind == "lattice":
        return rng.integers(0, 3, size=X.shape).astype(float)
    return X


def assert_same_lists(X, queries, listed, expected, kind: str) -> None:
    """Check that lists differ only in the order of distances that are equal up to rounding."""
    differ = np.flatnonzero((listed != expected).any(axis=1))
    for i in differ:
        ours = ((X[listed[i]] - queries[i]) ** 2).sum(axis=1)
        theirs = ((X[expected[i]] - queries[i]) ** 2).sum(axis=1)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    if kind in EXACT:
        assert differ.size == 0


@pytest.mark.sampled(10)
@pytest.mark.parametrize("n_features", [10, 150])
@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_exact_for_samples_that_single_precision_cannot_distinguish(
    kind, n_features, monkeypatch
):
    n = 503  # five blocks of different sizes
    monkeypatch.setattr(product_search, "SIDES", (100, 100, 2048))
    monkeypatch.setattr(product_search, "SIDE_FACTOR", 5)
    monkeypatch.setattr(product_search, "WORTHWHILE", 0)
    X = difficult_samples(kind, n, n_features)
    near = NeighborIndex(X).neighborhoods(10)
    expected = by_definition(X, 10)
    listed = near.indices.reshape(n, 10)
    assert_same_lists(X, X, listed, expected, kind)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", ["general", "offset", "two places", "outlier", "duplicates"])
@pytest.mark.parametrize("width", [3, 16, 60])
def test_all_samples_within_the_reach_are_candidates(kind, width):
    X = difficult_samples(kind, 1100, 20)  # three blocks
    X = X - X.mean(axis=0)
    with ThreadPoolExecutor(3) as pool:
        near = product_search.nearest_by_blocks(X, width, pool.map)
    d = np.array([((X - x) ** 2).sum(axis=1) for x in X])
    np.put_along_axis(d, near.indices, np.inf, axis=1)
    assert (d.min(axis=1) > near.reach).all()
    if kind == "general":
        assert (near.reach > 0.99 * near.squared[:, -1]).all()


@settings(max_examples=draws(20))
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_lists_do_not_depend_on_the_block_size(seed, data):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, data.draw(st.sampled_from([2, 9, 1000])), size=(150, 9)) / 8
    k = data.draw(st.integers(1, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_search, "WORTHWHILE", 0)
        patch.setattr(product_search, "SIDES", (8, 8, 1024))
        patch.setattr(product_search, "SIDE_FACTOR", data.draw(st.integers(1, 4)))
        near = NeighborIndex(X, data.draw(st.integers(1, 3))).neighborhoods(k)
    np.testing.assert_array_equal(near.indices.reshape(-1, k), by_definition(X, k))


def test_long_lists_use_double_precision(monkeypatch):
    X = np.random.default_rng(0).integers(0, 50, size=(400, 12)).astype(float)
    monkeypatch.setattr(product_search, "WORTHWHILE", 0)
    assert product_search.suits(400, 12, 50)
    assert not product_search.suits(400, 12, 101)
    near = NeighborIndex(X).neighborhoods(100)
    np.testing.assert_array_equal(near.indices.reshape(-1, 100), by_definition(X, 100))


@pytest.mark.parametrize("in_order", [True, False])
def test_candidates_need_little_memory(in_order):
    # For sorted samples, near blocks are compared late, and thresholds decrease late.
    n, n_features, width = 20_000, 12, 16
    X = np.random.default_rng(0).normal(size=(n, n_features))
    if in_order:
        X[:, 0] = np.linspace(-100, 100, n)
    tracemalloc.start()
    with ThreadPoolExecutor(2) as pool:
        product_search.nearest_by_blocks(X - X.mean(axis=0), width, pool.map)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    lists = n * width * (8 + 8 + 4)
    assert peak < 6 * lists + 8 * X.nbytes + 2**26


@pytest.mark.parametrize("n_features", [2, 12])
def test_lists_with_an_offset_end_at_its_threshold(n_features):
    # Integer distances and an integer offset: many samples are exactly at the threshold.
    X = np.random.default_rng(0).integers(0, 3, size=(120, n_features)).astype(float)
    near = NeighborIndex(X).neighborhoods(4, offset=2.0)
    at_the_threshold = 0
    for i, x in enumerate(X):
        d = ((X - x) ** 2).sum(axis=1)
        d[i] = np.inf
        order = np.argsort(d, kind="stable")
        threshold = d[order[3]] + 2.0
        at_the_threshold += np.count_nonzero(d == threshold)
        expected = order[: max(4, np.count_nonzero(d < threshold))]
        np.testing.assert_array_equal(near.indices[near.indptr[i] : near.indptr[i + 1]], expected)
    assert at_the_threshold > 0


# -- neighbors of new samples


def nearest_by_definition(X: np.ndarray, new: np.ndarray, k: int) -> np.ndarray:
    """Return the k samples nearest to every new sample by brute force, ties by index."""
    return np.array([np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[:k] for x in new])


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_neighbors_of_new_samples_are_exact(kind, n_features):
    samples = difficult_samples(kind, 400, n_features)
    X, new = samples[::2], samples[1::2]
    index = NeighborIndex(X)
    indices, squared = index.nearest(new, 10)
    assert_same_lists(X, new, indices, nearest_by_definition(X, new, 10), kind)
    difference = X[indices] - new[:, None]
    squared = np.ldexp(squared, 2 * index.exponent)
    np.testing.assert_allclose(squared, (difference**2).sum(axis=-1), rtol=1e-12)


@pytest.mark.parametrize("n_features", [3, 12])
def test_training_samples_find_themselves_and_then_their_neighbors(n_features):
    rng = np.random.default_rng(0)
    X = rng.permutation(rng.integers(0, 2**20, size=(300, n_features)) / 2**10)
    index = NeighborIndex(X)
    indices, squared = index.nearest(X, 8)
    np.testing.assert_array_equal(indices[:, 0], np.arange(300))
    others = index.neighborhoods(7)
    np.testing.assert_array_equal(indices[:, 1:].reshape(-1), others.indices)
    np.testing.assert_array_equal(squared[:, 1:].reshape(-1), others.squared)


@settings(max_examples=draws(30))
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_ties_of_new_samples_are_broken_by_index(seed, data):
    rng = np.random.default_rng(seed)
    n, n_features = data.draw(st.integers(1, 60)), data.draw(st.sampled_from([1, 2, 9]))
    X = rng.integers(0, 3, size=(n, n_features)).astype(float)
    new = rng.integers(0, 3, size=(7, n_features)).astype(float)
    k = data.draw(st.integers(1, n))
    indices, squared = NeighborIndex(X).nearest(new, k)
    np.testing.assert_array_equal(indices, nearest_by_definition(X, new, k))
    assert (np.diff(squared, axis=1) >= 0).all()


@pytest.mark.parametrize("n_features", [3, 12])
def test_results_do_not_depend_on_threads_blocks_batches_and_pickling(n_features, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(500, n_features)).astype(float)
    X[:100] = X[0]
    new = rng.integers(0, 6, size=(40, n_features)).astype(float)
    index = NeighborIndex(X)
    indices, squared = index.nearest(new, 9)
    copy = pickle.loads(pickle.dumps(index))
    for other in (copy, NeighborIndex(X, 1), NeighborIndex(X, 3), NeighborIndex(X, -2)):
        monkeypatch.setattr(product_search, "BLOCK", 50)
        parts = [other.nearest(new[i : i + 7], 9) for i in range(0, 40, 7)]
        np.testing.assert_array_equal(np.vstack([part[0] for part in parts]), indices)
        np.testing.assert_array_equal(np.vstack([part[1] for part in parts]), squared)


def test_sparse_and_single_precision_samples_give_the_same_neighbors():
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 9, size=(300, 12)) * (rng.random((300, 12)) < 0.3)).astype(np.float32)
    expected = nearest_by_definition(X.astype(float), X[:50].astype(float), 6)
    for container in (np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix):
        indices, _ = NeighborIndex(container(X)).nearest(container(X[:50]), 6)
        np.testing.assert_array_equal(indices, expected)


def test_samples_are_not_changed():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.integers(0, 2, size=(60, 9)).astype(float))
    X.indices[:] = np.concatenate([row[::-1] for row in np.split(X.indices, X.indptr[1:-1])])
    X.has_sorted_indices = False
    before = X.indices.copy()
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    indices = NeighborIndex(X).nearest(X, 3)[0]
    np.testing.assert_array_equal(X.indices, before)
    np.testing.assert_array_equal(indices, NeighborIndex(X.toarray()).nearest(X.toarray(), 3)[0])


@pytest.mark.parametrize("n_features", [2, 12])
@pytest.mark.parametrize("scale", [1.0, 2.0**-700, 2.0**900])
def test_extremely_distant_samples_are_equally_far_from_all(n_features, scale):
    X = np.random.default_rng(0).normal(size=(50, n_features)) * scale
    new = np.vstack([np.full((2, n_features), 1e308), X[:2]])
    new[1] *= -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        indices, squared = NeighborIndex(X).nearest(new, 5)
    assert np.isfinite(squared).all()
    assert indices[2, 0] == 0
    assert indices[3, 0] == 1
    if scale <= 1:
        np.testing.assert_array_equal(indices[:2], [range(5)] * 2)


def test_empty_queries_have_empty_results():
    index = NeighborIndex(np.eye(4))
    assert index.neighborhoods(0).indices.size == 0
    indices, squared = index.nearest(np.empty((0, 4)), 2)
    assert indices.shape == squared.shape == (0, 2)


@pytest.mark.parametrize("n_jobs", [0, 1.5, True])
def test_n_jobs_must_be_an_integer(n_jobs):
    with pytest.raises((ValueError, TypeError), match="n_jobs="):
        NeighborIndex(np.eye(4), n_jobs)


@pytest.mark.parametrize("away", [0.0, 1.0, 30.0])
def test_products_find_all_samples_within_a_distance_and_few_others(away):
    X = np.random.default_rng(0).normal(size=(300, 12)) + away
    distances = np.square(X[:40, None] - X[None]).sum(axis=2)
    needed = np.sort(distances, axis=1)[:, 7]
    counts, indices = product_search.AllPairs(X, np.arange(300)).within(X[:40], needed)
    for row, listed in enumerate(np.split(indices, np.cumsum(counts)[:-1])):
        assert {*np.flatnonzero(distances[row] < needed[row])} <= {*listed.tolist()}
        assert distances[row, listed].max() <= needed[row] * (1 + 1e-9)
