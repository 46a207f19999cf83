"""What a file is, where its name does not say it: told from how it begins."""

from __future__ import annotations

from leastcut.io.edge_lists import COMMENTS, EDGE_HEADERS
from leastcut.io.layout import DELIMITERS, SEEN_LINES, split
from leastcut.io.numbers import is_number, is_whole
from leastcut.io.source import Source

BEGINNINGS: dict[bytes, str] = {
    b"\x89PNG": "image",
    b"\xff\xd8\xff": "image",
    b"GIF8": "image",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"%%MatrixMarket": "mtx",
    b"MATLAB": "mat",
}
"""How files begin, and the name of their format."""


def sniffed(source: Source) -> str:
    """Return the name of the format that a file seems to be in."""
    for beginning, name in BEGINNINGS.items():
        if source.content.startswith(beginning):
            return name
    lines = [line for line in source.lines if line.strip() and not line.startswith(COMMENTS)]
    rows = [line.split() for line in lines[:SEEN_LINES]]
    if not rows:
        return "csv"  # whose reader says that it is empty
    if _is_metis(source):
        return "metis"
    for delimiter in DELIMITERS:
        fields = [split(line, delimiter) for line in lines[:SEEN_LINES]]
        if delimiter != "\t" and all(len(row) > 1 for row in fields):
            return "csv"  # a table of edges is known by its header
    if tuple(field.lower() for field in rows[0][:2]) in EDGE_HEADERS:
        return "edges"
    if "{" in lines[0] or (len(rows[0]) in (2, 3) and all(_is_edge(row) for row in rows)):
        return "edges"
    return "csv"


def _is_edge(row: list[str]) -> bool:
    """Return whether fields are two nodes, numbers from 0 or names, and perhaps a weight."""
    nodes = all(not is_number(field) or (is_whole(field) and int(field) >= 0) for field in row[:2])
    return len(row) in (2, 3) and nodes and all(map(is_number, row[2:]))


def _is_metis(source: Source) -> bool:
    """Return whether the first line announces as many nodes as there are lines after it."""
    kept = [line for line in source.lines if not line.startswith("%")]
    head = kept[0].split() if kept else []
    if not 2 <= len(head) <= 4 or not all(map(is_whole, head)):
        return False
    n, m = int(head[0]), int(head[1])
    if len(kept) - 1 != n:
        return False
    counts = sum(len(line.split()) for line in kept[1:])
    return len(head) > 2 or counts == 2 * m
