"""Tables: CSV, TSV and whatever else has a row of fields per line, with a header or without.

NumPy reads the numbers; only where it cannot, the lines are looked through for the reason.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np

from leastcut.io.columns import WIDTH, Roles, roles_of
from leastcut.io.edge_lists import EDGE_HEADERS, edge_graph
from leastcut.io.layout import Layout, holds_row, layout_of
from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.matrices import graph_of_matrix
from leastcut.io.numbers import is_missing, is_number
from leastcut.io.source import Source


def read_csv(source: Source, wanted: Wanted) -> Loaded:
    """Read a table whose fields are separated by commas, or whatever else it is."""
    return _read(source, wanted, layout_of(source, wanted.header))


def read_tsv(source: Source, wanted: Wanted) -> Loaded:
    """Read a table whose fields are separated by tabs, or whatever else it is."""
    return _read(source, wanted, layout_of(source, wanted.header, "\t"))


def _read(source: Source, wanted: Wanted, layout: Layout) -> Loaded:
    rows = Rows(source, layout)
    lowered = tuple(name.lower() for name in layout.columns[:2])
    edges = layout.has_header and lowered in EDGE_HEADERS and len(layout.columns) <= 4
    if wanted.kind == "graph" and not edges:
        edges = 2 <= len(layout.columns) <= 3 and not _is_square(rows)
    if wanted.kind == "points" or not (edges or wanted.kind == "graph"):
        return _points(source, rows, wanted)
    if edges:
        loaded = edge_graph(source, rows.numbers, rows.all_fields(), wanted, layout.columns)
        if wanted.kind is not None:
            return loaded
        note = (
            f"{source.name} is read as a list of edges, by its columns "
            f"{' and '.join(map(repr, layout.columns[:2]))}; --as points takes it for points."
        )
        return Loaded("graph", loaded.data, source.name, loaded.names, notes=(note, *loaded.notes))
    points = _points(source, rows, wanted)
    return graph_of_matrix(points)


def _is_square(rows: Rows) -> bool:
    """Return whether there are as many rows as columns, which a list of edges hardly has."""
    return len(rows.lines) == len(rows.layout.columns)


class Rows:
    """The rows of a table, by line.

    Attributes
    ----------
    lines : list of str
        The lines that hold something, from the first row on.
    numbers : list of int
        Where each stands in the file, counted from 1.
    """

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source, self.layout = source, layout
        lines = source.lines[layout.first :]
        if layout.decimal_comma:
            lines = [line.replace(",", ".") for line in lines]
        self.numbers: Sequence[int] = range(layout.first + 1, layout.first + 1 + len(lines))
        held = [holds_row(line) for line in lines]
        if not all(held):
            kept = [i for i, is_held in enumerate(held) if is_held]
            self.numbers = [self.numbers[i] for i in kept]
            lines = [lines[i] for i in kept]
        self.lines = lines
        self._check_widths()

    def _check_widths(self) -> None:
        """Raise where a row has more or fewer fields than there are columns."""
        delimiter, width = self.layout.delimiter, len(self.layout.columns)
        if delimiter is not None and '"' not in self.source.text:
            widths = [line.count(delimiter) + 1 for line in self.lines]
        else:
            widths = [len(self.layout.fields(line)) for line in self.lines]
        for number, line, found in zip(self.numbers, self.lines, widths, strict=True):
            if line.count('"') % 2:
                raise ValueError(
                    f"{self.source.name}, line {number}: {line[:60]!r} has a quotation mark that "
                    "is not closed in its line."
                )
            # an empty field at the end is a delimiter too many, and no value
            if found == width or (found == width + 1 and self.layout.fields(line)[-1] == ""):
                continue
            shown = line if len(line) <= 60 else line[:57] + "..."
            raise ValueError(
                f"{self.source.name}, line {number} has {found} fields where there are {width} "
                f"columns: {shown!r}. Every row must have as many as the first."
            )

    def all_fields(self) -> list[list[str]]:
        """Return the fields of every row."""
        delimiter = self.layout.delimiter
        if delimiter is None or '"' in self.source.text:
            return [self.layout.fields(line) for line in self.lines]
        return [line.split(delimiter) for line in self.lines]

    def column(self, index: int) -> list[str]:
        """Return the fields of one column, without the spaces around them."""
        delimiter = self.layout.delimiter
        if delimiter is None:
            return [self.layout.fields(line)[index] for line in self.lines]
        reader = csv.reader(self.lines, delimiter=delimiter, skipinitialspace=True)
        return [row[index].strip() for row in reader]

    def floats(self, indices: list[int]) -> np.ndarray:
        """Return columns of numbers as an array of shape (n_rows, n_columns)."""
        try:
            found = np.loadtxt(
                self.lines,
                delimiter=self.layout.delimiter,
                usecols=indices,
                comments=None,
                quotechar='"',
                ndmin=2,
                encoding=None,
            )
        except ValueError:
            found = np.full((1, 1), np.nan)
        if np.isfinite(found).all():
            return found
        self._raise_at_fault(indices)
        # what NumPy does not take for a number and Python does, such as the digits of other scripts
        rows = [self.layout.fields(line) for line in self.lines]
        return np.array([[float(row[index]) for index in indices] for row in rows])

    def _raise_at_fault(self, indices: list[int]) -> None:
        """Raise for the first field that is no finite number, and count those that are missing."""
        names = self.layout.columns
        fault: tuple[int, int, str] | None = None
        missing: dict[str, int] = {}
        for number, line in zip(self.numbers, self.lines, strict=True):
            fields = self.layout.fields(line)
            for index in indices:
                if is_number(fields[index]):
                    continue
                if is_missing(fields[index]):
                    missing[names[index]] = missing.get(names[index], 0) + 1
                if fault is None or (is_missing(fault[2]) and not is_missing(fields[index])):
                    fault = number, index, fields[index]
        if fault is None:
            return
        number, index, field = fault
        name = names[index]
        where = f"{self.source.name}, line {number}, column {name!r}"
        if not is_missing(field):
            raise ValueError(
                f"{where}: {field[:WIDTH]!r} is not a finite number. Correct it, or leave the "
                f"column out with --drop {_quoted(name)}."
            )
        total, columns = sum(missing.values()), ", ".join(map(repr, missing))
        raise ValueError(
            f"{where}: the value is missing ({field!r}). {total} in all are missing, in "
            f"{columns}. Fill them in, drop their rows, or leave columns out with "
            f"{' '.join(f'--drop {_quoted(name)}' for name in missing)}."
        )


def _points(source: Source, rows: Rows, wanted: Wanted) -> Loaded:
    """Return the points of a table: its columns of numbers, but for those with another role."""
    layout = rows.layout
    roles: Roles = roles_of(source, rows, wanted)
    data = rows.floats(roles.features)
    names = None if roles.name is None else rows.column(roles.name)
    classes = None
    if roles.label is not None:
        classes = np.array(rows.column(roles.label))
        unknown = [i for i, field in enumerate(classes.tolist()) if is_missing(field)]
        if unknown:
            raise ValueError(
                f"{source.name}, line {rows.numbers[unknown[0]]} has no class in column "
                f"{layout.columns[roles.label]!r}, as {len(unknown)} of {len(classes)} rows have "
                "not. Fill them in, or leave the column out with "
                f"--drop {_quoted(layout.columns[roles.label])}."
            )
    return Loaded(
        "points",
        data,
        source.name,
        names if names is not None else range(1, len(data) + 1),
        classes,
        tuple(layout.columns[index] for index in roles.features),
        roles.notes,
    )


def _quoted(name: str) -> str:
    """Return a name as a shell takes it."""
    return name if name.isidentifier() else f"'{name}'"
