"""The contract of eigensolvers, tested for every registered solver.

Solvers with a larger default tolerance are run with the tolerance of the others.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs
from hypothesis import given
from hypothesis import strategies as st
from structured_graphs import (
    CUT_NAMES,
    STRUCTURED,
    check_smallest,
    cloud_graph,
    hub_of_cliques,
    path_graph,
    structured_eigenvalues,
    torus,
    true_eigenvalues,
)
from threadpoolctl import threadpool_limits

import leastcut
from leastcut.graph import as_graph
from leastcut.problem import as_problem
from leastcut.spectral.eigensolvers import EIGENSOLVERS, PACKAGES, check_solver
from leastcut.spectral.eigensolvers.auto import Estimate, auto, level_widths
from leastcut.spectral.eigensolvers.krylov import Growth, Plan
from leastcut.spectral.eigensolvers.lanczos import largest_eigenpairs

choosing = import_module("leastcut.spectral.eigensolvers.auto")  # its function has the same name

INSTALLED = [
    name for name in EIGENSOLVERS if name not in PACKAGES or find_spec(PACKAGES[name]) is not None
]
ITERATIVE = [name for name in INSTALLED if name != "dense"]
EVERY_SOLVER = ["auto", *INSTALLED]
SAME_TOLERANCE = {"tol": 1e-9, "max_iter": 10_000}


def block(graph, cut="normalized") -> tuple[sp.csr_array, np.ndarray]:
    """Return the operator of a connected graph, scaled to norm 1, and its null vector."""
    problem = as_problem(graph, cut)
    matrix = problem.operator()
    root = np.sqrt(problem.node_weights)
    return sp.csr_array(matrix / (2.0 * matrix.diagonal().max())), root / np.linalg.norm(root)


@cache
def wide_problem(orders: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Return a graph, node weights that span orders of magnitude, and the exact eigenvalues."""
    graph = cloud_graph(700, 5)
    weights = 10.0 ** np.random.default_rng(0).uniform(-orders, 0, 700)
    return graph, weights, true_eigenvalues(graph, weights)


@pytest.mark.parametrize("solve", [auto, *EIGENSOLVERS.values()])
def test_solvers_share_one_signature_with_individual_defaults(solve):
    parameters = inspect.signature(solve).parameters
    names = ["matrix", "null", "count", "rng", "tol", "max_iter", "deadline"]
    assert list(parameters) == names
    options = ("rng", "tol", "max_iter")
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in options)
    assert 0 < parameters["tol"].default < 1 <= parameters["max_iter"].default


@pytest.mark.parametrize("solver", EVERY_SOLVER)
def test_omitted_options_have_the_defaults_of_the_signature(solver):
    graph = cloud_graph(700, 3)
    parameters = inspect.signature(EIGENSOLVERS.get(solver, auto)).parameters
    named = {name: parameters[name].default for name in ("tol", "max_iter")}
    left_out = leastcut.relax(graph, 4, solver=solver, random_state=0)
    spelt_out = leastcut.relax(graph, 4, solver=solver, random_state=0, **named)
    np.testing.assert_array_equal(left_out.eigenvectors, spelt_out.eigenvectors)


@given(graphs(), st.sampled_from(CUT_NAMES), st.sampled_from(EVERY_SOLVER), st.data())
def test_any_number_of_eigenpairs_are_the_smallest(graph, cut, solver, data):
    n_clusters = data.draw(st.integers(1, graph.shape[0]))
    relaxation = leastcut.relax(graph, n_clusters, cut, solver=solver, random_state=0)
    check_smallest(relaxation, graph, cut, true_eigenvalues(graph, cut), 1e-10)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("cut", CUT_NAMES)
def test_no_copy_of_a_repeated_eigenvalue_is_missed(name, cut, solver):
    graph = STRUCTURED[name]
    for n_clusters in (2, 7, 16):
        relaxation = leastcut.relax(
            graph, n_clusters, cut, solver=solver, random_state=1, **SAME_TOLERANCE
        )
        check_smallest(relaxation, graph, cut, structured_eigenvalues(name, cut), 1e-7)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("name", STRUCTURED)
