"""Arrays: ``.npy``, ``.npz`` (also SciPy's sparse matrices) and ``.mat`` files, and pictures.

NumPy allocates what the header of an array announces, however short the file is; here the size is
compared with the file first. SciPy 1.17's ``loadmat`` reaches outside of its memory on some damaged
files, which ended the process on 45 of 3,000 that were damaged at random: it runs in a child.
"""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from leastcut.io.loaded import Loaded, Wanted, loaded_matrix
from leastcut.io.source import Source
from leastcut.optional_packages import needed_for
from leastcut.sparse_check import check_sparse

# What points are called among named arrays, in lower case.
SAMPLE_NAMES = ("x", "fea", "data", "features", "embedding")

CLASS_NAMES = ("y", "gnd", "label", "labels", "class", "target")  # what their classes are called

# What the matrix of a graph is called.
GRAPH_NAMES = ("a", "s", "w", "adjacency", "affinity", "graph")

# The arrays of SciPy's sparse matrices in ``.npz`` files that hold places.
INDEX_ARRAYS = {"shape", "indptr", "indices", "row", "col", "offsets"}

# What the child runs, with the packages of its parent: it writes the arrays, or what is wrong.
LOADMAT = """
import pickle, sys
path, sys.path[:] = sys.argv[1], sys.argv[2:]
from scipy.io import loadmat
try:
    loaded = {name: array for name, array in loadmat(path).items() if not name.startswith("__")}
except Exception as error:
    loaded = f"{type(error).__name__}: {error}"
pickle.dump(loaded, sys.stdout.buffer)
"""

# How a MATLAB file begins that is HDF inside, which SciPy does not read.
VERSION_7_3 = b"MATLAB 7.3"


def read_npy(source: Source, wanted: Wanted) -> Loaded:
    """Read an array, a point per row."""
    return loaded_matrix(source, load_npy(source), wanted, "points")


def read_npz(source: Source, wanted: Wanted) -> Loaded:
    """Read a sparse matrix of SciPy, a graph where it is square; or arrays X and y."""
    arrays: dict[str, np.ndarray] = {}
    with (
        source.blamed("an archive of NumPy arrays"),
        source.opened() as file,
        zipfile.ZipFile(file) as archive,
    ):
        for member in archive.infolist():
            with archive.open(member) as inside:
                arrays[member.filename.removesuffix(".npy")] = _array(inside, member.file_size)
    if "format" not in arrays:
        return _of_arrays(source, arrays, wanted)
    # SciPy would make integers of any numbers, and memory of any shape
    for name in INDEX_ARRAYS & arrays.keys():
        if arrays[name].dtype.kind not in "iu":
            raise ValueError(
                f"{source.name} holds a sparse matrix whose array {name!r} must hold integers, but "
                f"its dtype is {arrays[name].dtype}; save it again with scipy.sparse.save_npz."
            )
    n_bytes = sum(array.nbytes for array in arrays.values())
    for size in arrays.get("shape", np.empty(0)).tolist():
        source.check_announced(size, "rows or columns", n_bytes)
    with source.blamed("a sparse matrix of SciPy"), source.opened() as file:
        matrix = sp.load_npz(file)
    return loaded_matrix(source, matrix, wanted, _usual(matrix))


def read_mat(source: Source, wanted: Wanted) -> Loaded:
    """Read a MATLAB file: X and y, fea and gnd, or a sparse square matrix, which is a graph."""
    if source.path is None:
        raise ValueError("A MATLAB file is not read from standard input; name the file.")
    with source.blamed("a MATLAB file"):
        with source.path.open("rb") as file:
            if file.read(len(VERSION_7_3)) == VERSION_7_3:
                raise ValueError(
                    "it is a MATLAB 7.3 file, which SciPy cannot read: save it with -v7, or as "
                    ".npz with arrays X and y"
                )
        # -P: no module of the working directory, where others may have written
        command = [sys.executable, "-P", "-c", LOADMAT, str(source.path), *sys.path]
        child = subprocess.run(command, capture_output=True, check=False)
        if child.returncode != 0:
            raise ValueError(f"SciPy's reader ended with status {child.returncode}")
        arrays = pickle.loads(child.stdout)  # written by the child, not by the author of the file
        if isinstance(arrays, str):
            raise ValueError(arrays)
        # the SuiteSparse collection has its matrices in a structure
        problem = arrays.get("Problem")
        if problem is not None and problem.dtype.names and "A" in problem.dtype.names:
            arrays = {"A": problem["A"][0, 0]}
    for name, array in arrays.items():
        if sp.issparse(array):
            check_sparse(f"{source.name}: {name}", array)
    return _of_arrays(source, arrays, wanted)


