"""Machine code in this process without Numba: LLVM links what Numba had it compile.

Beside a function Numba compiles a wrapper that a Python call can enter: it takes a tuple of
arguments, reads the arrays, gives up the interpreter lock and runs the function. The wrapper calls
helpers in Numba's extension modules, which are loaded alone, without the packages they are in.

This is for CPython on 64-bit Linux, whose object files ``code_cache`` can read. Elsewhere, or where
Numba's settings are not its defaults, ``link`` raises and the caller turns to Numba.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any, NamedTuple

from firstcut.kernels.choice import CHOICE, objects_are_as_known, table_of
from firstcut.kernels.code_files import MachineCode, numba_folder
from firstcut.kernels.signatures import Kind

HARMLESS_SETTINGS = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER"}
"""Settings of Numba that change nothing about compiled code; with any other it is asked itself."""

_kept: list[Any] = []
"""What machine code refers to: as that, it lives as long as the process."""


class Linked(NamedTuple):
    """Machine code in this process."""

    address: int
    call: Callable[..., Any]
    """Runs it without looking at the kinds of its arguments."""


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def link(code: MachineCode, function: Callable[..., Any]) -> Linked:
    """Return the machine code of a function, ready to run; an exception says why it cannot."""
    # 1. LLVM ends the process if a symbol is missing: make sure of them all. Functions of
    # mathematics are those that Numba is linked with.
    llvm, engine = _engine()
    mathematics = _extension("numba._helperlib").c_helpers
    for name in mathematics.keys() & set(code.needed):
        llvm.add_symbol(name, mathematics[name])
    missing = [name for name in code.needed if not llvm.address_of_symbol(name)]
    if missing:
        raise ImportError(f"{function.__qualname__} needs {missing}")
    # 2. Link.
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code.object_code))
    address = engine.get_function_address(code.wrapper)
    # 3. Set the environments, which hold nothing but must be there.
    environment = _extension("numba._dynfunc").Environment(function.__globals__)
    _kept.append(environment)
    for name in code.environments:
        if place := engine.get_global_value_address(name):
            ctypes.c_void_p.from_address(place).value = id(environment)
    return Linked(address, _callable(function.__name__, address, 0))


def choice_of(linked: dict[Kind, Linked], last_resort: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs the code made for its arguments, or else ``last_resort``."""
    table = table_of({kinds: one.address for kinds, one in linked.items()}, last_resort)
    _kept.extend([table, last_resort])
    _, engine = _engine()
    return _callable("choice", engine.get_function_address("choice"), table.ctypes.data)


def _callable(name: str, address: int, itself: int) -> Callable[..., Any]:
    """Return a built-in function with this code, which gets ``itself`` as its first argument."""
    by_position_and_name = 0x1 | 0x2
    definition = _MethodDefinition(name.encode(), address, by_position_and_name, None)
    _kept.append(definition)
    made: Callable[..., Any] = _new_function()(ctypes.byref(definition), itself, None)
    return made


@cache
def _new_function() -> Any:
    pointer = ctypes.POINTER(_MethodDefinition)
    made = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, ctypes.py_object, ctypes.c_void_p)
    return made(("PyCFunction_NewEx", ctypes.pythonapi))


@cache
def _engine() -> tuple[Any, Any]:
    """Return LLVM and its linker, which knows ``choice`` and the symbols of Numba's helpers."""
    _check_that_all_is_known()
    import llvmlite.binding as llvm

    # 1. Symbols, as Numba names them.
    helpers, functions = _extension("numba._helperlib"), _extension("numba._dynfunc")
    for name, address in {**helpers.c_helpers, **functions.c_helpers}.items():
        llvm.add_symbol(f"numba_{name}", address)
    for name, address in _extension("numba.core.runtime._nrt_python").c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    # 2. A compiler that is used as a linker, but for one short program, which calls find as fast
    # when it is not optimised, and which is there 9 ms sooner.
    llvm.check_jit_execution()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(CHOICE), machine)
    engine.finalize_object()
    return llvm, engine


def _check_that_all_is_known() -> None:
    """Raise ImportError where code cannot be trusted to run here as Numba would run it."""
    set_by_user = {name for name in os.environ if name.startswith("NUMBA_")} - HARMLESS_SETTINGS
    if set_by_user or os.path.exists(".numba_config.yaml"):
        raise ImportError("Numba has settings")
    if "numba" in sys.modules and sys.modules["numba"].config.DISABLE_JIT:
        raise ImportError("Numba is not to compile")
    if sys.platform != "linux" or not objects_are_as_known():
        raise ImportError("the platform is not one of those that are known")


@cache
def _extension(name: str) -> ModuleType:
    """Return one of the extension modules of Numba, without running those that import it."""
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location

    if "numba" in sys.modules:
        return import_module(name)
    path = numba_folder().joinpath(*name.split(".")[1:])
    spec = spec_from_file_location(name, f"{path}{EXTENSION_SUFFIXES[0]}")
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is not where it is looked for")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    # Numba is to import it as if it had not been.
    sys.modules.pop(name, None)
    return made
