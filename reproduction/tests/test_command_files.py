"""Commands and their files: an error is one line that names the file, and the rest runs."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from conftest import draws, premise
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reproduction.__main__ import main
from reproduction.data.printed import dataset_labels
from reproduction.report.figures import FIGURES
from reproduction.report.tables import TABLES
from reproduction.runs.experiments import EXPERIMENTS_OF_TABLE, Scope, cells
from reproduction.runs.records import Store
from reproduction.tests.helpers import COMMAND, ROOT, status_of

rng = np.random.default_rng(0)
GLASS = {"X": rng.random((214, 9)), "y": np.arange(214) % 6}
YALE = {"X": rng.random((165, 1024)), "y": np.arange(165) % 15}
RECORDS = ROOT / "docs" / "results" / "records"


def bytes_of(write, *arguments, **arrays) -> bytes:
    file = io.BytesIO()
    write(file, *arguments, **arrays)
    return file.getvalue()


def changed(arrays, entry):
    X = arrays["X"].astype(type(entry))
    X[2, 3] = entry
    return {**arrays, "X": X}


MAT = bytes_of(scipy.io.savemat, YALE)
BAD_FILES = {
    "truncated": ("yale.npz", bytes_of(np.savez, **YALE)[:5000]),
    "empty": ("yale.npz", b""),
    "NaN": ("yale.npz", bytes_of(np.savez, **changed(YALE, np.nan))),
    "complex": ("yale.npz", bytes_of(np.savez, **changed(YALE, 1j))),
    "another shape": ("yale.npz", bytes_of(np.savez, X=YALE["X"][:, :9], y=YALE["y"])),
    "not a MATLAB file": ("yale.mat", MAT[:100]),
    "an incomplete table": ("yale.csv", b"1,2,a\n3,,b\n"),
}


@pytest.fixture(autouse=True)
def silent(monkeypatch):
    """Disable progress lines, as tests count the lines of errors."""
    monkeypatch.setattr("reproduction.runs.progress.LINE_SECONDS", 1e9)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder with one dataset, without other folders to search."""
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "glass.npz", **GLASS)
    return folder


def run(*arguments, data, out, jobs="1"):
    what = ["--data", str(data), "--out", str(out), "--jobs", jobs]
    return main(["run", *arguments, *what])


def datasets_in(out):
    return sorted(record["dataset"] for record in Store(out))


@pytest.mark.parametrize("how", BAD_FILES)
def test_a_bad_file_leaves_out_only_its_dataset(data, tmp_path, capsys, how):
    name, content = BAD_FILES[how]
    (data / name).write_bytes(content)
    what = ["--table", "datasets", "--datasets", "glass", "yale", "wine"]
    assert run(*what, data=data, out=tmp_path / "out") == 2
    out, error = capsys.readouterr()
    assert out.startswith("2 finished, 0 already recorded")
    (line,) = error.splitlines()
    assert line.startswith("reproduction: Left out yale: ")
    assert str(data / name) in line
    assert datasets_in(tmp_path / "out") == ["glass", "wine"]
    # with a valid file, the same command runs the dataset that was left out
    (data / name).unlink()
    np.savez(data / "yale.npz", **YALE)
    assert run(*what, data=data, out=tmp_path / "out") == 0
    out, error = capsys.readouterr()
    assert out.startswith("1 finished, 2 already recorded")
    assert error == ""


def test_a_missing_dataset_is_an_error_if_it_was_named(data, tmp_path, capsys):
    what = ["--table", "datasets", "--datasets", "glass", "jaffe"]
    assert run(*what, data=data, out=tmp_path / "out") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "jaffe.npz or jaffe.mat or jaffe.csv" in line
    assert datasets_in(tmp_path / "out") == ["glass"]


