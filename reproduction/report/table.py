"""Tables: sections with rows of entries, each with our values over the seeds and the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from reproduction.data import printed
from reproduction.runs.methods import OPTIMUM, RELAXED

AGREEMENT = 0.02
"""Relative difference from the paper above which a number needs a reason."""

BOUNDS = (OPTIMUM.label, RELAXED.label)
"""Columns of bounds, which are never the best of their row."""


@dataclass(frozen=True)
class Entry:
    """An entry of a table: our values over the seeds, and the paper's value or None.

    ``text`` is shown instead of the median if it is not None.
    """

    ours: tuple[float, ...] = ()
    paper: float | None = None
    text: str | None = None

    @property
    def value(self) -> float | None:
        """The median over the seeds."""
        return median(self.ours) if self.ours else None

    @property
    def difference(self) -> float | None:
        """Our value divided by the paper's, minus 1."""
        # undefined for a printed 0
        if self.value is None or not self.paper:
            return None
        return self.value / self.paper - 1.0

    @property
    def agrees(self) -> bool:
        """Whether our value, rounded or truncated to the printed digits, is the paper's."""
        if self.value is None or self.paper is None:
            return False
        return printed.is_printed(self.value, self.paper)

    def verdict(self, *, larger_is_better: bool) -> str:
        """Compare with the paper: "same", "near", "better" or "worse", or "" without a value."""
        if self.paper is None or self.value is None:
            return ""
        if self.agrees:
            return "same"
        if self.difference is not None and abs(self.difference) <= AGREEMENT:
            return "near"
        return "better" if (self.value > self.paper) == larger_is_better else "worse"


Row = tuple[str, tuple[Entry, ...]]
"""A label, and an entry for every column of the section."""


@dataclass(frozen=True)
class Section:
    """A block of a table: title, column heads, and rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """A table with its title and notes.

    Attributes
    ----------
    name : str
        The name in commands and files.
    title : str
    sections : tuple of Section
    number : str or None
        The number in the paper, as "Table II"; None for a table that is not in the paper.
    short : str or None
        A shorter title for the list of contents.
    notes : tuple of str
    best : {"small", "large"} or None
        Whether the smallest or the largest value of a row is the best.
    digits : int
        Number of decimals.
    """

    name: str
    title: str
    sections: tuple[Section, ...]
    number: str | None = None
    short: str | None = None
    notes: tuple[str, ...] = ()
    best: str | None = None
    digits: int = printed.DIGITS

    @property
    def heading(self) -> str:
        """The title with the paper's number."""
        return printed.numbered(self.title, self.number)

    @property
    def is_empty(self) -> bool:
        """Whether there are no records for the table."""
        return not any(section.rows for section in self.sections)

    def best_of(self, section: Section, row: tuple[Entry, ...]) -> list[bool]:
        """Return for every entry of a row whether it is our best value, to the digits shown."""
        # rounded first, so that values that look equal are all marked
        values = [
            None if head in BOUNDS or entry.value is None else round(entry.value, self.digits)
            for head, entry in zip(section.heads, row, strict=True)
        ]
        rivals = [value for value in values if value is not None]
        if self.best is None or not rivals:
            return [False] * len(row)
        goal = min(rivals) if self.best == "small" else max(rivals)
        return [value == goal for value in values]


Place = tuple[str, str, str, Entry]
"""Title of the cut, label of the row, head of the column, and the entry."""


def places(table: Table) -> Iterator[Place]:
    """Yield every place of a table with a value of ours."""
    for section in table.sections:
        for label, row in section.rows:
            for head, entry in zip(section.heads, row, strict=True):
                if entry.value is not None:
                    yield section.title, label, head, entry
