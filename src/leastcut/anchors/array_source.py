"""Samples in arrays: of NumPy, in memory or in a mapped file, and of whoever has slices of rows."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from leastcut.anchors.mapped_pages import MappedPages
from leastcut.anchors.source_rows import checked_rows, float_type, take_by_reading
from leastcut.validation import check_sample_table

COPIED_BYTES = 2**20
"""Bytes of a mapped file that are copied before their pages are let go."""


class ArraySource:
    """An array of NumPy; pages of a mapped file are let go as soon as they were copied."""

    is_stream = False

    def __init__(self, array: np.ndarray) -> None:
        self.shape = array.shape[0], array.shape[1]
        self.dtype = float_type(array.dtype)
        self._array, self._pages = array, MappedPages.of(array)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows; those that lie in memory in this form are not copied."""
        return checked_rows(self.unchecked(start, stop), start)

    def unchecked(self, start: int, stop: int) -> np.ndarray:
        """Return rows that may hold anything."""
        part = self._array[start:stop]
        if self._pages is None:
            return np.asarray(part, dtype=self.dtype, order="C")
        rows = np.empty(part.shape, dtype=self.dtype)
        step = max(1, COPIED_BYTES // max(1, abs(self._array.strides[0])))
        for first in range(0, rows.shape[0], step):
            rows[first : first + step] = part[first : first + step]
            self._pages.let_go(part[first : first + step])
        return rows

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows."""
        found = np.ascontiguousarray(self._array[start + rows], dtype=self.dtype)
        if self._pages is not None and rows.size:
            self._pages.let_go(self._array[start + rows[0] : start + rows[-1] + 1])
        return _checked_one_by_one(found, start + rows)

    def reading_bytes(self, rows: int) -> int:
        """Return the memory that a read takes."""
        is_shared = self._array.dtype == self.dtype and self._array.flags.c_contiguous
        if self._pages is None and is_shared:
            return 0
        mapped = 0 if self._pages is None else 2 * COPIED_BYTES
        return int(rows * self.shape[1] * self.dtype.itemsize) + mapped

    def done(self) -> None:
        """Do nothing: nothing is kept."""


class SlicedSource:
    """Anything that has slices of rows, as arrays of zarr, h5py and Dask have.

    Where what is stored together has more rows than are asked for, it is kept for the next read:
    neighbouring rows would unpack it again.
    """

    def __init__(self, array: Any) -> None:
        dtype = np.dtype(array.dtype)
        check_sample_table(tuple(array.shape), dtype)
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.dtype = float_type(dtype)
        self._array, self._stored_bytes = array, dtype.itemsize * self.shape[1]
        self._chunk_rows = _chunk_rows(array)
        self.is_stream = self._chunk_rows > 1
        self._lock = threading.Lock()
        self._kept: tuple[int, np.ndarray] | None = None

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows."""
        if self._chunk_rows <= stop - start:
            return self._rows(start, stop)
        parts = []
        with self._lock:
            for number in range(start // self._chunk_rows, (stop - 1) // self._chunk_rows + 1):
                first, rows = self._chunk(number)
                parts.append(rows[max(start - first, 0) : stop - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows, by reading what lies between them."""
        return take_by_reading(self, start, rows)

    def reading_bytes(self, rows: int) -> int:
        """Return the memory that a read takes: as stored, as read, and what is unpacked."""
        both = self._stored_bytes + self.shape[1] * self.dtype.itemsize
        return int((rows + 2 * min(self._chunk_rows, self.shape[0])) * both)

    def done(self) -> None:
        """Let go of the chunk that is kept."""
        self._kept = None

    def _chunk(self, number: int) -> tuple[int, np.ndarray]:
        first = number * self._chunk_rows
        if self._kept is None or self._kept[0] != first:
            self._kept = None  # before the next is read: there is room for one
            last = min(first + self._chunk_rows, self.shape[0])
            self._kept = first, self._rows(first, last)
        return self._kept

    def _rows(self, start: int, stop: int) -> np.ndarray:
        part = self._array[start:stop]
        return checked_rows(np.asarray(part, dtype=self.dtype, order="C"), start)


def _checked_one_by_one(found: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    if not np.isfinite(found).all():
        row = int(np.argmax(~np.isfinite(found).all(axis=1)))
        checked_rows(found[row : row + 1], int(numbers[row]))
    return found


def _chunk_rows(array: Any) -> int:
    """Return the rows that are stored together, 1 where any can be read by themselves."""
    chunks = getattr(array, "chunks", None)
    # Dask has chunks of several sizes, as tuples; the largest counts.
    first = chunks[0] if isinstance(chunks, tuple) and chunks else 1
    return max(first) if isinstance(first, tuple) else int(first)
