"""Eigenvalue bounds never exceed the optimum, for any weights and solver."""

from __future__ import annotations

import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_graphs import (
    CUT_NAMES,
    STRUCTURED,
    cloud_graph,
    path_graph,
    structured_eigenvalues,
)
from test_eigensolvers import EVERY_SOLVER, INSTALLED, ITERATIVE, SAME_TOLERANCE
from wide_spans import SMALLEST, Rational, wide_problems

import leastcut
from leastcut.budget import Budget
from leastcut.problem import as_problem
from leastcut.spectral.relax import relax_problem


@cache
def linked_cliques(
    n_cliques: int, size: int, weakest: float, strongest: float, seed: int
) -> sp.csr_array:
    """Return cliques of which about half of the pairs are joined by one weak edge."""
    rng = np.random.default_rng(seed)
    graph = np.kron(np.eye(n_cliques), np.ones((size, size)))
    np.fill_diagonal(graph, 0.0)
    for a in range(n_cliques):
        for b in range(a + 1, n_cliques):
            # A chain, which connects the graph, and half of the other pairs.
            if b == a + 1 or rng.random() < 0.5:
                i, j = a * size + rng.integers(size), b * size + rng.integers(size)
                graph[i, j] = graph[j, i] = 10 ** rng.uniform(weakest, strongest)
    return sp.csr_array(graph)


