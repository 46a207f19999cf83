"""Plot bounds and cut values over time, and update the table of ``certify.md``.

Reads ``benchmarks/results/certify.json``, which ``python -m benchmarks certify`` writes. The figure
is ``docs/certify.svg``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "certify.json"
PAGE = ROOT / "docs" / "certify.md"
PLOTTED = ("wine", "orl", "coil20")
CUT = "normalized"
TABLE = re.compile(r"(<!-- certificates -->\n)(?:.*\n)*?(<!-- end -->\n)")


def recorded() -> list[dict[str, Any]]:
    """Return the rows of the record that are shown."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["result"]["rows"]
    return [row for row in rows if row["cut"] == CUT]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| graph | nodes | clusters | gap of Σλ | certified gap | seconds to 5% | 1% | total |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        times = [row["seconds_to_5%"], row["seconds_to_1%"], row["seconds"]]
        cells = " | ".join("–" if time is None else f"{time:.3g}" for time in times)
        gap = "**0**, proven" if row["gap"] < 1e-6 else f"{100 * row['gap']:.2g}%"
        lines.append(
            f"| {row['graph']} | {row['n']:,} | {row['n_clusters']} "
            f"| {100 * row['gap_of_eigenvalues']:.1f}% | {gap} | {cells} |"
        )
    return "\n".join(lines) + "\n"


def renewed(text: str) -> str:
    """Return the page with the table of the record."""
    fresh, count = TABLE.subn(lambda match: match[1] + table(recorded()) + match[2], text)
    if count != 1:
        raise ValueError(f"{PAGE} must have one table of certificates, and it has {count}.")
    return fresh


def draw(rows: list[dict[str, Any]]) -> None:
    """Plot lower bound and cut value over time, relative to the final cut value."""
    import matplotlib.pyplot as plt

    from leastcut.report.figures import BLUE, ORANGE, SOFT, STYLE

    rows = [row for name in PLOTTED for row in rows if row["graph"] == name]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(rows), figsize=(2.6 * len(rows), 2.4), sharey=True)
        for axis, row in zip(axes, rows, strict=True):
            seconds, bound, value = zip(*row["course"], strict=True)
            axis.plot(seconds, [v / row["value"] for v in value], color=ORANGE, label="cut value")
            axis.plot(seconds, [v / row["value"] for v in bound], color=BLUE, label="lower bound")
            axis.axhline(1.0 - row["gap_of_eigenvalues"], color=SOFT, ls=":", label="Σλ")
            axis.set_title(f"{row['graph']}: {row['n']:,} nodes, {row['n_clusters']} clusters")
            axis.set_xlabel("seconds")
        axes[0].set_ylabel("relative to the cut value")
        axes[0].legend(loc="center right")
        figure.tight_layout()
        figure.savefig(ROOT / "docs" / "certify.svg", metadata={"Date": None})


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    draw(recorded())
