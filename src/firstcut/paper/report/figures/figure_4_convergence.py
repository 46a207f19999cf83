"""Figure 4 of the paper: the loss of first order after every iteration."""

from __future__ import annotations

from typing import Any

from firstcut.paper.data.printed import CUT_TITLES, row_label
from firstcut.paper.report.drawing import BLUE, ORANGE, Figure, canvas, needed
from firstcut.paper.report.record_selection import datasets_of
from firstcut.paper.runs.records import Record


def draw(records: list[Record]) -> Any:
    """Draw the loss over the iterations: a panel per dataset, a line per seed."""
    found = needed(records, "convergence", "convergence")
    names = datasets_of(found)
    figure = canvas(3.4 * max(len(names), 2), 3.0)
    grid = figure.subplots(1, len(names), squeeze=False)
    for axes, name in zip(grid[0], names, strict=True):
        for (cut, title), color in zip(CUT_TITLES.items(), (BLUE, ORANGE), strict=True):
            chosen = [r for r in found if r["dataset"] == name and r["cut"] == cut]
            for number, record in enumerate(chosen):
                history = record["history"]
                axes.plot(
                    range(1, len(history) + 1),
                    history,
                    color=color,
                    lw=1,
                    alpha=0.65,
                    label=title if number == 0 else None,  # one line of the legend per cut
                )
        axes.set_title(row_label(name), parse_math=False)  # a name is no formula
        axes.set_xlabel("iteration")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_ylabel("loss")
        axes.legend()
    return figure


CONVERGENCE = Figure(
    "convergence",
    "Convergence",
    "Loss of first order (η = 0.001) after every iteration, one line per seed.",
    draw,
    "Figure 4",
)
