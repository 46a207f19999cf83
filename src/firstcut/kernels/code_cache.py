"""The compiled code of kernels on disk: what is damaged is compiled again, never run.

Numba runs what its cache folder holds. A truncated file there fails every call until somebody
deletes it, a full disk does too, and a damaged or mistaken one is machine code that does anything.
Here a file carries a digest of its content and of all that it was compiled from and for. If that
does not hold, or the folder cannot be used, the code is compiled as if there were no cache.
"""

from __future__ import annotations

import os
import pickle
import uuid
import warnings
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

DIGEST_SIZE = 16
"""Bytes of a digest: no two contents share one by chance."""

_said: set[str] = set()
"""The kinds of remarks that were made; each is made once in a process."""


class CodeCache(FunctionCache):
    """The compiled code of one kernel; whatever goes wrong with it, the kernel can be called."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = repr(self._impl.locator.get_source_stamp()).encode()
        self._cache_file: Any = _CodeFiles(
            Path(self.cache_path), self._impl.filename_base, stamp + _sources_beside(function)
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if it must be compiled."""
        try:
            return super().load_overload(sig, target_context)
        # Whatever pickle and LLVM may raise: compiling is always possible.
        except Exception as error:
            _say_once(
                "damaged",
                f"Compiled code of firstcut in {self.cache_path} could not be read ({error!r}); it "
                "is compiled again, which takes seconds, and replaced. If this comes back, delete "
                "that folder, or set NUMBA_CACHE_DIR to another.",
            )
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature, if the folder lets it."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            say_uncached(self.cache_path, error)


class _CodeFiles:
    """The files of one kernel, one for every signature and processor, in place of Numba's.

    Numba's index of numbered files can point to a file that was never written, or to that of
    another signature where two processes write at once. Here the name of a file is made of what it
    is for, and there is no index.
    """

    def __init__(self, folder: Path, name: str, stamp: bytes) -> None:
        self._folder = folder
        self._name = name
        self._stamp = numba.__version__.encode() + stamp

    def load(self, key: tuple[Any, ...]) -> Any:
        """Return what was saved with this key, or None if there is nothing, or for other sources.

        Raises ValueError if the file is damaged.
        """
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            # There is none, or it cannot be read; what is wrong then is said when it is written.
            return None
        origin, digest = content[:DIGEST_SIZE], content[DIGEST_SIZE : 2 * DIGEST_SIZE]
        data = content[2 * DIGEST_SIZE :]
        if digest != _digest(origin, path.name.encode(), data):
            raise ValueError(f"{path.name} is damaged")
        # Whole, but of other sources or another version of Numba: it is replaced in silence.
        return pickle.loads(data) if origin == self._origin(key) else None

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        """Write a file whole or not at all."""
        path, origin, content = self._path(key), self._origin(key), dumps(data)
        digest = _digest(origin, path.name.encode(), content)
        unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}.tmp")
        try:
            unfinished.write_bytes(origin + digest + content)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)

    def flush(self) -> None:
        """Delete the files, which Numba asks for before it compiles everything anew."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: tuple[Any, ...]) -> Path:
        # The last part of a key is of the source, and the code of old sources is to be replaced.
        signature, target, _ = key
        made_of = _digest(repr(signature).encode(), repr(target).encode()).hex()
        return self._folder / f"{self._name}.{made_of}.nbc"

    def _origin(self, key: tuple[Any, ...]) -> bytes:
        return _digest(self._stamp, repr(key).encode())


def say_uncached(folder: object, error: Exception) -> None:
    """Warn, once, that compiled code lives as long as the process."""
    _say_once(
        "uncached",
        f"Compiled code of firstcut could not be kept in {folder} ({error!r}): every process "
        "compiles it again, which takes seconds. Make room there, or set NUMBA_CACHE_DIR to a "
        "folder that can be written.",
    )


def _say_once(kind: str, remark: str) -> None:
    if kind not in _said:
        _said.add(kind)
        warnings.warn(remark, UserWarning, stacklevel=2)


@cache
def _sources(folder: Path) -> bytes:
    return _digest(*(path.read_bytes() for path in sorted(folder.glob("*.py"))))


def _sources_beside(function: Any) -> bytes:
    """Return a digest of all kernels: one is compiled into another that calls it."""
    return _sources(Path(function.__code__.co_filename).parent)


def _digest(*parts: bytes) -> bytes:
    found = blake2b(digest_size=DIGEST_SIZE)
    for part in parts:
        # With its length, so that no bytes can pass from one part to the next.
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
