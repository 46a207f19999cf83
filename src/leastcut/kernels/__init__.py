"""Compiled inner loops, which read arrays and change arrays in place.

A kernel allocates no memory and generates no random numbers: scratch arrays and permutations are
arguments. Its docstring lists what it changes. ``some_kernel.py_func`` is the same code uncompiled.

Related arrays are passed as one plain tuple, which a kernel unpacks on its first line:

- ``problem``: indptr, indices, weights, node_weights: a graph in CSR form and the node weights b;
- ``state``: labels, boundary, cluster_weights, count, ratio, bounds; see ``moves``.

The tuples are plain because Numba's dispatcher looks up the class of a named tuple at every call,
which takes microseconds. Each kernel is compiled once per machine; ``code_cache`` stores the
result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from leastcut.kernels.code_cache import CodeCache, without_garbage_collection

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,  # kernels allocate no memory, so arrays need no reference counts
    "no_cfunc_wrapper": True,  # unused, and takes time to compile
}


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile ``function`` on its first call, without the interpreter lock, and cache the result.

    Division follows IEEE rules, as in NumPy, so that loops can be vectorized; callers must rule out
    zero divisors. A kernel that allocates memory does not compile.
    """
    compiled: Any = njit(**{**OPTIONS, **options})(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT returns the function itself
        compiled._cache = CodeCache(function)
        compiled._compiler.compile = without_garbage_collection()(compiled._compiler.compile)
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel that is inlined into the kernels that call it.

    A call passes every array of a tuple as seven numbers: without inlining, and with reference
    counting, calls of short kernels take much longer.
    """
    return kernel(function, forceinline=True)
