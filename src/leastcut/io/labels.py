"""Read labels from a file with one label per line, a table of names and labels, or an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.formatting import counted
from leastcut.io.arrays import load_npy
from leastcut.io.rows import is_missing, is_number, long_fields_named
from leastcut.io.source import Source
from leastcut.io.tables import CLASS_NAMES, DELIMITERS, Table


def read_labels(path: str, names: Sequence[Any]) -> np.ndarray:
    """Return the labels of the nodes, integers or strings, in the order of ``names``.

    In a table, the first column has the names of the nodes. The labels are in the column named
    cluster, label or similar, or else in the last column.
    """
    source = Source.of(path)
    if source.suffix == ".npy":
        labels = load_npy(source)
        # the pixels of an image are in the order of its nodes
        labels = labels.reshape(-1) if labels.size == len(names) else labels
        if labels.ndim != 1:
            raise ValueError(
                f"{source.name} contains an array of shape {labels.shape}; labels must be "
                "one-dimensional, with one label per node."
            )
        return _checked(source, labels, len(names))
    with long_fields_named(source):
        table = Table.of_text(source, _has_header(source))
        assert table.rows is not None
        n_columns = len(table.columns)
        table = replace(table, values=table.rows.columns(["string"] * n_columns))
    named = [i for i, name in enumerate(table.columns) if name.lower() in CLASS_NAMES]
    at = named[-1] if table.has_header and named else n_columns - 1
    fields = table.texts(at)
    for i, field in enumerate(fields):
        if is_missing(field):
            raise ValueError(f"{source.name}, {table.place(i)}: the label is missing ({field!r}).")
    are_integers = all(is_number(field) and float(field).is_integer() for field in fields)
    labels = np.array([int(float(field)) for field in fields] if are_integers else fields)
    if at == 0:
        return _checked(source, labels, len(names))
    return labels[_order(table, [str(name) for name in names])]


def _has_header(source: Source) -> bool | None:
    """Return whether a single column begins with the name of a label column, else None."""
    first = next((line for line in source.lines if line.strip()), "")
    if len(first.split()) > 1 or any(mark in first for mark in DELIMITERS):
        return None
    return first.strip().strip('"').lower() in CLASS_NAMES


def _checked(source: Source, labels: np.ndarray, n: int) -> np.ndarray:
    """Return labels in the order of the nodes; raise if their number is wrong."""
    if len(labels) != n:
        raise ValueError(
            f"{source.name} has {len(labels)} labels, but the graph has {n} nodes; expected one "
            "label per node, in the order of the nodes, or a table of names and labels."
        )
    return labels


def _order(table: Table, nodes: list[str]) -> list[int]:
    """Return the row of each node, by the names in the first column."""
    name, listed = table.source.name, table.texts(0)
    n = len(nodes)
    # names in the order of the nodes may repeat, and row numbers may begin at 0
    if listed == nodes or (set(nodes) != set(listed) and listed == [str(i) for i in range(n)]):
        return list(range(n))
    place: dict[str, int] = {}
    for i, node in enumerate(listed):
        if node in place:
            raise ValueError(
                f"{name}, {table.place(i)}: the name {node!r} already occurs in "
                f"{table.place(place[node])}; names must be unique."
            )
        place[node] = i
    missing = [node for node in nodes if node not in place]
    if missing:
        raise ValueError(
            f"{name} has no label for {counted(len(missing), 'node')} (first: {missing[0]!r}); "
            "expected one label for each node name."
        )
    unknown = sorted(place[node] for node in place.keys() - set(nodes))
    if unknown:
        raise ValueError(
            f"{name}, {table.place(unknown[0])}: {listed[unknown[0]]!r} is not a node of the graph "
            f"({counted(len(unknown), 'unknown name')})."
        )
    return [place[node] for node in nodes]
