"""Create a source of rows from samples in any supported container."""

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
    """Return the source of samples X, as in :func:`leastcut.anchor_graph`, without reading them.

    Raises if X is not a supported container of samples.
    """
    if isinstance(X, str | os.PathLike):
        return _of_path(Path(X))
    library = type(X).__module__.partition(".")[0]
    if sp.issparse(X):
        raise TypeError(
            "X is sparse, but anchors need dense samples: reduce the number of features first, for "
            "example with sklearn.decomposition.TruncatedSVD, or pass X.toarray() if it has few."
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
            "X is a Dask DataFrame; pass X.to_dask_array(lengths=True), which has known chunks."
        )
    check_matrix("X", X)
    array = as_plain("X", X)
    check_sample_table(array.shape, array.dtype)
    # Objects, for example from frames with several dtypes, are converted to numbers.
    return ArraySource(as_floats("X", array) if array.dtype.kind == "O" else array)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Return a context that adds the name of the file to errors of readers."""
    try:
        yield
    except (ValueError, EOFError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(
            f"{path} cannot be read ({error}); it may be empty, truncated or in another format. "
            "Write or download it again."
        ) from error


def _of_path(path: Path) -> Source:
    """Return the source of a file, or of the Parquet files in a folder."""
    if path.suffix == ".npy":
        # Memory-mapping reads only the header, and refuses pickled objects.
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
        "a folder of Parquet files. Open other formats first, for example with "
        "h5py.File(path)['name'] or zarr.open_array(path), and pass the array."
    )


def _is_lazy(X: Any) -> bool:
    """Return whether X is an array of known shape and dtype that is read when it is sliced."""
    # Arrays in memory are shared without a copy, and frames are not arrays.
    if any(hasattr(X, name) for name in ("__array_interface__", "__dlpack__", "iloc")):
        return False
    if not all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    try:
        np.dtype(X.dtype)
        return all(int(length) == length for length in X.shape)
    except (TypeError, ValueError):
        return False
