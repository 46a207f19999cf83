"""The command line says what it does, what went wrong, and how to put it right."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import leastcut
from leastcut.cli import main
from leastcut.optional_packages import needed_for
from leastcut.paper.runs.experiments import (
    EXPERIMENTS_OF_FIGURE,
    EXPERIMENTS_OF_TABLE,
    Scope,
    cells,
)


def status_of(arguments):
    """The status of a command, also where its parser ends it."""
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code


def test_version(capsys):
    assert status_of(["--version"]) == 0
    assert capsys.readouterr().out == f"leastcut {leastcut.__version__}\n"


@pytest.mark.parametrize(
    "command", [[], ["paper"], ["paper", "run"], ["paper", "report"], ["cluster"]]
)
def test_help(command, capsys):
    assert status_of([*command, "--help"]) == 0
    assert "usage: leastcut" in capsys.readouterr().out.lower()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["run"], "Say what to run: --all, --quick, --table datasets | tiny"),
        (["run", "--table", "nothing"], "table='nothing' is not known; choose one of 'datasets'"),
        (["run", "--figure", "nothing"], "figure='nothing' is not known"),
        (["run", "--all", "--datasets", "mnist"], "dataset='mnist' is not known"),
        (["run", "--all", "--seeds", "0"], "seeds=0 is too small"),
        (["run", "--all", "--jobs", "0"], "jobs=0 is too small"),
        (["run", "--all", "--time-limit", "-1"], "time_limit=-1.0 must be at least 0"),
        (["table", "nothing"], "table='nothing' is not known"),
        (["table", "tiny", "--format", "pdf"], "format='pdf' is not known"),
    ],
)
def test_errors_say_what_to_do(command, words, tmp_path, capsys):
    assert main(["paper", *command, "--out", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["table", "tiny"], "make them with 'leastcut paper run --table tiny --out"),
        (["figure", "closest"], "make them with 'leastcut paper run --figure closest --out"),
        (["report"], "make some with 'leastcut paper run --quick --out"),
        (["run", "--table", "datasets", "--datasets", "jaffe"], "Nothing to run: no dataset is"),
    ],
)
def test_where_nothing_comes_of_it_the_status_is_1(command, words, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["paper", *command, "--out", str(tmp_path)]) == 1
    assert words in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.*"))


@pytest.mark.skipif(
    bool(cells(EXPERIMENTS_OF_TABLE["tiny"], Scope(("iris",)))), reason="tiny runs on iris too"
)
def test_a_table_that_has_nothing_to_run_on_the_datasets_named_says_which_it_needs(
    tmp_path, capsys
):
    run = ["paper", "run", "--table", "tiny", "--datasets", "iris", "--out", str(tmp_path)]
    assert main(run) == 1
    error = capsys.readouterr().err
    assert "Nothing to run for the table 'tiny': it needs usps, and the datasets asked" in error
    assert error.endswith("leastcut: Nothing to run.\n")
    # what else is asked for is run all the same
    assert main([*run[:3], "datasets", *run[3:], "--jobs", "1"]) == 0
    assert "for the table 'tiny'" in capsys.readouterr().err


def test_help_lists_every_output_and_what_it_needs(capsys):
    for action, registries in (
        ("run", (EXPERIMENTS_OF_TABLE, EXPERIMENTS_OF_FIGURE)),
        ("table", (EXPERIMENTS_OF_TABLE,)),
        ("figure", (EXPERIMENTS_OF_FIGURE,)),
    ):
        with pytest.raises(SystemExit):
            main(["paper", action, "--help"])
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        for registry in registries:
            for name, experiments in registry.items():
                (at,) = (i for i, line in enumerate(lines) if line.split()[:1] == [name])
                assert lines[at + 1].startswith(f"experiments {', '.join(experiments)}; ")
        assert any(line.startswith("status: 0 done; 1 nothing") for line in lines)
    with pytest.raises(SystemExit):
        main(["paper", "report", "--help"])
    assert "'leastcut[paper]'" in capsys.readouterr().out


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder with the smallest of all experiments, and one dataset."""
    folder = tmp_path_factory.mktemp("example")
    what = ["--figure", "motivation", "--table", "datasets", "--datasets", "wine"]
    assert main(["paper", "run", *what, "--out", str(folder), "--jobs", "1"]) == 0
    return folder


@pytest.mark.parametrize(
    ("command", "package", "purpose"),
    [
        (["figure", "motivation"], "matplotlib", "Figures"),
        (["table", "datasets", "--format", "csv"], "pandas", "Tables in CSV"),
        (["table", "datasets", "--format", "latex"], "pandas", "Tables in LaTeX"),
        (["table", "datasets", "--format", "latex"], "jinja2", "Tables in LaTeX"),
        (["report"], "jinja2", "Pages"),
        (["report"], "matplotlib", "Figures"),
        (["run", "--table", "datasets", "--datasets", "iris"], "tqdm", "Progress bars"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    command, package, purpose, example, tmp_path, capsys, monkeypatch
):
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # how Python marks what cannot be imported
    assert main(["paper", *command, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"{purpose} need {package}, which is not installed" in error
    assert "pip install 'leastcut[paper]'" in error


@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_tables_to_read_need_no_other_package(form, example, capsys, monkeypatch):
    for package in ("matplotlib", "pandas", "jinja2", "tqdm"):
        monkeypatch.setitem(sys.modules, package, None)
    command = ["paper", "table", "datasets", "--format", form, "--out", str(example)]
    assert main(command) == 0
    assert "WINE" in capsys.readouterr().out


def test_a_package_that_misses_a_part_of_its_own_is_told_as_it_is():
    with (
        pytest.raises(ModuleNotFoundError, match="no_such_part"),
        needed_for("Pages", "jinja2", "paper"),
    ):
        raise ModuleNotFoundError("No module named 'no_such_part'", name="no_such_part")


def test_a_figure_is_drawn_as_png_and_svg_the_same_every_time(tmp_path, capsys):
    run = ["paper", "run", "--figure", "motivation", "--out", str(tmp_path), "--jobs", "1"]
    assert main(run) == 0
    for folder in ("a", "b"):
        command = ["paper", "figure", "motivation", "--out", str(tmp_path)]
        assert main([*command, "--to", str(tmp_path / folder)]) == 0
    assert (tmp_path / "a" / "motivation.png").read_bytes()[:4] == b"\x89PNG"
    first, second = (tmp_path / f / "motivation.svg" for f in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert str(first) in capsys.readouterr().out


def test_the_command_line_loads_nothing_before_it_is_needed():
    code = (
        "import sys, leastcut.cli; "
        "print([name for name in ('numba', 'matplotlib', 'sklearn', 'numpy', 'pandas', 'jinja2') "
        "if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_quick_run_needs_no_data_and_ends_with_a_report(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    assert main(["paper", "run", "--quick", "--out", str(tmp_path)]) == 0
    out, error = capsys.readouterr()
    assert "there already; records in" in out
    assert "Left out" not in error
    page = tmp_path / "page.md"
    assert main(["paper", "report", "--out", str(tmp_path), "--markdown", str(page)]) == 0
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    shown = ("datasets", "objective", "certificates", "accuracy", "nmi", "closest", "theorem1")
    for name in (*shown, "motivation"):
        assert f'<section id="{name}">' in html
    assert "## Objective values" in page.read_text(encoding="utf-8")
