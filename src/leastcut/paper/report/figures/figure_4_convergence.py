"""Figure 4 of the paper: the loss of first order after every iteration."""

from __future__ import annotations

from functools import partial
from typing import Any

from leastcut.page_design.palette import BLUE, ORANGE
from leastcut.paper.data.printed import CUT_TITLES, row_label
from leastcut.paper.report.drawing import Figure, Panel, needed
from leastcut.paper.report.record_selection import datasets_of
from leastcut.paper.runs.records import Record

LOOKS = {"ratio": (BLUE, "-"), "normalized": (ORANGE, "--")}
"""Colour and line of every cut."""


def panels(records: list[Record]) -> list[Panel]:
    """Return a panel per dataset: the loss over the iterations, a line per seed."""
    found = needed(records, "convergence", "convergence")
    return [
        partial(_draw, records=[r for r in found if r["dataset"] == name], title=row_label(name))
        for name in datasets_of(found)
    ]


def _draw(axes: Any, records: list[Record], title: str) -> None:
    for cut, (color, line) in LOOKS.items():
        for number, record in enumerate(r for r in records if r["cut"] == cut):
            history = record["history"]
            axes.plot(
                range(1, len(history) + 1),
                history,
                color=color,
                ls=line,
                lw=1,
                alpha=0.65,
                label=CUT_TITLES[cut] if number == 0 else None,  # one line of the legend per cut
            )
    axes.set_title(title, parse_math=False)  # a name is no formula
    axes.set_xlabel("iteration")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("loss")
    axes.legend()


CONVERGENCE = Figure(
    "convergence",
    "Convergence",
    "Loss of first order (η = 0.001) after every iteration, one line per seed.",
    panels,
    "Figure 4",
    in_row=2,
)
