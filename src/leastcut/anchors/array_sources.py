"""Samples in arrays: of NumPy in memory or in a mapped file, on a GPU, or with slices of rows.

A source is read some rows at a time, and nothing of what was read stays. Rows are floats in C
order, finite. Equal samples give equal rows bit for bit, wherever they lie: float32 if they are
stored as such, else float64.
"""

from __future__ import annotations

import mmap
import threading
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from leastcut.affinity.neighbors.devices import as_tensor
from leastcut.validation import CHECKED, check_sample_table

COPIED_BYTES = 2**20  # of a mapped file, copied before their pages are released


class Source(ABC):
    """Samples that are read some rows at a time, by several threads if need be.

    ``dtype`` is what rows are read as, float32 or float64. A source is a stream if it is much
    quicker to read one row after another than here and there.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_stream = False

    @abstractmethod
    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows, finite and in C order, which are not to be changed."""

    @abstractmethod
    def reading_bytes(self, rows: int) -> int:
        """Return the memory that a read of so many rows takes, the result included."""

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows, ascending and counted from ``start``; by default all between them."""
        if rows.size == 0:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        first = int(rows[0])
        between = self.read(start + first, start + int(rows[-1]) + 1)
        return np.asarray(between[rows - first])

    def unchecked(self, start: int, stop: int) -> Any:
        """Return rows that may hold anything, if that is quicker."""
        return self.read(start, stop)

    def on_gpu(self, start: int, stop: int) -> Any:
        """Return rows as a tensor on the GPU, where a check for finite values takes least."""
        rows = as_tensor(self.unchecked(start, stop))
        if not bool(rows.isfinite().all()):
            self.read(start, stop)  # which names the row
        return rows

    def done(self) -> None:  # noqa: B027  (most keep nothing)
        """Release what is kept for the next read."""


def float_type(dtype: Any) -> np.dtype[Any]:
    """Return what samples of a type are read as: float32 if they are so, else float64."""
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def checked_rows(rows: np.ndarray, start: int) -> np.ndarray:
    """Return rows in C order, from row ``start`` on; raise if one is not finite."""
    values = rows.reshape(-1)
    for first in range(0, values.size, CHECKED):
        bad = ~np.isfinite(values[first : first + CHECKED])
        if bad.any():
            row, column = divmod(first + int(np.argmax(bad)), rows.shape[1])
            raise ValueError(
                f"X has NaN or infinite values; the first is {rows[row, column]} at "
                f"({start + row}, {column}). Drop those samples or fill the values in."
            )
    return rows


def _checked_single_rows(found: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    is_finite = np.isfinite(found).all(axis=1)
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        checked_rows(found[row : row + 1], int(numbers[row]))
    return found


class ArraySource(Source):
    """An array of NumPy, whose rows are not copied if they lie in memory in this form."""

    def __init__(self, array: np.ndarray) -> None:
        self.shape = array.shape[0], array.shape[1]
        self.dtype = float_type(array.dtype)
        self._array, self._file = array, _mapped_file(array)

    def read(self, start: int, stop: int) -> np.ndarray:
        return checked_rows(self.unchecked(start, stop), start)

    def unchecked(self, start: int, stop: int) -> np.ndarray:
        part = self._array[start:stop]
        if self._file is None:
            return np.asarray(part, dtype=self.dtype, order="C")
        rows = np.empty(part.shape, dtype=self.dtype)
        step = max(1, COPIED_BYTES // max(1, abs(self._array.strides[0])))
        for first in range(0, rows.shape[0], step):
            rows[first : first + step] = part[first : first + step]
            _release_pages(self._file, part[first : first + step])
        return rows

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        found = np.ascontiguousarray(self._array[start + rows], dtype=self.dtype)
        if self._file is not None and rows.size:
            _release_pages(self._file, self._array[start + rows[0] : start + rows[-1] + 1])
        return _checked_single_rows(found, start + rows)

    def reading_bytes(self, rows: int) -> int:
        is_shared = self._array.dtype == self.dtype and self._array.flags.c_contiguous
        if self._file is None and is_shared:
            return 0
        mapped = 0 if self._file is None else 2 * COPIED_BYTES
        return int(rows * self.shape[1] * self.dtype.itemsize) + mapped


def _mapped_file(array: np.ndarray) -> mmap.mmap | None:
    """Return the mapped file behind an array or a view; None if its pages must stay.

    They must where changes are not written to the file (``mode="c"``) and would be lost.
    """
    owner, is_shared = array, False
    while isinstance(owner, np.ndarray):
        if isinstance(owner, np.memmap):
            is_shared = owner.mode != "c"
        owner = owner.base  # type: ignore[assignment]
    can_release = hasattr(mmap, "MADV_DONTNEED")
    return owner if is_shared and can_release and isinstance(owner, mmap.mmap) else None


def _release_pages(file: mmap.mmap, part: np.ndarray) -> None:
    """Release the pages under a part of a mapped array; a later read loads them again.

    Pages that a process has read count as its memory until the system wants them back, which is too
    late for one that may use less memory than the file has.
    """
    if part.size == 0:
        return
    begin = int(np.frombuffer(file, dtype=np.uint8).__array_interface__["data"][0])
    steps = [(n - 1) * stride for n, stride in zip(part.shape, part.strides, strict=True)]
    at = int(part.__array_interface__["data"][0]) - begin
    low = at + sum(step for step in steps if step < 0)
    high = at + sum(step for step in steps if step > 0) + part.itemsize
    first = low // mmap.PAGESIZE * mmap.PAGESIZE
    file.madvise(mmap.MADV_DONTNEED, first, high - first)


class SlicedSource(Source):
    """Anything that has slices of rows, as arrays of zarr, h5py and Dask have.

    If a chunk as it is stored has more rows than a read, it is kept for the next read: neighboring
    rows would unpack it again.
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
        if self._chunk_rows <= stop - start:
            return self._rows(start, stop)
        parts = []
        with self._lock:
            for number in range(start // self._chunk_rows, (stop - 1) // self._chunk_rows + 1):
                first, rows = self._chunk(number)
                parts.append(rows[max(start - first, 0) : stop - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def reading_bytes(self, rows: int) -> int:
        # As stored, as read, and what is unpacked.
        both = self._stored_bytes + self.shape[1] * self.dtype.itemsize
        return int((rows + 2 * min(self._chunk_rows, self.shape[0])) * both)

    def done(self) -> None:
        self._kept = None

    def _chunk(self, number: int) -> tuple[int, np.ndarray]:
        first = number * self._chunk_rows
        if self._kept is None or self._kept[0] != first:
            self._kept = None  # before the next is read: there is memory for one
            last = min(first + self._chunk_rows, self.shape[0])
            self._kept = first, self._rows(first, last)
        return self._kept

    def _rows(self, start: int, stop: int) -> np.ndarray:
        part = self._array[start:stop]
        return checked_rows(np.asarray(part, dtype=self.dtype, order="C"), start)


def _chunk_rows(array: Any) -> int:
    """Return the rows that are stored together, 1 if any can be read by themselves."""
    chunks = getattr(array, "chunks", None)
    # Dask has chunks of several sizes, as tuples; the largest counts.
    first = chunks[0] if isinstance(chunks, tuple) and chunks else 1
    return max(first) if isinstance(first, tuple) else int(first)


class TensorSource(Source):
    """A tensor of PyTorch or an array of CuPy on a GPU, which stays there for a search there."""

    def __init__(self, X: Any) -> None:
        tensor = as_tensor(X)
        if tensor.is_complex() or tensor.is_sparse:
            raise ValueError(f"X must be a dense tensor of real numbers, but it is {tensor.dtype}.")
        dtype = np.dtype(str(tensor.dtype).removeprefix("torch.").replace("bfloat16", "float16"))
        check_sample_table(tuple(tensor.shape), dtype)
        self.shape = int(tensor.shape[0]), int(tensor.shape[1])
        self.dtype = float_type(dtype)
        self._tensor = tensor.detach()

    def read(self, start: int, stop: int) -> np.ndarray:
        return checked_rows(self._on_host(self._tensor[start:stop]), start)

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        found = self._on_host(self._tensor[(rows + start).tolist()])
        return _checked_single_rows(found, start + rows)

    def unchecked(self, start: int, stop: int) -> Any:
        return self._tensor[start:stop]

    def reading_bytes(self, rows: int) -> int:
        return int(2 * rows * self.shape[1] * self.dtype.itemsize)

    def _on_host(self, rows: Any) -> np.ndarray:
        single = rows.float() if rows.dtype.itemsize < 4 else rows
        return np.ascontiguousarray(single.cpu().numpy(), dtype=self.dtype)
