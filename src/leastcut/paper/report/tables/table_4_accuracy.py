"""Table IV of the paper: clustering accuracy, by the best one-to-one matching."""

from __future__ import annotations

from leastcut.paper.report.table import Table
from leastcut.paper.report.tables.by_method import sections_by_method
from leastcut.paper.runs.methods import columns
from leastcut.paper.runs.records import Record


def accuracy(records: list[Record]) -> Table:
    """Return Table IV: the accuracy of the partitions whose cut values are in Table II."""
    return Table(
        "accuracy",
        "Clustering accuracy",
        sections_by_method("accuracy", records, "objective", "accuracy", columns("accuracy")),
        number="Table IV",
        best="large",
    )
