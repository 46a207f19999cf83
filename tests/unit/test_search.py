"""The search returns valid partitions, never worse with more effort, determined by the seed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import ROOT, draws, graphs, load_dataset, points_graph
from hypothesis import given, settings
from hypothesis import strategies as st

import leastcut
from leastcut.multilevel.coarsening import COARSENING_RULES
from leastcut.multilevel.efforts import EFFORTS, Progress
from leastcut.multilevel.exact import stirling
from leastcut.multilevel.search import (
    ENUMERATED_NODES,
    ENUMERATED_PARTITIONS,
    THREADED_EDGES,
)
from leastcut.reductions import BLOCK_EDGES
from leastcut.validation import number_by_appearance


@settings(max_examples=draws(20))
@given(
    graphs(min_nodes=12, max_nodes=13),
    st.integers(3, 5),
    st.sampled_from(["ratio", "normalized", "weights"]),
    st.integers(0, 9),
)
def test_partitions_are_valid_and_never_below_the_optimum(S, c, cut, seed):
    cut = np.linspace(0.5, 2.0, len(S)) if cut == "weights" else cut
    optimum = leastcut.exact_partition(S, c, cut).cut_value
    values = []
    for effort in EFFORTS:
        result = leastcut.partition(S, c, cut, effort=effort, random_state=seed)
        assert np.unique(result.labels).tolist() == list(range(c))
        assert result.labels.dtype == np.int64
        assert result.cut_value == leastcut.cut_value(S, result.labels, cut)
        assert result.cut_value >= optimum * (1 - 1e-9)
        assert result.lower_bound <= result.cut_value * (1 + 1e-9)
        assert 0 <= result.gap <= 1
        values.append(result.cut_value)
    assert values == sorted(values, reverse=True)


@settings(max_examples=draws(30))
@given(
    graphs(min_nodes=3, max_nodes=10),
    st.data(),
    st.sampled_from(["ratio", "normalized", "weights"]),
    st.sampled_from([1.0, 1e-3, 1e-6]),
)
def test_enumerated_optima_are_returned_with_every_effort(S, data, cut, edges):
    # With weak edges and heavy self-loops, eigenvectors and merges miss the optimum.
    S = np.where(np.eye(len(S), dtype=bool), 1.0, edges * S)
    c = data.draw(st.integers(2, len(S) - 1))
    assert stirling(len(S), c) <= ENUMERATED_PARTITIONS
    cut = np.linspace(0.5, 2.0, len(S)) if cut == "weights" else cut
    optimum = leastcut.exact_partition(S, c, cut)
    seen: list[Progress] = []
    for effort in EFFORTS:
        rng = np.random.default_rng(5)
        result = leastcut.partition(
            S, c, cut, effort=effort, random_state=rng, callback=seen.append, lower_bound=False
        )
        np.testing.assert_array_equal(result.labels, optimum.labels)
        assert (result.cut_value, result.gap) == (optimum.cut_value, 0.0)
        # The caller's generator advances as in a search.
        other = np.random.default_rng(5)
        leastcut.partition(points_graph(30), 2, effort="fast", random_state=other)
        assert rng.integers(2**40) == other.integers(2**40)
        # A start that is optimal is returned unchanged.
        given_labels = c - 1 - optimum.labels
        again = leastcut.partition(S, c, cut, effort=effort, init=given_labels)
        np.testing.assert_array_equal(again.labels, given_labels)
        assert again.gap == 0.0
    assert [(one.stage, one.fraction) for one in seen] == [(effort, 1.0) for effort in EFFORTS]


def test_enumeration_is_limited_to_small_problems():
    """It takes 2 ms, and longer if there are almost as many clusters as nodes."""
    assert stirling(10, 5) <= ENUMERATED_PARTITIONS < stirling(12, 3)
    S = points_graph(ENUMERATED_NODES + 1)
    result = leastcut.partition(S, ENUMERATED_NODES, lower_bound=False, random_state=0)
    assert result.lower_bound is None


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("n_components", [1, 3, 8])
@pytest.mark.parametrize("c", [2, 5])
def test_labels_are_numbered_by_first_appearance(effort, n_components, c):
    parts = [points_graph(30 + 5 * seed, seed) for seed in range(n_components)]
    S = sp.block_diag(parts, format="csr")
    order = np.random.default_rng(0).permutation(S.shape[0])
    S = sp.csr_array(S[order][:, order])
    result = leastcut.partition(S, c, effort=effort, random_state=0)
    np.testing.assert_array_equal(result.labels, number_by_appearance(result.labels))
    # A start with the same value keeps its labels.
    start = c - 1 - result.labels
    again = leastcut.partition(S, c, effort="fast", init=start, random_state=0)
    if again.cut_value >= result.cut_value * (1 - 1e-9):
        np.testing.assert_array_equal(again.labels, start)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_more_effort_is_never_worse(cut):
    S = points_graph(600)
    for seed in range(2):
        values = [
            leastcut.partition(S, 7, cut, effort=effort, random_state=seed).cut_value
            for effort in EFFORTS
        ]
        assert values == sorted(values, reverse=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("n", "effort", "many"),
    [
        (4000, "balanced", (2, 3)),  # passes in parallel
        (36_000, "fast", (2, 3, -1, None)),  # contractions with several threads
        (36_000, "balanced", (3, 8)),  # both
    ],
)
def test_same_seed_same_labels_on_any_number_of_threads(n, effort, many):
    S = points_graph(n)
    assert (THREADED_EDGES if n == 4000 else 2 * BLOCK_EDGES) <= S.nnz
    alone = leastcut.partition(S, 6, effort=effort, random_state=3, n_jobs=1).labels
    for n_jobs in many:
        result = leastcut.partition(S, 6, effort=effort, random_state=3, n_jobs=n_jobs).labels
        np.testing.assert_array_equal(result, alone)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "many"])
def test_n_jobs_is_validated_on_small_graphs(n_jobs):
    with pytest.raises((ValueError, TypeError), match="n_jobs="):
        leastcut.partition(points_graph(20), 2, n_jobs=n_jobs)


def test_a_search_on_a_small_graph_does_not_import_joblib():
    code = textwrap.dedent(
        """
        import sys, leastcut
        import numpy as np
        S = np.kron(np.eye(15), np.ones((2, 2))) + np.eye(30, k=1) + np.eye(30, k=-1)
        for effort in ("fast", "balanced"):
            leastcut.partition(S, 2, effort=effort, random_state=0)
            print("joblib" in sys.modules)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_every_effort_continues_another_one_or_is_the_first():
    for name, effort in EFFORTS.items():
        *before, last = effort.stages
        assert last == name
        assert tuple(before) == (EFFORTS[before[-1]].stages if before else ())
        assert set(effort.coarsening) <= set(COARSENING_RULES)


