"""Source of samples in Arrow tables or Parquet files, streamed in batches.

Parquet has no random access within a row group. Consecutive reads, such as those of blocks,
continue where the previous one ended.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
from pyarrow import types

from leastcut.anchors.array_sources import Source, checked_rows, float_type
from leastcut.validation import check_sample_table

BATCH_BYTES = 2**23  # size of a batch, as rows of numbers
BATCH_ROWS = 2**10, 2**16  # minimum and maximum number of rows in a batch
BATCHES = 6  # batches in memory at once, including their compressed data
PAGE_BYTES = 2**21  # usual size of a page of a Parquet file and of its dictionary
UNPACKED = 2  # copies of a page in memory: compressed and decompressed
BUFFER_BYTES = 2**16  # of a file, read at once for every column
SHOWN = 5  # columns that an error lists


class Group(NamedTuple):
    """A group of rows; ``batches(rows)`` reads it from the start in batches of ``rows`` rows.

    Reading takes ``open_bytes`` of memory in addition to the batches.
    """

    n_rows: int
    batches: Callable[[int], Iterator[Any]]
    open_bytes: int = 0


def of_parquet(path: Path) -> ArrowSource:
    """Return the source of a Parquet file, or of all files in a folder, in the order of paths."""
    from pyarrow import dataset

    if path.is_dir():
        files = sorted(str(file) for file in path.rglob("*.parquet"))
        if not files:
            raise ValueError(
                f"X={str(path)!r} is a folder without Parquet files (*.parquet); pass the path of "
                "a file, or of a folder that contains some."
            )
        return _of_dataset(dataset.dataset(files, format="parquet"))
    return _of_dataset(dataset.dataset(str(path), format="parquet"))


def of_arrow(X: Any) -> ArrowSource:
    """Return the source of a pyarrow Table, RecordBatch, Dataset or ParquetFile."""
    if hasattr(X, "get_fragments"):
        return _of_dataset(X)
    if hasattr(X, "iter_batches"):  # a ParquetFile, with the options it was opened with
        numbers, names = range(X.metadata.num_row_groups), list(columns_of(X.schema_arrow))
        groups = [
            group._replace(open_bytes=UNPACKED * X.metadata.row_group(i).total_byte_size)
            for i, group in enumerate(_groups_of_file(lambda: X, numbers, X.metadata, names))
        ]
        return ArrowSource(X.schema_arrow, groups)
    if isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    if isinstance(X, pyarrow.Table):
        table = Group(X.num_rows, lambda rows: iter(X.to_batches(max_chunksize=rows)))
        return ArrowSource(X.schema, [table])
    raise TypeError(f"X is a pyarrow {type(X).__name__}; pass a Table, a Dataset or a ParquetFile.")


def _of_dataset(X: Any) -> ArrowSource:
    """Return the source of a dataset, whose Parquet files are read page by page.

    The dataset's own batches would read entire row groups at once.
    """
    names = list(columns_of(X.schema))
    groups = []
    for fragment in X.get_fragments():
        if hasattr(fragment, "row_groups"):
            from pyarrow import parquet

            def opened(fragment: Any = fragment) -> Any:
                return parquet.ParquetFile(
                    fragment.open(), buffer_size=BUFFER_BYTES, pre_buffer=False
                )

            numbers = [group.id for group in fragment.row_groups]
            groups += _groups_of_file(opened, numbers, fragment.metadata, names)
        else:

            def batches(rows: int, fragment: Any = fragment) -> Iterator[Any]:
                settings = {"batch_readahead": 0, "fragment_readahead": 0, "use_threads": False}
                return iter(fragment.to_batches(X.schema, names, batch_size=rows, **settings))

            groups.append(Group(fragment.count_rows(), batches))
    return ArrowSource(X.schema, groups)


def _groups_of_file(
    opened: Callable[[], Any], numbers: Iterable[int], metadata: Any, names: Sequence[str]
) -> list[Group]:
    """Return the row groups of a Parquet file."""
    chunks = {
        metadata.schema.column(place).path.partition(".")[0]: place
        for place in range(metadata.num_columns)
    }
    missing = [name for name in names if name not in chunks]
    if missing:
        raise ValueError(
            f"X has files without the column {missing[0]!r}, which other files have; pass files "
            "with the same columns."
        )
    groups = []
    for number in numbers:
        group = metadata.row_group(number)
        # For every column, a page and its dictionary (or the column, if smaller) are decompressed.
        sizes = [group.column(chunks[name]).total_uncompressed_size for name in names]
        open_bytes = UNPACKED * sum(min(size, PAGE_BYTES) for size in sizes)

        def batches(rows: int, number: int = number) -> Iterator[Any]:
            options = {"row_groups": [number], "columns": names, "use_threads": False}
            return iter(opened().iter_batches(rows, **options))

        groups.append(Group(group.num_rows, batches, open_bytes))
    return groups


class ArrowSource(Source):
    """A sequence of row groups."""

    is_stream = True

    def __init__(self, schema: Any, groups: Sequence[Group]) -> None:
        self._columns = columns_of(schema)
        sizes = [group.n_rows for group in groups]
        n_features = sum(self._columns.values())
        self.shape = (sum(sizes), n_features)
        kinds = {_number_type(schema.field(name).type) for name in self._columns}
        self.dtype = kinds.pop() if len(kinds) == 1 else np.dtype(np.float64)
        check_sample_table(self.shape, self.dtype)
        self._groups, self._ends = groups, np.cumsum(sizes)
        least, most = BATCH_ROWS
        row_bytes = n_features * self.dtype.itemsize
        self._batch_rows = max(least, min(most, BATCH_BYTES // row_bytes))
        # The position of the reader that all threads share: group, batches, first row, batch.
        self._lock = threading.Lock()
        self._group, self._first = -1, 0
        self._batches: Iterator[Any] = iter(())
        self._batch: Any = None

    def read(self, start: int, stop: int) -> np.ndarray:
        rows = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        row = start
        with self._lock:
            while row < stop:
                self._go_to(row)
                last = min(stop, self._first + self._batch.num_rows)
                part = self._batch.slice(row - self._first, last - row)
                self._fill(rows[row - start : last - start], part, row)
                row = last
        return checked_rows(rows, start)

    def reading_bytes(self, rows: int) -> int:
        # Rows, batches, and decompressed columns.
        row_bytes = self.shape[1] * self.dtype.itemsize
        buffers = BUFFER_BYTES * len(self._columns)
        opened = max(group.open_bytes for group in self._groups)
        return (rows + BATCHES * self._batch_rows) * row_bytes + buffers + opened

    def done(self) -> None:
        with self._lock:
            self._group, self._batch, self._batches = -1, None, iter(())
            # Return memory that Arrow has freed to the system.
            pyarrow.default_memory_pool().release_unused()

    def _go_to(self, row: int) -> None:
        """Read up to the batch of a row."""
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
                # The state of the reader is invalid now.
                self._group, self._batch = -1, None
                if isinstance(error, StopIteration):
                    raise ValueError(
                        f"X ended before row {row} of {self.shape[0]}: its files were changed "
                        "while they were read. Call the function again."
                    ) from None
                raise

    def _fill(self, rows: np.ndarray, batch: Any, start: int) -> None:
        """Write the columns of a batch into ``rows``."""
        position = 0
        for name, width in self._columns.items():
            values = batch.column(batch.schema.get_field_index(name))
            if values.null_count:
                row = start + int(np.argmax(np.asarray(values.is_null())))
                raise ValueError(
                    f"X has missing values; the first is in row {row}, column {name!r}. Drop those "
                    "samples or fill in the values."
                )
            if hasattr(values, "flatten") and hasattr(values.type, "list_size"):
                inner = values.flatten()
                if inner.null_count:
                    raise ValueError(
                        f"X has missing values in the lists of column {name!r}, after row {start}. "
                        "Drop those samples or fill in the values."
                    )
                rows[:, position : position + width] = _numbers(inner).reshape(len(values), width)
            else:
                rows[:, position] = _numbers(values)
            position += width


def columns_of(schema: Any) -> dict[str, int]:
    """Return the columns and their numbers of features; raise if one is not numeric.

    Index columns of pandas are ignored.
    """
    index_columns = (schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in schema.names if name not in index_columns]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"X has more than one column {repeated[0]!r}; rename them.")
    not_numeric = [name for name in names if not _is_numeric(schema.field(name).type)]
    if not_numeric:
        raise ValueError(
            f"X has columns that are not numeric: {', '.join(map(repr, not_numeric[:SHOWN]))}. "
            "Omit them, for example with pyarrow.dataset.dataset(path, schema=...) and a schema of "
            "the other columns."
        )
    return {name: getattr(schema.field(name).type, "list_size", 1) for name in names}


def _number_kind(kind: Any) -> Any:
    """Return the type of the numbers in a column, which may contain lists of fixed length."""
    return kind.value_type if types.is_fixed_size_list(kind) else kind


def _is_numeric(kind: Any) -> bool:
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(is_kind(_number_kind(kind)) for is_kind in kinds)


def _number_type(kind: Any) -> np.dtype[Any]:
    inner = _number_kind(kind)
    return float_type(np.dtype(np.float64 if types.is_decimal(inner) else inner.to_pandas_dtype()))


def _numbers(values: Any) -> np.ndarray:
    if types.is_decimal(values.type):
        values = values.cast("float64")
    return np.asarray(values.to_numpy(zero_copy_only=False))
