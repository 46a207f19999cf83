"""Compiled inner loops: arrays in, arrays changed in place, nothing else.

A kernel allocates nothing, draws nothing at random and takes everything it needs as an argument;
its docstring says what it changes. ``some_kernel.py_func`` is the same code uncompiled.

Arrays that belong together travel as one plain tuple, which a kernel unpacks on its first line:

- ``problem``: indptr, indices, weights, node_weights: a graph in CSR form and the weights b;
- ``state``: labels, boundary, cluster_weights, count, ratio, bounds: see ``moves``.

Plain tuples cost what single arguments cost. A call with 16 arguments takes 1.2 µs one by one,
1.5 µs with twelve of them in three tuples, and 2.9 µs if these are named tuples, whose class is
looked up at every call: 4% of a search that makes 60,000 calls a second on small graphs. Loops and
compile time are the same with all three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its first call, without the interpreter lock, and keep the result.

    Division follows IEEE rules, as in NumPy: a zero divisor is the caller's to rule out, and the
    loops can be vectorised. The machine code is cached beside the source or in the user's cache
    folder (see ``code_cache``). Where neither can be written (a read-only install without a home
    directory) it lives as long as the process, and a warning says so.
    """
    from numba import njit

    from firstcut.kernels.code_cache import CodeCache, say_uncached

    compiled: Any = njit(nogil=True, error_model="numpy")(function)
    try:
        compiled._cache = CodeCache(function)
    except RuntimeError as error:
        # numba found no folder that it could write its cache to.
        say_uncached("any folder", error)
    return compiled
