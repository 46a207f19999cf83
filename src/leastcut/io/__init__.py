"""Read points, graphs and images from files, with one reader per format.

A reader is a function ``reader(source, options)`` that returns a
:class:`leastcut.io.loaded.Loaded`. It raises a ValueError that names the file, the line and the
value if the file is invalid. To add a format, write its reader and add it to :data:`FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from leastcut.io.arrays import read_image, read_mat, read_npy, read_npz
from leastcut.io.graphs import (
    EDGE_COMMENTS,
    EDGE_HEADERS,
    read_edges,
    read_gml,
    read_graphml,
    read_matrix_market,
    read_metis,
)
from leastcut.io.loaded import Loaded, ReadOptions
from leastcut.io.rows import is_integer, is_number, long_fields_named, split
from leastcut.io.source import Source
from leastcut.io.tables import DELIMITERS, SEEN_LINES, read_csv, read_parquet, read_tsv
from leastcut.validation import check_choice


class Format(NamedTuple):
    """The reader of a format, its file extensions, and the first bytes of its files."""

    read: Callable[[Source, ReadOptions], Loaded]
    suffixes: tuple[str, ...]
    beginnings: tuple[bytes, ...] = ()


# The formats by name, the values of ``--format``.
FORMATS: dict[str, Format] = {
    "csv": Format(read_csv, (".csv",)),
    "tsv": Format(read_tsv, (".tsv", ".tab")),
    "parquet": Format(read_parquet, (".parquet", ".pq"), (b"PAR1",)),
    "npy": Format(read_npy, (".npy",), (b"\x93NUMPY",)),
    "npz": Format(read_npz, (".npz",), (b"PK\x03\x04",)),
    "mat": Format(read_mat, (".mat",), (b"MATLAB",)),
    "mtx": Format(read_matrix_market, (".mtx", ".mm"), (b"%%MatrixMarket",)),
    "metis": Format(read_metis, (".graph", ".metis")),
    "edges": Format(read_edges, (".edges", ".edgelist", ".edge", ".el", ".wel")),
    "gml": Format(read_gml, (".gml",)),
    "graphml": Format(read_graphml, (".graphml",), (b"<?xml", b"<graphml")),
    "image": Format(
        read_image,
        (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp"),
        (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"),
    ),
}

# Extensions of several formats: the format is detected from the content.
SNIFFED = (".txt", ".dat", ".data", "")

# The format of each extension, which ``.gz`` may follow.
SUFFIXES = {suffix: name for name, known in FORMATS.items() for suffix in known.suffixes}

# Advice for formats that are not supported.
UNSUPPORTED: dict[str, str] = {
    ".h5ad": "In Python, leastcut.integrations.scanpy.cut(adata) clusters it.",
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".ods": "Save the sheet as CSV.",
    ".json": "Save points as CSV, or edges as lines of u v weight.",
    ".pkl": "Save it as .npy, .npz or .csv; loading a pickle can execute arbitrary code.",
}

ARRAY_FORMATS = ("npz", "mat")  # formats of files with several named arrays


def read(path: str | Path, options: ReadOptions | None = None, format: str | None = None) -> Loaded:
    """Read points, a graph or an image from a file, or from standard input if the path is "-".

    ``format`` is a name in :data:`FORMATS`; by default it is determined by the file extension or
    the content.
    """
    options = ReadOptions() if options is None else options
    if options.kind is not None:
        check_choice("--as", options.kind, ("points", "graph"))
    if format is not None:
        check_choice("--format", format, FORMATS)
    source = Source.of(path)
    is_guess = format is None and source.suffix in SNIFFED
    with long_fields_named(source):
        name = format or (_sniffed(source) if is_guess else _format_of(source))
        if name == "edges" and options.kind == "points":
            name = "csv"
        if options.array is not None and name not in ARRAY_FORMATS:
            raise ValueError(
                f"--array only applies to {' and '.join(ARRAY_FORMATS)} files, but {source.name} "
                f"is read as {name}; remove --array."
            )
        loaded = FORMATS[name].read(source, options)
    if name == "edges" and is_guess and options.kind is None:
        note = f"{source.name} is read as an edge list; --as points reads its rows as points."
        loaded = replace(loaded, notes=(note, *loaded.notes))
    return loaded


def _format_of(source: Source) -> str:
    """Return the format of a file extension."""
    if source.suffix not in SUFFIXES:
        remedy = UNSUPPORTED.get(source.suffix, "Pass its format with --format.")
        raise ValueError(
            f"{source.name}: {source.suffix} files are not supported. {remedy} "
            f"The formats are {', '.join(FORMATS)}."
        )
    return SUFFIXES[source.suffix]


def _sniffed(source: Source) -> str:
    """Return the format of a file, detected from its content."""
    for name, known in FORMATS.items():
        if source.content.startswith(known.beginnings):
            return name
    lines = [line for line in source.lines if line.strip() and line[0] not in EDGE_COMMENTS]
    lines = lines[:SEEN_LINES]
    if not lines:
        return "csv"  # whose reader raises for an empty file
    if _is_metis(source):
        return "metis"
    for delimiter in DELIMITERS:
        if delimiter != "\t" and all(len(split(line, delimiter)) > 1 for line in lines):
            return "csv"  # whose reader recognizes a table of edges by its header
    rows = [line.split() for line in lines]
    has_header = tuple(field.lower() for field in rows[0][:2]) in EDGE_HEADERS
    return "edges" if has_header or "{" in lines[0] or all(map(_is_edge, rows)) else "csv"


def _is_edge(row: list[str]) -> bool:
    """Return whether fields are two nodes, names or numbers from 0, and optionally a weight."""
    nodes = all(
        not is_number(field) or (is_integer(field) and int(field) >= 0) for field in row[:2]
    )
    return len(row) in (2, 3) and nodes and all(map(is_number, row[2:]))


def _is_metis(source: Source) -> bool:
    """Return whether the first line is a METIS header for the number of lines after it."""
    lines = [line for line in source.lines if not line.startswith("%")]
    head = lines[0].split() if lines else []
    if not 2 <= len(head) <= 4 or not all(map(is_integer, head)) or len(lines) - 1 != int(head[0]):
        return False
    return len(head) > 2 or sum(len(line.split()) for line in lines[1:]) == 2 * int(head[1])
