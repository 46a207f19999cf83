"""Invariants of sparse matrices with modified arrays: read correctly, or rejected by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.cases import GraphCase
from fuzz.outcome import assume, require
from leastcut.graph import as_graph
from leastcut.validation import check_samples

MOST_NODES = 12
"""Maximum number of nodes: all entries are read in Python."""

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
"""The arrays of each format, by their names in error messages."""

NUMBERS = (-(2**63), -(10**9), -2, -1, 0, 1, 2, 10**8, 10**9, 2**31, 2**62)
"""Replacements of an index, in addition to numbers up to the size of the matrix."""

CHANGES = 20
"""Number of modified matrices per case."""


def malformed_is_rejected(case: GraphCase) -> None:
    """A sparse matrix with modified arrays is read correctly, or an error names the array."""
    assume(case.n <= MOST_NODES)
    rng = np.random.default_rng([abs(case.seed), abs(case.number), 3])
    for _ in range(CHANGES):
        matrix, array, change = changed(rng, case.n)
        code = f"a {type(matrix).__name__} of {case.n} nodes, {change}"
        entries = read(matrix)
        if entries is None:
            name, call = CALLS[rng.integers(len(CALLS))]
            error = _error_of(lambda call=call, S=matrix: call(S, case.n))
            require(error is not None, f"{name} accepted {code}")
            known = isinstance(error, ValueError | TypeError)
            require(known, f"{name} raised {type(error).__name__}: {error} for {code}")
            named = array in str(error) or "real numbers" in str(error)
            require(named, f"{name} does not name {array}: {error} for {code}")
            continue
        dense = np.zeros((case.n, case.n))
        for (i, j), value in entries.items():
            dense[i, j] = value
        samples = _result_of(lambda S=matrix: check_samples(S).toarray())
        require(np.array_equal(samples, dense), f"as samples: {samples} instead of {dense}, {code}")
        result = _result_of(lambda S=matrix: as_graph(S, "mean").matrix.toarray())
        if dense.min() < 0:
            require(isinstance(result, ValueError), f"negative, but accepted: {code}")
        else:
            expected = dense / 2 + dense.T / 2
            require(np.array_equal(result, expected), f"{result} instead of {expected}: {code}")


def changed(rng: np.random.Generator, n: int) -> tuple[Any, str, str]:
    """Return a sparse matrix with one modified array, its name, and the change in words."""
    dense = np.triu(rng.integers(0, 10, (n, n)) * (rng.random((n, n)) < 0.5)).astype(float)
    original = (sp.csr_array if rng.random() < 0.5 else sp.csr_matrix)(dense + dense.T)
    form = FORMATS[rng.integers(len(FORMATS))]
    matrix = original.asformat(form)
    if form == "bsr":
        size = int(rng.choice([d for d in range(1, n + 1) if n % d == 0]))
        matrix = original.tobsr((size, size))
    array = ARRAYS[form][rng.integers(len(ARRAYS[form]))]
    if form == "lil":
        return matrix, array, _change_lil(rng, matrix, array)
    if form == "dok":
        return matrix, array, _change_dok(rng, matrix, array)
    if form in ("csr", "csc", "bsr"):
        _ = matrix.has_canonical_format  # SciPy caches this
    axis = int(array[-2]) if array.startswith("coords") else None
    values = matrix.coords[axis] if axis is not None else getattr(matrix, array)
    values, change = _change(rng, values, n, array == "data")
    if axis is None:
        setattr(matrix, array, values)
    else:
        matrix.coords = tuple(values if a == axis else old for a, old in enumerate(matrix.coords))
    return matrix, array, f"{array} {change}"


def _index(rng: np.random.Generator, n: int) -> int:
    return int(rng.choice([*NUMBERS, *range(-1, n + 2), *range(n)]))


def _change(rng: np.random.Generator, values: np.ndarray, n: int, is_data: bool) -> tuple[Any, str]:
    """Return a modified copy of an array, and the change in words."""
    how = rng.choice(["entry", "entry", "entry", "shorter", "longer", "type", "order", "shape"])
    if how == "entry" and values.size and not is_data:
        at, number = int(rng.integers(values.size)), _index(rng, n)
        wide = values.astype(np.int64)
        wide[at] = number
        # keep the dtype if it can hold the number
        fits = np.iinfo(values.dtype).min <= number <= np.iinfo(values.dtype).max
        return wide.astype(values.dtype) if fits else wide, f"[{at}] = {number}"
    if how == "shorter" and len(values):
        return values[: rng.integers(len(values))].copy(), "truncated"
    if how == "longer":
        return np.concatenate([values, values[:1], values[:1]]), "extended"
    if how == "type":
        kind = rng.choice(["i1", "i2", "u4", "u8", ">i4", "f8", "c16", "O", "U9"])
        return values.astype(kind), f"as {kind}"
    if how == "shape":
        return values[None].copy(), "with an additional dimension"
    return rng.permutation(values), "permuted"


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
    return f"{array}[{row}] with {number!r} appended"


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


# -- reference reader of sparse matrices


def read(matrix: Any) -> dict[tuple[int, int], float] | None:
    """Return the entries of a sparse matrix with duplicates added, or None if it is malformed."""
    entries: dict[tuple[int, int], float] = {}
    try:
        for i, j, value in _entries(matrix):
            _require_valid(0 <= i < matrix.shape[0] and 0 <= j < matrix.shape[1])
            _require_valid(isinstance(value, int | float | bool))
            entries[i, j] = entries.get((i, j), 0.0) + value
    except _Malformed:
        return None
    return entries


class _Malformed(Exception):
    """Arrays that do not describe a matrix."""


def _require_valid(holds: Any) -> None:
    if not holds:
        raise _Malformed


def _integers(array: Any) -> list[int]:
    _require_valid(isinstance(array, np.ndarray) and array.ndim == 1)
    _require_valid(array.dtype in (np.int32, np.int64))
    return [int(value) for value in array]


def _numbers(array: Any, ndim: int) -> list[Any]:
    _require_valid(isinstance(array, np.ndarray) and array.ndim == ndim)
    _require_valid(array.dtype == bool or isinstance(array.dtype.type(0), np.integer | np.floating))
    _require_valid(array.dtype.isnative and array.dtype != np.float16)
    return array.tolist()


def _entries(matrix: Any) -> Iterator[tuple[int, int, Any]]:
    form, (n_rows, n_columns) = matrix.format, matrix.shape
    if form in ("csr", "csc", "bsr"):
        indptr, indices = _integers(matrix.indptr), _integers(matrix.indices)
        data = _numbers(matrix.data, 3 if form == "bsr" else 1)
        height, width = (1, 1) if form != "bsr" else matrix.data.shape[1:]
        _require_valid(height and width and n_rows % height == 0 and n_columns % width == 0)
        n_lines, n_places = n_rows // height, n_columns // width
        if form == "csc":
            n_lines, n_places = n_columns, n_rows
        _require_valid(len(indptr) == n_lines + 1 and indptr[0] == 0 and indptr == sorted(indptr))
        _require_valid(len(indices) == len(data) == indptr[-1])
        for line in range(n_lines):
            for p in range(indptr[line], indptr[line + 1]):
                _require_valid(0 <= indices[p] < n_places)
                if form == "bsr":
                    for a in range(height):
                        for b in range(width):
                            yield line * height + a, indices[p] * width + b, data[p][a][b]
                else:
                    yield (*((line, indices[p])[:: 1 if form == "csr" else -1]), data[p])
    elif form == "coo":
        rows, columns = map(_integers, matrix.coords)
        data = _numbers(matrix.data, 1)
        _require_valid(len(rows) == len(columns) == len(data))
        yield from zip(rows, columns, data, strict=True)
    elif form == "dia":
        offsets, data = _integers(matrix.offsets), _numbers(matrix.data, 2)
        _require_valid(len(offsets) == len(data) and len(set(offsets)) == len(offsets))
        _require_valid(all(-n_rows < k < n_columns for k in offsets))
        for k, diagonal in zip(offsets, data, strict=True):
            for j, value in enumerate(diagonal):
                if 0 <= j - k < n_rows and j < n_columns:
                    yield j - k, j, value
    elif form == "lil":
        for i in range(n_rows):
            _require_valid(len(matrix.rows[i]) == len(matrix.data[i]))
            for j, value in zip(matrix.rows[i], matrix.data[i], strict=True):
                _require_valid(isinstance(j, int | np.integer))
                yield i, int(j), float(value) if isinstance(value, int | float) else value
    else:
        for key, value in matrix._dict.items():
            _require_valid(isinstance(key, tuple) and len(key) == 2)
            _require_valid(all(isinstance(k, int | np.integer) for k in key))
            yield int(key[0]), int(key[1]), float(value) if isinstance(value, float) else value


# -- functions that accept a sparse matrix

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
"""Functions that accept a sparse matrix of n nodes or samples."""


def _error_of(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


def _result_of(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error
