"""Table II of the paper: objective values on the datasets, against the relaxed optimum."""

from __future__ import annotations

from leastcut.paper.report.table import Table
from leastcut.paper.report.tables.by_method import sections_by_method
from leastcut.paper.runs.methods import columns
from leastcut.paper.runs.records import Record


def objective(records: list[Record]) -> Table:
    """Return Table II: the cut values of every method on every dataset."""
    return Table(
        "objective",
        "Objective values",
        sections_by_method("objective", records, "objective", "value", columns("objective")),
        number="Table II",
        best="small",
    )
