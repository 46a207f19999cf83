"""Table I of the paper: objective values on tiny datasets, against the enumerated optimum."""

from __future__ import annotations

from leastcut.paper.report.table import Table
from leastcut.paper.report.tables.by_method import sections_by_method
from leastcut.paper.runs.methods import columns
from leastcut.paper.runs.records import Record


def tiny(records: list[Record]) -> Table:
    """Return Table I: the first rows of USPS in two clusters."""
    return Table(
        "tiny",
        "Objective values on the first 11–15 USPS digits, c = 2",
        sections_by_method("tiny", records, "tiny", "value", columns("tiny")),
        number="Table I",
        short="Tiny datasets",
        best="small",
    )
