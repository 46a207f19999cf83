"""Draw how far methods are above the smallest cut, and renew the table of ``choosing.md``.

Reads the tables that ``python -m reproduction report`` writes into ``docs/results``. Writes the
figure ``docs/choosing.svg``, and the table behind ``<!-- methods -->`` in ``choosing.md``.
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

WORDS = {
    "KM": ("`kmeans`", "k-means on the eigenvectors (KM)"),
    "KM-norm": ("`kmeans_norm`", "the same on rows of length 1 (KM-norm)"),
    "SR": ("`unscaled_rotation`", "spectral rotation as the paper runs it (SR)"),
    "SR, unit rows": ("`rotation`", "spectral rotation of rows of length 1"),
    "ISR": ("`improved_rotation`", "improved spectral rotation (ISR)"),
    "first order": ("`first_order`", "first order, the paper's method"),
    "first order, η auto": ('`first_order`, `eta="auto"`', "first order, η chosen by the cut"),
    "first order, η adaptive": (
        '`first_order`, `eta="adaptive"`',
        "first order, η chosen anew in every round",
    ),
    "first order + refine": ("`first_order`, then `refine`", "first order and single moves"),
    "DNC": ("`direct_cut`", "direct normalized cut, without eigenvectors (DNC)"),
    "partition": ("`partition`", "the search for the cut itself"),
}
"""The columns of the paper's tables that are compared here: how to call each, and what it is."""


class Row(NamedTuple):
    """What one method gives over the paper's datasets and both cuts."""

    method: str
    excess: float
    typical: float
    smallest: int
    accuracy: float
    nmi: float
    seconds: float


def values_of(table: str) -> dict[tuple[str, str], dict[str, float]]:
    """Return the medians of a table: by cut and dataset, then by method."""
    cells: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    with (RESULTS / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["ours"]:
                method = row["column"].removesuffix(" (not in the paper)")
                cells[row["section"], row["row"]][method] = float(row["ours"])
    return cells


def rows() -> list[Row]:
    """Return a row for every method, the smallest mean excess last."""
    objective, accuracy, nmi, seconds = map(values_of, ("objective", "accuracy", "nmi", "seconds"))
    cells = list(objective)
    best = {cell: min(objective[cell][name] for name in WORDS) for cell in cells}
    found = [
        Row(
            name,
            mean(objective[cell][name] / best[cell] - 1 for cell in cells),
            median(objective[cell][name] / best[cell] - 1 for cell in cells),
            sum(objective[cell][name] <= best[cell] * (1 + 1e-6) for cell in cells),
            mean(accuracy[cell][name] for cell in cells),
            mean(nmi[cell][name] for cell in cells),
            median(seconds[cell][name] for cell in cells),
        )
        for name in WORDS
    ]
    return sorted(found, key=lambda row: -row.excess)


def markdown(found: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    n_cells = len(values_of("objective"))
    lines = [
        "| call | what it is | excess, mean | median "
        f"| smallest in, of {n_cells} "
        "| accuracy | NMI | median seconds |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found:
        call, words = WORDS[row.method]
        lines.append(
            f"| {call} | {words} | {100 * row.excess:.1f}% | {100 * row.typical:.1f}% "
            f"| {row.smallest} | {row.accuracy:.3f} | {row.nmi:.3f} | {row.seconds:.2g} |"
        )
    return "\n".join(lines) + "\n"


def draw(found: list[Row]) -> None:
    """Draw the mean excess of every method but the direct cut, which is far beyond the others."""
    shown = [row for row in found if row.method != "DNC"]
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 3.2))
        for place, row in enumerate(shown):
            ours = row.method == "partition"
            axis.barh(place, 100 * row.excess, color=BLUE if ours else GREY)
            words = f"{100 * row.excess:.1f}%, {row.seconds:.2g} s"
            axis.annotate(
                words, (100 * row.excess, place), xytext=(4, 0), textcoords="offset points",
                va="center", color=INK,
            )  # fmt: skip
        names = [WORDS[row.method][0].replace("`", "") for row in shown]
        axis.set_yticks(range(len(shown)), names)
        axis.tick_params(axis="y", length=0, labelcolor=INK)
        axis.set_xlabel("mean excess over the smallest cut, %, and median seconds")
        figure.tight_layout()
        figure.savefig(DOCS / "choosing.svg", metadata={"Date": None})


def main() -> None:
    """Renew both."""
    found = rows()
    page = DOCS / "choosing.md"
    text = page.read_text(encoding="utf-8")
    fresh, count = TABLE.subn(lambda match: match[1] + markdown(found) + match[2], text)
    if count != 1:
        raise ValueError(f"{page} must have one table of methods, and it has {count}.")
    page.write_text(fresh, encoding="utf-8")
    draw(found)


if __name__ == "__main__":
    main()
