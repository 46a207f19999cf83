"""Update the table of ``multiview.md`` from ``benchmarks/results/views.json``."""

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
"""The methods that are compared, and their names on the page."""


def table(result: dict[str, Any]) -> str:
    """Return objective and NMI of every method on every dataset, and the proven gap."""
    heads = ["dataset: views", "samples, clusters", *WAYS.values(), "proven gap"]
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
    """Return on how many datasets the NMI is higher than another method's, and lower."""
    sets, parts = result["sets"].values(), []
    for way, name in (("best view", "the best view"), ("mean", "the mean graph"), ("AMGL", "AMGL")):
        higher = lower = 0
        for row in sets:
            ways = row["ways"]
            others = [way] if way in ways else row["views"]
            ours, other = ways["partition_views"]["nmi"], max(ways[one]["nmi"] for one in others)
            higher, lower = higher + (ours > other), lower + (ours < other)
        parts.append(f"{name} on {higher} ({lower})")
    return (
        f"Of {len(sets)} datasets, the NMI of `partition_views` is higher (lower) than that of "
        f"{', that of '.join(parts)}.\n"
    )


def _scores(scores: dict[str, Any]) -> str:
    return f"{scores['objective']:.4f}, {scores['nmi']:.3f}"


def _best(row: dict[str, Any]) -> str:
    """Return the best of the single views in each number, possibly of different views."""
    views = [row["ways"][view] for view in row["views"]]
    best = {"objective": min(view["objective"] for view in views)}
    return _scores(best | {"nmi": max(view["nmi"] for view in views)})


def renewed(text: str) -> str:
    """Return the page with the table of the record."""
    result = json.loads(RECORD.read_text(encoding="utf-8"))["result"]
    fresh = f"{table(result)}\n{counts(result)}"
    text, count = TABLE.subn(lambda match: match[1] + fresh + match[2], text)
    if count != 1:
        raise ValueError(f"{PAGE.name} must have one mark 'views', and it has {count}.")
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
