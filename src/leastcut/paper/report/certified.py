"""What the certificates prove: which cuts are optimal, and what no labels can reach."""

from __future__ import annotations

from dataclasses import dataclass

from leastcut.paper.data import printed
from leastcut.paper.report.flaws_of_the_paper import Flaw
from leastcut.paper.report.record_selection import in_order, select
from leastcut.paper.runs.methods import METHODS
from leastcut.paper.runs.records import Record

PROVEN = 1e-6
"""A gap below this is a proof of optimality: what is left of it is rounding, counted against us."""

VALUES = ("tiny", "objective")
"""The paper's tables of cut values."""


@dataclass(frozen=True)
class Unreachable:
    """A printed cut value that no labels have on our graph."""

    table: str
    row: str
    cut: str
    column: str
    paper: float
    bound: float


def gap(record: Record) -> float:
    """Return how far the cut of a certificate may be above the optimum, as a part of its value."""
    value, bound = float(record["value"]), float(record["bound"])
    # components that are as many as the clusters: nothing is cut, and nothing is relative to it
    return (value - bound) / (value or 1.0)


def is_proven(record: Record) -> bool:
    """Return whether a certificate proves its cut to be the smallest there is."""
    return gap(record) < PROVEN


def is_tiny(record: Record) -> bool:
    """Return whether a record is of the tiny table."""
    return printed.split_name(record["dataset"])[1] is not None


def certificates(records: list[Record]) -> list[Record]:
    """Return a certificate for every dataset and cut that has one, tiny ones first.

    Of several, which had other time limits, it is the one with the smallest gap.
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
        The columns by our names. Its two bounds are no cut values, and are left out.
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
    # a number that was cut off and not rounded may stand for up to a whole unit more
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


def flaws_proven(records: list[Record]) -> list[Flaw]:
    """Return, for the tables that have any, which printed values no labels can have."""
    found = unreachable(records)
    flaws = []
    for table in VALUES:
        listed = "; ".join(
            f"{one.row}, {one.cut}, {one.column}: {one.paper:.{printed.DIGITS}f} against at least "
            f"{one.bound:.6f}"
            for one in found
            if one.table == table
        )
        if listed:
            text = f"No labels on our graph have these printed values, proven: {listed}."
            flaws.append(Flaw(f"below the bound in {table}", (table,), text))
    return flaws
