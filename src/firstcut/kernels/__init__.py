"""Compiled inner loops: arrays in, arrays changed in place, nothing else.

A kernel allocates nothing, draws nothing at random and takes everything it needs as an argument;
its docstring says what it changes. ``some_kernel.py_func`` is the same code uncompiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its first call, without the interpreter lock, and keep the result.

    Division follows IEEE rules, as in NumPy: a zero divisor is the caller's to rule out, and the
    loops can be vectorised. The machine code is cached beside the source or in the user's cache
    folder. Where neither can be written (a read-only install without a home directory) it lives
    as long as the process.
    """
    from numba import njit

    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(nogil=True, error_model="numpy")(function)
