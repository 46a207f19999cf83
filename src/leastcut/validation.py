"""The checks that every entry point shares, so that bad input is refused the same way everywhere.

Each returns what it was given in the form in which it is used, or raises an error that names the
value and the remedy.
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

# Asymmetry, relative to the largest weight, that counts as rounding and is averaged away.
SYMMETRY_TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-8}

# Types of entries that are not numbers, though NumPy converts some of them; pandas derives its own
# times from these.
WORDS: tuple[type, ...] = (
    *(str, bytes, datetime.date, datetime.time, datetime.timedelta),
    *(np.datetime64, np.timedelta64),
)

SHOWN = 60  # characters of an entry that an error shows
CHECKED = 2**17  # coordinates of samples that are checked at once: they stay in the cache
# Ways to make an undirected graph of a directed one: (S + Sᵀ) / 2, or the larger of both.
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
    """Return ``value`` as an int if it is a whole number of at least ``minimum``."""
    try:
        # A bool is an int to Python, but True neighbors are a mistake.
        if isinstance(value, bool | np.bool_):
            raise TypeError
        # Takes NumPy's integers, and refuses 3.0, which int() would let through, and 3.7 with it.
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}={value!r} is not a whole number.") from None
    if count < minimum:
        raise ValueError(f"{name}={count} is too small; it must be at least {minimum}.")
    if count > np.iinfo(np.int64).max:
        raise ValueError(f"{name} is beyond 64 bits; nothing can be counted so far.")
    return count


def accepted(function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return those of the options that a function has parameters for."""
    parameters = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return {name: v for name, v in options.items() if takes_all or name in parameters}


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` as a bool if it is True or False, and not something that counts as one."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False.")
    return bool(value)


def is_true(answer: object) -> bool:
    """Return whether an answer is True itself, as Python or NumPy has it, and not only something.

    A callback that returns it stops the work; one that returns a count does not mean to.
    """
    return isinstance(answer, bool | np.bool_) and bool(answer)


def check_function(name: str, function: object, usage: str, n_arguments: int) -> None:
    """Raise unless ``function`` can be called with so many arguments; ``usage`` says how."""
    if not callable(function):
        raise TypeError(f"{name}={function!r} cannot be called; it must be a function {usage}.")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # some functions written in C do not say what they take
    try:
        signature.bind_partial(*[None] * n_arguments)
    except TypeError:
        raise TypeError(
            f"{name}={function!r} takes the arguments {signature}; it must be a function {usage}."
        ) from None


def check_callback(callback: object) -> None:
    """Raise where ``callback`` is neither None nor to be called."""
    if callback is not None and not callable(callback):
        raise TypeError(
            f"callback={callback!r} cannot be called; pass a function of one argument, or None."
        )


def check_number(
    name: str, value: object, minimum: float = 0.0, *, allow_infinite: bool = False
) -> float:
    """Return ``value`` as a float if it is a real number of at least ``minimum``."""
    # An array of no dimension is a number, as ``check_count`` has it too.
    number: Any = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    # Not by float(), which takes "1" and True; to NumPy a time span is an integer.
    if not isinstance(number, Real) or isinstance(number, bool | np.timedelta64):
        raise TypeError(f"{name}={value!r} is not a number.")
    try:
        found = float(number)
    except OverflowError:  # an int beyond the range of floats
        found = math.inf if operator.gt(number, 0) else -math.inf
    if math.isinf(found) and not allow_infinite:
        raise ValueError(f"{name}={found} must be finite.")
    # Not ``found < minimum``, which NaN would pass.
    if not found >= minimum:
        raise ValueError(f"{name}={found} must be at least {minimum:g}.")
    return found


def refuse_masked(name: str, value: Any) -> None:
    """Raise if an entry of ``value`` is masked, or missing as pandas has it: NA, None or NaT.

    A masked array in which nothing is masked passes: it is plain data. NaN among floats passes too,
    and is left to the checks of numbers, which know where it stands.
    """
    if _any_masked(value):
        raise ValueError(
            f"{name} is a masked array with masked entries, which mean nothing to a cut; fill them "
            "in with .filled(value), or drop what they belong to."
        )
    # Series and frames of pandas, which need not be installed.
    if hasattr(value, "isna") and np.asarray(value).dtype.kind != "f":
        _refuse_missing(name, np.any(np.asarray(value.isna())))


def check_matrix(name: str, value: Any) -> None:
    """Raise if a matrix has masked, missing or non-numeric entries, or is sparse and malformed."""
    refuse_masked(name, value)
    if sp.issparse(value):
        check_sparse(name, value)
    else:
        refuse_words(name, value)


def refuse_words(name: str, value: Any) -> None:
    """Raise if entries are words, dates or time spans, which NumPy would convert to numbers.

    The error names the first such entry of an array, list or data frame. Anything else passes.
    """
    if hasattr(value, "columns"):
        for number, column in enumerate(value.columns):
            # Not by name, which several columns may have.
            one = value.iloc[:, number] if hasattr(value, "iloc") else value[column]
            refuse_words(f"Column {column!r} of {name}", np.asarray(one))
        return
    if isinstance(value, list | tuple):
        try:
            value = np.asarray(value)
        except ValueError:  # ragged, or tensors: for others to refuse
            return
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "USmMO":
        return
    has_words = value.dtype.kind != "O"
    entries = enumerate(value.flat)
    first = next((e for e in entries if has_words or isinstance(e[1], WORDS)), None)
    if first is not None:
        where = ", ".join(map(str, np.unravel_index(first[0], value.shape)))
        shown = repr(first[1])
        raise ValueError(
            f"{name} must hold real numbers, but its dtype is {value.dtype} and entry [{where}] is "
            f"{shown if len(shown) <= SHOWN else shown[:SHOWN] + '...'}; convert it to numbers, or "
            "leave it out."
        )


def _any_masked(value: Any) -> bool:
    # A mask can hide in the stored values of a sparse matrix, and in the rows of a list.
    if isinstance(value, list | tuple):
        nested = (list, tuple, np.ma.MaskedArray)
        # By the few types that there are, as a list of labels may have millions of entries.
        kinds = {kind for kind in set(map(type, value)) if issubclass(kind, nested)}
        return bool(kinds) and any(_any_masked(item) for item in value if type(item) in kinds)
    if sp.issparse(value):
        value = getattr(value, "data", None)
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def _refuse_missing(name: str, is_missing: object) -> None:
    if is_missing:
        raise ValueError(
            f"{name} has missing entries (NA, None or NaT); fill them in, or drop what they belong "
            "to."
        )


def as_plain(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as an array, if it is one and nothing in it is masked or missing."""
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be made an array: {error}") from None
    if array.dtype.kind in "mM":
        _refuse_missing(name, np.isnat(array).any())
    # A single None is no array with an entry missing, and is refused for its shape.
    if array.dtype.kind == "O" and array.ndim:
        _refuse_missing(name, any(map(_is_missing, array.flat)))
    return array


def _is_missing(item: object) -> bool:
    # By its type, as pandas.NA has no truth value.
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float) and math.isnan(item)


def as_floats(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as an array of float64, if it is made of real numbers."""
    array = as_plain(name, value)
    if array.dtype.kind == "O":
        refuse_words(name, array)
    try:
        # Of complex numbers NumPy would keep the real part, and of words those that are numbers.
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
            f"{name} must be positive and finite, and {bad.size} of {weights.size} are not (the "
            f"first is {weights[bad[0]]} at {item} {bad[0]}). Correct it, or leave {item}s of "
            "weight zero out."
        )


def check_n_clusters(n_clusters: object, n_nodes: int) -> int:
    """Return ``n_clusters`` as an int if ``n_nodes`` nodes can form that many clusters."""
    count = check_count("n_clusters", n_clusters)
    if count > n_nodes:
        raise ValueError(
            f"n_clusters={count} is more than the {n_nodes} nodes there are; "
            f"choose between 1 and {n_nodes}."
        )
    return count


def check_labels(labels: npt.ArrayLike, n_nodes: int, name: str = "labels") -> np.ndarray:
    """Return labels 0..k-1 (int64, one per node), numbered in the order of any sorted labels."""
    array = as_plain(name, labels)
    if array.ndim != 1 or array.shape[0] != n_nodes:
        raise ValueError(
            f"{name} must hold one label per node, so {n_nodes} in one dimension, but it has "
            f"shape {array.shape}."
        )
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; every node needs a label.")
    # Labels of at most n − 1, so that counting them takes no more than n places.
    if array.dtype.kind in "iu" and n_nodes and array.min() >= 0 and array.max() < n_nodes:
        # A copy, whatever the type: it may be changed, and the caller's must not be.
        compact = array.astype(np.int64)
        if np.bincount(compact).all():
            return compact
    try:
        return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(-1)
    except TypeError as error:
        raise TypeError(
            f"{name} mixes values that have no order ({error}); make them all numbers or all words."
        ) from None


def check_starts(init: Any, n_nodes: int, n_clusters: int) -> list[tuple[str, np.ndarray]]:
    """Return initial partitions as labels 0..n_clusters-1, each with its name in errors."""
    if init is None:
        return []
    # A list of numbers is one partition, a list of arrays or lists is several.
    several = isinstance(init, list | tuple) and len(init) > 0 and np.ndim(init[0]) > 0
    named = {f"init[{i}]": one for i, one in enumerate(init)} if several else {"init": init}
    return [(name, check_init(one, n_nodes, n_clusters, name)) for name, one in named.items()]


def check_init(
    labels: npt.ArrayLike, n_nodes: int, n_clusters: int, name: str = "init"
) -> np.ndarray:
    """Return labels 0..n_clusters-1 to start from, if exactly that many clusters are in them."""
    compact = check_labels(labels, n_nodes, name)
    count = int(compact.max()) + 1
    if count != n_clusters:
        raise ValueError(
            f"{name} has {count} clusters where {n_clusters} are wanted. Merge or split its "
            "clusters first, or ask for as many as it has."
        )
    return compact


def index_type(count: int) -> type[np.int32] | type[np.int64]:
    """Return the integers that so many things are counted with: 32 bits wherever they do."""
    return np.int32 if count < np.iinfo(np.int32).max else np.int64


def canonical_csr(X: Any) -> sp.csr_array:
    """Return CSR arrays with sorted indices and no duplicates, copied only where X has not.

    Where there are duplicates, they are added up in float64, which the result then is.
    """
    # As new arrays of SciPy: what X says of itself, that it is canonical, may be out of date.
    X = sp.csr_array(X) if X.format == "csr" else X
    # Other formats are added up on the way to CSR, small integers where small integers would wrap.
    exact = X.dtype == np.float64 or (X.format == "csr" and X.has_canonical_format)
    # It shares the arrays of X, which summing duplicates in place would change.
    found = sp.csr_array(X if exact else X.astype(np.float64))
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    return found.astype(X.dtype) if not exact and found.nnz == X.nnz else found


def check_symmetrize(symmetrize: object) -> str | None:
    """Return ``symmetrize`` if it is None or one of :data:`SYMMETRIZE`."""
    return None if symmetrize is None else check_choice("symmetrize", symmetrize, SYMMETRIZE)


def check_graph(
    graph: Any,
    symmetrize: str | None = None,
    names: Sequence[Any] | None = None,
    is_directed: bool = False,
) -> sp.csr_array:
    """Return a matrix of affinities as symmetric float64 CSR; raise an error for any defect.

    The result is sorted, without duplicates and stored zeros; it shares the caller's memory if that
    is possible, and the caller's matrix is never changed. For the other arguments see
    :func:`symmetrized`.
    """
    check_matrix("graph", graph)
    if not sp.issparse(graph):
        graph = as_plain("graph", graph)
    matrix = _real_csr(graph)
    check_weights(matrix)
    return symmetrized(matrix, symmetrize, graph.dtype, names, is_directed)


def _real_csr(graph: Any) -> sp.csr_array:
    """Return canonical CSR arrays of real numbers for any square matrix."""
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
    # Before anything is added up: small integers wrap, and SciPy knows no half precision.
    if graph.dtype not in SYMMETRY_TOLERANCE:
        graph = graph.astype(np.float64)
    matrix = canonical_csr(graph if sp.issparse(graph) else sp.csr_array(graph))
    # Zeros are no edges. They are dropped from a copy, as the arrays may be the caller's.
    if np.count_nonzero(matrix.data) != matrix.nnz:
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    # 32 bits wherever they are enough: half the memory, and kernels compiled for the same types.
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
    """Raise if a matrix does not hold real numbers: complex ones, words or objects."""
    if graph.dtype.kind not in "fiub":
        raise ValueError(
            f"The graph must hold real numbers, but its dtype is {graph.dtype}; convert it first."
        )


def check_weights(matrix: sp.csr_array) -> None:
    """Raise if any stored weight is not finite or is negative, naming the first."""
    data = matrix.data
    if data.size == 0:
        return
    # NaN passes through both, so that two numbers tell whether any of them is bad.
    low, high = data.min(), data.max()
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
    # The row whose entries include this position; empty rows before it are passed over.
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
    """Return canonical CSR arrays made symmetric, in float64: the mean or the larger of S and Sᵀ.

    Without ``how`` only rounding is averaged away, and a larger difference raises; ``dtype`` of the
    weights that were passed decides what is rounding. ``names`` of the nodes and ``is_directed``
    are for the error. What is symmetric already is not copied.
    """
    # It comes sorted, as the matrix does, so that patterns can be compared entry by entry.
    transpose = matrix.T.tocsr()
    arrays = ("indptr", "indices", "data")
    if all(np.array_equal(getattr(matrix, name), getattr(transpose, name)) for name in arrays):
        return matrix.astype(np.float64, copy=False)
    matrix, transpose = matrix.astype(np.float64), transpose.astype(np.float64)
    if how is None:
        tolerance = SYMMETRY_TOLERANCE.get(np.dtype(dtype), 1e-8)
        _check_asymmetry(matrix, abs(matrix - transpose), tolerance, names, is_directed)
    # Halved before they are added, as a sum could overflow.
    both = matrix.maximum(transpose) if how == "max" else matrix * 0.5 + transpose * 0.5
    found = sp.csr_array(both)
    found.sort_indices()
    return found


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
    # argmax counts over the matrix as if it were stored in full, row by row.
    i, j = divmod(int(difference.argmax()), matrix.shape[0])
    u, v = (repr(k if names is None else names[k]) for k in (i, j))
    raise ValueError(
        f"The graph is {'directed' if is_directed else 'not symmetric'}: entries ({u}, {v}) "
        f"and ({v}, {u}) differ by {asymmetry:.6g}, the largest weight being {largest:.6g}. "
        "Pass symmetrize='mean' to cut (S + S.T) / 2, or symmetrize='max' to cut the larger of "
        "both directions, if that is what you mean."
    )


def check_sample_table(shape: tuple[int, ...], dtype: Any) -> None:
    """Raise where so many numbers of such a type are no samples: one row each, real numbers."""
    if len(shape) != 2:
        raise ValueError(
            f"X must be two-dimensional, one row per sample, but its shape is {shape}. "
            "Use X.reshape(-1, 1) for a single feature, X.reshape(len(X), -1) for images."
        )
    if 0 in shape:
        raise ValueError(f"X has shape {shape}: there is nothing to compare.")
    if dtype.kind not in "fiubO":
        raise ValueError(f"X must hold real numbers, but its dtype is {dtype}; convert it first.")


def check_samples(X: Any) -> Any:
    """Return finite samples in C order, float32 if they are so and else float64 (or float64 CSR).

    Those that are in this form already are not copied.
    """
    check_matrix("X", X)
    points: Any = X if sp.issparse(X) else as_plain("X", X)
    check_sample_table(points.shape, points.dtype)
    if sp.issparse(points):
        points = canonical_csr(points.astype(np.float64, copy=False))
    else:
        single = points.dtype == np.float32
        points = np.ascontiguousarray(points if single else as_floats("X", points))
    # Of a sparse matrix the stored values: the others are 0.
    values = points.data if sp.issparse(points) else points.reshape(-1)
    # Block by block, as the samples may be larger than the memory that is left.
    if not all(
        np.isfinite(values[start : start + CHECKED]).all()
        for start in range(0, values.size, CHECKED)
    ):
        # The place is worked out only for the error, which is why it may take memory.
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
    """Whether X is an array of PyTorch or CuPy that lies on a GPU."""
    library = type(X).__module__.partition(".")[0]
    return library == "cupy" or (library == "torch" and bool(getattr(X, "is_cuda", False)))


def check_neighbors(
    name: str, value: object, n_samples: int, beyond: int = 0, itself: bool = False
) -> int:
    """Return a number of neighbors as an int, if every sample has so many others, and ``beyond``.

    ``itself``: the number counts the sample as its own neighbor, for the message only.
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
    """Return labels 0..k-1 in the order in which clusters first appear."""
    # np.unique numbers clusters in sorted order; ``first`` is where each appears first.
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse.reshape(-1)]


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line that called into this package, by way of scikit-learn or not."""
    # Level 1 would be this function and level 2 its caller, where the walk up the stack begins.
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in ("leastcut", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
