"""Update the tables of ``balance.md`` from the record ``benchmarks/results/balance.json``."""

from __future__ import annotations

from typing import Any

import numpy as np
from docs.tables import Tables, markdown, record, write

OBJECTIVES = ("edge cut", "normalized cut")
HALVES = {"tuned on": True, "held out": False}
"""The graphs that parameters were tuned on, and the others."""

NAMES = {"KaHIP, STRONG": "KaHIP, STRONG (meshes)"}
"""Names of rows that need more than the name of the method."""


def methods() -> str:
    """Compare every method with the best result, by objective and half of the graphs."""
    rows = record("balance")["rows"]
    names = sorted(
        dict.fromkeys(name for row in rows for name in row["methods"]),
        key=lambda name: not name.startswith("leastcut"),
    )
    table = []
    for name in names:
        cells = [
            _cell(rows, name, objective, half)
            for objective in OBJECTIVES
            for half in HALVES.values()
        ]
        results = [row["methods"][name] for row in rows if name in row["methods"]]
        violations = sum(not result["is_balanced"] for result in results)
        table.append([NAMES.get(name, name), *cells, f"{violations} of {len(results)}"])
    heads = [f"{objective}, {half}" for objective in OBJECTIVES for half in HALVES]
    return markdown(["", *heads, "limit violated"], table)


def _cell(rows: list[dict[str, Any]], name: str, objective: str, half: bool) -> str:
    """Return the excess over the best result (geometric mean) and the mean of the seconds."""
    ratios, times = [], []
    for row in rows:
        result = row["methods"].get(name)
        if row["game"] != objective or row["was_looked_at"] is not half or result is None:
            continue
        times.append(result["seconds"])
        if result["is_balanced"]:
            ratios.append(result[objective] / _best(row, "", objective))
    if not ratios:
        return "–"
    excess = 100 * (float(np.exp(np.mean(np.log(ratios)))) - 1)
    return f"{excess:.1f}%, {np.mean(times):.2f} s"


def _best(row: dict[str, Any], program: str, objective: str) -> float:
    """Return the smallest cut of a program's methods that satisfies the limit."""
    return float(
        min(
            result[objective]
            for name, result in row["methods"].items()
            if name.startswith(program) and result["is_balanced"]
        )
    )


def edges() -> str:
    """Return how often the edge cut is smaller than KaHIP's, and how much larger at worst."""
    ratios = []
    for row in record("balance")["rows"]:
        methods = row["methods"].items()
        if row["game"] == "edge cut" and any(
            result["is_balanced"] for name, result in methods if name.startswith("KaHIP")
        ):
            value = row["methods"]["leastcut, balanced"]["edge cut"]
            ratios.append(value / _best(row, "KaHIP", "edge cut"))
    smaller, larger = sum(ratio < 1 for ratio in ratios), sum(ratio > 1 for ratio in ratios)
    return (
        f"Compared with the best of KaHIP's modes in each of {len(ratios)} cases, the edge cut of "
        f'`effort="balanced"` is smaller in {smaller} and larger in {larger}, by at most '
        f"{100 * (1 - min(ratios)):.1f}% and {100 * (max(ratios) - 1):.1f}%.\n"
    )


TABLES: Tables = {"balance.md": {"methods": methods, "edges": edges}}


if __name__ == "__main__":
    write(TABLES)