def upper_bound(graph: sp.csr_array, size: int, n_clusters: int, cut: str) -> tuple[float, float]:
    """Return Σλ over vectors that are constant on cliques, and the norm of the matrix.

    A minimum over a subspace is an upper bound on the Σλ of the graph.
    """
    problem = as_problem(graph, cut)
    clique = np.arange(graph.shape[0]) // size
    count = clique[-1] + 1
    coarse = sp.coo_array((problem.graph.weights, (clique[problem.graph.rows],
                                                  clique[problem.graph.indices])))  # fmt: skip
    links = coarse.toarray()
    np.fill_diagonal(links, 0.0)
    weights = np.bincount(clique, problem.node_weights, minlength=count)
    laplacian = (np.diag(links.sum(axis=1)) - links) / np.sqrt(np.outer(weights, weights))
    values = np.linalg.eigvalsh(laplacian)
    return float(values[1:n_clusters].sum()), float(values[-1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("cut", CUT_NAMES)
@pytest.mark.parametrize(("n_cliques", "size"), [(30, 20), (9, 12)])
def test_bounds_of_nearly_disconnected_graphs_are_valid(n_cliques, size, cut, solver):
    for seed, (weakest, strongest) in enumerate([(-12, -7), (-9, -5), (-300, -200), (-16, -16)]):
        graph = linked_cliques(n_cliques, size, weakest, strongest, seed)
        for n_clusters in (2, n_cliques // 3, n_cliques - 1):
            relaxation = leastcut.relax(graph, n_clusters, cut, solver=solver, random_state=0)
            above, norm = upper_bound(graph, size, n_clusters, cut)
            assert relaxation.lower_bound <= above * (1 + 1e-9) + 1e-13 * norm
            # The bound is not trivial for values well above rounding.
            if solver == "auto" and above > 1e-8:
                assert relaxation.lower_bound >= 0.5 * above


@pytest.mark.parametrize("cut", CUT_NAMES)
def test_bounds_of_partition_for_nearly_disconnected_graphs_are_valid(cut):
    for seed in range(4):
        graph = linked_cliques(30, 20, -12, -7, seed)
        for n_clusters in (2, 10, 29):
            partition = leastcut.partition(
                graph, n_clusters, cut, effort="fast", lower_bound=True, random_state=0
            )
            assert 0.0 < partition.lower_bound <= partition.cut_value
            assert 0.0 <= partition.gap < 0.8


def test_bounds_of_distant_blobs_in_an_rbf_graph_are_valid():
    rng = np.random.default_rng(0)
    for distance in (8.0, 12.0, 30.0, 60.0):
        centers = distance * rng.standard_normal((6, 2))
        X = np.repeat(centers, 100, axis=0) + rng.standard_normal((600, 2))
        for n_clusters in (3, 6, 8):
            model = leastcut.SpectralClustering(n_clusters, affinity="rbf", random_state=0).fit(X)
            assert 0.0 <= model.lower_bound_ <= model.cut_value_
            assert 0.0 <= model.gap_ <= 1.0


@given(wide_problems(max_nodes=6), st.sampled_from(EVERY_SOLVER))
@settings(max_examples=draws(150))
def test_bounds_are_valid_for_weights_of_any_range(problem, solver):
    graph, cut, _ = problem
    rational = Rational(graph, cut)
    for n_clusters in range(2, len(graph)):
        bound = leastcut.relax(graph, n_clusters, cut, solver=solver).lower_bound
        assert bound >= 0.0
        # With underflow a double is accurate to one unit only.
        optimum = rational.optimum(n_clusters) * (1 + Fraction(1, 10**12))
        assert Fraction(bound) <= optimum + n_clusters * SMALLEST


@pytest.mark.sampled(8)
@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("name", STRUCTURED)
def test_every_floor_is_below_its_eigenvalue_for_any_tolerance(name, solver):
    truth = structured_eigenvalues(name, "normalized")
    for n_clusters in (2, 5, 9):
        for tol in (None, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6):
            relaxation = leastcut.relax(
                STRUCTURED[name], n_clusters, solver=solver, tol=tol, random_state=n_clusters
            )
            if relaxation.converged:
                assert (relaxation.floors <= truth[:n_clusters] + 1e-13).all()
            assert relaxation.lower_bound <= truth[:n_clusters].sum() + 1e-12


@pytest.mark.sampled(12)
@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("cut", CUT_NAMES)
def test_the_bound_is_tight_up_to_the_tolerance(name, cut, solver):
    truth = structured_eigenvalues(name, cut)
    for n_clusters in (2, 7, 16):
        relaxation = leastcut.relax(
            STRUCTURED[name], n_clusters, cut, solver=solver, random_state=0, **SAME_TOLERANCE
        )
        assert relaxation.converged or solver in ("lobpcg", "amg")
        loss = truth[:n_clusters].sum() - relaxation.lower_bound
        assert loss >= -1e-12 * truth[-1]
        # 32 tolerances per pair for the search for missed eigenvalues, and as much for the rest.
        # With few distinct eigenvalues that search ends early, with less information.
        most = (1e-5 if name == "hub of cliques" else 64e-9 * n_clusters) * truth[-1]
        assert loss <= most or not relaxation.converged


def test_the_bound_of_leading_pairs_is_the_sum_of_their_floors():
    relaxation = leastcut.relax(cloud_graph(300, 3), 8, random_state=0)
    for count in (1, 3, 8):
        leading = relaxation.leading(count)
        assert leading.lower_bound == pytest.approx(relaxation.floors[:count].sum(), abs=0)
    truth = leastcut.relax(cloud_graph(300, 3), 3, random_state=0).lower_bound
    assert relaxation.leading(3).lower_bound == pytest.approx(truth, rel=1e-9)


def test_the_gap_of_a_wrong_bound_is_negative():
    labels = np.array([0, 1])
    assert leastcut.Partition(labels, 1.0, 1.5).gap == -0.5
    assert leastcut.Partition(labels, 0.0, 1e-9).gap == -np.inf
    assert leastcut.Partition(labels, 0.0, 0.0).gap == 0.0
    assert leastcut.Partition(labels, 2.0, 2.0).gap == 0.0


@pytest.mark.parametrize("solver", ["auto", *INSTALLED])
def test_an_eigenproblem_without_time_is_not_started(solver):
    problem = as_problem(cloud_graph(2500, 3))
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="within the time limit"):
        relax_problem(problem, 400, random_state=0, solver=solver, budget=Budget(0.05))
    assert time.monotonic() - start < 5.0  # the full eigenproblem takes many times as long


@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_running_eigensolver_stops_at_its_deadline(solver):
    problem = as_problem(path_graph(20_000))
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        relax_problem(problem, 30, random_state=0, solver=solver, tol=0, budget=Budget(0.02))
    assert time.monotonic() - start < 10.0


def test_a_distant_deadline_does_not_change_the_result():
    problem = as_problem(cloud_graph(1500, 3))
    free = relax_problem(problem, 10, random_state=0)
    bound = relax_problem(problem, 10, random_state=0, budget=Budget(1e6))
    np.testing.assert_array_equal(free.eigenvectors, bound.eigenvectors)
