"""What the columns of a table are for: numbers of points, known classes, names of rows, nothing.

What is asked for by name decides; beyond that only what cannot be meant otherwise, and it is noted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from leastcut.io.layout import SEEN_LINES, Layout, holds_row
from leastcut.io.loaded import Wanted
from leastcut.io.numbers import is_missing, is_number, is_whole
from leastcut.io.source import Source

ROW_NAMES = frozenset({"", "id", "index", "unnamed: 0", "row", "row_id", "rowid", "name", "sample"})
"""What columns of row names are called, in lower case."""

CLASS_NAMES = frozenset(
    {"class", "label", "labels", "target", "y", "species", "category", "cluster", "group", "truth"}
)
"""What columns of known classes are called, in lower case."""

MOST_CLASSES = 100
"""Different whole numbers that a column of classes may have, for a note to be made of it."""

SHOWN = 3
"""Columns, and values of them, that an error shows."""

WIDTH = 60
"""Characters of a value that an error shows."""


class Columns(Protocol):
    """A table whose columns can be asked for, one at a time."""

    layout: Layout

    def column(self, index: int) -> list[str]:
        """Return the fields of a column."""


@dataclass(frozen=True)
class Roles:
    """The indices of columns by what they are for, and what was decided."""

    features: list[int]
    label: int | None = None
    name: int | None = None
    notes: tuple[str, ...] = ()


def column_index(name: str, columns: tuple[str, ...], source: str) -> int:
    """Return the index of a column by its name, or by its number from 1, or from the end by -1.

    Raises
    ------
    ValueError
        If there is none; it lists those that there are.

    Examples
    --------
    >>> column_index("b", ("a", "b"), "x.csv"), column_index("-1", ("a", "b", "c"), "x.csv")
    (1, 2)
    """
    if name in columns:
        return columns.index(name)
    lowered = [column.lower() for column in columns]
    if lowered.count(name.lower()) == 1:
        return lowered.index(name.lower())
    if is_whole(name) and 1 <= abs(int(name)) <= len(columns):
        return int(name) - 1 if int(name) > 0 else len(columns) + int(name)
    listed = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
    raise ValueError(
        f"{source} has no column {name!r}; it has {listed}. Columns may also be named by number, "
        "from 1, or from the end by -1."
    )


def roles_of(source: Source, table: Columns, wanted: Wanted) -> Roles:
    """Return what the columns of a table are for.

    Raises
    ------
    ValueError
        If a column that is asked for is not there, columns hold words, or no numbers are left.
    """
    columns = table.layout.columns
    label = _index(wanted.label_column, columns, source)
    name = _index(wanted.name_column, columns, source)
    dropped = {column_index(column, columns, source.name) for column in wanted.without}
    left = [i for i in range(len(columns)) if i not in {label, name, *dropped}]
    notes: list[str] = []
    # 1. columns of words, as the first rows show them
    seen = _seen(source, table, left)
    words = [i for i in left if _is_words(seen[i])]
    # 2. row names: where nothing else was named, a first column that cannot be anything else
    if name is None and left and left[0] == 0:
        called = columns[0].lower() in ROW_NAMES if table.layout.has_header else False
        values = table.column(0) if 0 in words or called else []
        different = len(set(values)) == len(values)
        if 0 in words and different and len(left) > 1:
            notes.append(f"Column {columns[0]!r} is taken for the names of the rows.")
            name = 0
        elif called and len(left) > 1 and _counts(values):
            notes.append(
                f"Column {columns[0]!r} counts the rows: it is taken for their names, and not for "
                "a number of the points."
            )
            name = 0
        if name == 0:
            left, words = left[1:], [i for i in words if i != 0]
    # 3. what is left must be numbers
    if words:
        raise ValueError(_about_words(source, columns, words, seen))
    if not left:
        raise ValueError(f"{source.name} has no columns of numbers left to cluster by.")
    # 4. classes that are numbers would be clustered by: a user should know
    for i in left:
        if label is None and table.layout.has_header and columns[i].lower() in CLASS_NAMES:
            values = table.column(i)
            if len(set(values)) <= MOST_CLASSES and all(is_whole(v) for v in values):
                notes.append(
                    f"Column {columns[i]!r} is clustered by like the others; if it holds the known "
                    f"classes, say --label-column {columns[i]}."
                )
    return Roles(left, label, name, tuple(notes))


def _index(name: str | None, columns: tuple[str, ...], source: Source) -> int | None:
    return None if name is None else column_index(name, columns, source.name)


def _seen(source: Source, table: Columns, indices: list[int]) -> dict[int, list[str]]:
    """Return the first fields of columns."""
    layout = table.layout
    lines = [line for line in source.lines[layout.first :][:SEEN_LINES] if holds_row(line)]
    rows = [layout.fields(line) for line in lines]
    if layout.decimal_comma:
        rows = [[field.replace(",", ".") for field in row] for row in rows]
    return {i: [row[i] for row in rows if i < len(row)] for i in indices}


def _is_words(fields: list[str]) -> bool:
    """Return whether most of the fields that hold something are no numbers."""
    there = [field for field in fields if not is_missing(field)]
    return 2 * sum(not is_number(field) for field in there) > len(there)


def _counts(values: list[str]) -> bool:
    """Return whether values are consecutive whole numbers."""
    if not all(map(is_whole, values)):
        return False
    first = int(values[0])
    return all(int(value) == first + i for i, value in enumerate(values))


def _about_words(
    source: Source, columns: tuple[str, ...], words: list[int], seen: dict[int, list[str]]
) -> str:
    """Return the error about columns of words."""
    shown = []
    for i in words[:SHOWN]:
        values = [repr(value[:WIDTH]) for value in list(dict.fromkeys(seen[i]))[:SHOWN]]
        shown.append(f"{columns[i]!r} ({', '.join(values)}, ...)")
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    first = columns[words[0]]
    quoted = first if first.isidentifier() else f"'{first}'"
    plural = len(words) > 1
    return (
        f"{source.name}: column{'s' if plural else ''} {', '.join(shown)}{more} "
        f"hold{'' if plural else 's'} words, and points are numbers. Say --label-column {quoted} "
        f"for known classes, --names {quoted} for names of rows, or --drop {quoted} to leave it "
        "out; a list of edges is read with --as graph."
    )
