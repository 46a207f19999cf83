"""Laws of sparse matrices whose arrays were changed: read as they are, or refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.cases import GraphCase
from fuzz.outcome import only_if, require
from leastcut.graph import as_graph
from leastcut.validation import check_samples

MOST_NODES = 12
"""Nodes of a matrix, at most: every entry is read in Python."""

FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")
ARRAYS: dict[str, tuple[str, ...]] = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "bsr": ("indptr", "indices", "data"),
    "coo": ("coords[0]", "coords[1]", "data"),
    "dia": ("offsets", "data"),
    "lil": ("rows", "data"),
    "dok": ("keys", "data"),
}
"""The arrays of every format, as errors call them."""

NUMBERS = (-(2**63), -(10**9), -2, -1, 0, 1, 2, 10**8, 10**9, 2**31, 2**62)
"""What an index is replaced by, besides numbers about as large as the matrix."""

TRIALS = 20
"""Changed matrices for every case."""


def malformed_is_refused(case: GraphCase) -> None:
    """A sparse matrix with changed arrays is read entry by entry, or refused naming the array."""
    only_if(case.n <= MOST_NODES)
    rng = np.random.default_rng([abs(case.seed), abs(case.number), 3])
    for _ in range(TRIALS):
        matrix, array, what = changed(rng, case.n)
        code = f"a {type(matrix).__name__} of {case.n} nodes, {what}"
        entries = read(matrix)
        if entries is None:
            name, call = CALLS[rng.integers(len(CALLS))]
            error = _error_of(lambda call=call, given=matrix: call(given, case.n))
            require(error is not None, f"{name} answered {code}")
            known = isinstance(error, ValueError | TypeError)
            require(known, f"{name} raised {type(error).__name__}: {error} for {code}")
            named = array in str(error) or "real numbers" in str(error)
            require(named, f"{name} does not name {array}: {error} for {code}")
            continue
        dense = np.zeros((case.n, case.n))
        for (i, j), value in entries.items():
            dense[i, j] = value
        samples = _answer_of(lambda given=matrix: check_samples(given).toarray())
        require(np.array_equal(samples, dense), f"as samples: {samples} instead of {dense}, {code}")
        found = _answer_of(lambda given=matrix: as_graph(given, "mean").matrix.toarray())
        if dense.min() < 0:
            require(isinstance(found, ValueError), f"negative, and answered: {code}")
        else:
            right = dense / 2 + dense.T / 2
            require(np.array_equal(found, right), f"{found} instead of {right}: {code}")


def changed(rng: np.random.Generator, n: int) -> tuple[Any, str, str]:
    """Return a sparse matrix of which one array was changed, its name, and the change in words."""
    dense = np.triu(rng.integers(0, 10, (n, n)) * (rng.random((n, n)) < 0.5)).astype(float)
    made = (sp.csr_array if rng.random() < 0.5 else sp.csr_matrix)(dense + dense.T)
    form = FORMATS[rng.integers(len(FORMATS))]
    matrix = made.asformat(form)
    if form == "bsr":
        size = int(rng.choice([d for d in range(1, n + 1) if n % d == 0]))
        matrix = made.tobsr((size, size))
    array = ARRAYS[form][rng.integers(len(ARRAYS[form]))]
    if form == "lil":
        return matrix, array, _change_lil(rng, matrix, array)
    if form == "dok":
        return matrix, array, _change_dok(rng, matrix, array)
    if form in ("csr", "csc", "bsr"):
        _ = matrix.has_canonical_format  # and SciPy keeps the answer
    axis = int(array[-2]) if array.startswith("coords") else None
    values = matrix.coords[axis] if axis is not None else getattr(matrix, array)
    values, what = _change(rng, values, n, array == "data")
    if axis is None:
        setattr(matrix, array, values)
    else:
        matrix.coords = tuple(values if a == axis else own for a, own in enumerate(matrix.coords))
    return matrix, array, f"{array} {what}"


def _index(rng: np.random.Generator, n: int) -> int:
    return int(rng.choice([*NUMBERS, *range(-1, n + 2), *range(n)]))


def _change(rng: np.random.Generator, values: np.ndarray, n: int, is_data: bool) -> tuple[Any, str]:
    """Return a changed copy of an array, and the change in words."""
    how = rng.choice(["entry", "entry", "entry", "shorter", "longer", "type", "order", "shape"])
    if how == "entry" and values.size and not is_data:
        at, number = int(rng.integers(values.size)), _index(rng, n)
        wide = values.astype(np.int64)
        wide[at] = number
        # in the type it has, where that holds the number
        fits = np.iinfo(values.dtype).min <= number <= np.iinfo(values.dtype).max
        return wide.astype(values.dtype) if fits else wide, f"[{at}] = {number}"
    if how == "shorter" and len(values):
        return values[: rng.integers(len(values))].copy(), "cut short"
    if how == "longer":
        return np.concatenate([values, values[:1], values[:1]]), "made longer"
    if how == "type":
        kind = rng.choice(["i1", "i2", "u4", "u8", ">i4", "f8", "c16", "O", "U9"])
        return values.astype(kind), f"as {kind}"
    if how == "shape":
        return values[None].copy(), "with one dimension more"
    return rng.permutation(values), "in another order"


def _change_lil(rng: np.random.Generator, matrix: Any, array: str) -> str:
    row = int(rng.integers(matrix.shape[0]))
    lists = getattr(matrix, array)
    number: Any = _index(rng, matrix.shape[0]) if array == "rows" else 3.0
    if rng.random() < 0.3:
        number = [1.5, "1", None, 1j][rng.integers(4)]
    if lists[row] and rng.random() < 0.7:
        lists[row][rng.integers(len(lists[row]))] = number
        return f"{array}[{row}] with {number!r}"
    lists[row] = [*lists[row], number]
    if array == "rows" and rng.random() < 0.5:
        matrix.data[row] = [*matrix.data[row], 2.0]
    return f"{array}[{row}] with {number!r} more"


def _change_dok(rng: np.random.Generator, matrix: Any, array: str) -> str:
    key: Any = _index(rng, matrix.shape[0]), int(rng.integers(matrix.shape[0]))
    value: Any = 2.0
    if array == "data":
        key = key[1], key[1]
        value = [4.0, "1", None, 1j][rng.integers(4)]
    elif rng.random() < 0.2:
        key = [(0.5, 0), ("0", 0), (None, 0), 7, (0, 0, 0)][rng.integers(5)]
    matrix._dict[key if rng.random() < 0.5 or not isinstance(key, tuple) else key[::-1]] = value
    return f"[{key}] = {value!r}"


# -- what a changed matrix means, entry by entry


def read(matrix: Any) -> dict[tuple[int, int], float] | None:
    """Return the entries of a sparse matrix, equal places added up; None if it is malformed."""
    found: dict[tuple[int, int], float] = {}
    try:
        for i, j, value in _entries(matrix):
            _need(0 <= i < matrix.shape[0] and 0 <= j < matrix.shape[1])
            _need(isinstance(value, int | float | bool))
            found[i, j] = found.get((i, j), 0.0) + value
    except _Malformed:
        return None
    return found


class _Malformed(Exception):
    """Arrays that describe no matrix."""


def _need(holds: Any) -> None:
    if not holds:
        raise _Malformed


def _whole(array: Any) -> list[int]:
    _need(isinstance(array, np.ndarray) and array.ndim == 1)
    _need(array.dtype in (np.int32, np.int64))
    return [int(value) for value in array]


def _plain(array: Any, ndim: int) -> list[Any]:
    _need(isinstance(array, np.ndarray) and array.ndim == ndim)
    _need(array.dtype == bool or isinstance(array.dtype.type(0), np.integer | np.floating))
    _need(array.dtype.isnative and array.dtype != np.float16)
    return array.tolist()


def _entries(matrix: Any) -> Iterator[tuple[int, int, Any]]:
    form, (n_rows, n_columns) = matrix.format, matrix.shape
    if form in ("csr", "csc", "bsr"):
        indptr, indices = _whole(matrix.indptr), _whole(matrix.indices)
        data = _plain(matrix.data, 3 if form == "bsr" else 1)
        height, width = (1, 1) if form != "bsr" else matrix.data.shape[1:]
        _need(height and width and n_rows % height == 0 and n_columns % width == 0)
        n_lines, n_places = n_rows // height, n_columns // width
        if form == "csc":
            n_lines, n_places = n_columns, n_rows
        _need(len(indptr) == n_lines + 1 and indptr[0] == 0 and indptr == sorted(indptr))
        _need(len(indices) == len(data) == indptr[-1])
        for line in range(n_lines):
            for p in range(indptr[line], indptr[line + 1]):
                _need(0 <= indices[p] < n_places)
                if form == "bsr":
                    for a in range(height):
                        for b in range(width):
                            yield line * height + a, indices[p] * width + b, data[p][a][b]
                else:
                    yield (*((line, indices[p])[:: 1 if form == "csr" else -1]), data[p])
    elif form == "coo":
        rows, columns = map(_whole, matrix.coords)
        data = _plain(matrix.data, 1)
        _need(len(rows) == len(columns) == len(data))
        yield from zip(rows, columns, data, strict=True)
    elif form == "dia":
        offsets, data = _whole(matrix.offsets), _plain(matrix.data, 2)
        _need(len(offsets) == len(data) and len(set(offsets)) == len(offsets))
        _need(all(-n_rows < k < n_columns for k in offsets))
        for k, diagonal in zip(offsets, data, strict=True):
            for j, value in enumerate(diagonal):
                if 0 <= j - k < n_rows and j < n_columns:
                    yield j - k, j, value
    elif form == "lil":
        for i in range(n_rows):
            _need(len(matrix.rows[i]) == len(matrix.data[i]))
            for j, value in zip(matrix.rows[i], matrix.data[i], strict=True):
                _need(isinstance(j, int | np.integer))
                yield i, int(j), float(value) if isinstance(value, int | float) else value
    else:
        for key, value in matrix._dict.items():
            _need(isinstance(key, tuple) and len(key) == 2)
            _need(all(isinstance(k, int | np.integer) for k in key))
            yield int(key[0]), int(key[1]), float(value) if isinstance(value, float) else value


# -- where a malformed matrix may come in

Call = Callable[[Any, int], object]


def _labels(n: int) -> np.ndarray:
    return np.arange(n) % 2 if n > 1 else np.zeros(1, dtype=int)


def _fit(affinity: str, **options: int) -> Call:
    return lambda S, n: leastcut.SpectralClustering(1, affinity=affinity, **options).fit(S)


def _fit_views(views: list[Any]) -> object:
    return leastcut.MultiViewSpectralClustering(1, affinity="precomputed").fit(views)


def _predict(S: Any, n: int) -> object:
    model = leastcut.SpectralClustering(1, affinity="rbf", random_state=0)
    return model.fit(np.arange(4.0 * n).reshape(4, n)).predict(S)


CALLS: list[tuple[str, Call]] = [
    ("cut_value", lambda S, n: leastcut.cut_value(S, _labels(n), "ratio")),
    ("refine", lambda S, n: leastcut.refine(S, _labels(n), "ratio")),
    ("partition", lambda S, n: leastcut.partition(S, 1, "ratio", symmetrize="max")),
    ("lower_bound", lambda S, n: leastcut.lower_bound(S, 1, "ratio")),
    ("relax", lambda S, n: leastcut.relax(S, 1, "ratio")),
    ("certify", lambda S, n: leastcut.certify(S, _labels(n), "ratio")),
    ("partition_views", lambda S, n: leastcut.partition_views([np.eye(n), S], 1, cut="ratio")),
    ("constrained_rank_graph", lambda S, n: leastcut.constrained_rank_graph(S, 1)),
    ("nearest_neighbors_graph", lambda S, n: leastcut.nearest_neighbors_graph(S, n_neighbors=1)),
    ("cut_path", lambda S, n: leastcut.cut_path(S, [1], affinity="precomputed")),
    ("cut_path of samples", lambda S, n: leastcut.cut_path(S, [1], n_neighbors=1)),
    ("fit, of samples", _fit("nearest_neighbors", n_neighbors=1)),
    ("fit, rbf", _fit("rbf")),
    ("fit, precomputed", _fit("precomputed")),
    ("fit, distances", _fit("precomputed_nearest_neighbors", n_neighbors=1)),
    ("fit, views", lambda S, n: _fit_views([np.eye(n), S])),
    ("predict", _predict),
]
"""Functions that a user may pass a sparse matrix of n nodes, or samples, to."""


def _error_of(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


def _answer_of(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error
