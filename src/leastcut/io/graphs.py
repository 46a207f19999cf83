"""Graphs as other programs write them: METIS, Matrix Market, GML and GraphML.

Matrix Market files are read here: SciPy 1.17's ``mmread`` ended the process on 23 of 3,000 files
that were damaged at random, by writing outside of its memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.integrations.graphs import as_matrix
from leastcut.io.edge_lists import check_directions
from leastcut.io.loaded import Loaded, Wanted, loaded_matrix
from leastcut.io.rows import SHOWN, Rows, floats, is_number, is_whole
from leastcut.io.source import Source
from leastcut.optional_packages import needed_for

COMMENT = "%"
"""How lines of METIS and Matrix Market begin that are not counted."""

MARKET = (
    ("%%MatrixMarket",),
    ("matrix",),
    ("coordinate", "array"),
    ("real", "double", "integer", "pattern"),
    ("general", "symmetric"),
)
"""The words with which a Matrix Market file begins; a pattern has no values: all are 1."""


# -- METIS


def read_metis(source: Source, wanted: Wanted) -> Loaded:
    """Read a graph in the format of METIS, whose nodes are counted from 1.

    The first line has the numbers of nodes and edges, and may have a code for the weights and the
    number of weights per node. Then comes a line per node with its neighbors, each followed by the
    weight of the edge if edges have weights; the last lines may be missing if they are empty.
    """
    name = source.name
    if wanted.kind == "points" or wanted.names_columns:
        raise ValueError(f"{name} is a METIS graph, which holds no points or columns.")
    lines = [
        (number, line.split())
        for number, line in enumerate(source.lines, start=1)
        if not line.startswith(COMMENT)
    ]
    while lines and not lines[0][1]:
        lines.pop(0)
    number, head = lines.pop(0) if lines else (1, [])
    if not 2 <= len(head) <= 4 or not all(map(is_whole, head)) or int(head[0]) < 1:
        raise ValueError(
            f"{name}, line {number}: {' '.join(head)[:SHOWN]!r} is not how a METIS graph begins, "
            "which is the number of nodes and of edges."
        )
    n, m = int(head[0]), int(head[1])
    source.check_announced(n, "nodes", len(source.text))
    has_sizes, has_node_weights, has_edge_weights = (
        digit == "1" for digit in (head[2] if len(head) > 2 else "0").zfill(3)[-3:]
    )
    skipped = has_sizes + (int(head[3]) if len(head) > 3 else 1) * has_node_weights
    while len(lines) > n and not lines[-1][1]:
        lines.pop()
    if len(lines) > n:
        raise ValueError(
            f"{name} announces {n} nodes and has {len(lines)} lines of neighbors; there must be "
            "one for every node."
        )
    lines = [(number, fields[skipped:]) for number, fields in lines]
    rows, columns, weights = _listed(source, lines, n, 2 if has_edge_weights else 1)
    if rows.size != 2 * m:
        last = lines[-1][0] if lines else number
        cut = f" It ends after {len(lines)} of {n} nodes, at line {last}: it may be cut short."
        raise ValueError(
            f"{name} announces {m} edges, so {2 * m} neighbors in all, and lists {rows.size}; "
            f"every edge must be listed from both ends.{cut if len(lines) < n else ''}"
        )
    matrix = sp.csr_array(sp.coo_array((weights, (rows, columns)), shape=(n, n)))
    if not wanted.directed:
        check_directions(name, matrix, sp.csr_array(matrix.T), range(1, n + 1))
    note = f"{name} has weights of nodes, which are left out."
    notes = (note,) if has_node_weights or has_sizes else ()
    return Loaded("graph", matrix, name, range(1, n + 1), notes=notes)


def _listed(
    source: Source, lines: list[tuple[int, list[str]]], n: int, step: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return node, neighbor and weight of all that is listed; raise for the first bad field."""
    counts = np.array([len(fields) for _, fields in lines], dtype=np.int64)
    flat = [field for _, fields in lines for field in fields]
    try:
        columns = np.array(flat[::step], dtype=np.int64)
        weights = np.ones(columns.size) if step == 1 else np.array(flat[1::2], dtype=np.float64)
        is_good = (columns.min(initial=1) >= 1) and columns.max(initial=n) <= n
        is_good = is_good and bool((np.isfinite(weights) & (weights >= 0)).all())
    except (ValueError, OverflowError):
        is_good = False
    if is_good and not (counts % step).any():
        return np.repeat(np.arange(counts.size), counts // step), columns - 1, weights
    for number, fields in lines:
        for i, field in enumerate(fields):
            if i % step:
                is_good = is_number(field) and float(field) >= 0
            else:
                is_good = is_whole(field) and 1 <= int(field) <= n and i + step <= len(fields)
            if not is_good:
                each = ", each followed by the weight of its edge, at least 0" if step > 1 else ""
                raise ValueError(
                    f"{source.name}, line {number}: {field!r} is out of place; a line lists nodes "
                    f"counted from 1 to {n}{each}."
                )
    raise ValueError(f"{source.name} holds numbers that cannot be read.")


# -- Matrix Market


def read_matrix_market(source: Source, wanted: Wanted) -> Loaded:
    """Read a matrix, a graph where it is square; its rows are counted from 1."""
    name, first = source.name, source.lines[0]
    begin, *others = first.split() or [""]
    words = [begin, *map(str.lower, others)]
    is_sparse, is_symmetric = "coordinate" in words, words[-1] == "symmetric"
    if (
        len(words) != len(MARKET)
        or any(word not in known for word, known in zip(words, MARKET, strict=True))
        or (words[3] == "pattern" and not is_sparse)
    ):
        raise ValueError(
            f"{name}, line 1: {first[:SHOWN]!r} is not read here; a Matrix Market file begins with "
            f"{' '.join('|'.join(known) for known in MARKET)}."
        )
    rows = Rows.of(source, (COMMENT,))
    # 1. the size
    number, line = (rows.numbers[0], rows.lines[0]) if rows.lines else (len(source.lines), "")
    sizes = [int(size) if size.isdecimal() else -1 for size in line.split()]
    if (
        len(sizes) != (3 if is_sparse else 2)
        or min(sizes) < 0
        or (is_symmetric and sizes[0] != sizes[1])
    ):
        raise ValueError(
            f"{name}, line {number}: {line[:SHOWN]!r} is not the size of a {words[-1]} matrix: "
            f"rows, columns{' and entries' if is_sparse else ''}."
        )
    n_rows, n_columns = shape = (sizes[0], sizes[1])
    source.check_announced(max(shape), "rows or columns", len(source.text))
    # 2. as many entries as announced; of a symmetric matrix those on and below the diagonal
    full = n_rows * (n_rows + 1) // 2 if is_symmetric else n_rows * n_columns
    n_entries = sizes[2] if is_sparse else full
    rows = rows.after(1)
    if len(rows.lines) != n_entries:
        raise ValueError(
            f"{name} announces {n_entries} entries and has {len(rows.lines)}; it may be cut short."
        )
    width = 1 if not is_sparse else 2 if words[3] == "pattern" else 3
    columns = [np.empty(0)] * width
    if n_entries:
        columns = [floats(column) for column in rows.columns(["double"] * width).values()]
    values = np.ones(n_entries) if width == 2 else columns[-1]
    # 3. their places; those of a full matrix are column by column
    i: Any
    j: Any
    if is_sparse:
        i, j = columns[0] - 1, columns[1] - 1
    elif is_symmetric:
        j, i = np.triu_indices(n_rows)
    else:
        j, i = np.divmod(np.arange(full), max(n_rows, 1))
    is_inside = (i >= 0) & (i < n_rows) & (j >= 0) & (j < n_columns)
    are_whole = (i == np.floor(i)) & (j == np.floor(j))
    bad = np.flatnonzero(~(is_inside & are_whole & np.isfinite(values)))
    if bad.size:
        raise ValueError(
            f"{name}, line {rows.numbers[bad[0]]}: {rows.lines[bad[0]][:SHOWN]!r} is not an entry "
            f"of a matrix of {n_rows} rows and {n_columns} columns, counted from 1: {width} finite "
            "numbers in a line."
        )
    i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    if is_symmetric:
        below = i != j
        i, j = np.append(i, j[below]), np.append(j, i[below])
        values = np.append(values, values[below])
    matrix: Any = sp.coo_array((values, (i, j)), shape=shape)
    matrix = sp.csr_array(matrix) if is_sparse else matrix.toarray()
    return loaded_matrix(source, matrix, wanted, "graph" if n_rows == n_columns else "points", 1)


# -- what networkx reads


def read_gml(source: Source, wanted: Wanted) -> Loaded:
    """Read a GML file by networkx; nodes without labels are named by their ids."""
    with needed_for("GML files", "networkx"):
        import networkx
    label = "label" if b"label" in source.content else "id"
    with source.blamed("a GML file"), source.opened() as file:
        graph = networkx.read_gml(file, label)
    return _graph_of(source, graph, wanted)


def read_graphml(source: Source, wanted: Wanted) -> Loaded:
    """Read a GraphML file by networkx."""
    with needed_for("GraphML files", "networkx"):
        import networkx
    with source.blamed("a GraphML file"), source.opened() as file:
        graph = networkx.read_graphml(file)
    return _graph_of(source, graph, wanted)


def _graph_of(source: Source, graph: Any, wanted: Wanted) -> Loaded:
    """Return a graph of networkx, weighted by the attribute weight of its edges if they have it."""
    if wanted.kind == "points" or wanted.names_columns:
        raise ValueError(f"{source.name} is a graph, which holds no points or columns.")
    with source.blamed("a graph"):
        matrix, names, _ = as_matrix(graph)
    attributes = {key for _, _, data in graph.edges(data=True) for key in data}
    notes = []
    if attributes and "weight" not in attributes:
        notes.append(
            f"No edge of {source.name} has an attribute weight, so that each counts 1; there is "
            f"{', '.join(map(repr, sorted(attributes)))}."
        )
    return Loaded("graph", matrix, source.name, names, notes=tuple(notes))
