"""Files of labels: a label per line, a table of names and labels, or an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leastcut.io.arrays import load_npy
from leastcut.io.rows import is_missing, is_number, long_fields_named
from leastcut.io.source import Source
from leastcut.io.tables import CLASS_NAMES, DELIMITERS, Table


def read_labels(path: str, names: Sequence[Any]) -> np.ndarray:
    """Return a label for every node, an integer or a word, in the order of the names of nodes.

    In a table the first column has the names of nodes, and the column called cluster, label or the
    like, or else the last, the labels.
    """
    source = Source.of(path)
    if source.suffix == ".npy":
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
        table = Table.of_text(source, _has_header(source))
        assert table.rows is not None
        n_columns = len(table.columns)
        table = replace(table, values=table.rows.columns(["string"] * n_columns))
    called = [i for i, name in enumerate(table.columns) if name.lower() in CLASS_NAMES]
    at = called[-1] if table.has_header and called else n_columns - 1
    fields = table.texts(at)
    for i, field in enumerate(fields):
        if is_missing(field):
            raise ValueError(f"{source.name}, {table.place(i)}: {field!r} is not a label.")
    are_integers = all(is_number(field) and float(field).is_integer() for field in fields)
    labels = np.array([int(float(field)) for field in fields] if are_integers else fields)
    if at == 0:
        return _counted(source, labels, len(names))
    return labels[_order(table, [str(name) for name in names])]


def _has_header(source: Source) -> bool | None:
    """Return whether one column has a header, which only its name can show; None of several."""
    first = next((line for line in source.lines if line.strip()), "")
    if len(first.split()) > 1 or any(mark in first for mark in DELIMITERS):
        return None
    return first.strip().strip('"').lower() in CLASS_NAMES


def _counted(source: Source, labels: np.ndarray, n: int) -> np.ndarray:
    """Return labels that are in the order of nodes, if there are as many."""
    if len(labels) != n:
        raise ValueError(
            f"{source.name} holds {len(labels)} labels, and there are {n} nodes; there must be one "
            "for every node, in their order, or a table of names and labels."
        )
    return labels


def _order(table: Table, nodes: list[str]) -> list[int]:
    """Return the row of every node, by the names in the first column."""
    name, listed = table.source.name, table.texts(0)
    n = len(nodes)
    # names that are in order need not differ, and rows that are only counted may begin at 0
    if listed == nodes or (set(nodes) != set(listed) and listed == [str(i) for i in range(n)]):
        return list(range(n))
    place: dict[str, int] = {}
    for i, node in enumerate(listed):
        if node in place:
            raise ValueError(
                f"{name}, {table.place(i)}: the name {node!r} is there already, in "
                f"{table.place(place[node])}."
            )
        place[node] = i
    missing = [node for node in nodes if node not in place]
    if missing:
        others = f", nor of {len(missing) - 1} others" if len(missing) > 1 else ""
        raise ValueError(
            f"{name} has no label of {missing[0]!r}{others}; there must be one for every node, by "
            "its name."
        )
    unknown = sorted(place[node] for node in place.keys() - set(nodes))
    if unknown:
        raise ValueError(
            f"{name}, {table.place(unknown[0])}: {listed[unknown[0]]!r} is not a node, as "
            f"{len(unknown)} names are not."
        )
    return [place[node] for node in nodes]
