"""Read samples and classes from .npz, .mat and .csv files.

Samples must be finite real numbers, each with a class. Otherwise a ValueError of one line names the
file, the place and the remedy.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

SAMPLE_NAMES = ("x", "fea", "data")
"""Names of the samples, in lower case."""

CLASS_NAMES = ("y", "gnd", "label", "labels", "class", "target")
"""Names of the classes, in lower case."""

Samples = tuple[np.ndarray, np.ndarray]
"""X (float64, one row per sample) and y (int64, 0..c-1)."""


def as_samples(X: Any, y: Any, source: str) -> Samples:
    """Return dense float64 samples and their classes numbered 0..c-1.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
    y : array of n entries
    source : str
        Their source, for error messages.

    Raises
    ------
    ValueError
        If the samples are not finite real numbers, or a sample has no class.
    """
    dense = np.asarray(X.toarray() if sp.issparse(X) else X)
    if dense.dtype.kind not in "biuf":
        kind = "complex numbers" if dense.dtype.kind == "c" else f"entries of type {dense.dtype}"
        raise ValueError(f"{source} has {kind} as samples; they must be real numbers.")
    if dense.ndim != 2 or dense.size == 0:
        raise ValueError(
            f"{source} has samples of shape {dense.shape}; they must be a 2-D array with at least "
            "one row (sample) and one column (feature)."
        )
    samples = np.ascontiguousarray(dense, dtype=np.float64)
    # checked after the conversion, as a wider float may not fit into 64 bits
    missing = np.argwhere(~np.isfinite(samples))
    if len(missing):
        row, column = missing[0]
        raise ValueError(
            f"{source} has {len(missing)} entries that are NaN or infinite; the first is sample "
            f"{row + 1}, feature {column + 1}. Replace them or remove their samples."
        )
    return samples, _numbered(y, len(samples), source)


def _numbered(y: Any, n_samples: int, source: str) -> np.ndarray:
    """Return classes as numbers 0..c-1, in the order of their values."""
    labels = np.asarray(y.toarray() if sp.issparse(y) else y)
    if labels.dtype.kind not in "biufSUO":
        raise ValueError(
            f"{source} has classes of type {labels.dtype}; they must be strings or real numbers."
        )
    # MATLAB stores vectors as one column or one row
    if labels.size != n_samples or max(labels.shape, default=0) != n_samples:
        raise ValueError(
            f"{source} has {n_samples} samples and classes of shape {labels.shape}; there must be "
            "one class for every sample."
        )
    # MATLAB stores strings in cells, which are arrays with one entry
    cells = [
        label.item() if isinstance(label, np.ndarray) and label.size == 1 else label
        for label in labels.ravel().tolist()
    ]
    missing = np.flatnonzero([_is_missing(label) for label in cells])
    if len(missing):
        raise ValueError(
            f"{source} has {len(missing)} samples without a class; the first is sample "
            f"{missing[0] + 1}. Every class must be a string or a finite real number."
        )
    try:
        known = labels.ravel() if labels.dtype != object else np.array(cells, dtype=object)
        numbered = np.unique(known, return_inverse=True)[1]
    except TypeError:  # strings and numbers cannot be sorted together
        raise ValueError(
            f"{source} has classes of several types; write all as strings or all as numbers."
        ) from None
    return numbered.reshape(-1).astype(np.int64)


def _is_missing(label: Any) -> bool:
    """Return whether a label is neither a string nor a finite real number."""
    if isinstance(label, str | bytes):
        # spreadsheets and pandas write these for a missing label
        return label.strip().lower() in ("", "nan", b"", b"nan")
    return not isinstance(label, int | float | np.number) or not np.isfinite(label)


def read(path: Path, n_features: int | None = None) -> Samples:
    """Read a file with one of the suffixes in :data:`READERS`.

    ``n_features`` decides whether the samples of a square matrix are in its rows or columns.

    Raises
    ------
    ValueError
        If the file is damaged or does not contain samples and classes.
    """
    return READERS[path.suffix.lower()](path, n_features)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Return a context that converts every error to a ValueError that names the file."""
    try:
        yield
    except Exception as error:  # damaged files raise errors of many types
        reason = " ".join(f"{type(error).__name__}: {error}".split()).removeprefix("ValueError: ")
        raise ValueError(
            f"{path} cannot be read ({reason}). Replace it by a complete file of numbers and "
            "strings, or remove it."
        ) from error


