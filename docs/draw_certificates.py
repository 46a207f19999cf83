"""Draw how bounds close in on values, and renew the table of ``certify.md``, from a benchmark.

Reads ``benchmarks/results/certify.json``, which ``python -m benchmarks certify`` writes. The figure
goes to ``docs/certify.svg``, and the table behind ``<!-- certificates -->`` into ``certify.md``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from leastcut.report.figures import BLUE, ORANGE, SOFT, STYLE

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks" / "results" / "certify.json"
DRAWN = ("wine", "orl", "coil20")
TABLE = re.compile(r"(<!-- certificates -->\n)(?:.*\n)*?(<!-- end -->\n)")


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| | n, c | cut | gap of Σλ | certified gap | seconds to 5%, 1%, 0.1%, proven | CPU |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        moments = (row[f"seconds_to_{level}"] for level in ("5%", "1%", "0.1%", "proven"))
        reached = ", ".join("–" if at is None else f"{at:.3g}" for at in moments)
        gap = "**proven**" if row["gap"] < 1e-6 else f"{100 * row['gap']:.2g}%"
        lines.append(
            f"| {row['graph']} | {row['n']:,}, {row['n_clusters']} | {row['cut']} "
            f"| {100 * row['gap_of_eigenvalues']:.1f}% | {gap} | {reached} "
            f"| {row['cpu_seconds']:.3g} s |"
        )
    return "\n".join(lines) + "\n"


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw the course of some of them, normalized cut, in units of the value."""
    picked = [row for name in DRAWN for row in rows if row["graph"] == name]
    picked = [row for row in picked if row["cut"] == "normalized"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(picked), figsize=(2.6 * len(picked), 2.4), sharey=True)
        for axis, row in zip(axes, picked, strict=True):
            seconds, low, value = zip(*row["course"], strict=True)
            axis.plot(seconds, [v / row["value"] for v in value], color=ORANGE, label="value")
            axis.plot(seconds, [v / row["value"] for v in low], color=BLUE, label="lower bound")
            axis.axhline(1.0 - row["gap_of_eigenvalues"], color=SOFT, ls=":", label="Σλ")
            axis.set_title(f"{row['graph']}: {row['n']} nodes, c = {row['n_clusters']}")
            axis.set_xlabel("seconds")
        axes[0].set_ylabel("in units of the cut value")
        axes[0].legend(loc="lower right")
        figure.tight_layout()
        figure.savefig(ROOT / "docs" / "certify.svg", metadata={"Date": None})


def main() -> None:
    """Renew both."""
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["result"]["rows"]
    page = ROOT / "docs" / "certify.md"
    text = page.read_text(encoding="utf-8")
    fresh, count = TABLE.subn(lambda match: match[1] + table(rows) + match[2], text)
    if count != 1:
        raise ValueError(f"{page} must have one table of certificates, and it has {count}.")
    page.write_text(fresh, encoding="utf-8")
    draw(rows)


if __name__ == "__main__":
    main()
