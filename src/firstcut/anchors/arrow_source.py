"""Samples in tables of Arrow, in memory or in Parquet files: streamed batch by batch.

Parquet has no way to a row but through the rows before it in its group. Reads that follow one
another, as those of blocks do, go on where the one before ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firstcut.anchors.source_rows import checked_rows, float_type, take_by_reading
from firstcut.optional_packages import needed_for
from firstcut.validation import check_sample_table

BATCH_BYTES = 2**24
"""Bytes of a batch, as rows of numbers; several of them are in memory at once."""

BATCH_ROWS = 2**10, 2**16
"""Rows of a batch at least and at most."""

BUFFER_BYTES = 2**16
"""Bytes of a file that are read at once, for every column."""

SHOWN = 5
"""Columns that an error lists."""


class Group(NamedTuple):
    """Rows that are read from their first on: how many, and their batches of so many rows."""

    n_rows: int
    batches: Callable[[int], Iterator[Any]]


class Column(NamedTuple):
    """A column of numbers: its name, and how many features it holds."""

    name: str
    width: int


def of_parquet(path: Path) -> ArrowSource:
    """Return the samples of a Parquet file, or of all in a folder, in the order of their paths."""
    with needed_for("Parquet files", "pyarrow", "cli"):
        import pyarrow.dataset as dataset

    if path.is_dir():
        files = sorted(str(file) for file in path.rglob("*.parquet"))
        if not files:
            raise ValueError(f"X={str(path)!r} is a folder without Parquet files (*.parquet).")
        return _of_dataset(dataset.dataset(files, format="parquet"))
    return _of_dataset(dataset.dataset(str(path), format="parquet"))


def of_arrow(X: Any) -> ArrowSource:
    """Return samples in an object of pyarrow: Table, RecordBatch, Dataset or ParquetFile."""
    if hasattr(X, "to_batches") and hasattr(X, "num_rows"):  # a Table
        tables = [Group(X.num_rows, lambda rows: iter(X.to_batches(max_chunksize=rows)))]
        return ArrowSource(X.schema, tables)
    if hasattr(X, "get_fragments"):
        return _of_dataset(X)
    if hasattr(X, "iter_batches"):  # a ParquetFile
        return _of_file(X)
    if hasattr(X, "num_rows") and hasattr(X, "schema"):  # a RecordBatch
        return ArrowSource(X.schema, [Group(X.num_rows, lambda _: iter([X]))])
    raise TypeError(
        f"X is a {type(X).__name__} of pyarrow; pass a Table, a Dataset or a ParquetFile."
    )


def _of_dataset(X: Any) -> ArrowSource:
    import pyarrow.dataset as dataset

    def batches(part: Any, rows: int) -> Iterator[Any]:
        settings: dict[str, Any] = {}
        if isinstance(part, dataset.ParquetFileFragment):
            # Without these, whole groups of rows are read ahead.
            settings["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=BUFFER_BYTES, pre_buffer=False
            )
        return iter(
            part.to_batches(
                schema=X.schema,
                columns=[column.name for column in columns_of(X.schema)],
                batch_size=rows,
                batch_readahead=0,
                fragment_readahead=0,
                use_threads=False,
                **settings,
            )
        )

    groups = []
    for fragment in X.get_fragments():
        if hasattr(fragment, "split_by_row_group"):
            # Told by its parts: what they are asked for themselves is that of the whole file.
            parts = [
                (part, sum(group.num_rows for group in part.row_groups))
                for part in fragment.split_by_row_group()
            ]
        else:
            parts = [(fragment, fragment.count_rows())]
        groups += [Group(n_rows, partial(batches, part)) for part, n_rows in parts]
    return ArrowSource(X.schema, groups)


def _of_file(X: Any) -> ArrowSource:
    names = [column.name for column in columns_of(X.schema_arrow)]

    def batches(number: int, rows: int) -> Iterator[Any]:
        return iter(X.iter_batches(rows, row_groups=[number], columns=names, use_threads=False))

    groups = [
        Group(X.metadata.row_group(number).num_rows, partial(batches, number))
        for number in range(X.metadata.num_row_groups)
    ]
    return ArrowSource(X.schema_arrow, groups)


class ArrowSource:
    """Groups of rows, one after another."""

    def __init__(self, schema: Any, groups: Sequence[Group]) -> None:
        self._columns = columns_of(schema)
        sizes = [group.n_rows for group in groups]
        n_features = sum(column.width for column in self._columns)
        self.shape = (sum(sizes), n_features)
        types = {_number_type(schema.field(column.name).type) for column in self._columns}
        self.dtype = types.pop() if len(types) == 1 else np.dtype(np.float64)
        check_sample_table(self.shape, self.dtype)
        self._groups, self._ends = groups, np.cumsum(sizes)
        least, most = BATCH_ROWS
        row_bytes = n_features * self.dtype.itemsize
        self._batch_rows = max(least, min(most, BATCH_BYTES // row_bytes))
        # One reader for all threads, where the last read ended: group, batches, first row, batch.
        self._lock = threading.Lock()
        self._group, self._first = -1, 0
        self._batches: Iterator[Any] = iter(())
        self._batch: Any = None

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows."""
        found = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        row = start
        with self._lock:
            while row < stop:
                self._go_to(row)
                last = min(stop, self._first + self._batch.num_rows)
                part = self._batch.slice(row - self._first, last - row)
                self._fill(found[row - start : last - start], part, row)
                row = last
        return checked_rows(found, start)

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows, by reading what lies between them."""
        return take_by_reading(self, start, rows)

    def reading_bytes(self, rows: int) -> int:
        """Return the memory that a read takes: rows, batches, and what is unpacked of columns."""
        row_bytes = self.shape[1] * self.dtype.itemsize
        buffers = 4 * BUFFER_BYTES * len(self._columns)
        return rows * row_bytes + 4 * self._batch_rows * row_bytes + buffers

    def _go_to(self, row: int) -> None:
        """Make the batch of a row the present one."""
        group = int(np.searchsorted(self._ends, row, side="right"))
        if group != self._group or row < self._first:
            self._batch, self._group = None, group
            self._batches = self._groups[group].batches(self._batch_rows)
            self._first = int(self._ends[group]) - self._groups[group].n_rows
        while self._batch is None or row >= self._first + self._batch.num_rows:
            if self._batch is not None:
                self._first += self._batch.num_rows
            try:
                self._batch = next(self._batches)
            except BaseException as error:
                # What was read on the way is of no use to the next who reads.
                self._group, self._batch = -1, None
                if isinstance(error, StopIteration):
                    raise ValueError(
                        f"X ended before row {row} of {self.shape[0]}: its files were changed "
                        "while they were read."
                    ) from None
                raise

    def _fill(self, found: np.ndarray, batch: Any, start: int) -> None:
        """Write the columns of a batch side by side."""
        place = 0
        for column in self._columns:
            values = batch.column(batch.schema.get_field_index(column.name))
            if values.null_count:
                row = start + int(np.argmax(np.asarray(values.is_null())))
                raise ValueError(
                    f"X has missing entries; the first is in row {row}, column {column.name!r}. "
                    "Drop those samples or fill the values in."
                )
            if hasattr(values, "flatten") and hasattr(values.type, "list_size"):
                inner = values.flatten()
                if inner.null_count:
                    raise ValueError(
                        f"X has missing entries in the lists of column {column.name!r}, behind "
                        f"row {start}. Drop those samples or fill the values in."
                    )
                numbers = _numbers(inner).reshape(len(values), column.width)
                found[:, place : place + column.width] = numbers
            else:
                found[:, place] = _numbers(values)
            place += column.width


def columns_of(schema: Any) -> list[Column]:
    """Return the columns of numbers, if there are no others; an index that pandas kept is none."""
    kept = (schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in schema.names if name not in kept]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"X has more than one column {name!r}; rename them.")
    columns = [Column(name, getattr(schema.field(name).type, "list_size", 1)) for name in names]
    words = [name for name in names if not _holds_numbers(schema.field(name).type)]
    if words:
        raise ValueError(
            f"X has columns that hold no numbers: {', '.join(map(repr, words[:SHOWN]))}. Leave "
            "them out, as with pyarrow.dataset.dataset(path, schema=...) that has the others only."
        )
    return columns


def _holds_numbers(kind: Any) -> bool:
    import pyarrow.types as types

    inner = kind.value_type if types.is_fixed_size_list(kind) else kind
    told = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(is_kind(inner) for is_kind in told)


def _number_type(kind: Any) -> np.dtype[Any]:
    import pyarrow.types as types

    inner = kind.value_type if types.is_fixed_size_list(kind) else kind
    return float_type(np.dtype(np.float64 if types.is_decimal(inner) else inner.to_pandas_dtype()))


def _numbers(values: Any) -> np.ndarray:
    import pyarrow.types as types

    if types.is_decimal(values.type):
        values = values.cast("float64")
    return np.asarray(values.to_numpy(zero_copy_only=False))
