"""A table of ours: how often other seeds reach the cut values that the paper prints."""

from __future__ import annotations

from leastcut.paper.data import printed
from leastcut.paper.report.certified import is_tiny
from leastcut.paper.report.record_selection import each_run, in_order, many_runs, numbers
from leastcut.paper.report.table import Entry, Section, Table
from leastcut.paper.runs.methods import METHODS, many_seeds
from leastcut.paper.runs.records import Record


def seeds(records: list[Record]) -> Table:
    """Return for every cell the printed value, and for how many seeds a run of ours ends there."""
    found = [record for column in many_seeds() for record in many_runs(records, column)]
    names = list(dict.fromkeys(r["dataset"] for r in sorted(in_order(found), key=_large)))
    runs = {column.label: each_run(records, column) for column in many_seeds()}
    heads = tuple(f"{label}, {what}" for label in runs for what in ("printed", "reached"))
    sections = tuple(
        Section(
            title,
            heads,
            tuple(
                (
                    printed.row_label(name),
                    tuple(
                        entry
                        for label, listed in runs.items()
                        for entry in _entries(label, name, cut, numbers(listed, name, cut, "value"))
                    ),
                )
                for name in names
            ),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "Runs as in the tables, ten starts each (first order: ten for every η), for more seeds: "
        "how many of them end at the printed cut value, to the digits printed.",
    )
    title = "How often other seeds reach the printed cut values"
    return Table("seeds", title, sections, short="Seeds", notes=notes)


def _large(record: Record) -> bool:
    return not is_tiny(record)


def _entries(label: str, name: str, cut: str, values: tuple[float, ...]) -> tuple[Entry, Entry]:
    """Return what is printed, and how many runs have it."""
    (column,) = (column for column in METHODS if column.label == label)
    table = "objective" if printed.split_name(name)[1] is None else "tiny"
    paper = printed.value(table, name, cut, column.printed)
    if paper is None or not values:
        return Entry(), Entry()
    there = sum(printed.is_printed(value, paper) for value in values)
    text = f"{there} of {len(values)}"
    return Entry(text=f"{paper:.{printed.DIGITS}f}"), Entry((float(there),), text=text)
