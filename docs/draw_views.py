"""Renew the table of ``multiview.md`` from the record ``views.json`` of ``benchmarks/results``.

What it comes to is said below it, counted from the record.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "views.json"
PAGE = ROOT / "docs" / "multiview.md"
TABLE = re.compile(r"(<!-- views -->\n)(?:.*\n)*?(<!-- end -->\n)")
WAYS = {
    "best view": "best view",
    "mean": "mean graph",
    "AMGL": "AMGL",
    "partition_views": "**`partition_views`**",
}
"""What is compared, and what it is called on the page."""


def table(result: dict[str, Any]) -> str:
    """Return Σ√cut, NMI and accuracy of every way on every set."""
    heads = ["", "n, c", *WAYS.values(), "proven gap"]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(WAYS) + 1)]
    for name, row in result["sets"].items():
        ways = {way: scores for way, scores in row["ways"].items() if way in WAYS}
        cells = [_scores(ways[way]) if way in ways else _best(row) for way in WAYS]
        objective = row["ways"]["partition_views"]["objective"]
        gap = f"{1 - row['lower_bound'] / objective:.0%}"
        size = f"{row['n']:,}, {row['n_clusters']}"
        lines.append(
            f"| {name}: {', '.join(row['views'])} | {size} | {' | '.join(cells)} | {gap} |"
        )
    return "\n".join(lines) + "\n"


def counts(result: dict[str, Any]) -> str:
    """Return on how many sets NMI is above, as high as and below that of every other way."""
    sets, parts = result["sets"].values(), []
    for way, name in (("best view", "the best view"), ("mean", "the mean graph"), ("AMGL", "AMGL")):
        above = level = 0
        for row in sets:
            ways = row["ways"]
            others = [way] if way in ways else row["views"]
            own, other = ways["partition_views"]["nmi"], max(ways[one]["nmi"] for one in others)
            above, level = above + (own > other), level + (own == other)
        parts.append(f"{name} on {above}, {level}, {len(sets) - above - level}")
    return f"NMI is above, as high as, and below that of: {'; '.join(parts)} of {len(sets)} sets.\n"


def _scores(scores: dict[str, Any]) -> str:
    return f"{scores['objective']:.4f}, {scores['nmi']:.3f}, {scores['accuracy']:.3f}"


def _best(row: dict[str, Any]) -> str:
    """Return the best of single views in each number, which may be different views."""
    alone = [row["ways"][view] for view in row["views"]]
    best = {"objective": min(one["objective"] for one in alone)}
    best |= {score: max(one[score] for one in alone) for score in ("nmi", "accuracy")}
    return _scores(best)


def renewed(text: str) -> str:
    """Return the page with its table as the record is now."""
    result = json.loads(RECORD.read_text(encoding="utf-8"))["result"]
    fresh = f"{table(result)}\n{counts(result)}"
    text, count = TABLE.subn(lambda match: match[1] + fresh + match[2], text)
    if count != 1:
        raise ValueError(f"{PAGE.name} must have one mark 'views', and it has {count}.")
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
