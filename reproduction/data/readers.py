"""Read samples and classes from .npz, .mat and .csv files.

Samples must be finite real numbers with a class each. Anything else in a file is a ValueError of
one line that names the file, the place in it, and the remedy.
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
        Where they come from, for the error.

    Raises
    ------
    ValueError
        If the samples are not finite real numbers, or a sample has no class.
    """
    dense = np.asarray(X.toarray() if sp.issparse(X) else X)
    if dense.dtype.kind not in "biuf":
        kind = "complex numbers" if dense.dtype.kind == "c" else f"entries of type {dense.dtype}"
        raise ValueError(f"{source} holds {kind} as samples; they must be real numbers.")
    if dense.ndim != 2 or dense.size == 0:
        raise ValueError(
            f"{source} holds samples of shape {dense.shape}; it must hold one sample per row, and "
            "at least one with at least one feature."
        )
    samples = np.ascontiguousarray(dense, dtype=np.float64)
    # checked after the conversion, as a wider float may not fit into 64 bits
    missing = np.argwhere(~np.isfinite(samples))
    if len(missing):
        row, column = missing[0]
        raise ValueError(
            f"{source} holds {len(missing)} entries that are NaN or infinite; the first is sample "
            f"{row + 1}, feature {column + 1}. Fill them in, or drop their samples."
        )
    return samples, _numbered(y, len(samples), source)


def _numbered(y: Any, n_samples: int, source: str) -> np.ndarray:
    """Return classes as numbers 0..c-1, in the order of their values."""
    labels = np.asarray(y.toarray() if sp.issparse(y) else y)
    if labels.dtype.kind not in "biufSUO":
        raise ValueError(
            f"{source} holds classes of type {labels.dtype}; they must be words or real numbers."
        )
    # one column or one row, as MATLAB stores vectors; one class per sample
    if labels.size != n_samples or max(labels.shape, default=0) != n_samples:
        raise ValueError(
            f"{source} holds {n_samples} samples and classes of shape {labels.shape}; there must "
            "be one class for every sample."
        )
    # MATLAB stores words in cells, which are arrays of one entry each
    cells = [
        label.item() if isinstance(label, np.ndarray) and label.size == 1 else label
        for label in labels.ravel().tolist()
    ]
    missing = np.flatnonzero([_is_missing(label) for label in cells])
    if len(missing):
        raise ValueError(
            f"{source} holds {len(missing)} samples without a class; the first is sample "
            f"{missing[0] + 1}. Every class must be a word or a finite real number."
        )
    try:
        known = labels.ravel() if labels.dtype != object else np.array(cells, dtype=object)
        numbered = np.unique(known, return_inverse=True)[1]
    except TypeError:  # words and numbers have no order
        raise ValueError(
            f"{source} holds classes of several types; write all as words or all as numbers."
        ) from None
    return numbered.reshape(-1).astype(np.int64)


def _is_missing(label: Any) -> bool:
    """Return whether a label is neither a word nor a finite real number."""
    if isinstance(label, str | bytes):
        # spreadsheets and pandas write these for a missing label
        return label.strip().lower() in ("", "nan", b"", b"nan")
    return not isinstance(label, int | float | np.number) or not np.isfinite(label)


def read(path: Path, n_features: int | None = None) -> Samples:
    """Read a file of a kind that :data:`READERS` lists.

    ``n_features`` decides whether the rows or the columns of a square matrix are samples.

    Raises
    ------
    ValueError
        If the file is damaged, or does not hold samples and classes.
    """
    return READERS[path.suffix.lower()](path, n_features)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Return a context that turns every error into a ValueError that names the file."""
    try:
        yield
    except Exception as error:  # a damaged file raises errors of zip, zlib, struct, index, type
        reason = " ".join(f"{type(error).__name__}: {error}".split()).removeprefix("ValueError: ")
        raise ValueError(
            f"{path} cannot be read ({reason}). Replace it by a complete file of plain numbers and "
            "words, or remove it."
        ) from error


def read_npz(path: Path, n_features: int | None = None) -> Samples:
    """Read arrays X and y."""
    # a pickle could run any code
    with _reading(path), np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return _from_arrays(path, arrays, n_features)


def read_mat(path: Path, n_features: int | None = None) -> Samples:
    """Read a MATLAB file with fea and gnd, or X and Y, in any case, samples in rows or columns."""
    with _reading(path):
        arrays = scipy.io.loadmat(path)
    named = {name: array for name, array in arrays.items() if not name.startswith("__")}
    return _from_arrays(path, named, n_features)


def read_csv(path: Path, n_features: int | None = None) -> Samples:
    """Read a table with a sample per line, with a header or without.

    The class is in the column that the header calls y, label, class or target, or else in the last
    column; it may be a word.
    """
    # spreadsheets write a mark at the beginning, which utf-8-sig removes
    with _reading(path), path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if any(field.strip() for field in row)]
    if not rows:
        raise ValueError(f"{path} is empty; it must hold one sample per line.")
    header = _header(rows[0])
    width = len(rows[0])
    column = width - 1
    if header is not None:
        column = next((i for i, name in enumerate(header) if name in CLASS_NAMES), column)
        rows = rows[1:]
    # samples are numbered by the lines that are not blank; a header is the first of them
    first = 1 if header is None else 2
    samples = []
    for number, row in enumerate(rows, start=first):
        try:
            if len(row) != width:
                raise ValueError
            samples.append([float(field) for i, field in enumerate(row) if i != column])
        except ValueError:
            raise ValueError(
                f"Sample {number} in {path} is not {width - 1} numbers and a class; separate them "
                "by commas and leave none out."
            ) from None
    return as_samples(np.array(samples), [row[column].strip() for row in rows], str(path))


READERS: dict[str, Callable[[Path, int | None], Samples]] = {
    ".npz": read_npz,
    ".mat": read_mat,
    ".csv": read_csv,
}
"""The reader of a file by its suffix."""


def _header(fields: list[str]) -> list[str] | None:
    """Return the names of the columns in lower case, or None if a first line holds a sample."""
    names = [field.strip().lower() for field in fields]
    # the last field may be a word in a line of samples, too
    numbers = [_is_number(name) for name in names[:-1]]
    # a line with a number among words is a damaged sample and no header; columns called 0, 1, 2 are
    # names if another column is called class
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
            f"{path} holds {', '.join(map(repr, arrays)) or 'nothing'}; it must hold the samples "
            "as X or fea and the classes as y or gnd."
        )
    n = int(np.prod(np.shape(y)))
    if np.ndim(X) != 2 or n not in X.shape:
        raise ValueError(
            f"{path} holds samples of shape {np.shape(X)} and {n} classes; there must be as many "
            "rows or columns as classes."
        )
    # the samples are on the side that is as long as the classes; the features decide a square
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
