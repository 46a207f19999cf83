"""The scripts of the gallery run, and each creates a figure."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
FEW_POINTS = 20_000
"""Number of points for the example with a million points."""


def packages(script: Path) -> set[str]:
    """Return the packages that a script imports."""
    names = set()
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names - {"leastcut", *sys.stdlib_module_names}


def test_there_are_at_least_eight_examples():
    assert len(SCRIPTS) >= 8


@pytest.mark.sampled(4)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_an_example_creates_one_figure(script, monkeypatch, tmp_path):
    for package in packages(script):
        pytest.importorskip(package)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.setenv("LEASTCUT_EXAMPLE_POINTS", str(FEW_POINTS))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    (number,) = plt.get_fignums()
    plt.figure(number).savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_is_short(script):
    text = script.read_text(encoding="utf-8")
    title, rule, *_, end = ast.get_docstring(ast.parse(text)).splitlines()
    assert len(rule) >= len(title)
    assert set(rule) == {"="}
    assert end.endswith(".")
    assert re.search(r"^# %%$", text, re.MULTILINE)
    assert text.rstrip().endswith("plt.show()")
    assert len(text.splitlines()) <= 75


def test_the_demo_prints_its_tables(capsys, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "argv", ["compare_methods.py", str(tmp_path / "out" / "digits.png")])
    runpy.run_path(str(EXAMPLES / "compare_methods.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.count("lower bound ") == 4
    assert printed.count("partition  ") == 4
    assert (tmp_path / "out" / "digits.png").exists()