def test_random_state_may_be_a_generator():
    S = points_graph(300)
    one = leastcut.partition(S, 4, effort="fast", random_state=np.random.default_rng(5))
    two = leastcut.partition(S, 4, effort="fast", random_state=np.random.default_rng(5))
    np.testing.assert_array_equal(one.labels, two.labels)


@pytest.mark.parametrize("n", [3, 30, 300])
@pytest.mark.parametrize("effort", EFFORTS)
def test_the_callers_generator_advances_equally_in_all_searches(n, effort):
    S = np.ones((n, n)) - np.eye(n)
    passed_on = np.random.default_rng(5)
    leastcut.partition(S, 2, effort=effort, time_limit=0.1, random_state=passed_on)
    # By four words of 32 bits, which later random numbers depend on.
    expected = np.random.default_rng(5)
    expected.bytes(16)
    assert passed_on.bit_generator.state["state"] == expected.bit_generator.state["state"]


def test_permuting_the_nodes_keeps_the_properties():
    S = points_graph(400)
    order = np.random.default_rng(1).permutation(400)
    shuffled = sp.csr_array(S[order][:, order])
    result = leastcut.partition(shuffled, 5, random_state=0)
    back = np.empty(400, dtype=np.int64)
    back[order] = result.labels
    assert leastcut.cut_value(S, back) == pytest.approx(result.cut_value)
    assert result.lower_bound <= result.cut_value


@pytest.mark.parametrize("effort", EFFORTS)
def test_components_are_clusters_of_value_zero(effort):
    S = sp.block_diag([points_graph(40, seed) for seed in range(6)], format="csr")
    result = leastcut.partition(S, 4, effort=effort, random_state=0)
    assert (result.cut_value, result.lower_bound, result.gap) == (0.0, 0.0, 0.0)
    assert np.unique(result.labels).size == 4


def test_fewer_components_than_clusters():
    S = sp.block_diag([points_graph(60, seed) for seed in range(3)], format="csr")
    result = leastcut.partition(S, 5, random_state=0)
    assert np.unique(result.labels).size == 5
    assert 0 < result.lower_bound <= result.cut_value


def test_isolated_nodes_are_components_for_the_ratio_cut():
    S = np.zeros((6, 6))
    S[0, 1] = S[1, 0] = S[2, 3] = S[3, 2] = 1.0
    assert leastcut.partition(S, 3, "ratio").cut_value == 0.0
    assert np.unique(leastcut.partition(S, 5, "ratio").labels).size == 5


def test_extreme_numbers_of_clusters():
    S = points_graph(30)
    one = leastcut.partition(S, 1)
    assert one.cut_value == one.lower_bound == 0.0
    every = leastcut.partition(S, 30)
    assert np.unique(every.labels).size == 30
    assert every.gap == 0.0
    assert np.unique(leastcut.partition(S, 29, random_state=0).labels).size == 29


