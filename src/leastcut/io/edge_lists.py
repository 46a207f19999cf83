"""Lists of edges: two nodes per line and, where there is one, the weight of the edge.

Nodes are whole numbers or names. An edge is listed once, or once in each direction with the same
weight; listed several times in one direction its weights add up. Where directions matter, who reads
it asks for a directed matrix and symmetrises it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.io.layout import split
from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.numbers import is_number, is_whole
from leastcut.io.source import Source

COMMENTS = ("#", "%")
"""How lines begin that are no edges."""

EDGE_HEADERS = frozenset(
    {
        ("source", "target"),
        ("from", "to"),
        ("src", "dst"),
        ("u", "v"),
        ("node1", "node2"),
        ("node_1", "node_2"),
        ("id1", "id2"),
        ("fromnodeid", "tonodeid"),
        ("i", "j"),
    }
)
"""What the first two columns are called in tables of edges, in lower case."""

UNIT = "1"
"""The weight of an edge that has none."""


def read_edges(source: Source, wanted: Wanted) -> Loaded:
    """Read a list of edges: ``u v`` or ``u v w`` per line, by spaces, tabs, commas or semicolons.

    Raises
    ------
    ValueError
        If a line is no edge, or directions of an edge have different weights; the message names the
        line.
    """
    if wanted.names_columns:
        raise ValueError(
            f"{source.name} is read as a list of edges, which has no columns to name; --as points "
            "reads it as a table."
        )
    # 1. the lines that are edges, with their numbers in the file
    kept = [
        (number, line)
        for number, line in enumerate(source.lines, start=1)
        if line and not line.isspace() and not line.lstrip().startswith(COMMENTS)
    ]
    if kept:
        delimiter = next((mark for mark in (",", ";") if mark in _before_brace(kept[0][1])), None)
        first = split(_before_brace(kept[0][1]), delimiter)
        if tuple(field.lower() for field in first[:2]) in EDGE_HEADERS:
            kept = kept[1:]
    if not kept:
        raise ValueError(f"{source.name} holds no edges; write one per line: u v, or u v weight.")
    numbers, lines = [number for number, _ in kept], [line for _, line in kept]
    # 2. whole numbers at once, and only where there are others field by field
    found = _whole_numbers(lines, delimiter)
    if found is None:
        fields = [_fields(line, delimiter) for line in lines]
        return edge_graph(source, numbers, fields, wanted)
    u, v, weights, width = found
    names, ends = np.unique(np.concatenate([u, v]), return_inverse=True)
    ends = ends.reshape(2, -1)
    return _graph(source, numbers, ends[0], ends[1], weights, names.tolist(), width, wanted)


def edge_graph(
    source: Source,
    numbers: Sequence[int],
    fields: list[list[str]],
    wanted: Wanted,
    columns: tuple[str, ...] | None = None,
) -> Loaded:
    """Return the graph of edges that are given as fields of text.

    Parameters
    ----------
    source : Source
    numbers : sequence of int
        The line of every edge.
    fields : list of list of str
        Two nodes, and a weight where the first edge has one; what comes after it is left out.
    wanted : Wanted
    columns : tuple of str, optional
        What the fields are called.
    """
    width = len(fields[0])
    for number, edge in zip(numbers, fields, strict=True):
        if len(edge) != width or width < 2:
            raise ValueError(
                f"{source.name}, line {number}: {' '.join(edge)!r} has {len(edge)} fields, where "
                f"an edge has two nodes and a weight (the first line has {width}). Write u v, or "
                "u v weight, in every line."
            )
        if width > 2 and not is_number(edge[2]):
            raise ValueError(
                f"{source.name}, line {number}: the weight {edge[2]!r} is not a finite number; "
                "names of nodes must not have spaces in them."
            )
    texts = [edge[0].strip() for edge in fields] + [edge[1].strip() for edge in fields]
    nodes: list[Any] = list(dict.fromkeys(texts))
    if all(map(is_whole, nodes)):
        nodes = sorted(nodes, key=int)
    position = {name: i for i, name in enumerate(nodes)}
    if len(position) and all(map(is_whole, nodes)):
        nodes = [int(name) for name in nodes]
    ends = np.array([position[name] for name in texts]).reshape(2, -1)
    weights = np.array([float(edge[2]) if width > 2 else 1.0 for edge in fields])
    return _graph(source, numbers, ends[0], ends[1], weights, nodes, width, wanted)


def _before_brace(line: str) -> str:
    """Return a line without what networkx writes after the nodes, {...}."""
    return line.partition("{")[0]


def _fields(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line; of networkx's {'weight': 2.0} the weight."""
    nodes, brace, rest = line.partition("{")
    fields = split(nodes, delimiter)
    if not brace:
        return fields
    try:
        data = ast.literal_eval(brace + rest.strip())
    except (ValueError, SyntaxError):
        return split(line, delimiter)
    return [*(field for field in fields if field), str(data.get("weight", UNIT))]


