"""Runs can be resumed and interrupted, and do not depend on the number of processes."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import leastcut
from reproduction.data import printed
from reproduction.report.figures import FIGURES
from reproduction.report.tables import TABLES
from reproduction.runs import labeling, measure, progress
from reproduction.runs.experiments import (
    EXPERIMENTS,
    EXPERIMENTS_OF_FIGURE,
    EXPERIMENTS_OF_TABLE,
    TINY,
    Cell,
    Scope,
    cells,
)
from reproduction.runs.labeling import (
    any_labels,
    for_many_seeds,
    for_many_signs,
    hash_of,
    options_of,
    signs,
)
from reproduction.runs.methods import FIXED, columns
from reproduction.runs.protocol import problem
from reproduction.runs.records import Store, key_of
from reproduction.runs.running import run
from reproduction.tests.helpers import COMMAND, ROOT

SMALL = Scope(("wine",), n_seeds=1, n_batches=1, batch=3, n_searched=20)


def stripped(records):
    """Return records by their keys, without fields that differ between runs."""
    environment = ("seconds", "environment", "versions", "machine")
    return {
        key_of(record): {k: v for k, v in record.items() if k not in environment}
        for record in records
    }


def test_the_experiments_of_every_table_and_figure_exist():
    for needed in (*EXPERIMENTS_OF_TABLE.values(), *EXPERIMENTS_OF_FIGURE.values()):
        assert set(needed) <= set(EXPERIMENTS)
    assert set(EXPERIMENTS_OF_TABLE) == set(TABLES)
    assert set(EXPERIMENTS_OF_FIGURE) == set(FIGURES)


def test_a_full_run_has_all_datasets_methods_and_graphs_of_the_paper():
    listed = cells(EXPERIMENTS, Scope())
    assert len({cell.key for cell in listed}) == len(listed)
    datasets = {cell.dataset for cell in listed if cell.experiment == "objective"}
    assert len(datasets) == 11
    printed = [column.printed for column in columns("objective") if column.printed]
    assert printed == ["OPT_r", "KM", "KM-norm", "SR", "ISR", "DNC", "Ours"]
    graphs = sum(
        cell.parameters["graphs"]
        for cell in listed
        if cell.method == "closest" and cell.dataset == "random:5"
    )
    assert graphs == 10_000


def test_all_randomly_started_methods_have_the_same_number_of_starts():
    starts = {
        column.parameters.get("n_init")
        for column in columns("accuracy")
        if column.printed and column.method not in FIXED
    }
    assert starts == {10}


def test_a_table_requires_only_its_own_datasets():
    """The tiny table needs only the first rows of USPS."""
    listed = cells(EXPERIMENTS_OF_TABLE["tiny"], Scope())
    assert {cell.dataset for cell in listed} == set(TINY)
    assert cells(EXPERIMENTS_OF_TABLE["tiny"], Scope(("wine",))) == []
    listed = cells(EXPERIMENTS_OF_TABLE["objective"], Scope(("wine",)))
    assert {cell.dataset for cell in listed} == {"wine"}


def test_deterministic_methods_are_run_once():
    for cell in cells(EXPERIMENTS, Scope()):
        assert cell.seed == 0 or cell.method not in FIXED


@pytest.mark.parametrize(("c", "most"), [(2, 4), (3, 100), (10, 16), (40, 128)])
def test_signs_are_all_choices_or_a_sample_without_duplicates(c, most):
    choices = signs(c, most, seed=0)
    assert len(choices) == min(2**c, most) == len(np.unique(choices, axis=0))
    assert set(np.unique(choices)) == {-1, 1}
    assert (choices[0] == 1).all()
    np.testing.assert_array_equal(choices, signs(c, most, seed=0))


def test_random_labels_have_no_empty_cluster():
    for seed in range(20):
        assert set(any_labels(6, 5, seed)) == set(range(5))


def test_a_record_of_many_runs_equals_the_records_of_single_runs():
    """Cut value, accuracy, NMI and partition are equal for every seed."""
    shared = problem("wine", "ratio", None)
    parameters = {"n_init": 2, "judge": "loss", "runs": 3}
    record = for_many_seeds(shared, "kmeans", parameters)
    for seed in range(3):
        cell = Cell("objective", "wine", "ratio", "kmeans", options_of(parameters), seed)
        single = measure.measure(cell)
        assert record["partitions"][seed] == single["labels"]
        assert record["values"][seed] == pytest.approx(single["value"], rel=1e-5)
        assert record["accuracies"][seed] == pytest.approx(single["accuracy"], rel=1e-5)
        assert record["nmis"][seed] == pytest.approx(single["nmi"], rel=1e-5)


def test_a_choice_of_signs_is_applied_to_the_eigenvectors():
    shared = problem("wine", "ratio", None)
    record = for_many_signs(shared, "unscaled_rotation", {"judge": "loss", "signs": 8}, 0)
    assert record["choices"] == 8
    for row, partition in zip(signs(3, 8, 0), record["partitions"], strict=True):
        changed = replace(
            shared.relaxation,
            eigenvectors=shared.relaxation.eigenvectors * row,
            operator_product=None,
        )
        assert changed.node_weights is shared.relaxation.node_weights
        result = leastcut.discretize(changed, "unscaled_rotation", random_state=0)
        assert partition == hash_of(result.labels)


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same_records(tmp_path, monkeypatch):
    """Only the parent writes records."""
    wanted = cells(("objective", "random", "motivation"), SMALL)
    one = run(wanted, Store(tmp_path / "one"), n_jobs=1, progress=False)
    written = []
    monkeypatch.setattr(Store, "append", lambda _, record: written.append(record))
    two = run(wanted, Store(tmp_path / "two"), n_jobs=2, progress=False)
    assert one.finished == two.finished == len(wanted)
    assert not one.failed
    assert not two.failed
    assert stripped(Store(tmp_path / "one")) == stripped(written)
    assert not list((tmp_path / "two").rglob("*.jsonl"))


def test_runs_with_a_record_are_not_repeated(tmp_path, monkeypatch):
    wanted = cells(("datasets", "convergence"), SMALL)
    first = run(wanted, Store(tmp_path), progress=False)
    assert first.finished == len(wanted)

    def fail(*_):
        raise AssertionError("run again")

    monkeypatch.setattr("reproduction.runs.running.measure", fail)
    again = run(wanted, Store(tmp_path), progress=False)
    assert (again.finished, again.resumed, again.failed) == (0, len(wanted), [])


def test_missing_datasets_are_left_out_and_listed(tmp_path, monkeypatch):
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    wanted = cells(("datasets",), Scope(("jaffe", "wine"), n_seeds=1))
    summary = run(wanted, Store(tmp_path), progress=False)
    assert list(summary.missing) == ["jaffe"]
    assert "jaffe.npz" in summary.missing["jaffe"]
    assert [record["dataset"] for record in Store(tmp_path)] == ["wine"]


def test_a_failing_cell_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setitem(measure.LABELERS, "kmeans", lambda *_, **__: 1 / 0)
    wanted = cells(("objective",), SMALL)
    summary = run(wanted, Store(tmp_path), progress=False)
    assert len(summary.failed) == 2
    assert all("ZeroDivisionError" in failure for failure in summary.failed)
    assert summary.finished == len(wanted) - 2


def start(folder, *more):
    command = ["run", "--table", "objective", "--datasets", "wine", "--seeds", "40"]
    return subprocess.Popen(
        [*COMMAND, *command, *more, "--out", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_records(folder, child, count):
    deadline = time.monotonic() + 60
    while sum(1 for _ in Store(folder)) < count:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_ends_a_run_cleanly_and_keeps_finished_records(tmp_path, jobs):
    child = start(tmp_path, "--jobs", jobs)
    wait_for_records(tmp_path, child, 5)
    os.killpg(child.pid, signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "the same command resumes" in error
    assert "Traceback" not in error
    assert len(list(Store(tmp_path))) >= 5


def workers_of(pid):
    """Return the process ids of the workers of a run."""
    workers = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"popen_loky" in path.joinpath("cmdline").read_bytes():
                workers.append(int(path.name))
        except OSError:  # the process has ended
            continue
    return workers


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc does not exist")


@needs_proc
@pytest.mark.slow
def test_a_killed_worker_is_reported_and_the_run_can_be_resumed(tmp_path):
    child = start(tmp_path, "--jobs", "2")
    wait_for_records(tmp_path, child, 5)
    os.kill(workers_of(child.pid)[0], signal.SIGKILL)
    _, error = child.communicate(timeout=120)
    assert child.returncode == 1
    assert "A worker was killed before it finished" in error
    assert "run again to continue" in error
    assert "Traceback" not in error
    assert len(Store(tmp_path).keys()) >= 5
    assert_resumes(tmp_path)


def assert_resumes(folder):
    """Run the remaining cells of one seed after a killed run, whose records must be kept."""
    before = Store(folder).keys()
    wanted = cells(("objective",), SMALL)
    left = sum(cell.key not in before for cell in wanted)
    summary = run(wanted, Store(folder), progress=False)
    assert (summary.finished, summary.resumed) == (left, len(wanted) - left)
    assert before | {cell.key for cell in wanted} == Store(folder).keys()


@pytest.mark.slow
def test_a_killed_run_can_be_resumed(tmp_path):
    child = start(tmp_path, "--jobs", "1")
    wait_for_records(tmp_path, child, 5)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=60)
    assert_resumes(tmp_path)


@needs_proc
@pytest.mark.slow
def test_workers_end_with_their_killed_parent_and_the_run_can_be_resumed(tmp_path):
    child = start(tmp_path, "--jobs", "2")
    wait_for_records(tmp_path, child, 5)
    workers = workers_of(child.pid)
    assert len(workers) == 2
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=120)  # returns when the last worker has closed the pipes
    while any(map(is_running, workers)):
        time.sleep(0.05)
    assert_resumes(tmp_path)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_in_a_log_is_occasional_lines(monkeypatch):
    wanted = cells(("objective",), SMALL)
    silent, log = io.StringIO(), io.StringIO()
    quick = progress.Progress(wanted, silent)
    for cell in wanted:
        quick.advance(cell)
    quick.close()
    assert silent.getvalue() == ""  # ends before the first update
    monkeypatch.setattr(progress, "LINE_SECONDS", 1e-9)
    bar = progress.Progress(wanted, log)
    for cell in wanted:
        bar.advance(cell)
    bar.close()
    lines = log.getvalue().splitlines()
    assert len(lines) == len(wanted)
    assert "\r" not in log.getvalue()
    assert f"{len(wanted)}/{len(wanted)}  objective wine partition" in lines[-1]
    assert "left" in lines[-1]


def test_progress_in_a_terminal_is_a_bar_that_disappears(monkeypatch):
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.0)
    wanted = cells(("objective",), SMALL)
    screen = Terminal()
    bar = progress.Progress(wanted, screen)
    for cell in wanted:
        bar.advance(cell)
    bar.close()
    assert "\n" not in screen.getvalue()
    *_, last, rest = screen.getvalue().split("\r")
    assert last.strip() == rest == ""


def test_all_cells_have_an_estimated_cost():
    assert all(progress.cost(cell) > 0 for cell in cells(EXPERIMENTS, Scope()))


def test_only_the_first_signs_and_those_at_the_printed_value_are_recorded(monkeypatch):
    shared = problem("wine", "normalized", None)
    parameters = {"judge": "loss", "signs": 8}
    every = for_many_signs(shared, "unscaled_rotation", parameters, 0)
    monkeypatch.setattr(labeling, "N_KEPT", 2)
    record = for_many_signs(shared, "unscaled_rotation", parameters, 0)
    assert record["tried"] == every["tried"] == 8
    paper = printed.value("objective", "wine", "normalized", "SR")
    hits = [value for value in every["values"][2:] if printed.is_printed(value, paper)]
    assert record["values"] == every["values"][:2] + hits


def test_a_search_records_every_partition_once():
    """Recorded are the first run and those at the printed value, with their numbers."""
    shared = problem("wine", "ratio", None)
    single = {"judge": "loss", "n_init": 1, "runs": 12}
    every = for_many_seeds(shared, "kmeans_norm", single)
    record = for_many_seeds(shared, "kmeans_norm", {**single, "kept": "printed"})
    paper = printed.value("objective", "wine", "ratio", "KM-norm")
    kept = [
        partition
        for i, (value, partition) in enumerate(
            zip(every["values"], every["partitions"], strict=True)
        )
        if i == 0 or printed.is_printed(value, paper)
    ]
    assert record["tried"] == 12
    assert dict(zip(record["partitions"], record["counts"], strict=True)) == Counter(kept)
