"""Kernels of balanced clusters compared with enumeration, in whole numbers with tight limits.

They run interpreted: that compiled ones agree is tested beside the searches that use them.
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
from leastcut.kernels import balance as balancing
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
            for name, found in list(vars(module).items()):
                if hasattr(found, "py_func"):
                    patch.setattr(module, name, found.py_func)
        yield


def sampled(seed, n_clusters=3, most_nodes=9, slack=None) -> tuple[Problem, np.ndarray]:
    """Return a connected problem of small whole numbers with labels, just within its limits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(n_clusters + 1, most_nodes + 1))
    dense = np.triu(rng.integers(1, 50, (n, n)) * (rng.random((n, n)) < 0.5), 1)
    dense[np.arange(n - 1), np.arange(1, n)] += 1
    matrix = sp.csr_array((dense + dense.T).astype(float))
    matrix.sort_indices()
    weights = rng.integers(1, 4, n).astype(float)
    labels = rng.permutation(np.arange(n) % n_clusters).astype(np.int32)
    loads = np.bincount(labels, weights, n_clusters)
    room = int(rng.integers(0, 3)) if slack is None else slack
    limits = Limits(max(loads.min() - room, 0.0), loads.max() + room)
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
def test_listed_moves_are_the_best_by_their_edges(seed):
    problem, labels = sampled(seed)
    state, n = State(problem, labels, 3), problem.n_nodes
    nodes = np.arange(n, dtype=np.int32)
    change, target = np.empty(n), np.empty(n, dtype=np.int32)
    balancing.list_moves(state.arrays, state.sums, state.scratch, nodes, change, target)
    dense, loads = problem.graph.matrix.toarray(), problem.cluster_weights(labels)
    for i in range(n):
        link = np.bincount(labels, dense[i], 3)
        a, total = labels[i], link.sum()
        places = [k for k in range(3) if k != a and link[k] > 0]
        if not places:
            assert target[i] == -1
            continue
        joined = {k: (total - 2 * link[k]) / loads[k] for k in places}
        assert joined[target[i]] == pytest.approx(min(joined.values()))
        assert change[i] == pytest.approx(joined[target[i]] + (2 * link[a] - total) / loads[a])
    assert not state.scratch[0].any()


@QUICK
@given(SEEDS, st.integers(2, 5))
def test_distances_are_the_shortest_paths_between_clusters(seed, c):
    problem, labels = sampled(seed, c, 12)
    begin = np.random.default_rng(seed).choice([0, 2, balancing.FAR], c).astype(np.int32)
    distance = begin.copy()
    balancing.propagate_distances(problem.arrays, labels, distance)
    coo = problem.graph.matrix.tocoo()
    touch = np.zeros((c, c))
    touch[labels[coo.coords[0]], labels[coo.coords[1]]] = 1
    hops = sp.csgraph.shortest_path(sp.csr_array(touch), unweighted=True)
    np.testing.assert_array_equal(distance, np.min(begin + hops, axis=1))


@QUICK
@given(SEEDS)
def test_the_cheapest_place_is_that_of_the_smallest_growth(seed):
    problem, labels = sampled(seed, slack=0)
    rng, state = np.random.default_rng(seed), State(problem, labels, 3)
    heaviest = state.cluster_weights + rng.integers(0, 4, 3)
    lightest = np.maximum(state.cluster_weights - rng.integers(0, 4, 3), 0.5)
    distance = rng.choice([0, 1, 2, balancing.FAR], 3).astype(np.int32)
    before, dense = problem.value(labels), problem.graph.matrix.toarray()
    for i in range(problem.n_nodes):
        a, weight = labels[i], problem.node_weights[i]
        growth = {}
        for k in set(range(3)) - {a}:
            if (labels == a).sum() > 1:
                growth[k] = (problem.value(moved(labels, (i, k))) - before) / weight
        # By the weight, in units of the limit.
        shed = {k: cost * heaviest[a] for k, cost in growth.items()}
        # 1. Handed over by a cluster that is too heavy.
        places = {
            k: cost
            for k, cost in shed.items()
            if (dense[i, labels == k].any() or distance[a] >= balancing.FAR)
            and distance[k] < distance[a]
            and (distance[k] > 0 or state.cluster_weights[k] + weight <= heaviest[k])
        }
        cost, k = balancing.best_receiver(
            i, state.arrays, state.sums, state.scratch[0], distance, heaviest
        )
        assert (k >= 0) == bool(places)
        if places:
            assert cost == pytest.approx(min(places.values()), abs=1e-9)
            assert places[k] == pytest.approx(cost, abs=1e-9)
        # 2. Taken over by a cluster that is too light.
        for k in range(3):
            cost, is_free = balancing.filling_cost(
                i, k, state.arrays, state.sums, distance, lightest
            )
            spared = distance[a] > 0 or state.cluster_weights[a] - weight >= lightest[a]
            assert is_free == (k in growth and distance[a] < distance[k] and spared)
            if is_free:
                assert cost == pytest.approx(growth[k] * lightest[k], abs=1e-9)
    assert not state.scratch[0].any()