def read_npz(path: Path, n_features: int | None = None) -> Samples:
    """Read arrays X and y."""
    # pickles can run arbitrary code
    with _reading(path), np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return _from_arrays(path, arrays, n_features)


def read_mat(path: Path, n_features: int | None = None) -> Samples:
    """Read fea and gnd, or X and Y, ignoring case, with the samples in rows or columns."""
    with _reading(path):
        arrays = scipy.io.loadmat(path)
    named = {name: array for name, array in arrays.items() if not name.startswith("__")}
    return _from_arrays(path, named, n_features)


def read_csv(path: Path, n_features: int | None = None) -> Samples:
    """Read a table with one sample per line, with or without a header.

    The class is in the column named y, label, class or target, or else in the last column. It may
    be a string.
    """
    # utf-8-sig removes the byte order mark that spreadsheets write
    with _reading(path), path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if any(field.strip() for field in row)]
    if not rows:
        raise ValueError(f"{path} is empty; it must have one sample per line.")
    header = _header(rows[0])
    width = len(rows[0])
    column = width - 1
    if header is not None:
        column = next((i for i, name in enumerate(header) if name in CLASS_NAMES), column)
        rows = rows[1:]
    # lines are numbered without blank ones; a header is the first
    first = 1 if header is None else 2
    samples = []
    for number, row in enumerate(rows, start=first):
        try:
            if len(row) != width:
                raise ValueError
            samples.append([float(field) for i, field in enumerate(row) if i != column])
        except ValueError:
            raise ValueError(
                f"Line {number} in {path} (without blank lines) is not {width - 1} numbers and a "
                "class, separated by commas."
            ) from None
    return as_samples(np.array(samples), [row[column].strip() for row in rows], str(path))


READERS: dict[str, Callable[[Path, int | None], Samples]] = {
    ".npz": read_npz,
    ".mat": read_mat,
    ".csv": read_csv,
}
"""The reader of a file by its suffix."""


def _header(fields: list[str]) -> list[str] | None:
    """Return the names of the columns in lower case, or None if the first line is a sample."""
    names = [field.strip().lower() for field in fields]
    # the last field of a sample may be a string
    numbers = [_is_number(name) for name in names[:-1]]
    # a line with a number is a sample, possibly damaged, unless a column is named class
    if any(name in CLASS_NAMES for name in names[:-1]):
        return names
    return None if any(numbers) or not numbers else names


def _from_arrays(path: Path, arrays: Mapping[str, Any], n_features: int | None) -> Samples:
    """Return the samples and classes among named arrays, with the samples in rows."""
    # MATLAB files of the same data have X and Y, x and y, fea and gnd
    lower = {name.lower(): array for name, array in arrays.items()}
    X = next((lower[name] for name in SAMPLE_NAMES if name in lower), None)
    y = next((lower[name] for name in CLASS_NAMES if name in lower), None)
    if X is None or y is None:
        raise ValueError(
            f"{path} has {', '.join(map(repr, arrays)) or 'no arrays'}; it must have the samples "
            "as X or fea and the classes as y or gnd."
        )
    n = int(np.prod(np.shape(y)))
    if np.ndim(X) != 2 or n not in X.shape:
        raise ValueError(
            f"{path} has samples of shape {np.shape(X)} and {n} classes; there must be as many "
            "rows or columns as classes."
        )
    # the side as long as the classes has the samples; in a square the number of features decides
    square = X.shape[0] == X.shape[1]
    if X.shape[0] != n or (square and n_features not in (None, X.shape[1])):
        X = X.T
    return as_samples(X, y, str(path))


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
