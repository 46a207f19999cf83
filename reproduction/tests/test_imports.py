"""The reproduction imports only the public API of leastcut, and optional packages late."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leastcut
from reproduction.tests.helpers import ROOT

FOLDER = ROOT / "reproduction"
FILES = sorted(FOLDER.rglob("*.py"))
PUBLIC = set(dir(leastcut))
ORDER = ("files", "data", "datasets", "runs", "report", "__main__", "tests")
"""The parts of the package, each of which imports only from itself and earlier ones."""


def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports_of(path: Path) -> set[str]:
    """Return the absolute names of the modules and members that a file imports."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_only_public_names_of_the_library_are_used(path):
    for name in imports_of(path):
        package, *inside = name.split(".")
        if package == "leastcut":
            assert len(inside) <= 1, f"{path} imports {name}"
            assert set(inside) <= PUBLIC, f"{path} imports {name}"
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "leastcut":
            assert node.attr in PUBLIC, f"{path} uses leastcut.{node.attr}"
        # a module may also be imported by a string
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not re.fullmatch(r"leastcut(\.\w+)+", node.value), f"{path} has {node.value!r}"


def test_imports_of_private_names_are_detected(tmp_path):
    path = tmp_path / "bad.py"
    for line in (
        "from leastcut.problem import indicator",
        "import leastcut.problem",
        "from leastcut import cuts",
        "import leastcut; leastcut.problem.indicator",
        "import importlib; importlib.import_module('leastcut.problem')",
    ):
        path.write_text(line)
        with pytest.raises(AssertionError, match="bad"):
            test_only_public_names_of_the_library_are_used(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_modules_import_only_from_earlier_parts(path):
    part = path.relative_to(FOLDER).parts[0].removesuffix(".py")
    if part == "__init__":
        return
    for name in imports_of(path):
        package, *inside = name.split(".")
        if package == "reproduction":
            assert ORDER.index(inside[0]) <= ORDER.index(part), f"{path} imports {name}"


def test_the_library_does_not_import_the_reproduction():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) reproduction\b", text, re.MULTILINE), path


def test_importing_everything_loads_no_optional_package():
    optional = ("matplotlib", "jinja2", "pandas", "tqdm")
    code = (
        "import sys, reproduction.__main__; "
        f"print([name for name in {optional!r} if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "[]"
