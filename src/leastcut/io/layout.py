"""How a table is laid out: what separates fields, where rows begin, what columns are called.

It is seen from the first lines, and told in the notes where it could be otherwise.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from leastcut.io.numbers import is_missing, is_number
from leastcut.io.source import Source

SEEN_LINES = 100
"""Lines at the beginning that are looked at."""

DELIMITERS = ("\t", ";", "|", ",")
"""What separates fields, where it is not spaces; of two that do equally well the first, as commas
may stand inside of numbers and words as well."""

COMMENT = "#"
"""How a line begins that says something about the table, and is no row."""


@dataclass(frozen=True)
class Layout:
    """How a table is laid out.

    Attributes
    ----------
    delimiter : str or None
        What separates fields; None is any spaces.
    columns : tuple of str
        The names of the columns, those of the header or numbers from 1.
    has_header : bool
    first : int
        The index of the line of the first row.
    decimal_comma : bool
        Whether numbers have a comma where others have a point.
    """

    delimiter: str | None
    columns: tuple[str, ...]
    has_header: bool
    first: int
    decimal_comma: bool = False

    def fields(self, line: str) -> list[str]:
        """Return the fields of a line, without quotes and the spaces around them."""
        return split(line, self.delimiter)


def holds_row(line: str) -> bool:
    """Return whether a line holds something, and is no comment."""
    return bool(line) and not line.isspace() and not line.startswith(COMMENT)


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line, without quotes and the spaces around them.

    Examples
    --------
    >>> split('"a, b", 2', ",")
    ['a, b', '2']
    """
    if delimiter is None:
        return next(csv.reader([" ".join(line.split())], delimiter=" "), [])
    if '"' not in line:
        return [field.strip() for field in line.split(delimiter)]
    found = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    return [field.strip() for field in found]


@contextmanager
def long_fields_named(source: Source) -> Iterator[None]:
    """Return a context in which a field that the csv module does not read is named."""
    try:
        yield
    except csv.Error as error:
        limit = csv.field_size_limit()
        number = next((i for i, line in enumerate(source.lines, 1) if len(line) > limit), 1)
        raise ValueError(
            f"{source.name}, line {number} has a field of more than {limit:,} characters ({error})"
            "; shorten it, close its quotation marks, or take its column out of the file."
        ) from None


def layout_of(source: Source, header: bool | None = None, delimiter: str | None = None) -> Layout:
    """Return how the table in a file is laid out.

    Parameters
    ----------
    source : Source
    header : bool or None
        Whether there is a line of names; None is to see.
    delimiter : str or None
        What separates fields, where that is known.

    Raises
    ------
    ValueError
        If there are no rows.
    """
    # 1. the first lines that hold something
    held = ((i, line) for i, line in enumerate(source.lines) if holds_row(line))
    seen = list(islice(held, SEEN_LINES))
    if not seen:
        raise ValueError(f"{source.name} holds no rows; a table has one for every point.")
    # 2. what separates the fields
    lines = [line for _, line in seen]
    if delimiter is None or not any(delimiter in line for line in lines):
        delimiter = _delimiter(lines)
    rows = [split(line, delimiter) for line in lines]
    # 3. whether the numbers have a comma for a point, as they can where it separates nothing
    decimal_comma = delimiter != "," and _has_decimal_commas(rows)
    if decimal_comma:
        rows = [[field.replace(",", ".") for field in row] for row in rows]
    # 4. whether the first line has names; R leaves out the one of the column of row names
    has_header = _has_header(rows) if header is None else header
    if not has_header:
        columns = tuple(str(number) for number in range(1, len(rows[0]) + 1))
        return Layout(delimiter, columns, False, seen[0][0], decimal_comma)
    if len(rows) == 1:
        raise ValueError(
            f"{source.name} has a line of column names and no rows after it; where that line is a "
            "row, say --no-header."
        )
    names = rows[0] if len(rows[0]) >= len(rows[1]) else ["", *rows[0]]
    # a delimiter at the end of every line begins a column that has neither name nor values
    if len(names) > 1 and names[-1] == "" and all(row[-1:] == [""] for row in rows[1:]):
        names = names[:-1]
    return Layout(delimiter, tuple(names), True, seen[1][0], decimal_comma)


def _delimiter(lines: list[str]) -> str | None:
    """Return what separates the fields of most lines into equally many; None where nothing does."""
    best, found = 0, None
    for delimiter in DELIMITERS:
        counts = Counter(len(split(line, delimiter)) for line in lines)
        width, agreeing = counts.most_common(1)[0]
        if width > 1 and agreeing > best:
            best, found = agreeing, delimiter
    return found


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Return whether there are numbers with a comma, and none with a point."""
    fields = [field for row in rows[1:] or rows for field in row]
    with_comma = [
        field for field in fields if field.count(",") == 1 and is_number(field.replace(",", "."))
    ]
    return bool(with_comma) and not any("." in field and is_number(field) for field in fields)


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns.

    It does where a word stands over numbers, where a name is missing over the first column, and
    where it counts the columns from 0, as pandas does.
    """
    first, others = rows[0], rows[1:]
    if not others:
        return not any(is_number(field) for field in first) and len(first) > 0
    if len(first) == len(others[0]) - 1:
        return True
    named = first[1:] if first[0] == "" else first
    if len(named) > 2 and named == [str(number) for number in range(len(named))]:
        return True
    if first[0] == "" and named and not all(map(is_number, named)):
        return True
    for column, name in enumerate(first):
        below = [row[column] for row in others if column < len(row)]
        numbers = sum(is_number(field) for field in below)
        if not is_number(name) and not is_missing(name) and 2 * numbers > len(below):
            return True
    # all words: names are no values of their columns, and different from each other
    words = all(not is_number(field) for row in rows for field in row)
    return words and len(set(first)) == len(first) and not _any_repeated(first, others)


def _any_repeated(first: list[str], others: list[list[str]]) -> bool:
    """Return whether a field of the first row is a value of its column."""
    return any(
        column < len(row) and row[column] == name
        for column, name in enumerate(first)
        for row in others
    )
