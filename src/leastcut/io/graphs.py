"""Read graphs from edge lists, METIS, Matrix Market, GML and GraphML files.

An edge list contains each edge once, or once in each direction with equal weights. Weights of
repeated lines are added. With ``directed=True`` the matrix is returned without symmetrization.

Matrix Market files are parsed here because ``mmread`` of SciPy 1.17 writes out of bounds on some
damaged files: 23 of 3,000 randomly damaged files crashed the process.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import dropwhile
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.formatting import counted
from leastcut.integrations.graphs import as_matrix
from leastcut.io.loaded import Loaded, ReadOptions, loaded_matrix
from leastcut.io.rows import SHOWN, Rows, floats, is_integer, is_number, numbers, split
from leastcut.io.source import Source
from leastcut.optional_packages import needed_for

EDGE_COMMENTS = "#%"  # first characters of comments in edge lists

# Usual names of the first two columns of tables of edges, in lower case.
EDGE_HEADERS = frozenset(
    tuple(names.split())
    for names in (
        *("source target", "from to", "src dst", "u v", "i j", "node1 node2", "node_1 node_2"),
        *("id1 id2", "fromnodeid tonodeid"),
    )
)

COMMENT = "%"  # first character of comments in METIS and Matrix Market files

# Supported headers of Matrix Market files; a pattern has no values, which are all 1.
MARKET = (
    ("%%MatrixMarket",),
    ("matrix",),
    ("coordinate", "array"),
    ("real", "double", "integer", "pattern"),
    ("general", "symmetric"),
)


# -- edge lists


def read_edges(source: Source, options: ReadOptions) -> Loaded:
    """Read lines of ``u v`` or ``u v weight``, separated by spaces, tabs, commas or semicolons."""
    if options.selects_columns:
        raise ValueError(
            f"{source.name} is read as an edge list, whose columns cannot be selected; --as points "
            "reads it as a table."
        )
    rows = Rows.of(source, EDGE_COMMENTS)
    if rows.lines:
        first = rows.lines[0].partition("{")[0]
        delimiter = next((mark for mark in (",", ";") if mark in first), None)
        fields = tuple(field.lower() for field in split(first, delimiter)[:2])
        rows = rows.after(int(fields in EDGE_HEADERS), delimiter)
    if not rows.lines:
        raise ValueError(
            f"{source.name} has no edges; expected one edge per line: u v, or u v weight."
        )
    return graph_of_edges(rows, options)


def graph_of_edges(rows: Rows, options: ReadOptions, width: int | None = None) -> Loaded:
    """Return the graph of an edge list; columns after the third of ``width`` are ignored."""
    name, text = rows.source.name, rows.source.text
    if "{" in text:
        rows = replace(rows, lines=[_with_weight(line, rows.delimiter) for line in rows.lines])
    first = split(rows.lines[0], rows.delimiter)
    width = len(first) if width is None else width
    if width < 2:
        raise ValueError(
            f"{name}, line {rows.numbers[0]}: {rows.lines[0][:SHOWN]!r} has "
            f"{counted(width, 'field')}; expected two nodes and optionally a weight: u v, or u v "
            "weight."
        )
    # 1. the nodes; integers have a fast path (PyArrow would also read 0x1f as an integer)
    are_integers = all(map(is_integer, first[:2])) and "x" not in text and "X" not in text
    kinds = ["int64" if are_integers else "string"] * 2 + ["double"] * (width > 2)
    columns = rows.columns([*kinds, *[None] * (width - 3)])
    if str(columns[0].type) == "int64":
        ends = np.concatenate([numbers(columns[0]), numbers(columns[1])])
        nodes, ends = np.unique(ends, return_inverse=True)
        names: list[Any] = nodes.tolist()
    else:
        names, ends = _numbered([field.strip() for i in (0, 1) for field in columns[i].to_pylist()])
    # 2. the weights
    weights = floats(columns[2], rows.decimal) if width > 2 else np.ones(len(rows.lines))
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        weight = str(columns[2][int(bad[0])].as_py())[:SHOWN]
        remedy = "Clip or shift these weights, or remove their lines."
        if not is_number(weight):
            remedy = "Names of nodes must not contain spaces."
        raise ValueError(
            f"{name}, line {rows.numbers[bad[0]]}: the weight {weight!r} is not a finite number "
            f">= 0 ({bad.size} of {weights.size} weights are invalid). {remedy}"
        )
    # 3. the matrix
    shape = (len(names), len(names))
    matrix = sp.csr_array(sp.coo_array((weights, tuple(ends.reshape(2, -1))), shape=shape))
    notes = []
    if width > 3:
        notes.append(f"{name} has {width} columns; columns after the third are ignored.")
    if matrix.nnz < weights.size:
        notes.append(
            f"{weights.size - matrix.nnz} lines repeat an edge; the weights of repeated edges are "
            "added."
        )
    if not options.directed:
        matrix, further = _undirected(rows.source, matrix, names)
        notes += further
    return Loaded("graph", matrix, name, names, notes=tuple(notes))


def _with_weight(line: str, delimiter: str | None) -> str:
    """Replace the dict that networkx writes, {'weight': 2.0} or {}, by the weight."""
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
    """Return the names of nodes, sorted if all are integers, and the node of each text."""
    names: list[Any] = list(dict.fromkeys(texts))
    are_integers = all(map(is_integer, names))
    if are_integers:
        names.sort(key=int)
    position = {name: i for i, name in enumerate(names)}
    return [int(name) for name in names] if are_integers else names, np.array(
        [position[text] for text in texts]
    )


def _check_graph_options(source: Source, options: ReadOptions) -> None:
    """Raise if points or columns are requested from a file that contains a graph."""
    if options.kind == "points" or options.selects_columns:
        raise ValueError(
            f"{source.name} is a graph, which has no points or columns; remove --as points and the "
            "options about columns."
        )


def check_directions(name: str, both: sp.csr_array, back: sp.csr_array, names: Any) -> None:
    """Raise if the two directions of an edge have different weights."""
    differing = sp.coo_array(both - back)
    differing.eliminate_zeros()
    if differing.nnz:
        i, j = int(differing.row[0]), int(differing.col[0])
        raise ValueError(
            f"{name} is a directed graph: the edge from {names[i]} to {names[j]} has weight "
            f"{both[i, j]:g}, the reverse edge {back[i, j]:g} ({differing.nnz // 2} pairs differ). "
            "Pass --symmetrize mean or --symmetrize max to cut it as an undirected graph."
        )


def _undirected(
    source: Source, listed: sp.csr_array, names: list[Any]
) -> tuple[sp.csr_array, list[str]]:
    """Return the symmetric matrix of edges listed in one or both directions, and notes."""
    back = sp.csr_array(listed.T)
    both = sp.csr_array(listed.multiply(back != 0))
    check_directions(source.name, both, sp.csr_array(back.multiply(listed != 0)), names)
    n_loops = int(np.count_nonzero(listed.diagonal()))
    n_both, n_all = (both.nnz - n_loops) // 2, listed.nnz - n_loops
    notes = []
    if 0 < 2 * n_both < n_all:
        notes.append(
            f"{n_both} edges are listed in both directions and {n_all - 2 * n_both} in one; each "
            "is counted once. Use --symmetrize mean if the edges are directed."
        )
    return sp.csr_array(listed.maximum(back)), notes


# -- METIS


def read_metis(source: Source, options: ReadOptions) -> Loaded:
    """Read a graph in METIS format, which numbers nodes from 1.

    The header has the numbers of nodes and edges, optionally followed by a code for the weights and
    the number of weights per node. Each further line lists the neighbors of a node, with edge
    weights if there are any. Empty lines at the end may be missing.
    """
    _check_graph_options(source, options)
    name = source.name
    numbered = (pair for pair in enumerate(source.lines, 1) if not pair[1].startswith(COMMENT))
    lines = list(dropwhile(lambda pair: not pair[1].strip(), numbered))
    number, first = lines[0] if lines else (1, "")
    head = first.split()
    are_counts = all(is_integer(word) and int(word) >= 0 for word in head)
    if not 2 <= len(head) <= 4 or not are_counts or int(head[0]) < 1:
        raise ValueError(
            f"{name}, line {number}: {' '.join(head)[:SHOWN]!r} is not a METIS header; expected "
            "the number of nodes and the number of edges."
        )
    n, m = int(head[0]), int(head[1])
    source.check_declared(n, "nodes", len(source.text))
    has_sizes, has_node_weights, has_edge_weights = (
        digit == "1" for digit in (head[2] if len(head) > 2 else "0").zfill(3)[-3:]
    )
    skipped = has_sizes + (int(head[3]) if len(head) > 3 else 1) * has_node_weights
    while len(lines) > n + 1 and not lines[-1][1].strip():
        lines.pop()
    if len(lines) > n + 1:
        raise ValueError(
            f"{name} declares {n} nodes but has {len(lines) - 1} lines of neighbors; expected one "
            "line per node."
        )
    lists = [(number, line.split()[skipped:]) for number, line in lines[1:]]
    rows, columns, weights = _listed(name, lists, n, 2 if has_edge_weights else 1)
    if rows.size != 2 * m:
        ends = f" It ends after {len(lists)} of {n} nodes, at line {lines[-1][0]}; "
        truncated = f"{ends}it may be truncated." if len(lists) < n else ""
        raise ValueError(
            f"{name} declares {m} edges, that is {2 * m} neighbors, but lists {rows.size}; each "
            f"edge must be listed for both of its nodes.{truncated}"
        )
    matrix = sp.csr_array(sp.coo_array((weights, (rows, columns)), shape=(n, n)))
    if not options.directed:
        check_directions(name, matrix, sp.csr_array(matrix.T), range(1, n + 1))
    note = f"{name} has node weights, which are ignored."
    notes = (note,) if has_node_weights or has_sizes else ()
    return Loaded("graph", matrix, name, range(1, n + 1), notes=notes)


def _listed(
    name: str, lists: list[tuple[int, list[str]]], n: int, step: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes, neighbors and weights of all lines; raise for the first invalid field."""
    counts = np.array([len(fields) for _, fields in lists], dtype=np.int64)
    flat = [field for _, fields in lists for field in fields]
    try:
        columns = np.array(flat[::step], dtype=np.int64)
        weights = np.ones(columns.size) if step == 1 else np.array(flat[1::2], dtype=np.float64)
        is_good = (columns.min(initial=1) >= 1) and columns.max(initial=n) <= n
        is_good = is_good and bool((np.isfinite(weights) & (weights >= 0)).all())
    except (ValueError, OverflowError):
        is_good = False
    if is_good and not (counts % step).any():
        return np.repeat(np.arange(counts.size), counts // step), columns - 1, weights
    for number, fields in lists:
        for k, field in enumerate(fields):
            if k % step:
                is_good = is_number(field) and float(field) >= 0
            else:
                is_good = is_integer(field) and 1 <= int(field) <= n and k + step <= len(fields)
            if not is_good:
                each = ", each followed by an edge weight >= 0" if step > 1 else ""
                raise ValueError(
                    f"{name}, line {number}: unexpected {field[:SHOWN]!r}; a line lists nodes from "
                    f"1 to {n}{each}."
                )
    raise ValueError(f"{name} contains numbers that cannot be read.")


# -- Matrix Market


def read_matrix_market(source: Source, options: ReadOptions) -> Loaded:
    """Read a matrix with rows numbered from 1, which is a graph if it is square."""
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
            f"{name}, line 1: {first[:SHOWN]!r} is not a supported Matrix Market header; expected "
            f"{' '.join('|'.join(known) for known in MARKET)}."
        )
    rows = Rows.of(source, COMMENT)
    # 1. the size
    number, line = (rows.numbers[0], rows.lines[0]) if rows.lines else (len(source.lines), "")
    sizes = [int(size) if is_integer(size) else -1 for size in line.split()]
    if (
        len(sizes) != (3 if is_sparse else 2)
        or min(sizes) < 0
        or (is_symmetric and sizes[0] != sizes[1])
    ):
        raise ValueError(
            f"{name}, line {number}: {line[:SHOWN]!r} is not the size of a {words[-1]} matrix; "
            f"expected numbers of rows{', columns and entries' if is_sparse else ' and columns'}."
        )
    n_rows, n_columns = shape = (sizes[0], sizes[1])
    source.check_declared(max(shape), "rows or columns", len(source.text))
    # 2. the entries, for a symmetric matrix on and below the diagonal
    full = n_rows * (n_rows + 1) // 2 if is_symmetric else n_rows * n_columns
    n_entries = sizes[2] if is_sparse else full
    rows = rows.after(1)
    if len(rows.lines) != n_entries:
        raise ValueError(
            f"{name} declares {n_entries} entries but has {len(rows.lines)}; it may be truncated."
        )
    width = 1 if not is_sparse else 2 if words[3] == "pattern" else 3
    columns: list[Any] = [np.empty(0)] * width
    if n_entries:
        columns = [floats(column) for column in rows.columns(["double"] * width).values()]
    values = np.ones(n_entries) if width == 2 else columns[-1]
    # 3. their indices; a full matrix is stored by columns
    if is_sparse:
        i, j = columns[0] - 1, columns[1] - 1
    elif is_symmetric:
        j, i = np.triu_indices(n_rows)
    else:
        j, i = np.divmod(np.arange(full), max(n_rows, 1))
    is_place = (i >= 0) & (i < n_rows) & (i == np.floor(i))
    is_place &= (j >= 0) & (j < n_columns) & (j == np.floor(j))
    bad = np.flatnonzero(~(is_place & np.isfinite(values)))
    if bad.size:
        raise ValueError(
            f"{name}, line {rows.numbers[bad[0]]}: {rows.lines[bad[0]][:SHOWN]!r} is not an entry "
            f"of a matrix with {n_rows} rows and {n_columns} columns, numbered from 1; expected "
            f"{counted(width, 'finite number')}."
        )
    i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    if is_symmetric:
        below = i != j
        i, j = np.append(i, j[below]), np.append(j, i[below])
        values = np.append(values, values[below])
    matrix: Any = sp.coo_array((values, (i, j)), shape=shape)
    matrix = sp.csr_array(matrix) if is_sparse else matrix.toarray()
    return loaded_matrix(source, matrix, options, "graph" if n_rows == n_columns else "points", 1)


# -- formats read by networkx


def read_gml(source: Source, options: ReadOptions) -> Loaded:
    """Read a GML file; nodes without labels are named by their ids."""
    return _by_networkx(source, options, "GML", "label" if b"label" in source.content else "id")


def read_graphml(source: Source, options: ReadOptions) -> Loaded:
    """Read a GraphML file."""
    return _by_networkx(source, options, "GraphML")


def _by_networkx(source: Source, options: ReadOptions, form: str, *arguments: str) -> Loaded:
    """Return the graph that networkx reads, weighted by the attribute "weight" if it exists."""
    with needed_for(f"{form} files", "networkx"):
        import networkx
    _check_graph_options(source, options)
    with source.reading(f"a {form} file"), source.opened() as file:
        graph = getattr(networkx, f"read_{form.lower()}")(file, *arguments)
        matrix, names, _ = as_matrix(graph)
    attributes = {key for _, _, data in graph.edges(data=True) for key in data}
    notes = []
    if attributes and "weight" not in attributes:
        notes.append(
            f"The edges of {source.name} have no attribute 'weight', so all weights are 1; their "
            f"attributes are {', '.join(map(repr, sorted(attributes)))}."
        )
    return Loaded("graph", matrix, source.name, names, notes=tuple(notes))
