"""Put the real source into docs/extending.md, so that the page cannot fall behind it.

A comment ``<!-- source: FILE -->`` or ``<!-- source: FILE NAME -->`` stands before a block of code;
the block becomes the file, or the statement in it that defines NAME with the text that follows it.
``make docs`` runs this, and a test fails where the page and the source differ.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "extending.md"
BLOCK = re.compile(r"(<!-- source: (\S+?)(?: (\w+))? -->\n)```python\n.*?\n```\n", re.DOTALL)


def source(file: str, name: str | None) -> str:
    """Return a file, or the definition of a name in it, with the docstring that follows."""
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


def included(page: str) -> str:
    """Return the page with every block as the source is now."""
    return BLOCK.sub(
        lambda found: f"{found[1]}```python\n{source(found[2], found[3])}\n```\n", page
    )


if __name__ == "__main__":
    PAGE.write_text(included(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
