"""A table of ours: how much every method computes."""

from __future__ import annotations

from leastcut.paper.report.table import Table
from leastcut.paper.report.tables.by_method import sections_by_method
from leastcut.paper.runs.methods import columns
from leastcut.paper.runs.records import Record


def seconds(records: list[Record]) -> Table:
    """Return CPU seconds per run, all starts included, the graph and its relaxation not."""
    return Table(
        "seconds",
        "CPU seconds per run, all starts and all η included",
        sections_by_method("seconds", records, "objective", "seconds", columns("objective")),
        short="Seconds",
        digits=3,
    )
