"""Balanced clusters: flow refinement of borders, and recursive bisection."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, points_graph
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import leastcut
from leastcut.feasibility import limits_of
from leastcut.kernels.flow_refinement import collect_strip, strip_graph
from leastcut.multilevel.coarsening import Coarsening
from leastcut.multilevel.passes import Passes
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem, as_problem

CUT_NAMES = ("ratio", "normalized", "edges")


def limited_problem(S, cut: str, balance: tuple[float | None, float], c: int) -> Problem:
    problem = as_problem(S, "ratio" if cut == "edges" else cut)
    try:
        limits = limits_of(balance, problem.node_weights, c)
    except ValueError:
        reject()  # infeasible
    problem = problem.with_limits(limits)
    return problem.counting_edges() if cut == "edges" else problem


def grid(rows: int, columns: int) -> sp.csr_array:
    lines = [sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]) for n in (rows, columns)]
    return sp.csr_array(sp.kronsum(*lines))


@given(st.data())
def test_flows_lower_the_value_within_the_limits_and_update_all_sums(data):
    S = data.draw(graphs(min_nodes=4, max_nodes=30))
    c, cut = data.draw(st.integers(2, 4)), data.draw(st.sampled_from(CUT_NAMES))
    below, above = data.draw(st.sampled_from([(None, 0.1), (None, 1.0), (0.3, 0.3), (0.5, 2.0)]))
    problem = limited_problem(S, cut, (below, above), c)
    limits = problem.limits
    state = State(problem, limits.packing.copy(), c)
    before, initial = state.value, state.labels.copy()
    state.refine_by_flows()
    assert state.value <= before
    assert limits.allow(problem.cluster_weights(state.labels))
    sums_before = [np.array(sums) for sums in state.sums[1:5]]
    assert state.measure() <= before * (1 + 1e-12)
    for expected, actual in zip(sums_before, state.sums[1:5], strict=True):
        np.testing.assert_allclose(expected, actual, rtol=1e-9, atol=1e-12)
    assert (state.count > 0).all()
    # With the initial labels as reference only changed clusters are examined: here none.
    same = State(problem, initial.copy(), c)
    same.refine_by_flows(initial)
    assert same.value == before
    # Nothing changes when time is up.
    same.refine_by_flows(is_late=lambda: True)
    assert np.array_equal(same.labels, initial)


@pytest.mark.parametrize("cut", CUT_NAMES)
def test_flows_straighten_a_border_that_no_move_improves(cut):
    """A grid whose halves meet in a staircase, where single moves neither gain nor lose."""
    size = 16
    row, column = np.divmod(np.arange(size * size), size)
    labels = (row + column >= size - 1 + (row > size // 2)).astype(np.int32)
    problem = limited_problem(grid(size, size), cut, (None, 0.25), 2)
    assert problem.limits.allow(problem.cluster_weights(labels))
    state = State(problem, labels, 2)
    state.local_search()
    state.measure()
    stuck = problem.graph.matrix[state.labels == 0][:, state.labels == 1].nnz
    state.refine_by_flows()
    straight = problem.graph.matrix[state.labels == 0][:, state.labels == 1].nnz
    assert stuck > size
    assert straight == size
    assert problem.limits.allow(problem.cluster_weights(state.labels))


@given(st.integers(0, 999), st.integers(2, 5), st.floats(0.0, 40.0))
def test_a_strip_graph_is_the_induced_subgraph(seed, c, most):
    rng = np.random.default_rng(seed)
    problem = as_problem(points_graph(60, seed), "ratio")
    n, stored = problem.n_nodes, problem.graph.n_stored
    labels = rng.integers(c, size=n).astype(np.int32)
    arrays = State(problem, labels, c).arrays
    nodes, status = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    every, local = np.arange(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    middle = collect_strip(arrays, labels, (0, 1), every, (most, n), 0, nodes, status)
    m = collect_strip(arrays, labels, (1, 0), every, (most, n), middle, nodes, status)
    listed = nodes[:m]
    # 1. The nodes: on their side, each once, within the weight limit.
    assert set(labels[listed[:middle]]) <= {0}
    assert set(labels[listed[middle:]]) <= {1}
    assert np.unique(listed).size == m == status.sum()
    assert max(middle, m - middle) <= most
    # 2. Their graph with both directions of every edge, and the links to other nodes.
    strip = (
        np.empty(n + 1, dtype=np.int64),
        np.empty(stored, dtype=np.int32),
        np.empty(stored),
        np.empty(stored, dtype=np.int64),
    )
    difference, third = np.empty((2, n))
    next_edge = np.empty(n, dtype=np.int64)
    edges = strip_graph(
        arrays, labels, (0, 1), listed, status, local, strip, (difference, third), next_edge
    )
    indptr, indices, weights, reverse = (
        part[:size] for part, size in zip(strip, (m + 1, edges, edges, edges), strict=True)
    )
    dense = problem.graph.matrix.toarray()
    np.fill_diagonal(dense, 0.0)
    subgraph = sp.csr_array((weights, indices, indptr), shape=(m, m)).toarray()
    np.testing.assert_array_equal(subgraph, dense[np.ix_(listed, listed)])
    origin = np.repeat(np.arange(m), np.diff(indptr))
    np.testing.assert_array_equal(indices[reverse], origin)
    np.testing.assert_array_equal(origin[reverse], indices)
    outside = np.setdiff1d(every, listed)
    links = [dense[np.ix_(listed, outside[labels[outside] == k])].sum(axis=1) for k in range(c)]
    np.testing.assert_allclose(difference[:m], links[1] - links[0], atol=1e-12)
    np.testing.assert_allclose(third[:m], sum(links[2:], np.zeros(m)), atol=1e-12)


# -- recursive bisection


@given(st.data())
def test_recursive_bisection_gives_clusters_of_similar_weight(data):
    S = data.draw(graphs(min_nodes=4, max_nodes=40))
    c, above = data.draw(st.sampled_from([2, 4, 6, 8, 12])), data.draw(st.sampled_from([0.1, 1.0]))
    assume(c <= len(S))
    problem = limited_problem(S, "edges", (None, above), c)
    seed = data.draw(st.integers(0, 99))
    result = Passes(problem, c, np.random.default_rng(seed)).bisect()
    assert result is not None
    labels, work = result
    assert np.unique(labels).tolist() == list(range(c))
    assert work > 0
    # Excess over the limits: at most one node per bisection, and rounding.
    heaviest = problem.cluster_weights(labels).max() - problem.offset
    allowed = problem.limits.heaviest + np.ceil(np.log2(c)) * problem.node_weights.max()
    assert heaviest <= allowed * (1 + 1e-9)
    again = Passes(problem, c, np.random.default_rng(seed)).bisect()
    assert np.array_equal(again[0], labels)


def test_recursive_bisection_finds_about_the_quarters_of_a_square():
    """A 16 x 16 grid in four clusters, where two straight cuts have 32 edges."""
    problem = limited_problem(grid(16, 16), "edges", (None, 0.03), 4)
    labels, _ = Passes(problem, 4, np.random.default_rng(0)).bisect()
    assert leastcut.cut_value(grid(16, 16), labels, "edges") <= 36


def test_recursive_bisection_stops_without_time():
    problem = limited_problem(grid(16, 16), "edges", (None, 0.03), 4)
    late = Coarsening(is_late=lambda: True)
    assert Passes(problem, 4, np.random.default_rng(0), late).bisect() is None