def test_values_are_between_the_exact_ones_and_their_residual_bounds(name, solver):
    exact = structured_eigenvalues(name, "normalized")[:9]
    for seed in range(3):
        result = leastcut.relax(STRUCTURED[name], 9, solver=solver, random_state=seed)
        assert result.converged
        assert (result.eigenvalues >= exact - 1e-12).all()
        assert (result.eigenvalues - result.residuals <= exact + 1e-12).all()
        assert result.lower_bound <= exact.sum() + 1e-12


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("name", STRUCTURED)
def test_values_are_never_below_the_exact_ones_at_any_tolerance(name, solver):
    exact = structured_eigenvalues(name, "normalized")[:9]
    for tol in (1e-1, 1e-2, 1e-4):
        result = leastcut.relax(STRUCTURED[name], 9, solver=solver, tol=tol, random_state=0)
        assert (result.eigenvalues >= exact - 1e-12).all()


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("orders", [1, 3, 6])
def test_node_weights_of_many_magnitudes_converge_or_are_reported(orders, solver):
    graph, weights, exact = wide_problem(orders)
    result = leastcut.relax(graph, 5, weights, solver=solver, random_state=0)
    scale = exact[-1]
    np.testing.assert_allclose(result.eigenvectors.T @ result.eigenvectors, np.eye(5), atol=1e-9)
    assert (result.eigenvalues >= exact[:5] - 1e-12 * scale).all()
    assert result.lower_bound <= exact[:5].sum() + 1e-12 * scale
    if result.converged:
        assert result.residuals.max() <= 1e-5 * scale
        np.testing.assert_allclose(result.eigenvalues / scale, exact[:5] / scale, atol=1e-6)


def test_cg_invert_is_chosen_for_very_uneven_node_weights():
    graph = cloud_graph(2000, 20)
    weights = 10.0 ** np.random.default_rng(0).uniform(-3, 0, 2000)
    relaxation = leastcut.relax(graph, 5, weights, random_state=0)
    assert relaxation.solver == "cg_invert"
    check_smallest(relaxation, graph, weights, true_eigenvalues(graph, weights), 1e-7)


@pytest.mark.parametrize("power", [-300, -150, 150, 300])
@pytest.mark.parametrize("solver", INSTALLED)
def test_weights_may_be_as_small_or_large_as_floats(power, solver):
    graph = cloud_graph(300, 3)
    options = {"solver": solver, "random_state": 0, **SAME_TOLERANCE}
    for cut, expected in (("normalized", 1.0), ("ratio", 10.0**power)):
        before = leastcut.relax(graph, 4, cut, **options)
        after = leastcut.relax(graph * 10.0**power, 4, cut, **options)
        np.testing.assert_allclose(after.eigenvalues, before.eigenvalues * expected, rtol=1e-7)
        assert np.isfinite(after.residuals).all()
        assert (after.residuals <= 1e-7 * expected).all()


@pytest.mark.parametrize("solver", INSTALLED)
def test_weights_of_all_magnitudes_in_one_graph(solver):
    graph = cloud_graph(300, 3)
    rng = np.random.default_rng(0)
    half = sp.triu(graph, 1).tocsr()
    half.data = 10.0 ** rng.uniform(-300, 300, half.nnz)
    relaxation = leastcut.relax(half + half.T, 5, solver=solver, random_state=0)
    assert np.isfinite(relaxation.eigenvectors).all()
    np.testing.assert_allclose(
        relaxation.eigenvectors.T @ relaxation.eigenvectors, np.eye(5), atol=1e-9
    )


