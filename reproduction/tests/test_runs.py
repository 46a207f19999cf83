"""Runs resume, give the same records for any number of processes, and end cleanly."""

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


def test_every_table_and_figure_names_experiments_that_there_are():
    for needed in (*EXPERIMENTS_OF_TABLE.values(), *EXPERIMENTS_OF_FIGURE.values()):
        assert set(needed) <= set(EXPERIMENTS)
    assert set(EXPERIMENTS_OF_TABLE) == set(TABLES)
    assert set(EXPERIMENTS_OF_FIGURE) == set(FIGURES)


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


def test_every_method_that_starts_at_random_has_the_same_number_of_starts():
    starts = {
        column.parameters.get("n_init")
        for column in columns("accuracy")
        if column.printed and column.method not in FIXED
    }
    assert starts == {10}


def test_a_table_is_run_alone():
    """The tiny table needs the first rows of USPS, and nothing of the other datasets."""
    listed = cells(EXPERIMENTS_OF_TABLE["tiny"], Scope())
    assert {cell.dataset for cell in listed} == set(TINY)
    assert cells(EXPERIMENTS_OF_TABLE["tiny"], Scope(("wine",))) == []
    listed = cells(EXPERIMENTS_OF_TABLE["objective"], Scope(("wine",)))
    assert {cell.dataset for cell in listed} == {"wine"}


def test_what_uses_no_randomness_is_run_once():
    for cell in cells(EXPERIMENTS, Scope()):
        assert cell.seed == 0 or cell.method not in FIXED


@pytest.mark.parametrize(("c", "most"), [(2, 4), (3, 100), (10, 16), (40, 128)])
def test_signs_are_all_or_drawn_and_none_twice(c, most):
    found = signs(c, most, seed=0)
    assert len(found) == min(2**c, most) == len(np.unique(found, axis=0))
    assert set(np.unique(found)) == {-1, 1}
    assert (found[0] == 1).all()
    np.testing.assert_array_equal(found, signs(c, most, seed=0))


def test_any_labels_leave_no_cluster_empty():
    for seed in range(20):
        assert set(any_labels(6, 5, seed)) == set(range(5))


def test_runs_that_share_a_record_are_those_that_have_their_own():
    """Seed by seed: the value, accuracy, NMI and partition of a run are its own."""
    shared = problem("wine", "ratio", None)
    parameters = {"n_init": 2, "judge": "loss", "runs": 3}
    found = for_many_seeds(shared, "kmeans", parameters)
    for seed in range(3):
        cell = Cell("objective", "wine", "ratio", "kmeans", options_of(parameters), seed)
        alone = measure.measure(cell)
        assert found["partitions"][seed] == alone["labels"]
        assert found["values"][seed] == pytest.approx(alone["value"], rel=1e-5)
        assert found["accuracies"][seed] == pytest.approx(alone["accuracy"], rel=1e-5)
        assert found["nmis"][seed] == pytest.approx(alone["nmi"], rel=1e-5)


def test_other_signs_are_eigenvectors_of_other_signs():
    """A run for a choice of signs is that of the method on eigenvectors with these signs."""
    shared = problem("wine", "ratio", None)
    found = for_many_signs(shared, "unscaled_rotation", {"judge": "loss", "signs": 8}, 0)
    assert found["choices"] == 8
    for row, partition in zip(signs(3, 8, 0), found["partitions"], strict=True):
        turned = replace(
            shared.relaxation,
            eigenvectors=shared.relaxation.eigenvectors * row,
            operator_product=None,
        )
        assert turned.node_weights is shared.relaxation.node_weights
        alone = leastcut.discretize(turned, "unscaled_rotation", random_state=0)
        assert partition == hash_of(alone.labels)


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same_records(tmp_path, monkeypatch):
    """Only the parent writes: workers do not even know the folder."""
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


def test_what_is_recorded_is_not_run_again(tmp_path, monkeypatch):
    wanted = cells(("datasets", "convergence"), SMALL)
    first = run(wanted, Store(tmp_path), progress=False)
    assert first.finished == len(wanted)

    def fail(*_):
        raise AssertionError("run again")

    monkeypatch.setattr("reproduction.runs.running.measure", fail)
    again = run(wanted, Store(tmp_path), progress=False)
    assert (again.finished, again.resumed, again.failed) == (0, len(wanted), [])


def test_missing_datasets_are_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    wanted = cells(("datasets",), Scope(("jaffe", "wine"), n_seeds=1))
    summary = run(wanted, Store(tmp_path), progress=False)
    assert list(summary.missing) == ["jaffe"]
    assert "jaffe.npz" in summary.missing["jaffe"]
    assert [record["dataset"] for record in Store(tmp_path)] == ["wine"]


