"""Arrays in NumPy's files, whose size is compared with what they announce before memory is taken.

NumPy allocates what the header of an array says, however short the file is.
"""

from __future__ import annotations

import math
import zipfile
from typing import IO

import numpy as np
from numpy.lib import format as npy

from leastcut.io.source import Source, blamed

ENDING = ".npy"
"""How the names of arrays end inside of an archive."""


def load_npy(source: Source) -> np.ndarray:
    """Return the array of an ``.npy`` file.

    Raises
    ------
    ValueError
        If the file is empty, cut short or no such file; the message names it.
    """
    with blamed(source, "a NumPy array"), source.opened() as file:
        file.seek(0, 2)
        size = file.tell()
        file.seek(0)
        return _array(file, size)


def load_npz(source: Source) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file by name.

    Raises
    ------
    ValueError
        If the file is empty, cut short or no such file; the message names it.
    """
    found: dict[str, np.ndarray] = {}
    what = "an archive of NumPy arrays"
    with blamed(source, what), source.opened() as file, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as inside:
                found[member.filename.removesuffix(ENDING)] = _array(inside, member.file_size)
    return found


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """Return the array of an open file of so many bytes."""
    if size == 0:
        raise ValueError("it is empty")
    version = npy.read_magic(file)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(file)
    announced, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if announced > there and not dtype.hasobject:
        raise ValueError(
            f"it announces an array of shape {shape}, which takes {announced:,} bytes, and "
            f"{there:,} are there; it may be cut short"
        )
    file.seek(0)
    return np.asarray(npy.read_array(file, allow_pickle=False))  # a pickle could run anything