@settings(max_examples=draws(25))
@given(
    graphs(min_nodes=12, max_nodes=24),
    st.sampled_from([-300, -150, 150, 300]),
    st.booleans(),
    st.sampled_from(["ratio", "normalized"]),
)
def test_huge_and_tiny_weights(S, exponent, mixed, cut):
    if mixed:
        exponents = np.random.default_rng(3).choice([-300.0, 0.0, abs(exponent)], size=S.shape)
        S = S * 10.0 ** (np.triu(exponents) + np.triu(exponents, 1).T)
    else:
        S = S * 10.0**exponent
    result = leastcut.partition(S, 3, cut, random_state=0)
    assert np.unique(result.labels).size == 3
    assert np.isfinite(result.cut_value)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("effort", EFFORTS)
def test_the_result_is_never_worse_than_init(effort):
    S = points_graph(200)
    good = leastcut.partition(S, 5, random_state=1)
    poor = np.arange(200) % 5
    for init in (good.labels, [poor, good.labels], poor):
        result = leastcut.partition(S, 5, effort=effort, init=init, random_state=0)
        given_values = [leastcut.cut_value(S, labels) for labels in np.atleast_2d(init)]
        assert result.cut_value <= min(given_values)


def test_init_with_another_number_of_clusters_raises():
    S = points_graph(50)
    with pytest.raises(ValueError, match=r"init has 2 clusters, but n_clusters=3"):
        leastcut.partition(S, 3, init=np.arange(50) % 2)
    with pytest.raises(ValueError, match=r"init\[1\] has 4 clusters"):
        leastcut.partition(S, 3, init=[np.arange(50) % 3, np.arange(50) % 4])


def test_a_time_limit_of_zero_gives_a_partition():
    S = points_graph(500)
    result = leastcut.partition(S, 5, effort="thorough", time_limit=0, random_state=0)
    assert np.unique(result.labels).size == 5


@pytest.mark.parametrize(("n", "c"), [(2000, 400), (3000, 600)])
@pytest.mark.parametrize("lower_bound", [False, None])
def test_a_time_limit_is_respected_with_many_clusters(n, c, lower_bound):
    """The spectral solution costs more than n c²: 10 to 50 s, compared with 0.03 s for a pass."""
    S, seen = points_graph(n), []
    options = {"time_limit": 0.5, "lower_bound": lower_bound, "callback": seen.append}
    leastcut.partition(S, c, effort="fast", random_state=0)  # compiles
    began = time.monotonic()
    leastcut.partition(S, c, effort="thorough", random_state=0, **options)
    # Ten times the limit, as the machine may be busy.
    assert time.monotonic() - began - max(0.5, seen[0].seconds) < 3.0


