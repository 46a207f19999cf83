"""Balance: cluster weights of all results are within the limits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, either, graphs, load_dataset, points_graph
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from test_links import all_partitions, some_pairs
from test_refinement import CUTS, some_cut

import leastcut
from leastcut.multilevel import search
from leastcut.problem import as_problem

EFFORTS = ("fast", "auto", "balanced")
FAST = {"effort": "fast", "random_state": 0}

ROUNDING = Fraction(1, 10**9)
"""Documented tolerance of the limits for non-integer weights, as a fraction of the average."""

BALANCES = st.one_of(
    st.sampled_from([0.0, 0.03, 0.1, 0.25, 0.5, 1.0, 5.0]),
    st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.sampled_from([0.0, 0.1, 0.5, 2.0])),
)


def fractions_of(balance):
    """Return the allowed fractions below (1 without a limit) and above the average."""
    below, above = balance if isinstance(balance, tuple) else (1.0, balance)
    return Fraction(below), Fraction(above)


def is_balanced(node_weights, labels, c, balance, slack=ROUNDING):
    """Return whether c clusters satisfy a balance, in rational arithmetic."""
    below, above = fractions_of(balance)
    loads = [Fraction(0)] * c
    for weight, label in zip(node_weights.tolist(), labels.tolist(), strict=True):
        loads[label] += Fraction(weight)
    average = sum(loads) / c
    return (
        max(loads) <= (1 + above + slack) * average and min(loads) >= (1 - below - slack) * average
    )


def check(S, result, c, cut, balance):
    """Check the labels, the balance, the cut value and the lower bound of a partition."""
    weights = leastcut.node_weights(S, cut)
    assert np.unique(result.labels).tolist() == list(range(c))
    assert is_balanced(weights, result.labels, c, balance)
    assert result.cut_value == leastcut.cut_value(S, result.labels, cut)
    if result.lower_bound is not None:
        assert result.lower_bound <= result.cut_value * (1 + 1e-9) + 1e-12


# -- tiny graphs, whose partitions can be enumerated


def random_case(data, max_nodes):
    """Draw a graph, a cut, a number of clusters and a balance; return all balanced partitions."""
    S = data.draw(graphs(min_nodes=2, max_nodes=max_nodes))
    n = len(S)
    c, cut = data.draw(st.integers(1, n)), some_cut(data.draw(CUTS), n)
    balance, problem = data.draw(BALANCES), as_problem(S, cut)
    every = list(all_partitions(n, c))
    weights = problem.node_weights
    fitting = [labels for labels in every if is_balanced(weights, labels, c, balance)]
    # Skip cases that depend on rounding.
    assume(all(is_balanced(weights, labels, c, balance, slack=0) for labels in fitting))
    return S, c, cut, balance, [problem.value(labels) for labels in fitting]


@settings(max_examples=draws(100))
@given(st.data())
def test_tiny_graphs_get_the_best_balanced_partition(data):
    """Without a balanced partition, an error is raised."""
    S, c, cut, balance, values = random_case(data, 6)
    if not either(values, "allowed", "refused"):
        with pytest.raises(ValueError, match="balance"):
            leastcut.partition(S, c, cut, balance=balance, **FAST)
        return
    result = leastcut.partition(S, c, cut, balance=balance, **FAST)
    check(S, result, c, cut, balance)
    assert result.cut_value == pytest.approx(min(values), rel=1e-9, abs=1e-12)
    assert result.gap == 0.0


@settings(max_examples=draws(50))
@given(st.data())
def test_the_search_is_balanced_and_never_below_the_optimum(data):
    S, c, cut, balance, values = random_case(data, 6)
    assume(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "ENUMERATED_NODES", 0)
        sought = [
            leastcut.partition(
                S, c, cut, balance=balance, effort=effort, lower_bound=True, random_state=0
            )
            for effort in EFFORTS[:2]
        ]
    for result in sought:
        check(S, result, c, cut, balance)
        assert result.cut_value >= min(values) * (1 - 1e-9)
        assert result.lower_bound <= min(values) * (1 + 1e-9) + 1e-12
    assert sought[1].cut_value <= sought[0].cut_value * (1 + 1e-12)


def test_the_search_usually_finds_the_smallest_balanced_cut(monkeypatch):
    """On small random graphs, without enumeration; a heuristic need not find every optimum."""
    monkeypatch.setattr(search, "ENUMERATED_NODES", 0)
    rng, hits, trials = np.random.default_rng(0), 0, 30
    for trial in range(trials):
        n, c = int(rng.integers(5, 9)), int(rng.integers(2, 4))
        upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.6), 1)
        S, cut = upper + upper.T + 0.01, ("ratio", "edges")[trial % 2]
        balance = float(rng.choice([0.1, 0.3])) + 2.0 / n
        fitting = [
            labels for labels in all_partitions(n, c) if is_balanced(np.ones(n), labels, c, balance)
        ]
        best = min(leastcut.cut_value(S, labels, cut) for labels in fitting)
        result = leastcut.partition(S, c, cut, balance=balance, effort="auto", random_state=trial)
        assert result.cut_value >= best * (1 - 1e-9)
        hits += result.cut_value <= best * (1 + 1e-7)
    assert hits >= 0.9 * trials


# -- larger graphs


@settings(max_examples=draws(5))
@given(st.data())
def test_any_graph_is_balanced_with_any_effort(data):
    S = data.draw(graphs(min_nodes=8, max_nodes=40))
    n = len(S)
    c, cut = data.draw(st.integers(2, 6)), some_cut(data.draw(CUTS), n)
    # Allow the heaviest node in addition to an average cluster, so that a partition exists.
    weights = leastcut.node_weights(S, cut)
    above = float(weights.max() / (weights.sum() / c)) + data.draw(st.sampled_from([0.0, 0.1, 1.0]))
    values = []
    for effort in EFFORTS:
        result = leastcut.partition(S, c, cut, balance=above, effort=effort, random_state=1)
        check(S, result, c, cut, above)
        values.append(result.cut_value)
    assert all(later <= sooner * (1 + 1e-12) for sooner, later in itertools.pairwise(values))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("c", "cut", "balance"),
    [(2, "ratio", 0.0), (5, "normalized", 0.03), (12, "ratio", (0.2, 0.1))],
)
def test_more_effort_is_never_worse(c, cut, balance):
    S, values = points_graph(180), []
    for effort in EFFORTS:
        result = leastcut.partition(S, c, cut, balance=balance, effort=effort, random_state=3)
        check(S, result, c, cut, balance)
        values.append(result.cut_value)
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_the_same_seed_gives_the_same_labels_on_any_number_of_threads(cut):
    """On a graph that is large enough for several threads."""
    S = points_graph(4000)
    assert S.nnz > 30_000
    one, two, again = (
        leastcut.partition(S, 7, cut, balance=0.03, n_jobs=n_jobs, **FAST) for n_jobs in (1, 2, 2)
    )
    check(S, one, 7, cut, 0.03)
    assert np.array_equal(one.labels, two.labels)
    assert np.array_equal(again.labels, two.labels)


@pytest.mark.parametrize(("n", "c"), [(12, 2), (12, 12), (100, 4), (300, 25), (500, 2)])
def test_balance_0_distributes_nodes_evenly(n, c):
    S = points_graph(n)
    for effort in EFFORTS[:2]:
        result = leastcut.partition(S, c, "ratio", balance=0, effort=effort, random_state=0)
        assert np.bincount(result.labels).tolist() == [n // c] * c


def test_integer_limits_can_be_reached():
    """(1 + 0.1) · 100 / 10 is 11, although 1.1 is rounded in floating point."""
    rng = np.random.default_rng(0)
    for n, c, balance in ((100, 10, 0.1), (60, 3, 0.15), (70, 10, 3 / 7), (200, 2, 0.29)):
        limit = math.floor(Fraction(n, c) * (1 + Fraction(str(round(balance, 12)))) + ROUNDING)
        labels = np.full(n, c - 1)
        labels[:limit] = 0
        rest = rng.permutation(np.arange(limit, n))
        labels[rest] = 1 + np.arange(rest.size) % (c - 1)
        S = points_graph(n)
        result = leastcut.partition(S, c, "ratio", balance=balance, init=labels, **FAST)
        assert np.bincount(result.labels).max() <= limit
        assert result.cut_value <= leastcut.cut_value(S, labels, "ratio")


@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_a_balance_that_allows_all_partitions_costs_nothing(cut):
    """With balance=c - 1 all partitions are allowed, and the result is not worse than without."""
    S = points_graph(300)
    for effort in EFFORTS[:2]:
        free = leastcut.partition(S, 4, cut, effort=effort, random_state=0)
        wide = leastcut.partition(S, 4, cut, balance=3.0, effort=effort, random_state=0)
        assert wide.cut_value <= free.cut_value * (1 + 1e-12)
        check(S, wide, 4, cut, 3.0)


def test_a_tighter_balance_gives_a_start_for_a_looser_one():
    S, init = points_graph(300), None
    for balance in (0.0, 0.02, 0.1, 0.5):
        result = leastcut.partition(S, 6, "ratio", balance=balance, init=init, **FAST)
        check(S, result, 6, "ratio", balance)
        if init is not None:
            assert result.cut_value <= leastcut.cut_value(S, init, "ratio") * (1 + 1e-12)
        init = result.labels


# -- the edge cut


EDGE_ROUNDING = 2.0**-23
"""Relative resolution of edge cuts in a search, due to the small node weights."""


def edge_cut(S, labels):
    S = sp.coo_array(S)
    return float(S.data[labels[S.row] != labels[S.col]].sum()) / 2


@settings(max_examples=draws(60))
@given(st.data())
def test_the_edge_cut_of_balanced_clusters(data):
    """It is never below the optimum of balanced partitions, and its bound never above."""
    S = data.draw(graphs(min_nodes=3, max_nodes=6))
    n = len(S)
    c, balance = data.draw(st.integers(2, n)), data.draw(BALANCES)
    fitting = [
        labels for labels in all_partitions(n, c) if is_balanced(np.ones(n), labels, c, balance)
    ]
    options = {"balance": balance, **FAST}
    if not either(fitting, "allowed", "refused"):
        with pytest.raises(ValueError, match="balance"):
            leastcut.partition(S, c, "edges", **options)
        return
    result = leastcut.partition(S, c, "edges", lower_bound=True, **options)
    assert np.unique(result.labels).tolist() == list(range(c))
    assert is_balanced(np.ones(n), result.labels, c, balance)
    assert result.cut_value == leastcut.cut_value(S, result.labels, "edges")
    assert result.cut_value == pytest.approx(edge_cut(S, result.labels), rel=1e-12, abs=1e-15)
    best = min(edge_cut(S, labels) for labels in fitting)
    assert result.cut_value == pytest.approx(best, rel=EDGE_ROUNDING, abs=1e-15)
    assert result.lower_bound <= best * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("c", "balance"), [(2, 0.0), (9, (0.1, 0.1))])
def test_more_effort_never_cuts_more_edges(c, balance):
    S, values = points_graph(180), []
    for effort in EFFORTS:
        result = leastcut.partition(S, c, "edges", balance=balance, effort=effort, random_state=3)
        assert is_balanced(np.ones(180), result.labels, c, balance)
        assert result.cut_value == int(result.cut_value) == edge_cut(S, result.labels)
        values.append(result.cut_value)
    assert values == sorted(values, reverse=True)


def test_the_edge_cut_supports_init_links_and_isolated_nodes():
    upper = sp.triu(points_graph(90)).tocsr()
    upper.data = np.random.default_rng(0).uniform(0.1, 1.0, upper.nnz)
    S = sp.csr_array(upper + upper.T)
    init = leastcut.partition(S, 3, "ratio", balance=0.1, random_state=5).labels
    result = leastcut.partition(S, 3, "edges", balance=0.1, init=init, **FAST)
    assert result.cut_value <= edge_cut(S, init) * (1 + EDGE_ROUNDING)
    must = np.array([(0, 40), (40, 70)])
    linked = leastcut.partition(S, 3, "edges", balance=0.1, must_link=must, **FAST)
    assert np.unique(linked.labels[[0, 40, 70]]).size == 1
    assert linked.cut_value == leastcut.cut_value(S, linked.labels, "edges")
    assert is_balanced(np.ones(90), linked.labels, 3, 0.1)
    with_isolated = sp.csr_array(sp.block_diag([S, sp.csr_array((30, 30))]))
    result = leastcut.partition(with_isolated, 4, "edges", balance=0.0, **FAST)
    assert np.bincount(result.labels).tolist() == [30] * 4


@pytest.mark.parametrize("exponent", [-1000, -300, 300, 900])
def test_the_edge_cut_does_not_depend_on_the_unit_of_weights(exponent):
    S = points_graph(120)
    plain = leastcut.partition(S, 4, "edges", balance=0.05, **FAST)
    scaled = sp.csr_array((np.ldexp(S.data, exponent), S.indices, S.indptr), shape=S.shape)
    result = leastcut.partition(scaled, 4, "edges", balance=0.05, **FAST)
    assert is_balanced(np.ones(120), result.labels, 4, 0.05)
    assert result.cut_value == np.ldexp(plain.cut_value, exponent)


def test_the_edge_cut_requires_a_balance():
    S = points_graph(30)
    with pytest.raises(ValueError, match=r"cut='edges' needs balance, .*single nodes"):
        leastcut.partition(S, 3, "edges")
    for verb in (leastcut.relax, leastcut.lower_bound, leastcut.exact_partition):
        with pytest.raises(ValueError, match="cut='edges'"):
            verb(S, 3, "edges")


# -- graphs that are hard to balance


def test_heavy_nodes_form_clusters_almost_alone():
    """Three nodes with the largest weight of a cluster each get almost no other nodes."""
    S, weights = points_graph(120), np.ones(120)
    weights[[3, 50, 90]] = 39.0
    for balance in (0.0, 0.05):
        result = leastcut.partition(S, 6, weights, balance=balance, **FAST)
        check(S, result, 6, weights, balance)


def test_weights_over_many_orders_of_magnitude():
    S, rng = points_graph(150), np.random.default_rng(0)
    for exponent in (-200, 0, 200):
        weights = np.ldexp(10.0 ** rng.uniform(-6, 0, 150), exponent)
        above = float(weights.max() / (weights.sum() / 3))
        for balance in (above, (0.99, above)):
            result = leastcut.partition(S, 3, weights, balance=balance, **FAST)
            check(S, result, 3, weights, balance)


def test_components_are_joined_and_split_to_satisfy_the_balance():
    """Partitions without cut edges have uneven clusters."""
    blocks = [np.ones((k, k)) for k in (30, 20, 20, 10)]
    S = sp.csr_array(sp.block_diag(blocks).tocsr())
    balanced = leastcut.partition(S, 2, "ratio", balance=0.0, **FAST)
    assert np.bincount(balanced.labels).tolist() == [40, 40]
    assert balanced.cut_value == 0.0
    for c, balance in ((4, 0.0), (3, 0.1), (3, (0.1, 0.1)), (16, 0.0)):
        result = leastcut.partition(S, c, "ratio", balance=balance, **FAST)
        check(S, result, c, "ratio", balance)


def test_isolated_nodes_count_for_the_ratio_cut():
    S = sp.csr_array((20, 20), dtype=float)
    result = leastcut.partition(S, 4, "ratio", balance=0, **FAST)
    assert np.bincount(result.labels).tolist() == [5] * 4
    some = sp.csr_array(sp.block_diag([points_graph(40), sp.csr_array((20, 20))]))
    result = leastcut.partition(some, 3, "ratio", balance=0.05, **FAST)
    check(some, result, 3, "ratio", 0.05)


@pytest.mark.parametrize("n_connected", [2, 3, 40])
def test_isolated_nodes_have_no_weight_in_the_normalized_cut(n_connected):
    core = points_graph(n_connected) if n_connected > 10 else 1.0 - np.eye(n_connected)
    S = sp.csr_array(sp.block_diag([core, sp.csr_array((5, 5))]))
    for c in (2, 4):
        # If some clusters have weight 0, others exceed the average.
        balance = 0.1 if n_connected == 40 else 3.0
        result = leastcut.partition(S, c, balance=balance, isolated="ignore", **FAST)
        assert np.unique(result.labels).tolist() == list(range(c))
        weights = np.asarray(S.sum(axis=1)).reshape(-1)
        assert is_balanced(weights, result.labels, c, balance)
    with pytest.raises(ValueError, match="isolated"):
        leastcut.partition(S, 2, balance=3.0, random_state=0)


def test_a_graph_without_edges_and_without_weight():
    S = sp.csr_array((6, 6), dtype=float)
    result = leastcut.partition(S, 3, balance=0.1, isolated="ignore", **FAST)
    assert np.unique(result.labels).tolist() == [0, 1, 2]


def test_one_cluster_and_as_many_as_nodes():
    S = points_graph(30)
    for c in (1, 30):
        result = leastcut.partition(S, c, "ratio", balance=(0.0, 0.0), **FAST)
        check(S, result, c, "ratio", (0.0, 0.0))
    with pytest.raises(ValueError, match="balance"):
        leastcut.partition(S, 29, "ratio", balance=0.5, random_state=0)


@pytest.mark.parametrize("name", ["jazz", "power", "uk"])
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_real_networks(name, cut, real_graph):
    S = real_graph(name)
    for c, balance in ((2, 0.0), (5, 0.03), (16, (0.3, 0.1))):
        if cut == "ratio" and balance == 0.0 and S.shape[0] % c:
            balance = 0.01
        result = leastcut.partition(S, c, cut, balance=balance, **FAST)
        check(S, result, c, cut, balance)
        # Degrees are integers, so the limit is satisfied exactly.
        weights = leastcut.node_weights(S, cut)
        limit = math.floor((1 + fractions_of(balance)[1] + ROUNDING) * Fraction(weights.sum()) / c)
        assert np.bincount(result.labels, weights).max() <= limit


@pytest.fixture
def real_graph():
    """Return a loader of graphs from the folder LEASTCUT_GRAPHS, which skips without it."""
    import os
    from pathlib import Path

    def load(name):
        path = Path(os.environ.get("LEASTCUT_GRAPHS", "graphs")) / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{path} is not there; point LEASTCUT_GRAPHS at the folder of graphs")
        return sp.csr_array(sp.load_npz(path)).astype(float)

    return load


@pytest.mark.parametrize("name", ["digits", "iris", "yale", "umist"])
def test_real_points(name):
    """Graphs with non-integer weights."""
    if name in ("digits", "iris"):
        X, y = {"digits": load_digits, "iris": load_iris}[name](return_X_y=True)
    else:
        X, y = load_dataset(name)
    S, c = leastcut.adaptive_neighbors_graph(X, n_neighbors=10), np.unique(y).size
    for cut in ("ratio", "normalized"):
        for balance in (0.05, (0.2, 0.1)):
            result = leastcut.partition(S, c, cut, balance=balance, **FAST)
            check(S, result, c, cut, balance)


# -- combination with other options


def test_init_is_used_and_must_satisfy_the_limits():
    S = points_graph(200)
    even = np.arange(200) % 4
    result = leastcut.partition(S, 4, "ratio", balance=0.0, init=even, **FAST)
    assert result.cut_value < leastcut.cut_value(S, even, "ratio")
    best = leastcut.partition(S, 4, "ratio", balance=0.05, effort="balanced", random_state=1)
    again = leastcut.partition(S, 4, "ratio", balance=0.05, init=[even, best.labels], **FAST)
    assert again.cut_value <= best.cut_value
    check(S, again, 4, "ratio", 0.05)
    uneven = np.minimum(np.arange(200) // 20, 3)
    with pytest.raises(ValueError, match=r"init\[1\].* 140.*balance"):
        leastcut.partition(S, 4, "ratio", balance=0.05, init=[even, uneven], random_state=0)
    with pytest.raises(ValueError, match=r"init .*balance"):
        leastcut.partition(S, 4, "ratio", balance=(0.1, 3.0), init=uneven, random_state=0)


@settings(max_examples=draws(25))
@given(st.data())
def test_must_links_are_satisfied_too(data):
    S = data.draw(graphs(min_nodes=4, max_nodes=7))
    n, kind = len(S), data.draw(CUTS)
    c, cut, balance = data.draw(st.integers(2, 3)), some_cut(kind, n), data.draw(BALANCES)
    must = some_pairs(data, n, 3)
    weights = leastcut.node_weights(S, cut)

    def fits(labels, slack):
        together = (labels[must[:, 0]] == labels[must[:, 1]]).all()
        return together and is_balanced(weights, labels, c, balance, slack)

    every = list(all_partitions(n, c))
    options = {"balance": balance, "must_link": must, **FAST}
    if not either(any(fits(labels, ROUNDING) for labels in every), "allowed", "refused"):
        with pytest.raises(ValueError, match=r"balance|must_link"):
            leastcut.partition(S, c, cut, **options)
        return
    assume(any(fits(labels, 0) for labels in every))
    result = leastcut.partition(S, c, cut, **options)
    check(S, result, c, cut, balance)
    assert fits(result.labels, ROUNDING)


def test_options_that_cannot_be_combined_with_balance_raise():
    S = points_graph(60)
    with pytest.raises(ValueError, match=r"cannot_link cannot be combined.*Leave one"):
        leastcut.partition(S, 3, balance=0.1, cannot_link=[(0, 1)])
    with pytest.raises(ValueError, match=r"tight.*lower_bound=True"):
        leastcut.partition(S, 3, balance=0.1, lower_bound="tight")
    anchored = leastcut.anchor_graph(np.random.default_rng(0).normal(size=(60, 2)), n_anchors=10)
    with pytest.raises(ValueError, match=r"balance.*anchor graph.*to_sparse"):
        leastcut.partition(anchored, 3, balance=0.1)
    dense = anchored.to_sparse()
    check(dense, leastcut.partition(dense, 3, balance=0.1, **FAST), 3, "normalized", 0.1)


def test_the_number_of_clusters_may_be_auto():
    S = sp.csr_array(sp.block_diag([points_graph(40, seed) for seed in range(3)]))
    result = leastcut.partition(S, "auto", "ratio", balance=0.1, **FAST)
    c = int(result.labels.max()) + 1
    check(S, result, c, "ratio", 0.1)


def test_time_limit_callback_and_interrupt_work_with_balance():
    S, seen = points_graph(500), []
    options = {"balance": 0.05, "random_state": 0}
    result = leastcut.partition(S, 5, time_limit=0.1, callback=seen.append, **options)
    check(S, result, 5, "normalized", 0.05)
    assert seen[-1].cut_value >= result.cut_value * (1 - 1e-12)
    result = leastcut.partition(S, 5, time_limit=0.0, **options)
    check(S, result, 5, "normalized", 0.05)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leastcut.partition(S, 5, callback=stop, **options)
    result = leastcut.partition(S, 5, callback=stop, on_interrupt="return", **options)
    check(S, result, 5, "normalized", 0.05)


def test_arguments_are_not_changed():
    S, weights, init = points_graph(80), np.ones(80), np.arange(80) % 2
    before = S.copy(), weights.copy(), init.copy()
    leastcut.partition(S, 2, weights, balance=0.1, init=init, **FAST)
    assert (before[0] != S).nnz == 0
    assert np.array_equal(weights, before[1])
    assert np.array_equal(init, before[2])


@pytest.mark.parametrize("exponent", [-300, -30, 30, 300])
def test_results_do_not_depend_on_units(exponent):
    S = points_graph(120)
    plain = leastcut.partition(S, 4, balance=0.05, **FAST)
    scaled = sp.csr_array((np.ldexp(S.data, exponent), S.indices, S.indptr), shape=S.shape)
    result = leastcut.partition(scaled, 4, balance=0.05, **FAST)
    check(scaled, result, 4, "normalized", 0.05)
    assert result.cut_value == pytest.approx(plain.cut_value, rel=1e-9)


@pytest.mark.parametrize(
    "exponents", [(-20, 0), (0, 20), (40, -40), (-900, 0), (0, 900), (0, -900)]
)
@pytest.mark.parametrize("cut", ["normalized", "array"])
def test_results_do_not_depend_on_units_of_non_integer_weights(cut, exponents):
    """Non-integer weights of edges and nodes, multiplied by powers of two."""
    rng, points = np.random.default_rng(0), points_graph(120)
    S = points.multiply(np.exp(-rng.random(points.shape)))
    S, weights = sp.csr_array(S + S.T), rng.uniform(0.5, 2.0, 120)
    edges, nodes = exponents
    scaled = sp.csr_array((np.ldexp(S.data, edges), S.indices, S.indptr), shape=S.shape)
    cuts = ("normalized",) * 2 if cut == "normalized" else (weights, np.ldexp(weights, nodes))
    result = [
        leastcut.partition(graph, 4, b, balance=0.05, **FAST)
        for graph, b in zip((S, scaled), cuts, strict=True)
    ]
    np.testing.assert_array_equal(result[0].labels, result[1].labels)


# -- errors


BAD = {
    "negative": (-0.1, ValueError, r"balance=-0\.1 must be at least 0"),
    "NaN": (np.nan, ValueError, "balance=nan"),
    "infinite": (np.inf, ValueError, "balance=inf must be finite"),
    "a truth value": (True, TypeError, "balance=True is not a number"),
    "a word": ("0.1", TypeError, "balance='0.1' is not a number"),
    "one of a pair": ((0.1,), ValueError, r"balance=\(0\.1,\).*pair"),
    "three": ((0.1, 0.1, 0.1), ValueError, "pair"),
    "nothing": ((), ValueError, "pair"),
    "more than all": ((1.5, 0.1), ValueError, r"balance\[0\]=1\.5 must be at most 1"),
    "negative in a pair": ((0.1, -1.0), ValueError, r"balance\[1\]=-1\.0"),
    "a word in a pair": ((0.1, "a"), TypeError, r"balance\[1\]='a'"),
    "None in a pair": ((None, 0.1), TypeError, r"balance\[0\]=None"),
    "a truth value in a pair": ((False, 0.1), TypeError, r"balance\[0\]=False"),
}


@pytest.mark.parametrize("kind", BAD)
def test_invalid_values_raise(kind):
    value, error, words = BAD[kind]
    with pytest.raises(error, match=words):
        leastcut.partition(points_graph(20), 2, balance=value)


def test_infeasible_limits_raise_and_suggest_feasible_ones():
    S = 1.0 - np.eye(10)
    with pytest.raises(ValueError, match=r"10 nodes.*3 clusters.*at most 3\b.*balance=0\.2\b"):
        leastcut.partition(S, 3, "ratio", balance=0.1)
    assert leastcut.partition(S, 3, "ratio", balance=0.2, **FAST).labels.max() == 2
    weights = np.ones(10)
    weights[4] = 11.0
    with pytest.raises(ValueError, match=r"node 4 alone weighs 11.*balance=0\.1\b.*fewer clusters"):
        leastcut.partition(S, 2, weights, balance=0.05)
    result = leastcut.partition(S, 2, weights, balance=0.1, **FAST)
    check(S, result, 2, weights, 0.1)
    # Three nodes of weight 2 in two clusters: no node is too heavy, but they do not fit.
    with pytest.raises(ValueError, match=r"2 clusters.*balance=0\.3334"):
        leastcut.partition(1.0 - np.eye(3), 2, [2.0, 2.0, 2.0], balance=0.2)
    with pytest.raises(ValueError, match=r"between.*balance=\(0\.1, 0\.3334\)|balance=\("):
        leastcut.partition(1.0 - np.eye(3), 2, [2.0, 2.0, 2.0], balance=(0.1, 0.2))


@settings(max_examples=draws(60))
@given(st.data())
def test_the_balance_suggested_by_an_error_is_enough(data):
    n, c = data.draw(st.integers(2, 9)), data.draw(st.integers(2, 5))
    assume(c <= n)
    weights = np.array(data.draw(st.lists(st.integers(1, 12), min_size=n, max_size=n)), dtype=float)
    balance = data.draw(BALANCES)
    S = 1.0 - np.eye(n)
    for _ in range(2):
        try:
            result = leastcut.partition(S, c, weights, balance=balance, **FAST)
        except ValueError as error:
            words = str(error).split("balance=")[1]
            # A pair or a number.
            suggested = words[: words.index(")") + 1] if words[0] == "(" else words.split()[0]
            pair = tuple(float(part) for part in suggested.strip("(),.").split(","))
            balance = pair if len(pair) == 2 else pair[0]
        else:
            check(S, result, c, weights, balance)
            return
    pytest.fail(f"balance={balance} was suggested by the error for {weights} in {c} clusters")


# -- the benchmark


def test_the_benchmark_uses_the_same_limits():
    from benchmarks import balance

    S = points_graph(104)
    cases = {case[:3]: case[3:] for case in balance.cases(S)}
    # 104 nodes do not fit into 32 clusters of at most 3 nodes, but into 8 of at most 14.
    assert ("edge cut", 0.03, 32) not in cases
    weights, limit = cases["edge cut", 0.1, 8]
    assert limit == 14
    result = leastcut.partition(S, 8, "ratio", balance=0.1, **FAST)
    judged = balance.judged(S, result.labels, 8, weights, limit)
    problem = as_problem(S, "ratio")
    assert judged["is_balanced"]
    assert 2 * judged["edge cut"] == problem.boundaries(result.labels).sum()
    assert judged["heaviest"] == np.bincount(result.labels).max() / (104 / 8)
    assert not balance.judged(S, np.arange(104) % 7, 8, weights, limit)["is_balanced"]
    row = {
        "game": "edge cut", "graph": "points", "was_looked_at": True, "n_clusters": 8,
        "methods": {"leastcut, fast": judged | {"seconds": 1.0}},
    }  # fmt: skip
    for name, change, balanced in (("KaHIP, ECO", 2, True), ("KaHIP, STRONG", 1, False)):
        changed = {"edge cut": change * judged["edge cut"], "is_balanced": balanced, "seconds": 1.0}
        row["methods"][name] = judged | changed
    summary = balance.summary([row])
    assert summary["games"]["edge cut"]["looked_at"]["over"]["fast over KaHIP"] == 0.5
    assert summary["limit_broken"]["KaHIP, STRONG"] == 1
