"""Sources of samples in arrays: NumPy (also memory-mapped), GPU, or arrays with slices of rows.

A source is read a few rows at a time and does not keep them. Rows are finite floats in C order:
float32 if they are stored as float32, otherwise float64. Equal samples give bitwise equal rows in
every source.
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
    """Samples that are read a few rows at a time, possibly by several threads.

    ``dtype`` is the type of the rows, float32 or float64. A source is a stream if sequential reads
    are much faster than random access.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_stream = False

    @abstractmethod
    def read(self, start: int, stop: int) -> np.ndarray:
        """Return finite rows in C order, which the caller must not change."""

    @abstractmethod
    def reading_bytes(self, rows: int) -> int:
        """Return the memory that a read of this number of rows needs, including the result."""

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows, sorted and relative to ``start``; by default reads all in between."""
        if rows.size == 0:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        first = int(rows[0])
        between = self.read(start + first, start + int(rows[-1]) + 1)
        return np.asarray(between[rows - first])

    def unchecked(self, start: int, stop: int) -> Any:
        """Return rows without the check for finite values, if that is faster."""
        return self.read(start, stop)

    def on_gpu(self, start: int, stop: int) -> Any:
        """Return finite rows as a tensor on the GPU, which also checks them."""
        rows = as_tensor(self.unchecked(start, stop))
        if not bool(rows.isfinite().all()):
            self.read(start, stop)  # raises, and reports the row
        return rows

    def done(self) -> None:  # noqa: B027  (most cache nothing)
        """Release the data cached for the next read."""


def float_type(dtype: Any) -> np.dtype[Any]:
    """Return the type of rows for samples of a dtype: float32 for float32, otherwise float64."""
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def checked_rows(rows: np.ndarray, start: int) -> np.ndarray:
    """Return rows that begin at row ``start`` of X; raise if a value is not finite."""
    values = rows.reshape(-1)
    for first in range(0, values.size, CHECKED):
        bad = ~np.isfinite(values[first : first + CHECKED])
        if bad.any():
            row, column = divmod(first + int(np.argmax(bad)), rows.shape[1])
            raise ValueError(
                f"X has NaN or infinite values; the first is {rows[row, column]} at "
                f"({start + row}, {column}). Drop those samples or fill in the values."
            )
    return rows


def _checked_single_rows(rows: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    is_finite = np.isfinite(rows).all(axis=1)
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        checked_rows(rows[row : row + 1], int(numbers[row]))
    return rows


class ArraySource(Source):
    """A NumPy array; rows in memory with the right type and order are not copied."""

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
        taken = np.ascontiguousarray(self._array[start + rows], dtype=self.dtype)
        if self._file is not None and rows.size:
            _release_pages(self._file, self._array[start + rows[0] : start + rows[-1] + 1])
        return _checked_single_rows(taken, start + rows)

    def reading_bytes(self, rows: int) -> int:
        is_shared = self._array.dtype == self.dtype and self._array.flags.c_contiguous
        if self._file is None and is_shared:
            return 0
        mapped = 0 if self._file is None else 2 * COPIED_BYTES
        return int(rows * self.shape[1] * self.dtype.itemsize) + mapped


def _mapped_file(array: np.ndarray) -> mmap.mmap | None:
    """Return the mapped file of an array or a view, or None if its pages must not be released.

    With ``mode="c"``, changes are not written to the file and would be lost.
    """
    owner, is_shared = array, False
    while isinstance(owner, np.ndarray):
        if isinstance(owner, np.memmap):
            is_shared = owner.mode != "c"
        owner = owner.base  # type: ignore[assignment]
    can_release = hasattr(mmap, "MADV_DONTNEED")
    return owner if is_shared and can_release and isinstance(owner, mmap.mmap) else None


def _release_pages(file: mmap.mmap, part: np.ndarray) -> None:
    """Release the pages of a part of a mapped array; a later read loads them again.

    Otherwise, pages count as memory of the process until the system reclaims them, and may exceed
    the memory limit.
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
    """An array that supports slices of rows, such as those of zarr, h5py and Dask.

    A stored chunk with more rows than a read is cached, as neighboring rows are in the same chunk.
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
        self._cached: tuple[int, np.ndarray] | None = None

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
        # The stored and the converted rows, and decompressed chunks.
        both = self._stored_bytes + self.shape[1] * self.dtype.itemsize
        return int((rows + 2 * min(self._chunk_rows, self.shape[0])) * both)

    def done(self) -> None:
        self._cached = None

    def _chunk(self, number: int) -> tuple[int, np.ndarray]:
        first = number * self._chunk_rows
        if self._cached is None or self._cached[0] != first:
            self._cached = None  # before the next read, as there is memory for one chunk
            last = min(first + self._chunk_rows, self.shape[0])
            self._cached = first, self._rows(first, last)
        return self._cached

    def _rows(self, start: int, stop: int) -> np.ndarray:
        part = self._array[start:stop]
        return checked_rows(np.asarray(part, dtype=self.dtype, order="C"), start)


def _chunk_rows(array: Any) -> int:
    """Return the number of rows in a stored chunk, or 1 if rows are stored separately."""
    chunks = getattr(array, "chunks", None)
    # Dask's chunk sizes are tuples; use the largest.
    first = chunks[0] if isinstance(chunks, tuple) and chunks else 1
    return max(first) if isinstance(first, tuple) else int(first)


class TensorSource(Source):
    """A PyTorch tensor or CuPy array on a GPU, which stays there for a search on the GPU."""

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
        taken = self._on_host(self._tensor[(rows + start).tolist()])
        return _checked_single_rows(taken, start + rows)

    def unchecked(self, start: int, stop: int) -> Any:
        return self._tensor[start:stop]

    def reading_bytes(self, rows: int) -> int:
        return int(2 * rows * self.shape[1] * self.dtype.itemsize)

    def _on_host(self, rows: Any) -> np.ndarray:
        single = rows.float() if rows.dtype.itemsize < 4 else rows
        return np.ascontiguousarray(single.cpu().numpy(), dtype=self.dtype)
