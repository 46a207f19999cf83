"""Rows of text: lines of a file that hold fields, and what counts as a number in a field.

PyArrow reads the columns: 100,000 rows of 50 numbers in 0.4 s of CPU time, each number to the last
bit (``pandas.read_csv`` takes 1.5 s with ``float_precision="round_trip"``, and 0.6 s without, when
numbers differ in the last bit). Python splits the lines only where PyArrow fails, to find the line
at fault or to read what PyArrow does not.
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

from leastcut.io.source import Source
from leastcut.optional_packages import needed_for

# What stands for a missing value, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "."})

MOST_DIGITS = 1000  # of an integer: Python converts no more than some thousands
SHOWN = 60  # characters of a line or a value that an error shows


def is_number(field: str) -> bool:
    """Return whether a field is a finite number."""
    try:
        value = float(field)
    except ValueError:
        return False
    return math.isfinite(value) and "_" not in field  # which Python allows between digits


def is_missing(field: str) -> bool:
    """Return whether a field stands for a missing value."""
    return field.strip().lower() in MISSING


def is_integer(field: str) -> bool:
    """Return whether a field is an integer, of no more digits than Python converts."""
    digits = field.strip().removeprefix("-")
    return digits.isdecimal() and len(digits) <= MOST_DIGITS


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line, without quotes and the spaces around them."""
    if delimiter is None:
        return next(csv.reader([" ".join(line.split())], delimiter=" "), [])
    if '"' not in line:
        return [field.strip() for field in line.split(delimiter)]
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    return [field.strip() for field in fields]


def numbers(column: Any) -> np.ndarray:
    """Return a column of PyArrow in which nothing is missing as an array."""
    # its method to_numpy would import pandas, for 0.2 s
    return np.from_dlpack(column.combine_chunks())


def floats(column: Any, decimal: str = ".") -> np.ndarray:
    """Return a column of PyArrow as float64, NaN where a field is no finite number."""
    if str(column.type) != "string":
        column = column.cast("double", safe=False)
        return numbers(column.fill_null(np.nan) if column.null_count else column)
    fields = [field.replace(decimal, ".") for field in column.to_pylist()]
    return np.array([float(field) if is_number(field) else np.nan for field in fields])


@contextmanager
def long_fields_named(source: Source) -> Iterator[None]:
    """Open a context in which the line of a field that is too long for the csv module is named."""
    try:
        yield
    except csv.Error as error:
        limit = csv.field_size_limit()
        number = next((i for i, line in enumerate(source.lines, 1) if len(line) > limit), 1)
        raise ValueError(
            f"{source.name}, line {number} has a field of more than {limit:,} characters ({error})"
            "; shorten it, close its quotation marks, or take its column out of the file."
        ) from None


@dataclass(frozen=True)
class Rows:
    """Lines of a file, their numbers in it, and what separates their fields: None is any spaces."""

    source: Source
    numbers: Sequence[int]
    lines: list[str]
    delimiter: str | None = None
    decimal: str = "."

    @classmethod
    def of(cls, source: Source, comments: str) -> Rows:
        """Return the lines that hold something, and do not begin with one of ``comments``."""
        kept = [
            number
            for number, line in enumerate(source.lines, 1)
            if line and line[0] not in comments and not line.isspace()
        ]
        return cls(source, kept, [source.lines[number - 1] for number in kept])

    def after(self, count: int, delimiter: str | None = None, decimal: str = ".") -> Rows:
        """Return the rows but for the first ``count``."""
        return Rows(self.source, self.numbers[count:], self.lines[count:], delimiter, decimal)

    def columns(self, kinds: Sequence[str | None]) -> dict[int, Any]:
        """Return columns as arrays of PyArrow, by their indices.

        Every line must have as many fields as there are ``kinds``: "double", "int64", "string", or
        None for a column to leave out. Where a field is not of its kind, all columns are strings.
        """
        content = self._plain()
        columns = None if content is None else self._read(content, self.delimiter or " ", kinds)
        if columns is None:
            rewritten = io.StringIO()
            csv.writer(rewritten, lineterminator="\n").writerows(self._fields(len(kinds)))
            columns = self._read(rewritten.getvalue().encode(), ",", kinds)
            assert columns is not None  # as every line has its fields now
        return columns

    def _plain(self) -> bytes | None:
        """Return the lines as text that PyArrow can split, or None where quotes prevent it."""
        text = "\n".join(self.lines)
        # PyArrow takes quotes only at the beginning of a field, and up to the next, in any line
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
        """Yield the fields of every line, split by Python; raise if there are not ``width``."""
        for number, line in zip(self.numbers, self.lines, strict=True):
            fields = split(line, self.delimiter)
            # an empty field at the end is a delimiter too many, and no value
            if len(fields) != width and (len(fields) != width + 1 or fields[-1] != ""):
                shown = line if len(line) <= SHOWN else line[: SHOWN - 3] + "..."
                quotes = "; a quotation mark is not closed in it" if line.count('"') % 2 else ""
                raise ValueError(
                    f"{self.source.name}, line {number} has {len(fields)} fields where there are "
                    f"{width} columns: {shown!r}{quotes}. Every row must have as many as the first."
                )
            yield fields[:width]

    def _read(
        self, content: bytes, delimiter: str, kinds: Sequence[str | None]
    ) -> dict[int, Any] | None:
        """Return columns, or None where lines do not have the fields that are expected."""
        with needed_for("Tables and lists of edges", "pyarrow", "cli"):
            import pyarrow
            from pyarrow import csv as arrow
        # a line must fit into a block, and a character takes 4 bytes at most
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
