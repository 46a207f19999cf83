"""Compiled inner loops: arrays in, arrays changed in place, nothing else.

A kernel allocates nothing, draws nothing at random and takes everything it needs as an argument;
its docstring says what it changes. ``some_kernel.py_func`` is the same code uncompiled.

Arrays that belong together travel as one plain tuple, which a kernel unpacks on its first line:

- ``problem``: indptr, indices, weights, node_weights: a graph in CSR form and the weights b;
- ``state``: labels, boundary, cluster_weights, count, ratio, bounds: see ``moves``.

Plain tuples, because Numba's dispatcher looks up the class of a named tuple at every call, which
takes 2.9 µs. Numba compiles a kernel once per machine: ``code_cache`` keeps what it compiled.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit

from leastcut.kernels.code_cache import CodeCache

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Numba's options. A wrapper for C takes 5% of the time of compiling, and nothing calls it."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its first call, without the interpreter lock, and keep the result.

    Division follows IEEE rules, as in NumPy: a zero divisor is the caller's to rule out, and the
    loops can be vectorised.
    """
    compiled: Any = njit(**OPTIONS)(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT returns the function itself
        compiled._cache = CodeCache(function)
        compiled._compiler.compile = _without_collections()(compiled._compiler.compile)
    return compiled


@contextmanager
def _without_collections() -> Iterator[None]:
    """Pause Python's garbage collector, which takes up to a fifth of the time of compiling.

    It would go through everything that is imported, again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
