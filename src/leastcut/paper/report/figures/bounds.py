"""A figure of ours: how far cuts are above what is proven that no cut can be below."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import median
from typing import Any

from leastcut.page_design.palette import BLUE, INK, ORANGE, RULE
from leastcut.paper.data.printed import CUT_TITLES, row_label
from leastcut.paper.report.certified import certificates, is_tiny, values_printed
from leastcut.paper.report.drawing import Figure, Panel, needed
from leastcut.paper.report.record_selection import numbers, select
from leastcut.paper.runs.methods import FIRST_ORDER, PARTITION
from leastcut.paper.runs.records import Record


def panels(records: list[Record]) -> list[Panel]:
    """Return a panel per cut: a row per dataset, cut values as multiples of its bound."""
    needed(records, "bounds", "certificates")
    # nothing is relative to a bound of 0, which components that are as many as the clusters have
    proofs = [
        record for record in certificates(records) if not is_tiny(record) and record["bound"] > 0
    ]
    return [
        partial(
            _draw,
            records=records,
            proofs=[record for record in proofs if record["cut"] == cut],
            title=title,
        )
        for cut, title in CUT_TITLES.items()
    ]


def _draw(axes: Any, records: list[Record], proofs: list[Record], title: str) -> None:
    axes.axvline(1.0, color=RULE, lw=1)
    # 1. the smallest number that the paper prints, of whichever method
    smallest = [min((value for _, _, value in values_printed(r)), default=None) for r in proofs]
    marked = [(i, value) for i, value in enumerate(smallest) if value is not None]
    axes.plot(
        [value / proofs[i]["bound"] for i, value in marked],
        [i for i, _ in marked],
        "o",
        ms=6,
        mfc="none",
        color=INK,
        label="smallest printed",
    )
    # 2. ours: the median over the seeds, and a line from the smallest to the largest
    for column, mark, color in ((FIRST_ORDER, "s", BLUE), (PARTITION, "D", ORANGE)):
        found = select(records, "objective", column)
        for i, proof in enumerate(proofs):
            values = numbers(found, proof["dataset"], proof["cut"], "value")
            if values:
                _draw_values(axes, i, [value / proof["bound"] for value in values], mark, color)
        axes.plot([], [], mark, ms=3.5, color=color, label=column.label)
    axes.set_yticks(range(len(proofs)))
    # a name may have dollars in it, and is no formula
    axes.set_yticklabels([row_label(proof["dataset"]) for proof in proofs], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel("cut value / certified bound")
    axes.set_title(title)
    # below the panel, where it hides nothing
    place = {"loc": "upper right", "bbox_to_anchor": (1.02, -0.2), "ncols": 3}
    axes.legend(**place, borderpad=0, handletextpad=0.1, columnspacing=1.0)


def _draw_values(axes: Any, row: int, values: Iterable[float], mark: str, color: str) -> None:
    listed = sorted(values)
    axes.plot([listed[0], listed[-1]], [row, row], color=color, lw=1)
    axes.plot([median(listed)], [row], mark, ms=3.5, color=color)


BOUNDS = Figure(
    "bounds",
    "How far above the bound",
    "Cut values as multiples of the certified bound, below which no labels are: at 1 a cut is the "
    "smallest there is. The smallest number that the paper prints, of any method and rounded as "
    "it is there; first order, which is its method; and partition. Ours are medians, with a line "
    "from the smallest to the largest over the seeds.",
    panels,
    in_row=2,
)
