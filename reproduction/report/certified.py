"""Certificates: which cuts are optimal, and which printed values no partition can have."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.data import printed
from reproduction.report.selection import in_order, select
from reproduction.runs.methods import METHODS
from reproduction.runs.records import Record

PROVEN = 1e-6
"""A gap below this proves optimality; it is due to rounding errors."""

VALUES = ("tiny", "objective")
"""The paper's tables of cut values."""


@dataclass(frozen=True)
class Unreachable:
    """A printed cut value that no partition of our graph has."""

    table: str
    row: str
    cut: str
    column: str
    paper: float
    bound: float


def gap(record: Record) -> float:
    """Return the gap between the cut of a certificate and its bound, relative to the cut."""
    value, bound = float(record["value"]), float(record["bound"])
    # the cut is 0 if there are as many components as clusters
    return (value - bound) / (value or 1.0)


def is_proven(record: Record) -> bool:
    """Return whether a certificate proves its cut optimal."""
    return gap(record) < PROVEN


def is_tiny(record: Record) -> bool:
    """Return whether a record belongs to the tiny table."""
    return printed.split_name(record["dataset"])[1] is not None


def certificates(records: list[Record]) -> list[Record]:
    """Return the certificates, one per dataset and cut, those of the tiny table first.

    If there are several with different time limits, the one with the smallest gap is returned.
    """
    best: dict[tuple[str, str], Record] = {}
    for record in select(records, "certificates"):
        place = record["dataset"], record["cut"]
        if place not in best or gap(record) < gap(best[place]):
            best[place] = record
    return sorted(in_order(best.values()), key=lambda record: not is_tiny(record))


def values_printed(record: Record) -> list[tuple[str, str, float]]:
    """Return the cut values that the paper prints for the cell of a certificate.

    Returns
    -------
    list of (table, column, value)
        Without the two bounds, which are not cut values.
    """
    return [
        (table, column.label, value)
        for table in VALUES
        for column in METHODS
        if (value := printed.value(table, record["dataset"], record["cut"], column.printed))
        is not None
    ]


def unreachable(records: list[Record]) -> list[Unreachable]:
    """Return every printed cut value that is below the certified bound of its cell."""
    # the exact value of a truncated number is up to one unit larger
    unit = 10.0**-printed.DIGITS
    return [
        Unreachable(
            table,
            printed.row_label(record["dataset"]),
            printed.CUT_TITLES[record["cut"]],
            column,
            value,
            float(record["bound"]),
        )
        for record in certificates(records)
        for table, column, value in values_printed(record)
        if value + unit <= record["bound"]
    ]
