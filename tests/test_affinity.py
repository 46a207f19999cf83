"""The affinity graphs against slow, obvious references, and the laws they obey."""

from __future__ import annotations

import inspect
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import kneighbors_graph

import firstcut
from firstcut import neighbors, pairs
from firstcut.graph import as_graph


def squared_distances(X: np.ndarray) -> np.ndarray:
    difference = X[:, None, :] - X[None, :, :]
    return (difference**2).sum(axis=-1)


def ordered(X: np.ndarray, i: int) -> list[int]:
    """All samples but i, nearest first, ties by index."""
    d = squared_distances(X)
    return sorted((j for j in range(len(X)) if j != i), key=lambda j: (d[i, j], j))


def directed_adaptive(X: np.ndarray, k: int, include_self: bool, offset: float) -> np.ndarray:
    """The definition, entry by entry."""
    n, d = len(X), squared_distances(X)
    S = np.zeros((n, n))
    for i in range(n):
        order = [i, *ordered(X, i)] if include_self else ordered(X, i)
        t = d[i, order[k]] + offset
        total = sum(t - d[i, j] for j in order[:k])
        if total == 0:
            S[i, order[:k]] = 1 / k
        else:
            S[i, order] = [max(t - d[i, j], 0) / total for j in order]
    return S


def adaptive(X: np.ndarray, k: int, include_self: bool, offset: float) -> np.ndarray:
    S = directed_adaptive(X, k, include_self, offset)
    return (S + S.T) / 2


def binary(X: np.ndarray, k: int, include_self: bool) -> np.ndarray:
    C = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        order = [i, *ordered(X, i)] if include_self else ordered(X, i)
        C[i, order[:k]] = 1
    return (C + C.T) / 2


def self_tuning(X: np.ndarray, k: int, s: int) -> np.ndarray:
    n, d = len(X), squared_distances(X)
    scale = [np.sqrt(d[i, ordered(X, i)[s - 1]]) for i in range(n)]
    S = np.zeros((n, n))
    for i in range(n):
        for j in ordered(X, i)[:k]:
            product = scale[i] * scale[j]
            exponent = 0.0 if d[i, j] == 0 else d[i, j] / product if product > 0 else np.inf
            S[i, j] = S[j, i] = np.exp(-exponent)
    return S


@st.composite
def samples(draw, min_samples: int = 2):
    """Draw samples: in general position, on a coarse lattice (ties), or with many duplicates."""
    n = draw(st.integers(min_samples, 40))
    p = draw(st.sampled_from([1, 2, 8, 9, 20]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["general", "lattice", "duplicates", "one point", "far away"]))
    if kind == "general":
        return rng.normal(size=(n, p))
    if kind == "lattice":
        return rng.integers(0, 3, size=(n, p)).astype(float)
    if kind == "duplicates":
        return rng.integers(-8, 8, size=(3, p))[rng.integers(0, 3, size=n)] / 4
    if kind == "one point":
        return np.full((n, p), 0.1)
    return 1e6 + rng.integers(0, 5, size=(n, p)) / 8  # products alone cannot tell these apart


@given(X=samples(), data=st.data())
def test_adaptive_equals_its_definition(X, data):
    include_self = data.draw(st.booleans())
    most = len(X) - (1 if include_self else 2)
    if most < 1:
        return
    k = data.draw(st.integers(1, most))
    offset = data.draw(st.sampled_from([0.0, 1e-6, 0.3, 50.0]))
    S = firstcut.adaptive_neighbors_graph(X, k, include_self, offset)
    np.testing.assert_allclose(
        S.toarray(), adaptive(X, k, include_self, offset), rtol=1e-9, atol=1e-12
    )


@given(X=samples(), data=st.data())
def test_nearest_neighbors_equals_its_definition(X, data):
    include_self = data.draw(st.booleans())
    k = data.draw(st.integers(1, len(X) - (0 if include_self else 1)))
    S = firstcut.nearest_neighbors_graph(X, k, include_self)
    np.testing.assert_array_equal(S.toarray(), binary(X, k, include_self))


