"""Tables and quoted messages on the pages agree with the records and the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from docs import (
    draw_balance,
    draw_certificates,
    draw_large_data,
    draw_learned_graphs,
    draw_measured,
    draw_tables,
    draw_views,
)
from docs.tables import DOCS, renewed

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "leastcut"


TABLES = (
    draw_balance.TABLES
    | draw_certificates.TABLES
    | draw_large_data.TABLES
    | draw_learned_graphs.TABLES
    | draw_measured.TABLES
    | draw_tables.TABLES
    | draw_views.TABLES
)


@pytest.mark.parametrize("page", TABLES)
def test_tables_agree_with_the_records(page):
    assert renewed(page, TABLES) == (DOCS / page).read_text(encoding="utf-8")


def test_quoted_messages_are_raised_or_warned_somewhere():
    page = (ROOT / "docs" / "when_to_use.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| symptom .*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    quoted = [
        text for row in table.splitlines() for text in re.findall("`(.*?)`", row.split("|")[1])
    ]
    assert len(quoted) >= 10
    literals = [
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    missing = [text for text in quoted if not any(text in literal for literal in literals)]
    assert not missing
