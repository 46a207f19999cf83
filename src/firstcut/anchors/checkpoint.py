"""How far a search has come, kept in a folder: a killed one goes on from its last round.

Every save is a folder of its own, beside the one before; a small file that is replaced in one step
names the one that counts. So there is always a whole one, whenever the process is killed. Rounds
may take less time than what they found takes to be written, so that not every one is saved.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from firstcut.anchors.files import damaged, read_into, remove_unfinished, sum_of, write_whole

SHARE = 0.1
"""Part of the time that may go into saving."""

REMEDY = "Remove the folder of the search and begin it anew."
"""What helps against a damaged file."""


class FolderCheckpoint:
    """A checkpoint of a search in the folder of its anchor graph.

    Efforts share it: one begins with all that the one before it does.

    Parameters
    ----------
    folder : Path
        The folder of the anchor graph; every search has one of its own inside.
    n_clusters, seed : int
        What makes it another search.
    sizes : tuple of int
        The points of every block.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from firstcut.anchors.checkpoint import FolderCheckpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = FolderCheckpoint(Path(folder), n_clusters=2, seed=0, sizes=(2, 1))
    ...     before = checkpoint.load()
    ...     checkpoint.save({"round": 3}, {"labels": [np.array([0, 1]), np.array([1])]})
    ...     before, checkpoint.load()
    (None, ({'round': 3}, {'labels': [array([0, 1]), array([1])]}))
    """

    def __init__(self, folder: Path, n_clusters: int, seed: int, sizes: tuple[int, ...]) -> None:
        self.folder = folder / "searches" / f"{n_clusters}-clusters-seed-{seed}"
        self._current = self.folder / "current.json"
        self._sizes = sizes
        self._next = 0.0

    def load(self) -> tuple[dict[str, Any], dict[str, list[np.ndarray]]] | None:
        """Return what was saved last, None if nothing was."""
        content = self._content()
        if content is None:
            return None
        arrays = {
            name: self._arrays(self.folder / content["saved"] / f"{name}.arrays", listed)
            for name, listed in content["arrays"].items()
        }
        for name, parts in arrays.items():
            if tuple(len(part) for part in parts) != self._sizes:
                path = self.folder / content["saved"] / f"{name}.arrays"
                raise damaged(path, "its blocks are not those of the graph", REMEDY)
        return content["facts"], arrays

    def save(self, facts: dict[str, Any], arrays: dict[str, list[np.ndarray]]) -> None:
        """Keep facts and arrays, in place of what was saved before, if it is time again."""
        began = time.monotonic()
        if began < self._next:
            return
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
            "saved": str(number),
            "facts": facts,
            "arrays": listed,
        }
        write_whole(self._current, [json.dumps(content).encode()])
        # 3. Nobody needs the others.
        for path in self.folder.iterdir():
            if path.is_dir() and path != saved:
                shutil.rmtree(path, ignore_errors=True)
        ended = time.monotonic()
        self._next = ended + (ended - began) / SHARE

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
