"""Tables of the pages, generated from the records in ``benchmarks/results``.

A table is between ``<!-- NAME -->`` and ``<!-- end -->`` on its page. ``make pages`` writes the
tables, and a test compares the pages with the records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"

Tables = dict[str, dict[str, Callable[[], str]]]
"""By page and name of a table: the function that returns the table."""


@cache
def record(name: str) -> Any:
    """Return the recorded result of a benchmark."""
    text = (RESULTS / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)["result"]


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]], n_text: int = 1) -> str:
    """Return a Markdown table whose first ``n_text`` columns are text and the others numbers."""
    heads = list(heads)
    rule = "|---" * n_text + "|---:" * (len(heads) - n_text) + "|"
    first, *others = (f"| {' | '.join(row)} |" for row in (heads, *rows))
    return "\n".join([first, rule, *others]) + "\n"


def seconds(value: float | None) -> str:
    """Return seconds with two or three digits."""
    if value is None:
        return ""
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def renewed(page: str, tables: Tables) -> str:
    """Return the text of a page with the tables of the records."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, table in tables[page].items():
        pattern = re.compile(rf"(<!-- {name} -->\n)(?:.*\n)*?(<!-- end -->\n)")
        fresh = table()
        text, count = pattern.subn(lambda match, fresh=fresh: match[1] + fresh + match[2], text)
        if count != 1:
            raise ValueError(f"{page} must have one table {name!r}, but it has {count}.")
    return text


def write(tables: Tables) -> None:
    """Write the tables of the records into their pages."""
    for page in tables:
        (DOCS / page).write_text(renewed(page, tables), encoding="utf-8")
