"""Update the tables of ``measured.md`` from records in ``benchmarks/results``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "measured.md"

FAMILIES = {
    "mesh": "meshes (6)",
    "circuit": "circuits (2)",
    "network": "networks (4)",
    "friends": "friends, synthetic (2)",
}
METHODS = {
    "fast": "**`fast`**",
    "auto": "**`auto`**, the estimator's default",
    "balanced": "**`balanced`**, the default of `partition`",
    "METIS": "METIS",
    "Graclus, local search": "Graclus, local search",
    "scikit-learn, kmeans": "scikit-learn, k-means",
    "scikit-learn, discretize": "scikit-learn, discretize",
    "k-means, refined": "k-means, refined",
}
"""The methods of the comparison, and their names on the page."""

USPS = {
    "leastcut fast": "**`fast`**",
    "leastcut balanced": "**`balanced`**",
    "pymetis": "METIS",
    "kahip": "KaHIP (eco)",
    "scikit-learn arpack kmeans": "scikit-learn, k-means",
    "scikit-learn amg discretize": "scikit-learn, AMG and discretize",
}
ROUNDED = 5e-5
"""The cuts of some programs are known to four digits."""


def comparison(result: dict[str, Any]) -> str:
    """Return the mean excess and CPU time of every method, by family of graphs."""
    curves = result["summary"]["curves"]
    lines = [f"| | {' | '.join(FAMILIES.values())} |", "|---" + "|---:" * len(FAMILIES) + "|"]
    for name, title in METHODS.items():
        cells = [_cell(curves[family].get(name)) for family in FAMILIES]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(scores: dict[str, Any] | None) -> str:
    if scores is None:
        return "–"
    seconds = "" if scores["seconds"] is None else f", {scores['seconds']:.2f} s"
    return f"{100 * (scores['over_best'] - 1):.1f}%{seconds}"


def cases(result: dict[str, Any]) -> str:
    """Return in how many cases a program is below leastcut, by effort, as a list."""
    lines = []
    for effort in ("balanced", "auto", "fast"):
        ratios = []
        for row in result["rows"]:
            ours = median(row["ours"][effort]["values"])
            best = min(peer["value"] for peer in row["peers"].values() if peer["value"])
            if best + ROUNDED < ours:
                ratios.append(ours / best)
        most = f", by at most {100 * (max(ratios) - 1):.1f}%" if ratios else ""
        lines.append(
            f"- Another program is below `{effort}` in {len(ratios)} of {len(result['rows'])} "
            f"cases{most}.\n"
        )
    return "".join(lines)


def usps(result: dict[str, Any]) -> str:
    """Return the normalized cuts of one graph."""
    rows = {
        row["method"]: row
        for row in result["rows"]
        if row["graph"] == "usps" and row["cut"] == "normalized"
    }
    lines = ["| | normalized cut | seconds | after `refine` |", "|---|---:|---:|---:|"]
    for name, title in USPS.items():
        row = rows[name]
        refined = f"{row['refined']:.4f}" if "refined" in row else ""
        lines.append(f"| {title} | {row['cut_value']:.4f} | {row['seconds']:.2g} | {refined} |")
    return "\n".join(lines) + "\n"


PARTS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "comparison": ("real_graphs", comparison),
    "cases": ("real_graphs", cases),
    "usps": ("partition", usps),
}
"""By the comment that precedes a part: the record, and the function that makes the part."""


def renewed(text: str) -> str:
    """Return the page with the parts of the records."""
    for mark, (record, part) in PARTS.items():
        pattern = re.compile(rf"(<!-- {mark} -->\n)(?:.*\n)*?(<!-- end -->\n)")
        stored = json.loads((RESULTS / f"{record}.json").read_text(encoding="utf-8"))
        fresh = part(stored["result"])
        text, count = pattern.subn(lambda match, fresh=fresh: match[1] + fresh + match[2], text)
        if count != 1:
            raise ValueError(f"{PAGE.name} must have one mark {mark!r}, and it has {count}.")
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