def test_one_bad_cell_does_not_cost_the_others(tmp_path, monkeypatch):
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
def test_ctrl_c_ends_cleanly_and_keeps_what_is_finished(tmp_path, jobs):
    child = start(tmp_path, "--jobs", jobs)
    wait_for_records(tmp_path, child, 5)
    os.killpg(child.pid, signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "the same command continues" in error
    assert "Traceback" not in error
    assert len(list(Store(tmp_path))) >= 5


def workers_of(pid):
    """The processes that measure for a run, by their ids."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"popen_loky" in path.joinpath("cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:  # it has just ended
            continue
    return found


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")


@needs_proc
@pytest.mark.slow
def test_a_killed_worker_is_told_and_the_same_command_continues(tmp_path):
    child = start(tmp_path, "--jobs", "2")
    wait_for_records(tmp_path, child, 5)
    os.kill(workers_of(child.pid)[0], signal.SIGKILL)
    _, error = child.communicate(timeout=120)
    assert child.returncode == 1
    assert "A worker was killed before it finished" in error
    assert "run again to continue" in error
    assert "Traceback" not in error
    assert len(Store(tmp_path).keys()) >= 5
    continues(tmp_path)


def continues(folder):
    """Run the cells of one seed that a killed run has left; the records that it made must stay."""
    before = Store(folder).keys()
    wanted = cells(("objective",), SMALL)
    left = sum(cell.key not in before for cell in wanted)
    summary = run(wanted, Store(folder), progress=False)
    assert (summary.finished, summary.resumed) == (left, len(wanted) - left)
    assert before | {cell.key for cell in wanted} == Store(folder).keys()


@pytest.mark.slow
def test_killed_and_continued(tmp_path):
    child = start(tmp_path, "--jobs", "1")
    wait_for_records(tmp_path, child, 5)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=60)
    continues(tmp_path)


@needs_proc
@pytest.mark.slow
def test_killed_with_workers_and_continued(tmp_path):
    """No worker outlives its parent."""
    child = start(tmp_path, "--jobs", "2")
    wait_for_records(tmp_path, child, 5)
    workers = workers_of(child.pid)
    assert len(workers) == 2
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=120)  # ends when the last worker has closed its end of the pipes
    while any(map(is_running, workers)):
        time.sleep(0.05)
    continues(tmp_path)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_gets_lines_and_not_many(monkeypatch):
    wanted = cells(("objective",), SMALL)
    silent, log = io.StringIO(), io.StringIO()
    quick = progress.Progress(wanted, silent)
    for cell in wanted:
        quick.advance(cell)
    quick.close()
    assert silent.getvalue() == ""  # it ended before the first update
    monkeypatch.setattr(progress, "LINE_SECONDS", 1e-9)
    told = progress.Progress(wanted, log)
    for cell in wanted:
        told.advance(cell)
    told.close()
    lines = log.getvalue().splitlines()
    assert len(lines) == len(wanted)
    assert "\r" not in log.getvalue()
    assert f"{len(wanted)}/{len(wanted)}  objective wine partition" in lines[-1]
    assert "left" in lines[-1]


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch):
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.0)
    wanted = cells(("objective",), SMALL)
    screen = Terminal()
    told = progress.Progress(wanted, screen)
    for cell in wanted:
        told.advance(cell)
    told.close()
    assert "\n" not in screen.getvalue()
    *_, last, rest = screen.getvalue().split("\r")
    assert last.strip() == rest == ""


def test_what_cells_are_expected_to_cost_is_known_for_all():
    assert all(progress.cost(cell) > 0 for cell in cells(EXPERIMENTS, Scope()))


def test_of_many_signs_the_first_are_kept_and_those_at_the_printed_value(monkeypatch):
    shared = problem("wine", "normalized", None)
    parameters = {"judge": "loss", "signs": 8}
    every = for_many_signs(shared, "unscaled_rotation", parameters, 0)
    monkeypatch.setattr(labeling, "N_KEPT", 2)
    found = for_many_signs(shared, "unscaled_rotation", parameters, 0)
    assert found["tried"] == every["tried"] == 8
    paper = printed.value("objective", "wine", "normalized", "SR")
    there = [value for value in every["values"][2:] if printed.is_printed(value, paper)]
    assert found["values"] == every["values"][:2] + there


def test_searched_runs_are_told_once_for_every_partition():
    """The first run and those at the printed value, as if each were on record by itself."""
    shared = problem("wine", "ratio", None)
    single = {"judge": "loss", "n_init": 1, "runs": 12}
    every = for_many_seeds(shared, "kmeans_norm", single)
    found = for_many_seeds(shared, "kmeans_norm", {**single, "kept": "printed"})
    paper = printed.value("objective", "wine", "ratio", "KM-norm")
    kept = [
        partition
        for i, (value, partition) in enumerate(
            zip(every["values"], every["partitions"], strict=True)
        )
        if i == 0 or printed.is_printed(value, paper)
    ]
    assert found["tried"] == 12
    assert dict(zip(found["partitions"], found["counts"], strict=True)) == Counter(kept)
