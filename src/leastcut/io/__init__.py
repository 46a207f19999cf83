"""From files to points, graphs and pictures: one reader per format, one dict that lists them.

A reader is a function ``reader(source, wanted)`` that returns what the file holds
(:class:`leastcut.io.loaded.Loaded`), and raises a ValueError that names the file, the line and the
value. It writes nothing. To add one, write it, and a line in :data:`FORMATS`.
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
from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.rows import is_integer, is_number, long_fields_named, split
from leastcut.io.source import Source
from leastcut.io.tables import DELIMITERS, SEEN_LINES, read_csv, read_parquet, read_tsv
from leastcut.validation import check_choice


class Format(NamedTuple):
    """How a format is read, how names of its files end, and how their contents begin."""

    read: Callable[[Source, Wanted], Loaded]
    suffixes: tuple[str, ...]
    beginnings: tuple[bytes, ...] = ()


# The formats by name; the command line's ``--format`` lists them.
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

# Ends of names that do not tell the format: it is seen from the contents.
SNIFFED = (".txt", ".dat", ".data", "")

# The format that the end of a name means; gzip's ``.gz`` may come after it.
SUFFIXES = {suffix: name for name, known in FORMATS.items() for suffix in known.suffixes}

# What to do with files that are not read here.
ELSEWHERE: dict[str, str] = {
    ".h5ad": "In Python, leastcut.integrations.scanpy.cut(adata) clusters it.",
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".ods": "Save the sheet as CSV.",
    ".json": "Write it as CSV, or edges as u v weight.",
    ".pkl": "Write it as .npy, .npz or .csv; a pickle can run anything.",
}

OF_ARRAYS = ("npz", "mat")  # the formats of files that hold several arrays by name


def read(path: str | Path, wanted: Wanted | None = None, format: str | None = None) -> Loaded:
    """Read points, a graph or a picture from a file; "-" is the standard input.

    The format is a name in :data:`FORMATS`; by default the end of the file's name tells it, or
    else the contents. What cannot be read is a ValueError that names the file, line and value.
    """
    wanted = Wanted() if wanted is None else wanted
    if wanted.kind is not None:
        check_choice("--as", wanted.kind, ("points", "graph"))
    if format is not None:
        check_choice("--format", format, FORMATS)
    source = Source.of(path)
    is_guess = format is None and source.suffix in SNIFFED
    with long_fields_named(source):
        name = format or (_sniffed(source) if is_guess else _format_of(source))
        if name == "edges" and wanted.kind == "points":
            name = "csv"  # a table like any other
        if wanted.array is not None and name not in OF_ARRAYS:
            raise ValueError(
                f"{source.name} is read as {name}, which has no named arrays; --array is for "
                f"{' and '.join(OF_ARRAYS)} files, so leave it out."
            )
        loaded = FORMATS[name].read(source, wanted)
    if name == "edges" and is_guess and wanted.kind is None:
        note = f"{source.name} is read as a list of edges; --as points takes its rows for points."
        loaded = replace(loaded, notes=(note, *loaded.notes))
    return loaded


def _format_of(source: Source) -> str:
    """Return the format that the end of a name means."""
    if source.suffix not in SUFFIXES:
        remedy = ELSEWHERE.get(source.suffix, "Say what it is with --format.")
        raise ValueError(
            f"{source.name}: files that end in {source.suffix} are not read here. {remedy} "
            f"The formats are {', '.join(FORMATS)}."
        )
    return SUFFIXES[source.suffix]


def _sniffed(source: Source) -> str:
    """Return the name of the format that a file seems to be in."""
    for name, known in FORMATS.items():
        if source.content.startswith(known.beginnings):
            return name
    lines = [line for line in source.lines if line.strip() and line[0] not in EDGE_COMMENTS]
    lines = lines[:SEEN_LINES]
    if not lines:
        return "csv"  # whose reader says that it is empty
    if _is_metis(source):
        return "metis"
    for delimiter in DELIMITERS:
        if delimiter != "\t" and all(len(split(line, delimiter)) > 1 for line in lines):
            return "csv"  # a table of edges is known by its header
    rows = [line.split() for line in lines]
    has_header = tuple(field.lower() for field in rows[0][:2]) in EDGE_HEADERS
    return "edges" if has_header or "{" in lines[0] or all(map(_is_edge, rows)) else "csv"


def _is_edge(row: list[str]) -> bool:
    """Return whether fields are two nodes, numbers from 0 or names, and perhaps a weight."""
    nodes = all(
        not is_number(field) or (is_integer(field) and int(field) >= 0) for field in row[:2]
    )
    return len(row) in (2, 3) and nodes and all(map(is_number, row[2:]))


def _is_metis(source: Source) -> bool:
    """Return whether the first line announces as many nodes as there are lines after it."""
    lines = [line for line in source.lines if not line.startswith("%")]
    head = lines[0].split() if lines else []
    if not 2 <= len(head) <= 4 or not all(map(is_integer, head)) or len(lines) - 1 != int(head[0]):
        return False
    return len(head) > 2 or sum(len(line.split()) for line in lines[1:]) == 2 * int(head[1])
