"""Plot the mean excess of each method over the smallest cut; renew the table of ``choosing.md``.

Reads the tables that ``python -m reproduction report`` writes to ``docs/results``. Writes the
figure ``docs/choosing.svg`` and the table after ``<!-- methods -->`` in ``choosing.md``.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import matplotlib.pyplot as plt

from leastcut.report.figures import BLUE, INK, STYLE

DOCS = Path(__file__).parent
RESULTS = DOCS / "results"
GREY = "#c3ccd5"
TABLE = re.compile(r"(<!-- methods -->\n)(?:.*\n)*?(<!-- end -->\n)")

METHODS = {
    "KM": ("`kmeans`", "k-means on the eigenvectors (KM)"),
    "KM-norm": ("`kmeans_norm`", "k-means on eigenvector rows of length 1 (KM-norm)"),
    "SR": ("`unscaled_rotation`", "spectral rotation as the paper runs it (SR)"),
    "SR, unit rows": ("`rotation`", "spectral rotation of rows of length 1"),
    "ISR": ("`improved_rotation`", "improved spectral rotation (ISR)"),
    "first order": ("`first_order`", "first order, the paper's method"),
    "first order, η auto": ('`first_order`, `eta="auto"`', "first order, η chosen by the cut"),
    "first order, η adaptive": (
        '`first_order`, `eta="adaptive"`',
        "first order, η chosen in each iteration",
    ),
    "first order + refine": ("`first_order`, then `refine`", "first order and single moves"),
    "DNC": ("`direct_cut`", "direct normalized cut, without eigenvectors (DNC)"),
    "partition": ("`partition`", "multilevel search for the smallest cut"),
}
"""Call and description of each column of the paper's tables that is compared here."""


class Row(NamedTuple):
    """Results of one method over the paper's data sets and both cuts."""

    method: str
    mean_excess: float
    median_excess: float
    n_smallest: int
    accuracy: float
    nmi: float
    seconds: float


def values_of(table: str) -> dict[tuple[str, str], dict[str, float]]:
    """Return the medians of a table by cut and data set, then by method."""
    cells: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    with (RESULTS / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["ours"]:
                method = row["column"].removesuffix(" (not in the paper)")
                cells[row["section"], row["row"]][method] = float(row["ours"])
    return cells


def rows() -> list[Row]:
    """Return a row for each method, in order of falling mean excess."""
    objective, accuracy, nmi, seconds = map(values_of, ("objective", "accuracy", "nmi", "seconds"))
    cells = list(objective)
    best = {cell: min(objective[cell][name] for name in METHODS) for cell in cells}
    summary = [
        Row(
            name,
            mean(objective[cell][name] / best[cell] - 1 for cell in cells),
            median(objective[cell][name] / best[cell] - 1 for cell in cells),
            sum(objective[cell][name] <= best[cell] * (1 + 1e-6) for cell in cells),
            mean(accuracy[cell][name] for cell in cells),
            mean(nmi[cell][name] for cell in cells),
            median(seconds[cell][name] for cell in cells),
        )
        for name in METHODS
    ]
    return sorted(summary, key=lambda row: -row.mean_excess)


def markdown(summary: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    n_cells = len(values_of("objective"))
    lines = [
        "| call | method | excess, mean | median "
        f"| smallest, of {n_cells} "
        "| accuracy | NMI | median seconds |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in summary:
        call, description = METHODS[row.method]
        lines.append(
            f"| {call} | {description} | {100 * row.mean_excess:.1f}% "
            f"| {100 * row.median_excess:.1f}% "
            f"| {row.n_smallest} | {row.accuracy:.3f} | {row.nmi:.3f} | {row.seconds:.2g} |"
        )
    return "\n".join(lines) + "\n"


def draw(summary: list[Row]) -> None:
    """Plot the mean excess of each method except the direct cut, which is far above the others."""
    shown = [row for row in summary if row.method != "DNC"]
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 3.2))
        for y, row in enumerate(shown):
            ours = row.method == "partition"
            axis.barh(y, 100 * row.mean_excess, color=BLUE if ours else GREY)
            text = f"{100 * row.mean_excess:.1f}%, {row.seconds:.2g} s"
            axis.annotate(
                text, (100 * row.mean_excess, y), xytext=(4, 0), textcoords="offset points",
                va="center", color=INK,
            )  # fmt: skip
        names = [METHODS[row.method][0].replace("`", "") for row in shown]
        axis.set_yticks(range(len(shown)), names)
        axis.tick_params(axis="y", length=0, labelcolor=INK)
        axis.set_xlabel("mean excess over the smallest cut, %, and median seconds")
        figure.tight_layout()
        figure.savefig(DOCS / "choosing.svg", metadata={"Date": None})


def main() -> None:
    """Renew the table and the figure."""
    summary = rows()
    page = DOCS / "choosing.md"
    text, count = TABLE.subn(
        lambda match: match[1] + markdown(summary) + match[2], page.read_text(encoding="utf-8")
    )
    if count != 1:
        raise ValueError(f"{page} must have one table of methods, but it has {count}.")
    page.write_text(text, encoding="utf-8")
    draw(summary)


if __name__ == "__main__":
    main()
