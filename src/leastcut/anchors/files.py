"""Files that are there whole or not at all, with a sum that tells whether they were damaged."""

from __future__ import annotations

import glob
import json
import os
import threading
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

UNFINISHED = ".unfinished"
"""What the names of files end with while they are written."""

SEAL = "check sum"
"""The key of the check sum of a JSON file."""

ANEW = "Remove it and call anchor_graph again with this folder: it is computed anew."
"""The remedy for a damaged file of anchors, masses or a block."""


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
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say which file it had no room for
        raise


def remove_unfinished(folder: Path, name: str = "") -> None:
    """Remove what a run that was killed had begun to write, of all files or of one."""
    for path in folder.glob(f"{glob.escape(name)}*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def sum_of(arrays: Iterable[np.ndarray], before: int = 0) -> int:
    """Return the check sum of the bytes of arrays in C order, after those of a sum before.

    CRC-32: 1.7 GB/s on one core. A single value in single precision cannot change unseen, and
    any other change is missed once in 2³² times.
    """
    found = before
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


def sealed(content: Mapping[str, Any]) -> bytes:
    """Return JSON text with a check sum of what it says."""
    return json.dumps({**content, SEAL: _sum_of_text(content)}, indent=1).encode()


def is_sealed(content: dict[str, Any]) -> bool:
    """Whether JSON content is what was written; its check sum is taken out."""
    return bool(content.pop(SEAL, None) == _sum_of_text(content))


def _sum_of_text(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())


def damaged(path: Path, how: str, remedy: str) -> ValueError:
    """Return the error that names a file that does not hold what was written to it."""
    return ValueError(f"{path} is damaged: {how}. {remedy}")
