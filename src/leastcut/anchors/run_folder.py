"""The folder of a run: what it is a run of, its anchors, and every block that is finished.

A run that was killed is resumed by the same call: every file in its folder is there whole or not at
all, with a check sum that tells whether it was damaged. The folder says in ``run.json`` what was
computed of what; one of another run is refused by name.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
import shutil
import struct
import tempfile
import threading
import weakref
import zlib
from collections.abc import Iterable, Mapping
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from leastcut.anchors.blocks import Block
from leastcut.memory import in_units

FORMAT = "leastcut anchor graph, version 2"  # the format that a folder declares
SEAL = "check sum"  # the key of the check sum of a JSON file
UNFINISHED = ".unfinished"  # ends the names of files while they are written
ANEW = "Remove it and call anchor_graph again with this folder: it is computed anew."
LONGEST_SHOWN = 60  # characters of a value that an error shows

WEIGHT_BYTES = 8  # of an anchor and its weight, in files and in memory
MARK = b"lcblock1"
HEADER = struct.Struct("<8sQIII")
"""What a file of a block begins with: its mark, points, neighbors, the check sum of its samples,
and that of its anchors and weights."""


# -- whole files


def write_atomically(path: Path, parts: Iterable[Any]) -> None:
    """Write bytes-like parts to a file in one step: readers see the file before, or all of it."""
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


def read_into(file: Any, array: np.ndarray) -> bool:
    """Fill an array in C order from an open file; return whether there was enough."""
    left = memoryview(array.reshape(-1).view(np.uint8).data)
    while left.nbytes:
        count = file.readinto(left)
        if not count:
            return False
        left = left[count:]
    return True


def sum_of(arrays: Iterable[np.ndarray], before: int = 0) -> int:
    """Return the check sum of the bytes of arrays in C order, after those of a sum before.

    CRC-32: 1.7 GB/s on one core. A single value in single precision cannot change unseen, and
    any other change is missed once in 2³² times.
    """
    found = before
    for array in arrays:
        found = zlib.crc32(array.reshape(-1).view(np.uint8).data, found)
    return found


def hash_of(array: np.ndarray) -> str:
    """Return a short hash of the numbers of an array."""
    numbers = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return hashlib.sha256(numbers).hexdigest()[:32]


def sealed(content: Mapping[str, Any]) -> bytes:
    """Return JSON text with a check sum of its content."""
    return json.dumps({**content, SEAL: _sum_of_text(content)}, indent=1).encode()


def is_sealed(content: dict[str, Any]) -> bool:
    """Whether JSON content is what was written; its check sum is taken out."""
    return bool(content.pop(SEAL, None) == _sum_of_text(content))


def _sum_of_text(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())


def damaged(path: Path, how: str, remedy: str = ANEW) -> ValueError:
    """Return the error that names a file that does not hold what was written to it."""
    return ValueError(f"{path} is damaged: {how}. {remedy}")


# -- the folder


class RunFolder:
    """A folder, and the run that it belongs to; raise if it is no folder, or holds other files.

    Without a path it is a temporary one, which is removed with the last reference to this object,
    or when Python ends.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.is_lasting = path is not None
        if path is None:
            path = Path(tempfile.mkdtemp(prefix="leastcut-"))
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
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
        """Raise if the folder is that of a run with other facts."""
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
            write_atomically(self._manifest, [sealed({"format": FORMAT, **facts})])
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
            raise damaged(path, "its check sum is wrong")
        try:
            found: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
        except ValueError as error:
            raise damaged(path, str(error).rstrip(".")) from None
        is_right = len(shape) == found.ndim and all(
            length in (None, there) for length, there in zip(shape, found.shape, strict=True)
        )
        if not is_right or found.dtype != dtype:
            raise damaged(path, f"it is of shape {found.shape} and type {found.dtype}")
        return found

    def save(self, name: str, array: np.ndarray) -> None:
        """Write an array as an .npy file, with its check sum behind."""
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        written = content.getbuffer()
        checked = zlib.crc32(written).to_bytes(4, "little")
        write_atomically(self.path / f"{name}.npy", [written, checked])

    def check_space(self, sizes: tuple[int, ...], n_neighbors: int) -> None:
        """Raise if the disk has no room for the anchor weights that are not in the folder yet."""
        missing = (not path_of_block(self.path, number).exists() for number in range(len(sizes)))
        needed = sum(compress(sizes, missing)) * n_neighbors * WEIGHT_BYTES
        there = self.path.absolute()
        while not there.exists():
            there = there.parent
        free = shutil.disk_usage(there).free
        if needed > free:
            raise ValueError(
                f"folder={str(self.path)!r} has {in_units(free)} of space left, and anchor weights "
                f"take {in_units(needed)}; name a folder with more, or pass fewer neighbors."
            )

    def _read(self) -> dict[str, Any] | None:
        """Return the facts in the folder, None if it is new."""
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
            there = found.get("format") if isinstance(found, dict) else None
            raise ValueError(
                f"{where} was written in another form, {_shown(there)} and not {_shown(FORMAT)}; "
                "pass another folder, or remove it and begin anew."
            )
        if not is_sealed(found):
            raise damaged(self._manifest, "its check sum is wrong", remedy)
        return found