def test_the_bound_is_none_without_enough_time():
    S = points_graph(EFFORTS["fast"].bound_nodes)
    result = leastcut.partition(S, 4, time_limit=0, lower_bound=True, random_state=0)
    assert result.lower_bound is None
    # Time is reserved for the bound, though the search would take ten times as long.
    result = leastcut.partition(
        S, 4, effort="thorough", time_limit=2.0, lower_bound=True, random_state=0
    )
    assert result.lower_bound == pytest.approx(leastcut.lower_bound(S, 4))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_limit": -1}, "time_limit=-1"),
        ({"time_limit": "1"}, "time_limit='1' is not a number"),
        ({"time_limit": np.nan}, "time_limit=nan"),
        ({"callback": 5}, "callback=5 cannot be called"),
    ],
)
def test_options_are_validated_before_the_graph(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        leastcut.partition(None, 5, **options)  # None is not a graph


def test_a_time_limit_that_is_not_reached_changes_nothing():
    S = points_graph(100)
    result = [
        leastcut.partition(S, 5, effort="thorough", time_limit=limit, random_state=0).labels
        for limit in (None, 1e9)
    ]
    np.testing.assert_array_equal(*result)


def test_the_callback_receives_decreasing_values():
    S = points_graph(500)
    seen: list[Progress] = []
    result = leastcut.partition(S, 5, effort="thorough", random_state=0, callback=seen.append)
    values = [progress.cut_value for progress in seen]
    assert values == sorted(values, reverse=True)
    assert [progress.seconds for progress in seen] == sorted(progress.seconds for progress in seen)
    assert all(0 <= progress.fraction <= 1 for progress in seen)
    assert list(dict.fromkeys(progress.stage for progress in seen)) == list(EFFORTS)
    assert result.cut_value <= values[-1]


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("n_components", [1, 2, 6])
def test_fractions_are_non_decreasing_and_end_at_one(effort, n_components):
    S = sp.block_diag([points_graph(60, seed) for seed in range(n_components)], format="csr")
    seen: list[Progress] = []
    leastcut.partition(S, 5, effort=effort, random_state=0, callback=seen.append)
    for stage in EFFORTS[effort].stages:
        fractions = [progress.fraction for progress in seen if progress.stage == stage]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0


def test_an_interrupt_raises_or_returns_the_best():
    S = points_graph(500)

    def stop(progress):
        if progress.stage == "balanced":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leastcut.partition(S, 5, random_state=0, callback=stop)
    result = leastcut.partition(S, 5, random_state=0, callback=stop, on_interrupt="return")
    fast = leastcut.partition(S, 5, random_state=0, effort="fast")
    assert result.cut_value <= fast.cut_value


@pytest.mark.slow
def test_an_interrupt_during_the_bound_returns_the_partition():
    """A real signal, sent when the eigenproblem of the bound starts."""
    code = textwrap.dedent(
        """
        import signal, sys
        import leastcut
        from conftest import points_graph
        S, c = points_graph(400), 60

        def interrupt(frame, event, _):
            if event == "call" and frame.f_code.co_name == "relax_graph":
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

        options = {"effort": "fast", "lower_bound": True, "random_state": 0}
        expected = leastcut.partition(S, c, **options)
        for on_interrupt in ("return", "raise"):
            sys.setprofile(interrupt)
            try:
                result = leastcut.partition(S, c, on_interrupt=on_interrupt, **options)
                print((result.labels == expected.labels).all(), result.lower_bound, result.gap)
            except KeyboardInterrupt:
                print("raised")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.splitlines() == ["True None None", "raised"]


@pytest.mark.parametrize("span", [1e3, 1e14, 1e40, 1e200])
def test_the_lower_bound_is_computed_for_weights_of_any_span(span):
    S = points_graph(60)
    weights = np.random.default_rng(0).uniform(0, np.log10(span), S.nnz)
    S.data[:] = 10.0**weights
    S = S.maximum(S.T)
    for effort in EFFORTS:
        result = leastcut.partition(S, 4, effort=effort, random_state=0)
        assert 0.0 <= result.lower_bound <= result.cut_value * (1 + 1e-9)


def test_the_lower_bound_is_computed_if_requested_or_cheap():
    S = points_graph(EFFORTS["fast"].bound_nodes)
    assert leastcut.partition(S, 4, lower_bound=False, random_state=0).lower_bound is None
    assert leastcut.partition(S, 4, effort="fast", random_state=0).lower_bound is not None
    S = points_graph(EFFORTS["fast"].bound_nodes + 1)
    assert leastcut.partition(S, 4, effort="fast", random_state=0).lower_bound is None
    bounded = leastcut.partition(S, 4, effort="fast", lower_bound=True, random_state=0)
    assert bounded.lower_bound == pytest.approx(leastcut.lower_bound(S, 4))


def test_unknown_options_raise():
    S = points_graph(50)
    with pytest.raises(ValueError, match="effort='best' is not known"):
        leastcut.partition(S, 3, effort="best")
    with pytest.raises(ValueError, match="on_interrupt='stop' is not known"):
        leastcut.partition(S, 3, on_interrupt="stop")


def test_the_callers_arrays_are_not_changed():
    S = points_graph(200)
    init = np.arange(200) % 4
    kept = S.copy()
    leastcut.partition(S, 4, init=init, random_state=0)
    np.testing.assert_array_equal(init, np.arange(200) % 4)
    assert (abs(S - kept)).nnz == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["jaffe", "umist", "orl", "yale", "coil20", "msra", "wine", "glass", "segment"]
)
def test_values_are_not_above_any_method_of_the_paper(name):
    X, y = load_dataset(name)
    S = leastcut.adaptive_neighbors_graph(X, n_neighbors=10, include_self=True, offset=1e-6)
    c = int(y.max()) + 1
    for cut in ("ratio", "normalized"):
        result = leastcut.partition(S, c, cut, random_state=0)
        relaxation = leastcut.relax(S, c, cut, random_state=0)
        for method in ("first_order", "improved_rotation", "kmeans", "rotation"):
            labels = leastcut.discretize(relaxation, method, random_state=0).labels
            assert result.cut_value <= leastcut.cut_value(S, labels, cut) * (1 + 1e-9)


def test_the_papers_enumerated_optima():
    X, _ = load_dataset("usps")
    for n in range(11, 16):
        S = leastcut.adaptive_neighbors_graph(X[:n], n_neighbors=10, include_self=True, offset=1e-6)
        for cut in ("ratio", "normalized"):
            optimum = leastcut.exact_partition(S, 2, cut).cut_value
            result = leastcut.partition(S, 2, cut, random_state=0)
            assert result.cut_value == pytest.approx(optimum, rel=1e-9)
