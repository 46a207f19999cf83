"""Parquet files: a table with named columns, read by pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.io.columns import SHOWN, column_index
from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.matrices import graph_of_matrix
from leastcut.io.source import Source, blamed
from leastcut.optional_packages import needed_for

INDEX = "__index_level_0__"
"""What pandas calls the column of row names that it adds."""


def read_parquet(source: Source, wanted: Wanted) -> Loaded:
    """Read a table; pandas' index, where it was kept, names the rows.

    Raises
    ------
    ValueError
        If columns hold words and have no other role, or values are missing.
    """
    with needed_for("Parquet files", "pyarrow", "cli"):
        import pyarrow.parquet as parquet
    import pyarrow as arrow
    import pyarrow.types as types

    with blamed(source, "a Parquet file"), source.opened() as file:
        table = parquet.read_table(arrow.PythonFile(file))
    if table.num_rows == 0:
        raise ValueError(f"{source.name} holds no rows; there is nothing to cluster in it.")
    columns = tuple(table.column_names)
    # 1. columns by what they are for
    label = _column(source, wanted.label_column, columns)
    named = wanted.name_column or (INDEX if INDEX in columns else None)
    name = _column(source, named, columns)
    without = {column_index(column, columns, source.name) for column in wanted.without}
    left = [i for i in range(len(columns)) if i not in {label, name, *without}]
    numeric = {
        i
        for i in left
        if types.is_integer(table.field(i).type)
        or types.is_floating(table.field(i).type)
        or types.is_boolean(table.field(i).type)
        or types.is_decimal(table.field(i).type)
    }
    words = [columns[i] for i in left if i not in numeric]
    if words:
        listed = ", ".join(map(repr, words[:SHOWN]))
        raise ValueError(
            f"{source.name}: column{'s' if len(words) > 1 else ''} {listed} "
            f"hold{'' if len(words) > 1 else 's'} no numbers. Say --label-column '{words[0]}' for "
            f"known classes, --names '{words[0]}' for names of rows, or --drop '{words[0]}' to "
            "leave it out."
        )
    if not left:
        raise ValueError(f"{source.name} has no columns of numbers left to cluster by.")
    # 2. their values
    data = np.column_stack([_floats(source, table, i) for i in left])
    names = range(table.num_rows) if name is None else table.column(name).to_pylist()
    classes = None if label is None else np.array(table.column(label).to_pylist())
    points = Loaded("points", data, source.name, names, classes, tuple(columns[i] for i in left))
    return graph_of_matrix(points) if wanted.kind == "graph" else points


def _column(source: Source, name: str | None, columns: tuple[str, ...]) -> int | None:
    return None if name is None else column_index(name, columns, source.name)


def _floats(source: Source, table: Any, index: int) -> np.ndarray:
    """Return a column of numbers, if none is missing."""
    column = table.column(index)
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        name = table.column_names[index]
        raise ValueError(
            f"{source.name}, row {bad[0] + 1}, column {name!r}: the value is missing or infinite, "
            f"as {bad.size} of the column are. Fill them in, drop their rows, or leave the column "
            f"out with --drop '{name}'."
        )
    return values
