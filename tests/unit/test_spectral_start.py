"""Rough eigenvectors: upper bounds of the eigenvalues, exact without coarsening, good starts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, points_graph
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import leastcut
from leastcut.graph import as_graph
from leastcut.multilevel.coarsening import COARSENING_RULES, Coarsening, build
from leastcut.multilevel.passes import Passes
from leastcut.multilevel.spectral_start import (
    rough_eigenvectors,
    rough_labels,
    rough_work,
    within_solvers_range,
)
from leastcut.problem import Problem, as_problem
from leastcut.spectral.relax import relax_problem


def hierarchy(problem, smallest, rule="label_propagation", seed=0):
    """Return the steps of a hierarchy, and all of its levels."""
    coarsening = Coarsening(COARSENING_RULES[rule])
    steps = build(problem, np.random.default_rng(seed), smallest, None, coarsening)
    return steps, [problem, *(step.problem for step in steps)]


def planted(n_blocks, size, seed=0, inside=0.3, outside=0.01):
    """Return a graph of blocks, and the block of every node."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(n_blocks), size)
    chance = np.where(block[:, None] == block, inside, outside)
    half = np.triu(rng.random(chance.shape) < chance, 1)
    return sp.csr_array((half | half.T).astype(float)), block


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
@given(S=graphs(min_nodes=6, max_nodes=14, connected=True), count=st.integers(2, 4))
def test_eigenvectors_are_exact_without_coarsening(S, cut, count):
    problem = as_problem(S, cut)
    rough = rough_eigenvectors([problem], [], count)
    true = np.linalg.eigvalsh(problem.operator().toarray())[:count]
    np.testing.assert_allclose(rough.eigenvalues, true, atol=1e-9 * max(1.0, true[-1]))


@pytest.mark.parametrize("rule", COARSENING_RULES)
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_eigenvectors_are_orthonormal_with_values_not_below_the_eigenvalues(rule, cut):
    """Ritz values of any subspace are upper bounds of the eigenvalues."""
    problem = as_problem(points_graph(1500), cut)
    steps, levels = hierarchy(problem, 60, rule)
    assert steps
    rough = rough_eigenvectors(levels, steps, 6)
    np.testing.assert_allclose(rough.eigenvectors.T @ rough.eigenvectors, np.eye(6), atol=1e-10)
    true = relax_problem(problem, 6, random_state=0).eigenvalues
    assert (rough.eigenvalues >= true - 1e-10).all()
    # They are not marked as converged.
    assert not rough.converged


@pytest.mark.parametrize("rule", COARSENING_RULES)
def test_eigenvectors_span_the_subspace_below_a_gap(rule):
    S, block = planted(5, 120)
    problem = as_problem(S)
    steps, levels = hierarchy(problem, 40, rule)
    rough = rough_eigenvectors(levels, steps, 5).eigenvectors
    true = relax_problem(problem, 5, random_state=0).eigenvectors
    # Cosines of the principal angles.
    assert np.linalg.svd(rough.T @ true)[1].min() > 0.99
    result = rough_labels(problem, steps, 5, np.random.default_rng(0), n_starts=1, most_work=np.inf)
    assert result is not None
    assert result[1] == 0
    pairs = np.unique(np.stack([result[0], block]), axis=1)
    assert pairs.shape[1] == 5


@given(S=graphs(min_nodes=6, max_nodes=14), c=st.integers(2, 4), seed=st.integers(0, 99))
def test_no_cluster_is_empty_on_any_graph(S, c, seed):
    problem, rng = as_problem(S, "ratio"), np.random.default_rng(seed)
    steps = Passes(problem, c, rng).descend(5)
    for n_starts in (1, 3):
        result = rough_labels(problem, steps, c, rng, n_starts=n_starts, most_work=np.inf)
        if result is not None:
            assert np.unique(result[0]).tolist() == list(range(c))
        else:
            assert not within_solvers_range(problem)


def test_the_finest_level_that_the_work_allows_is_solved():
    problem = as_problem(points_graph(3000))
    steps, levels = hierarchy(problem, 100)
    assert len(steps) > 1
    costs = [rough_work(levels[first:], 4, 1) for first in range(len(levels))]
    assert costs == sorted(costs, reverse=True)
    for level, cost in enumerate(costs):
        rng = np.random.default_rng(0)
        labels, first, work = rough_labels(
            problem, steps, 4, rng, n_starts=1, most_work=cost * (1 + 1e-9)
        )
        assert (first, work) == (level, cost)
        assert labels.size == levels[level].n_nodes
    assert (
        rough_labels(problem, steps, 4, rng, n_starts=1, most_work=costs[-1] * (1 - 1e-9)) is None
    )


def test_labels_do_not_depend_on_blas_threads():
    problem = as_problem(points_graph(2500))
    steps, _ = hierarchy(problem, 100)
    result = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            rng = np.random.default_rng(0)
            result.append(rough_labels(problem, steps, 6, rng, n_starts=3, most_work=np.inf)[0])
    np.testing.assert_array_equal(*result)


@given(st.floats(1e-300, 1e300), st.floats(0.0, 14.0), st.booleans())
def test_the_range_of_weights_does_not_depend_on_their_unit(unit, orders, in_nodes):
    wide = unit * np.array([1.0, 10.0**-orders])
    level = np.full(2, unit)
    graph = as_graph(np.diag(level if in_nodes else wide))
    problem = Problem(graph, wide if in_nodes else level)
    if abs(orders - 12.0) > 1e-3:
        assert within_solvers_range(problem) == (orders < 12.0)


def test_a_graph_without_edges_is_within_range():
    assert within_solvers_range(as_problem(np.zeros((3, 3)), "ratio"))


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
@given(exponent=st.integers(-960, 960), seed=st.integers(0, 2**32 - 1))
def test_rough_eigenvectors_do_not_depend_on_the_unit_of_weights(cut, exponent, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 120))
    # Weights over up to eleven orders of magnitude, which a solver can resolve.
    upper = np.triu(rng.random((n, n)) < 0.2, 1) * 10.0 ** -rng.uniform(0, rng.integers(12), (n, n))
    S = sp.csr_array(upper + upper.T + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1))
    one, scaled = as_problem(S, cut), as_problem(S * 2.0**exponent, cut)
    result = []
    for problem in (one, scaled):
        steps, levels = hierarchy(problem, 20, seed=seed % 100)
        assert steps
        result.append(rough_eigenvectors(levels, steps, 4))
    factor = 2.0 ** (exponent if cut == "ratio" else 0)
    top = result[0].eigenvalues.max()
    np.testing.assert_allclose(
        result[1].eigenvalues / factor, result[0].eigenvalues, atol=1e-9 * top
    )
    assert np.isfinite(result[1].eigenvectors).all()


@pytest.mark.parametrize("top", [1e300, 1e302, 1e-300])
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_extreme_affinities_are_partitioned(cut, top):
    n = 300
    i, j = np.indices((n, n))
    half = (i < n // 2) & (j >= n // 2)
    S = (half | half.T) * top
    with np.errstate(all="raise", under="ignore"):
        result = leastcut.partition(S, 4, cut, effort="fast", random_state=0)
    plain = leastcut.partition(S / top, 4, cut, effort="fast", random_state=0)
    unit = top if cut == "ratio" else 1.0
    assert result.cut_value / unit <= plain.cut_value * (1 + 1e-9)
