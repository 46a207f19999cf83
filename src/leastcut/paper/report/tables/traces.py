"""A table of ours: do cut value, accuracy and NMI that the paper prints belong together?"""

from __future__ import annotations

from collections import Counter

from leastcut.paper.data import printed
from leastcut.paper.report.evidence import evidence
from leastcut.paper.report.table import Entry, Section, Table
from leastcut.paper.report.traces import (
    NOT_FOUND,
    OTHER_METHOD,
    OTHER_VALUE,
    PAIR_ALONE,
    SAME_METHOD,
    traces,
)
from leastcut.paper.runs.methods import METHODS
from leastcut.paper.runs.records import Record

HEADS = {
    SAME_METHOD: "found by the same method",
    OTHER_METHOD: "found by another method",
    OTHER_VALUE: "at another cut value",
    PAIR_ALONE: "accuracy and NMI alone",
    NOT_FOUND: "not found",
}
"""What a cell is traced to, and the column in which it is counted."""


def traced(records: list[Record]) -> Table:
    """Return for every method how many of its printed triples belong to a partition on record."""
    found = traces(evidence(records))
    sections = []
    for cut, title in printed.CUT_TITLES.items():
        counts = {
            column.label: Counter(
                trace.kind for trace in found if (trace.cut, trace.column) == (cut, column.label)
            )
            for column in METHODS
        }
        rows = tuple(
            (
                label,
                tuple(
                    Entry((float(number),), text=str(number))
                    for number in (count.total(), *(count[kind] for kind in HEADS))
                ),
            )
            for label, count in counts.items()
            if count
        )
        sections.append(Section(title, ("printed", *HEADS.values()), rows))
    notes = (
        "Every cell of Tables II, IV and V with its cut value, accuracy and NMI, beside all runs "
        "on record of its dataset. Found: a partition has all three, to the digits printed. At "
        "another cut value: partitions have its cut value and others, at another value or under "
        "the other cut, its accuracy and NMI, but none has all three. Accuracy and NMI alone: the "
        "same, but the cut value is not on record, or so many partitions of the dataset share "
        "accuracy and NMI that the match may be chance.",
    )
    return Table(
        "traces",
        "Printed numbers traced to partitions",
        tuple(sections),
        short="Traces",
        notes=notes,
    )
