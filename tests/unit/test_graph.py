"""Graphs: validation, conversion, and errors for invalid input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import leastcut
from leastcut.graph import as_graph

TRIANGLE = np.array([[0.0, 1.0, 2.0], [1.0, 0.5, 0.0], [2.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        lambda a: a.tolist(),
        sp.csr_array,
        sp.csr_matrix,
        sp.csc_array,
        sp.coo_array,
        sp.lil_matrix,
        lambda a: sp.csr_array(a.astype(np.float32)),
        lambda a: sp.csr_array((2 * a).astype(np.int64)) * 0.5,
    ],
)
def test_every_container_gives_the_same_graph(make):
    graph = as_graph(make(TRIANGLE))
    np.testing.assert_array_equal(graph.matrix.toarray(), TRIANGLE)
    np.testing.assert_array_equal(graph.degrees, [3.0, 1.5, 2.0])
    assert graph.matrix.dtype == np.float64
    assert graph.matrix.indices.dtype == np.int32
    assert isinstance(graph.matrix, sp.csr_array)


def test_int64_indices_are_accepted():
    matrix = sp.csr_array(TRIANGLE)
    wide = sp.csr_array(
        (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)),
        shape=matrix.shape,
    )
    assert wide.indices.dtype == np.int64
    assert leastcut.cut_value(wide, [0, 0, 1]) == leastcut.cut_value(TRIANGLE, [0, 0, 1])


def test_the_callers_matrix_is_not_changed():
    # Unsorted, with a duplicate and a stored zero.
    data = np.array([2.0, 0.25, 0.25, 1.0, 0.0, 2.0, 1.0])
    indices = np.array([2, 1, 1, 0, 2, 0, 0])
    indptr = np.array([0, 1, 5, 7])
    matrix = sp.csr_array((data, indices, indptr), shape=(3, 3))
    copies = [array.copy() for array in (data, indices, indptr)]
    with pytest.raises(ValueError, match="not symmetric"):
        as_graph(matrix)
    for array, copy in zip((matrix.data, matrix.indices, matrix.indptr), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_canonical_matrix_is_not_copied():
    matrix = sp.csr_array(TRIANGLE)
    assert np.shares_memory(as_graph(matrix).matrix.data, matrix.data)
    graph = as_graph(matrix)
    assert as_graph(graph) is graph


def test_duplicate_entries_are_summed():
    pairs = (np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 0]))
    graph = as_graph(sp.coo_array(pairs, shape=(2, 2)))
    np.testing.assert_array_equal(graph.degrees, [2.0, 2.0])


def test_asymmetry_by_rounding_is_averaged():
    noisy = TRIANGLE.copy()
    noisy[0, 1] += 1e-12
    matrix = as_graph(noisy).matrix.toarray()
    np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinite_weights_raise(value):
    bad = TRIANGLE.copy()
    bad[0, 2] = bad[2, 0] = value
    with pytest.raises(ValueError, match=r"has 2 NaN or infinite entries; the first is .*\(0, 2\)"):
        leastcut.cut_value(bad, [0, 0, 1])


def test_negative_weights_raise():
    bad = TRIANGLE.copy()
    bad[1, 1] = -0.5
    with pytest.raises(ValueError, match=r"1 negative entry; the first is -0.5 at \(1, 1\)"):
        leastcut.relax(bad, 2)


def test_asymmetric_weights_raise_with_the_largest_difference():
    bad = TRIANGLE.copy()
    bad[0, 1] = 1.25
    with pytest.raises(ValueError, match=r"not symmetric: .*differ by 0.25.*\(S \+ S.T\) / 2"):
        leastcut.cut_value(sp.csr_array(bad), [0, 0, 1])


def test_an_asymmetric_pattern_raises():
    with pytest.raises(ValueError, match=r"\(0, 1\) and \(1, 0\) differ by 1"):
        as_graph(sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]])))


@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 0), (2, 2, 2)])
def test_matrices_that_are_not_square_raise(shape):
    with pytest.raises(ValueError, match=r"square matrix|no nodes"):
        as_graph(np.ones(shape))


@pytest.mark.parametrize("dtype", [complex, object, str])
def test_matrices_that_are_not_real_raise(dtype):
    with pytest.raises(ValueError, match="must hold real numbers"):
        as_graph(np.ones((2, 2)).astype(dtype))


def test_connected_components():
    count, component = as_graph(sp.block_diag([TRIANGLE, [[1.0]], TRIANGLE])).components
    assert count == 3
    np.testing.assert_array_equal(component, [0, 0, 0, 1, 2, 2, 2])
