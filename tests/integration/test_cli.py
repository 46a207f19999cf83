"""The command line: its version, its help, what it loads, and packages that are missing."""

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
    assert "usage: leastcut" in capsys.readouterr().out.lower()


def test_the_reproduction_of_the_paper_is_no_command(capsys):
    assert main(["paper"]) == 2
    assert "No such command 'paper'" in capsys.readouterr().err


def test_a_package_that_misses_a_part_of_its_own_is_told_as_it_is():
    with (
        pytest.raises(ModuleNotFoundError, match="no_such_part"),
        needed_for("Pages", "jinja2", "report"),
    ):
        raise ModuleNotFoundError("No module named 'no_such_part'", name="no_such_part")


def test_the_command_line_loads_nothing_before_it_is_needed():
    code = (
        "import sys, leastcut.cli; "
        "print([name for name in ('numba', 'matplotlib', 'sklearn', 'numpy', 'pandas', 'jinja2') "
        "if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
