"""How far a search has come, kept in a folder: a killed one goes on from its last round.

Every save is a folder of its own, beside the one before; a small file that is replaced in one step
names the one that counts. So there is always a whole one, whenever the process is killed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from firstcut.anchors.files import damaged, read_into, remove_unfinished, sum_of, write_whole

REMEDY = "Remove the folder of the search and begin it anew."
"""What helps against a damaged file."""


class Checkpoint(Protocol):
    """Where a search keeps how far it has come."""

    def load(self) -> tuple[dict[str, Any], dict[str, list[np.ndarray]]] | None:
        """Return what was saved last, None if nothing was: facts, and arrays of every block."""
        ...

    def save(self, facts: dict[str, Any], arrays: dict[str, list[np.ndarray]]) -> None:
        """Keep facts (as JSON has them) and arrays, in place of what was saved before."""
        ...


class FolderCheckpoint:
    """A checkpoint in a folder, for a search with certain settings.

    Parameters
    ----------
    folder : Path
        The folder of the anchor graph; every search has one of its own inside.
    settings : mapping
        What makes a search another one, as its number of clusters and its seed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from firstcut.anchors.checkpoint import FolderCheckpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = FolderCheckpoint(Path(folder), {"n_clusters": 2})
    ...     before = checkpoint.load()
    ...     checkpoint.save({"round": 3}, {"labels": [np.array([0, 1]), np.array([1])]})
    ...     before, checkpoint.load()
    (None, ({'round': 3}, {'labels': [array([0, 1]), array([1])]}))
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        told = json.dumps(settings, sort_keys=True)
        name = hashlib.sha256(told.encode()).hexdigest()[:16]
        self.folder = folder / "searches" / name
        self._current = self.folder / "current.json"
        self._settings = told

    def load(self) -> tuple[dict[str, Any], dict[str, list[np.ndarray]]] | None:
        """Return what was saved last, None if nothing was."""
        content = self._content()
        if content is None:
            return None
        arrays = {
            name: self._arrays(self.folder / content["saved"] / f"{name}.arrays", listed)
            for name, listed in content["arrays"].items()
        }
        return content["facts"], arrays

    def save(self, facts: dict[str, Any], arrays: dict[str, list[np.ndarray]]) -> None:
        """Keep facts and arrays, in place of what was saved before."""
        before = self._content()
        number = 0 if before is None else int(before["saved"]) + 1
        saved = self.folder / str(number)
        # 1. Beside the one before, which counts until the last step.
        shutil.rmtree(saved, ignore_errors=True)
        saved.mkdir(parents=True)
        remove_unfinished(self.folder)
        listed = {}
        for name, parts in arrays.items():
            whole = [np.ascontiguousarray(part) for part in parts]
            write_whole(saved / f"{name}.arrays", [part.reshape(-1).data for part in whole])
            listed[name] = [(part.dtype.str, part.shape, sum_of([part])) for part in whole]
        # 2. From here on it is this one.
        content = {
            "settings": json.loads(self._settings),
            "saved": str(number),
            "facts": facts,
            "arrays": listed,
        }
        write_whole(self._current, [json.dumps(content).encode()])
        # 3. Nobody needs the others.
        for path in self.folder.iterdir():
            if path.is_dir() and path != saved:
                shutil.rmtree(path, ignore_errors=True)

    def _content(self) -> dict[str, Any] | None:
        try:
            content: dict[str, Any] = json.loads(self._current.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, UnicodeDecodeError):
            raise damaged(self._current, "it is no JSON", REMEDY) from None
        return content

    def _arrays(self, path: Path, listed: list[Any]) -> list[np.ndarray]:
        found = []
        try:
            with open(path, "rb", buffering=0) as file:
                for dtype, shape, checked in listed:
                    array = np.empty(shape, dtype=dtype)
                    if not read_into(file, array) or sum_of([array]) != checked:
                        raise damaged(path, "its check sum is wrong", REMEDY)
                    found.append(array)
        except FileNotFoundError:
            raise damaged(path, "it is not there", REMEDY) from None
        return found
