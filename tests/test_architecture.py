"""The house: who may import whom, what an import loads, and an install that cannot be written."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import firstcut

SOURCE = Path(firstcut.__file__).parent
ANYWHERE = {"inputs", "threads"}
"""Modules that know nothing of graphs and may be used in every room."""

ROOMS = {
    "kernels": set(),
    "graph": set(),
    "pairs": set(),
    "neighbors": {"pairs"},
    "affinity": {"neighbors"},
    "cuts": {"graph"},
    "krylov": set(),
    "components": {"eigensolvers"},
    "eigensolvers": {"krylov"},
    "relaxation": {"graph", "cuts", "components", "eigensolvers"},
    "discretizers": {"kernels", "relaxation"},
    "discretization": {"graph", "cuts", "relaxation", "discretizers"},
    "result": set(),
    "metrics": set(),
}
"""What each room may import, besides ANYWHERE and itself."""

SEARCHERS = {"direct", "exact", "partitioning"}
MAY_SEARCH = {*ROOMS, *SEARCHERS} - {"affinity", "neighbors", "metrics"}
PUBLIC_ONLY = {"paper", "datasets", "cli"}

THIRD_PARTIES = {
    "numba": {"kernels"},
    "matplotlib": {"paper"},
    "sklearn": {"neighbors", "affinity", "discretizers", "metrics", "datasets", "estimator"},
}


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Every absolute module name that a file imports anywhere, type-checking blocks included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_downwards(path):
    room = room_of(path)
    inside = {name.split(".")[1] for name in imports_of(path) if name.startswith("firstcut.")}
    inside -= {room, *ANYWHERE}
    if room in PUBLIC_ONLY:
        assert inside <= {*PUBLIC_ONLY, *firstcut.__all__}
    elif room == "estimator":
        assert "kernels" not in inside
        assert not inside & PUBLIC_ONLY
    elif room in SEARCHERS:
        assert inside <= MAY_SEARCH
    elif room not in ANYWHERE:
        assert inside <= ROOMS[room]
    else:
        assert not inside


@pytest.mark.parametrize("package", THIRD_PARTIES)
def test_third_parties_stay_in_their_rooms(package):
    users = {
        room_of(path)
        for path in FILES
        if any(name.split(".")[0] == package for name in imports_of(path))
    }
    assert users <= THIRD_PARTIES[package]


def test_discretizers_know_sklearn_in_kmeans_only():
    users = {
        path.name
        for path in (SOURCE / "discretizers").glob("*.py")
        if any(name.startswith("sklearn") for name in imports_of(path))
    }
    assert users == {"kmeans.py"}


def test_public_names_are_listed_once_for_people_and_once_for_type_checkers():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.asname: statement.module.removeprefix("firstcut.")
        for statement in block.body
        for alias in statement.names
        if statement.module != "firstcut"
    }
    assert typed == firstcut._HOMES
    for name in firstcut.__all__:
        assert getattr(firstcut, name) is not None
    assert set(firstcut.__all__) <= set(dir(firstcut))
    with pytest.raises(AttributeError, match="has no attribute 'cut_valeu'"):
        _ = firstcut.cut_valeu


def test_import_is_light():
    heavy = ["numba", "matplotlib", "pandas", "sklearn", "scipy", "dask"]
    code = f"import sys, firstcut; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_read_only_install_without_a_home(tmp_path):
    """Numba has nowhere to keep its machine code; the answer must come all the same."""
    package = tmp_path / "firstcut"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # a file in its place stops even root from writing there
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import numpy as np, firstcut
        from firstcut.kernels.sweep import sweep
        assert firstcut.__file__.startswith({str(package)!r})
        S = np.kron(np.eye(2), np.ones((3, 3))) + 0.1
        found = firstcut.discretize(firstcut.relax(S, 2, random_state=0), graph=S, random_state=0)
        print(type(sweep._cache).__name__, found.cut_value)
        """
    )
    cleared = {"XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "PYTHONPATH"}
    environment = {key: value for key, value in os.environ.items() if key not in cleared}
    environment |= {"HOME": "/proc/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    name, value = done.stdout.split()
    assert name == "NullCache"
    assert float(value) == pytest.approx(1 / 6)
