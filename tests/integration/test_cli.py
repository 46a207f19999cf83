"""The command line: version, help, imports and missing packages."""

from __future__ import annotations

import subprocess
import sys

import pytest

import leastcut
from leastcut.cli import main
from leastcut.optional_packages import needed_for


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"leastcut {leastcut.__version__}\n"


@pytest.mark.parametrize("command", [[], ["cluster"], ["compare"], ["cut"], ["certify"], ["info"]])
def test_help(command, capsys):
    assert main([*command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "usage: leastcut" in out.lower()
    assert "bool" not in out.lower()


@pytest.mark.parametrize("command", ["cluster", "compare", "cut", "certify"])
def test_help_ends_with_examples(command, capsys):
    assert main([command, "--help"]) == 0
    _, heading, examples = capsys.readouterr().out.partition("\n Examples")
    assert heading
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    assert all(line.startswith(f"leastcut {command} ") for line in lines)


def test_the_reproduction_of_the_paper_is_not_a_command(capsys):
    assert main(["paper"]) == 2
    assert "No such command 'paper'" in capsys.readouterr().err


def test_a_missing_module_of_another_package_keeps_its_error():
    with (
        pytest.raises(ModuleNotFoundError, match="no_such_part"),
        needed_for("Reports", "jinja2", "report"),
    ):
        raise ModuleNotFoundError("No module named 'no_such_part'", name="no_such_part")


def test_the_command_line_imports_no_large_package():
    code = (
        "import sys, leastcut.cli; "
        "print([name for name in ('numba', 'matplotlib', 'sklearn', 'numpy', 'pandas', 'jinja2') "
        "if name in sys.modules])"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"
