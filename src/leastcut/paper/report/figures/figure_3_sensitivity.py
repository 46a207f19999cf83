"""Figure 3 of the paper: the cut value of first order over η."""

from __future__ import annotations

from functools import partial
from math import log10
from statistics import median
from typing import Any

from leastcut.page_design.numbers import power_of_ten
from leastcut.page_design.palette import BLUE, ORANGE
from leastcut.paper.data.printed import CUT_TITLES, row_label
from leastcut.paper.report.drawing import Figure, Panel, needed
from leastcut.paper.report.record_selection import datasets_of, select
from leastcut.paper.runs.methods import RELAXED, WIDE_ETAS
from leastcut.paper.runs.records import Record


def panels(records: list[Record]) -> list[Panel]:
    """Return a panel per dataset and cut: the cut value over η, with 1/λ_c marked."""
    found = needed(records, "sensitivity", "sensitivity")
    return [
        partial(
            _draw,
            records=[r for r in found if r["dataset"] == name and r["cut"] == cut],
            title=f"{row_label(name)}, {title}",
        )
        for name in datasets_of(found)
        for cut, title in CUT_TITLES.items()
    ]


def _draw(axes: Any, records: list[Record], title: str) -> None:
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
            "1/λ_c",
            # at the top of the panel, the text a little to the right and below
            (scale, 1),
            (3, -9),
            textcoords="offset points",
            xycoords=("data", "axes fraction"),
            color=ORANGE,
        )
    axes.set_xscale("log")
    # digits above the line instead of a formula, which every program sets in its own way
    axes.xaxis.set_major_formatter(lambda eta, _: power_of_ten(round(log10(eta))))
    axes.set_xlabel("η")
    axes.set_ylabel("cut value")
    axes.set_title(title, parse_math=False)  # a name may have dollars in it, and is no formula


SENSITIVITY = Figure(
    "sensitivity",
    "Sensitivity to η",
    "Cut value of first order over η, ten starts chosen by cut value; median and "
    "range over the seeds. At 1/λ_c the weight of the last eigenvector changes sign.",
    panels,
    "Figure 3",
    in_row=2,
)