@pytest.mark.parametrize("solver", INSTALLED)
@pytest.mark.parametrize("name", ["tree", "space", "islands"])
def test_permuting_nodes_permutes_the_eigenspaces(name, solver):
    graph = STRUCTURED[name]
    gaps = np.diff(structured_eigenvalues(name, "normalized")[:20])
    n_clusters = 8 + int(np.argmax(gaps[7:]))  # do not split a repeated eigenvalue
    order = np.random.default_rng(0).permutation(graph.shape[0])
    options = {"solver": solver, **SAME_TOLERANCE}
    F = leastcut.relax(graph, n_clusters, random_state=0, **options).eigenvectors[order]
    G = leastcut.relax(graph[order][:, order], n_clusters, random_state=5, **options).eigenvectors
    np.testing.assert_allclose(F @ (F.T @ G), G, atol=1e-6)


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("name", ["torus", "hub of cliques", "islands"])
def test_a_seed_determines_the_result_on_any_number_of_threads(name, solver):
    result = []
    for n_threads in (1, 2, 1):
        with threadpool_limits(n_threads):
            result.append(leastcut.relax(STRUCTURED[name], 9, solver=solver, random_state=4))
    for other in result[1:]:
        np.testing.assert_array_equal(other.eigenvectors, result[0].eigenvectors)
        np.testing.assert_array_equal(other.eigenvalues, result[0].eigenvalues)


@pytest.mark.parametrize("solver", ITERATIVE)
def test_unconverged_pairs_are_reported_and_give_no_bound(solver):
    graph = cloud_graph(1500, 2)
    relaxation = leastcut.relax(graph, 10, solver=solver, max_iter=1, random_state=0)
    assert not relaxation.converged
    assert relaxation.eigenvectors.shape == (1500, 10)
    np.testing.assert_allclose(
        relaxation.eigenvectors.T @ relaxation.eigenvectors, np.eye(10), atol=1e-9
    )
    assert relaxation.residuals.max() > 1e-6
    assert relaxation.lower_bound == 0.0
    exact = true_eigenvalues(graph, "normalized")[:10]
    assert (relaxation.eigenvalues >= exact - 1e-12).all()  # Ritz values are upper bounds


@pytest.mark.parametrize("solver", ["lanczos", "lobpcg"])
def test_a_tighter_tolerance_leaves_smaller_residuals(solver):
    graph = cloud_graph(1000, 10)
    residuals = [
        leastcut.relax(graph, 5, solver=solver, tol=tol, random_state=0).residuals.max()
        for tol in (1e-3, 1e-6, 1e-9, 0.0)
    ]
    assert all(a > b for a, b in pairwise(residuals))


@pytest.mark.parametrize("solver", INSTALLED)
def test_arguments_of_relax_are_not_changed(solver):
    graph, weights = cloud_graph(700, 2), np.random.default_rng(0).uniform(0.5, 2.0, 700)
    arrays = [graph.data, graph.indices, graph.indptr, weights]
    before = [array.copy() for array in arrays]
    for cut in (*CUT_NAMES, weights):
        leastcut.relax(graph, 4, cut, solver=solver)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("solver", INSTALLED)
def test_a_solver_changes_neither_its_matrix_nor_its_null_vector(solver):
    matrix, null = block(cloud_graph(700, 2))
    for array in (matrix.data, matrix.indices, matrix.indptr, null):
        array.setflags(write=False)
    result = EIGENSOLVERS[solver](matrix, null, 5, rng=np.random.default_rng(0))
    assert result.solver == solver
    assert result.converged
    np.testing.assert_allclose(result.vectors.T @ null, 0.0, atol=1e-10)


@pytest.mark.parametrize("solver", INSTALLED)
def test_the_global_random_state_of_numpy_is_not_changed(solver):
    np.random.seed(11)  # noqa: NPY002
    expected = np.random.random(3)  # noqa: NPY002
    np.random.seed(11)  # noqa: NPY002
    leastcut.relax(cloud_graph(600, 2), 4, solver=solver, random_state=0)
    np.testing.assert_array_equal(np.random.random(3), expected)  # noqa: NPY002


