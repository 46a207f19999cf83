"""Symmetric graphs from lists of neighbours, against SciPy's own sums and transposes."""

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
    """Lists of any length and in any order, some weights 0, without the node itself."""
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


def assert_same(ours: sp.csr_array, theirs: sp.csr_array) -> None:
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_array_equal(ours.data, theirs.data)


@given(given_lists=lists(), larger=st.booleans(), data=st.data())
def test_it_is_the_sum_with_the_transpose_to_the_last_bit(given_lists, larger, data):
    indptr, indices, weights, loops = given_lists
    expected = by_scipy(indptr, indices, weights, loops, larger)
    n_threads = data.draw(st.sampled_from([1, 2, 5]))
    with pytest.MonkeyPatch.context() as patch:
        # By SciPy or by kernels; chunks and buckets of a few rows, so that there are many.
        patch.setattr(graphs, "FEW_LISTED", data.draw(st.sampled_from([0, 2**16])))
        patch.setattr(graphs, "ROWS", data.draw(st.sampled_from([1, 7, 2**15])))
        patch.setattr(graphs, "BUCKET", data.draw(st.sampled_from([1, 8, 2**12])))
        patch.setattr(graphs, "MOST_PARTS", data.draw(st.sampled_from([1, 3, 256])))
        found = symmetric_graph(indptr, indices, weights, loops, larger=larger, n_threads=n_threads)
    assert_same(found, expected)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert found.has_canonical_format
    transpose = found.T.tocsr()
    np.testing.assert_array_equal(transpose.data, found.data)
    np.testing.assert_array_equal(transpose.indices, found.indices)


@settings(max_examples=draws(15))
@given(given_lists=lists(most=20), larger=st.booleans())
def test_compiled_equals_interpreted(given_lists, larger):
    indptr, indices, weights, loops = given_lists
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "FEW_LISTED", 0)
        patch.setattr(graphs, "BUCKET", 4)
        compiled = symmetric_graph(indptr, indices.copy(), weights.copy(), loops, larger=larger)
        for name in ("sort_lists", "fill_buckets", "merge_bucket", "sort_pairs"):
            patch.setattr(kernels, name, getattr(kernels, name).py_func)
        interpreted = symmetric_graph(indptr, indices, weights, loops, larger=larger)
    assert_same(compiled, interpreted)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 4 * SHORT), distinct=st.integers(1, 200))
def test_pairs_are_sorted_by_both(seed, size, distinct):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, distinct, size=size + 4) / 4
    others = rng.permutation(size + 4)
    expected = np.lexsort((others[2:-2], keys[2:-2]))
    for sort in (sort_pairs, sort_pairs.py_func):
        ours = keys.copy(), others.copy()
        sort(*ours, 2, size + 2)
        for found, before in zip(ours, (keys, others), strict=True):
            np.testing.assert_array_equal(found[2:-2], before[2:-2][expected])
            # What is outside the range stays.
            np.testing.assert_array_equal(found[[0, 1, -2, -1]], before[[0, 1, -2, -1]])


def test_a_hundred_thousand_components_are_as_many_in_the_graph():
    n_pairs = 100_000
    place = np.random.default_rng(0).permutation(2 * n_pairs)
    X = np.stack([place // 2 * 3.0, place % 2 * 1.0], axis=1)
    S = leastcut.nearest_neighbors_graph(X, 1, include_self=False)
    assert S.nnz == 2 * n_pairs
    assert as_graph(S).components[0] == n_pairs


@pytest.mark.parametrize("name", ["adaptive_neighbors", "nearest_neighbors", "self_tuning"])
def test_graphs_do_not_depend_on_threads_or_precision_of_what_is_exact(name):
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 64, size=(2500, 2)) / 64).astype(np.float32)
    build = leastcut.AFFINITIES[name]
    whole = build(X.astype(np.float64), n_jobs=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "FEW_LISTED", 0)
        patch.setattr(graphs, "ROWS", 300)
        patch.setattr(graphs, "BUCKET", 64)
        patch.setattr(graphs, "MOST_PARTS", 32)
        for n_jobs in (1, 2, 5):
            assert_same(build(X, n_jobs=n_jobs), whole)
