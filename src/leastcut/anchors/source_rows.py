"""Rows of samples as every source gives them: floats in C order, finite.

Whatever the source, equal samples give equal answers bit for bit: float32 if they are stored as
such and else float64.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from leastcut.validation import CHECKED


class Source(Protocol):
    """Samples that are read some rows at a time, by several threads if need be.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    dtype : dtype
        What rows are read as, float32 or float64.
    is_stream : bool
        Whether it is much quicker to read one row after another than here and there.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_stream: bool

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows, finite and in C order; nobody changes them."""
        ...

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows, ascending, counted from ``start``."""
        ...

    def reading_bytes(self, rows: int) -> int:
        """Return the memory that a read of so many rows takes, with what it returns."""
        ...

    def done(self) -> None:
        """Let go of what is kept for the next read."""
        ...


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


def take_by_reading(source: Source, start: int, rows: np.ndarray) -> np.ndarray:
    """Return single rows of a source that has no quicker way to them."""
    if rows.size == 0:
        return np.empty((0, source.shape[1]), dtype=source.dtype)
    first = int(rows[0])
    between = source.read(start + first, start + int(rows[-1]) + 1)
    return np.asarray(between[rows - first])
