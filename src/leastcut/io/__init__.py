"""From files to points, graphs and pictures: one reader per format, one dict that lists them.

Beside the readers stands ``whole_files``, by which files are written whole or not at all.

A reader is a function ``reader(source, wanted)`` that returns what the file holds, see
:class:`leastcut.io.loaded.Loaded`, and raises a ValueError that names the file, the line and the
value. It writes nothing. To add one, write its file, a line in :data:`FORMATS`, and the ends of
names that mean it in :data:`SUFFIXES`.
"""

from __future__ import annotations

from collections.abc import Callable

from leastcut.io.arrays import read_mat, read_npy, read_npz
from leastcut.io.edge_lists import read_edges
from leastcut.io.image_files import read_image
from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.matrix_market import read_matrix_market
from leastcut.io.metis import read_metis
from leastcut.io.parquet import read_parquet
from leastcut.io.source import Source
from leastcut.io.tables import read_csv, read_tsv

FORMATS: dict[str, Callable[[Source, Wanted], Loaded]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "npy": read_npy,
    "npz": read_npz,
    "mat": read_mat,
    "mtx": read_matrix_market,
    "metis": read_metis,
    "edges": read_edges,
    "image": read_image,
}
"""The reader of every format by name; the command line's ``--format`` lists them."""

SNIFFED = "sniffed"
"""Stands for a format that the end of a name does not tell: it is seen from the contents."""

SUFFIXES: dict[str, str] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    ".mtx": "mtx",
    ".mm": "mtx",
    ".graph": "metis",
    ".metis": "metis",
    ".edges": "edges",
    ".edgelist": "edges",
    ".edge": "edges",
    ".el": "edges",
    ".wel": "edges",
    ".txt": SNIFFED,
    ".dat": SNIFFED,
    ".data": SNIFFED,
    ".png": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".gif": "image",
    ".bmp": "image",
    ".tif": "image",
    ".tiff": "image",
    ".webp": "image",
}
"""The format that the end of a name means; gzip's ``.gz`` may come after it."""

ELSEWHERE: dict[str, str] = {
    ".h5ad": "In Python, leastcut.integrations.scanpy.cut(adata) clusters it.",
    ".gml": "In Python, leastcut.partition takes what networkx.read_gml returns.",
    ".graphml": "In Python, leastcut.partition takes what networkx.read_graphml returns.",
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".ods": "Save the sheet as CSV.",
    ".json": "Write it as CSV, or edges as u v weight.",
    ".pkl": "Write it as .npy, .npz or .csv; a pickle can run anything.",
}
"""What to do with files that are not read here."""
