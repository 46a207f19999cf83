"""The folder of a run: what it is a run of, its anchors, and every block that is finished.

A run that was killed is taken up again where it was: what is in its folder was written whole. A
folder says in ``run.json`` what was computed of what; one of another run is refused by name.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Mapping
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from leastcut.anchors.files import (
    ANEW,
    damaged,
    is_sealed,
    remove_unfinished,
    sealed,
    write_whole,
)
from leastcut.anchors.storage import TIE_BYTES, path_of_block
from leastcut.memory import in_units

FORMAT = "leastcut anchor graph, version 2"
"""What the folders of this form say of themselves."""

LONGEST_SHOWN = 60
"""Characters of a value that an error shows."""


class RunFolder:
    """A folder, and the run that it belongs to.

    Parameters
    ----------
    path : Path
        An empty folder, one that is not there yet, or that of a run.

    Raises
    ------
    ValueError
        If it is no folder, or holds anything else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._manifest = path / "run.json"
        self._facts = self._read()

    @property
    def seed(self) -> int | None:
        """The seed of the run that is there, None if none is."""
        return None if self._facts is None else self._facts["random_state"]

    @property
    def device(self) -> str:
        """The device of the run that is there, "auto" if none is."""
        return "auto" if self._facts is None else self._facts["device"]

    def check(self, facts: Mapping[str, Any]) -> None:
        """Raise where the folder is that of another run; what it does not know yet, passes."""
        if self._facts is None:
            return
        for name, value in facts.items():
            there = self._facts.get(name)
            if there != value:
                raise ValueError(
                    f"folder={str(self.path)!r} holds another run: its {name} is {_shown(there)} "
                    f"and not {_shown(value)}. Pass the same data and settings to go on with it, "
                    "or another folder."
                )

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Make the folder that of this run, or check that it is."""
        self.check(facts)
        if self._facts is None:
            (self.path / "blocks").mkdir(parents=True, exist_ok=True)
            write_whole(self._manifest, [sealed({"format": FORMAT, **facts})])
            self._facts = dict(facts)
        for folder in (self.path, self.path / "blocks"):
            remove_unfinished(folder)

    def load(self, name: str, dtype: Any, *shape: int | None) -> np.ndarray | None:
        """Return an array that was saved, None if it was not; None in a shape is any number."""
        path = self.path / f"{name}.npy"
        try:
            written = path.read_bytes()
        except FileNotFoundError:
            return None
        content, checked = written[:-4], written[-4:]
        if zlib.crc32(content).to_bytes(4, "little") != checked:
            raise damaged(path, "its check sum is wrong", ANEW)
        try:
            found: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
        except ValueError as error:
            raise damaged(path, str(error).rstrip("."), ANEW) from None
        is_right = len(shape) == found.ndim and all(
            length in (None, there) for length, there in zip(shape, found.shape, strict=True)
        )
        if not is_right or found.dtype != dtype:
            raise damaged(path, f"it is of shape {found.shape} and type {found.dtype}", ANEW)
        return found

    def save(self, name: str, array: np.ndarray) -> None:
        """Write an array as an .npy file, with its check sum behind."""
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        written = content.getbuffer()
        checked = zlib.crc32(written).to_bytes(4, "little")
        write_whole(self.path / f"{name}.npy", [written, checked])

    def _read(self) -> dict[str, Any] | None:
        """Return what the folder says of itself, None if it is new."""
        where = f"folder={str(self.path)!r}"
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{where} is a file; name a folder, which is made if need be.")
        inside = next((above for above in self.path.absolute().parents if above.is_file()), None)
        if inside is not None:
            raise ValueError(
                f"{where} lies inside {str(inside)!r}, which is a file; name a folder."
            )
        remedy = "Remove the folder and begin anew."
        try:
            found = json.loads(self._manifest.read_bytes())
        except FileNotFoundError:
            if self.path.exists() and any(not _is_ours(path) for path in self.path.iterdir()):
                raise ValueError(
                    f"{where} holds other files and no run; pass an empty folder, or one that is "
                    "not there yet."
                ) from None
            return None
        except (ValueError, RecursionError):
            raise damaged(self._manifest, "it is no JSON", remedy) from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            told = found.get("format") if isinstance(found, dict) else None
            raise ValueError(
                f"{where} was written in another form, {_shown(told)} and not {_shown(FORMAT)}; "
                "pass another folder, or remove it and begin anew."
            )
        if not is_sealed(found):
            raise damaged(self._manifest, "its check sum is wrong", remedy)
        return found


def hash_of(parts: Iterable[np.ndarray]) -> str:
    """Return a short hash of the numbers of arrays."""
    found = hashlib.sha256()
    for part in parts:
        found.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return found.hexdigest()[:32]


def _is_ours(path: Path) -> bool:
    """Whether a run that was killed before it wrote what it is has left a path."""
    return path.name == "blocks" or path.name.startswith("run.json-")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def check_space(path: Path, sizes: tuple[int, ...], n_neighbors: int) -> None:
    """Raise where a folder has no room for the ties that are not in it yet."""
    missing = (not path_of_block(path, number).exists() for number in range(len(sizes)))
    points = sum(compress(sizes, missing))
    needed = points * n_neighbors * TIE_BYTES
    there = path.absolute()
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise ValueError(
            f"folder={str(path)!r} has {in_units(free)} of space left, and ties take "
            f"{in_units(needed)}; name a folder with more, or pass fewer neighbors."
        )


class TemporaryFolder:
    """A folder that is removed with what it belongs to, or when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="leastcut-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def belongs_to(self, owner: object) -> None:
        """Let it be removed with another object, and not with this one."""
        weakref.finalize(owner, shutil.rmtree, self.path, ignore_errors=True)
        self._finalizer.detach()