def test_the_requested_solver_runs():
    graph = cloud_graph(600, 2)
    for solver in INSTALLED:
        assert leastcut.relax(graph, 4, solver=solver).solver == solver
        assert (
            leastcut.relax(graph, 300, solver=solver).solver == "dense"
        )  # too many pairs for an iterative solver
        assert leastcut.relax(graph, 1, solver=solver).solver == "components"


@pytest.mark.parametrize(
    ("graph", "solver"),
    [
        (cloud_graph(300, 2), "dense"),
        (cloud_graph(2000, 2), "shift_invert"),
        (torus(45), "shift_invert"),
        (path_graph(20_000), "shift_invert"),
        (cloud_graph(2000, 20), "lanczos"),
        (hub_of_cliques(20, 50), "lanczos"),
    ],
    ids=["small", "plane", "mesh", "path", "space", "hub"],
)
def test_the_choice_follows_the_shape_of_the_graph(graph, solver):
    assert leastcut.relax(graph, 5, random_state=0).solver == solver


def test_no_other_solver_is_tried_after_max_iter():
    matrix, null = block(cloud_graph(2000, 20))
    result = auto(matrix, null, 5, rng=np.random.default_rng(0), max_iter=20)
    assert result.solver == "lanczos"
    assert not result.converged


def test_a_factorization_replaces_lanczos_that_is_slower_than_estimated(
    monkeypatch,
):
    matrix, null = block(cloud_graph(1000, 3))
    estimate = Estimate(n_steps=20.0, worth=21.0, entries=1e5, seconds=0.0)
    monkeypatch.setattr(choosing, "estimate", lambda *_: estimate)
    result = auto(matrix, null, 5, rng=np.random.default_rng(0))
    assert result.solver == "shift_invert"
    assert result.converged


@given(graphs(max_nodes=30))
def test_levels_of_a_search_contain_every_node_of_the_component(graph):
    graph = as_graph(graph)
    _, component = graph.components
    widths = level_widths(leastcut.operator(graph, "ratio") + sp.eye_array(graph.n_nodes))
    assert widths.sum() == np.count_nonzero(component == component[0])
    assert (widths > 0).all()


def test_levels_of_a_path_and_a_grid():
    assert level_widths(path_graph(50)).tolist() == [1] * 50
    one = sp.eye_array(7)
    grid = sp.csr_array(sp.kron(path_graph(7), one) + sp.kron(one, path_graph(7)))
    assert level_widths(grid).tolist() == [1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 12), st.integers(0, 9))
