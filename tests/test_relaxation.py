"""The relaxed problem: eigenpairs that are exact, complete, reproducible, and a lower bound."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import PAPER_DATASETS, graphs, knn_graph, load_dataset
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import firstcut
from firstcut.components import _balanced_groups
from firstcut.eigensolvers import SOLVERS, _level_widths
from firstcut.graph import as_graph
from firstcut.krylov import Budget, largest_eigenpairs

CUT_NAMES = ("ratio", "normalized")
EVERY_SOLVER = ("auto", *SOLVERS)


def path_graph(n: int) -> sp.csr_array:
    return sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))


def tree(levels: int) -> sp.csr_array:
    """A complete binary tree: almost every eigenvalue repeats."""
    n = 2**levels - 1
    child = np.arange(1, n)
    half = sp.coo_array((np.ones(n - 1), (child, (child - 1) // 2)), shape=(n, n)).tocsr()
    return sp.csr_array(half + half.T)


def torus(side: int) -> sp.csr_array:
    """A square grid without borders: eigenvalues repeat four and eight times."""
    ring = sp.lil_array(path_graph(side))
    ring[0, -1] = ring[-1, 0] = 1.0
    one = sp.eye_array(side)
    return sp.csr_array(sp.kron(ring, one) + sp.kron(one, ring))


def hub_of_cliques(n_cliques: int, size: int) -> sp.csr_array:
    """Equal cliques, each tied to one hub: an eigenvalue of multiplicity n_cliques - 1."""
    n = n_cliques * size + 1
    graph = np.zeros((n, n))
    for k in range(n_cliques):
        part = slice(k * size, (k + 1) * size)
        graph[part, part] = 1.0 - np.eye(size)
        graph[k * size, -1] = graph[-1, k * size] = 1.0
    return sp.csr_array(graph)


def points_graph(n: int, dimensions: int, seed: int = 0) -> sp.csr_array:
    return knn_graph(np.random.default_rng(seed).random((n, dimensions)))


def islands() -> sp.csr_array:
    """Three components large enough for iterative solvers, a triangle and two single nodes."""
    rest = np.zeros((5, 5))
    rest[:3, :3] = 1.0
    rest[3, 3] = rest[4, 4] = 2.0
    blocks = [points_graph(300, 2, 1), rest, points_graph(260, 8, 2), torus(16)]
    order = np.random.default_rng(3).permutation(821)
    return sp.csr_array(sp.csr_array(sp.block_diag(blocks))[order][:, order])


STRUCTURED = {
    "tree": tree(9),
    "torus": torus(24),
    "hub of cliques": hub_of_cliques(12, 40),
    "plane": points_graph(600, 2),
    "space": points_graph(600, 10),
    "islands": islands(),
}


def true_eigenvalues(graph, cut) -> np.ndarray:
    return np.linalg.eigvalsh(firstcut.operator(graph, cut).toarray())


@cache
def structured_eigenvalues(name: str, cut: str) -> np.ndarray:
    return true_eigenvalues(STRUCTURED[name], cut)


def check(relaxation, graph, cut, truth: np.ndarray, tol: float) -> None:
    """Assert what makes eigenpairs the c smallest: orthonormal, invariant, sorted, complete."""
    values, vectors = relaxation.eigenvalues, relaxation.eigenvectors
    matrix = firstcut.operator(graph, cut)
    scale = max(float(abs(matrix).max()), np.finfo(float).tiny)
    assert relaxation.converged
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(values.size), atol=1e-9)
    np.testing.assert_allclose(matrix @ vectors / scale, vectors * values / scale, atol=tol)
    np.testing.assert_array_equal(relaxation.operator_product, matrix @ vectors)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(values / scale, truth[: values.size] / scale, atol=tol)


@given(graphs(), st.sampled_from(CUT_NAMES), st.sampled_from(EVERY_SOLVER), st.data())
def test_pairs_are_the_smallest_for_every_number_of_them(graph, cut, solver, data):
    n_clusters = data.draw(st.integers(1, graph.shape[0]))
    relaxation = firstcut.relax(graph, n_clusters, cut, solver=solver, random_state=0)
    check(relaxation, graph, cut, true_eigenvalues(graph, cut), 1e-10)


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("cut", CUT_NAMES)
def test_no_copy_of_a_repeated_eigenvalue_is_missed(name, cut, solver):
    graph = STRUCTURED[name]
    for n_clusters in (2, 7, 16):
        relaxation = firstcut.relax(graph, n_clusters, cut, solver=solver, random_state=1)
        check(relaxation, graph, cut, structured_eigenvalues(name, cut), 1e-7)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 12), st.integers(0, 9))
def test_lanczos_finds_all_copies_of_any_multiplicities(multiplicities, count, seed):
    values = 2.0 ** -np.arange(len(multiplicities))
    diagonal = np.concatenate([np.repeat(values, multiplicities), np.linspace(0, 0.02, 150)])
    known = np.zeros(diagonal.size)
    known[0] = 1.0  # one copy of the largest is left out
    found = largest_eigenpairs(
        diagonal.__mul__,
        known,
        count,
        dimension=2 * count + 2,
        rng=np.random.default_rng(seed),
        tol=1e-9,
        budget=Budget(5000),
    )
    assert found.converged
    np.testing.assert_allclose(found.values, np.sort(diagonal[1:])[::-1][:count], atol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(known @ found.vectors, 0.0, atol=1e-12)


def test_the_solver_asked_for_is_the_one_that_runs():
    graph = points_graph(600, 2)
    for solver in SOLVERS:
        assert firstcut.relax(graph, 4, solver=solver).solver == solver
    assert firstcut.relax(graph, 1).solver == "components"
    assert firstcut.relax(graph, 300, solver="lanczos").solver == "dense"  # too many to iterate for


@pytest.mark.parametrize(
    ("graph", "solver"),
    [
        (points_graph(300, 2), "dense"),
        (points_graph(2000, 2), "shift_invert"),
        (torus(45), "shift_invert"),
        (path_graph(20_000), "shift_invert"),
        (points_graph(2000, 20), "lanczos"),
        (hub_of_cliques(20, 50), "lanczos"),
    ],
    ids=["small", "plane", "mesh", "path", "space", "hub"],
)
def test_the_choice_follows_the_shape_of_the_graph(graph, solver):
    assert firstcut.relax(graph, 5, random_state=0).solver == solver


def test_node_weights_of_very_different_size_are_divided_out():
    graph = points_graph(2000, 20)
    weights = 10.0 ** np.random.default_rng(0).uniform(-3, 0, 2000)
    relaxation = firstcut.relax(graph, 5, weights, random_state=0)
    assert relaxation.solver == "cg_invert"
    check(relaxation, graph, weights, true_eigenvalues(graph, weights), 1e-7)


@given(graphs(min_nodes=3), st.sampled_from(CUT_NAMES), st.data())
def test_no_partition_is_below_the_bound(graph, cut, data):
    n = graph.shape[0]
    n_clusters = data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    labels = rng.permutation(
        np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=n - n_clusters)])
    )
    value = firstcut.cut_value(graph, labels, cut)
    bound = firstcut.lower_bound(graph, n_clusters, cut, random_state=0)
    assert 0.0 <= bound <= value * (1 + 1e-12) + 1e-12


@given(graphs(), st.sampled_from(CUT_NAMES))
def test_the_root_of_the_weights_is_in_the_null_space(graph, cut):
    relaxation = firstcut.relax(graph, graph.shape[0], cut)
    root = np.sqrt(relaxation.node_weights)
    null = relaxation.eigenvectors[:, relaxation.eigenvalues == 0]
    assert null.shape[1] == as_graph(graph).components()[0]
    np.testing.assert_allclose(null @ (null.T @ root), root, atol=1e-12 * np.linalg.norm(root))


@given(graphs(max_nodes=20), st.data())
def test_enough_components_are_groups_of_components_at_value_zero(graph, data):
    n_components, component = as_graph(graph).components()
    n_clusters = data.draw(st.integers(1, n_components))
    relaxation = firstcut.relax(graph, n_clusters)
    assert relaxation.solver == "components"
    assert (relaxation.eigenvalues == 0).all()
    assert relaxation.lower_bound == 0.0
    labels = np.argmax(relaxation.eigenvectors, axis=1)
    assert np.unique(labels).size == n_clusters
    assert firstcut.cut_value(graph, labels) == 0.0
    for k in range(n_components):
        assert np.unique(labels[component == k]).size == 1


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=40), st.data())
def test_groups_differ_by_no_more_than_the_heaviest_load_that_was_placed(loads, data):
    n_groups = data.draw(st.integers(1, len(loads)))
    loads = np.array(loads)
    groups = _balanced_groups(loads, n_groups)
    sums = np.bincount(groups, loads, minlength=n_groups)
    assert np.unique(groups).size == n_groups
    placed = np.sort(loads)[::-1][n_groups:]
    heaviest = placed.max(initial=0.0)
    filled = sums[np.bincount(groups, minlength=n_groups) > 1]
    assert (filled <= sums.min() + 2 * heaviest + 1e-9).all()


@given(graphs(min_nodes=3), st.integers(-9, 9))
def test_scaling_the_graph_leaves_normalized_eigenvalues_alone_and_scales_the_others(graph, power):
    factor = 10.0**power
    for cut, expected in (("normalized", 1.0), ("ratio", factor)):
        before = firstcut.relax(graph, 3, cut).eigenvalues
        after = firstcut.relax(graph * factor, 3, cut).eigenvalues
        np.testing.assert_allclose(after, before * expected, rtol=1e-9, atol=1e-12 * expected)


@pytest.mark.parametrize("power", [-300, -150, 150, 300])
@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_may_be_as_small_or_large_as_floats_are(power, solver):
    graph = points_graph(300, 3)
    for cut, expected in (("normalized", 1.0), ("ratio", 10.0**power)):
        before = firstcut.relax(graph, 4, cut, solver=solver, random_state=0)
        after = firstcut.relax(graph * 10.0**power, 4, cut, solver=solver, random_state=0)
        np.testing.assert_allclose(after.eigenvalues, before.eigenvalues * expected, rtol=1e-7)
        assert np.isfinite(after.residuals).all()
        assert (after.residuals <= 1e-7 * expected).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_of_every_size_at_once(solver):
    graph = points_graph(300, 3)
    rng = np.random.default_rng(0)
    half = sp.triu(graph, 1).tocsr()
    half.data = 10.0 ** rng.uniform(-300, 300, half.nnz)
    relaxation = firstcut.relax(half + half.T, 5, solver=solver, random_state=0)
    assert np.isfinite(relaxation.eigenvectors).all()
    np.testing.assert_allclose(
        relaxation.eigenvectors.T @ relaxation.eigenvectors, np.eye(5), atol=1e-9
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["tree", "space", "islands"])
def test_permuting_nodes_permutes_the_eigenspaces(name, solver):
    graph = STRUCTURED[name]
    gaps = np.diff(structured_eigenvalues(name, "normalized")[:20])
    n_clusters = 8 + int(np.argmax(gaps[7:]))  # a repeated eigenvalue is all in or all out
    order = np.random.default_rng(0).permutation(graph.shape[0])
    F = firstcut.relax(graph, n_clusters, solver=solver, random_state=0).eigenvectors[order]
    G = firstcut.relax(
        graph[order][:, order], n_clusters, solver=solver, random_state=5
    ).eigenvectors
    np.testing.assert_allclose(F @ (F.T @ G), G, atol=1e-6)


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("name", ["torus", "hub of cliques", "islands"])
def test_a_seed_fixes_the_answer_on_any_number_of_threads(name, solver):
    found = []
    for n_threads in (1, 2, 1):
        with threadpool_limits(n_threads):
            found.append(firstcut.relax(STRUCTURED[name], 9, solver=solver, random_state=4))
    for other in found[1:]:
        np.testing.assert_array_equal(other.eigenvectors, found[0].eigenvectors)
        np.testing.assert_array_equal(other.eigenvalues, found[0].eigenvalues)


@given(graphs(min_nodes=3, connected=True))
def test_the_largest_entry_of_every_vector_is_positive(graph):
    vectors = firstcut.relax(graph, 3).eigenvectors
    size = np.abs(vectors)
    for vector, peak in zip(vectors.T, size.max(axis=0), strict=True):
        first = np.flatnonzero(np.abs(vector) >= peak * (1 - 1e-6))[0]
        assert vector[first] > 0


@pytest.mark.parametrize("solver", ["lanczos", "shift_invert", "cg_invert"])
def test_what_has_not_converged_says_so_and_bounds_nothing(solver):
    graph = points_graph(1500, 2)
    relaxation = firstcut.relax(graph, 10, solver=solver, max_iter=1, random_state=0)
    assert not relaxation.converged
    assert relaxation.eigenvectors.shape == (1500, 10)
    np.testing.assert_allclose(
        relaxation.eigenvectors.T @ relaxation.eigenvectors, np.eye(10), atol=1e-9
    )
    assert relaxation.residuals.max() > 1e-6
    assert relaxation.lower_bound == 0.0
    truth = true_eigenvalues(graph, "normalized")[:10]
    assert (relaxation.eigenvalues >= truth - 1e-12).all()  # Ritz values come from above


def test_a_tighter_tolerance_leaves_smaller_residuals():
    graph = points_graph(1000, 10)
    residuals = [
        firstcut.relax(graph, 5, solver="lanczos", tol=tol, random_state=0).residuals.max()
        for tol in (1e-3, 1e-6, 1e-9, 0.0)
    ]
    assert all(a > b for a, b in pairwise(residuals))


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_smallest_graphs(n_clusters):
    assert firstcut.relax([[3.0]], 1).eigenvectors.tolist() == [[1.0]]
    relaxation = firstcut.relax([[0.0, 1.0], [1.0, 0.0]], n_clusters)
    np.testing.assert_allclose(relaxation.eigenvalues, [0.0, 2.0][:n_clusters])


def test_own_node_weights_and_any_matrix_will_do():
    graph = points_graph(700, 4)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 700)
    truth = true_eigenvalues(graph, weights)
    check(firstcut.relax(graph, 5, weights, random_state=0), graph, weights, truth, 1e-7)
    reference = firstcut.relax(graph, 5, random_state=0).eigenvalues
    wide = sp.csr_array(
        (graph.data, graph.indices.astype(np.int64), graph.indptr.astype(np.int64)), graph.shape
    )
    for other in (wide, graph.astype(np.float32), sp.coo_matrix(graph), graph.toarray()):
        found = firstcut.relax(other, 5, random_state=0)
        np.testing.assert_allclose(found.eigenvalues, reference, atol=1e-9)


def test_the_callers_matrix_is_not_changed():
    graph = points_graph(700, 2)
    before = graph.copy()
    for solver in SOLVERS:
        firstcut.relax(graph, 4, solver=solver)
    np.testing.assert_array_equal(graph.data, before.data)
    np.testing.assert_array_equal(graph.indices, before.indices)


@given(graphs(max_nodes=30))
def test_levels_of_a_search_hold_every_node_of_the_component(graph):
    graph = as_graph(graph)
    _, component = graph.components()
    widths = _level_widths(firstcut.operator(graph, "ratio") + sp.eye_array(graph.n_nodes))
    assert widths.sum() == np.count_nonzero(component == component[0])
    assert (widths > 0).all()


def test_levels_of_a_path_and_a_grid():
    assert _level_widths(path_graph(50)).tolist() == [1] * 50
    one = sp.eye_array(7)
    grid = sp.csr_array(sp.kron(path_graph(7), one) + sp.kron(one, path_graph(7)))
    assert _level_widths(grid).tolist() == [1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1]


def test_a_relaxation_from_elsewhere():
    relaxation = firstcut.Relaxation(
        eigenvalues=[0, 1], eigenvectors=[[1, 0], [0, 1], [0, 0]], node_weights=[1, 2, 3]
    )
    assert (relaxation.n_nodes, relaxation.n_clusters) == (3, 2)
    assert relaxation.solver == "given"
    assert relaxation.eigenvectors.dtype == np.float64
    np.testing.assert_array_equal(relaxation.gradient, [[0, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(relaxation.residuals, [0, 0])
    assert relaxation.lower_bound == 1.0
    approximate = firstcut.Relaxation(
        eigenvalues=[0, 1],
        eigenvectors=[[1, 0], [0, 1], [0, 0]],
        node_weights=[1, 2, 3],
        operator_product=[[0, 0], [0, 1], [0.25, 0]],
    )
    np.testing.assert_array_equal(approximate.residuals, [0.25, 0])
    assert approximate.lower_bound == 0.75


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eigenvectors": [1.0, 2.0]}, r"its shape is \(2,\)"),
        ({"eigenvectors": [[1.0, 2.0]]}, "no more columns than rows"),
        ({"eigenvalues": [0.0]}, r"eigenvalues must have shape \(2,\)"),
        ({"eigenvalues": [0.0, np.nan]}, "eigenvalues holds NaN"),
        ({"node_weights": [1.0, 1.0]}, r"node_weights must have shape \(3,\)"),
        ({"node_weights": [1.0, 0.0, 1.0]}, "1 of 3 are not .the first is 0.0 at node 1"),
        ({"operator_product": [[1.0, 1.0]]}, r"operator_product must have shape \(3, 2\)"),
    ],
)
def test_a_relaxation_that_does_not_fit_together_is_refused(change, words):
    given_ = {
        "eigenvalues": [0.0, 1.0],
        "eigenvectors": np.eye(3)[:, :2],
        "node_weights": np.ones(3),
    }
    with pytest.raises(ValueError, match=words):
        firstcut.Relaxation(**{**given_, **change})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": 4}, "n_clusters=4 is more than the 3 nodes"),
        ({"n_clusters": 0}, "n_clusters=0 is too small"),
        ({"solver": "arpack"}, "solver='arpack' is not known; choose one of 'auto', 'dense'"),
        ({"max_iter": 0}, "max_iter=0 is too small"),
        ({"tol": -1.0}, "tol=-1.0 is not a tolerance"),
        ({"tol": np.nan}, "tol=nan is not a tolerance"),
        ({"cut": np.full(3, 1e-300), "scale": 1e300}, "This cut overflows"),
    ],
)
def test_bad_arguments_are_told_what_is_wrong(options, words):
    options = {"n_clusters": 2, **options}
    graph = np.array([[0.0, 2, 0], [2, 0, 1], [0, 1, 0]]) * options.pop("scale", 1.0)
    with pytest.raises(ValueError, match=words):
        firstcut.relax(graph, **options)


PRINTED = json.loads(
    (Path(firstcut.__file__).parent / "paper" / "printed.json").read_text(encoding="utf-8")
)["objective"]


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_every_relaxed_optimum_that_the_paper_prints(name):
    X, y = load_dataset(name)
    graph = firstcut.adaptive_neighbors_graph(X, n_neighbors=10, include_self=True, offset=1e-6)
    printed = next(value for key, value in PRINTED.items() if key.lower() == name)
    for cut in CUT_NAMES:
        relaxation = firstcut.relax(graph, np.unique(y).size, cut, random_state=0)
        assert relaxation.converged
        assert round(relaxation.lower_bound, 4) == pytest.approx(printed[cut]["OPT_r"], abs=1e-9)
