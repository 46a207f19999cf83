"""Renew the tables of ``balance.md`` from the record ``benchmarks/results/balance.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "balance.json"
PAGE = ROOT / "docs" / "balance.md"
GAMES = ("edge cut", "normalized cut")
HALVES = {"chosen on": True, "held out": False}


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; all columns but the first are numbers."""
    heads = list(heads)
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def methods(rows: list[dict[str, Any]]) -> str:
    """Every method beside the best of all, by game and half of the graphs."""
    names = sorted(
        dict.fromkeys(name for row in rows for name in row["methods"]),
        key=lambda name: not name.startswith("leastcut"),
    )
    table = []
    for name in names:
        cells = [_cell(rows, name, game, half) for game in GAMES for half in HALVES.values()]
        own = [row["methods"][name] for row in rows if name in row["methods"]]
        broken = sum(not found["is_balanced"] for found in own)
        table.append([name, *cells, f"{broken} of {len(own)}"])
    heads = [f"{game}, {half}" for game in GAMES for half in HALVES]
    return markdown(["", *heads, "above the limit"], table)


def _cell(rows: list[dict[str, Any]], name: str, game: str, half: bool) -> str:
    """Return the excess over the best of all, geometric mean, and the mean of seconds."""
    ratios, times = [], []
    for row in rows:
        found = row["methods"].get(name)
        if row["game"] != game or row["was_looked_at"] is not half or found is None:
            continue
        times.append(found["seconds"])
        if found["is_balanced"]:
            ratios.append(found[game] / _best(row, "", game))
    if not ratios:
        return "–"
    excess = 100 * (float(np.exp(np.mean(np.log(ratios)))) - 1)
    return f"{excess:.1f}%, {np.mean(times):.2f} s"


def _best(row: dict[str, Any], program: str, game: str) -> float:
    return float(
        min(
            found[game]
            for name, found in row["methods"].items()
            if name.startswith(program) and found["is_balanced"]
        )
    )


def edges(rows: list[dict[str, Any]]) -> str:
    """Our edge cut over KaHIP's, graph by graph."""
    rows = [row for row in rows if row["game"] == "edge cut"]
    cases = sorted({(row["balance"], row["n_clusters"]) for row in rows})
    at = {(row["graph"], row["balance"], row["n_clusters"]): row for row in rows}
    table = []
    for half, looked in HALVES.items():
        for graph in dict.fromkeys(row["graph"] for row in rows if row["was_looked_at"] is looked):
            cells = [_over(at.get((graph, *case))) for case in cases]
            table.append([f"{graph}, {half}", *cells])
    heads = [f"{c} clusters, {balance:g}" for balance, c in cases]
    return markdown(["", *heads], table)


def _over(row: dict[str, Any] | None) -> str:
    """Return the ratio, or a dash where the case is impossible or KaHIP broke the limit."""
    if row is None or not any(
        found["is_balanced"] for name, found in row["methods"].items() if name.startswith("KaHIP")
    ):
        return "–"
    ours = row["methods"]["leastcut, balanced"]["edge cut"]
    return f"{ours / _best(row, 'KaHIP', 'edge cut'):.3f}"


TABLES: dict[str, Callable[[list[dict[str, Any]]], str]] = {"methods": methods, "edges": edges}
"""The mark that a table stands behind, and who makes it."""


def renewed(text: str) -> str:
    """Return the page with every table as the record is now."""
    there = RECORD.exists()
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["result"]["rows"] if there else []
    for mark, table in TABLES.items():
        pattern = re.compile(rf"(<!-- {mark} -->\n)(?:.*\n)*?(<!-- end -->\n)")
        fresh = table(rows) if there else "Not measured yet.\n"
        text, count = pattern.subn(lambda match, fresh=fresh: match[1] + fresh + match[2], text)
        if count != 1:
            raise ValueError(f"{PAGE.name} must have one mark {mark!r}, and it has {count}.")
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
