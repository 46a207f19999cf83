"""Renew the tables of ``learned_graphs.md`` from ``benchmarks/results/learned_graphs.json``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "learned_graphs.json"
PAGE = ROOT / "docs" / "learned_graphs.md"

COLUMNS = {
    "plain cut": "plain cut",
    "learned, multilevel": "learned",
    "learned, spectral": "learned, by eigenvectors",
    "CAN, as described": "CAN, as described",
    "nearest l2, multilevel": "nearest ℓ2",
    "nearest l1, multilevel": "nearest ℓ1",
    "nearest l2, spectral": "ℓ2, by eigenvectors",
    "nearest l1, spectral": "ℓ1, by eigenvectors",
}
"""The methods of the record, in order, and the heads of their columns."""


def agreement(result: dict[str, Any]) -> str:
    """Accuracy and NMI of every method on every set."""
    lines = [
        f"| | c | {' | '.join(COLUMNS.values())} |",
        "|---" + "|---:" * (1 + len(COLUMNS)) + "|",
    ]
    for row in result["rows"]:
        methods = row["methods"]
        best = max(told["nmi"] for told in methods.values())
        cells = [_cell(methods[name], row, best) if name in methods else "" for name in COLUMNS]
        mark = "" if row["looked_at"] else " *"
        lines.append(f"| {row['data']}{mark} | {row['n_clusters']} | {' | '.join(cells)} |")
    for row in result["shapes"]:
        cells = [f"{100 * row['methods'][name]['accuracy']:.1f}" for name in COLUMNS]
        lines.append(f"| {row['drawn']} {row['data']} | 2 | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(told: dict[str, Any], row: dict[str, Any], best: float) -> str:
    text = f"{100 * told['accuracy']:.1f} / {100 * told['nmi']:.1f}"
    text = f"**{text}**" if told["nmi"] == best else text
    # Other components than clusters are told.
    count = told.get("n_components", row["n_clusters"])
    return text if count == row["n_clusters"] else f"{text} ({count})"


def summary(result: dict[str, Any]) -> str:
    """What can be counted: components, turns, seconds, and who is ahead of whom."""
    rows = result["rows"]
    described = [row["methods"].get("CAN, as described") for row in rows]
    described = [told for told in described if told is not None]
    runs = [
        told
        for row in rows
        for name, told in row["methods"].items()
        if "n_iter" in told and name != "CAN, as described"
    ]
    exact = sum(told["converged"] for told in runs)
    turns = [told["n_iter"] for told in runs]
    lines = [
        f"- Exactly c components in {exact} of {len(runs)} runs, after {min(turns)} to "
        f"{max(turns)} turns; CAN as described ends with exactly c in "
        f"{sum(told['converged'] for told in described)} of {len(described)}."
    ]
    for name, other, words in (
        ("learned, multilevel", "plain cut", "The learned graph agrees"),
        ("learned, spectral", "plain cut", "By eigenvectors it agrees"),
        ("learned, multilevel", "CAN, as described", "The learned graph agrees"),
    ):
        lines.append(f"- {words} {_beside(rows, name, other)}")
    many = result["many"]
    lines.append(
        f"- {many['n']:,} samples of {many['n_features']} features: {many['seconds']:.0f} s on 2 "
        f"cores, of which {many['seconds_of_neighbors']:.0f} s for neighbours; {many['n_iter']} "
        f"turns, {many['n_components']} components."
    )
    return "\n".join(lines) + "\n"


def _beside(rows: list[dict[str, Any]], name: str, other: str) -> str:
    """Return on how many sets a method has more NMI than another, and by how much on the whole."""
    pairs = [
        (row["methods"][name]["nmi"], row["methods"][other]["nmi"])
        for row in rows
        if other in row["methods"]
    ]
    above = sum(ours > theirs for ours, theirs in pairs)
    below = sum(ours < theirs for ours, theirs in pairs)
    mean = 100 * sum(ours - theirs for ours, theirs in pairs) / len(pairs)
    words = other if other.startswith("CAN") else f"the {other}"
    return (
        f"better with classes (NMI) than {words} on {above} of {len(pairs)} sets and worse on "
        f"{below}; the mean difference is {mean:+.1f} points."
    )


TABLES = {"agreement": agreement, "summary": summary}
"""The mark that a part stands behind, and who makes it."""


def renewed(text: str) -> str:
    """Return the page with every part as the record is now."""
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
