"""Numba's side of the compiled code on disk: reads files for it, and writes what it compiled."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Iterator
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.types import Tuple

from firstcut.kernels.code_files import CodeFiles, MachineCode, say_damaged, say_uncached
from firstcut.kernels.compile_time import CompileTime
from firstcut.kernels.signatures import kind_of_type

ELF_64 = b"\x7fELF\x02\x01"
"""How an object file of Linux begins, if it is of 64 bits with the low byte first."""

SYMBOL_TABLE = 2
"""The type of a section that lists symbols."""

UNDEFINED = 0
"""The section of a symbol that is defined elsewhere."""


_compile_time = CompileTime()


class CodeCache(_Cache):
    """The compiled code of one kernel; whatever goes wrong with it, the kernel can be called."""

    def __init__(self, files: CodeFiles) -> None:
        self._files = files
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder that is tried first."""
        return str(self._files.folders[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if it must be compiled."""
        found = self._loaded(sig, target_context) if self._enabled else None
        if found is None:
            _compile_time.begin()
        return found

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        try:
            target_context.refresh()
            found = self._files.load(_made_for(sig), target_context.codegen().magic_tuple())
            if found is None:
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(found[1]))
        # Whatever pickle and LLVM may raise: compiling is always possible.
        except Exception as error:
            say_damaged(self._files.folders, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature, if it can be kept and a folder lets it."""
        _compile_time.end()
        if not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        target, reduced = data.codegen.magic_tuple(), data._reduce()
        try:
            self._files.save(_made_for(sig), target, _machine_code(data, reduced), dumps(reduced))
        except OSError as error:
            # On Windows a file that another process is reading cannot be replaced, nor need it be.
            if not (os.name == "nt" and isinstance(error, PermissionError)):
                say_uncached(self._files.folders, error)

    def enable(self) -> None:
        """Read and write files from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Read and write no files from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Delete the files, which Numba asks for before it compiles everything anew."""
        self._files.delete()


def _made_for(sig: Any) -> Any:
    """Return what names the file of a signature: the kinds of its arguments, if they are known."""
    types, _ = normalize_signature(sig)
    return kind_of_type(Tuple(types)) or types


def _machine_code(compiled: Any, reduced: tuple[Any, ...]) -> MachineCode | None:
    """Return the part of compiled code that runs without Numba, or None if it needs more of it."""
    (_, kind, content), environments = reduced[0], reduced[-1]
    needs_more = (
        compiled.objectmode
        or compiled.reload_init
        or any(environment.consts for environment in (compiled.environment, *environments))
    )
    if kind != "object" or needs_more or not content[0].startswith(ELF_64):
        return None
    return MachineCode(
        object_code=content[0],
        wrapper=compiled.fndesc.llvm_cpython_wrapper_name,
        environments=tuple({compiled.fndesc.env_name, *(one.env_name for one in environments)}),
        needed=tuple(_undefined_symbols(content[0])),
    )


def _undefined_symbols(elf: bytes) -> Iterator[str]:
    """Yield the symbols that an object file uses and does not define."""
    at, size, count = *struct.unpack_from("<Q", elf, 40), *struct.unpack_from("<HH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQII", elf, at + i * size) for i in range(count)]
    for _, kind, _, _, begin, length, names, _ in sections:
        if kind == SYMBOL_TABLE:
            for symbol in range(begin, begin + length, 24):
                name, _, section = struct.unpack_from("<IHH", elf, symbol)
                if name and section == UNDEFINED:
                    first = sections[names][4] + name
                    yield elf[first : elf.index(b"\0", first)].decode()