def read_image(source: Source, wanted: Wanted) -> Loaded:
    """Read a picture as brightness, shape (height, width), or as colors, (height, width, 3).

    Values are from 0 to 255, or 65535 in pictures of 16 bits. The first of several frames is read,
    and the colors of transparent pixels are taken as they are.
    """
    if wanted.kind is not None or wanted.names_columns:
        raise ValueError(f"{source.name} is a picture, which holds no table of points or edges.")
    with needed_for("Pictures", "PIL", "cli"):
        from PIL import Image, ImageOps
    with source.blamed("a picture"), source.opened() as file, Image.open(file) as picture:
        upright = ImageOps.exif_transpose(picture)  # as the camera was held
        if not upright.mode.startswith(("I", "F")):
            upright = upright.convert("L" if upright.mode in ("1", "L", "LA") else "RGB")
        pixels = np.asarray(upright)
    return Loaded("image", pixels, source.name)


def load_npy(source: Source) -> np.ndarray:
    """Return the array of an ``.npy`` file."""
    with source.blamed("a NumPy array"), source.opened() as file:
        size = file.seek(0, 2)
        file.seek(0)
        return _array(file, size)


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """Return the array of an open file of so many bytes."""
    if size == 0:
        raise ValueError("it is empty")
    version = npy.read_magic(file)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(file)
    announced, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if announced > there and not dtype.hasobject:
        raise ValueError(
            f"it announces an array of shape {shape}, which takes {announced:,} bytes, and "
            f"{there:,} are there; it may be cut short"
        )
    file.seek(0)
    return np.asarray(npy.read_array(file, allow_pickle=False))  # a pickle could run anything


def _usual(matrix: Any) -> str:
    """Return what a matrix usually is: a graph where it is sparse and square."""
    return "graph" if sp.issparse(matrix) and matrix.shape[0] == matrix.shape[1] else "points"


def _of_arrays(source: Source, arrays: dict[str, Any], wanted: Wanted) -> Loaded:
    """Return the points or the graph among named arrays."""
    lower = {name.lower(): name for name in arrays}
    for asked in (wanted.label_column, wanted.array):
        if asked is not None and asked not in arrays:
            raise ValueError(
                f"{source.name} has no array {asked!r}; it has "
                f"{', '.join(map(repr, arrays)) or 'none'}."
            )
    classes = wanted.label_column
    if classes is None:
        classes = next((lower[name] for name in CLASS_NAMES if name in lower), None)
    matrices = [
        name
        for name, array in arrays.items()
        if name != classes and getattr(array, "ndim", 0) == 2 and min(array.shape) > 0
    ]
    squares = [name for name in matrices if arrays[name].shape[0] == arrays[name].shape[1]]
    known = [lower[name] for name in SAMPLE_NAMES if lower.get(name) in matrices]
    known += [lower[name] for name in GRAPH_NAMES if lower.get(name) in squares]
    if len(matrices) == 1:
        known += matrices
    chosen = wanted.array or next(iter(known), None)
    if chosen is None:
        shapes = [f"{name!r} {getattr(array, 'shape', ())}" for name, array in arrays.items()]
        raise ValueError(
            f"{source.name} holds {', '.join(shapes) or 'nothing'}; it must hold the points as X, "
            "with classes as y if there are any, or one square matrix of a graph as S. --array "
            "NAME chooses one of several."
        )
    matrix = arrays[chosen]
    is_graph = chosen in squares and chosen.lower() in GRAPH_NAMES
    y = None if classes is None else _classes(arrays[classes])
    # MATLAB files may have a point per column
    if y is not None and len(y) == matrix.shape[1] != matrix.shape[0]:
        matrix = matrix.T
    usual = "graph" if is_graph else _usual(matrix)
    loaded = loaded_matrix(source, matrix, replace(wanted, label_column=None), usual)
    if y is not None and len(y) != loaded.n_items:
        raise ValueError(
            f"{source.name} holds {loaded.n_items} rows in {chosen!r} and {len(y)} classes in "
            f"{classes!r}; there must be one for every row."
        )
    return replace(loaded, classes=y)


def _classes(array: Any) -> np.ndarray:
    """Return classes in one dimension, MATLAB's cells opened."""
    flat = np.asarray(array.toarray() if sp.issparse(array) else array).reshape(-1)
    if flat.dtype != object:
        return flat
    cells = [c.item() if isinstance(c, np.ndarray) and c.size == 1 else c for c in flat]
    return np.array([str(cell) for cell in cells])
