"""The imports of every module of the package, read from the source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import leastcut

SOURCE = Path(leastcut.__file__).parent
PUBLIC = {name for name in dir(leastcut) if not name.startswith("__")}
"""The public names, including those that ``import *`` omits."""

FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def module_of(path: Path) -> str:
    """Return the name by which a file is imported."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the full names of all modules and attributes that a file imports."""
    result = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            result |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(result)


def modules_imported(path: Path) -> set[str]:
    """Return the modules of this package that a file imports."""
    result = set()
    for name in imports_of(path):
        while name not in MODULES and "." in name:
            name = name.rpartition(".")[0]
        if name in MODULES:
            result.add(name)
    return result - {module_of(path)}
