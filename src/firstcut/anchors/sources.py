"""Rows of samples, wherever they lie: in memory, in mapped files, in stores of other libraries.

A source is read some rows at a time, and nothing of what was read stays. Whatever the source, rows
come in the same form, so that equal samples give equal answers bit for bit: float32 if they are
stored as such and else float64, in C order, finite.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from firstcut.anchors.mapped_pages import MappedPages
from firstcut.validation import (
    CHECKED,
    as_floats,
    as_plain,
    check_sample_table,
    is_on_gpu,
    refuse_masked,
)

COPIED_BYTES = 2**20
"""Bytes of a mapped file that are copied before their pages are let go."""

PARQUET = (".parquet", ".pq")
"""Endings of Parquet files."""


class Source(Protocol):
    """Samples that are read some rows at a time, by several threads if need be.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    dtype : dtype
        What rows are read as, float32 or float64.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows, finite and in C order; nobody changes them."""
        ...

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows, ascending, counted from ``start``."""
        ...

    def reading_bytes(self, rows: int) -> int:
        """Return the memory that a read of so many rows takes, with what it returns."""
        ...


def as_source(X: Any) -> Source:
    """Return samples as a source, without reading them.

    Parameters
    ----------
    X : array-like, path, or table or array of another library
        An array (in memory or :class:`numpy.memmap`), a list or a frame; the path of an ``.npy``
        file, of a Parquet file or of a folder of them; a table, a dataset or an open Parquet file
        of pyarrow; a ``zarr.Array``, an ``h5py.Dataset``, or anything else with a shape, a dtype
        and slices of rows.

    Returns
    -------
    Source

    Raises
    ------
    TypeError, ValueError
        If these are no samples: not two-dimensional, empty, no numbers, sparse, masked.

    Examples
    --------
    >>> import numpy as np
    >>> from firstcut.anchors.sources import as_source
    >>> source = as_source(np.arange(6).reshape(3, 2))
    >>> source.shape, source.read(1, 3)
    ((3, 2), array([[2., 3.],
           [4., 5.]]))
    """
    if isinstance(X, str | os.PathLike):
        return _of_path(Path(X))
    library = type(X).__module__.partition(".")[0]
    if sp.issparse(X):
        raise TypeError(
            "X is sparse, and anchors are not: bring it to few features first, as with "
            "sklearn.decomposition.TruncatedSVD, or pass X.toarray() if it has few."
        )
    if library == "pyarrow":
        from firstcut.anchors.arrow_source import of_arrow

        return of_arrow(X)
    if is_on_gpu(X):
        from firstcut.anchors.gpu_source import TensorSource

        return TensorSource(X)
    if _is_lazy(X):
        return SlicedSource(X)
    if library == "dask":
        raise TypeError(
            "X is a frame of Dask; pass X.to_dask_array(lengths=True), whose chunks are known."
        )
    refuse_masked("X", X)
    array = as_plain("X", X)
    check_sample_table(array.shape, array.dtype)
    # Objects, as frames of several types have them, become numbers at once.
    return ArraySource(as_floats("X", array) if array.dtype.kind == "O" else array)


def _of_path(path: Path) -> Source:
    """Return the samples of a file, or of the Parquet files of a folder."""
    if path.suffix == ".npy":
        # Opened as a map, which reads the header alone; objects would be read by running code.
        return as_source(np.load(path, mmap_mode="r"))
    if path.suffix in PARQUET or path.is_dir():
        from firstcut.anchors.arrow_source import of_parquet

        return of_parquet(path)
    raise ValueError(
        f"X={str(path)!r} is neither an .npy file, nor a Parquet file ({', '.join(PARQUET)}), nor "
        "a folder of Parquet files. Open other stores first, as by h5py.File(path)['name'] or "
        "zarr.open_array(path), and pass the array."
    )


def _is_lazy(X: Any) -> bool:
    """Whether an array of another library is read when it is sliced, and has known numbers."""
    # Arrays in memory can be shared as they are, and frames are no arrays.
    if any(hasattr(X, name) for name in ("__array_interface__", "__dlpack__", "iloc")):
        return False
    if not all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    try:
        np.dtype(X.dtype)
        return all(int(length) == length for length in X.shape)
    except (TypeError, ValueError):
        return False


def float_type(dtype: Any) -> np.dtype[Any]:
    """Return what samples of a type are read as: float32 if they are so, else float64."""
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def checked_rows(rows: np.ndarray, start: int) -> np.ndarray:
    """Return rows if all of them are finite, else name the first that is not.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        In C order.
    start : int
        The number of the first, for the error.
    """
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


class ArraySource:
    """An array of NumPy; pages of a mapped file are let go as soon as they were copied."""

    def __init__(self, array: np.ndarray) -> None:
        self.shape = array.shape[0], array.shape[1]
        self.dtype = float_type(array.dtype)
        self._array, self._pages = array, MappedPages.of(array)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows; those that lie in memory in this form are not copied."""
        part = self._array[start:stop]
        if self._pages is None:
            return checked_rows(np.asarray(part, dtype=self.dtype, order="C"), start)
        rows = np.empty(part.shape, dtype=self.dtype)
        step = max(1, COPIED_BYTES // max(1, abs(self._array.strides[0])))
        for first in range(0, rows.shape[0], step):
            rows[first : first + step] = part[first : first + step]
            self._pages.let_go(part[first : first + step])
        return checked_rows(rows, start)

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


class SlicedSource:
    """Anything that has slices of rows, as arrays of zarr, h5py and Dask have.

    Where what is stored together has more rows than are asked for, it is kept for the next read:
    neighbouring rows would unpack it again.
    """

    def __init__(self, array: Any) -> None:
        dtype = _numpy_type(array)
        check_sample_table(tuple(array.shape), dtype)
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.dtype = float_type(dtype)
        self._array, self._stored_bytes = array, dtype.itemsize * self.shape[1]
        self._chunk_rows = _chunk_rows(array)
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


def take_by_reading(source: Source, start: int, rows: np.ndarray) -> np.ndarray:
    """Return single rows of a source that has no quicker way to them."""
    if rows.size == 0:
        return np.empty((0, source.shape[1]), dtype=source.dtype)
    first = int(rows[0])
    between = source.read(start + first, start + int(rows[-1]) + 1)
    return np.asarray(between[rows - first])


def _checked_one_by_one(found: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    if not np.isfinite(found).all():
        row = int(np.argmax(~np.isfinite(found).all(axis=1)))
        checked_rows(found[row : row + 1], int(numbers[row]))
    return found


def _numpy_type(array: Any) -> Any:
    if type(array).__module__.partition(".")[0] == "torch":
        name = str(array.dtype).removeprefix("torch.")
        if name == "bfloat16":
            raise ValueError("X is of type bfloat16, which NumPy does not know; pass X.float().")
        return np.dtype(name)
    return np.dtype(array.dtype)


def _chunk_rows(array: Any) -> int:
    """Return the rows that are stored together, 1 where any can be read by themselves."""
    chunks = getattr(array, "chunks", None)
    # Dask has chunks of several sizes, as tuples; the largest counts.
    first = chunks[0] if isinstance(chunks, tuple) and chunks else 1
    return max(first) if isinstance(first, tuple) else int(first)
