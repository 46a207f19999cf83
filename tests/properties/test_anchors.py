"""Properties of anchor graphs: exact values, exact moves and reproducible results."""

from __future__ import annotations

import inspect
import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import leastcut
from leastcut.anchors import nearest, problem, search
from leastcut.anchors.blocks import UNIT, Block, LocalWorkers, Workers, tree_sum
from leastcut.anchors.graph import AnchorGraph, InMemory
from leastcut.anchors.nearest import NearestAnchors
from leastcut.anchors.problem import AnchorProblem, Table, contracted, groups_of, labels_of_keys
from leastcut.anchors.search import STARTS, local_search, search_anchors, starts_of
from leastcut.budget import Budget
from leastcut.kernels import anchors as anchor_kernels
from leastcut.multilevel.efforts import EFFORTS, SearchOptions

SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}


def points_of(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return random points: a cloud, groups, a grid with many duplicates, or many features."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(size=(n, 2))
    if kind == 1:
        return rng.normal(size=(n, 3)) + 6.0 * rng.integers(3, size=(n, 1))
    if kind == 2:
        return rng.integers(4, size=(n, 2)).astype(np.float32)
    return rng.normal(size=(n, 40))


@st.composite
def anchor_graphs(draw, max_points: int = 40) -> AnchorGraph:
    """Draw a small anchor graph of random points, in blocks of random sizes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, max_points))
    n_anchors = draw(st.integers(3, n))
    n_neighbors = draw(st.integers(1, min(6, n_anchors - 1)))
    rows = draw(st.sampled_from([1, 2, 5, n]))
    X = points_of(rng, n)
    return leastcut.anchor_graph(X, n_anchors, n_neighbors, 0, block_rows=rows, n_jobs=1)


def labels_of(data, n: int, most: int = 5) -> np.ndarray:
    """Draw random labels 0..c-1, none missing."""
    c = data.draw(st.integers(1, min(n, most)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    labels = rng.integers(c, size=n)
    labels[rng.permutation(n)[:c]] = np.arange(c)
    return labels


def most_clusters(graph: AnchorGraph) -> int:
    return int(np.count_nonzero(graph.masses))


# -- the graph


@given(anchor_graphs())
def test_weights_are_multiples_of_a_unit_and_sum_to_exactly_one(graph):
    total = np.zeros(graph.n_anchors, dtype=object)
    for number, size in enumerate(graph.store.sizes):
        block = graph.store.load(number)
        assert block.n_points == size
        assert block.weights.dtype == np.float32
        assert block.weights.min() >= 0
        units = block.weights.astype(np.float64) / UNIT
        assert np.array_equal(units, np.round(units))
        for anchors, weights in zip(block.anchors.tolist(), block.weights.tolist(), strict=True):
            assert sum(map(Fraction, weights)) == 1
            assert len(set(anchors)) == len(anchors)
            for j, w in zip(anchors, weights, strict=True):
                total[j] += Fraction(w)
    assert total.tolist() == list(map(Fraction, graph.masses.tolist()))


@given(anchor_graphs())
def test_every_degree_is_one(graph):
    S = graph.to_sparse()
    np.testing.assert_allclose(S.sum(axis=1), 1.0, rtol=1e-13)
    assert (S != S.T).nnz == 0
    Z = graph.weights.toarray()
    used = graph.masses > 0
    np.testing.assert_allclose(S.toarray(), (Z[:, used] / graph.masses[used]) @ Z[:, used].T)


@given(anchor_graphs(), st.data())
def test_cut_values_equal_those_of_the_explicit_graph(graph, data):
    labels = labels_of(data, graph.n_nodes)
    value = leastcut.cut_value(graph, labels)
    # Both cuts are equal, as all degrees are 1; labels may be any integers.
    assert value == leastcut.cut_value(graph, labels, cut="ratio")
    assert value == pytest.approx(leastcut.cut_value(graph, labels * 7 - 3), rel=1e-12)
    S = graph.to_sparse()
    for cut in ("normalized", "ratio"):
        assert value == pytest.approx(leastcut.cut_value(S, labels, cut), rel=1e-9, abs=1e-12)


@given(anchor_graphs(), st.data())
def test_tables_are_exact(graph, data):
    labels = labels_of(data, graph.n_nodes)
    table = graph.problem.table_of_labels(labels)
    assert np.array_equal(table.weights.sum(axis=1), graph.masses)
    assert np.array_equal(table.sizes, np.bincount(labels))
    expected = np.zeros(table.weights.shape, dtype=object)
    Z = graph.weights.tocoo()
    for i, j, w in zip(Z.row, Z.col, Z.data, strict=True):
        expected[j, labels[i]] += Fraction(float(w))
    assert expected.tolist() == [[Fraction(x) for x in row] for row in table.weights.tolist()]


# -- nearest anchors


def brute_force(
    points: np.ndarray, anchors: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    difference = points[:, None, :].astype(np.float64) - anchors[None, :, :]
    squared = np.square(difference).sum(axis=2)
    order = np.argsort(squared, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(squared, order, axis=1)


@pytest.mark.parametrize("features", [1, 2, 8, 40, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_anchors_and_weights_equal_their_definitions(features, dtype):
    rng = np.random.default_rng(features)
    points = rng.normal(size=(300, features)).astype(dtype)
    anchors = rng.normal(size=(60, features)).astype(dtype)
    K = 4
    block = NearestAnchors(anchors, K, 1).block(points)
    expected, squared = brute_force(points, anchors, K + 1)
    assert np.array_equal(block.anchors, expected[:, :K])
    fractions = squared[:, K:] - squared[:, :K]
    fractions /= fractions.sum(axis=1, keepdims=True)
    # Weights are rounded to multiples of the unit; the first is the remainder.
    np.testing.assert_allclose(block.weights, fractions, rtol=0, atol=1e-5)
    if dtype == np.float64:
        np.testing.assert_allclose(block.weights, fractions, rtol=0, atol=K * UNIT)
    # Weights do not increase with the distance.
    assert np.diff(block.weights, axis=1).max() <= K * UNIT


def test_equidistant_anchors_have_equal_weights():
    corners = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    block = NearestAnchors(corners, 3, 1).block(np.array([[1.0, 1.0]]))
    np.testing.assert_allclose(block.weights, 1 / 3, atol=2 * UNIT)
    assert block.weights.astype(np.float64).sum() == 1.0
    at_corner = NearestAnchors(corners, 2, 1).block(np.array([[0.0, 0.0]]))
    assert at_corner.anchors.tolist() == [[0, 1]]
    # The second anchor is as far as the third, which is the threshold.
    assert at_corner.weights.tolist() == [[1.0, 0.0]]


def test_cells_find_nearly_all_nearest_anchors(monkeypatch):
    monkeypatch.setattr(nearest, "MANY_ANCHORS", 1000)
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(12, 60))
    centers = 3.0 * rng.normal(size=(8, 12))
    inner = centers[rng.integers(8, size=2150)] + rng.normal(size=(2150, 12))
    X = inner @ mixed + 0.1 * rng.normal(size=(2150, 60))
    anchors, points = X[:2000], X[2000:2150]
    block = NearestAnchors(anchors, 5, 1).block(points)
    expected, _ = brute_force(points, anchors, 5)
    common = [
        set(a) & set(b) for a, b in zip(block.anchors.tolist(), expected.tolist(), strict=True)
    ]
    assert sum(map(len, common)) / expected.size > 0.95
    # The result of a point does not depend on the batch.
    parts = [NearestAnchors(anchors, 5, 2).block(points[i::3]) for i in range(3)]
    for i, part in enumerate(parts):
        assert np.array_equal(part.anchors, block.anchors[i::3])
        assert np.array_equal(part.weights, block.weights[i::3])


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e200, 1e307])
def test_results_do_not_depend_on_the_unit(scale):
    X = load_iris().data[::3]
    power = 2.0 ** round(math.log2(scale))  # scaling by it is exact
    graph = leastcut.anchor_graph(X, 12, 3, random_state=0, n_jobs=1)
    other = leastcut.anchor_graph(X * power, 12, 3, random_state=0, n_jobs=1)
    labels = leastcut.partition(graph, 3, effort="fast", random_state=0).labels
    other_labels = leastcut.partition(other, 3, effort="fast", random_state=0).labels
    assert np.array_equal(other.masses, graph.masses)
    assert np.array_equal(other.anchors, graph.anchors * power)
    assert np.array_equal(labels, other_labels)


@pytest.mark.parametrize("value", [1e4, 1e6, 1e12, 1e300])
def test_outliers_hardly_affect_the_anchors_of_other_samples(value):
    X = load_digits().data
    corrupted = X.copy()
    corrupted[5, 3], corrupted[900, 10] = value, -value
    unchanged = np.setdiff1d(np.arange(len(X)), [5, 900])
    errors = []
    for data in (X, corrupted):
        anchors = leastcut.anchor_graph(data, 100, random_state=0).anchors
        near = brute_force(X[unchanged], anchors[np.abs(anchors).max(axis=1) < 1e3], 1)
        errors.append(near[1].mean())
    assert errors[1] < 1.1 * errors[0]


# -- local search


def value_after(S: np.ndarray, labels: np.ndarray) -> float:
    member = np.eye(int(labels.max()) + 1)[labels]
    inside = np.einsum("ik,ij,jk->k", member, S, member)
    return float(np.sum(1.0 - inside / member.sum(axis=0)))


@settings(max_examples=draws(30))
@given(anchor_graphs(max_points=24), st.data())
def test_refine_never_increases_the_cut_and_leaves_no_move(graph, data):
    labels = labels_of(data, graph.n_nodes, most=4)
    before = leastcut.cut_value(graph, labels)
    refined = leastcut.refine(graph, labels)
    assert refined.cut_value <= before
    assert refined.cut_value == leastcut.cut_value(graph, refined.labels)
    assert np.unique(refined.labels).size == np.unique(labels).size
    S = graph.to_sparse().toarray()
    sizes = np.bincount(refined.labels)
    for i in np.flatnonzero(sizes[refined.labels] > 1):
        for k in range(sizes.size):
            moved = refined.labels.copy()
            moved[i] = k
            assert value_after(S, moved) >= refined.cut_value - 1e-9


@settings(max_examples=draws(30))
@given(anchor_graphs(), st.data())
def test_the_cut_value_decreases_in_every_round(graph, data):
    labels = labels_of(data, graph.n_nodes)
    c = int(labels.max()) + 1
    values = []

    def should_continue(block_labels, table):
        # The updated table equals the table of the labels exactly.
        expected = graph.problem.table(block_labels, c)
        assert np.array_equal(table.weights, expected.weights)
        values.append(table.value)
        return True

    start = graph.problem.table_of_labels(labels)
    workers, blocks = graph.problem.workers, graph.problem.split(labels)
    result = local_search(workers, blocks, start, should_continue=should_continue)
    assert result.converged
    assert all(b < a for a, b in zip([start.value, *values], values, strict=False))
    assert result.n_rounds >= len(values)


class Shuffled(Workers):
    """Workers that process their blocks in random order."""

    def __init__(self, graph, seed, n_threads):
        self._graph, self.sizes, self.n_threads = graph, graph.store.sizes, n_threads
        self._rng = np.random.default_rng(seed)

    def run(self, name, task, kept, *shared):
        order = self._rng.permutation(len(self.sizes))
        workers = LocalWorkers(
            lambda number: self._graph.store.load(order[number]),
            tuple(self.sizes[b] for b in order),
            self.n_threads,
        )
        kept = None if kept is None else [kept[b] for b in order]
        results = workers.run(name, task, kept, *shared)
        back = np.argsort(order)
        return tuple([part[i] for i in back] for part in results)

    def total(self, name, task, kept, add, *shared, is_exact=False):
        _, terms = self.run(name, task, kept, *shared)
        # Exact sums do not depend on the order.
        order = self._rng.permutation(len(terms)) if is_exact else range(len(terms))
        return tree_sum([terms[i] for i in order], add)


@settings(max_examples=draws(15))
@given(anchor_graphs(), st.integers(0, 2**32 - 1), st.integers(1, 3), st.data())
def test_results_do_not_depend_on_the_schedule_of_blocks(graph, seed, n_threads, data):
    labels = labels_of(data, graph.n_nodes, most=min(4, most_clusters(graph)))
    c = int(labels.max()) + 1
    shuffled = AnchorProblem(Shuffled(graph, seed, n_threads), graph.masses)
    options = SearchOptions("auto", False, 1)
    expected, result = (
        search_anchors(problem, c, [], options, Budget()) for problem in (graph.problem, shuffled)
    )
    assert expected.table.value == result.table.value
    assert np.array_equal(np.concatenate(expected.labels), np.concatenate(result.labels))


@pytest.mark.parametrize("name", SETS)
def test_results_do_not_depend_on_threads(name):
    X = SETS[name]().data
    results = []
    for n_jobs in (1, 3):
        graph = leastcut.anchor_graph(X, 60, random_state=0, block_rows=50, n_jobs=n_jobs)
        results.append((graph, leastcut.partition(graph, 3, effort="auto", random_state=0)))
    (one, cut_one), (three, cut_three) = results
    assert np.array_equal(one.anchors, three.anchors)
    assert np.array_equal(one.masses, three.masses)
    assert np.array_equal(cut_one.labels, cut_three.labels)
    assert cut_one.cut_value == cut_three.cut_value


# -- the search


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SETS)
def test_more_effort_never_increases_the_cut_and_the_bound_is_valid(name):
    # The last effort takes seconds, so only for few points.
    X, efforts = SETS[name]().data, list(EFFORTS)[:-1]
    if name == "iris":
        X, efforts = X[::4], list(EFFORTS)
    graph = leastcut.anchor_graph(X, 20, random_state=0, block_rows=30)
    values = []
    for effort in efforts:
        partition = leastcut.partition(graph, 3, effort=effort, lower_bound=True, random_state=3)
        assert partition.cut_value == leastcut.cut_value(graph, partition.labels)
        assert np.unique(partition.labels).size == 3
        assert partition.lower_bound <= partition.cut_value
        values.append(partition.cut_value)
    assert values == sorted(values, reverse=True)


def test_every_effort_starts_with_the_previous_one():
    assert list(STARTS) == list(EFFORTS)
    for before, after in zip(list(EFFORTS), list(EFFORTS)[1:], strict=False):
        assert starts_of(after)[: len(starts_of(before))] == starts_of(before)
    assert [tuple(dict.fromkeys(s.stage for s in starts_of(e))) for e in EFFORTS] == [
        EFFORTS[e].stages for e in EFFORTS
    ]


@settings(max_examples=draws(20))
@given(anchor_graphs(max_points=14), st.integers(1, 4))
def test_the_bound_equals_that_of_the_explicit_graph_and_is_below_the_optimum(graph, n_clusters):
    c = min(n_clusters, most_clusters(graph))
    S = graph.to_sparse()
    bound = leastcut.lower_bound(graph, c, random_state=0)
    assert bound == pytest.approx(leastcut.lower_bound(S, c, random_state=0), abs=1e-9)
    best = leastcut.exact_partition(S, c).cut_value
    assert bound <= best + 1e-12
    partition = leastcut.partition(graph, c, random_state=0)
    assert partition.cut_value >= best - 1e-9


@settings(max_examples=draws(25))
@given(anchor_graphs(), st.data())
def test_eigenpairs_equal_those_of_the_explicit_graph(graph, data):
    S = graph.to_sparse().toarray()
    expected = np.sort(1.0 - np.linalg.eigvalsh(S))
    rank = int(np.count_nonzero(expected < 1.0 - 1e-8))
    count = data.draw(st.integers(1, min(rank, 6)))
    relaxation = leastcut.relax(graph, count, random_state=0)
    np.testing.assert_allclose(relaxation.eigenvalues, expected[:count], atol=1e-9)
    F = relaxation.eigenvectors
    np.testing.assert_allclose(F.T @ F, np.eye(count), atol=1e-7)
    np.testing.assert_allclose(F - S @ F, F * relaxation.eigenvalues, atol=1e-7)
    assert relaxation.lower_bound == pytest.approx(leastcut.lower_bound(graph, count), abs=1e-9)


def test_more_eigenvectors_than_the_rank_raise():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    blocks = [Block(np.array([[0, 1], [2, 3]] * 6, np.int32), np.full((12, 2), 0.5, np.float32))]
    graph = AnchorGraph(X[:4], np.full(4, 3.0), 2, InMemory(blocks))
    with pytest.raises(ValueError, match="pass fewer clusters, or a larger n_anchors"):
        leastcut.relax(graph, 3)
    assert leastcut.relax(graph, 2).eigenvalues.tolist() == pytest.approx([0.0, 0.0], abs=1e-12)


@settings(max_examples=draws(25))
@given(anchor_graphs(), st.data())
def test_cut_values_of_groups_equal_those_of_their_points(graph, data):
    pair = [labels_of(data, graph.n_nodes, most=3) for _ in range(2)]
    c = max(int(labels.max()) + 1 for labels in pair)
    kept = list(zip(*(graph.problem.split(labels) for labels in pair), strict=True))
    groups = groups_of(graph.problem.workers, graph.masses, kept, c)
    problem = contracted(groups, graph.masses)
    # Weights of groups are their numbers of points, and their keys encode the labels.
    assert problem.node_weights.sum() == graph.n_nodes
    for labels, group_labels in zip(pair, labels_of_keys(groups.keys, 2, c), strict=True):
        group_labels = np.asarray(group_labels)
        assert problem.value(group_labels) == pytest.approx(
            leastcut.cut_value(graph, labels), abs=1e-12
        )


@settings(max_examples=draws(15))
@given(anchor_graphs(), st.data())
def test_the_result_is_no_worse_than_the_start(graph, data):
    labels = labels_of(data, graph.n_nodes, most=min(4, most_clusters(graph)))
    c = int(labels.max()) + 1
    before = leastcut.cut_value(graph, labels)
    partition = leastcut.partition(graph, c, init=labels, effort="fast", random_state=0)
    assert partition.cut_value <= before
    assert np.unique(partition.labels).size == c


def test_time_limits_and_callbacks_stop_a_search_with_a_partition():
    graph = leastcut.anchor_graph(load_digits().data, 100, random_state=0, block_rows=300)
    for options in ({"time_limit": 0.0}, {"callback": lambda progress: True}):
        partition = leastcut.partition(graph, 10, effort="thorough", random_state=0, **options)
        assert np.unique(partition.labels).size == 10
        assert partition.cut_value == leastcut.cut_value(graph, partition.labels)
    reports = []
    leastcut.partition(graph, 10, effort="auto", random_state=0, callback=reports.append)
    values = [progress.cut_value for progress in reports]
    assert values == sorted(values, reverse=True)
    assert {progress.stage for progress in reports} <= {"fast", "auto"}
    start = time.monotonic()
    leastcut.partition(graph, 10, effort="thorough", time_limit=0.3, random_state=0)
    assert time.monotonic() - start < 30


def test_an_interrupt_returns_the_best_partition_or_is_raised():
    graph = leastcut.anchor_graph(load_digits().data, 100, random_state=0, block_rows=300)

    def interrupt(progress):
        raise KeyboardInterrupt

    partition = leastcut.partition(
        graph, 10, random_state=0, callback=interrupt, on_interrupt="return"
    )
    assert partition.cut_value == leastcut.cut_value(graph, partition.labels)
    assert np.unique(partition.labels).size == 10
    with pytest.raises(KeyboardInterrupt):
        leastcut.partition(graph, 10, random_state=0, callback=interrupt)


# -- new points


@given(anchor_graphs(), st.data())
def test_new_points_are_assigned_to_the_cluster_with_the_smallest_increase(graph, data):
    labels = labels_of(data, graph.n_nodes)
    table = graph.problem.table_of_labels(labels)
    rng = np.random.default_rng(0)
    new = graph.nearest.block(rng.normal(size=(20, graph.anchors.shape[1])).astype(np.float64))
    inverse = np.divide(1.0, graph.masses, out=np.zeros(graph.n_anchors), where=graph.masses > 0)
    Z = new.to_sparse(graph.n_anchors).toarray()
    weights = Z @ (inverse[:, None] * table.weights)
    self_similarity = np.square(Z) @ inverse
    ratio, sizes = table.boundaries / table.sizes, table.sizes
    increase = (1.0 - 2.0 * weights - self_similarity[:, None] - ratio) / (sizes + 1.0)
    chosen = table.assign(new)
    np.testing.assert_allclose(
        increase[np.arange(20), chosen], increase.min(axis=1), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", SETS)
def test_nearly_all_training_points_are_assigned_to_their_cluster(name):
    X = SETS[name]().data
    graph = leastcut.anchor_graph(X, 60, random_state=0)
    partition = leastcut.partition(graph, 3, effort="auto", random_state=0)
    labels = graph.problem.table_of_labels(partition.labels).assign(
        graph.nearest.block(X.astype(np.float64))
    )
    assert np.mean(labels == partition.labels) > 0.98


# -- kernels


def test_a_search_continues_if_contracting_would_take_too_long(monkeypatch):
    monkeypatch.setattr(search, "MOST_PRODUCTS", -1.0)
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(30, 2)).round(1)
        graph = leastcut.anchor_graph(X, 10, 3, random_state=seed, block_rows=7)
        # As many clusters as anchors: some anchors may be the nearest of no point.
        number = int(np.count_nonzero(graph.masses))
        for effort in EFFORTS:
            partition = leastcut.partition(graph, number, effort=effort, random_state=0)
            assert np.unique(partition.labels).size == number
            assert partition.cut_value == leastcut.cut_value(graph, partition.labels)


@pytest.mark.parametrize("name", ["partition", "refine", "cut_value", "relax", "lower_bound"])
def test_invalid_options_raise_even_if_they_have_no_effect(name):
    function, X = getattr(leastcut, name), load_iris().data
    graph = leastcut.anchor_graph(X, 20, random_state=0)
    second = np.arange(len(X)) % 2 if name in ("refine", "cut_value") else 2
    options = {"symmetrize": "both", "isolated": "drop"}
    for option in set(options) & set(inspect.signature(function).parameters):
        with pytest.raises(ValueError, match=f"{option}='{options[option]}'"):
            function(graph, second, **{option: options[option]})


def test_the_graph_of_anchors_is_computed_once(monkeypatch):
    calls = []
    real = problem.graph_of_anchors
    monkeypatch.setattr(problem, "graph_of_anchors", lambda *args: calls.append(0) or real(*args))
    graph = leastcut.anchor_graph(load_iris().data, 20, random_state=0)
    partition = leastcut.partition(graph, 3, effort="balanced", lower_bound=True, random_state=0)
    assert partition.lower_bound == leastcut.lower_bound(graph, 3, random_state=0)
    assert len(calls) == 1


def sums_of(graph):
    """Yield the graph of anchors, and groups of points for one and two partitions, as arrays."""
    rng = np.random.default_rng(0)
    kept = [tuple(rng.integers(0, 3, (2, size))) for size in graph.store.sizes]
    yield [graph.problem.core.graph.matrix.toarray()]
    for labels in (None, kept):
        groups = problem.groups_of(graph.problem.workers, graph.masses, labels, 3)
        yield [groups.keys, groups.weights.toarray()]


def test_sums_in_dense_arrays_equal_those_in_sparse_matrices(monkeypatch):
    graph = leastcut.anchor_graph(load_wine().data, 30, 4, random_state=0, block_rows=50)
    dense = list(sums_of(graph))
    monkeypatch.setattr(problem, "MOST_SUMMED", 0)
    sparse = list(sums_of(replace(graph)))
    np.testing.assert_allclose(dense[0][0], sparse[0][0], rtol=1e-14)
    for a, b in zip(dense[1:], sparse[1:], strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def test_compiled_and_interpreted_kernels_give_the_same_results(monkeypatch):
    def compute():
        rng = np.random.default_rng(0)
        values = []
        for features, dtype in ((2, np.float64), (20, np.float32)):
            X = (rng.normal(size=(40, features)) + 4.0 * np.arange(2).repeat(20)[:, None]).astype(
                dtype
            )
            graph = leastcut.anchor_graph(X, 9, 3, random_state=0, block_rows=15, n_jobs=1)
            labels = np.arange(40) % 3
            refined = leastcut.refine(graph, labels)
            labels_of_points, _ = problem.label_by_anchors(
                graph.store.load(0), None, np.arange(graph.n_anchors) % 3, 3
            )
            new = graph.nearest.block(X[::4] + dtype(0.3))
            values += [graph.anchors, graph.weights.toarray(), graph.masses, refined.labels]
            values += [
                refined.cut_value,
                labels_of_points,
                graph.problem.table_of_labels(refined.labels).assign(new),
            ]
            values += [part for arrays in sums_of(graph) for part in arrays]
        return values

    compiled = compute()
    for module in (nearest, problem, search):
        for name, kernel in inspect.getmembers(anchor_kernels):
            if hasattr(kernel, "py_func") and hasattr(module, name):
                monkeypatch.setattr(module, name, kernel.py_func)
    for one, other in zip(compiled, compute(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_kernel_is_compared_with_its_python_function():
    used = {name for module in (nearest, problem, search) for name in vars(module)}
    for name, kernel in inspect.getmembers(anchor_kernels):
        # Except kernels of other modules.
        is_own = getattr(kernel, "__module__", None) == anchor_kernels.__name__
        assert name in used or not (is_own and hasattr(kernel, "py_func"))


def test_moves_report_the_changes_of_the_table():
    graph = leastcut.anchor_graph(load_wine().data, 30, random_state=0)
    block, labels = graph.store.load(0), np.arange(graph.n_nodes, dtype=np.int32) % 3
    table = graph.problem.table_of_labels(labels)
    sums = table.weights.copy(), table.boundaries, table.sizes
    change, inverse = np.zeros_like(table.weights), problem.inverse_of(graph.masses)
    moves = anchor_kernels.sweep_points(
        block.anchors, block.weights, labels, inverse, sums, 1.0, 1e-12, change, np.empty(3)
    )
    assert moves > 0
    after = graph.problem.table_of_labels(labels)
    assert np.array_equal(table.weights + change, after.weights)
    assert np.array_equal(sums[0], after.weights)
    np.testing.assert_allclose(sums[1], after.boundaries, rtol=1e-9)
    assert np.array_equal(sums[2], after.sizes)
    assert after.value < table.value


# -- degenerate data


@pytest.mark.parametrize(
    "X",
    [
        np.ones((9, 2)),
        np.zeros((9, 60)),
        np.repeat([[1e200, -1e200]], 9, axis=0),
        np.full((1, 3), 2.0),
    ],
    ids=["equal", "zeros", "huge and equal", "one point"],
)
def test_equal_points_form_one_cluster(X):
    graph = leastcut.anchor_graph(X, 5, 1, random_state=0)
    assert (graph.n_anchors, graph.n_neighbors, graph.n_nodes) == (1, 1, len(X))
    partition = leastcut.partition(graph, 1, random_state=0)
    assert partition.cut_value == 0.0
    assert partition.labels.tolist() == [0] * len(X)
    assert leastcut.lower_bound(graph, 1) == 0.0
    assert leastcut.partition(graph, "auto", random_state=0).labels.tolist() == [0] * len(X)
    with pytest.raises(ValueError, match="n_clusters=2 is more than"):
        leastcut.partition(graph, 2, random_state=0)


def test_as_many_clusters_as_anchors_cut_nothing():
    X = np.repeat(np.arange(6.0)[:, None], 3, axis=0)
    graph = leastcut.anchor_graph(X, 18, 1, random_state=0)
    assert graph.n_anchors == 6
    partition = leastcut.partition(graph, 6, random_state=0)
    # Every point has a weight on its own anchor only, so that no edge is cut.
    assert partition.cut_value == 0.0
    assert leastcut.clustering_accuracy(np.repeat(np.arange(6), 3), partition.labels) == 1.0
    with pytest.raises(ValueError, match="more than"):
        leastcut.partition(graph, 7, random_state=0)


@settings(max_examples=draws(20))
@given(anchor_graphs(max_points=12), st.sampled_from(list(EFFORTS)))
def test_every_number_of_clusters_up_to_the_anchors_is_possible(graph, effort):
    for c in {1, 2, most_clusters(graph)}:
        if c <= most_clusters(graph):
            partition = leastcut.partition(graph, c, effort=effort, random_state=0)
            assert np.unique(partition.labels).size == c
            assert partition.cut_value == leastcut.cut_value(graph, partition.labels)


def test_more_anchors_than_points_are_reduced_to_the_distinct_points():
    X = load_iris().data[::5]
    graph = leastcut.anchor_graph(X, 1000, random_state=0)
    assert graph.n_anchors == len(np.unique(X, axis=0))
    partition = leastcut.partition(graph, 3, random_state=0)
    S = graph.to_sparse()
    assert partition.cut_value == pytest.approx(leastcut.cut_value(S, partition.labels), rel=1e-9)


def test_a_single_cluster_has_no_boundary():
    graph = leastcut.anchor_graph(load_wine().data, 20, random_state=0)
    partition = leastcut.partition(graph, 1, random_state=0, lower_bound=True)
    assert (partition.cut_value, partition.lower_bound) == (0.0, 0.0)


def test_components_are_found_with_cut_value_zero():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)) + 100.0 * k for k in range(3)])
    graph = leastcut.anchor_graph(X, 30, 3, random_state=0, block_rows=17)
    partition = leastcut.partition(graph, 3, effort="fast", random_state=0)
    assert partition.cut_value == 0.0
    assert leastcut.clustering_accuracy(np.repeat(np.arange(3), 40), partition.labels) == 1.0
    assert leastcut.partition(graph, "auto", random_state=0).cut_value == 0.0


def test_anchors_without_mass_have_no_effect():
    # An anchor without mass must not cause a division by zero.
    blocks = [Block(np.array([[0], [0], [2], [2]], np.int32), np.ones((4, 1), np.float32))]
    graph = AnchorGraph(np.arange(3.0)[:, None], np.array([2.0, 0.0, 2.0]), 1, InMemory(blocks))
    partition = leastcut.partition(graph, 2, random_state=0)
    assert partition.labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert partition.cut_value == 0.0
    assert Table(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 2.0]]), graph.masses).value == 0.0
    assert leastcut.relax(graph, 2).eigenvectors.shape == (4, 2)


@settings(max_examples=draws(20))
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_search_in_all_cells_is_exact(seed, count):
    """All cells are searched, as there are at most SEEN_CELLS."""
    rng = np.random.default_rng(seed)
    anchors = rng.normal(size=(int(rng.integers(60, nearest.SEEN_CELLS**2)), 4))
    points = rng.normal(size=(50, 4))
    listed, _ = nearest._Cells(anchors, count).nearest(points)
    squared = np.square(points[:, None] - anchors).sum(axis=2)
    np.testing.assert_array_equal(np.sort(listed), np.sort(np.argsort(squared)[:, :count]))
