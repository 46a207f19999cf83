"""Arrays of NumPy and MATLAB: ``.npy``, ``.npz`` (also SciPy's sparse matrices) and ``.mat``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from firstcut.files.loaded import Loaded, Wanted
from firstcut.files.mat_files import load_mat
from firstcut.files.matrices import loaded_matrix
from firstcut.files.source import Source, blamed

SAMPLE_NAMES = ("x", "fea", "data", "features", "embedding")
"""What points are called among named arrays, in lower case."""

CLASS_NAMES = ("y", "gnd", "label", "labels", "class", "target")
"""What their classes are called."""

GRAPH_NAMES = ("a", "s", "w", "adjacency", "affinity", "graph")
"""What the matrix of a graph is called."""

SPARSE_FORMAT = "format"
"""The array of an ``.npz`` file that says which sparse matrix of SciPy it is."""


def read_npy(source: Source, wanted: Wanted) -> Loaded:
    """Read an array, a point per row."""
    with blamed(source, "a NumPy array"), source.opened() as file:
        array = np.load(file, allow_pickle=False)  # a pickle could run anything
    return loaded_matrix(source, array, wanted, "points")


def read_npz(source: Source, wanted: Wanted) -> Loaded:
    """Read a sparse matrix of SciPy, a graph where it is square; or arrays X and y."""
    with blamed(source, "an archive of NumPy arrays"), source.opened() as file:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if SPARSE_FORMAT in arrays:
            file.seek(0)
            matrix = sp.load_npz(file)
            return loaded_matrix(source, matrix, wanted, _usual(matrix))
    return _of_arrays(source, arrays, wanted)


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
    return _of_arrays(source, arrays, wanted)


def _usual(matrix: Any) -> str:
    """Return what a matrix usually is: a graph where it is sparse and square."""
    return "graph" if sp.issparse(matrix) and matrix.shape[0] == matrix.shape[1] else "points"


def _of_arrays(source: Source, arrays: Mapping[str, Any], wanted: Wanted) -> Loaded:
    """Return the points or the graph among named arrays."""
    lower = {name.lower(): name for name in arrays}
    classes = None
    if wanted.label_column is not None:
        if wanted.label_column not in arrays:
            raise ValueError(
                f"{source.name} has no array {wanted.label_column!r}; it has "
                f"{', '.join(map(repr, arrays)) or 'none'}."
            )
        classes = wanted.label_column
    else:
        classes = next((lower[name] for name in CLASS_NAMES if name in lower), None)
    matrices = [
        name
        for name, array in arrays.items()
        if name != classes and getattr(array, "ndim", 0) == 2 and min(array.shape) > 0
    ]
    known = [lower[name] for name in (*SAMPLE_NAMES, *GRAPH_NAMES) if name in lower]
    chosen = next((name for name in known if name in matrices), None)
    if chosen is None and len(matrices) == 1:
        chosen = matrices[0]
    if chosen is None:
        shapes = ", ".join(
            f"{name!r} {getattr(array, 'shape', ())}" for name, array in arrays.items()
        )
        raise ValueError(
            f"{source.name} holds {shapes or 'nothing'}; it must hold the points as X, with "
            "classes as y if there are any, or one square matrix of a graph as S."
        )
    matrix = arrays[chosen]
    usual = _usual(matrix)
    if usual == "points" and chosen.lower() in GRAPH_NAMES and matrix.shape[0] == matrix.shape[1]:
        usual = "graph"
    asked = replace(wanted, label_column=None)
    y = None if classes is None else _classes(arrays[classes])
    # MATLAB files may have a point per column
    if y is not None and len(y) == matrix.shape[1] != matrix.shape[0]:
        matrix = matrix.T
    loaded = loaded_matrix(source, matrix, asked, usual)
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
