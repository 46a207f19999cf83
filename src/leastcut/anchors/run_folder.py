"""The folder of a run: its settings, its anchors, and all finished blocks.

Repeating the call resumes an interrupted run: files are written atomically, with checksums that
detect damage. The file ``run.json`` has the settings and properties of the data; a call with other
settings raises an error that names the difference.
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

FORMAT = "leastcut anchor graph, version 2"  # identifies the format of a folder
CHECKSUM = "check sum"  # key in JSON files
UNFINISHED = ".unfinished"  # suffix of files while they are written
REMEDY = "Delete it and call anchor_graph again with this folder, which computes it again."
LONGEST_SHOWN = 60  # maximum length of a value in an error message

WEIGHT_BYTES = 8  # of an anchor and its weight, in files and in memory
MARK = b"lcblock1"
HEADER = struct.Struct("<8sQIII")
"""First bytes of the file of a block: its mark, the number of points, the number of neighbors, the
checksum of its samples, and the checksum of its anchors and weights."""


# -- files


def write_atomically(path: Path, parts: Iterable[Any]) -> None:
    """Write bytes-like parts to a file atomically: readers see the old file or the new one."""
    unfinished = path.with_name(f"{path.name}-{os.getpid()}-{threading.get_ident()}{UNFINISHED}")
    try:
        with open(unfinished, "wb") as file:
            for part in parts:
                file.write(part)
        os.replace(unfinished, path)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # the error of a full disk has no file name
        raise


def remove_unfinished(folder: Path, name: str = "") -> None:
    """Remove the partially written files of an interrupted run, optionally of one name."""
    for path in folder.glob(f"{glob.escape(name)}*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def read_into(file: Any, array: np.ndarray) -> bool:
    """Fill a C-ordered array from an open file; return whether there was enough data."""
    left = memoryview(array.reshape(-1).view(np.uint8).data)
    while left.nbytes:
        count = file.readinto(left)
        if not count:
            return False
        left = left[count:]
    return True


def checksum(arrays: Iterable[np.ndarray], previous: int = 0) -> int:
    """Return the checksum of the bytes of C-ordered arrays, continued from a previous checksum.

    CRC-32: 1.7 GB/s on one core. It detects any change of a single value in single precision, and
    any other change with probability 1 − 2⁻³².
    """
    crc = previous
    for array in arrays:
        crc = zlib.crc32(array.reshape(-1).view(np.uint8).data, crc)
    return crc


def array_hash(array: np.ndarray) -> str:
    """Return a short hash of the values of an array."""
    values = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return hashlib.sha256(values).hexdigest()[:32]


def json_with_checksum(content: Mapping[str, Any]) -> bytes:
    """Return JSON text with a checksum of its content."""
    return json.dumps({**content, CHECKSUM: _text_checksum(content)}, indent=1).encode()


def pop_valid_checksum(content: dict[str, Any]) -> bool:
    """Remove the checksum of JSON content; return whether it is correct."""
    return bool(content.pop(CHECKSUM, None) == _text_checksum(content))


def _text_checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())


def damaged(path: Path, reason: str, remedy: str = REMEDY) -> ValueError:
    """Return the error for a damaged file."""
    return ValueError(f"{path} is damaged: {reason}. {remedy}")


# -- the folder


class RunFolder:
    """The folder of a run; raises if the path is not a folder or has other files.

    Without a path, it is a temporary folder, which is deleted with the last reference to this
    object or at the end of the process.
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
        """The seed of the existing run, or None."""
        return None if self._facts is None else self._facts["random_state"]

    @property
    def device(self) -> str:
        """The device of the existing run, or "auto"."""
        return "auto" if self._facts is None else self._facts["device"]

    def check(self, facts: Mapping[str, Any]) -> None:
        """Raise if the existing run has other facts."""
        if self._facts is None:
            return
        for name, value in facts.items():
            existing = self._facts.get(name)
            if existing != value:
                raise ValueError(
                    f"folder={str(self.path)!r} has another run: its {name} is {_shown(existing)}, "
                    f"not {_shown(value)}. Pass the same data and settings to resume it, or pass "
                    "another folder."
                )

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Create the folder of this run, or check the existing run."""
        self.check(facts)
        if self._facts is None:
            (self.path / "blocks").mkdir(parents=True, exist_ok=True)
            write_atomically(self._manifest, [json_with_checksum({"format": FORMAT, **facts})])
            self._facts = dict(facts)
        for folder in (self.path, self.path / "blocks"):
            remove_unfinished(folder)

    def load(self, name: str, dtype: Any, *shape: int | None) -> np.ndarray | None:
        """Return a saved array, or None; None in ``shape`` means any length."""
        path = self.path / f"{name}.npy"
        try:
            written = path.read_bytes()
        except FileNotFoundError:
            return None
        content, expected = written[:-4], written[-4:]
        if zlib.crc32(content).to_bytes(4, "little") != expected:
            raise damaged(path, "its checksum is wrong")
        try:
            array: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
        except ValueError as error:
            raise damaged(path, str(error).rstrip(".")) from None
        is_right = len(shape) == array.ndim and all(
            length in (None, actual) for length, actual in zip(shape, array.shape, strict=True)
        )
        if not is_right or array.dtype != dtype:
            raise damaged(path, f"it has shape {array.shape} and dtype {array.dtype}")
        return array

    def save(self, name: str, array: np.ndarray) -> None:
        """Write an array as an .npy file, followed by its checksum."""
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        written = content.getbuffer()
        crc = zlib.crc32(written).to_bytes(4, "little")
        write_atomically(self.path / f"{name}.npy", [written, crc])

    def check_space(self, sizes: tuple[int, ...], n_neighbors: int) -> None:
        """Raise if the disk does not have enough space for the remaining anchor weights."""
        missing = (not path_of_block(self.path, number).exists() for number in range(len(sizes)))
        needed = sum(compress(sizes, missing)) * n_neighbors * WEIGHT_BYTES
        existing = self.path.absolute()
        while not existing.exists():
            existing = existing.parent
        free = shutil.disk_usage(existing).free
        if needed > free:
            raise ValueError(
                f"folder={str(self.path)!r} has {in_units(free)} of free space, but the anchor "
                f"weights need {in_units(needed)}; pass a folder on another disk, or a smaller "
                "n_neighbors."
            )

    def _read(self) -> dict[str, Any] | None:
        """Return the facts of the existing run, or None for a new folder."""
        folder = f"folder={str(self.path)!r}"
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{folder} is a file; pass the path of a folder, which may be new.")
        file = next((above for above in self.path.absolute().parents if above.is_file()), None)
        if file is not None:
            raise ValueError(
                f"{folder} is inside {str(file)!r}, which is a file; pass the path of a folder."
            )
        remedy = "Delete the folder and start again."
        try:
            facts = json.loads(self._manifest.read_bytes())
        except FileNotFoundError:
            if self.path.exists() and any(not _is_leftover(path) for path in self.path.iterdir()):
                raise ValueError(
                    f"{folder} has other files and no run; pass an empty or a new folder."
                ) from None
            return None
        except (ValueError, RecursionError):
            raise damaged(self._manifest, "it is not valid JSON", remedy) from None
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            existing = facts.get("format") if isinstance(facts, dict) else None
            raise ValueError(
                f"{folder} was written in another format, {_shown(existing)} instead of "
                f"{_shown(FORMAT)}; pass another folder, or delete it and start again."
            )
        if not pop_valid_checksum(facts):
            raise damaged(self._manifest, "its checksum is wrong", remedy)
        return facts


def _is_leftover(path: Path) -> bool:
    """Return whether a path remains from a run that was interrupted before it wrote its facts."""
    return path.name == "blocks" or path.name.startswith("run.json-")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


# -- blocks in files


class BlocksInFolder:
    """Blocks in the files of a run, one file each.

    Files are read, not memory-mapped, so that pages do not stay in memory. The first ``n_kept``
    blocks are cached, as all blocks are read in order in every round. Searches save checkpoints in
    ``folder``, which is None if the folder of the run is temporary.
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
        """Write a block, with the checksum of its samples."""
        stored = Block(
            np.ascontiguousarray(block.anchors, dtype="<i4"),
            np.ascontiguousarray(block.weights, dtype="<f4"),
        )
        n_points, n_neighbors = stored.anchors.shape
        header = HEADER.pack(MARK, n_points, n_neighbors, samples, checksum(stored))
        write_atomically(self.path(number), [header, *(array.data for array in stored)])
        self._keep(number, stored)

    def load(self, number: int) -> Block:
        """Return a block; its checksum is verified when it is first read."""
        kept = self._kept.get(number)
        return self._keep(number, self._read(number)) if kept is None else kept

    def checksum_of_samples(self, number: int) -> int:
        """Return the checksum of the samples from which a block was computed."""
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
            _, actual, expected = _header(path, file)
            if actual != shape:
                raise damaged(path, f"it has shape {actual} instead of {shape}")
            block = Block(np.empty(shape, dtype="<i4"), np.empty(shape, dtype="<f4"))
            if not all(read_into(file, array) for array in block) or file.read(1):
                raise damaged(path, "it does not have the length of a block")
        if number not in self._checked:
            if checksum(block) != expected:
                raise damaged(path, "its checksum is wrong")
            # Kernels use anchors as indices without checks.
            anchors = block.anchors
            if anchors.size and not 0 <= anchors.min() <= anchors.max() < self._n_anchors:
                raise damaged(path, f"it has anchors outside of 0 to {self._n_anchors - 1}")
        self._checked.add(number)
        return block


def _header(path: Path, file: Any) -> tuple[int, tuple[int, int], int]:
    """Return the checksum of the samples, the shape of the block, and its checksum."""
    header = file.read(HEADER.size)
    if len(header) < HEADER.size or header[: len(MARK)] != MARK:
        raise damaged(path, "it does not have the header of a block")
    _, n_points, n_neighbors, samples, block = HEADER.unpack(header)
    return samples, (n_points, n_neighbors), block


def path_of_block(folder: Path, number: int) -> Path:
    """Return the file of a block in the folder of a run."""
    return folder / "blocks" / f"{number:07d}.block"