@given(X=samples(), data=st.data())
def test_self_tuning_equals_its_definition(X, data):
    k = data.draw(st.integers(1, len(X) - 1))
    s = data.draw(st.integers(1, len(X) - 1))
    S = firstcut.self_tuning_graph(X, k, s)
    np.testing.assert_allclose(S.toarray(), self_tuning(X, k, s), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n_features", [3, 30])
def test_nearest_neighbors_is_scikit_learns(n_features):
    X = np.random.default_rng(0).normal(size=(300, n_features))
    theirs = kneighbors_graph(X, 10, include_self=True)
    ours = firstcut.nearest_neighbors_graph(X, 10)
    np.testing.assert_array_equal(ours.toarray(), 0.5 * (theirs + theirs.T).toarray())


@pytest.mark.parametrize("affinity", firstcut.AFFINITIES.values(), ids=firstcut.AFFINITIES)
@given(X=samples(min_samples=9))
def test_graphs_are_valid_whatever_the_samples(affinity, X):
    before = X.copy()
    S = affinity(X, 4)
    assert isinstance(S, sp.csr_array)
    assert S.shape == (len(X), len(X))
    assert S.has_canonical_format
    assert np.isfinite(S.data).all()
    assert (S.data > 0).all()
    assert (S != S.T).nnz == 0
    assert (as_graph(S).degrees > 0).all()
    np.testing.assert_array_equal(X, before)


@given(X=samples(min_samples=7), include_self=st.booleans())
def test_rows_sum_to_one_before_symmetrising(X, include_self):
    # The symmetrised graph keeps the total: n.
    S = firstcut.adaptive_neighbors_graph(X, 5, include_self)
    assert S.sum() == pytest.approx(len(X))


@pytest.mark.parametrize("affinity", firstcut.AFFINITIES.values(), ids=firstcut.AFFINITIES)
@pytest.mark.parametrize("n_features", [2, 20])
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_permuted_translated_and_scaled_samples(affinity, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-(2**20), 2**20, size=(40, n_features)) / 2**20  # sums below are exact
    S = affinity(X, 8).toarray()
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(affinity(X[order], 8).toarray(), S[np.ix_(order, order)])
    np.testing.assert_array_equal(affinity(X + rng.integers(-9, 9, n_features), 8).toarray(), S)
    np.testing.assert_allclose(affinity(X * 3.7, 8).toarray(), S, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(affinity(X * 2.0**-700, 8).toarray(), S)
    np.testing.assert_array_equal(affinity(X * 2.0**900, 8).toarray(), S)
    constant = np.column_stack([X, np.full(len(X), 0.3)])
    np.testing.assert_allclose(affinity(constant, 8).toarray(), S, rtol=1e-9, atol=1e-14)


def test_ties_do_not_depend_on_the_order_of_the_samples():
    # Samples tied at the (k+1)-th distance get weight 0, so breaking the tie changes nothing.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(60, 3)).astype(float)
    order = rng.permutation(len(X))
    S = firstcut.adaptive_neighbors_graph(X, 10, offset=0.5).toarray()
    permuted = firstcut.adaptive_neighbors_graph(X[order], 10, offset=0.5).toarray()
    np.testing.assert_allclose(permuted, S[np.ix_(order, order)], rtol=1e-12)


@pytest.mark.parametrize("affinity", firstcut.AFFINITIES.values(), ids=firstcut.AFFINITIES)
@pytest.mark.parametrize("n_features", [3, 12])
def test_threads_and_blocks_do_not_matter(affinity, n_features, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, n_features))
    X[100:300] = rng.integers(0, 2, size=(200, n_features))
    X[300:400] = X[0]
    whole = affinity(X, 10, n_jobs=1)
    monkeypatch.setattr(pairs, "WORTHWHILE", 0)
    for n_jobs, block in [(2, 2**22), (3, 500), (-1, 1)]:
        monkeypatch.setattr(neighbors, "BLOCK", block)
        again = affinity(X, 10, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.indptr, whole.indptr)
        np.testing.assert_array_equal(again.indices, whole.indices)
        np.testing.assert_array_equal(again.data, whole.data)


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_tree_and_products_give_the_same_lists(offset, monkeypatch):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(100, 4)), rng.integers(0, 3, size=(150, 4))])
    by_tree = neighbors.nearest_others(X, 7, offset)
    monkeypatch.setattr(neighbors, "TREE_FEATURES", 0)
    by_products = neighbors.nearest_others(X, 7, offset)
    for name in ("indptr", "indices", "squared"):
        np.testing.assert_array_equal(getattr(by_tree, name), getattr(by_products, name))


