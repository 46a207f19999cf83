"""A table of ours: what the paper's SR gives for other signs of the eigenvectors."""

from __future__ import annotations

from statistics import median

from leastcut.page_design.numbers import number_text
from leastcut.paper.data import printed
from leastcut.paper.report.certified import is_tiny
from leastcut.paper.report.record_selection import in_order, many_runs
from leastcut.paper.report.table import Entry, Row, Section, Table
from leastcut.paper.runs.methods import ROTATION, sign_choices
from leastcut.paper.runs.records import Record
from leastcut.paper.runs.repeated import N_KEPT


def signs(records: list[Record]) -> Table:
    """Return the range of cut values over choices of signs, and how many give the printed one."""
    heads = (
        "printed",
        "choices tried",
        "partitions",
        "smallest",
        "median",
        "largest",
        "at the printed value",
    )
    found = sorted(
        in_order(many_runs(records, sign_choices())), key=lambda record: not is_tiny(record)
    )
    sections = tuple(
        Section(title, heads, tuple(_row(record) for record in found if record["cut"] == cut))
        for cut, title in printed.CUT_TITLES.items()
    )
    notes = (
        "An eigenvector is one up to its sign only, and the paper's SR begins with the vectors as "
        "they are. All choices of signs where there are few, else some drawn ones; partitions and "
        f"range are those of the first {N_KEPT}.",
    )
    return Table(
        "signs", "SR depends on the eigenvectors' signs", sections, short="Signs", notes=notes
    )


def _row(record: Record) -> Row:
    name, cut, values = record["dataset"], record["cut"], record["values"]
    table = "tiny" if is_tiny(record) else "objective"
    paper = printed.value(table, name, cut, ROTATION.printed)
    tried = f"{record['tried']:,} of {number_text(float(record['choices']))}"
    kept = values[:N_KEPT]
    partitions = len(set(record["partitions"][:N_KEPT]))
    there = None if paper is None else sum(printed.is_printed(value, paper) for value in values)
    return printed.row_label(name), (
        Entry(text=None if paper is None else f"{paper:.{printed.DIGITS}f}"),
        Entry(text=tried),
        Entry((float(partitions),), text=str(partitions)),
        *(Entry((float(value),)) for value in (min(kept), median(kept), max(kept))),
        Entry() if there is None else Entry((float(there),), text=f"{there:,}"),
    )
