"""A table of ours: how small every cut can be, proven, beside the relaxed optimum and our cut."""

from __future__ import annotations

from leastcut.page_design.numbers import number_text
from leastcut.paper.data import printed
from leastcut.paper.report.certified import (
    PROVEN,
    certificates,
    gap,
    is_proven,
    values_printed,
)
from leastcut.paper.report.table import Entry, Row, Section, Table
from leastcut.paper.runs.methods import RELAXED
from leastcut.paper.runs.records import Record

DIGITS = 6
"""Decimals: the cuts of MSRA and SEGMENT are a few thousandths."""


def certified(records: list[Record]) -> Table:
    """Return OPT_r, the certified bound and our cut of every cell that has a certificate."""
    heads = (
        RELAXED.label,
        "certified bound",
        "our cut",
        "gap",
        "optimal",
        "smallest printed",
        "seconds",
    )
    found = certificates(records)
    sections = tuple(
        Section(title, heads, tuple(_row(record) for record in found if record["cut"] == cut))
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "No labels on the same graph have a cut value below the certified bound, whatever method "
        "makes them. The gap is how far our cut may be above the optimum, as a part of it; below "
        f"{PROVEN:.4%} our cut is proven to be the optimum. Seconds are those of the proof.",
    )
    return Table(
        "certificates",
        "How small the cut can be, proven",
        sections,
        short="Certificates",
        notes=notes,
        digits=DIGITS,
    )


def _row(record: Record) -> Row:
    numbers = tuple(Entry((float(record[name]),)) for name in ("relaxed", "bound", "value"))
    left, seconds = gap(record), float(record["seconds"])
    values = [value for _, _, value in values_printed(record)]
    return printed.row_label(record["dataset"]), (
        *numbers,
        Entry((left,), text=f"{left:.4%}"),
        Entry(text="proven" if is_proven(record) else "open"),
        Entry(text=f"{min(values):.{printed.DIGITS}f}" if values else None),
        Entry((seconds,), text=number_text(seconds)),
    )
