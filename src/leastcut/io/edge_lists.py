"""Lists of edges: two nodes per line and, where there is one, the weight of the edge.

Nodes are whole numbers or names. An edge is listed once, or once in each direction with the same
weight; listed several times in one direction its weights add up. Where directions matter, who reads
it asks for a directed matrix and symmetrizes it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.rows import Rows, floats, is_whole, split
from leastcut.io.source import Source

COMMENTS = ("#", "%")
"""How lines begin that are no edges."""

EDGE_HEADERS = frozenset(
    tuple(names.split())
    for names in (
        *("source target", "from to", "src dst", "u v", "i j", "node1 node2", "node_1 node_2"),
        *("id1 id2", "fromnodeid tonodeid"),
    )
)
"""What the first two columns are called in tables of edges, in lower case."""


def read_edges(source: Source, wanted: Wanted) -> Loaded:
    """Read edges, ``u v`` or ``u v weight`` per line, by spaces, tabs, commas or semicolons."""
    if wanted.names_columns:
        raise ValueError(
            f"{source.name} is read as a list of edges, which has no columns to name; --as points "
            "reads it as a table."
        )
    rows = Rows.of(source, COMMENTS)
    if rows.lines:
        first = rows.lines[0].partition("{")[0]
        delimiter = next((mark for mark in (",", ";") if mark in first), None)
        fields = tuple(field.lower() for field in split(first, delimiter)[:2])
        rows = rows.after(int(fields in EDGE_HEADERS), delimiter)
    if not rows.lines:
        raise ValueError(f"{source.name} holds no edges; write one per line: u v, or u v weight.")
    return graph_of_edges(rows, wanted)


def graph_of_edges(rows: Rows, wanted: Wanted, width: int | None = None) -> Loaded:
    """Return the graph of a list of edges of ``width`` columns; those after the third are left out.

    By default there are as many as in the first line.
    """
    name, text = rows.source.name, rows.source.text
    if "{" in text:
        rows = replace(rows, lines=[_with_weight(line, rows.delimiter) for line in rows.lines])
    first = split(rows.lines[0], rows.delimiter)
    width = len(first) if width is None else width
    if width < 2:
        raise ValueError(
            f"{name}, line {rows.numbers[0]}: {rows.lines[0]!r} has {width} fields, where an edge "
            "has two nodes and a weight. Write u v, or u v weight, in every line."
        )
    # 1. the nodes, at once where all are whole numbers; PyArrow takes 0x1f for one
    are_whole = all(map(is_whole, first[:2])) and "x" not in text and "X" not in text
    kinds = ["int64" if are_whole else "string"] * 2 + ["double"] * (width > 2)
    columns = rows.columns([*kinds, *[None] * (width - 3)])
    if str(columns[0].type) == "int64":
        ends = np.concatenate([columns[0].to_numpy(), columns[1].to_numpy()])
        nodes, ends = np.unique(ends, return_inverse=True)
        names: list[Any] = nodes.tolist()
    else:
        names, ends = _numbered([field.strip() for i in (0, 1) for field in columns[i].to_pylist()])
    # 2. the weights
    weights = floats(columns[2], rows.decimal) if width > 2 else np.ones(len(rows.lines))
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        weight = columns[2][int(bad[0])].as_py()
        raise ValueError(
            f"{name}, line {rows.numbers[bad[0]]}: the weight {weight!r} is not a finite number of "
            f"at least 0, as {bad.size} of {weights.size} weights are not; names of nodes must not "
            "have spaces in them."
        )
    # 3. the matrix
    shape = (len(names), len(names))
    matrix = sp.csr_array(sp.coo_array((weights, tuple(ends.reshape(2, -1))), shape=shape))
    notes = []
    if width > 3:
        notes.append(f"{name} has {width} columns; those after the third are left out.")
    if matrix.nnz < weights.size:
        notes.append(
            f"{weights.size - matrix.nnz} edges are listed more than once; their weights are added."
        )
    if not wanted.directed:
        matrix, further = _undirected(rows.source, matrix, names)
        notes += further
    return Loaded("graph", matrix, name, names, notes=tuple(notes))


def _with_weight(line: str, delimiter: str | None) -> str:
    """Return a line with the weight in place of what networkx writes, {'weight': 2.0} or {}."""
    nodes, brace, rest = line.partition("{")
    try:
        data = ast.literal_eval(brace + rest.strip()) if brace else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return line
    if not isinstance(data, dict):
        return line
    mark = delimiter or " "
    return f"{nodes.rstrip(' ' + mark)}{mark}{data.get('weight', 1)}"


def _numbered(texts: list[str]) -> tuple[list[Any], np.ndarray]:
    """Return the names of nodes, sorted if all are whole numbers, and the node of each text."""
    names: list[Any] = list(dict.fromkeys(texts))
    are_whole = all(map(is_whole, names))
    if are_whole:
        names.sort(key=int)
    position = {name: i for i, name in enumerate(names)}
    return [int(name) for name in names] if are_whole else names, np.array(
        [position[text] for text in texts]
    )


def check_directions(name: str, both: sp.csr_array, back: sp.csr_array, names: Any) -> None:
    """Raise if an edge and the one back do not have the same weight."""
    differing = sp.coo_array(both - back)
    differing.eliminate_zeros()
    if differing.nnz:
        i, j = int(differing.row[0]), int(differing.col[0])
        raise ValueError(
            f"{name} is directed: the edge from {names[i]} to {names[j]} has weight "
            f"{both[i, j]:g}, and the one back {back[i, j]:g}, as {differing.nnz // 2} pairs have. "
            "Cuts are of undirected graphs: say --symmetrize mean or --symmetrize max."
        )


def _undirected(
    source: Source, listed: sp.csr_array, names: list[Any]
) -> tuple[sp.csr_array, list[str]]:
    """Return the matrix of edges that are listed once, or in both directions alike, and notes."""
    back = sp.csr_array(listed.T)
    both = sp.csr_array(listed.multiply(back != 0))
    check_directions(source.name, both, sp.csr_array(back.multiply(listed != 0)), names)
    n_loops = int(np.count_nonzero(listed.diagonal()))
    n_both, n_all = (both.nnz - n_loops) // 2, listed.nnz - n_loops
    notes = []
    if 0 < 2 * n_both < n_all:
        notes.append(
            f"{n_both} edges are listed in both directions and {n_all - 2 * n_both} in one; each "
            "counts once. Where directions matter, say --symmetrize mean."
        )
    return sp.csr_array(listed.maximum(back)), notes
