"""Validation of the arrays of a sparse matrix.

SciPy's compiled functions trust index arrays: an index outside of the matrix makes them access
memory out of bounds, which crashes the process. SciPy's ``check_format(full_check=True)`` exists
for some formats only, changes the matrix, and does not report the position.

Each check is one pass over the index arrays, without copies except for LIL and DOK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np

REMEDY = "Build the matrix again from rows, columns and values with scipy.sparse.coo_array."
INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))  # supported by SciPy's compiled functions


def check_sparse(name: str, matrix: Any) -> None:
    """Raise if the arrays of a SciPy sparse matrix do not define a matrix of real numbers.

    Errors report the array, the position and the value; ``name`` is the name of the matrix. A wrong
    length or an index out of bounds is a ValueError, an index array without integers a TypeError.
    Matrices that are not two-dimensional are left to later checks of the shape.
    """
    if len(matrix.shape) == 2:
        CHECKS[matrix.format](_Named(name, matrix.format), matrix)


class _Named:
    """The name of a matrix and of its format, for errors."""

    def __init__(self, name: str, form: str) -> None:
        self.name, self.form = name, form.upper()
        self.malformed = f"{name} is a malformed {form.upper()} matrix"

    def refuse(self, what: str, remedy: str = REMEDY) -> ValueError:
        """Return the error for malformed arrays."""
        return ValueError(f"{self.malformed}: {what}. {remedy}")

    def integers(self, array: str, values: Any, size: int, suffix: str) -> None:
        """Raise unless an index array is one-dimensional, of this size and of a supported type."""
        if not isinstance(values, np.ndarray) or values.dtype not in INDEX_TYPES:
            raise TypeError(
                f"{self.malformed}: {array} must be an array of int32 or int64, but it is "
                f"{_kind(values)}. Convert it with {array}.astype(np.int64) if its values are "
                "integers."
            )
        if values.ndim != 1:
            raise self.refuse(f"{array} has shape {values.shape}, but must have one dimension")
        if values.size != size:
            raise self.refuse(f"{array} has {values.size} entries{suffix}")

    def indices(
        self, array: str, values: Any, n_data: int, high: int, low: int = 0, unit: str = ""
    ) -> None:
        """Raise unless there are ``n_data`` indices, all in ``low`` .. ``high`` − 1."""
        self.integers(array, values, n_data, f" and data {n_data}{unit}")
        if values.size == 0:
            return
        if low == 0:
            # As unsigned integers, negative numbers are the largest: one pass instead of two.
            if int(values.view(f"u{values.dtype.itemsize}").max()) < high:
                return
        elif low <= int(values.min()) and int(values.max()) < high:
            return
        first = int(np.argmax((values < low) | (values >= high)))
        must = f"must be from {low} to {high - 1}" if high > low else "the matrix has no entries"
        raise self.refuse(f"{array}[{first}] is {values[first]}, but {must}")

    def real(self, values: Any, n_dimensions: int) -> None:
        """Raise unless the stored values are real, in an array of ``n_dimensions`` dimensions."""
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.name} must hold real numbers, but its dtype is {_kind(values)}; convert it "
                "first."
            )
        # Possible after an assignment to ``data``; some conversions of SciPy then fail.
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


def _kind(values: Any) -> object:
    return values.dtype if isinstance(values, np.ndarray) else type(values).__name__


def _check_compressed(named: _Named, matrix: Any) -> None:
    """Check CSR, CSC and BSR."""
    indptr, data, block = matrix.indptr, matrix.data, (1, 1)
    named.real(data, 3 if named.form == "BSR" else 1)
    if named.form == "BSR":
        block = data.shape[1:]
        if 0 in block or any(size % b for size, b in zip(matrix.shape, block, strict=True)):
            raise named.refuse(f"blocks of shape {block} do not fill shape {matrix.shape}")
    n_rows, n_columns = (size // b for size, b in zip(matrix.shape, block, strict=True))
    if named.form == "CSC":
        n_rows, n_columns = n_columns, n_rows
    suffix = f", but must have {n_rows + 1} for shape {matrix.shape}"
    named.integers("indptr", indptr, n_rows + 1, suffix)
    named.indices("indices", matrix.indices, data.shape[0], n_columns)
    if indptr[0] != 0:
        raise named.refuse(f"indptr[0] is {indptr[0]}, but must be 0")
    # Compared and not subtracted, as a difference may overflow.
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        first = int(np.argmax(falls)) + 1
        raise named.refuse(
            f"indptr[{first}] is {indptr[first]}, which is less than indptr[{first - 1}], "
            f"{indptr[first - 1]}"
        )
    n_stored = data.shape[0]
    if int(indptr[-1]) > n_stored:
        first = int(np.argmax(indptr > n_stored))
        raise named.refuse(
            f"indptr[{first}] is {indptr[first]}, but indices has only {n_stored} entries"
        )
    # SciPy mostly ignores further entries, but ``tocoo`` returns random positions for them.
    if int(indptr[-1]) < n_stored:
        raise named.refuse(
            f"indices has {n_stored} entries, but indptr ends at {indptr[-1]}",
            "Drop the other entries with matrix.prune().",
        )


def _check_coo(named: _Named, matrix: Any) -> None:
    named.real(matrix.data, 1)
    if len(matrix.coords) != 2:
        raise named.refuse(f"coords has {len(matrix.coords)} arrays, but must have 2")
    for axis, (values, size) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
        named.indices(f"coords[{axis}]", values, matrix.data.size, size)


def _check_dia(named: _Named, matrix: Any) -> None:
    offsets, (n_rows, n_columns) = matrix.offsets, matrix.shape
    named.real(matrix.data, 2)
    named.indices("offsets", offsets, len(matrix.data), n_columns, 1 - n_rows, " rows")
    first = np.unique(offsets, return_index=True)[1]
    if first.size < offsets.size:
        repeated = int(np.setdiff1d(np.arange(offsets.size), first)[0])
        raise named.refuse(f"offsets[{repeated}] is {offsets[repeated]}, which is repeated")


def _check_lil(named: _Named, matrix: Any) -> None:
    n_rows, n_columns = matrix.shape
    for array in ("rows", "data"):
        lists = getattr(matrix, array)
        if not isinstance(lists, np.ndarray) or lists.shape != (n_rows,):
            shape = getattr(lists, "shape", type(lists).__name__)
            raise named.refuse(f"{array} has shape {shape}, but must have {n_rows} entries")
        wrong = next((i for i, row in enumerate(lists) if not isinstance(row, list)), None)
        if wrong is not None:
            raise TypeError(
                f"{named.malformed}: {array}[{wrong}] is {lists[wrong]!r}, which is not a list. "
                f"{REMEDY}"
            )
    for i, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if columns or values:
            named.indices(f"rows[{i}]", _as_array(columns), len(values), n_columns)
    named.real(_as_array(chain.from_iterable(matrix.data)), 1)


def _check_dok(named: _Named, matrix: Any) -> None:
    keys = list(matrix.keys())
    wrong = next((k for k in keys if not isinstance(k, tuple) or len(k) != 2), None)
    if wrong is not None:
        raise TypeError(f"{named.malformed}: keys has {wrong!r}, not a pair. {REMEDY}")
    for axis in range(2 if keys else 0):
        values = _as_array(key[axis] for key in keys)
        named.indices(f"keys[{axis}]", values, len(keys), matrix.shape[axis])
    named.real(_as_array(matrix.values()), 1)


def _as_array(values: Iterable[Any]) -> np.ndarray:
    """Return Python objects as an array; its type is not numeric if some are not numbers."""
    values = list(values)
    try:
        return np.array(values) if values else np.empty(0, dtype=np.int64)
    except (ValueError, OverflowError):  # ragged lists
        return np.array([None])


CHECKS: dict[str, Callable[[_Named, Any], None]] = {
    **dict.fromkeys(("csr", "csc", "bsr"), _check_compressed),
    "coo": _check_coo,
    "dia": _check_dia,
    "lil": _check_lil,
    "dok": _check_dok,
}