@QUICK
@given(SEEDS)
def test_exchanges_end_where_none_that_is_listed_helps(seed):
    problem, labels = sampled(seed, 3, 10)
    state = State(problem, labels.copy(), 3)
    while True:
        before = state.value
        made = state.exchange(10**9)
        assert problem.allows(state.labels)
        assert state.value == pytest.approx(problem.value(state.labels), abs=1e-9)
        assert (made > 0) == (state.value < before * (1 - 1e-13))
        state.measure()
        if not made:
            break
    nodes, n = np.arange(problem.n_nodes, dtype=np.int32), problem.n_nodes
    change, target = np.empty(n), np.empty(n, dtype=np.int32)
    balancing.list_moves(state.arrays, state.sums, state.scratch, nodes, change, target)
    value, labels = state.value, state.labels
    wanted = [i for i in nodes if target[i] >= 0 and change[i] < 0]
    keep, count = problem.limits.allow, np.bincount(labels)
    for i in wanted:
        a, k = labels[i], target[i]
        alone = moved(labels, (i, k))
        if count[a] > 1 and keep(np.bincount(alone, problem.node_weights, 3)):
            assert problem.value(alone) >= value * (1 - 1e-9)
            continue
        for j in nodes[(labels == k) & (target >= 0)]:
            both = moved(alone, (j, target[j]))
            loads, sizes = (
                np.bincount(both, problem.node_weights, 3),
                np.bincount(both, minlength=3),
            )
            one_first = count[a] > 1 or (target[j] == a and count[k] > 1)
            if change[i] + change[j] < 0 and keep(loads) and sizes.min() > 0 and one_first:
                assert problem.value(both) >= value * (1 - 1e-9)


@QUICK
@given(SEEDS, st.integers(2, 4))
def test_even_nodes_are_repaired_to_exactly_even_clusters(seed, c):
    """As many nodes as each cluster may have and must have: none has more room than it needs."""
    rng = np.random.default_rng(seed)
    n = c * int(rng.integers(2, 5))
    dense = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.1, 0.4]), 1).astype(float)
    # Not always connected: nodes are then handed to clusters that they have no edge to.
    dense[np.arange(n - 1), np.arange(1, n)] += rng.random() < 0.5
    dense[0, 1] = 1.0
    matrix = sp.csr_array(dense + dense.T)
    graph = Graph(matrix.indptr, matrix.indices, matrix.data)
    even = n // c
    for lightest, heaviest in ((0, even), (even, even), (even, n)):
        problem = Problem(graph, np.ones(n), Constraints(limits=Limits(lightest, heaviest)))
        start = np.concatenate([np.arange(c), rng.integers(c, size=n - c)]).astype(np.int32)
        found = repair.within_limits(problem, rng.permutation(start), c)
        # Between two clusters there is one way; among more, nodes may be handed to and fro.
        assert found is not None or c > 2
        assert found is None or np.bincount(found).tolist() == [even] * c
        REPAIRED.append(found is not None)


