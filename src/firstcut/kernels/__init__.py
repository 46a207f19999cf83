"""Compiled inner loops: arrays in, arrays changed in place, nothing else.

A kernel allocates nothing, draws nothing at random and takes everything it needs as an argument;
its docstring says what it changes. ``some_kernel.py_func`` is the same code uncompiled.

Arrays that belong together travel as one plain tuple, which a kernel unpacks on its first line:

- ``problem``: indptr, indices, weights, node_weights: a graph in CSR form and the weights b;
- ``state``: labels, boundary, cluster_weights, count, ratio, bounds: see ``moves``.

Plain tuples cost what single arguments cost: a call with 16 arguments takes 0.7 µs, one by one or
with twelve of them in three tuples. Named tuples are left to Numba's dispatcher, which looks up
their class at every call and takes 2.9 µs: 4% of a search that makes 60,000 calls a second on small
graphs. Loops and compile time are the same with all of them.

Numba compiles a kernel once per machine. Its import and its registries take longer than fitting a
small set of samples, so later processes run the machine code without it:

- ``compiled``: what ``kernel`` makes of a function, and which of the two roads a call takes;
- ``code_files``: the files of compiled code, and what their names and digests are made of;
- ``signatures``: the kinds of arguments that code is compiled for;
- ``choice``: which code fits the arguments of a call;
- ``machine_code``: links code into the process;
- ``code_cache``: Numba's side, which writes the files;
- ``compile_time``: says that compiling takes a while, where it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firstcut.kernels.compiled import compiled_on_call


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its first call, without the interpreter lock, and keep the result.

    Division follows IEEE rules, as in NumPy: a zero divisor is the caller's to rule out, and the
    loops can be vectorised. The machine code is cached beside the source or in the user's cache
    folder (see ``code_files``). Where neither can be written (a read-only install without a home
    directory) it lives as long as the process, and a warning says so.
    """
    return compiled_on_call(function, {"nogil": True, "error_model": "numpy"})
