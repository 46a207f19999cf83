"""Kernels of balanced clusters against enumeration, with integer weights and tight limits.

They run interpreted: other tests compare them with compiled ones.
"""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_limits import interpret

from leastcut.constraints import Constraints, Limits
from leastcut.graph import Graph
from leastcut.kernels import balance as balance
from leastcut.kernels import flow_refinement, minimum_cut
from leastcut.multilevel import refinement, repair
from leastcut.multilevel.refinement import State
from leastcut.problem import Problem

EPSILON = 2.0**-52
QUICK = settings(
    max_examples=draws(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SEEDS = st.integers(0, 10**6)


@pytest.fixture(scope="module", autouse=True)
def interpreted():
    with pytest.MonkeyPatch.context() as patch:
        interpret(patch)
        for module in (flow_refinement, minimum_cut, refinement):
            for name, member in list(vars(module).items()):
                if hasattr(member, "py_func"):
                    patch.setattr(module, name, member.py_func)
        yield


def sampled(seed, n_clusters=3, most_nodes=9, slack=None) -> tuple[Problem, np.ndarray]:
    """Return a connected problem with small integer weights, and labels within its limits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(n_clusters + 1, most_nodes + 1))
    dense = np.triu(rng.integers(1, 50, (n, n)) * (rng.random((n, n)) < 0.5), 1)
    dense[np.arange(n - 1), np.arange(1, n)] += 1
    matrix = sp.csr_array((dense + dense.T).astype(float))
    matrix.sort_indices()
    weights = rng.integers(1, 4, n).astype(float)
    labels = rng.permutation(np.arange(n) % n_clusters).astype(np.int32)
    loads = np.bincount(labels, weights, n_clusters)
    margin = int(rng.integers(0, 3)) if slack is None else slack
    limits = Limits(max(loads.min() - margin, 0.0), loads.max() + margin)
    graph = Graph(matrix.indptr, matrix.indices, matrix.data)
    return Problem(graph, weights, Constraints(limits=limits)), labels


def scaled(problem: Problem, edges: int, nodes: int) -> Problem:
    graph = problem.graph
    graph = Graph(graph.indptr, graph.indices, np.ldexp(graph.weights, edges))
    weights = np.ldexp(problem.node_weights, nodes)
    return Problem(graph, weights, problem.constraints.scaled(nodes))


def moved(labels, *moves):
    other = labels.copy()
    for i, k in moves:
        other[i] = k
    return other


@QUICK
@given(SEEDS)
def test_listed_moves_are_the_best_by_edges(seed):
    problem, labels = sampled(seed)
    state, n = State(problem, labels, 3), problem.n_nodes
    nodes = np.arange(n, dtype=np.int32)
    change, target = np.empty(n), np.empty(n, dtype=np.int32)
    balance.list_moves(state.arrays, state.sums, state.scratch, nodes, change, target)
    dense, loads = problem.graph.matrix.toarray(), problem.cluster_weights(labels)
    for i in range(n):
        link = np.bincount(labels, dense[i], 3)
        a, total = labels[i], link.sum()
        targets = [k for k in range(3) if k != a and link[k] > 0]
        if not targets:
            assert target[i] == -1
            continue
        insertion = {k: (total - 2 * link[k]) / loads[k] for k in targets}
        assert insertion[target[i]] == pytest.approx(min(insertion.values()))
        assert change[i] == pytest.approx(insertion[target[i]] + (2 * link[a] - total) / loads[a])
    assert not state.scratch[0].any()


@QUICK
@given(SEEDS, st.integers(2, 5))
def test_distances_are_the_shortest_paths_between_clusters(seed, c):
    problem, labels = sampled(seed, c, 12)
    initial = np.random.default_rng(seed).choice([0, 2, balance.FAR], c).astype(np.int32)
    distance = initial.copy()
    balance.propagate_distances(problem.arrays, labels, distance)
    coo = problem.graph.matrix.tocoo()
    adjacency = np.zeros((c, c))
    adjacency[labels[coo.coords[0]], labels[coo.coords[1]]] = 1
    hops = sp.csgraph.shortest_path(sp.csr_array(adjacency), unweighted=True)
    np.testing.assert_array_equal(distance, np.min(initial + hops, axis=1))


@QUICK
@given(SEEDS)
def test_the_best_receiver_has_the_smallest_growth_of_the_value(seed):
    problem, labels = sampled(seed, slack=0)
    rng, state = np.random.default_rng(seed), State(problem, labels, 3)
    heaviest = state.cluster_weights + rng.integers(0, 4, 3)
    lightest = np.maximum(state.cluster_weights - rng.integers(0, 4, 3), 0.5)
    distance = rng.choice([0, 1, 2, balance.FAR], 3).astype(np.int32)
    before, dense = problem.value(labels), problem.graph.matrix.toarray()
    for i in range(problem.n_nodes):
        a, weight = labels[i], problem.node_weights[i]
        growth = {}
        for k in set(range(3)) - {a}:
            if (labels == a).sum() > 1:
                growth[k] = (problem.value(moved(labels, (i, k))) - before) / weight
        # Per fraction of the limit.
        relative_cost = {k: cost * heaviest[a] for k, cost in growth.items()}
        # 1. From a cluster that is too heavy.
        targets = {
            k: cost
            for k, cost in relative_cost.items()
            if (dense[i, labels == k].any() or distance[a] >= balance.FAR)
            and distance[k] < distance[a]
            and (distance[k] > 0 or state.cluster_weights[k] + weight <= heaviest[k])
        }
        cost, k = balance.best_receiver(
            i, state.arrays, state.sums, state.scratch[0], distance, heaviest
        )
        assert (k >= 0) == bool(targets)
        if targets:
            assert cost == pytest.approx(min(targets.values()), abs=1e-9)
            assert targets[k] == pytest.approx(cost, abs=1e-9)
        # 2. To a cluster that is too light.
        for k in range(3):
            cost, is_allowed = balance.filling_cost(
                i, k, state.arrays, state.sums, distance, lightest
            )
            can_spare = distance[a] > 0 or state.cluster_weights[a] - weight >= lightest[a]
            assert is_allowed == (k in growth and distance[a] < distance[k] and can_spare)
            if is_allowed:
                assert cost == pytest.approx(growth[k] * lightest[k], abs=1e-9)
    assert not state.scratch[0].any()


@QUICK
@given(SEEDS)
def test_no_listed_exchange_improves_an_exchanged_partition(seed):
    problem, labels = sampled(seed, 3, 10)
    state = State(problem, labels.copy(), 3)
    while True:
        before = state.value
        n_made = state.exchange(10**9)
        assert problem.allows(state.labels)
        assert state.value == pytest.approx(problem.value(state.labels), abs=1e-9)
        assert (n_made > 0) == (state.value < before * (1 - 1e-13))
        state.measure()
        if not n_made:
            break
    nodes, n = np.arange(problem.n_nodes, dtype=np.int32), problem.n_nodes
    change, target = np.empty(n), np.empty(n, dtype=np.int32)
    balance.list_moves(state.arrays, state.sums, state.scratch, nodes, change, target)
    value, labels = state.value, state.labels
    improving = [i for i in nodes if target[i] >= 0 and change[i] < 0]
    allow, count = problem.limits.allow, np.bincount(labels)
    for i in improving:
        a, k = labels[i], target[i]
        single = moved(labels, (i, k))
        if count[a] > 1 and allow(np.bincount(single, problem.node_weights, 3)):
            assert problem.value(single) >= value * (1 - 1e-9)
            continue
        for j in nodes[(labels == k) & (target >= 0)]:
            both = moved(single, (j, target[j]))
            loads, sizes = (
                np.bincount(both, problem.node_weights, 3),
                np.bincount(both, minlength=3),
            )
            one_first = count[a] > 1 or (target[j] == a and count[k] > 1)
            if change[i] + change[j] < 0 and allow(loads) and sizes.min() > 0 and one_first:
                assert problem.value(both) >= value * (1 - 1e-9)


@QUICK
@given(SEEDS, st.integers(2, 4))
def test_nodes_of_equal_weight_are_repaired_to_equal_clusters(seed, c):
    """Limits that allow exactly equal clusters only."""
    rng = np.random.default_rng(seed)
    n = c * int(rng.integers(2, 5))
    dense = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.1, 0.4]), 1).astype(float)
    # Disconnected graphs require moves to clusters without an edge to the node.
    dense[np.arange(n - 1), np.arange(1, n)] += rng.random() < 0.5
    dense[0, 1] = 1.0
    matrix = sp.csr_array(dense + dense.T)
    graph = Graph(matrix.indptr, matrix.indices, matrix.data)
    size = n // c
    for lightest, heaviest in ((0, size), (size, size), (size, n)):
        problem = Problem(graph, np.ones(n), Constraints(limits=Limits(lightest, heaviest)))
        start = np.concatenate([np.arange(c), rng.integers(c, size=n - c)]).astype(np.int32)
        repaired = repair.within_limits(problem, rng.permutation(start), c)
        # With two clusters repair always succeeds; with more, nodes may cycle.
        assert repaired is not None or c > 2
        assert repaired is None or np.bincount(repaired).tolist() == [size] * c
        REPAIRED.append(repaired is not None)


@settings(QUICK, max_examples=draws(300))
@given(SEEDS, st.booleans())
def test_a_round_of_repair_ends_when_no_node_can_be_moved(seed, is_heavy):
    """At most one cluster is outside its limit, and the graph may be disconnected."""
    rng, c = np.random.default_rng(seed), 3
    n = int(rng.integers(5, 12))
    dense = np.triu(rng.integers(1, 9, (n, n)) * (rng.random((n, n)) < rng.choice([0.1, 0.4])), 1)
    dense[0, 1] = 1
    symmetric = (dense + dense.T).astype(float)
    matrix = sp.csr_array(symmetric)
    weights = rng.integers(1, 4, n).astype(float)
    labels = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    labels = rng.permutation(labels).astype(np.int32)
    loads = np.sort(np.bincount(labels, weights, c))
    limits = Limits(0.0, loads[1]) if is_heavy else Limits(loads[1], loads[2] + rng.integers(3))
    graph = Graph(matrix.indptr, matrix.indices, matrix.data)
    problem = Problem(graph, weights, Constraints(limits=limits))
    state = State(problem, labels, c)
    lightest, heaviest = state.limits
    loads_now, needed = state.cluster_weights, float(rng.choice(weights))
    can_help = loads_now + needed <= heaviest if is_heavy else loads_now - needed >= lightest
    distance = np.where(can_help, 0, balance.FAR).astype(np.int32)
    balance.propagate_distances(state.arrays, labels, distance)
    heap, status = (np.empty(n), np.empty(n, dtype=np.int32)), np.zeros(n, dtype=np.uint8)
    link, outside = (
        state.scratch[0],
        np.flatnonzero((loads_now > heaviest) | (loads_now < lightest)),
    )
    if is_heavy:
        members = np.argsort(labels, kind="stable").astype(np.int32)
        first = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=c))))
        moved = balance.lighten_clusters(
            state.arrays, state.sums, state.limits, link, distance, members, first, status, heap
        )
        for a in outside[loads_now[outside] > heaviest[outside]]:
            for i in np.flatnonzero(labels == a):
                receiver = balance.best_receiver(
                    i, state.arrays, state.sums, link, distance, heaviest
                )
                assert receiver[1] < 0
    else:
        moved = balance.fill_clusters(
            state.arrays, state.sums, state.limits, distance, status, heap
        )
        for k in outside[loads_now[outside] < lightest[outside]]:
            for i in np.flatnonzero(labels != k):
                if distance[k] < balance.FAR and not symmetric[i, labels == k].any():
                    continue
                _, is_allowed = balance.filling_cost(
                    i, k, state.arrays, state.sums, distance, lightest
                )
                assert not is_allowed or loads_now[k] + weights[i] > heaviest[k]
    assert not status.any()
    assert not link.any()
    np.testing.assert_array_equal(loads_now, np.bincount(labels, weights, c))
    MOVED.append(moved > 0)


@QUICK
@given(SEEDS)
def test_moves_and_repair_do_not_depend_on_units(seed):
    problem, labels = sampled(seed, 3, 12)
    start = np.minimum(np.arange(problem.n_nodes), 2).astype(np.int32)
    results = []
    for edges, nodes in ((0, 0), (-60, 0), (60, 0), (0, -60), (0, 60)):
        other = scaled(problem, edges, nodes)
        repaired = repair.within_limits(other, start, 3)
        state = State(other, labels.copy(), 3)
        state.exchange(10**9)
        state.measure()
        exchanged = state.labels.copy()
        state.refine_by_flows()
        results.append((repaired, exchanged, state.labels, np.ldexp(state.value, nodes - edges)))
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(one, other)


# -- flow refinement


def flow_graph(matrix):
    """Return the arrays and the scratch of a flow problem."""
    n, stored = matrix.shape[0], matrix.nnz
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    position = {(i, j): p for p, (i, j) in enumerate(zip(rows, matrix.indices, strict=True))}
    reverse = np.array(
        [position[j, i] for i, j in zip(rows, matrix.indices, strict=True)], dtype=np.int64
    )
    scratch = refinement.flow_scratch(n, stored)[-1]
    return (matrix.indptr.astype(np.int64), matrix.indices, matrix.data, reverse), scratch


@QUICK
@given(SEEDS)
def test_a_minimum_cut_is_the_minimum_over_all_sets_minus_rounding(seed):
    problem, _ = sampled(seed, 2, 7)
    rng, n = np.random.default_rng(seed), problem.n_nodes
    costs = rng.integers(-60, 60, n).astype(float)
    fixed = rng.choice([0, 0, 0, 1, -1], n).astype(np.int8)
    dense, sets = problem.graph.matrix.toarray(), {}
    for inside in itertools.product((0, 1), repeat=n):
        x = np.array(inside)
        if (x[fixed > 0] == 1).all() and (x[fixed < 0] == 0).all():
            sets[inside] = float(x @ dense @ (1 - x) + costs @ x)
    # Costs of excluded nodes are in no sum.
    least, largest = min(sets.values()), max(dense.max(), *np.abs(costs[fixed >= 0]), 0.0)
    bounds = []
    for exponent in (0, -300, 300):
        matrix = sp.csr_array(problem.graph.matrix)
        matrix.data = np.ldexp(matrix.data, exponent)
        graph, scratch = flow_graph(matrix)
        inside = np.zeros(n, dtype=np.int8)
        bound, edges = minimum_cut.minimum_cut(
            graph, np.ldexp(costs, exponent), fixed, inside, scratch
        )
        assert sets[tuple(inside.tolist())] == least
        assert edges >= matrix.nnz
        bounds.append(float(np.ldexp(bound, -exponent)))
    assert bounds[0] == bounds[1] == bounds[2]
    # Integer sums are exact, so the margin is the allowance for rounding.
    margin = least - bounds[0]
    assert EPSILON * abs(least) <= margin <= EPSILON * (200 * n * n * largest)
    if largest > 4:
        assert margin >= EPSILON * largest


@QUICK
@given(SEEDS)
def test_a_strip_is_collected_breadth_first_up_to_its_weight(seed):
    problem, labels = sampled(seed, 3, 14)
    rng, n = np.random.default_rng(seed), problem.n_nodes
    most = float(rng.integers(0, 12)), int(rng.integers(0, n + 1))
    neighbors = [problem.graph.matrix[[i]].indices for i in range(n)]
    weights, seeds = problem.node_weights, rng.permutation(n).astype(np.int32)
    expected, weight = [], 0.0

    def add(i):
        nonlocal weight
        if i not in expected and weight + weights[i] <= most[0] and len(expected) < most[1]:
            expected.append(int(i))
            weight += weights[i]
            waiting.append(i)

    waiting: deque = deque()
    for i in seeds:
        if labels[i] == 0 and (labels[neighbors[i]] == 1).any():
            add(i)
    while waiting:
        for j in neighbors[waiting.popleft()]:
            if labels[j] == 0:
                add(j)
    nodes, status = np.empty(n + 2, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    end = flow_refinement.collect_strip(
        problem.arrays, labels, (0, 1), seeds, most, 2, nodes, status
    )
    assert nodes[2:end].tolist() == expected
    assert np.flatnonzero(status).tolist() == sorted(expected)


IMPROVED: list[bool] = []
REPAIRED: list[bool] = []
MOVED: list[bool] = []


@QUICK
@given(SEEDS)
def test_a_refined_border_is_optimal_for_its_strip(seed):
    problem, labels = sampled(seed, 3, 9, slack=int(seed % 7))
    state, n, c = State(problem, labels.copy(), 3), problem.n_nodes, 3
    scratch = refinement.flow_scratch(n, problem.graph.n_stored)
    listed = [np.flatnonzero(labels == k).astype(np.int32) for k in (0, 1)]
    width = float(seed % 5)
    _, heaviest = state.limits
    before, loads = state.value, state.cluster_weights.copy()
    gain, _, narrower = flow_refinement.refine_border(
        state.arrays, state.sums, state.limits, (0, 1), listed, width, scratch
    )
    # 1. The strip, and the value model with fixed cluster weights.
    status, nodes = np.zeros(n, dtype=np.uint8), np.empty(n, dtype=np.int32)
    most = heaviest[1] - loads[1] + width, int((labels == 0).sum()) - 1
    middle = flow_refinement.collect_strip(
        problem.arrays, labels, (0, 1), listed[0], most, 0, nodes, status
    )
    most = heaviest[0] - loads[0] + width, int((labels == 1).sum()) - 1
    end = flow_refinement.collect_strip(
        problem.arrays, labels, (1, 0), listed[1], most, middle, nodes, status
    )
    ratio, models = problem.boundaries(labels) / loads, {}
    for sides in itertools.product((0, 1), repeat=end):
        other = moved(labels, *zip(nodes[:end], sides, strict=True))
        new = np.bincount(other, problem.node_weights, c) - loads
        boundary = problem.boundaries(other)
        models[sides] = float(((boundary - ratio * new) / loads)[:2].sum())
    best = min(models.values())
    stayed = tuple(labels[nodes[:end]].tolist())
    # 2. The result minimizes the model, is within the limits, and lowers the value.
    chosen = tuple(state.labels[nodes[:end]].tolist())
    assert problem.allows(state.labels)
    if gain > 0.0:
        assert models[chosen] == pytest.approx(best, abs=1e-9)
        assert before - problem.value(state.labels) == pytest.approx(gain, abs=1e-9)
        assert not narrower
        updated = [sums.copy() for sums in state.sums[1:5]]
        state.measure()
        for actual, expected in zip(updated, state.sums[1:5], strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)
    else:
        assert np.array_equal(state.labels, labels)
        if not narrower:
            assert models[stayed] == pytest.approx(best, abs=1e-9)
        else:
            # At least one minimizer violates a limit or does not lower the value.
            optima = [
                other
                for sides, model in models.items()
                if model <= best + 1e-9
                for other in [moved(labels, *zip(nodes[:end], sides, strict=True))]
            ]
            assert any(
                not problem.allows(other) or problem.value(other) >= before * (1 - 1e-9)
                for other in optima
            )
    IMPROVED.append(gain > 0.0)


def test_most_repairs_succeeded():
    assert not REPAIRED or sum(REPAIRED) >= 0.9 * len(REPAIRED)


def test_some_rounds_of_repair_moved_nodes():
    assert not MOVED or sum(MOVED) >= 0.1 * len(MOVED)


def test_some_borders_were_improved():
    assert not IMPROVED or sum(IMPROVED) >= 0.1 * len(IMPROVED)
