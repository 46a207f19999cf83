"""Symmetric graphs from neighbor lists, against SciPy's sums and transposes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st

import leastcut
from leastcut import graph as graphs
from leastcut.graph import as_graph, symmetric_graph
from leastcut.kernels import assemble as kernels
from leastcut.kernels.containers import SHORT, sort_pairs


@st.composite
def lists(draw, most: int = 60):
    """Generate lists of any length and order, with some zero weights, without self-loops."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, most))
    dense = rng.random((n, n)) * (rng.random((n, n)) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])))
    np.fill_diagonal(dense, 0.0)
    listed = (dense > 0) | (rng.random((n, n)) < 0.1)
    np.fill_diagonal(listed, False)
    rows = [rng.permutation(np.flatnonzero(row)) for row in listed]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.concatenate(rows).astype(draw(st.sampled_from([np.int32, np.int64])))
    weights = dense[np.repeat(np.arange(n), np.diff(indptr)), indices]
    loops = rng.random(n) + 0.1 if draw(st.booleans()) else None
    return indptr, indices, weights, loops


def by_scipy(indptr, indices, weights, loops, larger: bool) -> sp.csr_array:
    n = len(indptr) - 1
    S = sp.csr_array((weights.copy(), indices.copy(), indptr.copy()), shape=(n, n))
    S.eliminate_zeros()
    S.sort_indices()
    if loops is not None:
        S = S + sp.diags_array(loops, format="csr")
    T = S.T.tocsr()
    return sp.csr_array(S.maximum(T) if larger else (S + T) * 0.5)


def assert_same(actual: sp.csr_array, expected: sp.csr_array) -> None:
    np.testing.assert_array_equal(actual.indptr, expected.indptr)
    np.testing.assert_array_equal(actual.indices, expected.indices)
    np.testing.assert_array_equal(actual.data, expected.data)


@given(case=lists(), larger=st.booleans(), data=st.data())
def test_symmetric_graphs_equal_those_of_scipy_bitwise(case, larger, data):
    indptr, indices, weights, loops = case
    expected = by_scipy(indptr, indices, weights, loops, larger)
    n_threads = data.draw(st.sampled_from([1, 2, 5]))
    with pytest.MonkeyPatch.context() as patch:
        # SciPy or kernels; small chunks and buckets, so that there are many.
        patch.setattr(graphs, "FEW_LISTED", data.draw(st.sampled_from([0, 2**16])))
        patch.setattr(graphs, "ROWS", data.draw(st.sampled_from([1, 7, 2**15])))
        patch.setattr(graphs, "BUCKET", data.draw(st.sampled_from([1, 8, 2**12])))
        patch.setattr(graphs, "MOST_PARTS", data.draw(st.sampled_from([1, 3, 256])))
        graph = symmetric_graph(indptr, indices, weights, loops, larger=larger, n_threads=n_threads)
    assert_same(graph, expected)
    assert graph.indices.dtype == graph.indptr.dtype == np.int32
    assert graph.has_canonical_format
    transpose = graph.T.tocsr()
    np.testing.assert_array_equal(transpose.data, graph.data)
    np.testing.assert_array_equal(transpose.indices, graph.indices)


@settings(max_examples=draws(15))
@given(case=lists(most=20), larger=st.booleans())
def test_compiled_equals_interpreted(case, larger):
    indptr, indices, weights, loops = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "FEW_LISTED", 0)
        patch.setattr(graphs, "BUCKET", 4)
        compiled = symmetric_graph(indptr, indices.copy(), weights.copy(), loops, larger=larger)
        for name in ("sort_lists", "fill_buckets", "merge_bucket", "sort_pairs"):
            patch.setattr(kernels, name, getattr(kernels, name).py_func)
        interpreted = symmetric_graph(indptr, indices, weights, loops, larger=larger)
    assert_same(compiled, interpreted)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 4 * SHORT), distinct=st.integers(1, 200))
def test_sort_pairs_sorts_lexicographically(seed, size, distinct):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, distinct, size=size + 4) / 4
    others = rng.permutation(size + 4)
    expected = np.lexsort((others[2:-2], keys[2:-2]))
    for sort in (sort_pairs, sort_pairs.py_func):
        actual = keys.copy(), others.copy()
        sort(*actual, 2, size + 2)
        for sorted_part, before in zip(actual, (keys, others), strict=True):
            np.testing.assert_array_equal(sorted_part[2:-2], before[2:-2][expected])
            # Entries outside the range are unchanged.
            np.testing.assert_array_equal(sorted_part[[0, 1, -2, -1]], before[[0, 1, -2, -1]])


def test_a_graph_of_a_hundred_thousand_components():
    n_pairs = 100_000
    position = np.random.default_rng(0).permutation(2 * n_pairs)
    X = np.stack([position // 2 * 3.0, position % 2 * 1.0], axis=1)
    S = leastcut.nearest_neighbors_graph(X, 1, include_self=False)
    assert S.nnz == 2 * n_pairs
    assert as_graph(S).components[0] == n_pairs


@pytest.mark.parametrize("name", ["adaptive_neighbors", "nearest_neighbors", "self_tuning"])
def test_graphs_do_not_depend_on_threads_or_the_precision_of_exact_inputs(name):
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 64, size=(2500, 2)) / 64).astype(np.float32)
    build = leastcut.AFFINITIES[name]
    expected = build(X.astype(np.float64), n_jobs=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "FEW_LISTED", 0)
        patch.setattr(graphs, "ROWS", 300)
        patch.setattr(graphs, "BUCKET", 64)
        patch.setattr(graphs, "MOST_PARTS", 32)
        for n_jobs in (1, 2, 5):
            assert_same(build(X, n_jobs=n_jobs), expected)