def test_all_missing_datasets_are_listed_before_the_first_run(data, tmp_path, capsys, monkeypatch):
    errors = []

    def first_record(store, record):
        errors.append(capsys.readouterr().err)
        return append(store, record)

    append = Store.append
    monkeypatch.setattr(Store, "append", first_record)
    what = ["--table", "datasets", "--datasets", "orl", "glass", "jaffe", "msra"]
    assert run(*what, data=data, out=tmp_path / "out") == 2
    (before,) = errors
    lines = before.splitlines()
    assert [line.split(":")[1] for line in lines] == [
        " Left out orl",
        " Left out jaffe",
        " Left out msra",
    ]
    for line in lines:
        assert str(data) in line
        assert "Source: " in line
    assert capsys.readouterr().err == ""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a folder with the records of a small run."""
    folder = tmp_path_factory.mktemp("recorded")
    what = ["--figure", "motivation", "--table", "datasets", "--datasets", "wine", "iris"]
    assert main(["run", *what, "--out", str(folder), "--jobs", "1"]) == 0
    return folder


# FILE is a file, FOLDER an empty folder, NOWHERE a path that cannot be created
BAD_COMMANDS = [
    "",
    "nothing",
    "--nothing",
    "nothing",
    "run",
    "run --nothing",
    "run --seeds",
    "run --table",
    "run --table nothing",
    "run --figure nothing",
    "run --all --seeds x",
    "run --all --seeds 1.5",
    "run --all --seeds 0",
    "run --all --seeds -1",
    "run --all --time-limit",
    "run --all --time-limit x",
    "run --all --time-limit nan",
    "run --all --time-limit inf",
    "run --all --time-limit -1",
    "run --all --jobs 0",
    "run --all --jobs many",
    "run --all --datasets mnist",
    "run --all --data NOWHERE",
    "run --all --data FILE",
    "run --table datasets --datasets wine --out FILE",
    "run --table datasets --datasets wine --out FILE/below",
    "run --table datasets --datasets wine --out NOWHERE",
    "table",
    "table nothing",
    "table datasets --format pdf",
    "table datasets --out FILE",
    "table datasets --to FOLDER",
    "table datasets --to NOWHERE/table.txt",
    "table datasets --to FILE/table.txt",
    "figure",
    "figure nothing",
    "figure motivation --out FILE",
    "figure motivation --to FILE",
    "figure motivation --to NOWHERE",
    "report more",
    "report --out FILE",
    "report --to FOLDER",
    "report --to FILE/page.html",
    "report --markdown FOLDER",
]


EMPTY_COMMANDS = [
    "table datasets --out FOLDER",
    "table datasets --out FOLDER/below",
    "table objective",
    "figure closest",
    "figure motivation --out FOLDER",
    "report --out FOLDER",
    "report --out FOLDER/below --markdown FOLDER/page.md",
]


@pytest.mark.parametrize(
    ("command", "status"),
    [*((bad, 2) for bad in BAD_COMMANDS), *((empty, 1) for empty in EMPTY_COMMANDS)],
)
def test_a_command_without_a_result_prints_one_line(command, status, recorded, tmp_path, capsys):
    """The status is 2 for a wrong command and 1 for a command without records."""
    out = tmp_path / "out"
    shutil.copytree(recorded, out)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    places = {"FILE": tmp_path / "file", "FOLDER": tmp_path / "folder", "NOWHERE": "/proc/nowhere"}
    for word, place in places.items():
        command = command.replace(word, str(place))
    arguments = command.split()
    if arguments[:1] != ["nothing"] and arguments and "--out" not in arguments:
        arguments += ["--out", str(out)]
    assert status_of(arguments) == status
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1, error
    assert error.startswith(("reproduction: ", "python -m reproduction"))
    assert (tmp_path / "file").read_text() == "mine"
    assert list((tmp_path / "folder").iterdir()) == []


RECORD = {
    "experiment": "datasets",
    "dataset": "glass",
    "cut": "ratio",
    "method": "load",
    "parameters": {},
    "seed": 0,
    "value": 1.0,
    "seconds": 0.5,
    "shape": [214, 9, 6],
    "stored": 7,
    "components": 1,
}
BAD_LINES = {
    "text": b"gibberish",
    "a number": b"5",
    "null": b"null",
    "a list": b"[1, 2]",
    "an object": b"{}",
    "another object": b'{"experiment": "datasets"}',
    "half a record": json.dumps(RECORD).encode()[:60],
    "NaN": json.dumps({**RECORD, "value": float("nan")}).encode(),
    "no value": json.dumps({k: v for k, v in RECORD.items() if k != "value"}).encode(),
    "another type": json.dumps({**RECORD, "dataset": 5}).encode(),
    "another shape": json.dumps({**RECORD, "shape": [1, 2]}).encode(),
    "bytes": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("how", BAD_LINES)
def test_an_invalid_line_leaves_out_only_its_dataset(data, tmp_path, capsys, how):
    out = tmp_path / "out"
    (out / "records").mkdir(parents=True)
    path = out / "records" / "glass.jsonl"
    path.write_bytes(BAD_LINES[how] + b"\n")
    what = ["--table", "datasets", "--datasets", "glass", "wine"]
    assert run(*what, data=data, out=out) == 2
    printed, error = capsys.readouterr()
    assert printed.startswith("1 finished, 0 already recorded")
    (line,) = error.splitlines()
    assert line.startswith(f"reproduction: Left out glass: Line 1 of {path} is not a valid record")
    assert path.read_bytes() == BAD_LINES[how] + b"\n"  # the file is unchanged
    assert [p.name for p in (out / "records").iterdir() if p != path] == ["wine.jsonl"]
    for command in (["table", "datasets"], ["figure", "closest"], ["report"]):
        assert main([*command, "--out", str(out)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"Line 1 of {path} is not a valid record" in line
    path.unlink()
    assert run(*what, data=data, out=out) == 0


def test_the_run_of_an_incomplete_last_line_is_repeated(data, tmp_path, capsys):
    out = tmp_path / "out"
    what = ["--table", "datasets", "--datasets", "glass", "wine"]
    assert run(*what, data=data, out=out) == 0
    path = out / "records" / "glass.jsonl"
    complete = path.read_bytes()
    for cut in range(1, len(complete), 37):
        path.write_bytes(complete[:cut])
        assert run(*what, data=data, out=out) == 0
        assert datasets_in(out) == ["glass", "wine"]
        assert path.read_bytes().count(b"\n") == 2
    assert capsys.readouterr().err == ""


def any_json():
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=5,
    )


def one_of_each():
    """Return a record of every experiment and method, and the lines about machines."""
    records = {}
    for path in sorted(RECORDS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            kind = (record.get("experiment"), record.get("method"))
            records.setdefault(kind, {k: v for k, v in record.items() if k != "eta"})
    return [records[kind] for kind in sorted(records, key=str)]


EACH = one_of_each()


@pytest.mark.slow
@settings(max_examples=draws(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_changed_field_is_read_or_rejected(tmp_path, capsys, data):
    """Tables of records with a missing or arbitrary field never show a traceback."""
    which = data.draw(st.integers(0, len(EACH) - 1))
    record = json.loads(json.dumps(EACH[which]))
    name = data.draw(st.sampled_from(sorted(record)))
    if data.draw(st.booleans()):
        record[name] = data.draw(any_json())
    else:
        del record[name]
    folder = tmp_path / "out" / "records"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [*EACH[:which], record, *EACH[which + 1 :]]
    (folder / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for table in TABLES:
        for kind in ("terminal", "markdown"):
            command = ["table", table, "--format", kind, "--out", str(tmp_path / "out")]
            status = main(command)
            error = capsys.readouterr().err
            assert (status, len(error.splitlines())) in ((0, 0), (1, 1), (2, 1)), error


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in (-1, 1e308, 1e-320))]
)
def test_numbers_of_any_magnitude_are_shown_or_rejected(tmp_path, capsys, number):
    """The number is in all fields of all records, as testing each would take too long."""
    (tmp_path / "records").mkdir()
    lines = [
        {
            name: number
            if isinstance(value, float | int) and name not in ("seed", "misses")
            else value
            for name, value in line.items()
        }
        for line in EACH
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "records" / "all.jsonl").write_text(text)
    for kind, names in (("table", TABLES), ("figure", FIGURES)):
        for name in names:
            assert main([kind, name, "--out", str(tmp_path)]) in (0, 1, 2)
            assert len(capsys.readouterr().err.splitlines()) <= 1
    random = next(line for line in EACH if line.get("experiment") == "random")
    few = {**random, "parameters": {**random["parameters"], "graphs": number}}
    for wrong in (few, {**random, "misses": number or -1}):
        (tmp_path / "records" / "all.jsonl").write_text(json.dumps(wrong) + "\n")
        assert main(["figure", "closest", "--out", str(tmp_path)]) == 2


# -- full disks

FULL = """
import resource, sys
from reproduction.__main__ import main
limit, *command = sys.argv[1:]
if command[0] == "run":  # compiles the kernels before the disk is full
    main(["run", "--table", "objective", "--datasets", "iris", "--seeds", "1",
          "--jobs", "1", "--out", sys.argv[-1] + "-before"])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
