"""Validation of input, shared by all entry points.

A check returns the validated value, converted to the type that is used internally, or raises an
error that names the value and the remedy.
"""

from __future__ import annotations

import datetime
import inspect
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from leastcut.sparse_check import check_sparse

# Asymmetry, relative to the largest weight, that is treated as rounding and averaged.
SYMMETRY_TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-8}

# Non-numeric types, some of which NumPy would convert to numbers. The date types of pandas derive
# from these.
NON_NUMERIC: tuple[type, ...] = (
    *(str, bytes, datetime.date, datetime.time, datetime.timedelta),
    *(np.datetime64, np.timedelta64),
)

SHOWN = 60  # characters of an entry in an error message
CHECKED = 2**17  # coordinates of samples per check, which fit into the cache
# Ways to symmetrize a directed graph: (S + Sᵀ) / 2, or the larger of both directions.
SYMMETRIZE = ("mean", "max")


def check_choice(name: str, value: object, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``known``, else raise an error that lists them."""
    choices = list(known)
    if isinstance(value, str) and value in choices:
        return value
    raise ValueError(
        f"{name}={value!r} is not known; choose one of {', '.join(map(repr, choices))}."
    )


def check_count(name: str, value: object, minimum: int = 1) -> int:
    """Return ``value`` as an int if it is an integer of at least ``minimum``."""
    try:
        # In Python a bool is an int, but n_neighbors=True is a mistake.
        if isinstance(value, bool | np.bool_):
            raise TypeError
        # Accepts NumPy integers and rejects floats, which int() would accept.
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}={value!r} is not an integer.") from None
    if count < minimum:
        raise ValueError(f"{name}={count} is too small; it must be at least {minimum}.")
    if count > np.iinfo(np.int64).max:
        raise ValueError(f"{name} does not fit into 64 bits; choose a smaller number.")
    return count


def accepted_options(function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a function has parameters for."""
    parameters = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return {name: v for name, v in options.items() if takes_all or name in parameters}


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` as a bool if it is True or False; other truth values raise."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False.")
    return bool(value)


def is_true(value: object) -> bool:
    """Return whether a value is True itself, and not only truthy.

    A callback that returns True stops the computation; one that returns a count does not.
    """
    return isinstance(value, bool | np.bool_) and bool(value)


def check_function(name: str, function: object, usage: str, n_arguments: int) -> None:
    """Raise unless ``function`` accepts ``n_arguments`` positional arguments, as in ``usage``."""
    if not callable(function):
        raise TypeError(f"{name}={function!r} cannot be called; it must be a function {usage}.")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # some functions written in C have no signature
    try:
        signature.bind_partial(*[None] * n_arguments)
    except TypeError:
        raise TypeError(
            f"{name}={function!r} takes the arguments {signature}; it must be a function {usage}."
        ) from None


def check_callback(callback: object) -> None:
    """Raise if ``callback`` is neither None nor callable."""
    if callback is not None and not callable(callback):
        raise TypeError(
            f"callback={callback!r} cannot be called; pass a function of one argument, or None."
        )


def check_number(
    name: str, value: object, minimum: float = 0.0, *, allow_infinite: bool = False
) -> float:
    """Return ``value`` as a float if it is a real number of at least ``minimum``."""
    # A 0-dimensional array is a number.
    number: Any = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    # float() would accept "1" and True; a timedelta64 is an integer type in NumPy.
    if not isinstance(number, Real) or isinstance(number, bool | np.timedelta64):
        raise TypeError(f"{name}={value!r} is not a number.")
    try:
        result = float(number)
    except OverflowError:  # an int beyond the range of floats
        result = math.inf if operator.gt(number, 0) else -math.inf
    if math.isinf(result) and not allow_infinite:
        raise ValueError(f"{name}={result} must be finite.")
    # Not ``result < minimum``, which would accept NaN.
    if not result >= minimum:
        raise ValueError(f"{name}={result} must be at least {minimum:g}.")
    return result


def refuse_masked(name: str, value: Any) -> None:
    """Raise if an entry of ``value`` is masked or missing (NA, None or NaT of pandas).

    Masked arrays without masked entries are accepted. NaN in float arrays is left to later checks,
    which report its position.
    """
    if _any_masked(value):
        raise ValueError(
            f"{name} is a masked array with masked entries, which are not supported; fill them "
            "with .filled(value), or remove the samples or nodes that they belong to."
        )
    # Recognized by attribute, as pandas need not be installed.
    if hasattr(value, "isna") and np.asarray(value).dtype.kind != "f":
        _refuse_missing(name, np.any(np.asarray(value.isna())))


def check_matrix(name: str, value: Any) -> None:
    """Raise if a matrix has masked, missing or non-numeric entries, or is sparse and malformed."""
    refuse_masked(name, value)
    if sp.issparse(value):
        check_sparse(name, value)
    else:
        refuse_non_numeric(name, value)


def refuse_non_numeric(name: str, value: Any) -> None:
    """Raise if entries are strings, dates or time spans, which NumPy would convert to numbers.

    The error reports the first such entry of an array, list or data frame.
    """
    if hasattr(value, "columns"):
        for number, column in enumerate(value.columns):
            # By position, as column names may repeat.
            one = value.iloc[:, number] if hasattr(value, "iloc") else value[column]
            refuse_non_numeric(f"Column {column!r} of {name}", np.asarray(one))
        return
    if isinstance(value, list | tuple):
        try:
            value = np.asarray(value)
        except ValueError:  # ragged lists and lists of tensors fail in later checks
            return
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "USmMO":
        return
    is_bad_type = value.dtype.kind != "O"
    entries = enumerate(value.flat)
    first = next((e for e in entries if is_bad_type or isinstance(e[1], NON_NUMERIC)), None)
    if first is not None:
        where = ", ".join(map(str, np.unravel_index(first[0], value.shape)))
        shown = repr(first[1])
        raise ValueError(
            f"{name} must hold real numbers, but its dtype is {value.dtype} and entry [{where}] is "
            f"{shown if len(shown) <= SHOWN else shown[:SHOWN] + '...'}; convert it to a number, "
            "or leave it out."
        )


def _any_masked(value: Any) -> bool:
    # Lists of masked arrays, and sparse matrices with masked values, count too.
    if isinstance(value, list | tuple):
        nested = (list, tuple, np.ma.MaskedArray)
        # By distinct type, as a list of labels may have millions of entries.
        kinds = {kind for kind in set(map(type, value)) if issubclass(kind, nested)}
        return bool(kinds) and any(_any_masked(item) for item in value if type(item) in kinds)
    if sp.issparse(value):
        value = getattr(value, "data", None)
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def _refuse_missing(name: str, is_missing: object) -> None:
    if is_missing:
        raise ValueError(
            f"{name} has missing entries (NA, None or NaT); fill them in, or remove the samples or "
            "nodes that they belong to."
        )


def as_plain(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as an array without masked or missing entries."""
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be converted to an array: {error}") from None
    if array.dtype.kind in "mM":
        _refuse_missing(name, np.isnat(array).any())
    # A single None is rejected later, for its shape.
    if array.dtype.kind == "O" and array.ndim:
        _refuse_missing(name, any(map(_is_missing, array.flat)))
    return array


def _is_missing(item: object) -> bool:
    # By type name, as pandas.NA has no truth value.
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float) and math.isnan(item)


def as_floats(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as a float64 array; raise if it does not hold real numbers."""
    array = as_plain(name, value)
    if array.dtype.kind == "O":
        refuse_non_numeric(name, array)
    try:
        # NumPy would keep the real part of complex numbers, and parse strings.
        if array.dtype.kind not in "fiubO":
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"{name} must hold real numbers, but its dtype is {array.dtype}; convert it first."
        ) from None


def check_positive(name: str, weights: np.ndarray, item: str) -> None:
    """Raise unless all weights are positive and finite."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if bad.size:
        raise ValueError(
            f"{name} must be positive and finite, but {bad.size} of {weights.size} are not (the "
            f"first is {weights[bad[0]]} at {item} {bad[0]}). Correct them, or leave out {item}s "
            "of weight zero."
        )


def check_n_clusters(n_clusters: object, n_nodes: int) -> int:
    """Return ``n_clusters`` as an int if ``n_nodes`` nodes can form that many clusters."""
    count = check_count("n_clusters", n_clusters)
    if count > n_nodes:
        raise ValueError(
            f"n_clusters={count} is more than the {n_nodes} nodes of the graph; choose a number "
            f"between 1 and {n_nodes}."
        )
    return count


def check_labels(labels: npt.ArrayLike, n_nodes: int, name: str = "labels") -> np.ndarray:
    """Return labels as int64 in 0..k-1, numbered in the order of the sorted input labels."""
    array = as_plain(name, labels)
    if array.ndim != 1 or array.shape[0] != n_nodes:
        raise ValueError(
            f"{name} must hold one label per node, so {n_nodes} in one dimension, but it has "
            f"shape {array.shape}."
        )
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; every node needs a label.")
    # With labels below n, bincount needs at most n counters.
    if array.dtype.kind in "iu" and n_nodes and array.min() >= 0 and array.max() < n_nodes:
        compact = array.astype(np.int64)  # always a copy, as it may be changed in place
        if np.bincount(compact).all():
            return compact
    try:
        return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(-1)
    except TypeError as error:
        raise TypeError(
            f"{name} mixes values that cannot be sorted ({error}); use only numbers or only "
            "strings."
        ) from None


def check_starts(init: Any, n_nodes: int, n_clusters: int) -> list[tuple[str, np.ndarray]]:
    """Return initial partitions as labels 0..n_clusters-1, each with its name for errors."""
    if init is None:
        return []
    # A list of numbers is one partition; a list of arrays or lists is several.
    several = isinstance(init, list | tuple) and len(init) > 0 and np.ndim(init[0]) > 0
    named = {f"init[{i}]": one for i, one in enumerate(init)} if several else {"init": init}
    return [(name, check_init(one, n_nodes, n_clusters, name)) for name, one in named.items()]


def check_init(
    labels: npt.ArrayLike, n_nodes: int, n_clusters: int, name: str = "init"
) -> np.ndarray:
    """Return initial labels 0..n_clusters-1; raise if they have another number of clusters."""
    compact = check_labels(labels, n_nodes, name)
    count = int(compact.max()) + 1
    if count != n_clusters:
        raise ValueError(
            f"{name} has {count} cluster{'' if count == 1 else 's'}, but n_clusters={n_clusters}. "
            f"Merge or split its clusters, or pass n_clusters={count}."
        )
    return compact


def index_type(count: int) -> type[np.int32] | type[np.int64]:
    """Return the smallest index type for ``count`` elements: int32 or int64."""
    return np.int32 if count < np.iinfo(np.int32).max else np.int64


def canonical_csr(X: Any) -> sp.csr_array:
    """Return a CSR array with sorted indices and no duplicates; copies only if necessary.

    Duplicates are added up in float64, which is then the type of the result.
    """
    # A new object: the flag has_canonical_format of X may be out of date.
    X = sp.csr_array(X) if X.format == "csr" else X
    # The conversion from other formats adds up duplicates, where small integers would overflow.
    exact = X.dtype == np.float64 or (X.format == "csr" and X.has_canonical_format)
    result = sp.csr_array(X if exact else X.astype(np.float64))
    if not result.has_canonical_format:
        result = result.copy()  # it may share the arrays of X
        result.sum_duplicates()
    return result.astype(X.dtype) if not exact and result.nnz == X.nnz else result


def check_symmetrize(symmetrize: object) -> str | None:
    """Return ``symmetrize`` if it is None or one of :data:`SYMMETRIZE`."""
    return None if symmetrize is None else check_choice("symmetrize", symmetrize, SYMMETRIZE)


def check_graph(
    graph: Any,
    symmetrize: str | None = None,
    names: Sequence[Any] | None = None,
    is_directed: bool = False,
) -> sp.csr_array:
    """Return a matrix of affinities as a symmetric float64 CSR array, or raise.

    The result has sorted indices, no duplicates and no stored zeros. It shares memory with
    ``graph`` if possible; ``graph`` is not changed. The other arguments are those of
    :func:`symmetrized`.
    """
    check_matrix("graph", graph)
    if not sp.issparse(graph):
        graph = as_plain("graph", graph)
    matrix = _real_csr(graph)
    check_weights(matrix)
    return symmetrized(matrix, symmetrize, graph.dtype, names, is_directed)


def _real_csr(graph: Any) -> sp.csr_array:
    """Return a square matrix of real numbers as a canonical CSR array."""
    shape = graph.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        remedy = "Build one from points with leastcut.adaptive_neighbors_graph(X)."
        if len(shape) == 0:
            remedy = (
                "Pass a matrix, or a graph of networkx, igraph, torch_geometric, pandas, polars or "
                "anndata."
            )
        elif shape[0] == 2 and graph.dtype.kind in "iu":
            remedy = "Pass (edge_index, None) if it lists the edges."
        raise ValueError(
            f"The graph must be a square matrix of affinities between nodes, but its shape is "
            f"{shape}. {remedy}"
        )
    if shape[0] == 0:
        raise ValueError("The graph has no nodes; it must have at least one.")
    check_real(graph)
    # Before duplicates are added up: small integers overflow, and SciPy lacks half precision.
    if graph.dtype not in SYMMETRY_TOLERANCE:
        graph = graph.astype(np.float64)
    matrix = canonical_csr(graph if sp.issparse(graph) else sp.csr_array(graph))
    if np.count_nonzero(matrix.data) != matrix.nnz:
        matrix = matrix.copy()  # the arrays may be the caller's
        matrix.eliminate_zeros()
    # 32 bits if possible: half the memory, and one compiled version of every kernel.
    index = index_type(max(matrix.nnz, shape[0]))
    return sp.csr_array(
        (
            matrix.data,
            matrix.indices.astype(index, copy=False),
            matrix.indptr.astype(index, copy=False),
        ),
        shape=shape,
    )


def check_real(graph: Any) -> None:
    """Raise if a matrix does not have a real numeric type."""
    if graph.dtype.kind not in "fiub":
        raise ValueError(
            f"The graph must hold real numbers, but its dtype is {graph.dtype}; convert it first."
        )


def check_weights(matrix: sp.csr_array) -> None:
    """Raise if any stored weight is not finite or is negative, and report the first."""
    data = matrix.data
    if data.size == 0:
        return
    low, high = data.min(), data.max()  # NaN if there is any
    if not (np.isfinite(low) and np.isfinite(high)):
        bad, what, remedy = ~np.isfinite(data), "NaN or infinite", "Remove or replace them."
    elif low < 0:
        bad, what = data < 0, "negative"
        remedy = (
            "A cut needs non-negative affinities; clip or shift them, or turn distances into "
            "affinities."
        )
    else:
        return
    position = int(np.argmax(bad))
    row = int(np.searchsorted(matrix.indptr, position, side="right")) - 1
    column = int(matrix.indices[position])
    count = int(np.count_nonzero(bad))
    raise ValueError(
        f"The graph has {count} {what} {'entry' if count == 1 else 'entries'}; the first is "
        f"{matrix.data[position]} at ({row}, {column}). {remedy}"
    )


def symmetrized(
    matrix: sp.csr_array,
    how: str | None = None,
    dtype: npt.DTypeLike = np.float64,
    names: Sequence[Any] | None = None,
    is_directed: bool = False,
) -> sp.csr_array:
    """Symmetrize a canonical CSR array by the mean or the maximum of S and Sᵀ, in float64.

    With ``how=None`` only asymmetry within the rounding error of ``dtype`` is averaged, and a
    larger one raises. ``names`` and ``is_directed`` are used in the error message. A symmetric
    float64 matrix is not copied.
    """
    # Sorted like the matrix, so the arrays can be compared directly.
    transpose = matrix.T.tocsr()
    arrays = ("indptr", "indices", "data")
    if all(np.array_equal(getattr(matrix, name), getattr(transpose, name)) for name in arrays):
        return matrix.astype(np.float64, copy=False)
    matrix, transpose = matrix.astype(np.float64), transpose.astype(np.float64)
    if how is None:
        tolerance = SYMMETRY_TOLERANCE.get(np.dtype(dtype), 1e-8)
        _check_asymmetry(matrix, abs(matrix - transpose), tolerance, names, is_directed)
    # Halved before the addition, which could overflow otherwise.
    both = matrix.maximum(transpose) if how == "max" else matrix * 0.5 + transpose * 0.5
    result = sp.csr_array(both)
    result.sort_indices()
    return result


def _check_asymmetry(
    matrix: sp.csr_array,
    difference: sp.csr_array,
    tolerance: float,
    names: Sequence[Any] | None,
    is_directed: bool,
) -> None:
    asymmetry, largest = float(difference.max()), float(matrix.data.max())
    if asymmetry <= tolerance * largest:
        return
    # argmax is an index into the flattened dense matrix.
    i, j = divmod(int(difference.argmax()), matrix.shape[0])
    u, v = (repr(k if names is None else names[k]) for k in (i, j))
    raise ValueError(
        f"The graph is {'directed' if is_directed else 'not symmetric'}: entries ({u}, {v}) "
        f"and ({v}, {u}) differ by {asymmetry:.6g}, and the largest weight is {largest:.6g}. "
        "Pass symmetrize='mean' to cut (S + S.T) / 2, or symmetrize='max' to cut the larger of "
        "both directions."
    )


def check_sample_table(shape: tuple[int, ...], dtype: Any) -> None:
    """Raise unless shape and type are those of samples: a non-empty table of real numbers."""
    if len(shape) != 2:
        raise ValueError(
            f"X must be two-dimensional, one row per sample, but its shape is {shape}. "
            "Use X.reshape(-1, 1) for a single feature, X.reshape(len(X), -1) for images."
        )
    if 0 in shape:
        raise ValueError(f"X has shape {shape}; it needs at least one sample and one feature.")
    if dtype.kind not in "fiubO":
        raise ValueError(f"X must hold real numbers, but its dtype is {dtype}; convert it first.")


def check_samples(X: Any) -> Any:
    """Return finite samples as a C-ordered float32 or float64 array, or as float64 CSR.

    Samples that already have this form are not copied.
    """
    check_matrix("X", X)
    points: Any = X if sp.issparse(X) else as_plain("X", X)
    check_sample_table(points.shape, points.dtype)
    if sp.issparse(points):
        points = canonical_csr(points.astype(np.float64, copy=False))
    else:
        single = points.dtype == np.float32
        points = np.ascontiguousarray(points if single else as_floats("X", points))
    values = points.data if sp.issparse(points) else points.reshape(-1)
    # Block by block, to avoid a large temporary array.
    if not all(
        np.isfinite(values[start : start + CHECKED]).all()
        for start in range(0, values.size, CHECKED)
    ):
        bad = np.flatnonzero(~np.isfinite(values))
        count, first = bad.size, int(bad[0])
        if sp.issparse(points):
            row, column = (int(place[first]) for place in points.tocoo().coords)
        else:
            row, column = divmod(first, points.shape[1])
        raise ValueError(
            f"X has {count} NaN or infinite {'value' if count == 1 else 'values'}; the first is "
            f"{values[first]} at ({row}, {column}). Drop those samples or fill the values in."
        )
    return points


def is_on_gpu(X: Any) -> bool:
    """Return whether X is a PyTorch tensor or CuPy array on a GPU."""
    library = type(X).__module__.partition(".")[0]
    return library == "cupy" or (library == "torch" and bool(getattr(X, "is_cuda", False)))


def check_neighbors(
    name: str, value: object, n_samples: int, beyond: int = 0, itself: bool = False
) -> int:
    """Return a number of neighbors as an int; raise if there are too few samples.

    Every sample needs ``value + beyond`` others. ``itself`` is for the message: the number includes
    the sample itself.
    """
    count = check_count(name, value)
    others = count + beyond
    if others > n_samples - 1:
        most = n_samples - 1 - beyond
        raise ValueError(
            f"{name}={count} needs at least {others + 1} samples"
            f"{' (the sample itself counts as one)' if itself else ''}, but X has {n_samples}; "
            + (f"pass {name}={most} or less." if most >= 1 else "pass more samples.")
        )
    return count


def number_by_appearance(labels: np.ndarray) -> np.ndarray:
    """Renumber labels to 0..k-1 in the order in which clusters first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse.reshape(-1)]


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line outside of this package and of scikit-learn."""
    # Level 1 is this function, and level 2 its caller.
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in ("leastcut", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