def _whole_numbers(
    lines: list[str], delimiter: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int] | None:
    """Return both ends and the weight of every edge, if all nodes are whole numbers; or None."""
    width = len(split(lines[0], delimiter))
    if width < 2 or any("{" in line or '"' in line for line in lines[:10]):
        return None
    # NumPy's reader of whole numbers reaches outside of its memory at letters beyond ASCII
    if not all(map(str.isascii, lines)):
        return None
    # and it reads the first columns whatever comes after them
    if delimiter is None:
        widths = {len(line.split()) for line in lines}
    else:
        widths = {line.count(delimiter) + 1 for line in lines}
    if widths != {width}:
        return None
    types = [("u", np.int64), ("v", np.int64), ("weight", np.float64)][: min(width, 3)]
    try:
        found = np.loadtxt(
            lines,
            dtype=types,
            delimiter=delimiter,
            usecols=range(len(types)),
            comments=None,
            ndmin=1,
            encoding=None,
        )
    except ValueError:
        return None
    weights = found["weight"] if width > 2 else np.ones(found.size)
    return found["u"], found["v"], weights, width


def _graph(
    source: Source,
    numbers: Sequence[int],
    u: np.ndarray,
    v: np.ndarray,
    weights: np.ndarray,
    names: list[Any],
    width: int,
    wanted: Wanted,
) -> Loaded:
    """Return the graph of edges between numbered nodes."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"{source.name}, line {numbers[int(bad[0])]}: the weight {weights[bad[0]]:g} is not a "
            f"finite number of at least 0, as {bad.size} of {weights.size} weights are not."
        )
    n = len(names)
    listed = sp.csr_array(sp.coo_array((weights, (u, v)), shape=(n, n)))
    notes = []
    if width > 3:
        notes.append(f"{source.name} has {width} columns; those after the third are left out.")
    if listed.nnz < weights.size:
        notes.append(
            f"{weights.size - listed.nnz} edges are listed more than once; their weights are added."
        )
    if not wanted.directed:
        listed, note = _undirected(source, listed, names)
        notes += [note] if note else []
    return Loaded("graph", listed, source.name, names, notes=tuple(notes))


def _undirected(
    source: Source, listed: sp.csr_array, names: list[Any]
) -> tuple[sp.csr_array, str | None]:
    """Return the symmetric matrix of edges that are listed once, or in both directions alike."""
    back = sp.csr_array(listed.T)
    both = listed.multiply(back != 0)
    differing = sp.coo_array(both - back.multiply(listed != 0))
    differing.eliminate_zeros()
    if differing.nnz:
        i, j = int(differing.row[0]), int(differing.col[0])
        raise ValueError(
            f"{source.name} is directed: the edge from {names[i]} to {names[j]} has weight "
            f"{listed[i, j]:g}, and the one back {back[i, j]:g}, as {differing.nnz // 2} pairs "
            "have. Cuts are of undirected graphs: say --symmetrize mean or --symmetrize max."
        )
    n_loops = int(np.count_nonzero(listed.diagonal()))
    n_both, n_all = (both.nnz - n_loops) // 2, listed.nnz - n_loops
    note = None
    if 0 < 2 * n_both < n_all:
        note = (
            f"{n_both} edges are listed in both directions and {n_all - 2 * n_both} in one; each "
            "counts once. Where directions matter, say --symmetrize mean."
        )
    return sp.csr_array(listed.maximum(back)), note
