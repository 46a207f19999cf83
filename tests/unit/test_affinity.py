"""Affinity graphs: comparison with slow reference implementations, and invariants."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, load_dataset, premise
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

import leastcut
from leastcut.affinity import AFFINITIES, affinity_of
from leastcut.affinity.neighbors import products as product_search
from leastcut.affinity.pairwise_kernels import DEFAULTS
from leastcut.graph import as_graph

NEIGHBOR_GRAPHS = {
    name: AFFINITIES[name] for name in ("adaptive_neighbors", "nearest_neighbors", "self_tuning")
}


def squared_distances(X: np.ndarray) -> np.ndarray:
    difference = X[:, None, :] - X[None, :, :]
    return (difference**2).sum(axis=-1)


def ordered(X: np.ndarray, i: int) -> list[int]:
    """Return all samples except i, nearest first, ties by index."""
    d = squared_distances(X)
    return sorted((j for j in range(len(X)) if j != i), key=lambda j: (d[i, j], j))


def directed_adaptive(X: np.ndarray, k: int, include_self: bool, offset: float) -> np.ndarray:
    """Return the directed weights by their definition, entry by entry."""
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
    """Draw samples in general position, on a coarse lattice (ties), or with many duplicates."""
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
    return 1e6 + rng.integers(0, 5, size=(n, p)) / 8  # indistinguishable by products alone


@given(X=samples(), data=st.data())
def test_adaptive_neighbors_graph_equals_its_definition(X, data):
    include_self = data.draw(st.booleans())
    most = len(X) - (1 if include_self else 2)
    premise(most >= 1)
    k = data.draw(st.integers(1, most))
    offset = data.draw(st.sampled_from([0.0, 1e-6, 0.3, 50.0]))
    S = leastcut.adaptive_neighbors_graph(X, k, include_self, offset)
    np.testing.assert_allclose(
        S.toarray(), adaptive(X, k, include_self, offset), rtol=1e-9, atol=1e-12
    )


@given(X=samples(), data=st.data())
def test_nearest_neighbors_graph_equals_its_definition(X, data):
    include_self = data.draw(st.booleans())
    k = data.draw(st.integers(1, len(X) - (0 if include_self else 1)))
    S = leastcut.nearest_neighbors_graph(X, k, include_self)
    np.testing.assert_array_equal(S.toarray(), binary(X, k, include_self))


@given(X=samples(), data=st.data())
def test_self_tuning_graph_equals_its_definition(X, data):
    k = data.draw(st.integers(1, len(X) - 1))
    s = data.draw(st.integers(1, len(X) - 1))
    S = leastcut.self_tuning_graph(X, k, s)
    np.testing.assert_allclose(S.toarray(), self_tuning(X, k, s), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n_features", [3, 30])
def test_nearest_neighbors_graph_equals_that_of_scikit_learn(n_features):
    X = np.random.default_rng(0).normal(size=(300, n_features))
    theirs = kneighbors_graph(X, 10, include_self=True)
    ours = leastcut.nearest_neighbors_graph(X, 10)
    np.testing.assert_array_equal(ours.toarray(), 0.5 * (theirs + theirs.T).toarray())


@pytest.mark.parametrize("affinity", NEIGHBOR_GRAPHS.values(), ids=NEIGHBOR_GRAPHS)
@given(X=samples(min_samples=9))
def test_graphs_of_any_samples_are_valid(affinity, X):
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
def test_rows_sum_to_one_before_symmetrization(X, include_self):
    # Symmetrization keeps the total n.
    S = leastcut.adaptive_neighbors_graph(X, 5, include_self)
    assert S.sum() == pytest.approx(len(X))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("affinity", NEIGHBOR_GRAPHS.values(), ids=NEIGHBOR_GRAPHS)
@pytest.mark.parametrize("n_features", [2, 20])
@settings(max_examples=draws(6))
@given(seed=st.integers(0, 2**32 - 1))
def test_graphs_are_equivariant_to_permutation_and_invariant_to_translation_and_scale(
    affinity, n_features, seed
):
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


def test_adaptive_graph_with_ties_does_not_depend_on_the_order_of_samples():
    # Samples tied at the (k+1)-th distance have weight 0, so the order of ties has no effect.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(60, 3)).astype(float)
    order = rng.permutation(len(X))
    S = leastcut.adaptive_neighbors_graph(X, 10, offset=0.5).toarray()
    permuted = leastcut.adaptive_neighbors_graph(X[order], 10, offset=0.5).toarray()
    np.testing.assert_allclose(permuted, S[np.ix_(order, order)], rtol=1e-12)


@pytest.mark.parametrize("affinity", NEIGHBOR_GRAPHS.values(), ids=NEIGHBOR_GRAPHS)
@pytest.mark.parametrize("n_features", [3, 12, 40])
def test_graphs_do_not_depend_on_threads_and_blocks(affinity, n_features, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, n_features))
    X[100:300] = rng.integers(0, 2, size=(200, n_features))
    X[300:400] = X[0]
    expected = affinity(X, 10, n_jobs=1)
    monkeypatch.setattr(product_search, "WORTHWHILE", 0)
    for n_jobs, block in [(2, 2**22), (3, 500), (-1, 1)]:
        monkeypatch.setattr(product_search, "BLOCK", block)
        result = affinity(X, 10, n_jobs=n_jobs)
        np.testing.assert_array_equal(result.indptr, expected.indptr)
        np.testing.assert_array_equal(result.indices, expected.indices)
        np.testing.assert_array_equal(result.data, expected.data)


def test_duplicates_do_not_displace_the_sample_itself():
    X = np.zeros((50, 3))
    S = leastcut.adaptive_neighbors_graph(X, 10)
    np.testing.assert_array_equal(S.diagonal(), 0.1)
    assert S.sum() == pytest.approx(50)


@pytest.mark.parametrize("n_features", [2, 40])
def test_memory_is_linear_in_the_number_of_samples(n_features):
    n = 20_000
    X = np.random.default_rng(0).normal(size=(n, n_features))
    X[:2000] = X[0]  # 2000² pairs at distance 0
    leastcut.adaptive_neighbors_graph(X[:100])
    tracemalloc.start()
    leastcut.adaptive_neighbors_graph(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 10  # all pairs would take 3.2 GB


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@settings(max_examples=draws(15))
@given(X=samples(min_samples=7))
def test_sparse_samples_give_the_dense_graph(kind, X):
    dense = leastcut.adaptive_neighbors_graph(X, 5).toarray()
    sparse = leastcut.adaptive_neighbors_graph(kind(X), 5).toarray()
    np.testing.assert_allclose(sparse, dense, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, bool, object])
def test_other_dtypes_give_the_same_graph(dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(30, 12)).astype(dtype)
    S = leastcut.adaptive_neighbors_graph(X, 5)
    np.testing.assert_array_equal(
        S.toarray(), leastcut.adaptive_neighbors_graph(X.astype(float), 5).toarray()
    )


def test_self_tuning_graph_connects_outliers():
    X = np.vstack([np.zeros((20, 2)), [[1e9, 0.0]]])
    S = leastcut.self_tuning_graph(X, 5)
    assert 0 < S[[20]].sum() < 1e-300


def test_registered_neighbor_graphs_share_their_first_parameter():
    for affinity in NEIGHBOR_GRAPHS.values():
        with pytest.raises(ValueError, match="n_neighbors=0 is too small"):
            affinity([[0.0], [1.0]], n_neighbors=0)
        assert next(iter(affinity.parameters.items())) == ("n_neighbors", 10)
        assert affinity.takes == "samples"


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
        (lambda X, f: f.adaptive_neighbors_graph(X, offset=-1), r"offset=-1.0 must be at least 0"),
        (lambda X, f: f.adaptive_neighbors_graph(X, offset=np.nan), r"offset=nan"),
        (lambda X, f: f.adaptive_neighbors_graph(X, n_jobs=0), r"n_jobs=0"),
        (lambda X, f: f.adaptive_neighbors_graph(X[0]), r"two-dimensional.*shape is \(2,\)"),
        (lambda X, f: f.adaptive_neighbors_graph(X[:, :0]), r"shape \(12, 0\)"),
        (lambda X, f: f.adaptive_neighbors_graph(X.astype(complex)), r"dtype is complex128"),
        (lambda X, f: f.adaptive_neighbors_graph(X.astype(str)), r"dtype is <U"),
    ],
)
def test_errors_state_the_value_and_the_remedy(call, words):
    X = np.arange(24.0).reshape(12, 2)
    with pytest.raises(ValueError, match=words):
        call(X, leastcut)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_non_finite_samples_are_reported_with_their_position(kind):
    X = np.ones((12, 2))
    X[3, 1], X[7, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"2 NaN or infinite values; the first is nan at \(3, 1\)"):
        leastcut.adaptive_neighbors_graph(kind(X))


@pytest.mark.parametrize("name", AFFINITIES)
def test_masked_samples_are_rejected(name):
    X = np.abs(np.random.default_rng(0).random((12, 12)))
    X = X + X.T
    masked = np.ma.masked_greater(X, 1.0)
    parameters = AFFINITIES[name].limited(12, {})
    with pytest.raises(ValueError, match="X is a masked array"):
        AFFINITIES[name](masked, **parameters)
    if "n_neighbors" in parameters and "precomputed" not in name:
        with pytest.raises(ValueError, match="X is a masked array"):  # a single sample
            AFFINITIES[name](masked[:1], **AFFINITIES[name].limited(1, {}))
    model = leastcut.SpectralClustering(2, affinity=name)
    with pytest.raises(ValueError, match="X is a masked array"):
        model.fit(masked)
    if name != "additive_chi2":  # it is negative
        model.fit(X)
        for method in (model.predict, model.score):
            with pytest.raises(ValueError, match="X is a masked array"):
                method(masked)
    with pytest.raises(ValueError, match="X is a masked array"):
        leastcut.cut_path(masked, range(2, 4), affinity=name)
    # A masked array without masked entries is valid.
    plain = AFFINITIES[name](np.ma.masked_array(X), **parameters)
    as_array = AFFINITIES[name](X, **parameters)
    assert abs(plain - as_array).max() == 0


# -- scale of the samples


def samples_of_all_sizes(n_features: int) -> dict[str, np.ndarray]:
    """Return sets of forty samples, some with outliers or features of very different scale."""
    X = np.random.default_rng(0).random((40, n_features)) + 0.01
    outlier, cluster, feature = X.copy(), X.copy(), X.copy()
    outlier[0] *= 2.0**400
    cluster[:20] *= 2.0**-450
    feature[:, 0] *= 2.0**-400
    return {
        "ordinary": X,
        "a large sample": outlier,
        "small samples": cluster,
        "a small feature": feature,
        "far from the origin": X + 1e6,
        "duplicates": np.repeat(X[:8], 5, axis=0),
        "one point": np.full_like(X, 0.1),
        "zeros": np.zeros_like(X),
    }


@pytest.mark.sampled(5)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_features", [2, 12, 40])
@pytest.mark.parametrize("name", [*NEIGHBOR_GRAPHS, "cosine"])
def test_graphs_do_not_depend_on_the_unit_of_the_samples(name, n_features, container):
    affinity = AFFINITIES[name]
    parameters = affinity.limited(40, {})
    for kind, X in samples_of_all_sizes(n_features).items():
        results = {}
        for exponent in (0, -1000, -560, -240, -60, 60, 240, 500):
            scaled = np.ldexp(X, exponent)
            # Skip samples that are rounded by the scaling.
            if np.array_equal(np.ldexp(scaled, -exponent), X):
                samples = container(scaled)
                graph = affinity(samples, **parameters)
                rows = affinity.rows(samples, **parameters)(samples)
                results[exponent] = [M.toarray() if sp.issparse(M) else M for M in (graph, rows)]
        assert len(results) >= 4
        for exponent, matrices in results.items():
            for ours, plain in zip(matrices, results[0], strict=True):
                np.testing.assert_array_equal(ours, plain, err_msg=f"{kind} times 2^{exponent}")


@pytest.mark.parametrize("exponent", [-1000, -500, -260, -200, 200, 260, 490])
def test_the_offset_scales_with_the_samples(exponent):
    X = np.random.default_rng(0).random((40, 3))
    plain = leastcut.adaptive_neighbors_graph(X, 5, offset=0.25)
    scaled = np.ldexp(X, exponent)
    offset = float(np.ldexp(0.25, 2 * exponent))
    if offset > 0:
        graph = leastcut.adaptive_neighbors_graph(scaled, 5, offset=offset)
        np.testing.assert_array_equal(graph.toarray(), plain.toarray())
    # Compared with a large offset, all samples are equally near.
    everyone = leastcut.adaptive_neighbors_graph(scaled, 5, offset=1e308).toarray()
    np.testing.assert_allclose(everyone, np.full((40, 40), 1 / 5), rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in KERNEL_PARAMS if name != "additive_chi2"])
@pytest.mark.parametrize(("scale", "dtype"), [(1e160, "d"), (1e-170, "d"), (1e25, "f")])
def test_kernels_are_accurate_at_any_scale_or_report_the_supported_range(name, scale, dtype):
    X = (np.random.default_rng(0).random((20, 3)) * scale).astype(dtype)
    if name not in ("cosine", "laplacian"):
        with pytest.raises(ValueError, match=r"is supported\. Scale X"):
            AFFINITIES[name](X)
        return
    unit = (X / scale).astype(float)
    exact = pairwise_kernels(unit, metric="cosine")
    if name == "laplacian":
        exact = np.exp(-scale * np.abs(unit[:, None] - unit).sum(axis=-1))
    np.testing.assert_allclose(AFFINITIES[name](X), exact, rtol=1e-5)


# -- affinities and rows of new samples


@pytest.mark.parametrize("name", KERNEL_PARAMS)
def test_kernels_equal_those_of_scikit_learn(name):
    X = np.random.default_rng(0).random((20, 3))
    affinity = affinity_of(name)
    assert set(affinity.parameters) == set(KERNEL_PARAMS[name])
    assert affinity.parameters.items() <= DEFAULTS.items()
    theirs = pairwise_kernels(X, metric=name, **affinity.parameters)
    np.testing.assert_allclose(affinity(X), theirs, rtol=1e-12)
    changed = dict.fromkeys(affinity.parameters, 2.0)
    theirs = pairwise_kernels(X[:4], X, metric=name, **changed)
    np.testing.assert_allclose(affinity.rows(X, **changed)(X[:4]), theirs, rtol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "linear", "poly", "cosine", "laplacian", "sigmoid"])
def test_kernels_of_sparse_and_single_precision_samples(name):
    X = np.random.default_rng(0).random((20, 3))
    dense = AFFINITIES[name](X)
    sparse = AFFINITIES[name](sp.csr_array(X))
    assert isinstance(sparse, np.ndarray)
    np.testing.assert_allclose(sparse, dense, rtol=1e-9)
    if name != "laplacian":
        assert AFFINITIES[name](X.astype(np.float32)).dtype == np.float32


def powered(x: np.ndarray, y: np.ndarray, power: float = 1.0) -> float:
    return float(x @ y) ** power


def test_functions_of_two_samples_become_affinities():
    X = np.random.default_rng(0).random((9, 3))
    affinity = affinity_of(powered)
    np.testing.assert_allclose(affinity(X), X @ X.T)
    np.testing.assert_allclose(affinity(X, power=2), (X @ X.T) ** 2)
    np.testing.assert_allclose(affinity.rows(X, power=2)(X[:2]), (X[:2] @ X.T) ** 2)
    assert affinity.limited(9, {"power": 2}) == {"power": 2}


def test_unknown_names_raise_with_the_known_names():
    with pytest.raises(ValueError, match=r"affinity='gaussian' is not known; .*'rbf'"):
        affinity_of("gaussian")
    assert affinity_of("self_tuning") is AFFINITIES["self_tuning"]


PARAMETERS = {
    "adaptive_neighbors": [{}, {"include_self": False}, {"offset": 0.3}],
    "nearest_neighbors": [{}, {"include_self": False}],
    "self_tuning": [{}, {"scale_neighbor": 2}],
}
CASES = [(name, parameters) for name, cases in PARAMETERS.items() for parameters in cases]


@pytest.mark.parametrize(("name", "initial"), CASES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 12])
def test_limited_parameters_are_valid_for_any_number_of_samples(name, initial, n):
    affinity = AFFINITIES[name]
    before = dict(initial)
    parameters = affinity.limited(n, initial)
    assert initial == before
    assert list(parameters) == list(affinity.parameters)
    X = np.random.default_rng(0).normal(size=(n, 2))
    S = affinity.graph(X, **parameters)
    assert isinstance(S, sp.csr_array)
    assert (as_graph(S).degrees > 0).all()
    rows = affinity.rows(X, **parameters)(X[:2])
    assert rows.shape == (min(n, 2), n)
    if n == 1:
        assert S.toarray() == rows.toarray() == 1.0
    else:
        # They are valid for the public function too, and one more neighbor is too many.
        np.testing.assert_array_equal(affinity(X, **parameters).toarray(), S.toarray())
        enough = affinity.limited(n, {**parameters, "n_neighbors": 10**6})
        with pytest.raises(ValueError, match="needs at least"):
            affinity(X, **{**enough, "n_neighbors": enough["n_neighbors"] + 1})
    large = affinity.limited(1000, initial)
    assert large == {**affinity.parameters, **initial}


def sorted_by_distance(X: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = ((X - x) ** 2).sum(axis=1)
    order = np.argsort(d, kind="stable")
    return order, d[order]


def adaptive_row(X: np.ndarray, x: np.ndarray, k: int, offset: float) -> np.ndarray:
    order, d = sorted_by_distance(X, x)
    gap = d[min(k, len(X) - 1)] + offset - d[:k]
    row = np.zeros(len(X))
    row[order[:k]] = gap / gap.sum() if gap.sum() > 0 else 1 / k
    return row


def self_tuning_row(X: np.ndarray, x: np.ndarray, k: int, s: int) -> np.ndarray:
    def scale(d: np.ndarray) -> float:
        return np.sqrt(d[min(s, len(d) - 1) if d[0] == 0 else s - 1])

    order, d = sorted_by_distance(X, x)
    row = np.zeros(len(X))
    for j, squared in zip(order[: k + (d[0] == 0)], d, strict=False):
        product = scale(d) * scale(sorted_by_distance(X, X[j])[1])
        exponent = 0.0 if squared == 0 else squared / product if product > 0 else np.inf
        row[j] = np.exp(-exponent)
    return row


@given(X=samples(), data=st.data())
def test_rows_equal_their_definitions(X, data):
    new = X[::2] if data.draw(st.booleans()) else X[::2] + 0.125
    k = data.draw(st.integers(1, len(X) - 1))
    offset = data.draw(st.sampled_from([0.0, 0.25, 50.0]))
    rows = AFFINITIES["adaptive_neighbors"].rows(X, n_neighbors=k, offset=offset)(new)
    expected = [adaptive_row(X, x, k, offset) for x in new]
    np.testing.assert_allclose(rows.toarray(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)

    rows = AFFINITIES["nearest_neighbors"].rows(X, n_neighbors=k)(new)
    expected = [np.isin(np.arange(len(X)), sorted_by_distance(X, x)[0][:k]) for x in new]
    np.testing.assert_array_equal(rows.toarray(), expected)

    s = data.draw(st.integers(1, len(X) - 1))
    rows = AFFINITIES["self_tuning"].rows(X, n_neighbors=k, scale_neighbor=s)(new)
    expected = [self_tuning_row(X, x, k, s) for x in new]
    np.testing.assert_allclose(rows.toarray(), expected, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n_features", [2, 12, 40])
def test_training_samples_get_their_own_weights_as_new_samples(n_features):
    X = np.random.default_rng(0).normal(size=(80, n_features))
    rows = AFFINITIES["adaptive_neighbors"].rows(X)(X)
    np.testing.assert_allclose(rows.toarray(), directed_adaptive(X, 10, True, 0.0), rtol=1e-9)
    rows = AFFINITIES["self_tuning"].rows(X)(X).toarray()
    np.testing.assert_array_equal(rows.diagonal(), 1.0)
    np.testing.assert_array_equal(
        np.maximum(rows, rows.T) - np.eye(80), AFFINITIES["self_tuning"](X).toarray()
    )
    rows = AFFINITIES["nearest_neighbors"].rows(X)(X).toarray()
    np.testing.assert_array_equal((rows + rows.T) / 2, AFFINITIES["nearest_neighbors"](X).toarray())


@pytest.mark.sampled(5)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", [*NEIGHBOR_GRAPHS, *KERNEL_PARAMS])
def test_rows_are_bitwise_equal_in_any_batch(name, container):
    if "chi2" in name and container is sp.csr_array:
        pytest.skip("scikit-learn's chi2 does not support sparse samples")
    # Products of tenths are rounded, depending on the order of the sum.
    X = np.random.default_rng(0).integers(0, 4, size=(60, 40)) / 10
    affinity = AFFINITIES[name]
    rows = affinity.rows(container(X), **affinity.limited(60, {}))

    def compute(new):
        result = rows(new)
        return result.toarray() if sp.issparse(result) else result

    together = compute(container(X))
    for size in (1, 17):
        parts = [compute(container(X[start : start + size])) for start in range(0, 60, size)]
        np.testing.assert_array_equal(np.vstack(parts), together)
    with threadpool_limits(1):
        np.testing.assert_array_equal(compute(container(X[::-1])), together[::-1])
    # For any format of the new samples.
    np.testing.assert_array_equal(compute(X), together)
    np.testing.assert_array_equal(compute(sp.csr_array(X)), together)


@pytest.mark.parametrize("name", [*NEIGHBOR_GRAPHS, "rbf", "poly", "precomputed"])
def test_affinities_and_rows_can_be_pickled(name):
    X = np.random.default_rng(0).normal(size=(30, 30)) ** 2
    new = X[:4] + 0.1
    affinity = AFFINITIES[name]
    rows = affinity.rows(X)
    expected = rows(new)
    for copy in (pickle.loads(pickle.dumps(rows)), pickle.loads(pickle.dumps(affinity)).rows(X)):
        assert abs(copy(new) - expected).max() == 0


def test_importing_the_affinities_does_not_import_scikit_learn():
    code = "import sys, leastcut.affinity; print('sklearn' in sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "False"


# -- published values


@pytest.mark.parametrize(
    ("name", "ratio", "normalized"),
    [("wine", 0.0033, 0.0033), ("glass", 0.1256, 0.1250), ("yale", 1.2146, 1.2949)],
)
def test_relaxed_optima_equal_those_of_the_paper(name, ratio, normalized):
    X, y = load_dataset(name)
    S = leastcut.adaptive_neighbors_graph(X, n_neighbors=10, include_self=True, offset=1e-6)
    for cut, printed in (("ratio", ratio), ("normalized", normalized)):
        values = np.linalg.eigvalsh(leastcut.operator(S, cut).toarray())
        assert round(values[: y.max() + 1].sum(), 4) == printed


@pytest.mark.parametrize("name", sorted(set(AFFINITIES) - {"additive_chi2", "chi2"}))
def test_sparse_samples_with_duplicate_entries_are_not_changed(name):
    indices, indptr = (np.tile([0, 0, 1], 8), np.arange(0, 25, 3))
    X = sp.csr_array((np.ones(24), indices.astype("i4"), indptr.astype("i4")), shape=(8, 8))
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    affinity = AFFINITIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        affinity.graph(X, **affinity.limited(8, {"n_neighbors": 2} if "neighbors" in name else {}))
    for array, original in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, original)
