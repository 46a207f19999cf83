"""Figure 3 of the paper: the cut value of first order over η."""

from __future__ import annotations

from statistics import median
from typing import Any

from firstcut.paper.data.printed import CUT_TITLES, row_label
from firstcut.paper.report.drawing import BLUE, ORANGE, Figure, canvas, needed
from firstcut.paper.report.record_selection import datasets_of, select
from firstcut.paper.runs.methods import RELAXED, WIDE_ETAS
from firstcut.paper.runs.records import Record


def draw(records: list[Record]) -> Any:
    """Draw the cut value over η, with 1/λ_c marked: a column per dataset, a row per cut."""
    found = needed(records, "sensitivity", "sensitivity")
    names = datasets_of(found)
    figure = canvas(2.6 * max(len(names), 2), 4.6)
    grid = figure.subplots(2, len(names), squeeze=False, sharex=True)
    for column, name in enumerate(names):
        for row, (cut, title) in enumerate(CUT_TITLES.items()):
            axes = grid[row, column]
            _draw_panel(axes, [r for r in found if r["dataset"] == name and r["cut"] == cut])
            # a name may have dollars in it, and is no formula
            axes.set_title(f"{row_label(name)}, {title}", parse_math=False)
            if row == 1:
                axes.set_xlabel("η")
            if column == 0:
                axes.set_ylabel("cut value")
    return figure


def _draw_panel(axes: Any, records: list[Record]) -> None:
    """Draw median and range over the seeds for every η, and where 1/λ_c is."""
    values = {
        eta: [r["value"] for r in records if r["parameters"].get("eta") == eta] for eta in WIDE_ETAS
    }
    # an unfinished run may have some η only
    kept = {eta: some for eta, some in values.items() if some}
    etas, low, high = list(kept), [min(v) for v in kept.values()], [max(v) for v in kept.values()]
    axes.fill_between(etas, low, high, color=BLUE, alpha=0.15, lw=0)
    axes.plot(etas, [median(v) for v in kept.values()], "o-", color=BLUE, markersize=3)
    for record in select(records, "sensitivity", RELAXED):
        if record["largest"] <= 0:
            continue  # as many components as clusters: there is no scale to mark
        scale = 1.0 / record["largest"]
        axes.axvline(scale, color=ORANGE, lw=1, ls="--")
        axes.annotate(
            r"$1/\lambda_c$",
            # at the top of the panel, the text a little to the right and below
            (scale, 1),
            (3, -9),
            textcoords="offset points",
            xycoords=("data", "axes fraction"),
            color=ORANGE,
            fontsize=8,
        )
    axes.set_xscale("log")


SENSITIVITY = Figure(
    "sensitivity",
    "Sensitivity to η",
    "Cut value of first order over η, ten starts chosen by cut value; median and "
    "range over the seeds. At 1/λ_c the weight of the last eigenvector changes sign.",
    draw,
    "Figure 3",
)
