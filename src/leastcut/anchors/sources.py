"""Samples wherever they lie, as a source of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.array_sources import ArraySource, SlicedSource, Source, TensorSource
from leastcut.optional_packages import needed_for
from leastcut.validation import (
    as_floats,
    as_plain,
    check_matrix,
    check_sample_table,
    is_on_gpu,
)

PARQUET = (".parquet", ".pq")


def as_source(X: Any) -> Source:
    """Return samples as a source, without reading them; raise if they are no samples.

    X is what :func:`leastcut.anchor_graph` takes.
    """
    if isinstance(X, str | os.PathLike):
        return _of_path(Path(X))
    library = type(X).__module__.partition(".")[0]
    if sp.issparse(X):
        raise TypeError(
            "X is sparse, and anchors are not: bring it to few features first, as with "
            "sklearn.decomposition.TruncatedSVD, or pass X.toarray() if it has few."
        )
    if library == "pyarrow":
        from leastcut.anchors.arrow_source import of_arrow

        return of_arrow(X)
    if is_on_gpu(X):
        return TensorSource(X)
    if _is_lazy(X):
        return SlicedSource(X)
    if library == "dask":
        raise TypeError(
            "X is a frame of Dask; pass X.to_dask_array(lengths=True), whose chunks are known."
        )
    check_matrix("X", X)
    array = as_plain("X", X)
    check_sample_table(array.shape, array.dtype)
    # Objects, as frames of several types have them, become numbers at once.
    return ArraySource(as_floats("X", array) if array.dtype.kind == "O" else array)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Open a context in which an error of a reader that does not name the file does so."""
    try:
        yield
    except (ValueError, EOFError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(
            f"{path} cannot be read ({error}); it may be empty, cut short or another kind of file. "
            "Write or fetch it again."
        ) from error


def _of_path(path: Path) -> Source:
    """Return the samples of a file, or of the Parquet files of a folder."""
    if path.suffix == ".npy":
        # Opened as a map, which reads the header alone; objects would be read by running code.
        with _named(path):
            array = np.load(path, mmap_mode="r")
        return as_source(array)
    if path.suffix in PARQUET or path.is_dir():
        with needed_for("Parquet files", "pyarrow", "cli"):
            from leastcut.anchors.arrow_source import of_parquet
        with _named(path):
            return of_parquet(path)
    raise ValueError(
        f"X={str(path)!r} is neither an .npy file, nor a Parquet file ({', '.join(PARQUET)}), nor "
        "a folder of Parquet files. Open other stores first, as by h5py.File(path)['name'] or "
        "zarr.open_array(path), and pass the array."
    )


def _is_lazy(X: Any) -> bool:
    """Whether an array of another library is read when it is sliced, and has known numbers."""
    # Arrays in memory can be shared as they are, and frames are no arrays.
    if any(hasattr(X, name) for name in ("__array_interface__", "__dlpack__", "iloc")):
        return False
    if not all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    try:
        np.dtype(X.dtype)
        return all(int(length) == length for length in X.shape)
    except (TypeError, ValueError):
        return False
