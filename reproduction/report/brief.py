"""Short forms of the tables, for the Markdown page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median

from reproduction.report.formats import number_text
from reproduction.report.table import Entry, Row, Section, Table
from reproduction.runs.methods import METHODS, OPTIMUM, PARTITION, RELAXED

COLUMNS = {OPTIMUM.label, RELAXED.label, PARTITION.label} | {
    column.label for column in METHODS if column.printed is not None
}
"""The columns of the paper and partition."""


def _of_the_paper(table: Table) -> Table:
    """Return a table with the columns of the paper and partition only."""
    sections = []
    for section in table.sections:
        kept = [i for i, head in enumerate(section.heads) if head in COLUMNS]
        heads = tuple(section.heads[i] for i in kept)
        rows = tuple((label, tuple(row[i] for i in kept)) for label, row in section.rows)
        sections.append(Section(section.title, heads, rows))
    return replace(table, sections=tuple(sections))


def _certificates(table: Table) -> Table:
    """Return our cut and its gap for every full dataset, both cuts side by side."""

    def short(row: dict[str, Entry]) -> tuple[Entry, ...]:
        gap = "optimal" if row["optimal"].text == "proven" else f"{row['gap'].value:.2%}"
        return row["our cut"], Entry(text=gap)

    short_table = _side_by_side(table, ("our cut", "gap"), short)
    (section,) = short_table.sections
    large = tuple((label, row) for label, row in section.rows if not label.startswith("n="))
    return replace(table, sections=(replace(section, rows=large),))


def _seeds(table: Table) -> Table:
    """Return the numbers of seeds that reach the printed values, both cuts side by side."""
    heads = tuple(h.partition(",")[0] for h in table.sections[0].heads if h.endswith("reached"))

    def short(row: dict[str, Entry]) -> tuple[Entry, ...]:
        return tuple(Entry(text=number_text(row[f"{h}, reached"].value or 0.0)) for h in heads)

    return _side_by_side(table, heads, short)


def _side_by_side(
    table: Table, heads: tuple[str, ...], short: Callable[[dict[str, Entry]], tuple[Entry, ...]]
) -> Table:
    """Return a table with one section whose rows join the shortened rows of all sections."""
    rows: dict[str, tuple[Entry, ...]] = {}
    for section in table.sections:
        for label, row in section.rows:
            entries = dict(zip(section.heads, row, strict=True))
            rows[label] = rows.get(label, ()) + short(entries)
    titles = [section.title.removesuffix(" Cut") for section in table.sections]
    titled = tuple(f"{title}: {head}" for title in titles for head in heads)
    # a dataset without records for one of the cuts has no row in its section
    full = tuple((label, row) for label, row in rows.items() if len(row) == len(titled))
    return replace(table, sections=(Section("", titled, full),))


def _summed(table: Table) -> Table:
    """Return a table with one section whose numbers are sums over all sections."""
    sums: dict[str, list[float]] = {}
    for section in table.sections:
        for label, row in section.rows:
            numbers = [entry.value or 0.0 for entry in row]
            before = sums.get(label, [0.0] * len(numbers))
            sums[label] = [a + b for a, b in zip(before, numbers, strict=True)]
    rows = tuple(
        (label, tuple(Entry(text=number_text(number)) for number in numbers))
        for label, numbers in sums.items()
    )
    return replace(table, sections=(Section("", table.sections[0].heads, rows),))


def _ranges(table: Table) -> Table:
    """Return the median and the largest value of the columns over all sections."""
    columns: dict[str, list[float]] = {}
    for section in _of_the_paper(table).sections:
        for _, row in section.rows:
            for head, entry in zip(section.heads, row, strict=True):
                if entry.value is not None:
                    columns.setdefault(head, []).append(entry.value)
    rows: tuple[Row, ...] = (
        ("median", tuple(Entry((median(values),)) for values in columns.values())),
        ("largest", tuple(Entry((max(values),)) for values in columns.values())),
    )
    return replace(table, sections=(Section("", tuple(columns), rows),))


SHORTENED: dict[str, Callable[[Table], Table]] = {
    "datasets": lambda table: table,
    "tiny": _of_the_paper,
    "objective": _of_the_paper,
    "certificates": _certificates,
    "accuracy": _of_the_paper,
    "nmi": _of_the_paper,
    "traces": _summed,
    "seeds": _seeds,
    "seconds": _ranges,
}
"""The tables on the Markdown page, and how they are shortened; the text summarizes the others."""


def brief(table: Table) -> Table | None:
    """Return the short form of a table, or None if the page only summarizes it."""
    shorten = SHORTENED.get(table.name)
    return None if shorten is None else shorten(table)
