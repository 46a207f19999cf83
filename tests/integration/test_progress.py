"""Callbacks, progress bars, and the message about compilation."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from conftest import draws, graphs, knn_graph, points_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import leastcut
from leastcut import progress
from leastcut.bounds.certify import certify_problem
from leastcut.budget import Budget
from leastcut.kernels import compile_time
from leastcut.multilevel.path_search import PathProgress
from leastcut.problem import as_problem

S = points_graph(500)
X, _ = make_blobs(60, centers=3, cluster_std=2.0, random_state=1)
SMALL = knn_graph(X)
LABELS = np.arange(60) % 3


@pytest.fixture(autouse=True)
def reset_watching(monkeypatch):
    """Undo the effect of a fit with ``verbose=True`` in another test."""
    monkeypatch.setattr(progress, "_watching", 0)


def stop_at(number, answer=True):
    """Return a callback that returns ``answer`` from its ``number``-th call on."""
    received = []

    def callback(progress):
        received.append(progress)
        return answer if len(received) >= number else None

    callback.received = received
    return callback


# -- stopping a search


@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_stopped_search_returns_its_best_partition(number):
    stop = stop_at(number)
    result = leastcut.partition(S, 5, effort="thorough", random_state=0, callback=stop)
    assert len(stop.received) == number
    assert result.cut_value == pytest.approx(stop.received[-1].cut_value, rel=1e-12)
    assert result.cut_value == leastcut.cut_value(S, result.labels)
    # A search stopped at the same point has the same result, on any number of threads.
    for n_jobs in (1, 2):
        again = leastcut.partition(
            S, 5, effort="thorough", random_state=0, callback=stop_at(number), n_jobs=n_jobs
        )
        np.testing.assert_array_equal(again.labels, result.labels)


def test_a_search_that_is_stopped_later_is_never_worse():
    values = [
        leastcut.partition(S, 5, random_state=0, callback=stop_at(number)).cut_value
        for number in (1, 2, 4, 8)
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] >= leastcut.partition(S, 5, random_state=0).cut_value


@pytest.mark.parametrize("answer", [1, "yes", [0], np.ones(3), 1.0, object(), None, False])
def test_truthy_values_other_than_true_do_not_stop_a_search(answer):
    callback = stop_at(1, answer)
    options = {"effort": "auto", "random_state": 0}
    result = leastcut.partition(S, 5, callback=callback, **options)
    np.testing.assert_array_equal(result.labels, leastcut.partition(S, 5, **options).labels)
    assert callback.received[-1].stage == "auto"


def test_true_of_numpy_stops_a_search():
    stop = stop_at(1, np.True_)
    leastcut.partition(S, 5, random_state=0, callback=stop)
    assert len(stop.received) == 1


def test_a_stopped_search_computes_no_bound():
    options = {"random_state": 0, "lower_bound": True}
    assert leastcut.partition(S, 5, callback=stop_at(1), **options).lower_bound is None
    assert leastcut.partition(S, 5, callback=stop_at(10**9), **options).lower_bound is not None


def test_a_search_with_links_stopped_at_once_respects_them():
    cannot = np.random.default_rng(0).integers(500, size=(20, 2))
    stop = stop_at(1)
    options = {"cannot_link": cannot, "random_state": 0, "callback": stop}
    result = leastcut.partition(S, 5, **options)
    assert stop.received[0].cut_value == np.inf
    assert (result.labels[cannot[:, 0]] != result.labels[cannot[:, 1]]).all()
    assert len(stop.received) == 1


def test_a_search_in_a_background_thread_can_be_stopped(monkeypatch):
    from leastcut.multilevel import search, stages

    monkeypatch.setattr(search, "LONG_EDGES", 100)
    monkeypatch.setattr(stages, "HUGE_NODES", 100)
    monkeypatch.setattr(stages, "SEARCHED_NODES", 80)
    main, threads = threading.get_ident(), set()

    def callback(received):
        threads.add(threading.get_ident())
        return received.stage == "auto"

    result = leastcut.partition(S, 5, effort="thorough", random_state=0, callback=callback)
    assert threads == {main}
    assert np.unique(result.labels).size == 5


def test_a_tight_bound_reports_progress_and_can_be_stopped():
    received = []
    result = leastcut.partition(
        SMALL, 3, lower_bound="tight", random_state=0, callback=received.append
    )
    assert received[-1].stage == "tight"
    assert received[-1].fraction == 1.0
    assert result.gap < 1e-6

    def stop(progress):
        return progress.stage == "tight"

    rough = leastcut.partition(SMALL, 3, lower_bound="tight", random_state=0, callback=stop)
    assert rough.lower_bound <= result.cut_value
    first = leastcut.partition(SMALL, 3, lower_bound="tight", random_state=0, callback=stop_at(1))
    assert first.lower_bound is None


# -- stopping a proof


@settings(max_examples=draws(25))
@given(graphs(min_nodes=5, max_nodes=9, connected=True), st.integers(1, 6), st.integers(2, 3))
def test_the_bound_of_a_stopped_proof_is_valid(graph, number, c):
    problem = as_problem(graph, "ratio")
    optimum = leastcut.exact_partition(graph, c, "ratio").cut_value
    labels = np.arange(len(graph)) % c
    result = leastcut.Partition(labels, problem.value(labels))
    stopped = certify_problem(problem, c, result, budget=Budget(callback=stop_at(number)))
    assert stopped.lower_bound <= optimum * (1 + 1e-9)
    assert stopped.cut_value >= optimum * (1 - 1e-9)


def test_a_proof_returns_the_bound_that_it_reported():
    full = leastcut.certify(SMALL, LABELS, random_state=0)
    lengths = set()
    for number in (1, 4, 6, 8, 12):
        stop = stop_at(number)
        result = leastcut.certify(SMALL, LABELS, random_state=0, callback=stop)
        assert result.lower_bound == stop.received[-1].lower_bound
        assert result.cut_value == stop.received[-1].cut_value
        assert result.lower_bound <= full.cut_value * (1 + 1e-9)
        again = leastcut.certify(SMALL, LABELS, random_state=0, callback=stop_at(number))
        assert again.lower_bound == result.lower_bound
        np.testing.assert_array_equal(again.labels, result.labels)
        lengths.add(len(stop.received))
    assert len(lengths) > 2


def test_certify_of_an_estimator_can_be_stopped():
    model = leastcut.SpectralClustering(3, random_state=0).fit(X)
    before = model.cut_value_
    stop = stop_at(2)
    result = model.certify(callback=stop)
    assert len(stop.received) == 2
    assert model.lower_bound_ == result.lower_bound <= result.cut_value <= before
    assert model.certify().lower_bound >= result.lower_bound


def test_a_stopped_exact_partition_raises():
    with pytest.raises(RuntimeError, match=r"was stopped by callback.*has a gap of") as caught:
        leastcut.exact_partition(SMALL, 3, callback=stop_at(1))
    assert "certify" in str(caught.value)
    received = []
    best = leastcut.exact_partition(SMALL, 3, callback=received.append)
    assert best.gap < 1e-6
    assert received[-1].n_open == 0


# -- stopping a path


def test_a_path_reports_its_progress():
    received = []
    leastcut.cut_path(X, range(1, 9), effort="auto", random_state=0, callback=received.append)
    assert list(dict.fromkeys(one.stage for one in received)) == ["fast", "auto"]
    for stage in ("fast", "auto"):
        fractions = [one.fraction for one in received if one.stage == stage]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0
    assert [one.seconds for one in received] == sorted(one.seconds for one in received)
    assert isinstance(received[0], PathProgress)
    for k in range(1, 9):
        values = [one.cut_value for one in received if one.n_clusters == k]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("number", [1, 4, 9, 15])
def test_a_stopped_path_has_every_number_and_is_monotone(number):
    options = {"affinity": "precomputed", "effort": "balanced", "random_state": 0}
    stop = stop_at(number)
    path = leastcut.cut_path(S, range(2, 10), callback=stop, **options)
    assert len(stop.received) == number
    assert list(path) == list(range(2, 10))
    for k, labels in zip(path, path.labels, strict=True):
        assert np.unique(labels).size == k
    assert all(low <= high * (1 + 1e-12) for low, high in pairwise(path.cut_values))
    assert (path.lower_bounds <= path.cut_values).all()
    again = leastcut.cut_path(S, range(2, 10), callback=stop_at(number), **options)
    np.testing.assert_array_equal(again.labels, path.labels)


def test_a_callback_does_not_change_a_path():
    options = {"affinity": "precomputed", "effort": "auto", "random_state": 0}
    path = leastcut.cut_path(S, [2, 3, 7], callback=lambda _: None, **options)
    np.testing.assert_array_equal(path.labels, leastcut.cut_path(S, [2, 3, 7], **options).labels)


def test_graph_functions_ignore_the_result_of_a_callback():
    stop = stop_at(1)
    graph = leastcut.nearest_neighbors_graph(X, callback=stop)
    assert (graph != leastcut.nearest_neighbors_graph(X)).nnz == 0
    assert len(stop.received) == 1


# -- validation


FUNCTIONS = {
    "partition": lambda callback: leastcut.partition(SMALL, 3, callback=callback),
    "certify": lambda callback: leastcut.certify(SMALL, LABELS, callback=callback),
    "exact_partition": lambda callback: leastcut.exact_partition(SMALL, 3, callback=callback),
    "cut_path": lambda callback: leastcut.cut_path(X, [2, 3], callback=callback),
    "estimator": lambda callback: (
        leastcut.SpectralClustering(3, random_state=0).fit(X).certify(callback=callback)
    ),
}


@pytest.mark.parametrize("function_name", FUNCTIONS)
@pytest.mark.parametrize("callback", ["bar", "TQDM", 5, True, ["tqdm"]])
def test_invalid_callbacks_are_rejected(function_name, callback):
    with pytest.raises(TypeError, match=r"callback=.* cannot be called; pass a function"):
        FUNCTIONS[function_name](callback)


# -- estimates


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(0, 1), st.floats(0, 20)), min_size=1, max_size=30
    ),
    st.one_of(st.none(), st.floats(0.1, 100)),
)
def test_a_bar_never_decreases_and_is_full_only_at_the_end(steps, limit):
    stages = ("fast", "auto", "balanced", "thorough")
    estimate = progress.TimeEstimate(stages, progress.SEARCH_STAGES, limit)
    seconds, done = 0.0, 0.0
    fractions = dict.fromkeys(stages, 0.0)
    for number, fraction, more in sorted(steps, key=lambda step: step[0]):
        stage = stages[number]
        seconds += more
        fractions[stage] = max(fractions[stage], fraction)
        shown = estimate(leastcut.Progress(stage, fractions[stage], 0.5, seconds))
        assert done <= shown.done <= 1.0
        assert shown.left >= 0.0
        is_over = stage == "thorough" and fractions[stage] == 1.0
        assert (shown.done == 1.0) == is_over or done == 1.0
        done = shown.done
        if limit is not None:
            assert shown.left <= max(0.0, limit - seconds)


def test_the_time_left_is_exact_for_a_constant_pace():
    estimate = progress.TimeEstimate(("fast",), progress.SEARCH_STAGES)
    for percent in range(10, 101, 10):
        shown = estimate(leastcut.Progress("fast", percent / 100, 1.0, 0.2 * percent))
        assert shown.left == pytest.approx(20.0 - 0.2 * percent, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.5, 2.0))
def test_the_bar_of_a_proof_follows_its_bound(bounds, value):
    reading, done = progress.ProofReading(10.0), 0.0
    for seconds, bound in enumerate(sorted(min(bound, value) for bound in bounds)):
        n_open = int(bound < value)
        shown = reading(leastcut.ProofProgress(bound, value, n_open, float(seconds)))
        assert done <= shown.done
        assert (shown.done == 1.0) == (n_open == 0)
        done = shown.done


# -- bars


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch) -> Terminal:
    """Make the standard error a terminal, and show bars without delay."""
    pytest.importorskip("tqdm")
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.0)
    return made


def test_a_bar_is_shown_and_does_not_change_the_result(monkeypatch, capsys):
    seen, options = terminal(monkeypatch), {"effort": "auto", "random_state": 0}
    result = leastcut.partition(S, 5, callback="tqdm", **options)
    np.testing.assert_array_equal(result.labels, leastcut.partition(S, 5, **options).labels)
    output = seen.getvalue()
    assert "partition:" in output
    assert "100%" in output
    assert f"cut value {result.cut_value:.4g}" in output
    assert "left" in output
    assert output.endswith("\n")
    assert capsys.readouterr().out == ""
    assert not progress.is_watched()


@pytest.mark.parametrize("function_name", FUNCTIONS)
def test_every_function_has_a_bar(function_name, monkeypatch):
    seen = terminal(monkeypatch)
    FUNCTIONS[function_name]("tqdm")
    title = "certify" if function_name == "estimator" else function_name
    assert f"{title}: 100%" in seen.getvalue()
    assert not progress.is_watched()


def test_short_computations_show_no_bar(monkeypatch):
    pytest.importorskip("tqdm")
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "DELAY", 1000.0)
        leastcut.partition(S, 5, effort="auto", random_state=0, callback="tqdm")
        assert stream.getvalue() == ""


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_bar_is_closed_by_errors(error, monkeypatch):
    terminal(monkeypatch)

    class Broken:
        def __call__(self, received):
            raise error

    tqdm = pytest.importorskip("tqdm").tqdm
    budget = Budget(callback="tqdm")
    with pytest.raises(error), budget.shown("work", Broken):
        budget.report(None)
    assert not progress.is_watched()
    assert not list(getattr(tqdm, "_instances", ()))


@pytest.mark.parametrize("is_closed", [False, True])
def test_progress_works_without_standard_streams(is_closed, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed if is_closed else None)
    compile_time.report_compiling()
    result = leastcut.partition(S, 5, effort="fast", random_state=0, callback="tqdm")
    assert np.unique(result.labels).size == 5
    progress.write_line("this line is not written")


def test_bars_in_several_threads(monkeypatch):
    terminal(monkeypatch)

    def one(seed):
        return leastcut.partition(S, 5, effort="fast", random_state=seed, callback="tqdm").labels

    with ThreadPoolExecutor(3) as pool:
        result = list(pool.map(one, range(6)))
    for seed, labels in enumerate(result):
        alone = leastcut.partition(S, 5, effort="fast", random_state=seed).labels
        np.testing.assert_array_equal(labels, alone)
    assert not progress.is_watched()


def test_a_log_gets_lines_without_control_characters(monkeypatch):
    pytest.importorskip("tqdm")
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    leastcut.partition(S, 5, effort="auto", random_state=0, callback="tqdm")
    assert "\r" not in log.getvalue()
    assert len(log.getvalue().splitlines()) >= 2
    assert all(line.startswith("partition:") for line in log.getvalue().splitlines())


def test_without_tqdm_lines_and_one_install_command_are_written(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_written", set())
    for _ in range(2):
        leastcut.partition(S, 5, effort="auto", random_state=0, callback="tqdm")
    lines = stream.getvalue()
    assert lines.count("pip install 'leastcut[progress]'") == 1
    assert lines.count("partition: 100%") >= 2


def test_verbose_shows_a_bar(capsys, monkeypatch):
    seen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "_watching", 0)
    model = leastcut.SpectralClustering(3, verbose=True, random_state=0).fit(X)
    assert "SpectralClustering: 100%" in seen.getvalue()
    assert f"cut value {model.cut_value_:.6g}" in capsys.readouterr().out
    silent = leastcut.SpectralClustering(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, silent.labels_)
    assert model.n_iter_ == silent.n_iter_


# -- compiling


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(compile_time, "monotonic", made)
    return made


def test_long_compilation_is_reported_once(clock, monkeypatch):
    lines = []
    monkeypatch.setattr(compile_time, "report_compiling", lambda: lines.append(clock.now))
    watch = compile_time.CompileTime()
    # Nested compilations count once, and the time between them does not count.
    for _ in range(5):
        watch.begin()
        clock.now += 0.3
        watch.begin()
        clock.now += 0.1
        watch.end()
        watch.end()
        clock.now += 50.0
    assert len(lines) == 1
    short = compile_time.CompileTime()
    for _ in range(10):
        short.begin()
        clock.now += 0.05
        short.end()
    assert len(lines) == 1


def test_compilation_is_reported_in_interactive_sessions_and_logs(monkeypatch, caplog):
    assert not hasattr(sys, "ps1")
    for stream, is_watched, is_reported in (
        (Terminal(), False, True),
        (io.StringIO(), False, False),
        (io.StringIO(), True, True),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "_watching", int(is_watched))
        compile_time.report_compiling()
        assert stream.getvalue() == (compile_time.LINE + "\n" if is_reported else "")
    # With a handler of the logger, the message is logged instead.
    with caplog.at_level(logging.INFO, logger="leastcut"):
        monkeypatch.setattr(sys, "stderr", Terminal())
        compile_time.report_compiling()
        assert sys.stderr.getvalue() == ""
    assert compile_time.LINE in caplog.messages


CALL = """
import sys
sys.ps1 = ">>> "
import numpy as np, leastcut
from leastcut.kernels import compile_time
compile_time.REPORT_AFTER = 0.0
S = np.kron(np.eye(3), np.ones((4, 4))) + 0.1
relaxation = leastcut.relax(S, 3, random_state=0)
leastcut.discretize(relaxation, random_state=0, graph=S)
"""
"""A session with a call that compiles two kernels."""


def test_compilation_is_reported_only_without_a_cache(tmp_path):
    def stderr_of_call():
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == ""
        return done.stderr

    assert stderr_of_call().count("leastcut: compiling for the first time") == 1
    assert stderr_of_call() == ""
