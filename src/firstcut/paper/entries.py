"""What a table is made of, and how records are picked for it.

A number of ours is the median over the seeds; the smallest and the largest go with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from firstcut.paper import printed
from firstcut.paper.experiments import Column
from firstcut.paper.records import Record

AGREEMENT = 0.02
"""Relative difference from the paper above which a number needs a reason."""


@dataclass(frozen=True)
class Entry:
    """A cell: our numbers over the seeds, and the paper's where it has one."""

    ours: tuple[float, ...] = ()
    paper: float | None = None
    text: str | None = None

    @property
    def value(self) -> float | None:
        """The median over the seeds."""
        return median(self.ours) if self.ours else None

    @property
    def difference(self) -> float | None:
        """Ours relative to the paper's, less 1."""
        if self.value is None or not self.paper:
            return None
        return self.value / self.paper - 1.0

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded or cut off to the digits printed, is the paper's."""
        if self.value is None or self.paper is None:
            return False
        unit = 10.0**-printed.DIGITS
        return -0.5001 * unit <= self.value - self.paper < unit


@dataclass(frozen=True)
class Section:
    """One block of a table: a title, column heads, and a label and entries for every row."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Entry, ...]], ...]


@dataclass(frozen=True)
class Table:
    """A table with its title and what must be said about it."""

    name: str
    title: str
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    best: str | None = None
    digits: int = printed.DIGITS
    ignored: tuple[str, ...] = field(default=("OPT", "OPT_r"))

    def best_of(self, section: Section, row: tuple[Entry, ...]) -> list[bool]:
        """Return for every cell of a row whether it is the best of ours, to the digits shown."""
        values = [
            None if head in self.ignored or entry.value is None else round(entry.value, self.digits)
            for head, entry in zip(section.heads, row, strict=True)
        ]
        rivals = [value for value in values if value is not None]
        if self.best is None or not rivals:
            return [False] * len(row)
        goal = min(rivals) if self.best == "small" else max(rivals)
        return [value == goal for value in values]


def select(
    records: Iterable[Record], experiment: str, column: Column | None = None
) -> list[Record]:
    """Return the records of an experiment, and of a column of it."""
    return [
        record
        for record in records
        if record["experiment"] == experiment
        and (
            column is None
            or (record["method"] == column.method and record["parameters"] == column.parameters)
        )
    ]


def rows_of(records: Iterable[Record]) -> list[str]:
    """Return the datasets of records in the paper's order, others after them."""
    order = list(printed.dataset_labels())
    found = {record["dataset"] for record in records}

    def place(name: str) -> tuple[int, str]:
        stem = name.partition(":")[0]
        return (order.index(stem) if stem in order else len(order), name)

    return sorted(found, key=place)


def spread(records: Iterable[Record], column: Column) -> list[Record]:
    """Return single starts as if each were a record of its own."""
    return [
        {**record, "seed": seed, "value": value, "accuracy": accuracy, "nmi": nmi}
        for record in select(records, "spread", column)
        for seed, (value, accuracy, nmi) in enumerate(
            zip(record["values"], record["accuracies"], record["nmis"], strict=True)
        )
    ]
