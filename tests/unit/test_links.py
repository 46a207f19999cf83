"""Links: all results satisfy must-link and cannot-link pairs."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws, either, graphs, points_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine
from test_refinement import CUTS, some_cut

import leastcut
from leastcut import feasibility
from leastcut.budget import Budget
from leastcut.constraints import Constraints
from leastcut.feasibility import colored
from leastcut.kernels import containers, exchange, moves
from leastcut.multilevel import refinement, search
from leastcut.multilevel.coarsening import agglomerate, build
from leastcut.multilevel.refinement import State
from leastcut.multilevel.repair import respecting
from leastcut.multilevel.search import partition_problem
from leastcut.problem import as_problem
from leastcut.reductions import reduce, solve_reduced

TINY = 8
EFFORTS = ("fast", "auto", "balanced")


def some_pairs(data, n, most):
    """Draw pairs of different nodes, possibly repeated or reversed."""
    node = st.integers(0, n - 1)
    pairs = data.draw(st.lists(st.tuples(node, node).filter(lambda p: p[0] != p[1]), max_size=most))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def some_links(data, n, c, most):
    """Draw must-link and cannot-link pairs that some partition into c clusters satisfies."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    labels = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])[rng.permutation(n)]
    pairs = np.array(list(itertools.permutations(range(n), 2)))[rng.permutation(n * (n - 1))]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    n_must, n_cannot = (data.draw(st.integers(0, count)) for count in most)
    return pairs[same][:n_must], pairs[~same][:n_cannot]


def with_cannot_links(problem, pairs, c):
    """Return a problem with cannot-link pairs and a coloring for c clusters."""
    constraints = Constraints.of(problem.n_nodes, cannot_link=pairs)
    return replace(problem, constraints=colored(constraints, problem.n_nodes, c))


def all_partitions(n, c):
    """Return all partitions of n nodes into c clusters, numbered by first appearance."""
    grown = [(0,)]
    for _ in range(n - 1):
        grown = [(*labels, k) for labels in grown for k in range(min(max(labels) + 2, c))]
    return (np.array(labels) for labels in grown if max(labels) == c - 1)


def is_kept(labels, must, cannot):
    together = labels[must[:, 0]] == labels[must[:, 1]]
    cannot_link = labels[cannot[:, 0]] != labels[cannot[:, 1]]
    return bool(together.all() and cannot_link.all())


def smallest(problem, c, must, cannot):
    """Return the smallest value of partitions that satisfy the links, or None."""
    result = (labels for labels in all_partitions(problem.n_nodes, c))
    return min((problem.value(k) for k in result if is_kept(k, must, cannot)), default=None)


NONE = np.empty((0, 2), dtype=np.int64)


# -- optima of tiny graphs


@settings(max_examples=draws(60))
@given(st.data())
def test_tiny_graphs_get_the_best_partition_that_satisfies_the_links(data):
    S = data.draw(graphs(min_nodes=2, max_nodes=7))
    n = len(S)
    c, cut = data.draw(st.integers(1, n)), some_cut(data.draw(CUTS), n)
    must, cannot = some_links(data, n, c, (2, 6))
    best = smallest(as_problem(S, cut), c, must, cannot)
    result = leastcut.partition(S, c, cut, must_link=must, cannot_link=cannot, random_state=0)
    assert is_kept(result.labels, must, cannot)
    assert np.unique(result.labels).tolist() == list(range(c))
    assert result.cut_value == leastcut.cut_value(S, result.labels, cut)
    assert result.cut_value == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert result.gap == 0.0


@given(st.data())
def test_links_raise_iff_no_partition_satisfies_them(data):
    n = data.draw(st.integers(2, 6))
    c, S = data.draw(st.integers(1, n)), np.ones((n, n))
    must, cannot = some_pairs(data, n, 3), some_pairs(data, n, 8)
    best = smallest(as_problem(S), c, must, cannot)
    options = {"must_link": must, "cannot_link": cannot, "random_state": 0}
    if not either(best is not None, "allowed", "refused"):
        with pytest.raises(ValueError, match=r"must_link|cannot_link"):
            leastcut.partition(S, c, **options)
    else:
        assert is_kept(leastcut.partition(S, c, **options).labels, must, cannot)


# -- the search, without enumeration


