"""Spectral relaxation: exact, complete and reproducible eigenpairs, and the lower bound."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs
from hypothesis import given
from hypothesis import strategies as st
from structured_graphs import CUT_NAMES, check_smallest, cloud_graph, islands, true_eigenvalues

import leastcut
from leastcut.graph import as_graph
from leastcut.problem import Problem, as_problem
from leastcut.spectral.relax import relax_problem


@given(graphs(min_nodes=3), st.sampled_from(CUT_NAMES), st.data())
def test_no_partition_is_below_the_bound(graph, cut, data):
    n = graph.shape[0]
    n_clusters = data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    labels = rng.permutation(
        np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=n - n_clusters)])
    )
    value = leastcut.cut_value(graph, labels, cut)
    bound = leastcut.lower_bound(graph, n_clusters, cut, random_state=0)
    assert 0.0 <= bound <= value * (1 + 1e-12) + 1e-12


@given(graphs(), st.sampled_from(CUT_NAMES))
def test_the_root_of_the_weights_is_in_the_null_space(graph, cut):
    relaxation = leastcut.relax(graph, graph.shape[0], cut)
    root = np.sqrt(relaxation.node_weights)
    null = relaxation.eigenvectors[:, relaxation.eigenvalues == 0]
    assert null.shape[1] == as_graph(graph).components[0]
    np.testing.assert_allclose(null @ (null.T @ root), root, atol=1e-12 * np.linalg.norm(root))


@given(graphs(max_nodes=20), st.data())
def test_enough_components_give_groups_of_value_zero(graph, data):
    n_components, component = as_graph(graph).components
    n_clusters = data.draw(st.integers(1, n_components))
    relaxation = leastcut.relax(graph, n_clusters)
    assert relaxation.solver == "components"
    assert (relaxation.eigenvalues == 0).all()
    assert relaxation.lower_bound == 0.0
    labels = np.argmax(relaxation.eigenvectors, axis=1)
    assert np.unique(labels).size == n_clusters
    assert leastcut.cut_value(graph, labels) == 0.0
    for k in range(n_components):
        assert np.unique(labels[component == k]).size == 1


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=40), st.data())
def test_group_weights_differ_by_at_most_the_heaviest_component(loads, data):
    n_groups = data.draw(st.integers(1, len(loads)))
    loads = np.array(loads)
    groups = Problem(as_graph(np.eye(loads.size)), loads).uncut_labels(n_groups)
    sums = np.bincount(groups, loads, minlength=n_groups)
    assert np.unique(groups).size == n_groups
    placed = np.sort(loads)[::-1][n_groups:]
    heaviest = placed.max(initial=0.0)
    filled = sums[np.bincount(groups, minlength=n_groups) > 1]
    assert (filled <= sums.min() + 2 * heaviest + 1e-9).all()


@given(graphs(min_nodes=3), st.integers(-9, 9))
def test_scaling_the_graph_scales_ratio_but_not_normalized_eigenvalues(graph, power):
    factor = 10.0**power
    for cut, expected in (("normalized", 1.0), ("ratio", factor)):
        before = leastcut.relax(graph, 3, cut).eigenvalues
        after = leastcut.relax(graph * factor, 3, cut).eigenvalues
        np.testing.assert_allclose(after, before * expected, rtol=1e-9, atol=1e-12 * expected)


@given(graphs(min_nodes=3, connected=True))
def test_the_largest_entry_of_every_vector_is_positive(graph):
    vectors = leastcut.relax(graph, 3).eigenvectors
    size = np.abs(vectors)
    for vector, peak in zip(vectors.T, size.max(axis=0), strict=True):
        first = np.flatnonzero(np.abs(vector) >= peak * (1 - 1e-6))[0]
        assert vector[first] > 0


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_smallest_graphs(n_clusters):
    assert leastcut.relax([[3.0]], 1).eigenvectors.tolist() == [[1.0]]
    relaxation = leastcut.relax([[0.0, 1.0], [1.0, 0.0]], n_clusters)
    np.testing.assert_allclose(relaxation.eigenvalues, [0.0, 2.0][:n_clusters])


def test_node_weights_and_all_matrix_types_are_accepted():
    graph = cloud_graph(700, 4)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 700)
    truth = true_eigenvalues(graph, weights)
    result = leastcut.relax(graph, 5, weights, random_state=0)
    check_smallest(result, graph, weights, truth, 1e-7)
    reference = leastcut.relax(graph, 5, random_state=0).eigenvalues
    wide = sp.csr_array(
        (graph.data, graph.indices.astype(np.int64), graph.indptr.astype(np.int64)), graph.shape
    )
    for other in (wide, graph.astype(np.float32), sp.coo_matrix(graph), graph.toarray()):
        result = leastcut.relax(other, 5, random_state=0)
        np.testing.assert_allclose(result.eigenvalues, reference, atol=1e-9)


@pytest.mark.parametrize("cut", CUT_NAMES)
def test_the_internal_function_agrees_with_the_public_one(cut):
    graph = islands()
    public = leastcut.relax(graph, 9, cut, random_state=3)
    inner = relax_problem(as_problem(graph, cut), 9, random_state=3)
    np.testing.assert_array_equal(inner.eigenvectors, public.eigenvectors)
    np.testing.assert_array_equal(inner.eigenvalues, public.eigenvalues)
    assert leastcut.lower_bound(graph, 9, cut, random_state=3) == public.lower_bound


def test_a_generator_advances_and_a_seed_does_not():
    graph, rng = cloud_graph(2000, 20), np.random.default_rng(0)
    first, second = (leastcut.relax(graph, 3, random_state=rng) for _ in range(2))
    again = leastcut.relax(graph, 3, random_state=0)
    np.testing.assert_array_equal(first.eigenvectors, again.eigenvectors)
    assert not np.array_equal(first.eigenvectors, second.eigenvectors)


def test_a_relaxation_of_other_eigenpairs():
    relaxation = leastcut.Relaxation(
        eigenvalues=[0, 1], eigenvectors=[[1, 0], [0, 1], [0, 0]], node_weights=[1, 2, 3]
    )
    assert (relaxation.n_nodes, relaxation.n_clusters) == (3, 2)
    assert relaxation.solver == "given"
    assert relaxation.eigenvectors.dtype == np.float64
    np.testing.assert_array_equal(relaxation.gradient, [[0, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(relaxation.residuals, [0, 0])
    assert relaxation.lower_bound == 1.0
    approximate = leastcut.Relaxation(
        eigenvalues=[0, 1],
        eigenvectors=[[1, 0], [0, 1], [0, 0]],
        node_weights=[1, 2, 3],
        operator_product=[[0, 0], [0, 1], [0.25, 0]],
    )
    np.testing.assert_array_equal(approximate.residuals, [0.25, 0])
    assert approximate.lower_bound == 0.75


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eigenvectors": [1.0, 2.0]}, r"its shape is \(2,\)"),
        ({"eigenvectors": [[1.0, 2.0]]}, "at most as many columns as rows"),
        ({"eigenvalues": [0.0]}, r"eigenvalues must have shape \(2,\)"),
        ({"eigenvalues": [0.0, np.nan]}, "eigenvalues holds NaN"),
        ({"node_weights": [1.0, 1.0]}, r"node_weights must have shape \(3,\)"),
        ({"node_weights": [1.0, 0.0, 1.0]}, "1 of 3 are not .the first is 0.0 at node 1"),
        ({"operator_product": [[1.0, 1.0]]}, r"operator_product must have shape \(3, 2\)"),
    ],
)
def test_inconsistent_relaxations_are_rejected(change, message):
    arguments = {
        "eigenvalues": [0.0, 1.0],
        "eigenvectors": np.eye(3)[:, :2],
        "node_weights": np.ones(3),
    }
    with pytest.raises(ValueError, match=message):
        leastcut.Relaxation(**{**arguments, **change})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 4}, "n_clusters=4 is more than the 3 nodes"),
        ({"n_clusters": 0}, "n_clusters=0 is too small"),
        ({"solver": "arpack"}, "solver='arpack' is not known; choose one of 'auto', 'dense'"),
        ({"max_iter": 0}, "max_iter=0 is too small"),
        ({"tol": -1.0}, "tol=-1.0 must be at least 0"),
        ({"tol": np.nan}, "tol=nan must be at least 0"),
        ({"cut": np.full(3, 1e-300), "scale": 1e300}, "Cut values could reach inf"),
    ],
)
def test_invalid_arguments_are_rejected(options, message):
    options = {"n_clusters": 2, **options}
    graph = np.array([[0.0, 2, 0], [2, 0, 1], [0, 1, 0]]) * options.pop("scale", 1.0)
    with pytest.raises(ValueError, match=message):
        leastcut.relax(graph, **options)
