"""What a table is made of: sections of rows of entries, ours beside the paper's.

A number of ours is the median over the seeds; the smallest and the largest go with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from leastcut.paper.data import printed
from leastcut.paper.runs.methods import OPTIMUM, RELAXED

AGREEMENT = 0.02
"""Relative difference from the paper above which a number needs a reason; with less, the reasons
that matter would drown among those that do not."""

BOUNDS = (OPTIMUM.label, RELAXED.label)
"""Columns that no method can beat, and that therefore do not count for the best of a row."""


@dataclass(frozen=True)
class Entry:
    """One place in a table: our numbers over the seeds, and the paper's where it has one.

    ``text`` is shown instead of the median where it is given.
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
        """Ours relative to the paper's, less 1."""
        # nothing is relative to a printed 0
        if self.value is None or not self.paper:
            return None
        return self.value / self.paper - 1.0

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded or cut off to the digits printed, is the paper's."""
        if self.value is None or self.paper is None:
            return False
        # the paper rounds most numbers and cuts others off: half a unit below, a whole one above
        unit = 10.0**-printed.DIGITS
        return -0.5001 * unit <= self.value - self.paper < unit

    def verdict(self, *, larger_is_better: bool) -> str:
        """Return how ours compares with the paper's: same, near, better, worse, or nothing."""
        if self.paper is None or self.value is None:
            return ""
        if self.agrees:
            return "same"
        if self.difference is not None and abs(self.difference) <= AGREEMENT:
            return "near"
        return "better" if (self.value > self.paper) == larger_is_better else "worse"


Row = tuple[str, tuple[Entry, ...]]
"""A label, and an entry for every head of the section."""


@dataclass(frozen=True)
class Section:
    """One block of a table: a title, column heads, and rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """A table with its title and what must be said about it.

    Attributes
    ----------
    name : str
        What the command line and the files call it.
    title : str
    sections : tuple of Section
    number : str or None
        The paper's number of it, "Table II"; None for a table that only we have.
    short : str or None
        What a list of contents calls it, if not by its title.
    notes : tuple of str
    best : {"small", "large"} or None
        Which number of a row is the best one.
    digits : int
        Decimals to show.
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
        """The title, with the paper's number."""
        return printed.numbered(self.title, self.number)

    @property
    def is_empty(self) -> bool:
        """Whether there are no records for it."""
        return not any(section.rows for section in self.sections)

    def best_of(self, section: Section, row: tuple[Entry, ...]) -> list[bool]:
        """Return for every entry of a row whether it is the best of ours, to the digits shown."""
        # rounded first: numbers that look the same share the honour
        values = [
            None if head in BOUNDS or entry.value is None else round(entry.value, self.digits)
            for head, entry in zip(section.heads, row, strict=True)
        ]
        rivals = [value for value in values if value is not None]
        if self.best is None or not rivals:
            return [False] * len(row)
        # bounds are None here, and never the goal
        goal = min(rivals) if self.best == "small" else max(rivals)
        return [value == goal for value in values]
