"""Table V of the paper: normalized mutual information."""

from __future__ import annotations

from leastcut.paper.report.table import Table
from leastcut.paper.report.tables.by_method import sections_by_method
from leastcut.paper.runs.methods import columns
from leastcut.paper.runs.records import Record


def nmi(records: list[Record]) -> Table:
    """Return Table V: the information of the partitions whose cut values are in Table II."""
    return Table(
        "nmi",
        "Normalized mutual information, MI / max(H, H)",
        sections_by_method("nmi", records, "objective", "nmi", columns("nmi")),
        number="Table V",
        short="Normalized mutual information",
        best="large",
    )