@settings(max_examples=draws(20))
@given(st.data())
def test_the_search_satisfies_the_links_and_is_never_below_the_optimum(data):
    S = data.draw(graphs(min_nodes=4, max_nodes=TINY))
    n = len(S)
    c, cut = data.draw(st.integers(2, n - 1)), some_cut(data.draw(CUTS), n)
    must, cannot = some_links(data, n, c, (2, 6))
    best = smallest(as_problem(S, cut), c, must, cannot)
    values, options = [], {"must_link": must, "cannot_link": cannot, "random_state": 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "ENUMERATED_NODES", 0)
        for effort in EFFORTS[:2]:
            result = leastcut.partition(S, c, cut, effort=effort, lower_bound=True, **options)
            assert is_kept(result.labels, must, cannot)
            assert np.unique(result.labels).tolist() == list(range(c))
            assert result.cut_value >= best * (1 - 1e-9)
            assert result.lower_bound <= best * (1 + 1e-9) + 1e-9
            values.append(result.cut_value)
    assert values[1] <= values[0] * (1 + 1e-12)


DATA = {"iris": load_iris, "wine": load_wine, "digits": load_digits}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("m", [5, 50, 300])
@pytest.mark.parametrize("name", DATA)
def test_links_of_real_classes(name, m):
    """The value is not below that without links, nor above that of a repaired start."""
    X, y = DATA[name](return_X_y=True)
    S, c = leastcut.adaptive_neighbors_graph(X, n_neighbors=10), int(y.max()) + 1
    pairs = np.random.default_rng(m).integers(len(y), size=(m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    must, cannot = pairs[same], pairs[~same]
    options = {"effort": "fast", "random_state": 0}
    free = leastcut.partition(S, c, **options)
    result = leastcut.partition(S, c, cannot_link=cannot, **options)
    assert is_kept(result.labels, NONE, cannot)
    problem = with_cannot_links(as_problem(S), cannot, c)
    repaired = respecting(problem, free.labels, c)
    assert result.cut_value <= problem.value(repaired) * (1 + 1e-9)
    if is_kept(free.labels, NONE, cannot):
        assert result.cut_value <= free.cut_value * (1 + 1e-9)
    both = leastcut.partition(S, c, must_link=must, cannot_link=cannot, **options)
    assert is_kept(both.labels, must, cannot)
    # A start that satisfies the links is used.
    init = leastcut.partition(S, c, must_link=must, cannot_link=cannot, init=y, **options)
    assert init.cut_value <= leastcut.cut_value(S, y)
    assert is_kept(init.labels, must, cannot)


def test_links_that_the_best_partition_satisfies_change_nothing():
    """Links that a result satisfies do not make the result worse, with any effort."""
    S = points_graph(200)
    rng = np.random.default_rng(0)
    for effort in EFFORTS:
        free = leastcut.partition(S, 4, effort=effort, random_state=0)
        pairs = rng.integers(200, size=(60, 2))
        same = free.labels[pairs[:, 0]] == free.labels[pairs[:, 1]]
        result = leastcut.partition(S, 4, effort=effort, cannot_link=pairs[~same], random_state=0)
        assert result.cut_value <= free.cut_value * (1 + 1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("c", [2, 3, 6])
def test_more_effort_is_never_worse_and_threads_change_nothing(c):
    S = points_graph(300)
    rng = np.random.default_rng(c)
    cannot = np.stack([rng.permutation(300)[:15], rng.permutation(300)[:15]], axis=1)
    cannot = cannot[cannot[:, 0] != cannot[:, 1]][: 3 if c == 2 else 15]
    values = []
    for effort in EFFORTS:
        result = [
            leastcut.partition(
                S, c, effort=effort, cannot_link=cannot, random_state=3, n_jobs=n_jobs
            )
            for n_jobs in (1, 2)
        ]
        assert np.array_equal(result[0].labels, result[1].labels)
        assert is_kept(result[0].labels, NONE, cannot)
        values.append(result[0].cut_value)
    assert values == sorted(values, reverse=True)


def test_results_do_not_depend_on_the_order_of_pairs():
    S, rng = points_graph(150), np.random.default_rng(0)
    must, cannot = np.arange(20).reshape(-1, 2), 20 + np.arange(40).reshape(-1, 2)
    options = {"effort": "fast", "random_state": 0}
    first = leastcut.partition(S, 4, must_link=must, cannot_link=cannot, **options)
    mixed = [np.tile(pairs, (2, 1))[rng.permutation(2 * len(pairs))] for pairs in (must, cannot)]
    mixed[1][::2] = mixed[1][::2, ::-1]
    before = [pairs.copy() for pairs in mixed]
    second = leastcut.partition(S, 4, must_link=mixed[0], cannot_link=mixed[1], **options)
    assert np.array_equal(first.labels, second.labels)
    assert all(np.array_equal(*both) for both in zip(mixed, before, strict=True))


def test_empty_pairs_are_no_links():
    S = points_graph(150)
    plain = leastcut.partition(S, 3, effort="fast", random_state=0)
    for none in ([], np.empty((0, 2), dtype=int)):
        same = leastcut.partition(
            S, 3, effort="fast", must_link=none, cannot_link=none, random_state=0
        )
        assert np.array_equal(plain.labels, same.labels)
    itself = leastcut.partition(S, 3, effort="fast", must_link=[(4, 4)], random_state=0)
    assert np.array_equal(plain.labels, itself.labels)


def test_cannot_links_can_split_a_component():
    """A cannot-link in one of three components makes the uncut partition infeasible."""
    S = sp.block_diag([np.ones((6, 6))] * 4).tocsr()
    for cannot, value in (([(0, 6)], 0.0), ([(0, 1)], None)):
        result = leastcut.partition(S, 3, cannot_link=cannot, random_state=0)
        assert is_kept(result.labels, NONE, np.array(cannot))
        assert result.cut_value == 0.0 if value == 0.0 else result.cut_value > 0.0


def test_time_limit_callback_and_interrupt_work_with_links():
    S = points_graph(500)
    cannot = np.random.default_rng(0).integers(500, size=(20, 2))
    seen = []
    options = {"cannot_link": cannot, "must_link": [(1, 2)], "random_state": 0}
    began = time.monotonic()
    result = leastcut.partition(S, 5, time_limit=0.2, callback=seen.append, **options)
    assert time.monotonic() - began < 5.0
    assert is_kept(result.labels, np.array([(1, 2)]), cannot)
    assert seen[-1].cut_value >= result.cut_value * (1 - 1e-12)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leastcut.partition(S, 5, callback=stop, **options)
    result = leastcut.partition(S, 5, callback=stop, on_interrupt="return", **options)
    assert is_kept(result.labels, np.array([(1, 2)]), cannot)


def test_an_interrupt_in_the_unconstrained_search_returns_a_repaired_partition(monkeypatch):
    problem = as_problem(points_graph(200))
    cannot = np.random.default_rng(0).integers(200, size=(20, 2))
    problem, run = with_cannot_links(problem, cannot, 4), search._run

    def interrupted(*arguments):
        run(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "_run", interrupted)
    options = {"effort": "fast", "random_state": 0}
    with pytest.raises(KeyboardInterrupt):
        partition_problem(problem, 4, **options)
    result = partition_problem(problem, 4, budget=Budget(on_interrupt="return"), **options)
    assert is_kept(result.labels, NONE, cannot)


# -- must_link is contraction


@given(st.data())
def test_the_bound_holds_with_links_and_is_not_below_that_without(data):
    S = data.draw(graphs(min_nodes=4, max_nodes=TINY))
    n, cut = len(S), some_cut(data.draw(CUTS), len(S))
    must, _ = some_links(data, n, 2, (2, 0))
    best = smallest(as_problem(S, cut), 2, must, NONE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "ENUMERATED_NODES", 0)
        options = {"effort": "fast", "lower_bound": True, "random_state": 0}
        free = leastcut.partition(S, 2, cut, **options)
        linked = leastcut.partition(S, 2, cut, must_link=must, **options)
    assert linked.lower_bound >= free.lower_bound - 1e-9
    assert linked.lower_bound <= best * (1 + 1e-9) + 1e-9
    assert linked.cut_value >= best * (1 - 1e-9)


def test_a_start_that_is_not_improved_is_returned_unchanged():
    S = points_graph(120)
    best = leastcut.partition(S, 3, random_state=0)
    renamed = np.array([7, 3, 5])[best.labels]
    i, j = np.flatnonzero(best.labels == 0)[:2]
    result = leastcut.partition(S, 3, init=renamed, must_link=[(i, j)], random_state=0)
    expected = np.unique(renamed, return_inverse=True)[1]
    assert np.array_equal(result.labels, expected)


# -- kernels


def state_with_pairs(data):
    """Draw a problem with cannot-links, labels that satisfy them, and the number of clusters."""
    S = data.draw(graphs(min_nodes=5, max_nodes=12))
    n = len(S)
    c, cut = data.draw(st.integers(2, 4)), some_cut(data.draw(CUTS), n)
    _, pairs = some_links(data, n, c, (0, 8))
    if len(pairs) == 0:
        pairs = np.array([(0, n - 1)])
    problem = with_cannot_links(as_problem(S, cut).within_range(), pairs, c)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    labels = respecting(problem, rng.integers(c, size=n), c)
    return problem, labels, c


@given(st.data())
def test_moves_and_exchanges_satisfy_cannot_links_and_report_their_gain(data):
    problem, labels, c = state_with_pairs(data)
    for act in (
        lambda state: state.local_search(),
        lambda state: state.fm_search(np.arange(problem.n_nodes, dtype=np.int32), 10, 10**6),
        lambda state: state.exchange(10**6),
        lambda state: state.finish(),
    ):
        state = State(problem, labels.copy(), c)
        before = state.value
        act(state)
        reported = before - state.value
        assert problem.cannot_link.violated(state.labels).size == 0
        assert reported >= -1e-12 * before
        assert reported == pytest.approx(before - state.measure(), abs=1e-11 * before)
        assert state.count.min() >= 1
        assert not state.scratch[0].any()


@given(st.data())
def test_compiled_and_interpreted_exchanges_agree(data):
    problem, labels, c = state_with_pairs(data)
    compiled = State(problem, labels.copy(), c)
    compiled.local_search()
    compiled.exchange(10**6)
    with pytest.MonkeyPatch.context() as patch:
        for module in (moves, exchange, containers, refinement):
            for name, result in list(vars(module).items()):
                if hasattr(result, "py_func"):
                    patch.setattr(module, name, result.py_func)
        interpreted = State(problem, labels.copy(), c)
        interpreted.local_search()
        interpreted.exchange(10**6)
    np.testing.assert_array_equal(compiled.labels, interpreted.labels)
    np.testing.assert_array_equal(compiled.boundary, interpreted.boundary)
    assert compiled.value == interpreted.value


@given(st.data())
def test_levels_never_aggregate_a_pair_and_keep_the_coloring(data):
    problem, labels, c = state_with_pairs(data)
    rng = np.random.default_rng(0)
    for steps in (
        build(problem, rng, 2),
        build(problem, rng, 2, labels),
        agglomerate(problem, c),
    ):
        parent = np.arange(problem.n_nodes)
        for step in steps:
            parent = step.parent[parent]
            assert problem.cannot_link.violated(parent).size == 0
            coarse = step.problem.cannot_link
            expected = {tuple(sorted(pair)) for pair in parent[problem.cannot_link.pairs].tolist()}
            assert {tuple(pair) for pair in coarse.pairs.tolist()} == expected
            if coarse.coloring is not None:
                assert coarse.violated(coarse.coloring).size == 0
    for step in build(problem, rng, 2):
        assert step.problem.cannot_link.coloring is not None


@given(st.data())
def test_a_repair_satisfies_pairs_and_keeps_allowed_labels(data):
    problem, labels, c = state_with_pairs(data)
    assert problem.cannot_link.violated(labels).size == 0
    assert np.unique(labels).tolist() == list(range(c))
    assert np.array_equal(respecting(problem, labels, c), labels)


# -- coloring


def odd_wheel():
    """Return a hub and a ring of five: four colors are needed without a clique of four."""
    ring = [(i, (i + 1) % 5) for i in range(5)]
    return ring + [(i, 5) for i in range(5)]


def test_a_long_coloring_search_raises(monkeypatch):
    monkeypatch.setattr(feasibility, "MOST_STEPS", 3)
    with pytest.raises(ValueError, match=r"could not be decided .* \(4 are enough\)"):
        leastcut.partition(points_graph(30), 3, cannot_link=odd_wheel())


def test_a_start_proves_feasibility(monkeypatch):
    monkeypatch.setattr(feasibility, "MOST_STEPS", 3)
    S, init = points_graph(30), np.arange(30) % 3
    cannot = np.array([(i, j) for i, j in itertools.combinations(range(9), 2) if (i - j) % 3])
    with pytest.raises(ValueError, match=r"could not be decided .* pass as init"):
        leastcut.partition(S, 3, cannot_link=cannot)
    result = leastcut.partition(S, 3, cannot_link=cannot, init=init, random_state=0)
    assert is_kept(result.labels, NONE, cannot)
    assert result.cut_value <= leastcut.cut_value(S, init)


# -- contradictions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cannot_link": [(1, 2), (3, 3)]}, r"cannot_link\[1\] is \(3, 3\)"),
        ({"cannot_link": [(0, 30)]}, r"cannot_link\[0\] is \(0, 30\), but .* from 0 to 29"),
        ({"must_link": [(-1, 3)]}, r"must_link\[0\] is \(-1, 3\)"),
        ({"must_link": [(1, 2)], "cannot_link": [(2, 1)]}, "separates nodes 2 and 1, .*: 2 - 1"),
        (
            {"must_link": [(1, 2), (5, 2), (5, 9)], "cannot_link": [(1, 9)]},
            "separates nodes 1 and 9, but must_link joins them: 1 - 2 - 5 - 9",
        ),
        (
            {"must_link": [(i, 0) for i in range(1, 29)]},
            "n_clusters=3 is too large: the must_link pairs leave 2 groups",
        ),
        (
            {"cannot_link": list(itertools.combinations(range(4), 2))},
            r"n_clusters=3 is too small: .* pairs .*\(0, 1\).* separate 4 nodes from each other",
        ),
        ({"cannot_link": odd_wheel()}, r"3 clusters cannot separate all .* \(4 are enough\)"),
        ({"must_link": [1, 2]}, r"must_link must .* shape \(m, 2\)"),
        ({"must_link": [(0, 1), (1, 2, 3)]}, "must_link cannot be converted to an array"),
        ({"must_link": [(0.0, 1.0)]}, "must_link must contain node numbers"),
        ({"must_link": [(True, False)]}, "must_link must contain node numbers"),
        ({"cannot_link": np.ma.masked_equal([(0, 1), (2, 3)], 3)}, "cannot_link is a masked"),
        (
            {"must_link": [(0, 1)], "init": np.arange(30) % 3},
            "init has nodes 0 and 1 in different clusters, which must_link forbids",
        ),
        (
            {"cannot_link": [(0, 1), (2, 5), (3, 6)], "init": [np.arange(30) % 3]},
            r"init\[0\] has nodes 2 and 5 in one cluster, .* first of 2",
        ),
    ],
)
def test_contradictions_raise_before_any_work(options, message, monkeypatch):
    S = points_graph(30)

    def work(*_, **__):
        raise AssertionError("the search was started before the error")

    monkeypatch.setattr("leastcut.multilevel.partition.partition_problem", work)
    monkeypatch.setattr("leastcut.reductions.contracted_by_labels", work)
    with pytest.raises((TypeError, ValueError), match=message):
        leastcut.partition(S, 3, **options)


def test_groups_are_the_clusters_if_there_are_as_many():
    must = [(i, 0) for i in range(28)]
    result = leastcut.partition(points_graph(30), 3, must_link=must, random_state=0)
    assert np.array_equal(result.labels, [0] * 28 + [1, 2])


def test_reducing_an_infeasible_problem_raises():
    problem = as_problem(points_graph(30), cannot_link=[(0, 1)])
    with pytest.raises(ValueError, match="n_clusters=1 is too small: the cannot_link pairs"):
        reduce(problem, 1)
    result = solve_reduced(
        problem, 30, lambda reduced: partition_problem(reduced.problem, reduced.n_clusters)
    )
    assert np.array_equal(result.labels, np.arange(30))


def test_two_clusters_imply_more_links():
    """The ends of a chain with an even number of pairs are together."""
    S = points_graph(60)
    chain = [(i, i + 1) for i in range(10)]
    result = leastcut.partition(S, 2, cannot_link=chain, random_state=0)
    assert np.array_equal(result.labels[:11] == result.labels[0], np.arange(11) % 2 == 0)
    with pytest.raises(ValueError, match=r"n_clusters=2"):
        leastcut.partition(S, 2, cannot_link=[*chain, (10, 0)])


# -- the estimator


def linked_blobs(blobs, m=40):
    X, _ = blobs
    pairs = np.random.default_rng(0).integers(len(X), size=(m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    other = np.random.default_rng(1).permutation(len(X)) % 3  # unrelated to the graph
    same = other[pairs[:, 0]] == other[pairs[:, 1]]
    return X, pairs[same], pairs[~same]


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_the_estimator_satisfies_links(blobs, cut):
    X, must, cannot = linked_blobs(blobs)
    model = leastcut.SpectralClustering(3, cut=cut, random_state=0)
    free = model.fit(X).cut_value_
    labels = model.fit_predict(X, must_link=must, cannot_link=cannot)
    assert is_kept(labels, must, cannot)
    assert model.cut_value_ == leastcut.cut_value(model.affinity_matrix_, labels, cut)
    assert model.lower_bound_ <= free <= model.cut_value_
    assert model.embedding_.shape == (len(X), 3)
    assert model.predict(X).shape == labels.shape
    # A fit without links does not use those of an earlier fit.
    assert model.fit(X).cut_value_ == free


def test_the_spectral_solver_supports_must_link_only(blobs):
    X, must, cannot = linked_blobs(blobs)
    model = leastcut.SpectralClustering(3, solver="spectral", random_state=0)
    assert is_kept(model.fit_predict(X, must_link=must), must, NONE)
    assert model.embedding_.shape == (len(X), 3)
    with pytest.raises(ValueError, match="cannot_link needs the multilevel solver"):
        model.fit(X, cannot_link=cannot)


def test_the_automatic_number_ignores_links_and_must_be_feasible(blobs):
    X, must, _ = linked_blobs(blobs)
    for solver in ("multilevel", "spectral"):
        model = leastcut.SpectralClustering("auto", solver=solver, random_state=0)
        labels = model.fit_predict(X, must_link=must)
        assert model.n_clusters_ == leastcut.SpectralClustering("auto").fit(X).n_clusters_ == 3
        assert is_kept(labels, must, NONE)
        assert model.cut_path_.cut_values[2] <= model.cut_value_ * (1 + 1e-9)
    everybody = list(itertools.combinations(range(5), 2))
    with pytest.raises(ValueError, match="n_clusters=3 is too small: the cannot_link pairs"):
        leastcut.SpectralClustering("auto", random_state=0).fit(X, cannot_link=everybody)


def test_the_estimator_raises_on_contradictions_before_computing_a_graph(blobs, monkeypatch):
    X, _ = blobs
    model = leastcut.SpectralClustering(3, affinity=lambda *_: pytest.fail("there was work"))
    for options, message in (
        ({"must_link": [(0, 90)]}, r"must_link\[0\] is \(0, 90\)"),
        ({"cannot_link": [(2, 2)]}, r"\(2, 2\)"),
        ({"must_link": [(0, 1)], "cannot_link": [(0, 1)]}, "0 - 1"),
        ({"cannot_link": list(itertools.combinations(range(4), 2))}, "separate 4 nodes"),
        ({"must_link": [(0, i) for i in range(89)]}, "leave 2 groups"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, **options)


@pytest.mark.filterwarnings("ignore:.*no edges:UserWarning")
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_isolated_samples_satisfy_links(cut):
    S = np.zeros((15, 15))
    S[:12, :12] = np.kron(np.eye(3), np.ones((4, 4))) + 0.1
    np.fill_diagonal(S, 0.0)
    model = leastcut.SpectralClustering(3, cut=cut, affinity="precomputed", random_state=0)
    must, cannot = np.array([(12, 0), (13, 14)]), np.array([(13, 0), (13, 4), (12, 5)])
    labels = model.fit_predict(S, must_link=must, cannot_link=cannot)
    assert is_kept(labels, must, cannot)
    assert labels.max() == 2
    few = model.set_params(n_clusters=13).fit_predict(S, must_link=must, cannot_link=cannot)
    assert is_kept(few, must, cannot)
    assert few.max() == 12
    model.set_params(n_clusters=3)
    # No cluster of the others is possible for it, so these have to change.
    cannot = np.array([(12, 0), (12, 4), (12, 8)])
    assert is_kept(model.fit_predict(S, cannot_link=cannot), NONE, cannot)
