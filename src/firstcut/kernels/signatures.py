"""The kinds of arguments that a kernel is compiled for, as plain tuples that name files.

What Numba tells apart is told apart here: type, number of dimensions, memory layout and whether an
array may be written. Only kinds that kernels use are known; None stands for all others, with which
a call is left to Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Kind = tuple[Any, ...]

ELEMENTS = frozenset("?bBhHiIlLfd")
"""Characters of the element types that are known: NumPy's native Booleans, integers and floats."""

SCALARS: dict[type, str] = {
    bool: "boolean",
    np.bool_: "boolean",
    int: "int64",
    np.int64: "int64",
    float: "float64",
    np.float64: "float64",
    type(None): "none",
}
"""The name of a type in Numba's signatures."""

INT64 = np.iinfo(np.int64)


def kind_of(value: Any) -> Kind | None:
    """Return what Numba would tell apart of an argument, or of the tuple of all arguments."""
    cls = type(value)
    if cls is tuple:
        parts = [kind_of(part) for part in value]
        return None if None in parts else ("tuple", *parts)
    if cls is np.ndarray:
        flags, dtype = value.flags, value.dtype
        if dtype.char not in ELEMENTS or not dtype.isnative or not flags.aligned:
            return None
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return ("array", dtype.char, value.ndim, layout, flags.writeable)
    if cls not in SCALARS or (cls is int and not INT64.min <= value <= INT64.max):
        return None
    return (SCALARS[cls],)


def kind_of_type(numba_type: Any) -> Kind | None:
    """Return the kind of the arguments that have a type of Numba's."""
    from numba.core import types
    from numba.np.numpy_support import as_dtype

    if isinstance(numba_type, types.Tuple | types.UniTuple):
        parts = [kind_of_type(part) for part in numba_type]
        return None if None in parts else ("tuple", *parts)
    if type(numba_type) is types.Array:
        if not isinstance(numba_type.dtype, types.Number | types.Boolean):
            return None
        dtype = as_dtype(numba_type.dtype)
        if dtype.char not in ELEMENTS or not dtype.isnative or not numba_type.aligned:
            return None
        return ("array", dtype.char, numba_type.ndim, numba_type.layout, numba_type.mutable)
    names = {getattr(types, name): name for name in SCALARS.values()}
    return (names[numba_type],) if numba_type in names else None
