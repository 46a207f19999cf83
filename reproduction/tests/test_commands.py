"""The command line: help, errors in one line, exit statuses and required packages."""

from __future__ import annotations

import shutil
import sys
from itertools import pairwise

import pytest

from reproduction.__main__ import main
from reproduction.runs.experiments import (
    EXPERIMENTS_OF_FIGURE,
    EXPERIMENTS_OF_TABLE,
    Scope,
    cells,
)
from reproduction.tests.helpers import status_of


@pytest.mark.parametrize("command", [[], ["run"], ["table"], ["figure"], ["report"]])
def test_help_has_usage_and_exit_statuses(command, capsys):
    assert status_of([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: {' '.join(['python -m reproduction', *command])} ")
    assert "status: 0 success; 1 no result" in text


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["run"], "Select what to run: --all, --quick, --table datasets | tiny"),
        (["run", "--table", "nothing"], "--table: invalid choice: 'nothing' (choose from"),
        (["run", "--figure", "nothing"], "--figure: invalid choice: 'nothing' (choose from"),
        (["run", "--all", "--datasets", "mnist"], "--datasets: invalid choice: 'mnist'"),
        (["run", "--all", "--seeds", "0"], "--seeds: '0' is not a positive integer"),
        (["run", "--all", "--jobs", "0"], "--jobs: '0' is not a positive integer"),
        (["run", "--all", "--time-limit", "-1"], "'-1' is not a nonnegative finite number"),
        (["table", "nothing"], "invalid choice: 'nothing'"),
        (["table", "tiny", "--format", "pdf"], "--format: invalid choice: 'pdf'"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(command, words, tmp_path, capsys):
    assert status_of([*command, "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["table", "tiny"], "with 'python -m reproduction run --table tiny --out"),
        (["figure", "closest"], "with 'python -m reproduction run --figure closest --out"),
        (["report"], "with 'python -m reproduction run --quick --out"),
        (["run", "--table", "datasets", "--datasets", "jaffe"], "none of the datasets was found"),
    ],
)
def test_without_a_result_the_status_is_1(command, words, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main([*command, "--out", str(tmp_path)]) == 1
    assert words in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.*"))


def test_an_error_shows_its_traceback_with_debug_only(tmp_path, capsys):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "wine.jsonl").write_text("gibberish\n")
    command = ["table", "datasets", "--out", str(tmp_path)]
    assert main(command) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert main([*command, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_table_without_runs_on_the_selected_datasets_names_those_it_needs(tmp_path, capsys):
    assert cells(EXPERIMENTS_OF_TABLE["tiny"], Scope(("iris",))) == []
    run = ["run", "--table", "tiny", "--datasets", "iris", "--out", str(tmp_path)]
    assert main(run) == 1
    error = capsys.readouterr().err
    assert "Nothing to run for the table 'tiny': it needs usps, but the selected" in error
    assert error.endswith("reproduction: Nothing to run.\n")
    # the other table runs
    assert main([*run[:2], "datasets", *run[2:], "--jobs", "1"]) == 0
    assert "for the table 'tiny'" in capsys.readouterr().err


def test_help_lists_tables_and_figures_with_their_experiments(capsys):
    for action, registries in (
        ("run", (EXPERIMENTS_OF_TABLE, EXPERIMENTS_OF_FIGURE)),
        ("table", (EXPERIMENTS_OF_TABLE,)),
        ("figure", (EXPERIMENTS_OF_FIGURE,)),
    ):
        assert status_of([action, "--help"]) == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        for registry in registries:
            for name, experiments in registry.items():
                needed = f"experiments {', '.join(experiments)}; "
                pairs = [
                    (line, after) for line, after in pairwise(lines) if line.split()[:1] == [name]
                ]
                assert sum(after.startswith("experiments ") for _, after in pairs) == 1
                assert sum(after.startswith(needed) for _, after in pairs) == 1
        assert any("pip install --editable '.[paper]'" in line for line in lines)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Return a folder with the records of the smallest experiment and of one dataset."""
    folder = tmp_path_factory.mktemp("example")
    what = ["--figure", "motivation", "--table", "datasets", "--datasets", "wine"]
    assert main(["run", *what, "--out", str(folder), "--jobs", "1"]) == 0
    return folder


@pytest.mark.parametrize(
    ("command", "package"),
    [
        (["figure", "motivation"], "matplotlib"),
        (["table", "datasets", "--format", "csv"], "pandas"),
        (["table", "datasets", "--format", "latex"], "pandas"),
        (["table", "datasets", "--format", "latex"], "jinja2"),
        (["report"], "jinja2"),
        (["report"], "matplotlib"),
        (["run", "--table", "datasets", "--datasets", "iris"], "tqdm"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    command, package, example, tmp_path, capsys, monkeypatch
):
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # makes the import fail
    assert main([*command, "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert package in line
    assert "; pip install --editable '.[paper]' installs it." in line


@pytest.mark.parametrize("kind", ["terminal", "markdown"])
def test_terminal_and_markdown_tables_need_no_optional_package(kind, example, capsys, monkeypatch):
    for package in ("matplotlib", "pandas", "jinja2", "tqdm"):
        monkeypatch.setitem(sys.modules, package, None)
    assert main(["table", "datasets", "--format", kind, "--out", str(example)]) == 0
    assert "WINE" in capsys.readouterr().out


def test_a_figure_is_saved_as_png_and_svg_reproducibly(example, tmp_path, capsys):
    for folder in ("a", "b"):
        command = ["figure", "motivation", "--out", str(example)]
        assert main([*command, "--to", str(tmp_path / folder)]) == 0
    assert (tmp_path / "a" / "motivation.png").read_bytes()[:4] == b"\x89PNG"
    first, second = (tmp_path / f / "motivation.svg" for f in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert str(first) in capsys.readouterr().out


@pytest.mark.slow
def test_the_quick_run_needs_no_data_and_ends_with_a_report(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LEASTCUT_DATA", raising=False)
    assert main(["run", "--quick", "--out", str(tmp_path)]) == 0
    out, error = capsys.readouterr()
    assert "already recorded; records in" in out
    assert "Left out" not in error
    page = tmp_path / "page.md"
    assert main(["report", "--out", str(tmp_path), "--markdown", str(page)]) == 0
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    shown = ("datasets", "objective", "certificates", "accuracy", "nmi", "closest", "theorem1")
    for name in (*shown, "motivation"):
        assert f'<section id="{name}">' in html
    assert "## Objective values" in page.read_text(encoding="utf-8")