@settings(QUICK, max_examples=draws(300))
@given(SEEDS, st.booleans())
def test_a_round_of_repair_ends_where_no_node_can_be_handed_on(seed, is_heavy):
    """With one cluster beyond its limit at most, in a graph that may be disconnected."""
    rng, c = np.random.default_rng(seed), 3
    n = int(rng.integers(5, 12))
    dense = np.triu(rng.integers(1, 9, (n, n)) * (rng.random((n, n)) < rng.choice([0.1, 0.4])), 1)
    dense[0, 1] = 1
    both_ways = (dense + dense.T).astype(float)
    matrix = sp.csr_array(both_ways)
    weights = rng.integers(1, 4, n).astype(float)
    labels = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    labels = rng.permutation(labels).astype(np.int32)
    loads = np.sort(np.bincount(labels, weights, c))
    limits = Limits(0.0, loads[1]) if is_heavy else Limits(loads[1], loads[2] + rng.integers(3))
    graph = Graph(matrix.indptr, matrix.indices, matrix.data)
    problem = Problem(graph, weights, Constraints(limits=limits))
    state = State(problem, labels, c)
    lightest, heaviest = state.limits
    own, room = state.cluster_weights, float(rng.choice(weights))
    can_help = own + room <= heaviest if is_heavy else own - room >= lightest
    distance = np.where(can_help, 0, balancing.FAR).astype(np.int32)
    balancing.propagate_distances(state.arrays, labels, distance)
    heap, status = (np.empty(n), np.empty(n, dtype=np.int32)), np.zeros(n, dtype=np.uint8)
    link, beyond = state.scratch[0], np.flatnonzero((own > heaviest) | (own < lightest))
    if is_heavy:
        members = np.argsort(labels, kind="stable").astype(np.int32)
        first = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=c))))
        moved = balancing.lighten_clusters(
            state.arrays, state.sums, state.limits, link, distance, members, first, status, heap
        )
        for a in beyond[own[beyond] > heaviest[beyond]]:
            for i in np.flatnonzero(labels == a):
                place = balancing.best_receiver(
                    i, state.arrays, state.sums, link, distance, heaviest
                )
                assert place[1] < 0
    else:
        moved = balancing.fill_clusters(
            state.arrays, state.sums, state.limits, distance, status, heap
        )
        for k in beyond[own[beyond] < lightest[beyond]]:
            for i in np.flatnonzero(labels != k):
                if distance[k] < balancing.FAR and not both_ways[i, labels == k].any():
                    continue
                _, is_free = balancing.filling_cost(
                    i, k, state.arrays, state.sums, distance, lightest
                )
                assert not is_free or own[k] + weights[i] > heaviest[k]
    assert not status.any()
    assert not link.any()
    np.testing.assert_array_equal(own, np.bincount(labels, weights, c))
    HANDED_ON.append(moved > 0)


@QUICK
@given(SEEDS)
def test_units_change_no_move_and_no_repair(seed):
    problem, labels = sampled(seed, 3, 12)
    start = np.minimum(np.arange(problem.n_nodes), 2).astype(np.int32)
    answers = []
    for edges, nodes in ((0, 0), (-60, 0), (60, 0), (0, -60), (0, 60)):
        other = scaled(problem, edges, nodes)
        repaired = repair.within_limits(other, start, 3)
        state = State(other, labels.copy(), 3)
        state.exchange(10**9)
        state.measure()
        exchanged = state.labels.copy()
        state.refine_by_flows()
        answers.append((repaired, exchanged, state.labels, np.ldexp(state.value, nodes - edges)))
    for answer in answers[1:]:
        for one, other in zip(answers[0], answer, strict=True):
            np.testing.assert_array_equal(one, other)


# -- flows


def flow_graph(matrix):
    """Return the arrays of a flow, and its scratch."""
    n, stored = matrix.shape[0], matrix.nnz
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    place = {(i, j): p for p, (i, j) in enumerate(zip(rows, matrix.indices, strict=True))}
    reverse = np.array(
        [place[j, i] for i, j in zip(rows, matrix.indices, strict=True)], dtype=np.int64
    )
    scratch = refinement.flow_scratch(n, stored)[-1]
    return (matrix.indptr.astype(np.int64), matrix.indices, matrix.data, reverse), scratch


