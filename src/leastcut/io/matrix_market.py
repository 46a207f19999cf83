"""Matrix Market files: a graph where the matrix is square, and else a point per row.

They are read here, as SciPy's reader ends the process on some that are damaged, and does not say
in which line the damage is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.matrices import loaded_matrix
from leastcut.io.numbers import is_number, is_whole
from leastcut.io.source import Source, check_announced

BEGINNING = "%%MatrixMarket"
"""How the first line begins."""

COMMENT = "%"
"""How lines begin that are not counted."""

FIELDS = ("real", "double", "integer", "pattern")
"""What entries may be; a pattern has none, and stands for ones."""

SYMMETRIES = ("general", "symmetric")
"""Whether all entries are listed, or those on and below the diagonal only."""


class Head(NamedTuple):
    """What the first line says: the words after its beginning."""

    is_sparse: bool
    is_pattern: bool
    is_symmetric: bool


def read_matrix_market(source: Source, wanted: Wanted) -> Loaded:
    """Read a matrix; its rows are counted from 1, as the file does.

    Raises
    ------
    ValueError
        If a line is not what the first ones announce; the message names the line.
    """
    head = _head(source)
    # 1. the lines that count, with their numbers in the file
    kept = [
        (number, line)
        for number, line in enumerate(source.lines, start=1)
        if line and not line.isspace() and not line.startswith(COMMENT)
    ]
    number, line = kept[0] if kept else (len(source.lines), "")
    sizes = line.split()
    if len(sizes) != (3 if head.is_sparse else 2) or not all(is_whole(s) for s in sizes):
        raise ValueError(
            f"{source.name}, line {number}: {line[:60]!r} is not the size of a matrix: rows, "
            "columns" + (" and entries." if head.is_sparse else ".")
        )
    shape = int(sizes[0]), int(sizes[1])
    check_announced(source.name, max(shape), "rows or columns", len(source.text))
    if head.is_symmetric and shape[0] != shape[1]:
        raise ValueError(
            f"{source.name}, line {number}: a matrix of {shape[0]} rows and {shape[1]} columns "
            "cannot be symmetric, as the first line says."
        )
    # 2. the entries, as many as announced
    n_entries = int(sizes[2]) if head.is_sparse else _n_stored(shape, head.is_symmetric)
    body = kept[1:]
    if len(body) != n_entries:
        raise ValueError(
            f"{source.name} announces {n_entries} entries and has {len(body)}; it may be cut short."
        )
    width = 1 if not head.is_sparse else 2 if head.is_pattern else 3
    table = _table(source, body, width)
    # 3. the matrix
    matrix = (
        _sparse(source, body, table, shape, head) if head.is_sparse else _dense(table, shape, head)
    )
    square = shape[0] == shape[1]
    return loaded_matrix(source, matrix, wanted, "graph" if square else "points", first=1)


def _head(source: Source) -> Head:
    """Return what the first line says."""
    words = source.lines[0].split()
    if len(words) != 5 or words[0] != BEGINNING or words[1].lower() != "matrix":
        raise ValueError(
            f"{source.name}, line 1: {source.lines[0][:60]!r} is not how a Matrix Market file "
            f"begins, which is {BEGINNING} matrix, and what it is."
        )
    form, field, symmetry = (word.lower() for word in words[2:])
    known = form in ("coordinate", "array") and field in FIELDS and symmetry in SYMMETRIES
    if not known or (form == "array" and field == "pattern"):
        raise ValueError(
            f"{source.name}, line 1: a matrix that is {form}, {field} and {symmetry} is not read "
            f"here; entries must be {', '.join(FIELDS)}, and the matrix general or symmetric."
        )
    return Head(form == "coordinate", field == "pattern", symmetry == "symmetric")


def _n_stored(shape: tuple[int, int], is_symmetric: bool) -> int:
    """Return how many entries a full matrix lists."""
    return shape[0] * (shape[0] + 1) // 2 if is_symmetric else shape[0] * shape[1]


def _table(source: Source, body: list[tuple[int, str]], width: int) -> np.ndarray:
    """Return the numbers of all lines, shape (n_entries, width)."""
    lines = [line for _, line in body]
    if not lines:
        return np.empty((0, width))
    try:
        found = np.loadtxt(lines, comments=None, ndmin=2, encoding=None)
    except ValueError:
        found = np.empty((0, 0))
    if found.shape == (len(lines), width):
        return found
    for number, line in body:
        fields = line.split()
        if len(fields) != width or not all(map(is_number, fields)):
            raise ValueError(
                f"{source.name}, line {number}: {line[:60]!r} is not an entry, which has {width} "
                "numbers."
            )
    raise ValueError(f"{source.name} holds numbers that cannot be read.")


def _sparse(
    source: Source,
    body: list[tuple[int, str]],
    table: np.ndarray,
    shape: tuple[int, int],
    head: Head,
) -> sp.csr_array:
    """Return the matrix of entries with their places."""
    places = table[:, :2]
    wrong = (places != np.round(places)) | (places < 1) | (places > np.array(shape))
    if wrong.any():
        number, line = body[int(np.argmax(wrong.any(axis=1)))]
        raise ValueError(
            f"{source.name}, line {number}: {line[:60]!r} is not in a matrix of {shape[0]} rows "
            f"and {shape[1]} columns, counted from 1."
        )
    rows, columns = (places - 1).astype(np.int64).T
    values = np.ones(len(table)) if head.is_pattern else table[:, 2]
    if head.is_symmetric:
        below = rows != columns
        rows, columns = np.append(rows, columns[below]), np.append(columns, rows[below])
        values = np.append(values, values[below])
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=shape))


def _dense(table: np.ndarray, shape: tuple[int, int], head: Head) -> np.ndarray:
    """Return the full matrix, whose entries are listed column by column."""
    values = table[:, 0]
    if not head.is_symmetric:
        return values.reshape(shape[1], shape[0]).T
    found = np.zeros(shape)
    # on and below the diagonal, column by column, is the upper triangle row by row
    found[np.triu_indices(shape[0])] = values
    return np.asarray(found + np.triu(found, 1).T)
