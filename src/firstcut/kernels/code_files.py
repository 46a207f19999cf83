"""The compiled code of kernels on disk: what is damaged is compiled again, never run.

Numba runs what its cache folder holds. A truncated file there fails every call until somebody
deletes it, a full disk does too, and a damaged or mistaken one is machine code that does anything.
Here the name of a file is made of what the code is for (kernel, kinds of arguments, processor), and
a file begins with two digests:

- of all that it was made from (sources, versions of Python, NumPy, Numba and llvmlite); a file of
  other origin is replaced in silence;
- of its content and name; if that does not hold the file is damaged.

There is no index, which could point to a file that was never written, or to that of another
signature where two processes write at once.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

DIGEST_SIZE = 16
"""Bytes of a digest: no two contents share one by chance."""

_said: set[str] = set()
"""The kinds of remarks that were made; each is made once in a process."""


class MachineCode(NamedTuple):
    """What can be run without Numba."""

    object_code: bytes
    """A relocatable object as LLVM made it."""

    wrapper: str
    """The symbol of the function that takes Python's arguments."""

    environments: tuple[str, ...]
    """Symbols of pointers that Numba sets to the environment of a function."""

    needed: tuple[str, ...]
    """Symbols that are defined elsewhere."""


class CodeFiles:
    """The files of one kernel, one for every signature and processor."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @property
    def folders(self) -> list[Path]:
        """Where files are looked for, and written where the first of these can be written."""
        source = Path(self._function.__code__.co_filename).absolute().parent
        inside = f"{source.name}_{_digest(str(source).encode()).hex()}"
        if chosen := os.environ.get("NUMBA_CACHE_DIR"):
            return [Path(chosen) / inside]
        return [source / "__pycache__", _users_cache() / "firstcut" / inside]

    def machine_code(self, kinds: Any) -> MachineCode | None:
        """Return what was kept for arguments of these kinds, by which no Numba is imported."""
        found = self.load(kinds, processor())
        return None if found is None else found[0]

    def load(self, signature: Any, target: Any) -> tuple[MachineCode | None, bytes] | None:
        """Return what was saved, or None if there is nothing, or for other sources.

        Raises ValueError if the file is damaged.
        """
        name, origin = self._name(signature, target), self._origin(signature, target)
        for folder in self.folders:
            try:
                content = (folder / name).read_bytes()
            except OSError:
                # There is none, or it cannot be read; what is wrong is said when it is written.
                continue
            made_from, digest = content[:DIGEST_SIZE], content[DIGEST_SIZE : 2 * DIGEST_SIZE]
            data = content[2 * DIGEST_SIZE :]
            if digest != _digest(made_from, name.encode(), data):
                raise ValueError(f"{name} is damaged")
            if made_from == origin:
                code, rest = pickle.loads(data)
                return None if code is None else MachineCode(*code), rest
        return None

    def save(self, signature: Any, target: Any, code: MachineCode | None, rest: bytes) -> None:
        """Write a file whole or not at all, in the first folder that can be written.

        Raises OSError if none can.
        """
        name, origin = self._name(signature, target), self._origin(signature, target)
        data = pickle.dumps((None if code is None else tuple(code), rest))
        content = origin + _digest(origin, name.encode(), data) + data
        errors = []
        for folder in self.folders:
            unfinished = folder / f"{name}.{os.urandom(8).hex()}.tmp"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    unfinished.write_bytes(content)
                    os.replace(unfinished, folder / name)
                    return
                finally:
                    unfinished.unlink(missing_ok=True)
            except OSError as error:
                errors.append(error)
        raise errors[0]

    def delete(self) -> None:
        """Delete all files of this kernel."""
        for folder in self.folders:
            for path in folder.glob(f"{self._base}.*.nbc"):
                path.unlink(missing_ok=True)

    @property
    def _base(self) -> str:
        code = self._function.__code__
        name = re.sub(r"\W", "_", self._function.__qualname__)
        module = Path(code.co_filename).stem
        return f"{module}.{name}-{code.co_firstlineno}.{sys.implementation.cache_tag}"

    def _name(self, signature: Any, target: Any) -> str:
        made_for = _digest(repr(signature).encode(), repr(target).encode()).hex()
        return f"{self._base}.{made_for}.nbc"

    def _origin(self, signature: Any, target: Any) -> bytes:
        # All kernels beside this one count: one is compiled into another that calls it.
        sources = _sources(Path(self._function.__code__.co_filename).parent)
        # No source tells what a function defined inside another is bound to.
        bound = [cell.cell_contents for cell in self._function.__closure__ or ()]
        made_of = (signature, target, versions(), self._function.__code__.co_code, bound)
        return _digest(sources, repr(made_of).encode())


@cache
def processor() -> tuple[str, str, str]:
    """Return what code is compiled for, as Numba tells it."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


def versions() -> tuple[str, ...]:
    """Return the versions of what takes part in compiling; Numba's without importing it."""
    import llvmlite
    import numpy as np

    return (sys.version, np.__version__, llvmlite.__version__, _numba_version())


def _numba_version() -> str:
    if "numba" in sys.modules:
        return str(sys.modules["numba"].__version__)
    return _numba_version_on_disk()


@cache
def _numba_version_on_disk() -> str:
    text = (numba_folder() / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'"version": "([^"]+)"', text)
    if found is None:
        raise ValueError("the version of Numba is not where it is looked for")
    return found[1]


@cache
def numba_folder() -> Path:
    """Return where Numba is installed, without importing it."""
    from importlib.util import find_spec

    found = find_spec("numba")
    if found is None or found.origin is None:
        raise ImportError("Numba is not installed")
    return Path(found.origin).parent


def _users_cache() -> Path:
    """Return the folder for files that can be made again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local"))
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"))
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def say_damaged(folders: list[Path], error: Exception) -> None:
    """Warn, once, that compiled code could not be read."""
    _say_once(
        "damaged",
        f"Compiled code of firstcut in {_either(folders)} could not be read ({error!r}); it is "
        "compiled again, which takes seconds, and replaced. If this comes back, delete that "
        "folder, or set NUMBA_CACHE_DIR to another.",
    )


def say_uncached(folders: list[Path], error: Exception) -> None:
    """Warn, once, that compiled code lives as long as the process."""
    _say_once(
        "uncached",
        f"Compiled code of firstcut could not be kept in {_either(folders)} ({error!r}): every "
        "process compiles it again, which takes seconds. Make room there, or set NUMBA_CACHE_DIR "
        "to a folder that can be written.",
    )


def _either(folders: list[Path]) -> str:
    return " or ".join(map(str, folders))


def _say_once(kind: str, remark: str) -> None:
    if kind not in _said:
        _said.add(kind)
        warnings.warn(remark, UserWarning, stacklevel=2)


@cache
def _sources(folder: Path) -> bytes:
    return _digest(*(path.read_bytes() for path in sorted(folder.glob("*.py"))))


def _digest(*parts: bytes) -> bytes:
    found = blake2b(digest_size=DIGEST_SIZE)
    for part in parts:
        # With its length, so that no bytes can pass from one part to the next.
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