def _is_ours(path: Path) -> bool:
    """Whether a path is left of a run that was killed before it wrote its facts."""
    return path.name == "blocks" or path.name.startswith("run.json-")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


# -- blocks in files


class BlocksInFolder:
    """Blocks in the files of a run, one each, which are read when their turn comes.

    They are read and not mapped, so that what was read does not stay in memory. The first
    ``n_kept`` blocks stay there besides: all are read in every round, and what was read last is the
    last to be read again. A search may save its state in ``folder``, which is None if the folder of
    the run is a temporary one.
    """

    def __init__(
        self,
        run: RunFolder,
        sizes: tuple[int, ...],
        n_neighbors: int,
        n_anchors: int,
        n_kept: int,
    ) -> None:
        self.folder = run.path if run.is_lasting else None
        self.sizes, self._n_neighbors, self._n_kept = sizes, n_neighbors, n_kept
        self._n_anchors, self._run = n_anchors, run
        self._kept: dict[int, Block] = {}
        self._checked: set[int] = set()

    def path(self, number: int) -> Path:
        """Return the file of a block."""
        return path_of_block(self._run.path, number)

    def save(self, number: int, block: Block, samples: int) -> None:
        """Write a block, with the check sum of its samples."""
        stored = Block(
            np.ascontiguousarray(block.anchors, dtype="<i4"),
            np.ascontiguousarray(block.weights, dtype="<f4"),
        )
        n_points, n_neighbors = stored.anchors.shape
        header = HEADER.pack(MARK, n_points, n_neighbors, samples, sum_of(stored))
        write_atomically(self.path(number), [header, *(array.data for array in stored)])
        self._keep(number, stored)

    def load(self, number: int) -> Block:
        """Return a block; what is read for the first time is checked to be what was written."""
        kept = self._kept.get(number)
        return self._keep(number, self._read(number)) if kept is None else kept

    def sum_of_samples(self, number: int) -> int:
        """Return the check sum of the samples that a block was computed from."""
        path = self.path(number)
        with open(path, "rb", buffering=0) as file:
            return _header(path, file)[0]

    def _keep(self, number: int, block: Block) -> Block:
        if number < self._n_kept:
            self._kept[number] = block
        return block

    def _read(self, number: int) -> Block:
        path = self.path(number)
        shape = self.sizes[number], self._n_neighbors
        with open(path, "rb", buffering=0) as file:
            _, there, checked = _header(path, file)
            if there != shape:
                raise damaged(path, f"it is of shape {there} and not {shape}")
            block = Block(np.empty(shape, dtype="<i4"), np.empty(shape, dtype="<f4"))
            if not all(read_into(file, array) for array in block) or file.read(1):
                raise damaged(path, "its length is not that of a block")
        if number not in self._checked:
            if sum_of(block) != checked:
                raise damaged(path, "its check sum is wrong")
            # Kernels write to tables at the places that anchors name.
            anchors = block.anchors
            if anchors.size and not 0 <= anchors.min() <= anchors.max() < self._n_anchors:
                raise damaged(path, f"it names other anchors than the {self._n_anchors}")
        self._checked.add(number)
        return block


def _header(path: Path, file: Any) -> tuple[int, tuple[int, int], int]:
    """Return the check sum of samples, the shape and the check sum of the block."""
    begin = file.read(HEADER.size)
    if len(begin) < HEADER.size or begin[: len(MARK)] != MARK:
        raise damaged(path, "it does not begin as the file of a block")
    _, n_points, n_neighbors, samples, checked = HEADER.unpack(begin)
    return samples, (n_points, n_neighbors), checked


def path_of_block(folder: Path, number: int) -> Path:
    """Return the file of a block in the folder of a run."""
    return folder / "blocks" / f"{number:07d}.block"
