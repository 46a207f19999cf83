"""A disk cache of compiled kernels, whose failure costs at most a recompilation.

Numba's own cache executes whatever its folder contains: a truncated file or a full disk makes every
call fail until somebody deletes the file, a kernel keeps old code of another kernel inlined into
it, and a file planted by another user is unpickled, that is, executed. In this cache

- a file name identifies the kernel, the argument types and the CPU, and a file begins with a digest
  of the sources and a digest of its content. An outdated file is replaced, and a damaged one
  recompiled, with one warning;
- a folder and a file are used only if nobody but the user, or root, can write to them or replace
  them. Otherwise kernels are compiled in memory, with one warning, or the file is replaced.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from leastcut.kernels.compile_time import CompileTime

DIGEST_SIZE = 16  # bytes: collisions by chance are practically impossible

_compile_time = CompileTime()

_warned: set[str] = set()  # kinds of warnings already issued: each is issued once


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause Python's garbage collector while code is compiled or loaded.

    Repeated collections of all imported objects take a large part of the time of compiling and of
    the first fit of a process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class CodeCache:
    """The compiled code of one kernel, in one file per signature and CPU.

    Numba's dispatcher calls ``load_overload`` before it compiles and ``save_overload`` afterwards.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        code = function.__code__
        self._source = Path(code.co_filename).absolute()
        name = re.sub(r"\W", "_", function.__qualname__)
        self._base = (
            f"{self._source.stem}.{name}-{code.co_firstlineno}.{sys.implementation.cache_tag}"
        )

    @property
    def folders(self) -> list[Path]:
        """The candidate folders, in order."""
        source = self._source.parent
        name = f"{source.name}_{_digest(str(source).encode()).hex()}"
        if chosen := os.environ.get("NUMBA_CACHE_DIR"):
            return [Path(chosen).absolute() / name]
        return [source / "__pycache__", *(root / "leastcut" / name for root in _user_caches())]

    @property
    def cache_path(self) -> str:
        """The first candidate folder."""
        return str(self.folders[0])

    @without_garbage_collection()
    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if it must be compiled."""
        compiled = None
        target_context.refresh()
        # Any exception of pickle or LLVM: compiling is always possible.
        try:
            data = self._read(signature, target_context.codegen().magic_tuple())
            if data is not None:
                compiled = CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception as error:
            _warn_once(
                "damaged",
                f"The compiled code of leastcut in {self._paths} could not be read ({error!r}). "
                "It is compiled again, which takes seconds, and replaced. If this warning "
                "persists, delete that folder or set NUMBA_CACHE_DIR to another one.",
            )
        if compiled is None:
            _compile_time.begin()
        return compiled

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write the compiled code for a signature, if a folder allows it."""
        _compile_time.end()
        if compiled.library.has_dynamic_globals:  # contains addresses of this process
            return
        try:
            target = compiled.codegen.magic_tuple()
            self._write(signature, target, dumps(compiled._reduce()))
        except OSError as error:
            # On Windows a file that another process reads cannot be replaced, and need not be.
            if not (os.name == "nt" and isinstance(error, PermissionError)):
                _warn_once(
                    "not saved",
                    f"The compiled code of leastcut could not be saved in {self._paths} "
                    f"({error!r}), so every process compiles it again, which takes seconds. Free "
                    "disk space, or set NUMBA_CACHE_DIR to a folder that you own and nobody else "
                    "can write to.",
                )

    @property
    def _paths(self) -> str:
        return " or ".join(map(str, self.folders))

    def _name(self, signature: Any, target: Any) -> str:
        """Return the file name for a signature and a CPU."""
        arguments = getattr(signature, "args", signature)  # the return type follows from them
        key = _digest(repr(arguments).encode(), repr(target).encode()).hex()
        return f"{self._base}.{key}.nbc"

    def _origin(self) -> bytes:
        """Return a digest of everything that affects compiling."""
        # The sources of all kernels, as kernels are inlined into others.
        sources = _sources(self._source.parent)
        versions = sys.version, np.__version__, numba.__version__
        # Closure variables are not part of the source.
        bound = [cell.cell_contents for cell in self._function.__closure__ or ()]
        return _digest(sources, repr((versions, self._function.__code__.co_code, bound)).encode())

    def _read(self, signature: Any, target: Any) -> bytes | None:
        """Return the cached data, or None if it is missing or outdated.

        Raises ValueError if the file is damaged.
        """
        name, origin = self._name(signature, target), self._origin()
        for folder in filter(is_private, self.folders):
            try:
                with open(folder / name, "rb") as file:
                    # Another user may have written the file before the folder was private.
                    if os.name != "nt" and not _is_owned(os.fstat(file.fileno()), sticky=False):
                        continue
                    content = file.read()
            except OSError:
                continue  # no file, or `_write` will report the problem
            file_origin, digest = content[:DIGEST_SIZE], content[DIGEST_SIZE : 2 * DIGEST_SIZE]
            data = content[2 * DIGEST_SIZE :]
            if digest != _digest(file_origin, name.encode(), data):
                raise ValueError(f"{name} is damaged")
            if file_origin == origin:
                return data
        return None

    def _write(self, signature: Any, target: Any, data: bytes) -> None:
        """Write a file atomically to the first folder that allows it; OSError if none does."""
        name, origin, errors = self._name(signature, target), self._origin(), []
        for folder in self.folders:
            temporary = folder / f"{name}.{os.urandom(8).hex()}.tmp"
            try:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
                if not is_private(folder):
                    raise PermissionError(f"others can write to {folder}, or to a folder above it")
                try:
                    temporary.write_bytes(origin + _digest(origin, name.encode(), data) + data)
                    os.replace(temporary, folder / name)
                    return
                finally:
                    temporary.unlink(missing_ok=True)
            except OSError as error:
                errors.append(error)
        raise errors[0]


def is_private(folder: Path) -> bool:
    """Return whether only the user and root can change the contents of a folder.

    The folder and all its parents must belong to one of them and be writable by nobody else (in
    parents with the sticky bit, such as /tmp, others cannot rename files of the user). Windows has
    no such permission bits; there the user's profile is private by default.
    """
    if os.name == "nt":
        return True
    try:
        real = folder.resolve(strict=True)
        return _is_owned(real.stat(), sticky=False) and all(
            _is_owned(parent.stat(), sticky=True) for parent in real.parents
        )
    except OSError:
        return False


def _is_owned(status: os.stat_result, *, sticky: bool) -> bool:
    mode = status.st_mode
    if status.st_uid not in (0, os.geteuid()):
        return False
    if sticky and mode & stat.S_ISVTX:
        return True
    return not mode & stat.S_IWOTH and not (mode & stat.S_IWGRP and _has_others(status.st_gid))


@cache
def _has_others(group: int) -> bool:
    """Return whether a group may have members other than the user."""
    import grp
    import pwd

    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return True
    is_private_group = user.pw_gid == group and user.pw_name == entry.gr_name
    return not is_private_group or not set(entry.gr_mem) <= {user.pw_name}


def _user_caches() -> list[Path]:
    """Return a list of the user's cache folder, empty if it is unknown."""
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Caches")
    else:
        folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Without a home, "~" is not expanded, and would be a folder of the working directory.
    return [Path(folder)] if os.path.isabs(folder) else []


def _warn_once(kind: str, message: str) -> None:
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(message, UserWarning, stacklevel=2)


@cache
def _sources(folder: Path) -> bytes:
    return _digest(*(path.read_bytes() for path in sorted(folder.glob("*.py"))))


def _digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=DIGEST_SIZE)
    for part in parts:
        # Its length is included, so that no bytes can shift from one part to the next.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
