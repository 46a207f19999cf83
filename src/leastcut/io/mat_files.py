"""MATLAB files, read in a process of their own.

SciPy's reader trusts what a file says of itself: one changed byte can make it reach outside of its
memory, which ends the process. A child that ends so is an error like any other.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

READ = """
import pickle, sys
path, sys.path[:] = sys.argv[1], sys.argv[2:]
from scipy.io import loadmat
try:
    found = loadmat(path)
except Exception as error:
    found = type(error).__name__ + ": " + str(error)
pickle.dump(found, sys.stdout.buffer)
"""
"""What the child runs: it finds the same packages, and hands back the arrays, or what is wrong."""

VERSION_7_3 = b"MATLAB 7.3"
"""How a file begins that is HDF inside, which SciPy does not read."""


def load_mat(path: Path) -> dict[str, Any]:
    """Return the arrays of a MATLAB file by name.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
        Arrays, and sparse matrices.

    Raises
    ------
    ValueError
        If it cannot be read.
    OSError
        If it cannot be opened.
    """
    with path.open("rb") as file:
        if file.read(len(VERSION_7_3)) == VERSION_7_3:
            raise ValueError(
                "it is a MATLAB 7.3 file, which SciPy cannot read: save it with -v7, or as .npz "
                "with arrays X and y"
            )
    # -P: no module of the working directory, where others may have written
    command = [sys.executable, "-P", "-c", READ, str(path), *sys.path]
    child = subprocess.run(command, capture_output=True, check=False)
    if child.returncode != 0:
        raise ValueError(f"SciPy's reader ended with status {child.returncode}")
    # the child's own words, and not the file's
    found: str | dict[str, Any] = pickle.loads(child.stdout)
    if isinstance(found, str):
        raise ValueError(found)
    return {name: array for name, array in found.items() if not name.startswith("__")}
