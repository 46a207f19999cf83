"""Graphs as METIS, KaHIP and the partitioning archives write them.

The first line has the number of nodes, of edges and, where there are weights, a code for them; then
comes a line per node with its neighbours, counted from 1. Every edge is listed from both ends.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.numbers import is_whole
from leastcut.io.source import Source, check_announced

COMMENT = "%"
"""How a line begins that is not counted."""


def read_metis(source: Source, wanted: Wanted) -> Loaded:
    """Read a graph in the format of METIS; its nodes are counted from 1, as the file does.

    Raises
    ------
    ValueError
        If a line is not what the first one announces; the message names the line.
    """
    if wanted.kind == "points" or wanted.names_columns:
        raise ValueError(f"{source.name} is a METIS graph, which holds no points or columns.")
    kept = [
        (number, line)
        for number, line in enumerate(source.lines, start=1)
        if not line.startswith(COMMENT)
    ]
    # 1. the first line: nodes, edges, code of the weights, weights per node
    while kept and not kept[0][1].strip():
        kept.pop(0)
    number, line = kept[0] if kept else (1, "")
    head = line.split()
    if not 2 <= len(head) <= 4 or not all(map(is_whole, head)) or int(head[0]) < 1:
        raise ValueError(
            f"{source.name}, line {number}: {line[:60]!r} is not how a METIS graph begins, which "
            "is the number of nodes and of edges."
        )
    n, m = int(head[0]), int(head[1])
    check_announced(source.name, n, "nodes", len(source.text))
    has_sizes, has_node_weights, has_edge_weights = (
        digit == "1" for digit in (head[2] if len(head) > 2 else "0").zfill(3)[-3:]
    )
    skipped = has_sizes + (int(head[3]) if len(head) > 3 else 1) * has_node_weights
    # 2. a line per node; the last ones may be missing where nodes have no neighbours
    body = kept[1:]
    while len(body) > n and not body[-1][1].strip():
        body.pop()
    if len(body) > n:
        raise ValueError(
            f"{source.name} announces {n} nodes and has {len(body)} lines of neighbours; there "
            "must be one for every node."
        )
    listed_nodes, last = len(body), body[-1][0] if body else number
    body += [(last, "")] * (n - listed_nodes)
    rows, columns, weights = _entries(source, body, n, skipped, has_edge_weights)
    # 3. every edge from both ends, as announced
    matrix = sp.csr_array(sp.coo_array((weights, (rows, columns)), shape=(n, n)))
    if rows.size < 2 * m and listed_nodes < n:
        raise ValueError(
            f"{source.name} announces {n} nodes and ends after {listed_nodes} of them, at line "
            f"{last}; it may be cut short."
        )
    if rows.size != 2 * m:
        raise ValueError(
            f"{source.name} announces {m} edges, so {2 * m} neighbours in all, and lists "
            f"{rows.size}; every edge must be listed from both ends."
        )
    if not wanted.directed:
        _check_both_ends(source, matrix, body)
    notes: tuple[str, ...] = ()
    if has_node_weights or has_sizes:
        notes = (f"{source.name} has weights of nodes, which are left out.",)
    return Loaded("graph", matrix, source.name, range(1, n + 1), notes=notes)


def _entries(
    source: Source, body: list[tuple[int, str]], n: int, skipped: int, has_weights: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, column and weight of everything that is listed."""
    fields = [line.split()[skipped:] for _, line in body]
    counts = np.array([len(row) for row in fields], dtype=np.int64)
    step = 2 if has_weights else 1
    odd = np.flatnonzero(counts % step)
    if odd.size:
        raise ValueError(
            f"{source.name}, line {body[odd[0]][0]}: there are {counts[odd[0]]} numbers, and every "
            "neighbour must be followed by the weight of the edge."
        )
    flat = [field for row in fields for field in row]
    try:
        listed = np.array(flat[::step], dtype=np.int64)
        weights = np.array(flat[1::2], dtype=np.float64) if has_weights else np.ones(listed.size)
        is_fine = (listed >= 1) & (listed <= n) & np.isfinite(weights) & (weights >= 0)
    except (ValueError, OverflowError):
        is_fine = np.zeros(0, dtype=bool)
    if not is_fine.all() or is_fine.size != len(flat) // step:
        _raise_at_fault(source, body, fields, n, step)
    return np.repeat(np.arange(n), counts // step), listed - 1, weights


def _raise_at_fault(
    source: Source, body: list[tuple[int, str]], fields: list[list[str]], n: int, step: int
) -> None:
    """Raise for the first neighbour that is none, or the first weight that is none."""
    for (number, _), row in zip(body, fields, strict=True):
        for place, field in enumerate(row):
            if place % step == 0:
                if not is_whole(field) or not 1 <= int(field) <= n:
                    raise ValueError(
                        f"{source.name}, line {number}: {field!r} is not a node; they are counted "
                        f"from 1 to {n}."
                    )
                continue
            try:
                weight = float(field)
            except ValueError:
                weight = -1.0
            if not 0 <= weight < np.inf:
                raise ValueError(
                    f"{source.name}, line {number}: the weight {field!r} is not a finite number of "
                    "at least 0."
                )


def _check_both_ends(source: Source, matrix: sp.csr_array, body: list[tuple[int, str]]) -> None:
    """Raise if an edge is listed from one end only, or with two weights."""
    difference = sp.coo_array(matrix - sp.csr_array(matrix.T))
    difference.eliminate_zeros()
    if difference.nnz:
        i, j = int(difference.row[0]), int(difference.col[0])
        raise ValueError(
            f"{source.name}, line {body[i][0]}: the edge from node {i + 1} to {j + 1} has weight "
            f"{matrix[i, j]:g}, and {matrix[j, i]:g} from its other end, in line {body[j][0]}. "
            "Correct it, or say --symmetrize mean or --symmetrize max."
        )
