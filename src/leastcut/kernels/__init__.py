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

from collections.abc import Callable
from typing import Any

from numba import njit

from leastcut.kernels.code_cache import CodeCache, without_collections

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,  # no memory is allocated, and so no references to arrays are counted
    "no_cfunc_wrapper": True,  # takes 5% of the time of compiling, and nothing calls it
}


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile ``function`` on its first call, without the interpreter lock, and keep the result.

    Division follows IEEE rules, as in NumPy: a zero divisor is the caller's to rule out, and the
    loops can be vectorised. A kernel that allocates memory does not compile.
    """
    compiled: Any = njit(**{**OPTIONS, **options})(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT returns the function itself
        compiled._cache = CodeCache(function)
        compiled._compiler.compile = without_collections()(compiled._compiler.compile)
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel that is copied into the kernels that call it.

    A call passes every array of a tuple as seven numbers: without this, and with references
    counted, moves within limits take three times as long.
    """
    return kernel(function, forceinline=True)
