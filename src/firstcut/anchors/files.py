"""Files that are there whole or not at all, with a sum that tells whether they were damaged."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

UNFINISHED = ".unfinished"
"""What the names of files end with while they are written."""


def write_whole(path: Path, parts: Iterable[Any]) -> None:
    """Write a file in one step: whoever looks finds the one before, or all of it.

    Parameters
    ----------
    path : Path
        An earlier file there is replaced.
    parts : iterable of bytes-like
        What it holds, one after another.
    """
    unfinished = path.with_name(f"{path.name}-{os.getpid()}-{threading.get_ident()}{UNFINISHED}")
    try:
        with open(unfinished, "wb") as file:
            for part in parts:
                file.write(part)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what a run that was killed had begun to write."""
    for path in folder.glob(f"*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def sum_of(arrays: Iterable[np.ndarray]) -> int:
    """Return the check sum of the bytes of arrays in C order."""
    found = 0
    for array in arrays:
        found = zlib.crc32(array.reshape(-1).view(np.uint8).data, found)
    return found


def read_into(file: Any, array: np.ndarray) -> bool:
    """Fill an array in C order from an open file, and tell whether there was enough."""
    room = memoryview(array.reshape(-1).view(np.uint8).data)
    while room.nbytes:
        count = file.readinto(room)
        if not count:
            return False
        room = room[count:]
    return True


def damaged(path: Path, how: str, remedy: str) -> ValueError:
    """Return the error that names a file that does not hold what was written to it."""
    return ValueError(f"{path} is damaged: {how}. {remedy}")
