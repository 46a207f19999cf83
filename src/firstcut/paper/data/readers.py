"""Reading samples and classes from the files people have: .npz, .mat and .csv."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

SAMPLE_NAMES = ("x", "fea", "data")
"""What the samples are called, in lower case."""

CLASS_NAMES = ("y", "gnd", "label", "labels", "class", "target")
"""What the classes are called, in lower case."""

Samples = tuple[np.ndarray, np.ndarray]
"""X (float64, one row per sample) and y (int64, 0..c-1)."""


def as_samples(X: Any, y: Any) -> Samples:
    """Return dense float64 samples and their classes numbered 0..c-1."""
    dense = X.toarray() if sp.issparse(X) else X
    classes = np.unique(np.asarray(y).reshape(-1), return_inverse=True)[1].reshape(-1)
    return np.ascontiguousarray(dense, dtype=np.float64), classes.astype(np.int64)


def read_npz(path: Path, n_features: int | None = None) -> Samples:
    """Read arrays X and y."""
    with np.load(path, allow_pickle=False) as file:  # a pickle could run anything
        return _from_arrays(path, {name: file[name] for name in file.files}, n_features)


def read_mat(path: Path, n_features: int | None = None) -> Samples:
    """Read a MATLAB file with fea and gnd, or X and Y, in any case, samples in rows or columns."""
    from scipy.io import loadmat

    try:
        content = loadmat(path)
    except NotImplementedError:
        raise ValueError(
            f"{path} is a MATLAB 7.3 file, which SciPy cannot read; save it with -v7, or as .npz "
            "with arrays X and y."
        ) from None
    return _from_arrays(
        path,
        {name: array for name, array in content.items() if not name.startswith("__")},
        n_features,
    )


def read_csv(path: Path, n_features: int | None = None) -> Samples:
    """Read a table with a sample per line, with a header or without.

    The class is in the column that the header calls y, label, class or target, or else in the last
    one; it may be a word.
    """
    # spreadsheets write a mark at the beginning, which utf-8-sig takes off
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if any(field.strip() for field in row)]
    if not rows:
        raise ValueError(f"{path} is empty; it must hold one sample per line.")
    # a first line of words is a header; its last field may be a word in a line of samples, too
    header = None if all(map(_is_number, rows[0][:-1])) else [f.strip().lower() for f in rows[0]]
    width = len(rows[0])
    column = width - 1
    if header is not None:
        column = next((i for i, name in enumerate(header) if name in CLASS_NAMES), column)
        rows = rows[1:]
    # samples are numbered as lines that are not blank, of which a header is the first
    first = 1 if header is None else 2
    samples = []
    for number, row in enumerate(rows, start=first):
        try:
            if len(row) != width:
                raise ValueError
            samples.append([float(field) for i, field in enumerate(row) if i != column])
        except ValueError:
            raise ValueError(
                f"Sample {number} in {path} is not {width - 1} numbers and a class; "
                "separate them by commas and leave none out."
            ) from None
    return as_samples(np.array(samples), [row[column].strip() for row in rows])


READERS: dict[str, Callable[[Path, int | None], Samples]] = {
    ".npz": read_npz,
    ".mat": read_mat,
    ".csv": read_csv,
}
"""How a file is read, by the end of its name; the number of features settles a square matrix."""


def _from_arrays(path: Path, arrays: Mapping[str, Any], n_features: int | None) -> Samples:
    """Return the samples and classes among named arrays, the samples turned into rows."""
    # MATLAB files of the same data say X and Y, x and y, fea and gnd
    lower = {name.lower(): array for name, array in arrays.items()}
    X = next((lower[name] for name in SAMPLE_NAMES if name in lower), None)
    y = next((lower[name] for name in CLASS_NAMES if name in lower), None)
    if X is None or y is None:
        raise ValueError(
            f"{path} holds {', '.join(map(repr, arrays)) or 'nothing'}; it must hold the samples "
            "as X or fea and the classes as y or gnd."
        )
    n = int(np.size(y))
    if X.ndim != 2 or n not in X.shape:
        raise ValueError(
            f"{path} holds samples of shape {X.shape} and {n} classes; one side of the samples "
            "must be as long as the classes are many."
        )
    # the side as long as the classes are many has the samples; where both are, the features decide
    square = X.shape[0] == X.shape[1]
    if X.shape[0] != n or (square and n_features not in (None, X.shape[1])):
        X = X.T
    return as_samples(X, y)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
