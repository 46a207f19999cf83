"""The three rooms of the reproduction: imports go downwards, never in a circle, and stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from imports import MODULES, PUBLIC, SOURCE, imports_of, modules_imported

ROOMS = ("data", "runs", "report")
"""Every room may import from itself and from those before it."""

OUTSIDE = {
    "leastcut.validation",
    "leastcut.threads",
    "leastcut.optional_packages",
    "leastcut.page_design.figures",
    "leastcut.page_design.numbers",
    "leastcut.page_design.palette",
    "leastcut.page_design.templating",
    "leastcut.files.mat_files",
    "leastcut.files.whole_files",
    "leastcut.cuts.indicator",
}
OUTSIDE |= {"leastcut.short_reprs", "leastcut.notebook", "leastcut.progress"}
"""What the reproduction may use of the package besides its public names."""


FILES = {module: path for module, path in MODULES.items() if module.startswith("leastcut.paper")}


def inside(path: Path) -> set[str]:
    """The modules of the reproduction that a file imports."""
    return {name for name in modules_imported(path) if name.startswith("leastcut.paper")}


def room_of(module: str) -> str:
    return module.split(".")[2] if module.count(".") >= 2 else ""


def test_there_are_three_rooms():
    folders = {path.name for path in (SOURCE / "paper").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == set(ROOMS)


@pytest.mark.parametrize("module", FILES)
def test_imports_go_downwards(module):
    room = room_of(module)
    above = ROOMS[: ROOMS.index(room) + 1] if room in ROOMS else ()
    for used in inside(FILES[module]):
        assert room_of(used) in above, f"{module} imports {used}"


@pytest.mark.parametrize("module", FILES)
def test_of_the_package_only_public_names_are_used(module):
    public = {f"leastcut.{name}" for name in PUBLIC}
    for name in imports_of(FILES[module]):
        if name.startswith("leastcut.") and not name.startswith("leastcut.paper"):
            assert name in public | OUTSIDE or name.rpartition(".")[0] in OUTSIDE, (
                f"{module} imports {name}"
            )


def test_the_doors_are_used_from_outside_only():
    for module, path in FILES.items():
        doors = {name for name in imports_of(path) if name.startswith("leastcut.datasets")}
        assert not doors, f"{module} goes through the public door"


def test_importing_everything_loads_no_optional_package():
    optional = ("matplotlib", "jinja2", "pandas", "tqdm")
    code = (
        "import importlib, sys\n"
        f"for name in {list(FILES)!r}: importlib.import_module(name)\n"
        f"print([name for name in {optional!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_module_says_what_it_is():
    for module, path in FILES.items():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), module
