"""Table III of the paper: the datasets, and what their graphs look like."""

from __future__ import annotations

from leastcut.paper.data import printed
from leastcut.paper.report.record_selection import datasets_of, select
from leastcut.paper.report.table import Entry, Row, Section, Table
from leastcut.paper.runs.records import Record


def datasets(records: list[Record]) -> Table:
    """Return Table III: samples, features and classes beside the paper's, and two of our own."""
    heads = ("samples", "features", "classes", "stored edges", "components")
    found = {record["dataset"]: record for record in select(records, "datasets")}
    rows = tuple(_row(found[name]) for name in datasets_of(found.values()))
    section = Section("", heads, rows)
    return Table("datasets", "Datasets", (section,), number="Table III", digits=0)


def _row(record: Record) -> Row:
    name = record["dataset"]
    shape = printed.dataset_shape(name) or (None, None, None)
    sizes = tuple(
        Entry((float(ours),), paper, f"{ours:,}")
        for ours, paper in zip(record["shape"], shape, strict=True)
    )
    # the paper has no such columns
    graph = tuple(Entry(text=f"{record[key]:,}") for key in ("stored", "components"))
    return printed.row_label(name), sizes + graph