def test_lanczos_finds_all_copies_of_any_multiplicities(multiplicities, count, seed):
    values = 2.0 ** -np.arange(len(multiplicities))
    diagonal = np.concatenate([np.repeat(values, multiplicities), np.linspace(0, 0.02, 150)])
    known = np.zeros(diagonal.size)
    known[0] = 1.0  # excludes one copy of the largest eigenvalue
    result = largest_eigenpairs(
        diagonal.__mul__,
        known,
        count,
        Plan(2 * count + 2, 1e-9, np.random.default_rng(seed), 5000),
    )
    assert result.converged
    exact = np.sort(diagonal[1:])[::-1]
    np.testing.assert_allclose(result.values, exact[:count], atol=1e-9)
    # ``top`` bounds all other eigenvalues, and is close to the smallest of the computed ones.
    assert exact[count] - 1e-13 <= result.top <= result.values[-1] * (1 + 1e-4)
    np.testing.assert_allclose(result.vectors.T @ result.vectors, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(known @ result.vectors, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_pairs_reported_as_complete_are_complete_for_any_budget(seed):
    """The search of the complement may end at any product, and must not report success then."""
    rng = np.random.default_rng(seed)
    values, multiplicities, count = 0.9 ** np.arange(4), rng.integers(1, 6, 4), rng.integers(2, 9)
    diagonal = np.concatenate([np.repeat(values, multiplicities), np.linspace(0, 0.6, 150)])
    known = np.eye(1, diagonal.size)[0]  # excludes one copy of the largest eigenvalue
    exact = np.sort(diagonal[1:])[::-1]
    n_converged = 0
    for limit in range(10, 150, 4):
        result = largest_eigenpairs(
            diagonal.__mul__,
            known,
            count,
            Plan(2 * count + 2, 1e-6, np.random.default_rng(seed), limit),
        )
        if result.converged:
            n_converged += 1
            np.testing.assert_allclose(result.values, exact[:count], rtol=1e-4)
            assert result.top >= exact[count] * (1 - 1e-9)
    assert n_converged > 0


@pytest.mark.parametrize("gap", [12, 15, 19])
def test_no_eigenvalue_is_missed_by_more_than_ten_tolerances(gap):
    """Of three copies of the largest eigenvalue, the first search finds one."""
    tol = 1e-4
    diagonal = np.concatenate([[1.0], np.full(3, 1.0 + gap * tol), [1.0], np.linspace(0, 0.8, 150)])
    for seed in range(3):
        result = largest_eigenpairs(
            diagonal.__mul__,
            np.eye(1, diagonal.size)[0],
            3,
            Plan(20, tol, np.random.default_rng(seed), 5000),
        )
        np.testing.assert_allclose(result.values, 1.0 + gap * tol, rtol=10 * tol)


@pytest.mark.parametrize("max_iter", [10, 30, 100])
def test_lobpcg_uses_max_iter_products_across_restarts(max_iter):
    class Counting(sp.csr_array):
        """A matrix that counts products."""

        def __matmul__(self, other):
            self.n_products += 1
            return super().__matmul__(other)

    matrix, null = block(hub_of_cliques(12, 40))
    matrix = Counting(matrix)
    matrix.n_products = 0
    solve = EIGENSOLVERS["lobpcg"]
    result = solve(matrix, null, 9, rng=np.random.default_rng(0), tol=0.0, max_iter=max_iter)
    assert not result.converged
    # Every restart needs a few further products, and this graph causes many restarts.
    assert max_iter <= matrix.n_products <= 1.5 * max_iter + 8


@pytest.mark.parametrize("copies", [4, 6, 9])
def test_further_copies_of_an_eigenvalue_do_not_delay_the_result(copies):
    """It must be shown that no larger eigenvalue is left, but equal ones may be."""
    diagonal = np.concatenate([[1.0], np.full(copies, 0.9), np.linspace(0, 0.5, 300)])
    for seed in range(3):
        plan = Plan(20, 1e-6, np.random.default_rng(seed), 5000)
        result = largest_eigenpairs(
            diagonal.__mul__,
            np.eye(1, diagonal.size)[0],
            3,
            plan,
        )
        assert result.converged
        assert 0.9 <= result.top < 0.901
        assert plan.spent < 200


def test_an_impossible_proof_does_not_delay_the_result():
    """With noise above the components of the start vector, no bound can be proven."""
    diagonal = np.concatenate([[1.0], np.full(4, 0.9), np.linspace(0, 0.5, 300)])
    plan = Plan(20, 1e-6, np.random.default_rng(0), 5000)

    def apply(vector):
        plan.noise = 0.1
        return diagonal * vector

    result = largest_eigenpairs(
        apply,
        np.eye(1, diagonal.size)[0],
        3,
        plan,
    )
    assert result.converged
    assert result.top == np.inf
    assert plan.spent < 1000


def test_a_missing_package_is_named_in_the_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)  # importing it now fails
    graph = cloud_graph(300, 2)
    message = r"solver='amg' needs the package pyamg.*pip install pyamg \(or 'leastcut\[amg\]'\)"
    with pytest.raises(ValueError, match=message):
        leastcut.relax(graph, 4, solver="amg")
    with pytest.raises(ValueError, match="eigen_solver='amg' needs the package pyamg"):
        check_solver("amg", "eigen_solver")
    for solver in ("auto", *(name for name in EIGENSOLVERS if name not in PACKAGES)):
        assert leastcut.relax(graph, 4, solver=solver, random_state=0).converged


def test_optional_packages_are_imported_only_when_requested():
    code = (
        "import sys, numpy, leastcut; leastcut.relax(numpy.ones((9, 9)), 3, solver='lobpcg');"
        f"print([name for name in {sorted(PACKAGES.values())} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("solver", ["arpack", None, 3])
def test_the_error_for_an_unknown_solver_lists_the_known_ones(solver):
    with pytest.raises(ValueError, match=r"choose one of 'auto', 'dense', .*'lobpcg', 'amg'"):
        check_solver(solver)


@pytest.mark.parametrize("solver", ["auto", "dense"])
def test_vectors_are_orthonormal_for_weights_of_all_magnitudes(solver):
    rows = [0] * 9 + [1] * 8 + [6, 9, 10, 11, 12, 13, 17]
    columns = [0, 1, 4, 6, 10, 11, 15, 16, 17, 2, 3, 5, 7, 8, 9, 13, 14, 6, 9, 10, 11, 12, 13, 17]
    weights = [1e100, 5, 8, 5, 1, 2, 9, 2, 1, 7, 9, 6, 3, 9, 7, 9, 3, 1, 1, 1e100, 1, 10, 1e100, 1]
    half = sp.coo_array((weights, (rows, columns)), shape=(18, 18)).toarray()
    vectors = leastcut.relax(half + np.triu(half, 1).T, 17, solver=solver).eigenvectors
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(17), atol=1e-12)


def test_another_lapack_driver_runs_if_the_fastest_one_fails():
    X = np.zeros((65, 5))  # the driver failed on the neighbors of equal samples
    graph = leastcut.nearest_neighbors_graph(X, 5)
    for count in (64, 65):
        result = leastcut.relax(graph, count, "ratio")
        np.testing.assert_allclose(
            result.eigenvalues, true_eigenvalues(graph, "ratio")[:count], atol=1e-12
        )


@pytest.mark.parametrize("solver", INSTALLED)
def test_numerically_singular_graphs_give_no_false_bound(solver):
    rng = np.random.default_rng(0)
    for weakest in (1e-40, 1e-130, 1e-300):
        links = rng.choice([1.0, 1e-26, weakest], 120)
        ring = sp.diags_array([links[:-1], links[:-1]], offsets=[-1, 1], format="csr")
        loops = sp.diags_array(rng.choice([0.0, 1.0 / weakest**0.5], 120))
        for cut, graph in (("ratio", ring), ("normalized", sp.csr_array(ring + loops))):
            result = leastcut.relax(graph, 3, cut, solver=solver, random_state=0)
            assert np.isfinite(result.eigenvectors).all()
            assert result.lower_bound <= 1e-25


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([1.0, 1e-3, 1e-6, 1e-9]))
def test_growth_bounds_unseen_eigenvalues(seed, products, hidden):
    # An operator of dimension 60, and a start vector with a small component along its largest.
    rng = np.random.default_rng(seed)
    values = np.sort(rng.random(60) ** rng.uniform(0.2, 5))[::-1] + 0.1
    start = rng.standard_normal(60)
    start[0] = hidden * np.linalg.norm(start[1:])
    part = abs(start[0]) / np.linalg.norm(start)
    # Plain Lanczos with two orthogonalizations and occasional restarts.
    growth, basis = Growth(), [start / np.linalg.norm(start)]
    projected = np.zeros((0, 0))
    for _ in range(products):
        V = np.array(basis)
        image = values * basis[-1]
        for _ in range(2):
            image -= V.T @ (V @ image)
        length = float(np.linalg.norm(image))
        if length < 1e-10:
            break
        growth.expand(length)
        projected = V * values @ V.T
        ritz, coordinates = np.linalg.eigh(projected)
        growth.update(ritz[::-1])
        basis.append(image / length)
        if len(basis) > 12:
            growth.restart(6)
            basis = [*(coordinates[:, ::-1][:, :6].T @ V), basis[-1]]
    if projected.size:
        assert growth.top(0.99 * part) >= values[0] * (1 - 1e-9)
