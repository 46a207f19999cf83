"""Huge graphs: renumbering, coarsening in blocks, and the search on a coarse level.

The thresholds are reduced to hundreds of nodes, so that the tests take seconds.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import graphs, knn_graph, points_graph, ring
from hypothesis import given
from hypothesis import strategies as st

import leastcut
from leastcut.budget import Budget
from leastcut.graph import Graph
from leastcut.kernels import order as kernels
from leastcut.multilevel import coarsening, node_order, search, search_state, stages
from leastcut.multilevel.coarsening import COARSENING_RULES, smallest_level
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.node_order import SCATTERED_NODES, nearby_at_random
from leastcut.multilevel.search_state import Search
from leastcut.problem import Problem, as_problem


def shuffled(problem: Problem, seed: int = 0) -> Problem:
    order = np.random.default_rng(seed).permutation(problem.n_nodes)
    return problem.restrict(order)


def matrix(problem: Problem) -> sp.csr_array:
    result = problem.graph.matrix.copy()
    result.sort_indices()
    return result


# -- renumbering


@given(graphs(min_nodes=2, max_nodes=14), st.integers(1, 6), st.integers(1, 3))
def test_renumbering_gives_the_same_problem(S, block, n_threads):
    problem = as_problem(S)
    before = node_order.BLOCK_NODES
    try:
        node_order.BLOCK_NODES = block
        result = node_order.numbered_anew(problem, n_threads)
    finally:
        node_order.BLOCK_NODES = before
    n = problem.n_nodes
    assert sorted(result.order.tolist()) == list(range(n))
    np.testing.assert_array_equal(result.place[result.order], np.arange(n))
    np.testing.assert_array_equal(
        matrix(result.problem).toarray(), S[np.ix_(result.order, result.order)]
    )
    np.testing.assert_array_equal(result.problem.node_weights, problem.node_weights[result.order])
    labels = np.arange(n) % 2
    carried = result.restrict(labels)
    np.testing.assert_array_equal(result.expand(carried), labels)
    assert result.problem.value(carried) == pytest.approx(problem.value(labels))


@given(graphs(min_nodes=2, max_nodes=14), st.integers(1, 6))
def test_compiled_and_interpreted_numbering_agree(S, block):
    graph = as_problem(S).graph
    result = []
    for number in (kernels.number_by_locality, kernels.number_by_locality.py_func):
        order, place = np.empty(len(S), dtype=np.int32), np.full(len(S), -1, dtype=np.int32)
        is_read = np.zeros(len(S), dtype=np.uint8)
        number(graph.indptr, graph.indices, block, order, place, is_read)
        result.append(order)
    np.testing.assert_array_equal(*result)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_rows_do_not_depend_on_the_number_of_threads(n_threads):
    problem = as_problem(points_graph(2000))
    alone, together = (node_order.numbered_anew(problem, n) for n in (1, n_threads))
    for name in ("indptr", "indices", "weights"):
        np.testing.assert_array_equal(
            getattr(alone.problem.graph, name), getattr(together.problem.graph, name)
        )


def test_is_scattered_detects_distant_neighbors_until_renumbering():
    problem = ring(120_000)
    assert not node_order.is_scattered(problem.graph)
    mixed = shuffled(problem)
    assert node_order.is_scattered(mixed.graph)
    assert not node_order.is_scattered(node_order.numbered_anew(mixed).problem.graph)
    empty = Graph(np.zeros(4, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0))
    assert not node_order.is_scattered(empty)


# -- coarsening in blocks


@pytest.mark.parametrize("n", [100, 3000, SCATTERED_NODES, SCATTERED_NODES + 1])
@pytest.mark.parametrize("few", [50, 2000])
def test_every_node_is_visited_once(n, few):
    order = nearby_at_random(n, few, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    assert not np.array_equal(order, np.arange(n))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(coarsening, "BLOCK_NODES", 100)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("parts", [None, (np.arange(950) % 2).astype(np.int32)])
def test_no_aggregate_has_nodes_of_two_blocks(parts):
    problem = ring(950)
    assert coarsening._block_size(problem.graph) == 100
    rule, aggregates = COARSENING_RULES["label_propagation"], []
    for n_threads in (1, 2, 5):
        rng = np.random.default_rng(1)
        aggregates.append(rule(problem, rng, 20.0, parts, n_threads))
        np.testing.assert_array_equal(aggregates[0], aggregates[-1])
    aggregate_of, node = aggregates[0], np.arange(950)
    np.testing.assert_array_equal(aggregate_of[aggregate_of], aggregate_of)
    np.testing.assert_array_equal(aggregate_of // 100, node // 100)
    if parts is not None:
        np.testing.assert_array_equal(parts[aggregate_of], parts)
    assert np.unique(aggregate_of).size < 475


@pytest.mark.usefixtures("small_blocks")
def test_there_are_no_blocks_if_many_edges_connect_them():
    assert coarsening._block_size(shuffled(ring(950)).graph) == 950
    assert coarsening._block_size(ring(250).graph) == 250  # nor with fewer than three blocks


@pytest.mark.usefixtures("small_blocks")
def test_every_block_is_visited_separately():
    problem = ring(950)
    degrees = np.diff(problem.graph.indptr)
    order = coarsening._visiting_order(degrees, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(order // 100, np.arange(950) // 100)
    np.testing.assert_array_equal(np.sort(order), np.arange(950))


# -- the search


@pytest.fixture
def hundreds_are_huge(monkeypatch):
    monkeypatch.setattr(stages, "HUGE_NODES", 400)
    monkeypatch.setattr(stages, "SEARCHED_NODES", 150)
    monkeypatch.setattr(search, "NUMBERED_NODES", 300)
    monkeypatch.setattr(search, "LONG_EDGES", 1000)
    monkeypatch.setattr(search_state, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(node_order, "NEAR_NODES", 200)
    monkeypatch.setattr(coarsening, "BLOCK_NODES", 120)


def search_of(problem: Problem, c: int) -> Search:
    return Search(problem, c, [0], 1, Budget(), False)


huge = pytest.mark.usefixtures("hundreds_are_huge")


@pytest.mark.sampled(2)
@huge
@pytest.mark.parametrize("cut", ["ratio", "normalized", "weights"])
@pytest.mark.parametrize("order", ["random", "along a line"])
def test_more_effort_is_never_worse_and_labels_are_complete(cut, order):
    X = np.random.default_rng(2).normal(size=(1500, 2))
    S = knn_graph(X[np.argsort(X[:, 0])] if order == "along a line" else X)
    assert node_order.is_scattered(as_problem(S).graph) is (order == "random")
    cut = np.linspace(0.5, 2.0, 1500) if cut == "weights" else cut
    values = []
    for effort in ("fast", "auto", "balanced"):
        result = leastcut.partition(S, 6, cut, effort=effort, random_state=1)
        assert np.unique(result.labels).tolist() == list(range(6))
        assert result.cut_value == leastcut.cut_value(S, result.labels, cut)
        values.append(result.cut_value)
    assert values == sorted(values, reverse=True)


@pytest.mark.sampled(1)
@huge
@pytest.mark.parametrize("effort", ["fast", "auto", "balanced"])
def test_same_seed_same_labels_on_any_number_of_threads(effort):
    S = points_graph(1200)
    alone = leastcut.partition(S, 5, effort=effort, random_state=3, n_jobs=1).labels
    for n_jobs in (2, 3):
        result = leastcut.partition(S, 5, effort=effort, random_state=3, n_jobs=n_jobs).labels
        np.testing.assert_array_equal(result, alone)


@huge
def test_a_level_is_searched_and_its_value_is_preserved():
    problem = as_problem(points_graph(1500))
    one = search_of(problem, 6)
    candidates = stages.first_stage(one, "fast", ())
    assert len(candidates) == 1
    level = one.level
    low = level.steps[-1].problem
    assert low.n_nodes <= max(150, 4 * smallest_level(1500, 6))
    assert level.search.scaled is low
    # A pass with each rule, a spectral solution, and children.
    assert len(level.candidates) > 2
    labels = level.search.best.labels
    for step in reversed(level.steps):
        labels = labels[step.parent]
    assert level.search.best.value == pytest.approx(problem.value(labels))
    assert candidates[0].value <= problem.value(labels) * (1 + 1e-12)
    assert candidates[0].value == pytest.approx(problem.value(candidates[0].labels))


@huge
def test_auto_adds_at_most_half_of_the_work():
    assert EFFORTS["auto"].huge_share == 0.5
    problem = as_problem(points_graph(9000))
    one = search_of(problem, 3)
    search._run(one, ("fast",), ())
    other = search_of(problem, 3)
    search._run(other, ("fast", "auto"), ())
    first = one.work
    assert other.first_work == first
    assert first < other.work_limit("auto") <= 1.5 * first
    # It ends with a complete batch, and one uncoarsening.
    batch = 4 * level_pass(other)
    assert first < other.work <= 1.5 * first + batch + first


def level_pass(result: Search) -> int:
    return result.level.search.work // max(1, len(result.level.candidates))


@huge
def test_results_are_never_worse_than_starts_which_keep_their_labels():
    S = points_graph(900)
    good = leastcut.partition(S, 5, random_state=1)
    again = leastcut.partition(S, 5, effort="fast", init=good.labels, random_state=0)
    assert again.cut_value <= good.cut_value
    start = 4 - good.labels
    kept = leastcut.partition(S, 5, effort="fast", init=start, time_limit=0, random_state=0)
    assert kept.cut_value <= leastcut.cut_value(S, start)


@huge
def test_time_limits_callbacks_and_fractions():
    S = points_graph(900)
    result = leastcut.partition(S, 5, effort="thorough", time_limit=0, random_state=0)
    assert np.unique(result.labels).size == 5
    seen: list[Progress] = []
    result = leastcut.partition(S, 5, effort="balanced", random_state=0, callback=seen.append)
    values, seconds = [one.cut_value for one in seen], [one.seconds for one in seen]
    assert values[0] == np.inf  # reported during the first pass
    assert values == sorted(values, reverse=True)
    assert seconds == sorted(seconds)
    for stage in EFFORTS["balanced"].stages:
        fractions = [one.fraction for one in seen if one.stage == stage]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0
    assert result.cut_value <= values[-1] * (1 + 1e-12)


@huge
def test_cannot_links_are_satisfied():
    S = points_graph(700)
    pairs = np.random.default_rng(0).integers(700, size=(15, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    labels = leastcut.partition(S, 4, cannot_link=pairs, effort="auto", random_state=0).labels
    assert (labels[pairs[:, 0]] != labels[pairs[:, 1]]).all()


# -- degenerate graphs


def equal_points(n: int, n_hubs: int) -> sp.csr_array:
    """Return a neighbor graph of equal points: all neighbors are the first points."""
    rows = np.repeat(np.arange(n), n_hubs)
    directed = sp.coo_array((np.ones(rows.size), (rows, np.tile(np.arange(n_hubs), n))), (n, n))
    return sp.csr_array((directed + directed.T) / 2)


@huge
@pytest.mark.parametrize("effort", ["fast", "auto"])
def test_equal_points(effort):
    S = equal_points(3000, 10)
    result = leastcut.partition(S, 5, effort=effort, random_state=0)
    assert np.unique(result.labels).size == 5
    assert result.cut_value == leastcut.cut_value(S, result.labels)


@huge
def test_equal_points_among_others_are_a_cluster():
    S = sp.block_diag([equal_points(1500, 10), points_graph(1500)], format="csr")
    result = leastcut.partition(S, 2, effort="fast", random_state=0)
    assert result.cut_value == 0.0
    assert np.unique(result.labels[:1500]).size == np.unique(result.labels[1500:]).size == 1


@huge
@pytest.mark.parametrize("c", [10, 200])
@pytest.mark.parametrize("seed", [None, 0])
def test_thousands_of_components_are_grouped_without_a_cut(c, seed):
    pair = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    S = sp.csr_array(sp.kron(sp.eye_array(2000), pair))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(4000)
        S = sp.csr_array(S[order][:, order])
    result = leastcut.partition(S, c, effort="auto", random_state=0)
    assert result.cut_value == 0.0
    # Similar sizes.
    assert np.bincount(result.labels, minlength=c).min() >= 4000 // c - 2


@huge
def test_thousands_of_isolated_nodes():
    S = sp.block_diag([points_graph(500), sp.csr_array((3000, 3000))], format="csr")
    assert leastcut.partition(S, 9, "ratio", effort="auto", random_state=0).cut_value == 0.0


@huge
def test_a_row_is_not_read_once_per_block():
    """Reading the row of a hub for every block would take quadratic time."""
    n, read = 4000, 0

    class Counted(np.ndarray):
        def __getitem__(self, key):
            nonlocal read
            read += 1
            return super().__getitem__(key)

    graph = as_problem(equal_points(n, 1), "ratio").graph
    order, place = np.empty(n, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    number = partial(kernels.number_by_locality.py_func, graph.indptr)
    number(graph.indices.view(Counted), 16, order, place, np.zeros(n, dtype=np.uint8))
    assert sorted(order.tolist()) == list(range(n))
    assert read <= 4 * graph.n_stored
