"""Runs resume, give the same records for any number of processes, and end cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from firstcut.paper.experiments import EXPERIMENTS, FIGURES, TABLES, Scope, cells, columns
from firstcut.paper.records import Store
from firstcut.paper.runs import run

SMALL = Scope(("wine",), n_seeds=1, n_batches=1, batch=3)


def stripped(store):
    """Records without what may differ between two runs."""
    return {
        record_key(record): {k: v for k, v in record.items() if k not in ("seconds", "machine")}
        for record in store
    }


def record_key(record):
    return tuple(str(record[name]) for name in ("experiment", "dataset", "cut", "method", "seed"))


def test_every_table_and_figure_names_experiments_that_there_are():
    for needed in (*TABLES.values(), *FIGURES.values()):
        assert set(needed) <= set(EXPERIMENTS)


def test_the_paper_is_all_there():
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


def test_every_method_has_the_same_number_of_starts():
    starts = {column.parameters.get("n_init") for column in columns("accuracy") if column.printed}
    assert starts == {10}


def test_any_number_of_processes_gives_the_same_records(tmp_path):
    wanted = cells(("objective", "random", "motivation"), SMALL)
    one = run(wanted, Store(tmp_path / "one"), n_jobs=1, progress=False)
    two = run(wanted, Store(tmp_path / "two"), n_jobs=2, progress=False)
    assert one.finished == two.finished == len(wanted)
    assert not one.failed
    assert not two.failed
    assert stripped(Store(tmp_path / "one")) == stripped(Store(tmp_path / "two"))


def test_what_is_recorded_is_not_run_again(tmp_path, monkeypatch):
    wanted = cells(("datasets", "convergence"), SMALL)
    first = run(wanted, Store(tmp_path), progress=False)
    assert first.finished == len(wanted)

    def fail(*_):
        raise AssertionError("run again")

    monkeypatch.setattr("firstcut.paper.runs.measure", fail)
    again = run(wanted, Store(tmp_path), progress=False)
    assert (again.finished, again.resumed, again.failed) == (0, len(wanted), [])


def test_missing_datasets_are_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.delenv("FIRSTCUT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    wanted = cells(("datasets",), Scope(("jaffe", "wine"), n_seeds=1))
    summary = run(wanted, Store(tmp_path), progress=False)
    assert list(summary.missing) == ["jaffe"]
    assert "jaffe.npz" in summary.missing["jaffe"]
    assert [record["dataset"] for record in Store(tmp_path)] == ["wine"]


def test_one_bad_cell_does_not_cost_the_others(tmp_path, monkeypatch):
    from firstcut.paper import measure

    monkeypatch.setitem(measure.LABELLERS, "kmeans", lambda *_, **__: 1 / 0)
    wanted = cells(("objective",), SMALL)
    summary = run(wanted, Store(tmp_path), progress=False)
    assert len(summary.failed) == 2
    assert all("ZeroDivisionError" in failure for failure in summary.failed)
    assert summary.finished == len(wanted) - 2


def start(folder, *more):
    command = ["paper", "run", "--table", "objective", "--datasets", "wine", "--seeds", "40"]
    return subprocess.Popen(
        [sys.executable, "-m", "firstcut.cli", *command, *more, "--out", str(folder)],
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


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_cleanly_and_keeps_what_is_finished(tmp_path, jobs):
    child = start(tmp_path, "--jobs", jobs)
    wait_for_records(tmp_path, child, 5)
    os.killpg(child.pid, signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "the same command continues" in error
    assert "Traceback" not in error
    assert len(list(Store(tmp_path))) >= 5


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_and_continued(tmp_path, jobs):
    child = start(tmp_path, "--jobs", jobs)
    wait_for_records(tmp_path, child, 5)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=60)  # ends when the last worker has closed its end of the pipes
    before = Store(tmp_path).keys()
    wanted = cells(("objective",), SMALL)
    left = sum(cell.key not in before for cell in wanted)
    summary = run(wanted, Store(tmp_path), progress=False)
    assert (summary.finished, summary.resumed) == (left, len(wanted) - left)
    assert before | {cell.key for cell in wanted} <= Store(tmp_path).keys()
