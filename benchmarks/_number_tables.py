"""The tables of ``docs/number_of_clusters.md``, made of the stored results."""

from __future__ import annotations

from typing import Any

RULES = {
    "leastcut": "leastcut",
    "eigengap": "eigengap",
    "relative eigengap": "relative",
    "growth": "growth",
    "NME": "NME",
    "silhouette": "silhouette",
    "Leiden": "Leiden",
    "HDBSCAN": "HDBSCAN",
    "ratio": "leastcut, ratio cut",
}
"""The rules by their names in the results, and over their columns."""


def markdown_tables(result: dict[str, Any]) -> list[str]:
    """Return the tables of the half reported, of the half looked at, and of the real sets."""
    halves = [_percentages(result["tables"][half]) for half in ("reported", "looked_at")]
    return [*halves, _numbers(result["real"])]


def _percentages(table: dict[str, Any]) -> str:
    rows = [["sets", "", *RULES.values()], ["---", "--:", *["--:"] * len(RULES)]]
    for name, row in table.items():
        shown = ["–" if row[rule] is None else _both(row[rule]) for rule in RULES]
        rows.append([name, str(row["sets"]), *shown])
    return _joined(rows)


def _both(right_and_near: list[float]) -> str:
    return " / ".join(f"{value:.0f}" for value in right_and_near)


def _numbers(sets: list[dict[str, Any]]) -> str:
    rules = [rule for rule in RULES if rule != "ratio"]
    rows = [["set", "classes", *(RULES[rule] for rule in rules)], ["---", *["--:"] * 9]]
    for row in sets:
        shown = [_mark(row, rule) for rule in rules]
        rows.append([row["name"], str(row["number"]), *shown])
    return _joined(rows)


def _mark(row: dict[str, Any], rule: str) -> str:
    if row[rule] is None:
        return "–"
    weak = " (weak)" if rule == "leastcut" and row["is_weak"] else ""
    return f"{row[rule]}{weak}"


def _joined(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
