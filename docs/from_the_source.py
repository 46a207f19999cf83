"""Copy sources and names into the pages that show them.

In ``extending.md`` a comment ``<!-- source: FILE -->`` or ``<!-- source: FILE NAME -->`` precedes a
block of code, which becomes the file, or its definition of NAME. In ``names.md`` a comment
``<!-- names: REGISTRY -->`` precedes a table, which becomes one row per name in that dict. ``make
pages`` runs this, and a test compares the pages with the source.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leastcut
from leastcut.multilevel.coarsening import COARSENING_RULES
from leastcut.spectral.discretizers import options_of

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "extending.md", ROOT / "docs" / "names.md")
BLOCK = re.compile(r"(<!-- source: (\S+?)(?: (\w+))? -->\n)```python\n.*?\n```\n", re.DOTALL)
TABLE = re.compile(r"(<!-- names: (\w+) -->\n)(?:\|.*\n)*")


def source(file: str, name: str | None) -> str:
    """Return a file, or its definition of a name with the docstring that follows."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if name is None:
        return text.rstrip("\n")
    body = ast.parse(text).body
    for i, node in enumerate(body):
        targets = [getattr(node, "name", None), getattr(getattr(node, "target", None), "id", None)]
        if name in targets:
            following = body[i + 1] if i + 1 < len(body) else None
            last = node
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                last = following
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            return "\n".join(text.splitlines()[first - 1 : last.end_lineno])
    raise ValueError(f"{file} does not define {name}.")


def _summary(part: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(part) or "").splitlines()[0]


def _options(options: dict[str, Any]) -> str:
    return ", ".join(f"`{name}={default!r}`" for name, default in options.items()) or "none"


def _affinity(name: str) -> tuple[str, ...]:
    affinity = leastcut.AFFINITIES[name]
    return affinity.takes, _options(affinity.parameters)


def _discretizer(name: str) -> tuple[str, ...]:
    return _summary(leastcut.DISCRETIZERS[name]), _options(options_of(name))


def _effort(name: str) -> tuple[str, ...]:
    effort = leastcut.EFFORTS[name]
    return " → ".join(effort.stages), " + ".join(effort.coarsening)


def _cut(name: str) -> tuple[str, ...]:
    cut = leastcut.CUTS[name]
    terms = [f"{cut.constant:g}"] if cut.constant else []
    terms += [f"{cut.per_degree:g} × degree".removeprefix("1 × ")] if cut.per_degree else []
    return (" + ".join(terms),)


REGISTRIES: dict[str, tuple[dict[str, Any], tuple[str, ...], Callable[[str], tuple[str, ...]]]] = {
    "AFFINITIES": (leastcut.AFFINITIES, ("X is", "parameters"), _affinity),
    "EIGENSOLVERS": (
        leastcut.EIGENSOLVERS,
        ("what it does",),
        lambda name: (_summary(leastcut.EIGENSOLVERS[name]),),
    ),
    "DISCRETIZERS": (leastcut.DISCRETIZERS, ("what it does", "options"), _discretizer),
    "EFFORTS": (leastcut.EFFORTS, ("stages", "coarsening rules"), _effort),
    "COARSENING_RULES": (
        COARSENING_RULES,
        ("what it does",),
        lambda name: (_summary(COARSENING_RULES[name]),),
    ),
    "CUTS": (leastcut.CUTS, ("weight of a node",), _cut),
}
"""The registries, the heads of the columns after the name, and functions that return rows."""


def table(registry: str) -> str:
    """Return a registry as a Markdown table."""
    names, heads, row = REGISTRIES[registry]
    lines = [f"| name | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for name in names:
        cells = (cell.replace("|", "\\|") for cell in row(name))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def renewed(page: str) -> str:
    """Return a page with the current sources and tables."""
    page = BLOCK.sub(
        lambda match: f"{match[1]}```python\n{source(match[2], match[3])}\n```\n", page
    )
    return TABLE.sub(lambda match: match[1] + table(match[2]), page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
