"""Table II of the paper: objective values on the datasets, against the relaxed optimum."""

from __future__ import annotations

from firstcut.paper.report.table import Table
from firstcut.paper.report.tables.by_method import sections_by_method
from firstcut.paper.runs.methods import columns
from firstcut.paper.runs.records import Record


def objective(records: list[Record]) -> Table:
    """Return Table II: the cut values of every method on every dataset."""
    return Table(
        "objective",
        "Objective values",
        sections_by_method("objective", records, "objective", "value", columns("objective")),
        number="Table II",
        best="small",
    )
