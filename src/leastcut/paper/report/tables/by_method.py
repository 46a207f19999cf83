"""The shape that most tables have: a block per cut, a row per dataset, a column per method."""

from __future__ import annotations

from collections.abc import Iterable

from leastcut.paper.data import printed
from leastcut.paper.report.record_selection import datasets_of, numbers, select
from leastcut.paper.report.table import Entry, Row, Section
from leastcut.paper.runs.methods import Column
from leastcut.paper.runs.records import Record

NOT_PRINTED = " (not in the paper)"
"""What the head of a column says whose method is the paper's, but whose numbers are ours alone: the
paper leaves DNC out under the ratio cut."""


def sections_by_method(
    name: str, records: list[Record], experiment: str, field: str, columns: Iterable[Column]
) -> tuple[Section, ...]:
    """Return the blocks of a table, ours beside what the paper prints.

    Parameters
    ----------
    name : str
        The name of the table, by which its printed numbers are found.
    records : list of records
    experiment : str
        The experiment that is shown.
    field : str
        The field of its records that is shown.
    columns : iterable of Column
        Those without records are left out.

    Returns
    -------
    tuple of Section
        One per cut.
    """
    # the records of a column are picked once, for all rows and cuts
    chosen = [(column, select(records, experiment, column)) for column in columns]
    present = [(column, found) for column, found in chosen if found]
    datasets = datasets_of(select(records, experiment))
    sections = []
    for cut, title in printed.CUT_TITLES.items():
        rows = tuple(
            (
                printed.row_label(dataset),
                tuple(
                    Entry(
                        numbers(found, dataset, cut, field),
                        # None for tables and columns that the paper does not have
                        printed.value(name, dataset, cut, column.printed),
                    )
                    for column, found in present
                ),
            )
            for dataset in datasets
        )
        sections.append(Section(title, _heads([column for column, _ in present], rows), rows))
    return tuple(sections)


def _heads(columns: list[Column], rows: tuple[Row, ...]) -> tuple[str, ...]:
    """Return the labels; a method of the paper that it does not print in this block says so."""
    in_paper = [any(row[i].paper is not None for _, row in rows) for i in range(len(columns))]
    return tuple(
        column.label + NOT_PRINTED
        if any(in_paper) and column.printed is not None and not there
        else column.label
        for column, there in zip(columns, in_paper, strict=True)
    )
