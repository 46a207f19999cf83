"""A table of ours: what starts are worth, and the choice between them."""

from __future__ import annotations

from leastcut.paper.data import printed
from leastcut.paper.report.record_selection import datasets_of, each_run, numbers, select
from leastcut.paper.report.table import Entry, Section, Table
from leastcut.paper.runs.methods import HEURISTICS, N_SINGLE, by_cut, single_starts
from leastcut.paper.runs.records import Record


def restarts(records: list[Record]) -> Table:
    """Return the values of one start, of ten by the method's own loss, and of ten by the cut."""
    columns: list[tuple[str, list[Record]]] = []
    # single starts were also run of first order, which the other two do not have: not strict
    for single, ten, judged in zip(single_starts(), HEURISTICS, by_cut(), strict=False):
        columns += [
            (f"{ten.label}, 1 start", each_run(records, single)),
            (f"{ten.label}, 10 by loss", select(records, "objective", ten)),
            (f"{ten.label}, 10 by cut", select(records, "restarts", judged)),
        ]
    names = datasets_of(select(records, "restarts"))
    sections = tuple(
        Section(
            title,
            tuple(label for label, _ in columns),
            tuple(
                (
                    printed.row_label(name),
                    tuple(Entry(numbers(found, name, cut, "value")) for _, found in columns),
                )
                for name in names
            ),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        f"{N_SINGLE} single starts; ten starts of which the method's own loss chooses; ten of "
        "which the cut value chooses, which the method itself does not know. Medians.",
    )
    return Table("restarts", "What starts are worth", sections, short="Starts", notes=notes)