def by_definition(X: np.ndarray, k: int) -> np.ndarray:
    """The k nearest others of every sample, ties by index, from all coordinate differences."""
    rows = []
    for i, x in enumerate(X):
        d = ((X - x) ** 2).sum(axis=1)
        d[i] = np.inf
        rows.append(np.argsort(d, kind="stable")[:k])
    return np.array(rows)


def awkward(kind: str, n: int, n_features: int) -> np.ndarray:
    """Samples that single precision has trouble with."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    if kind == "offset":  # the mean is far larger than the spread
        return 1e7 + rng.integers(-512, 512, size=X.shape) / 1024
    if kind == "huge":
        return X * 2.0**240
    if kind == "tiny":
        return X * 2.0**-240
    if kind == "mixed units":  # a feature that drowns the others, unless it is the same
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


@pytest.mark.parametrize("n_features", [10, 150])
@pytest.mark.parametrize(
    "kind",
    [
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
    ],
)
def test_lists_are_exact_where_single_precision_is_not(kind, n_features, monkeypatch):
    n = 503  # five blocks, not of one size
    monkeypatch.setattr(pairs, "SIDES", (100, 100, 2048))
    monkeypatch.setattr(pairs, "SHARE", 5)
    monkeypatch.setattr(pairs, "WORTHWHILE", 0)
    X = awkward(kind, n, n_features)
    found = neighbors.nearest_others(X, 10)
    expected = by_definition(X, 10)
    listed = found.indices.reshape(n, 10)
    differ = np.flatnonzero((listed != expected).any(axis=1))
    # Two ways to sum the squares may order differently only what they cannot tell apart.
    for i in differ:
        ours = ((X[listed[i]] - X[i]) ** 2).sum(axis=1)
        theirs = ((X[expected[i]] - X[i]) ** 2).sum(axis=1)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    if kind in ("offset", "two places", "lattice", "one point"):  # whose sums are exact
        assert differ.size == 0


@pytest.mark.parametrize("kind", ["general", "offset", "two places", "outlier", "duplicates"])
@pytest.mark.parametrize("width", [3, 16, 60])
def test_nothing_left_out_is_within_the_reach(kind, width):
    X = awkward(kind, 1100, 20)  # three blocks
    X = X - X.mean(axis=0)
    with ThreadPoolExecutor(3) as pool:
        near = pairs.nearest_pairs(X, width, pool)
    d = np.array([((X - x) ** 2).sum(axis=1) for x in X])
    np.put_along_axis(d, near.indices, np.inf, axis=1)
    assert (d.min(axis=1) > near.reach).all()
    if kind == "general":
        assert (near.reach > 0.99 * near.squared[:, -1]).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_small_blocks_change_nothing(seed, data):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, data.draw(st.sampled_from([2, 9, 1000])), size=(150, 9)) / 8
    k = data.draw(st.integers(1, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "WORTHWHILE", 0)
        patch.setattr(pairs, "SIDES", (8, 8, 1024))
        patch.setattr(pairs, "SHARE", data.draw(st.integers(1, 4)))
        found = neighbors.nearest_others(X, k, n_jobs=data.draw(st.integers(1, 3)))
    np.testing.assert_array_equal(found.indices.reshape(-1, k), by_definition(X, k))


def test_long_lists_are_found_in_double_precision(monkeypatch):
    X = np.random.default_rng(0).integers(0, 50, size=(400, 12)).astype(float)
    monkeypatch.setattr(pairs, "WORTHWHILE", 0)
    assert pairs.suits(400, 12, 50)
    assert not pairs.suits(400, 12, 101)
    found = neighbors.nearest_others(X, 100)
    np.testing.assert_array_equal(found.indices.reshape(-1, 100), by_definition(X, 100))


@pytest.mark.parametrize("in_order", [True, False])
def test_candidates_need_little_memory(in_order):
    # In order, the first block is the farthest from the last: thresholds fall late.
    n, n_features, width = 20_000, 12, 16
    X = np.random.default_rng(0).normal(size=(n, n_features))
    if in_order:
        X[:, 0] = np.linspace(-100, 100, n)
    tracemalloc.start()
    with ThreadPoolExecutor(2) as pool:
        pairs.nearest_pairs(X - X.mean(axis=0), width, pool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    lists = n * width * (8 + 8 + 4)
    assert peak < 6 * lists + 8 * X.nbytes + 2**26


def test_duplicates_do_not_displace_the_sample_itself():
    X = np.zeros((50, 3))
    S = firstcut.adaptive_neighbors_graph(X, 10)
    np.testing.assert_array_equal(S.diagonal(), 0.1)
    assert S.sum() == pytest.approx(50)


@pytest.mark.parametrize("n_features", [2, 12])
def test_memory_is_linear_in_the_samples(n_features):
    n = 20_000
    X = np.random.default_rng(0).normal(size=(n, n_features))
    X[:2000] = X[0]  # 2000² pairs at distance 0
    firstcut.adaptive_neighbors_graph(X[:100])
    tracemalloc.start()
    firstcut.adaptive_neighbors_graph(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 10  # all pairs as floats would be 3.2 GB


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@settings(max_examples=15)
@given(X=samples(min_samples=7))
def test_sparse_samples_are_taken(kind, X):
    dense = firstcut.adaptive_neighbors_graph(X, 5).toarray()
    sparse = firstcut.adaptive_neighbors_graph(kind(X), 5).toarray()
    np.testing.assert_allclose(sparse, dense, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, bool, object])
def test_other_types_of_number_are_taken(dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(30, 12)).astype(dtype)
    S = firstcut.adaptive_neighbors_graph(X, 5)
    np.testing.assert_array_equal(
        S.toarray(), firstcut.adaptive_neighbors_graph(X.astype(float), 5).toarray()
    )


def test_self_tuning_joins_a_sample_far_from_everything():
    X = np.vstack([np.zeros((20, 2)), [[1e9, 0.0]]])
    S = firstcut.self_tuning_graph(X, 5)
    assert 0 < S[[20]].sum() < 1e-300


def test_registry_starts_with_the_same_parameters():
    for affinity in firstcut.AFFINITIES.values():
        parameters = inspect.signature(affinity).parameters
        assert list(parameters)[:2] == ["X", "n_neighbors"]
        assert parameters["n_neighbors"].default == 10


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda X, f: f.adaptive_neighbors_graph(X, 12),
            r"needs at least 13 samples.*n_neighbors=11",
        ),
        (lambda X, f: f.adaptive_neighbors_graph(X, 11, include_self=False), r"13 samples.*=10"),
        (lambda X, f: f.adaptive_neighbors_graph(X[:1]), r"but X has 1; pass more samples"),
        (lambda X, f: f.nearest_neighbors_graph(X, 13), r"has 12; pass n_neighbors=12 or less"),
        (lambda X, f: f.self_tuning_graph(X, 2, 12), r"scale_neighbor=12 needs at least 13"),
        (lambda X, f: f.adaptive_neighbors_graph(X, 0), r"n_neighbors=0 is too small"),
        (lambda X, f: f.adaptive_neighbors_graph(X, offset=-1), r"offset=-1 must be .* 0 or more"),
        (lambda X, f: f.adaptive_neighbors_graph(X, offset=np.nan), r"offset=nan"),
        (lambda X, f: f.adaptive_neighbors_graph(X, n_jobs=0), r"n_jobs=0"),
        (lambda X, f: f.adaptive_neighbors_graph(X[0]), r"two-dimensional.*shape is \(2,\)"),
        (lambda X, f: f.adaptive_neighbors_graph(X[:, :0]), r"shape \(12, 0\)"),
        (lambda X, f: f.adaptive_neighbors_graph(X.astype(complex)), r"dtype is complex128"),
        (lambda X, f: f.adaptive_neighbors_graph(X.astype(str)), r"dtype is <U"),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, words):
    X = np.arange(24.0).reshape(12, 2)
    with pytest.raises(ValueError, match=words):
        call(X, firstcut)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_not_finite_samples_are_named(kind):
    X = np.ones((12, 2))
    X[3, 1], X[7, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"2 NaN or infinite values; the first is nan at \(3, 1\)"):
        firstcut.adaptive_neighbors_graph(kind(X))


@pytest.mark.parametrize(
    ("name", "ratio", "normalized"),
    [("wine", 0.0033, 0.0033), ("glass", 0.1256, 0.1250), ("yale", 1.2146, 1.2949)],
)
def test_the_papers_relaxed_optima(name, ratio, normalized):
    X, y = load_dataset(name)
    S = firstcut.adaptive_neighbors_graph(X, n_neighbors=10, include_self=True, offset=1e-6)
    for cut, printed in (("ratio", ratio), ("normalized", normalized)):
        values = np.linalg.eigvalsh(firstcut.operator(S, cut).toarray())
        assert round(values[: y.max() + 1].sum(), 4) == printed
