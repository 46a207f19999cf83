"""Isolated nodes: they join neighbors by stored zeros, without changing the cut value."""

from __future__ import annotations

import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, premise, saw
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import leastcut
from leastcut.graph import as_graph
from leastcut.problem import as_problem
from leastcut.reductions import label_isolated, solve_reduced
from leastcut.results import Partition

POWER = Path(os.environ.get("LEASTCUT_DATA", "")).parent / "graphs" / "power.npz"


def stored(n, i, j, weights):
    """Return a symmetric matrix that stores all edges, including those of weight 0."""
    both = np.concatenate([i, j]), np.concatenate([j, i])
    return sp.coo_array((np.concatenate([weights, weights]), both), shape=(n, n)).tocsr()


def parts(S, keep=None):
    """Return the component of every node by stored entries between nodes of the same label."""
    coo = S.tocoo()
    rows, columns = coo.coords
    inside = np.ones(rows.size, dtype=bool) if keep is None else keep[rows] == keep[columns]
    ones = np.ones(np.count_nonzero(inside))
    pattern = sp.coo_array((ones, (rows[inside], columns[inside])), shape=S.shape)
    return connected_components(pattern, directed=False)[1]


def reference(S, labels, isolated):
    """Return the labels of isolated nodes by majority of their neighbors, round by round."""
    known = {v: int(labels[v]) for v in range(len(labels)) if not isolated[v]}
    while True:
        new = {}
        for v in np.flatnonzero(isolated):
            near = [known[int(u)] for u in S[[v]].indices if int(u) in known and u != v]
            if int(v) not in known and near:
                new[int(v)] = min(set(near), key=lambda k, near=near: (-near.count(k), k))
        if not new:
            return known
        known |= new


