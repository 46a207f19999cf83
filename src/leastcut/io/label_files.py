"""Files of labels: a label per line, a table of names and labels, or an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastcut.io.columns import CLASS_NAMES, column_index
from leastcut.io.layout import Layout, holds_row, layout_of, long_fields_named
from leastcut.io.npy_files import load_npy
from leastcut.io.numbers import is_missing, is_number
from leastcut.io.source import Source


def read_labels(path: str, names: Sequence[Any], column: str | None = None) -> np.ndarray:
    """Read a label for every node.

    Parameters
    ----------
    path : str
        The file; "-" is the standard input. In a table the first column has the names of nodes,
        and the column called cluster, label or the like, or else the last, the labels.
    names : sequence
        The name of every node, in the order of labels.
    column : str, optional
        The column of labels, by name or by number from 1.

    Returns
    -------
    ndarray of shape (n,)
        Numbers or words.

    Raises
    ------
    ValueError
        If there is not one label for every node.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = file.write_text("node,cluster\\nbob,1\\nann,0\\n")
    >>> read_labels(str(file), ["ann", "bob"]).tolist()
    [0, 1]
    """
    source = Source.of(path)
    if source.suffixes[-1:] == [".npy"]:
        labels = load_npy(source)
        # an array of pixels is in the order of the nodes of a picture
        labels = labels.reshape(-1) if labels.size == len(names) else labels
        if labels.ndim != 1:
            raise ValueError(
                f"{source.name} holds an array of shape {labels.shape}; labels are one per node, "
                "in one dimension."
            )
        return _counted(source, labels, len(names))
    with long_fields_named(source):
        return _from_table(source, names, column)


def _from_table(source: Source, names: Sequence[Any], column: str | None) -> np.ndarray:
    """Return the labels of a table."""
    layout = layout_of(source, header=_names_columns(source))
    lines = [
        (number, line)
        for number, line in enumerate(source.lines[layout.first :], start=layout.first + 1)
        if holds_row(line)
    ]
    rows = [layout.fields(line) for _, line in lines]
    width = len(layout.columns)
    for (number, _), row in zip(lines, rows, strict=True):
        if len(row) != width or is_missing(row[-1]):
            raise ValueError(
                f"{source.name}, line {number}: {' '.join(row)!r} is not a label"
                + (" per line." if width == 1 else f" in a table of {width} columns.")
            )
    at = _label_column(source, layout, column)
    labels = _as_labels([row[at] for row in rows])
    if width == 1 or at == 0:
        return _counted(source, labels, len(names))
    return _by_name(
        source, [row[0] for row in rows], [number for number, _ in lines], labels, names
    )


def _names_columns(source: Source) -> bool | None:
    """Return that one column has a header only where that says so; of more the layout can tell."""
    first = next((line for line in source.lines if line.strip()), "")
    single = len(first.split()) == 1 and not any(mark in first for mark in ",;\t|")
    if single:
        return first.strip().strip('"').lower() in CLASS_NAMES
    return None


def _label_column(source: Source, layout: Layout, column: str | None) -> int:
    """Return the index of the column of labels."""
    if column is not None:
        return column_index(column, layout.columns, source.name)
    if layout.has_header:
        called = [i for i, name in enumerate(layout.columns) if name.lower() in CLASS_NAMES]
        if called:
            return called[-1]
    return len(layout.columns) - 1


def _as_labels(fields: list[str]) -> np.ndarray:
    """Return labels as whole numbers where all are, and else as words."""
    if all(is_number(field) and float(field) == int(float(field)) for field in fields):
        return np.array([int(float(field)) for field in fields])
    return np.array(fields)


def _counted(source: Source, labels: np.ndarray, n: int) -> np.ndarray:
    """Return labels that are in the order of nodes, if there are as many."""
    if len(labels) != n:
        raise ValueError(
            f"{source.name} holds {len(labels)} labels, and there are {n} nodes; there must be one "
            "for every node, in their order, or a table of names and labels."
        )
    return labels


def _by_name(
    source: Source,
    given: list[str],
    numbers: list[int],
    labels: np.ndarray,
    names: Sequence[Any],
) -> np.ndarray:
    """Return labels in the order of nodes, found by their names."""
    wanted = [str(name) for name in names]
    if given == wanted:
        return labels  # where names need not differ
    place: dict[str, int] = {}
    for i, name in enumerate(given):
        if name in place:
            raise ValueError(
                f"{source.name}, line {numbers[i]}: the name {name!r} is there already, in line "
                f"{numbers[place[name]]}."
            )
        place[name] = i
    missing = [name for name in wanted if name not in place]
    if missing:
        # rows that are only counted may be counted from 0, as pandas does
        counted = [str(i) for i in range(len(given))]
        if given == counted and len(given) == len(wanted):
            return labels
        others = f", nor of {len(missing) - 1} others" if len(missing) > 1 else ""
        raise ValueError(
            f"{source.name} has no label of {missing[0]!r}{others}; there must be one for every "
            "node, by its name."
        )
    known = set(wanted)
    unknown = [i for i, name in enumerate(given) if name not in known]
    if unknown:
        raise ValueError(
            f"{source.name}, line {numbers[unknown[0]]}: {given[unknown[0]]!r} is not a node, as "
            f"{len(unknown)} names are not."
        )
    return labels[[place[name] for name in wanted]]
