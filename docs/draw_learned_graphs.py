"""Update the tables of ``learned_graphs.md`` from ``benchmarks/results/learned_graphs.json``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "learned_graphs.json"
PAGE = ROOT / "docs" / "learned_graphs.md"

COLUMNS = {
    "plain cut": "ratio cut",
    "learned, multilevel": "learned",
    "learned, spectral": "learned, eigenvectors",
    "CAN, as described": "CAN, as published",
    "nearest l2, multilevel": "nearest, ℓ2",
    "nearest l1, multilevel": "nearest, ℓ1",
}
"""The methods of the record that are shown, and the heads of their columns."""


def agreement(result: dict[str, Any]) -> str:
    """Return the NMI of every method on every dataset as a table."""
    lines = [
        f"| dataset | clusters | {' | '.join(COLUMNS.values())} |",
        "|---" + "|---:" * (1 + len(COLUMNS)) + "|",
    ]
    for row in result["rows"]:
        methods = {name: row["methods"][name] for name in COLUMNS if name in row["methods"]}
        best = max(scores["nmi"] for scores in methods.values())
        cells = [_cell(methods[name], row, best) if name in methods else "–" for name in COLUMNS]
        star = "" if row["looked_at"] else " *"
        lines.append(f"| {row['data']}{star} | {row['n_clusters']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(scores: dict[str, Any], row: dict[str, Any], best: float) -> str:
    text = f"{100 * scores['nmi']:.1f}"
    text = f"**{text}**" if scores["nmi"] == best else text
    # The number of components, if it is not the number of clusters.
    count = scores.get("n_components", row["n_clusters"])
    return text if count == row["n_clusters"] else f"{text} ({count})"


def summary(result: dict[str, Any]) -> str:
    """Return counts of components, wins and losses, and seconds, as a list."""
    rows = result["rows"]
    runs = [
        scores
        for row in rows
        for name, scores in row["methods"].items()
        if "n_iter" in scores and name != "CAN, as described"
    ]
    exact = sum(scores["converged"] for scores in runs)
    many = result["many"]
    lines = [
        f"- Exactly c components in {exact} of {len(runs)} runs, after at most "
        f"{max(scores['n_iter'] for scores in runs)} iterations.",
        f"- NMI of the learned graph: {_compared(rows, 'learned, multilevel', 'plain cut')} the "
        f"ratio cut; {_compared(rows, 'learned, multilevel', 'CAN, as described')} CAN.",
        f"- {many['n']:,} samples of {many['n_features']} features take {many['seconds']:.0f} s "
        f"on 2 cores, of which {many['seconds_of_neighbors']:.0f} s for neighbors.",
    ]
    return "\n".join(lines) + "\n"


def _compared(rows: list[dict[str, Any]], name: str, other: str) -> str:
    """Return on how many sets a method has more NMI than another, and on how many less."""
    pairs = [
        (row["methods"][name]["nmi"], row["methods"][other]["nmi"])
        for row in rows
        if other in row["methods"]
    ]
    above = sum(left > right for left, right in pairs)
    below = sum(left < right for left, right in pairs)
    return f"higher on {above} and lower on {below} of {len(pairs)} sets than"


TABLES = {"agreement": agreement, "summary": summary}
"""The comment that precedes a part, and the function that makes the part."""


def renewed(text: str) -> str:
    """Return the page with the parts of the record."""
    result = json.loads(RECORD.read_text(encoding="utf-8"))["result"]
    for mark, part in TABLES.items():
        pattern = re.compile(rf"(<!-- {mark} -->\n)(?:.*\n)*?(<!-- end -->\n)")
        fresh = part(result)
        text, count = pattern.subn(lambda match, fresh=fresh: match[1] + fresh + match[2], text)
        if count != 1:
            raise ValueError(f"{PAGE.name} must have one mark {mark!r}, and it has {count}.")
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
