"""Read tables from text and Parquet files.

The delimiter, the header and decimal commas of a text file are detected from its first lines.
(``csv.Sniffer`` splits ``1,5 2,5`` and tab-separated words with commas at the commas, and does not
recognize the numbered header of pandas.) The options determine the roles of columns; an
unambiguous role is assigned automatically and noted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

import numpy as np

from leastcut.formatting import counted
from leastcut.io.graphs import EDGE_HEADERS, graph_of_edges
from leastcut.io.loaded import Loaded, ReadOptions, Roles, graph_of_matrix
from leastcut.io.rows import SHOWN, Rows, floats, is_integer, is_missing, is_number, split
from leastcut.io.source import Source
from leastcut.optional_packages import needed_for

SEEN_LINES = 100  # lines from which the layout is detected

# Delimiters other than spaces, in order of preference: commas also occur in numbers and words.
DELIMITERS = ("\t", ";", "|", ",")

# Usual names of columns of row names, in lower case.
ROW_NAMES = frozenset({"", "id", "index", "unnamed: 0", "row", "row_id", "rowid", "name", "sample"})

# Usual names of columns of known classes, in lower case.
CLASS_NAMES = frozenset(
    {"class", "label", "labels", "target", "y", "species", "category", "cluster", "group", "truth"}
)

MOST_CLASSES = 100  # distinct integers up to which a column may hold classes
EXAMPLES = 3  # columns, and values of each, that an error shows
PANDAS_INDEX = "__index_level_0__"  # the column of row names that pandas adds to Parquet files


def read_csv(source: Source, options: ReadOptions) -> Loaded:
    """Read a text table, usually separated by commas."""
    return _read_text(Table.of_text(source, options.header), options)


def read_tsv(source: Source, options: ReadOptions) -> Loaded:
    """Read a text table, usually separated by tabs."""
    return _read_text(Table.of_text(source, options.header, "\t"), options)


def _read_text(table: Table, options: ReadOptions) -> Loaded:
    """Return a text table as an edge list, a square matrix or points."""
    columns, rows, name = table.columns, table.rows, table.source.name
    assert rows is not None
    header = tuple(column.lower() for column in columns[:2])
    is_edges = table.has_header and header in EDGE_HEADERS and len(columns) <= 4
    if options.kind == "graph" and not is_edges:
        # a square table is a matrix, not an edge list
        is_edges = 2 <= len(columns) <= 3 and len(rows.lines) != len(columns)
    if is_edges and options.kind != "points":
        loaded = graph_of_edges(rows, options, len(columns))
        note = (
            f"{name} is read as an edge list because of its columns "
            f"{' and '.join(map(repr, columns[:2]))}; --as points reads it as points."
        )
        return loaded if options.kind else replace(loaded, notes=(note, *loaded.notes))
    roles = Roles.of(columns, options, name)
    words = {*table.words, roles.label, roles.name, *([0] if table.may_name_rows else [])}
    used = {*roles.features, roles.label, roles.name}
    kinds = [
        None if i not in used else "string" if i in words else "double" for i in range(len(columns))
    ]
    return replace(table, values=rows.columns(kinds)).loaded(roles, options)


def read_parquet(source: Source, options: ReadOptions) -> Loaded:
    """Read a Parquet file; the index that pandas may have stored names the rows."""
    with needed_for("Parquet files", "pyarrow", "cli"):
        import pyarrow
        from pyarrow import parquet, types
    with source.reading("a Parquet file"), source.opened() as file:
        data = parquet.read_table(pyarrow.PythonFile(file))
    if data.num_rows == 0:
        raise ValueError(f"{source.name} has no rows.")
    columns = tuple(data.column_names)
    if options.name_column is None and PANDAS_INDEX in columns:
        options = replace(options, name_column=PANDAS_INDEX)
    checks = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
    words = {i for i, kind in enumerate(data.schema.types) if not any(is_(kind) for is_ in checks)}
    table = Table(source, columns, True, words, dict(enumerate(data.columns)))
    return table.loaded(Roles.of(columns, options, source.name), options)


@dataclass(frozen=True)
class Table:
    """A table with columns as PyArrow arrays by index; ``words`` are the columns of text."""

    source: Source
    columns: tuple[str, ...]
    has_header: bool
    words: set[int]
    values: dict[int, Any] = field(default_factory=dict)
    rows: Rows | None = None  # of text

    @classmethod
    def of_text(
        cls, source: Source, header: bool | None = None, delimiter: str | None = None
    ) -> Table:
        """Return a table without its values; columns without a header are numbered from 1."""
        rows = Rows.of(source, "#")
        if not rows.lines:
            raise ValueError(f"{source.name} has no rows; expected one row per point.")
        lines = rows.lines[:SEEN_LINES]
        if delimiter is None or not any(delimiter in line for line in lines):
            delimiter = _delimiter(lines)
        fields = [split(line, delimiter) for line in lines]
        # a comma can be a decimal point if it is not the delimiter
        decimal = "," if delimiter != "," and _has_decimal_commas(fields) else "."
        seen = [[entry.replace(decimal, ".") for entry in row] for row in fields]
        has_header = _has_header(seen) if header is None else header
        columns = tuple(str(number) for number in range(1, len(seen[0]) + 1))
        if has_header:
            columns = _names(source, fields)
            del seen[0]
        words = {i for i in range(len(columns)) if _are_words([row[i : i + 1] for row in seen])}
        rows = rows.after(int(has_header), delimiter, decimal)
        return cls(source, columns, has_header, words, rows=rows)

    @property
    def may_name_rows(self) -> bool:
        """Whether the first column has a usual name for row names."""
        return self.has_header and self.columns[0].lower() in ROW_NAMES

    def loaded(self, roles: Roles, options: ReadOptions) -> Loaded:
        """Return the points of the table, or its graph if ``options`` requests it."""
        columns, (label, name, features) = self.columns, roles
        notes: list[str] = []
        # 1. row names: a first column with unique texts or row numbers
        if name is None and features[0] == 0 and len(features) > 1:
            texts = self.texts(0) if 0 in self.words or self.may_name_rows else []
            if 0 in self.words and len(set(texts)) == len(texts):
                notes.append(f"Column {columns[0]!r} is used as row names.")
            elif self.may_name_rows and _count(texts):
                notes.append(
                    f"Column {columns[0]!r} numbers the rows: it is used as row names, not as a "
                    "feature."
                )
            if notes:
                name, features = 0, features[1:]
        # 2. the other columns must be numbers
        if self.words & set(features):
            raise ValueError(self._about_words(sorted(self.words & set(features))))
        data = self._floats(features)
        # 3. note features that look like classes
        for i, numbers in zip(features, data.T, strict=True):
            if label is None and self.has_header and columns[i].lower() in CLASS_NAMES:
                values = np.unique(numbers)
                if values.size <= MOST_CLASSES and (values == np.round(values)).all():
                    notes.append(
                        f"Column {columns[i]!r} is used as a feature; if it holds known classes, "
                        f"pass --label-column {columns[i]}."
                    )
        first = 0 if self.rows is None else 1
        names = range(first, first + len(data)) if name is None else self.items(name)
        classes = None if label is None else self._classes(label)
        used = tuple(columns[i] for i in features)
        points = Loaded("points", data, self.source.name, names, classes, used, tuple(notes))
        return graph_of_matrix(points) if options.kind == "graph" else points

    def items(self, index: int) -> list[Any]:
        """Return a column as a list, with text stripped."""
        items = self.values[index].to_pylist()
        return [item.strip() if isinstance(item, str) else item for item in items]

    def texts(self, index: int) -> list[str]:
        """Return a column as text."""
        return [str(item) for item in self.items(index)]

    def place(self, row: int) -> str:
        """Return the position of a row in the file, in words."""
        return f"row {row + 1}" if self.rows is None else f"line {self.rows.numbers[row]}"

    def _floats(self, indices: list[int]) -> np.ndarray:
        """Return columns as float64 of shape (n_rows, n_columns); raise for invalid values."""
        decimal = "." if self.rows is None else self.rows.decimal
        data = np.column_stack([floats(self.values[i], decimal) for i in indices])
        bad = [(row, indices[j]) for row, j in np.argwhere(~np.isfinite(data)).tolist()]
        if not bad:
            return data
        texts = {(row, i): str(self.values[i][row].as_py()).strip() for row, i in bad}
        wrong = [place for place, text in texts.items() if not is_missing(text)]
        row, i = (wrong or bad)[0]
        text = texts[row, i]
        where = f"{self.source.name}, {self.place(row)}, column {self.columns[i]!r}"
        if wrong:
            raise ValueError(
                f"{where}: {text[:SHOWN]!r} is not a finite number. Correct it, or remove the "
                f"column with --drop {quote(self.columns[i])}."
            )
        names = [self.columns[i] for i in dict.fromkeys(i for _, i in bad)]
        raise ValueError(
            f"{where}: the value is missing ({text!r}). {counted(len(bad), 'value')} missing in "
            f"total, in columns {', '.join(map(repr, names))}. Impute them, drop their rows, or "
            f"remove columns with {' '.join(f'--drop {quote(name)}' for name in names)}."
        )

    def _classes(self, label: int) -> np.ndarray:
        """Return a column of classes; raise if one is missing."""
        items, column = self.items(label), self.columns[label]
        unknown = [i for i, item in enumerate(items) if is_missing(str(item))]
        if unknown:
            raise ValueError(
                f"{self.source.name}, {self.place(unknown[0])}: the class in column {column!r} is "
                f"missing ({len(unknown)} of {len(items)} rows have none). Add the classes, or "
                f"remove the column with --drop {quote(column)}."
            )
        return np.array(items)

    def _about_words(self, words: list[int]) -> str:
        """Return the error message for columns of text."""
        shown = []
        for i in words[:EXAMPLES]:
            texts = list(dict.fromkeys(self.texts(i)))[:EXAMPLES]
            shown.append(f"{self.columns[i]!r} ({', '.join(repr(t[:SHOWN]) for t in texts)}, ...)")
        more = f" and {len(words) - EXAMPLES} more" if len(words) > EXAMPLES else ""
        name, is_one = quote(self.columns[words[0]]), len(words) == 1
        return (
            f"{self.source.name}: column{'' if is_one else 's'} {', '.join(shown)}{more} "
            f"contain{'s' if is_one else ''} text, but features must be numbers. Pass "
            f"--label-column {name} if it holds known classes, --names {name} if it holds row "
            f"names, or --drop {name} to remove it; an edge list needs --as graph."
        )


def _count(texts: list[str]) -> bool:
    """Return whether texts are consecutive integers."""
    return all(map(is_integer, texts)) and set(np.diff([int(text) for text in texts])) <= {1}


# -- the layout of text


def _delimiter(lines: Sequence[str]) -> str | None:
    """Return the delimiter that splits most lines into equally many fields, or None."""
    best, delimiter = 0, None
    for mark in DELIMITERS:
        width, n_agreeing = Counter(len(split(line, mark)) for line in lines).most_common(1)[0]
        if width > 1 and n_agreeing > best:
            best, delimiter = n_agreeing, mark
    return delimiter


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Return whether numbers have decimal commas and none has a decimal point."""
    fields = [field for row in rows[1:] or rows for field in row]
    has_commas = any(
        field.count(",") == 1 and is_number(field.replace(",", ".")) for field in fields
    )
    return has_commas and not any("." in field and is_number(field) for field in fields)