@QUICK
@given(SEEDS)
def test_a_minimum_cut_is_the_smallest_of_all_sets_less_its_rounding(seed):
    problem, _ = sampled(seed, 2, 7)
    rng, n = np.random.default_rng(seed), problem.n_nodes
    prices = rng.integers(-60, 60, n).astype(float)
    fixed = rng.choice([0, 0, 0, 1, -1], n).astype(np.int8)
    dense, sets = problem.graph.matrix.toarray(), {}
    for inside in itertools.product((0, 1), repeat=n):
        x = np.array(inside)
        if (x[fixed > 0] == 1).all() and (x[fixed < 0] == 0).all():
            sets[inside] = float(x @ dense @ (1 - x) + prices @ x)
    least, largest = min(sets.values()), max(dense.max(), np.abs(prices).max())
    bounds = []
    for exponent in (0, -300, 300):
        matrix = sp.csr_array(problem.graph.matrix)
        matrix.data = np.ldexp(matrix.data, exponent)
        graph, scratch = flow_graph(matrix)
        inside = np.zeros(n, dtype=np.int8)
        bound, edges = minimum_cut.minimum_cut(
            graph, np.ldexp(prices, exponent), fixed, inside, scratch
        )
        assert sets[tuple(inside.tolist())] == least
        assert edges >= matrix.nnz
        bounds.append(float(np.ldexp(bound, -exponent)))
    assert bounds[0] == bounds[1] == bounds[2]
    # Sums of whole numbers are exact, so what the bound is less by is what it allows for rounding.
    margin = least - bounds[0]
    assert EPSILON * abs(least) <= margin <= EPSILON * (200 * n * n * largest)
    if largest > 4:
        assert margin >= EPSILON * largest


@QUICK
@given(SEEDS)
def test_a_strip_is_gathered_breadth_first_up_to_its_weight(seed):
    problem, labels = sampled(seed, 3, 14)
    rng, n = np.random.default_rng(seed), problem.n_nodes
    most = float(rng.integers(0, 12)), int(rng.integers(0, n + 1))
    near = [problem.graph.matrix[[i]].indices for i in range(n)]
    weights, seeds = problem.node_weights, rng.permutation(n).astype(np.int32)
    expected, weight = [], 0.0

    def take(i):
        nonlocal weight
        if i not in expected and weight + weights[i] <= most[0] and len(expected) < most[1]:
            expected.append(int(i))
            weight += weights[i]
            waiting.append(i)

    waiting: deque = deque()
    for i in seeds:
        if labels[i] == 0 and (labels[near[i]] == 1).any():
            take(i)
    while waiting:
        for j in near[waiting.popleft()]:
            if labels[j] == 0:
                take(j)
    nodes, status = np.empty(n + 2, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    end = flow_refinement.collect_strip(
        problem.arrays, labels, (0, 1), seeds, most, 2, nodes, status
    )
    assert nodes[2:end].tolist() == expected
    assert np.flatnonzero(status).tolist() == sorted(expected)


HELD: list[bool] = []
REPAIRED: list[bool] = []
HANDED_ON: list[bool] = []


@QUICK
@given(SEEDS)
def test_a_better_border_is_the_best_of_all_sides_of_its_strip(seed):
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
    # 1. The strip, and the model of the value in which the weights of clusters stay.
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
    # 2. What changed is the best of the model, is within the limits, and lowers the value.
    chosen = tuple(state.labels[nodes[:end]].tolist())
    assert problem.allows(state.labels)
    if gain > 0.0:
        assert models[chosen] == pytest.approx(best, abs=1e-9)
        assert before - problem.value(state.labels) == pytest.approx(gain, abs=1e-9)
        assert not narrower
        kept = [sums.copy() for sums in state.sums[1:5]]
        state.measure()
        for had, has in zip(kept, state.sums[1:5], strict=True):
            np.testing.assert_allclose(had, has, rtol=1e-9, atol=1e-9)
    else:
        assert np.array_equal(state.labels, labels)
        if not narrower:
            assert models[stayed] == pytest.approx(best, abs=1e-9)
        else:
            # Each of the best breaks a limit or gains nothing.
            found = [
                other
                for sides, model in models.items()
                if model <= best + 1e-9
                for other in [moved(labels, *zip(nodes[:end], sides, strict=True))]
            ]
            assert any(
                not problem.allows(other) or problem.value(other) >= before * (1 - 1e-9)
                for other in found
            )
    HELD.append(gain > 0.0)


def test_most_clusters_were_repaired():
    assert not REPAIRED or sum(REPAIRED) >= 0.9 * len(REPAIRED)


def test_some_nodes_were_handed_on():
    assert not HANDED_ON or sum(HANDED_ON) >= 0.1 * len(HANDED_ON)


def test_some_borders_became_better():
    assert not HELD or sum(HELD) >= 0.1 * len(HELD)
