"""Read arrays from ``.npy``, ``.npz`` and ``.mat`` files, and images.

NumPy allocates the array that a header declares even if the file is shorter, so the sizes are
compared first. ``loadmat`` of SciPy 1.17 writes out of bounds on some damaged files (45 of 3,000
randomly damaged files crashed the process), so it runs in a child process.
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

from leastcut.io.loaded import Loaded, ReadOptions, loaded_matrix
from leastcut.io.source import Source
from leastcut.optional_packages import needed_for
from leastcut.sparse_check import check_sparse

# Usual names of arrays of points, classes and affinities, in lower case.
SAMPLE_NAMES = ("x", "fea", "data", "features", "embedding")
CLASS_NAMES = ("y", "gnd", "label", "labels", "class", "target")
GRAPH_NAMES = ("a", "s", "w", "adjacency", "affinity", "graph")

# The integer arrays of SciPy sparse matrices in ``.npz`` files.
INDEX_ARRAYS = {"shape", "indptr", "indices", "row", "col", "offsets"}

# The code of the child process: it writes the arrays, or an error message.
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

VERSION_7_3 = b"MATLAB 7.3"  # first bytes of HDF-based MATLAB files, which SciPy cannot read


def read_npy(source: Source, options: ReadOptions) -> Loaded:
    """Read an array with one point per row."""
    return loaded_matrix(source, load_npy(source), options, "points")


def read_npz(source: Source, options: ReadOptions) -> Loaded:
    """Read arrays X and y, or a SciPy sparse matrix, which is a graph if it is square."""
    arrays: dict[str, np.ndarray] = {}
    with (
        source.reading("an archive of NumPy arrays"),
        source.opened() as file,
        zipfile.ZipFile(file) as archive,
    ):
        for member in archive.infolist():
            with archive.open(member) as inside:
                arrays[member.filename.removesuffix(".npy")] = _array(inside, member.file_size)
    if "format" not in arrays:
        return _of_arrays(source, arrays, options)
    # SciPy would cast any numbers to integers, and allocate memory for any shape
    for name in INDEX_ARRAYS & arrays.keys():
        if arrays[name].dtype.kind not in "iu":
            raise ValueError(
                f"{source.name} contains a sparse matrix whose array {name!r} must hold integers, "
                f"but has dtype {arrays[name].dtype}; save it again with scipy.sparse.save_npz."
            )
    n_bytes = sum(array.nbytes for array in arrays.values())
    for size in arrays.get("shape", np.empty(0)).tolist():
        source.check_declared(size, "rows or columns", n_bytes)
    with source.reading("a SciPy sparse matrix"), source.opened() as file:
        matrix = sp.load_npz(file)
    return loaded_matrix(source, matrix, options, _default_kind(matrix))


def read_mat(source: Source, options: ReadOptions) -> Loaded:
    """Read a MATLAB file with X and y, fea and gnd, or a sparse square matrix, which is a graph."""
    if source.path is None:
        raise ValueError("A MATLAB file cannot be read from standard input; pass its name.")
    with source.reading("a MATLAB file"):
        with source.path.open("rb") as file:
            if file.read(len(VERSION_7_3)) == VERSION_7_3:
                raise ValueError(
                    "it is a MATLAB 7.3 file, which SciPy cannot read: save it with -v7, or as "
                    ".npz with arrays X and y"
                )
        # -P: import no module from the working directory
        command = [sys.executable, "-P", "-c", LOADMAT, str(source.path), *sys.path]
        child = subprocess.run(command, capture_output=True, check=False)
        if child.returncode != 0:
            raise ValueError(f"SciPy's reader ended with status {child.returncode}")
        arrays = pickle.loads(child.stdout)  # safe: written by the child process
        if isinstance(arrays, str):
            raise ValueError(arrays)
        # the SuiteSparse collection stores its matrices in a structure
        problem = arrays.get("Problem")
        if problem is not None and problem.dtype.names and "A" in problem.dtype.names:
            arrays = {"A": problem["A"][0, 0]}
    for name, array in arrays.items():
        if sp.issparse(array):
            check_sparse(f"{source.name}: {name}", array)
    return _of_arrays(source, arrays, options)


def read_image(source: Source, options: ReadOptions) -> Loaded:
    """Read an image of shape (height, width) or (height, width, 3).

    Values range from 0 to 255, or to 65535 in 16-bit images. Only the first frame is read, and
    transparency is ignored.
    """
    if options.kind is not None or options.selects_columns:
        raise ValueError(
            f"{source.name} is an image, which has no points, edges or columns; remove --as and "
            "the options about columns."
        )
    with needed_for("Image files", "PIL", "cli"):
        from PIL import Image, ImageOps
    with source.reading("an image"), source.opened() as file, Image.open(file) as image:
        upright = ImageOps.exif_transpose(image)
        if not upright.mode.startswith(("I", "F")):
            upright = upright.convert("L" if upright.mode in ("1", "L", "LA") else "RGB")
        pixels = np.asarray(upright)
    return Loaded("image", pixels, source.name)


def load_npy(source: Source) -> np.ndarray:
    """Return the array of an ``.npy`` file."""
    with source.reading("a NumPy array"), source.opened() as file:
        size = file.seek(0, 2)
        file.seek(0)
        return _array(file, size)


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """Return the array of an open file of ``size`` bytes."""
    if size == 0:
        raise ValueError("the file is empty")
    version = npy.read_magic(file)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(file)
    declared, available = math.prod(shape) * dtype.itemsize, size - file.tell()
    if declared > available and not dtype.hasobject:
        raise ValueError(
            f"the header declares an array of shape {shape}, which takes {declared:,} bytes, but "
            f"the file has {available:,}; it may be truncated"
        )
    file.seek(0)
    return np.asarray(npy.read_array(file, allow_pickle=False))  # a pickle can execute code


def _default_kind(matrix: Any) -> str:
    """Return "graph" for a sparse square matrix, else "points"."""
    return "graph" if sp.issparse(matrix) and matrix.shape[0] == matrix.shape[1] else "points"


def _of_arrays(source: Source, arrays: dict[str, Any], options: ReadOptions) -> Loaded:
    """Return the points or the graph among named arrays."""
    lower = {name.lower(): name for name in arrays}
    for name in (options.label_column, options.array):
        if name is not None and name not in arrays:
            raise ValueError(
                f"{source.name} has no array {name!r}; it has "
                f"{', '.join(map(repr, arrays)) or 'none'}."
            )
    classes = options.label_column
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
    chosen = options.array or next(iter(known), None)
    if chosen is None:
        shapes = [f"{name!r} {getattr(array, 'shape', ())}" for name, array in arrays.items()]
        raise ValueError(
            f"{source.name} contains {', '.join(shapes) or 'no array'}; expected points as X, "
            "optionally with classes as y, or a square affinity matrix as S. Use --array NAME to "
            "select one of several arrays."
        )
    matrix = arrays[chosen]
    is_graph = chosen in squares and chosen.lower() in GRAPH_NAMES
    y = None if classes is None else _classes(arrays[classes])
    # MATLAB files may store one point per column
    if y is not None and len(y) == matrix.shape[1] != matrix.shape[0]:
        matrix = matrix.T
    default = "graph" if is_graph else _default_kind(matrix)
    loaded = loaded_matrix(source, matrix, replace(options, label_column=None), default)
    if y is not None and len(y) != loaded.n_items:
        raise ValueError(
            f"{source.name} has {loaded.n_items} rows in {chosen!r} but {len(y)} classes in "
            f"{classes!r}; each row needs one class."
        )
    return replace(loaded, classes=y)


def _classes(array: Any) -> np.ndarray:
    """Return classes as a one-dimensional array, with MATLAB cells converted to strings."""
    flat = np.asarray(array.toarray() if sp.issparse(array) else array).reshape(-1)
    if flat.dtype != object:
        return flat
    cells = [c.item() if isinstance(c, np.ndarray) and c.size == 1 else c for c in flat]
    return np.array([str(cell) for cell in cells])