sys.exit(main(command))
"""


def on_full_disk(limit, *command):
    """Run a command in a process with a limit on the size of its files."""
    pytest.importorskip("resource")
    arguments = [sys.executable, "-c", textwrap.dedent(FULL), str(limit), *map(str, command)]
    # The measurement of coverage could not write its files.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    return subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_on_a_full_disk_finished_records_are_kept_and_the_same_command_resumes(tmp_path):
    out = tmp_path / "out"
    command = ["run", "--table", "objective", "--datasets", "wine", "--seeds", "1"]
    command += ["--jobs", "1", "--out", str(out)]
    wanted = {
        cell.key for cell in cells(EXPERIMENTS_OF_TABLE["objective"], Scope(("wine",), n_seeds=1))
    }
    for limit in (100, 2500, 6000):
        ended = on_full_disk(limit, *command)
        assert ended.returncode == 2
        line = ended.stderr.splitlines()[-1]
        assert line.startswith("reproduction: A record could not be written to")
        assert "run again to continue" in line
        assert "Traceback" not in ended.stderr
        # there is no incomplete line
        store = Store(out)
        assert store.damaged() == {}
        assert all(path.read_bytes()[-1:] in (b"\n", b"") for path in store.folder.iterdir())
        assert store.keys() < wanted
    kept = Store(out).keys()
    assert kept
    assert main(command) == 0
    assert Store(out).keys() == wanted
    assert sum(1 for _ in Store(out)) == len(wanted)


def test_on_a_full_disk_an_existing_table_is_unchanged(recorded, tmp_path):
    page = tmp_path / "table.txt"
    page.write_text("old content")
    ended = on_full_disk(20, "table", "datasets", "--to", page, "--out", recorded)
    assert ended.returncode == 2
    assert sum(line.startswith("reproduction: ") for line in ended.stderr.splitlines()) == 1
    assert "Traceback" not in ended.stderr
    assert page.read_text() == "old content"
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full does not exist")
def test_an_error_of_the_standard_output_is_one_line(recorded):
    command = ["table", "datasets", "--out", str(recorded)]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*COMMAND, *command],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "No space left on device" in line


# -- interrupted and killed


@pytest.mark.slow
def test_a_killed_run_with_a_bad_file_is_resumed_by_the_same_command(data, tmp_path):
    (data / "yale.npz").write_bytes(b"damaged")
    out = tmp_path / "out"
    command = [*COMMAND, "run", "--table", "objective"]
    command += ["--datasets", "yale", "wine", "iris", "--seeds", "2", "--jobs", "2"]
    command += ["--data", str(data), "--out", str(out)]
    wanted = {
        cell.key
        for cell in cells(EXPERIMENTS_OF_TABLE["objective"], Scope(("wine", "iris"), n_seeds=2))
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    child = subprocess.Popen(command, cwd=ROOT, **pipes)
    deadline = time.monotonic() + 120
    while sum(1 for _ in Store(out)) < 5:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=120)
    kept = Store(out).keys()
    assert kept
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 2
    assert f"{len(wanted - kept)} finished, {len(kept)} already recorded" in ended.stdout
    (message,) = [line for line in ended.stderr.splitlines() if line.startswith("reproduction: ")]
    assert str(data / "yale.npz") in message
    assert "Traceback" not in ended.stderr
    assert Store(out).keys() == wanted
    lines = [line for path in (out / "records").iterdir() for line in path.open()]
    assert sum('"experiment"' in line for line in lines) == len(wanted)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are not supported")
@pytest.mark.parametrize(
    "command",
    [
        ["run", "--table", "datasets", "--datasets", "wine"],
        pytest.param(["table", "datasets"], marks=pytest.mark.slow),
        pytest.param(["report"], marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_while_reading_records_is_one_line_and_status_130(tmp_path, command):
    """The command is interrupted while it waits for a pipe."""
    (tmp_path / "records").mkdir()
    pipe = tmp_path / "records" / "wine.jsonl"
    os.mkfifo(pipe)
    child = subprocess.Popen(
        [*COMMAND, *command, "--out", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("wb"):  # returns when the command opens the pipe
        time.sleep(0.2)
        os.kill(child.pid, signal.SIGINT)
        _, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert error == "reproduction: Interrupted.\n"


# -- names


def unescaped_cells(line: str) -> list[str]:
    """Return the cells of a row of a Markdown table as they are rendered."""
    cells, cell, i = [], "", 0
    while i < len(line):
        if line[i] == "\\":
            cell, i = cell + line[i + 1], i + 2
            continue
        assert line[i] not in "`<>*[]", line
        if line[i] == "|":
            cells, cell = [*cells, cell.strip()], ""
        else:
            cell += line[i]
        i += 1
    assert cell == ""
    return cells[1:]


LETTERS = st.characters() | st.sampled_from("|`<>*_[]\\&~$#\n\r:1ab")
NAMES = st.text(LETTERS, min_size=1, max_size=12)


@settings(max_examples=draws(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES)
def test_a_dataset_with_any_name_has_one_row(tmp_path, capsys, name):
    # Datasets of the paper have printed values, and surrogates cannot be encoded.
    premise(name not in dataset_labels() and not any("\ud800" <= c <= "\udfff" for c in name))
    record = {**RECORD, "dataset": name}
    (tmp_path / "records").mkdir(exist_ok=True)
    (tmp_path / "records" / "all.jsonl").write_text(json.dumps(record) + "\n")
    wide = len(TABLES["datasets"]([]).sections[0].heads) + 1
    command = ["table", "datasets", "--out", str(tmp_path)]
    assert main([*command, "--format", "markdown"]) == 0
    head, _, row = capsys.readouterr().out.rstrip("\n").split("\n")
    assert len(unescaped_cells(head)) == len(unescaped_cells(row)) == wide
    if ":" not in name:
        printable = "".join(c if c.isprintable() else " " for c in name)
        assert unescaped_cells(row)[0] == " ".join(printable.split())
    assert main(command) == 0
    assert len(capsys.readouterr().out.split("\n")) == 6


@pytest.mark.slow
def test_figures_and_pages_show_any_name(tmp_path):
    odd = "a|b `c` <i>d</i> $e$ $f\n\x1b[31m"
    lines = [{**line, "dataset": odd} if "dataset" in line else line for line in EACH]
    lines = [
        {**line, "dataset": "random:5"} if line.get("experiment") == "random" else line
        for line in lines
    ]
    out = tmp_path / "a folder (1)"
    (out / "records").mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (out / "records" / "all.jsonl").write_text(text)
    page = tmp_path / "page.md"
    assert main(["report", "--out", str(out), "--markdown", str(page)]) == 0
    shown = page.read_text(encoding="utf-8")
    assert r"| a\|b \`c\` \<i\>d\</i\> \$e\$ \$f \[31m |" in shown
    assert "<i>" not in shown
    assert "(a%20folder%20%281%29/records)" in shown
    assert f"--out '{out}'" in shown
    for name in FIGURES:
        assert (out / f"{name}.svg").exists()