@st.composite
def idle_graphs(draw):
    """Draw a graph with nodes that have only stored zeros, or no entries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(5, 25))
    i, j = np.triu_indices(n, 1)
    chosen = rng.random(i.size) < rng.choice([0.1, 0.2, 0.4])
    i, j = i[chosen], j[chosen]
    idle = rng.random(n) < rng.choice([0.2, 0.5])
    weights = np.where(idle[i] | idle[j], 0.0, rng.integers(1, 5, size=i.size))
    return stored(n, i, j, weights)


def isolated_nodes(S):
    return np.asarray(S.sum(axis=1)).reshape(-1) == 0


@settings(max_examples=draws(60))
@given(idle_graphs(), st.integers(1, 3), st.sampled_from(["partition", "certify", "refine", "fit"]))
@pytest.mark.filterwarnings("ignore")
def test_isolated_nodes_join_a_cluster_of_a_stored_neighbor(S, c, how):
    isolated = isolated_nodes(S)
    c = max(1, min(c, int((~isolated).sum())))
    premise(not isolated.all())
    options = {"isolated": "ignore"}
    if how == "partition":
        labels = leastcut.partition(S, c, effort="fast", random_state=0, **options).labels
    elif how == "fit":
        model = leastcut.SpectralClustering(c, affinity="precomputed", random_state=0)
        labels = model.fit(S).labels_
    else:
        rng = np.random.default_rng(0)
        initial = np.zeros(S.shape[0], dtype=int)
        initial[np.flatnonzero(~isolated)] = rng.permutation(int((~isolated).sum())) % c
        labels = leastcut.partition(S, c, effort="fast", random_state=0, **options).labels
        if how == "refine":
            labels = leastcut.refine(S, initial, **options).labels
        else:
            labels = leastcut.certify(S, labels, **options).labels
    expected = reference(S, labels, isolated)
    for node in np.flatnonzero(isolated):
        if int(node) in expected:
            near = labels[S[[node]].indices]
            assert labels[node] in near
            saw("placed", 1)
    # Every component of a cluster with a stored entry contains a node with edges.
    if how == "partition":
        inside = parts(S, labels)
        for node in expected:
            assert (~isolated[inside == inside[node]]).any()
    bare = S.copy()
    bare.eliminate_zeros()
    value = leastcut.cut_value(S, labels, **options)
    if how == "partition":
        other = leastcut.partition(bare, c, effort="fast", random_state=0, **options)
        assert value == pytest.approx(other.cut_value, rel=1e-12)


def test_majority_decides_then_the_smallest_label_and_chains_are_labeled_in_rounds():
    # Two pairs of nodes with edges. 4 has more neighbors in the second pair, 5 as many in both, 6
    # and 7 form a chain from 4, 8 and 9 have only each other, and 10 has none.
    i = np.array([0, 2, 4, 4, 4, 5, 5, 6, 6, 8])
    j = np.array([1, 3, 1, 2, 3, 0, 2, 4, 7, 9])
    S = stored(11, i, j, np.array([3.0, 1.0] + [0.0] * 8))
    problem = as_problem(S, isolated="ignore")
    labels = label_isolated(problem, np.arange(4), np.array([0, 0, 1, 1]), 2)
    assert labels.tolist() == [0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0]


@settings(max_examples=draws(60))
@given(idle_graphs(), st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore")
def test_constraints_are_satisfied_and_other_nodes_join_their_neighbors(S, seed):
    rng = np.random.default_rng(seed)
    isolated, n = isolated_nodes(S), S.shape[0]
    some = np.flatnonzero(isolated)
    premise((~isolated).sum() >= 3 and some.size >= 1)
    pairs = [(int(rng.choice(some)), int(rng.integers(n))) for _ in range(2)]
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    premise(len(pairs) > 0)
    options = {"isolated": "ignore", "effort": "fast", "random_state": 0}
    result = leastcut.partition(S, 3, cannot_link=pairs, **options).labels
    assert all(result[u] != result[v] for u, v in pairs)
    held = {u for pair in pairs for u in pair}
    for node, _ in reference(S, result, isolated).items():
        if isolated[node] and node not in held and not held & set(S[[node]].indices.tolist()):
            assert result[node] in result[S[[node]].indices]
            saw("linked", 1)
    result = leastcut.partition(S, 2, must_link=pairs, **options).labels
    assert all(result[u] == result[v] for u, v in pairs)


@pytest.mark.parametrize("must_link", [None, [(3, 4)]])
@pytest.mark.parametrize("seed", range(12))
def test_renumbering_a_start_does_not_change_value_and_bound(seed, must_link):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 14))
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    upper[:2] = 0.0
    S, options = upper + upper.T, {"isolated": "ignore", "random_state": 0}
    links = {"must_link": must_link}
    best = leastcut.partition(S, 3, **options, **links)
    for order in permutations(range(3)):
        labels = np.array(order)[best.labels]
        for result in (
            leastcut.partition(S, 3, init=labels, **options, **links),
            leastcut.certify(S, labels, **options, **links),
        ):
            assert result.cut_value == leastcut.cut_value(S, result.labels, isolated="ignore")
            assert result.lower_bound is None or result.lower_bound <= result.cut_value


@pytest.mark.parametrize("bound", [0.8, 1.0])
def test_a_better_start_does_not_hide_a_wrong_bound(bound):
    """A bound above the value of a start is false, and must not be hidden."""
    S = np.array([[0, 1, 0, 0], [1, 0, 0.5, 0], [0, 0.5, 0, 1], [0, 0, 1, 0]])
    problem, start = as_problem(S, "ratio"), np.array([0, 0, 1, 1])
    wrong = Partition(np.array([0, 1, 0, 1]), 1.0, bound)
    result = solve_reduced(problem, 2, lambda _: wrong, [("init", start)])
    assert result.labels.tolist() == start.tolist()
    assert (result.cut_value, result.lower_bound) == (0.5, bound)


def test_a_start_of_the_proven_value_is_proven_too():
    S = np.array([[0, 1, 0, 0], [1, 0, 0.5, 0], [0, 0.5, 0, 1], [0, 0, 1, 0]])
    problem, start = as_problem(S, "ratio"), np.array([0, 0, 1, 1])
    value = problem.value(start)
    rounded = np.nextafter(value, np.inf)  # as if by another order of summation
    proven = Partition(np.array([0, 1, 0, 1]), rounded, rounded)
    result = solve_reduced(problem, 2, lambda _: proven, [("init", start)])
    assert result.cut_value == result.lower_bound == value


def test_edges_of_weight_zero_in_libraries_and_tables():
    networkx = pytest.importorskip("networkx")
    pandas = pytest.importorskip("pandas")
    edges = [(0, 1, 2.0), (1, 2, 2.0), (3, 4, 1.0), (4, 5, 1.0), (2, 3, 0.1), (5, 6, 0.0)]
    edges.append((6, 7, 0.0))
    graph = networkx.Graph()
    graph.add_weighted_edges_from(edges)
    table = pandas.DataFrame(edges, columns=["source", "target", "weight"])
    options = {"isolated": "ignore", "random_state": 0}
    for named_graph in (graph, table):
        result = leastcut.partition(named_graph, 2, **options).by_node()
        assert result[5] == result[6] == result[7] != result[0]
    dense = networkx.to_numpy_array(graph)
    # A dense array stores no zeros, so all isolated nodes join the heaviest cluster.
    labels = leastcut.partition(dense, 2, **options).labels
    assert labels[6] == labels[7] == labels[0]


def test_the_pattern_of_zeros_is_kept_only_for_isolated_nodes():
    i, j = np.array([0, 1, 0]), np.array([1, 2, 2])
    assert as_graph(stored(3, i, j, np.array([1.0, 1.0, 0.0]))).idle is None
    assert as_graph(stored(3, i, j, np.array([1.0, 1.0, 1.0]))).idle is None
    assert as_graph(np.eye(3)).idle is None
    idle = as_graph(stored(3, i, j, np.array([1.0, 0.0, 0.0]))).idle
    assert idle.toarray().tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]


@pytest.mark.skipif(not POWER.exists(), reason="the graph of the power grid is not there")
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_idle_lines_of_a_power_grid_keep_clusters_connected(share):
    S = sp.csr_array(sp.load_npz(POWER))
    i, j = sp.triu(S, 1).tocoo().coords
    rng = np.random.default_rng(0)
    weights = np.where(rng.random(i.size) < share, 0.0, 1.0)
    grid = stored(S.shape[0], i, j, weights)
    isolated = isolated_nodes(grid)
    assert isolated.sum() > 10
    labels = leastcut.partition(grid, 5, isolated="ignore", effort="fast", random_state=0).labels
    inside = parts(grid, labels)
    # Within its cluster, every isolated node is connected to a node with edges.
    live = np.zeros(inside.max() + 1, dtype=bool)
    live[inside[~isolated]] = True
    assert live[inside[isolated]].all()
