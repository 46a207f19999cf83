"""Arrays of NumPy and MATLAB: ``.npy``, ``.npz`` (also SciPy's sparse matrices) and ``.mat``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.mat_files import load_mat
from leastcut.io.matrices import loaded_matrix
from leastcut.io.npy_files import load_npy, load_npz
from leastcut.io.source import Source, blamed, check_announced
from leastcut.sparse_check import check_sparse

SAMPLE_NAMES = ("x", "fea", "data", "features", "embedding")
"""What points are called among named arrays, in lower case."""

CLASS_NAMES = ("y", "gnd", "label", "labels", "class", "target")
"""What their classes are called."""

GRAPH_NAMES = ("a", "s", "w", "adjacency", "affinity", "graph")
"""What the matrix of a graph is called."""

SPARSE_FORMAT = "format"
"""The array of an ``.npz`` file that says which sparse matrix of SciPy it is."""

INDEX_ARRAYS = {"shape", "indptr", "indices", "row", "col", "offsets"}
"""The arrays of such a file that hold places, in one format or another."""


def read_npy(source: Source, wanted: Wanted) -> Loaded:
    """Read an array, a point per row."""
    return loaded_matrix(source, load_npy(source), wanted, "points")


def read_npz(source: Source, wanted: Wanted) -> Loaded:
    """Read a sparse matrix of SciPy, a graph where it is square; or arrays X and y."""
    arrays = load_npz(source)
    if SPARSE_FORMAT not in arrays:
        return _of_arrays(source, arrays, wanted)
    # SciPy would make whole numbers of any others, and memory of any shape.
    for name in INDEX_ARRAYS & arrays.keys():
        if arrays[name].dtype.kind not in "iu":
            raise ValueError(
                f"{source.name} holds a sparse matrix whose array {name!r} must hold integers, but "
                f"its dtype is {arrays[name].dtype}; save it again with scipy.sparse.save_npz."
            )
    n_bytes = sum(array.nbytes for array in arrays.values())
    for size in arrays.get("shape", np.empty(0)).tolist():
        check_announced(source.name, size, "rows or columns", n_bytes)
    with blamed(source, "a sparse matrix of SciPy"), source.opened() as file:
        matrix = sp.load_npz(file)
    return loaded_matrix(source, matrix, wanted, _usual(matrix))


def read_mat(source: Source, wanted: Wanted) -> Loaded:
    """Read a MATLAB file: X and y, fea and gnd, or a sparse square matrix, which is a graph."""
    if source.path is None:
        raise ValueError("A MATLAB file is not read from standard input; name the file.")
    with blamed(source, "a MATLAB file"):
        arrays = load_mat(Path(source.path))
        # the collection of sparse matrices of Florida has them in a structure
        problem = arrays.get("Problem")
        if problem is not None and problem.dtype.names and "A" in problem.dtype.names:
            arrays = {"A": problem["A"][0, 0]}
    for name, array in arrays.items():
        if sp.issparse(array):
            check_sparse(f"{source.name}: {name}", array)
    return _of_arrays(source, arrays, wanted)


def _usual(matrix: Any) -> str:
    """Return what a matrix usually is: a graph where it is sparse and square."""
    return "graph" if sp.issparse(matrix) and matrix.shape[0] == matrix.shape[1] else "points"


def _of_arrays(source: Source, arrays: Mapping[str, Any], wanted: Wanted) -> Loaded:
    """Return the points or the graph among named arrays."""
    lower = {name.lower(): name for name in arrays}
    classes = None
    for asked in (wanted.label_column, wanted.array):
        if asked is not None and asked not in arrays:
            raise ValueError(
                f"{source.name} has no array {asked!r}; it has "
                f"{', '.join(map(repr, arrays)) or 'none'}."
            )
    if wanted.label_column is not None:
        classes = wanted.label_column
    else:
        classes = next((lower[name] for name in CLASS_NAMES if name in lower), None)
    matrices = [
        name
        for name, array in arrays.items()
        if name != classes and getattr(array, "ndim", 0) == 2 and min(array.shape) > 0
    ]
    squares = [name for name in matrices if arrays[name].shape[0] == arrays[name].shape[1]]
    known = [lower[name] for name in SAMPLE_NAMES if lower.get(name) in matrices]
    known += [lower[name] for name in GRAPH_NAMES if lower.get(name) in squares]
    chosen = wanted.array or next(iter(known), None)
    if chosen is None and len(matrices) == 1:
        chosen = matrices[0]
    if chosen is None:
        shapes = ", ".join(
            f"{name!r} {getattr(array, 'shape', ())}" for name, array in arrays.items()
        )
        raise ValueError(
            f"{source.name} holds {shapes or 'nothing'}; it must hold the points as X, with "
            "classes as y if there are any, or one square matrix of a graph as S. --array NAME "
            "chooses one of several."
        )
    matrix = arrays[chosen]
    usual = _usual(matrix)
    if usual == "points" and chosen.lower() in GRAPH_NAMES and matrix.shape[0] == matrix.shape[1]:
        usual = "graph"
    without_classes = replace(wanted, label_column=None)
    y = None if classes is None else _classes(arrays[classes])
    # MATLAB files may have a point per column
    if y is not None and len(y) == matrix.shape[1] != matrix.shape[0]:
        matrix = matrix.T
    loaded = loaded_matrix(source, matrix, without_classes, usual)
    if y is None:
        return loaded
    if len(y) != loaded.n_items:
        raise ValueError(
            f"{source.name} holds {loaded.n_items} rows in {chosen!r} and {len(y)} classes in "
            f"{classes!r}; there must be one for every row."
        )
    return replace(loaded, classes=y)


def _classes(array: Any) -> np.ndarray:
    """Return classes in one dimension, MATLAB's cells opened."""
    flat = np.asarray(array.toarray() if sp.issparse(array) else array).reshape(-1)
    if flat.dtype == object:
        cells = [
            cell.item() if isinstance(cell, np.ndarray) and cell.size == 1 else cell
            for cell in flat
        ]
        return np.array([str(cell) for cell in cells])
    return flat
