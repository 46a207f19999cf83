"""Samples in Dask collections, and their validation.

Shapes and types are checked before any task runs, values by the tasks that read them.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from leastcut.anchors.array_sources import float_type
from leastcut.integrations.dask.workers import Scheduler
from leastcut.validation import check_samples

WAYS_TO_NUMPY = ("toarray", "todense", "get")  # methods of arrays of SciPy, sparse and CuPy


class Place(NamedTuple):
    """First row of a chunk in X, if it is known, with the required features and type."""

    start: int | None
    n_features: int
    dtype: np.dtype[Any]


def chunks_of(array: Any) -> list[tuple[Any, Place]]:
    """Return the tasks and places of all non-empty chunks."""
    sizes, n_features, dtype = array.chunks[0], array.shape[1], float_type(array.dtype)
    starts = accumulate(sizes[:-1], initial=0)
    return [
        (task, Place(int(start), n_features, dtype))
        for task, start, size in zip(array.to_delayed().reshape(-1), starts, sizes, strict=True)
        if size
    ]


def samples_of(X: Any, scheduler: Scheduler) -> Any:
    """Return the array of samples to fit, with chunks of known sizes and all features."""
    array = _array_of(X)
    if _is_frame(X):
        tasks = [scheduler.task("leastcut-rows", len, part) for part in X.to_delayed()]
        array = X.to_dask_array(lengths=scheduler.compute(tasks))
    if any(np.isnan(size) for size in array.chunks[0]):
        raise ValueError(
            "X has chunks with unknown numbers of rows, as after a selection of rows. Call "
            "X.compute_chunk_sizes() first, or convert a data frame by "
            "to_dask_array(lengths=True)."
        )
    if 0 in array.shape:
        raise ValueError(
            f"X has shape {array.shape}; it needs at least one sample and one feature."
        )
    return _rows_together(array)


def new_samples_of(X: Any, n_features: int) -> Any:
    """Return the array of new samples, whose chunks may have unknown sizes."""
    array = _array_of(X)
    if array.shape[1] != n_features:
        raise ValueError(
            f"X has {array.shape[1]} features, but the model was fitted on {n_features}; pass the "
            "same features."
        )
    return _rows_together(array)


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection."""
    return hasattr(X, "__dask_graph__") and X.__dask_graph__() is not None


def names_of(X: Any) -> np.ndarray | None:
    """Return the feature names if X is a data frame with string names, else None."""
    names = X.columns if hasattr(type(X), "columns") else ()
    if not len(names) or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(list(names), dtype=object)


def read(chunk: Any, place: Place) -> np.ndarray:
    """Return the validated samples of a chunk: finite, C-ordered, of the type of X."""
    first = "" if place.start is None else f" that begins with row {place.start}"
    here = f"In the chunk of X{first}: "
    if type(chunk) is not np.ndarray and (sp.issparse(chunk) or not hasattr(chunk, "__array__")):
        raise TypeError(f"{here}it is {type(chunk).__name__}, not a dense NumPy array.")
    try:
        points = check_samples(chunk)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{here}{error} Rows are counted within the chunk.") from None
    if points.shape[1] != place.n_features:
        raise ValueError(f"{here}it has {points.shape[1]} features, but X has {place.n_features}.")
    return np.asarray(points.astype(place.dtype, order="C", copy=False))


def _is_frame(X: Any) -> bool:
    # By type, as a Delayed object has all attributes.
    return hasattr(type(X), "to_dask_array") and hasattr(type(X), "columns")


def _array_of(X: Any) -> Any:
    """Return X as a two-dimensional Dask array of numbers, or raise."""
    if not is_dask(X):
        raise TypeError(
            f"X is {type(X).__name__}, not a collection of Dask. Pass dask.array.from_array(X), or "
            "use leastcut.AnchorSpectralClustering."
        )
    if _is_frame(X):
        for column, dtype in zip(X.columns, X.dtypes, strict=True):
            if getattr(dtype, "kind", "O") not in "fiub":
                raise ValueError(
                    f"Column {column!r} of X holds {dtype}, not numbers; drop or encode it."
                )
        array = X.to_dask_array()
    else:
        array = X
    if not (hasattr(type(array), "chunks") and hasattr(type(array), "to_delayed")):
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__}; pass a Dask array or data frame of "
            "samples, one per row."
        )
    if array.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, one row per sample, but its shape is {array.shape}. Use "
            "X.reshape(-1, 1) for a single feature."
        )
    if not isinstance(array._meta, np.ndarray):
        kind = type(array._meta)
        way = next((way for way in WAYS_TO_NUMPY if hasattr(kind, way)), "__array__")
        raise TypeError(
            f"Chunks of X are {kind.__module__}.{kind.__name__}, but dense NumPy arrays are "
            f"required; pass X.map_blocks(lambda chunk: chunk.{way}(), dtype=X.dtype, "
            "meta=numpy.empty((0, 0), X.dtype)), if there are few features."
        )
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"X must hold real numbers, but its dtype is {array.dtype}; convert it first."
        )
    if np.isnan(array.shape[1]):
        raise ValueError("The number of features of X is unknown; call X.compute_chunk_sizes().")
    return array


def _rows_together(array: Any) -> Any:
    """Return an array with all features of a sample in one chunk; chunks of rows do not change."""
    return array.rechunk({1: array.shape[1]}) if array.numblocks[1] > 1 else array
