"""How many of the printed numbers are ours: one count per table of values and column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from leastcut.paper.report.evidence import MEASURES
from leastcut.paper.report.table import Entry, Table
from leastcut.paper.report.tables import TABLES
from leastcut.paper.runs.records import Record


@dataclass(frozen=True)
class Tally:
    """How the numbers that the paper prints in a column compare with ours.

    ``same`` are ours to the digits printed, ``near`` within 2%; the others are ``better`` or
    ``worse`` than printed.
    """

    table: str
    column: str
    same: int
    near: int
    better: int
    worse: int

    @property
    def of(self) -> int:
        """How many numbers there are to compare."""
        return self.same + self.near + self.better + self.worse


Place = tuple[str, str, str, Entry]
"""Title of the cut, label of the row, head of the column, and the entry there."""


def places(table: Table) -> Iterator[Place]:
    """Yield every place of a table that has a number of ours."""
    for section in table.sections:
        for label, row in section.rows:
            for head, entry in zip(section.heads, row, strict=True):
                if entry.value is not None:
                    yield section.title, label, head, entry


def tallies(records: list[Record]) -> list[Tally]:
    """Return a tally for every column that the paper prints and the records know."""
    found = []
    for name, measure in MEASURES.items():
        counts: dict[str, Counter[str]] = {}
        for _, _, head, entry in places(TABLES[name](records)):
            verdict = entry.verdict(larger_is_better=measure != "value")
            if verdict:
                counts.setdefault(head, Counter())[verdict] += 1
        for head, count in counts.items():
            numbers = (count[verdict] for verdict in ("same", "near", "better", "worse"))
            found.append(Tally(name, head, *numbers))
    return found