def _are_words(seen: list[list[str]]) -> bool:
    """Return whether most of the existing fields, at most one per row, are not numbers."""
    fields = [field for row in seen for field in row if not is_missing(field)]
    return 2 * sum(not is_number(field) for field in fields) > len(fields)


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row is a header.

    It is a header if it has text above numbers, omits the name of the first column, or numbers the
    columns from 0, as pandas does.
    """
    first, others = rows[0], rows[1:]
    if not others:
        return not any(map(is_number, first)) and len(first) > 0
    if len(first) == len(others[0]) - 1:
        return True
    named = first[1:] if first[0] == "" else first
    if len(named) > 2 and named == [str(number) for number in range(len(named))]:
        return True
    if first[0] == "" and named and not all(map(is_number, named)):
        return True
    for column, name in enumerate(first):
        below = [is_number(row[column]) for row in others if column < len(row)]
        if not is_number(name) and not is_missing(name) and 2 * sum(below) > len(below):
            return True
    # only text: the names of a header differ from each other and from the values below them
    is_repeated = any(
        row[column : column + 1] == [name] for column, name in enumerate(first) for row in others
    )
    has_numbers = any(is_number(field) for row in rows for field in row)
    return not has_numbers and len(set(first)) == len(first) and not is_repeated


def _names(source: Source, rows: list[list[str]]) -> tuple[str, ...]:
    """Return the column names of the first row; R omits the name of the column of row names."""
    if len(rows) == 1:
        raise ValueError(
            f"{source.name} has a header but no rows; pass --no-header if the first line is a row."
        )
    names = rows[0] if len(rows[0]) >= len(rows[1]) else ["", *rows[0]]
    # a trailing delimiter in every line gives a last column without name and values
    if len(names) > 1 and names[-1] == "" and all(row[-1:] == [""] for row in rows[1:]):
        names = names[:-1]
    return tuple(names)
