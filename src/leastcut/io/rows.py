"""Rows of text files, and the numbers in their fields.

PyArrow parses the columns, with exact rounding and in less than half the CPU time of
``pandas.read_csv(..., float_precision="round_trip")``; by default pandas changes the last bit of
some numbers. If PyArrow fails, Python splits the lines, to read them or to report the invalid line.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastcut.formatting import counted
from leastcut.io.source import Source
from leastcut.optional_packages import needed_for

# Fields that denote a missing value, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "."})

MOST_DIGITS = 1000  # digits of an integer; Python limits the conversion of longer ones
SHOWN = 60  # characters of a line or a value that an error shows


def is_number(field: str) -> bool:
    """Return whether a field is a finite number."""
    try:
        value = float(field)
    except ValueError:
        return False
    return math.isfinite(value) and "_" not in field  # Python allows _ between digits


def is_missing(field: str) -> bool:
    """Return whether a field denotes a missing value."""
    return field.strip().lower() in MISSING


def is_integer(field: str) -> bool:
    """Return whether a field is an integer that Python can convert."""
    digits = field.strip().removeprefix("-")
    return digits.isdecimal() and len(digits) <= MOST_DIGITS


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line, without quotes and surrounding spaces."""
    if delimiter is None:
        return next(csv.reader([" ".join(line.split())], delimiter=" "), [])
    if '"' not in line:
        return [field.strip() for field in line.split(delimiter)]
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    return [field.strip() for field in fields]


def numbers(column: Any) -> np.ndarray:
    """Convert a PyArrow column without missing values to an array."""
    # its method to_numpy would import pandas, which takes 0.2 s
    return np.from_dlpack(column.combine_chunks())


def floats(column: Any, decimal: str = ".") -> np.ndarray:
    """Convert a PyArrow column to float64, with NaN for fields that are not finite numbers."""
    if str(column.type) != "string":
        column = column.cast("double", safe=False)
        return numbers(column.fill_null(np.nan) if column.null_count else column)
    fields = [field.replace(decimal, ".") for field in column.to_pylist()]
    return np.array([float(field) if is_number(field) else np.nan for field in fields])


@contextmanager
def long_fields_named(source: Source) -> Iterator[None]:
    """Report the line number if a field is too long for the csv module."""
    try:
        yield
    except csv.Error as error:
        limit = csv.field_size_limit()
        number = next((i for i, line in enumerate(source.lines, 1) if len(line) > limit), 1)
        raise ValueError(
            f"{source.name}, line {number} has a field of more than {limit:,} characters ({error})"
            "; shorten it, close its quotation marks, or remove its column from the file."
        ) from None


@dataclass(frozen=True)
class Rows:
    """Lines of a file with their line numbers; a delimiter of None is any whitespace."""

    source: Source
    numbers: Sequence[int]
    lines: list[str]
    delimiter: str | None = None
    decimal: str = "."

    @classmethod
    def of(cls, source: Source, comments: str) -> Rows:
        """Return the lines that are not empty and do not begin with one of ``comments``."""
        kept = [
            number
            for number, line in enumerate(source.lines, 1)
            if line and line[0] not in comments and not line.isspace()
        ]
        return cls(source, kept, [source.lines[number - 1] for number in kept])

    def after(self, count: int, delimiter: str | None = None, decimal: str = ".") -> Rows:
        """Return the rows after the first ``count``."""
        return Rows(self.source, self.numbers[count:], self.lines[count:], delimiter, decimal)

    def columns(self, kinds: Sequence[str | None]) -> dict[int, Any]:
        """Return columns as PyArrow arrays, by index.

        ``kinds`` has the type of each column, "double", "int64" or "string", or None to skip it. If
        a field cannot be converted, all columns are strings. Raise if a line has another number of
        fields.
        """
        content = self._plain()
        columns = None if content is None else self._read(content, self.delimiter or " ", kinds)
        if columns is None:
            rewritten = io.StringIO()
            csv.writer(rewritten, lineterminator="\n").writerows(self._fields(len(kinds)))
            columns = self._read(rewritten.getvalue().encode(), ",", kinds)
            assert columns is not None  # every line now has the right number of fields
        return columns

    def _plain(self) -> bytes | None:
        """Return the lines as text that PyArrow can split, or None if quotes prevent it."""
        text = "\n".join(self.lines)
        # PyArrow only accepts quotes at the beginning of a field, and they may span lines
        if '"' in text and (
            any(line.count('"') % 2 for line in self.lines)
            or (self.delimiter is not None and ' "' in text)
        ):
            return None
        if self.delimiter is None and (
            not text.isascii()
            or any(mark in text for mark in ("\t", "  ", " \n", "\n "))
            or text != text.strip()
        ):
            text = "\n".join([" ".join(line.split()) for line in self.lines])
        return text.encode()

    def _fields(self, width: int) -> Iterator[list[str]]:
        """Yield the fields of each line, split by Python; raise unless there are ``width``."""
        for number, line in zip(self.numbers, self.lines, strict=True):
            fields = split(line, self.delimiter)
            # an additional empty field at the end comes from a trailing delimiter
            if len(fields) != width and (len(fields) != width + 1 or fields[-1] != ""):
                shown = line if len(line) <= SHOWN else line[: SHOWN - 3] + "..."
                quotes = "; it has an unclosed quotation mark" if line.count('"') % 2 else ""
                raise ValueError(
                    f"{self.source.name}, line {number} has {counted(len(fields), 'field')}, but "
                    f"there are {counted(width, 'column')}: {shown!r}{quotes}. All rows must have "
                    "the same number of fields."
                )
            yield fields[:width]

    def _read(
        self, content: bytes, delimiter: str, kinds: Sequence[str | None]
    ) -> dict[int, Any] | None:
        """Return columns, or None if a line has another number of fields."""
        with needed_for("Tables and edge lists", "pyarrow", "cli"):
            import pyarrow
            from pyarrow import csv as arrow
        # a line must fit into a block, and a character takes at most 4 bytes
        size = max(2**20, 4 * max(map(len, self.lines)) + 4)
        names = [str(i) for i in range(len(kinds))]
        types = {name: kind for name, kind in zip(names, kinds, strict=True) if kind is not None}
        reading = arrow.ReadOptions(use_threads=False, block_size=size, column_names=names)
        parsing = arrow.ParseOptions(delimiter=delimiter)
        for column_types in (types, dict.fromkeys(types, "string")):
            converting = arrow.ConvertOptions(
                column_types=column_types,
                include_columns=list(types),
                null_values=[],
                decimal_point=self.decimal,
            )
            try:
                table = arrow.read_csv(io.BytesIO(content), reading, parsing, converting)
            except pyarrow.ArrowInvalid:
                continue
            if len(table) == len(self.lines):
                return {int(name): table.column(name) for name in types}
        return None
