"""The shape that most tables have: a block per cut, a row per dataset, a column per method."""

from __future__ import annotations

from collections.abc import Iterable

from firstcut.paper.data import printed
from firstcut.paper.report.record_selection import datasets_of, numbers, select
from firstcut.paper.report.table import Entry, Section
from firstcut.paper.runs.methods import Column
from firstcut.paper.runs.records import Record


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
    return tuple(
        Section(
            title,
            tuple(column.label for column, _ in present),
            tuple(
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
            ),
        )
        for cut, title in printed.CUT_TITLES.items()
    )
