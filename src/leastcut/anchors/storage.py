"""Blocks of ties in files, which are read when their turn comes.

They are read as files and not mapped, so that what was read does not stay in memory. A tie takes 8
bytes, in the file and in memory.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from leastcut.anchors.blocks import Block
from leastcut.anchors.files import ANEW, damaged, read_into, sum_of, write_whole

TIE_BYTES = 8
"""Bytes of a tie: an anchor in 32 bits, a weight in 32."""

HEADER = struct.Struct("<8sQIII")
"""What a file of a block begins with: its mark, points, neighbours, the check sum of its
samples, and that of the ties."""

MARK = b"lcblock1"
"""The first bytes of a file of a block."""


class BlocksInFolder:
    """Blocks that lie in files, one each.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    sizes : tuple of int
        The points of every block.
    n_neighbors : int
        The ties of every point.
    n_anchors : int
        The anchors that points may be tied to.
    n_kept : int, default=0
        Blocks that stay in memory besides, the first ones: all are read in every round, and what
        was read last is the last to be read again.
    is_lasting : bool, default=True
        Whether a search may leave there how far it is.

    Attributes
    ----------
    sizes : tuple of int
        The points of every block.
    folder : Path or None
        Where a search may leave how far it is.
    """

    def __init__(
        self,
        folder: Path,
        sizes: tuple[int, ...],
        n_neighbors: int,
        n_anchors: int,
        n_kept: int = 0,
        is_lasting: bool = True,
    ) -> None:
        self.folder = folder if is_lasting else None
        self.sizes, self._n_neighbors, self._n_kept = sizes, n_neighbors, n_kept
        self._n_anchors, self._folder = n_anchors, folder
        self._kept: dict[int, Block] = {}
        self._checked: set[int] = set()

    def path(self, number: int) -> Path:
        """Return the file of a block."""
        return path_of_block(self._folder, number)

    def has(self, number: int) -> bool:
        """Whether a block was written."""
        return self.path(number).exists()

    def save(self, number: int, block: Block, samples: int) -> None:
        """Write a block, with the check sum of its samples."""
        arrays = _stored(block)
        n_points, n_neighbors = block.anchors.shape
        header = HEADER.pack(MARK, n_points, n_neighbors, samples, sum_of(arrays))
        write_whole(self.path(number), [header, *(array.data for array in arrays)])
        self._keep(number, Block(*arrays))

    def load(self, number: int) -> Block:
        """Return a block; what is read for the first time is checked to be what was written."""
        kept = self._kept.get(number)
        return self._keep(number, self._read(number)) if kept is None else kept

    def sum_of_samples(self, number: int) -> int:
        """Return the check sum of the samples that a block was computed from."""
        path = self.path(number)
        with open(path, "rb", buffering=0) as file:
            return self._header(path, file)[0]

    def _keep(self, number: int, block: Block) -> Block:
        if number < self._n_kept:
            self._kept[number] = block
        return block

    def _read(self, number: int) -> Block:
        path = self.path(number)
        shape = self.sizes[number], self._n_neighbors
        with open(path, "rb", buffering=0) as file:
            _, (n_points, n_neighbors), checked = self._header(path, file)
            if (n_points, n_neighbors) != shape:
                raise damaged(
                    path, f"it is of shape ({n_points}, {n_neighbors}) and not {shape}", ANEW
                )
            arrays = np.empty(shape, dtype="<i4"), np.empty(shape, dtype="<f4")
            if not all(read_into(file, array) for array in arrays) or file.read(1):
                raise damaged(path, "its length is not that of a block", ANEW)
        if number not in self._checked:
            if sum_of(arrays) != checked:
                raise damaged(path, "its check sum is wrong", ANEW)
            # Kernels write to tables at the places that anchors name.
            if arrays[0].size and not 0 <= arrays[0].min() <= arrays[0].max() < self._n_anchors:
                raise damaged(path, f"it names other anchors than the {self._n_anchors}", ANEW)
        self._checked.add(number)
        return Block(*arrays)

    def _header(self, path: Path, file: Any) -> tuple[int, tuple[int, int], int]:
        """Return the sum of samples, the shape and the sum of ties that a file begins with."""
        begin = file.read(HEADER.size)
        if len(begin) < HEADER.size or begin[: len(MARK)] != MARK:
            raise damaged(path, "it does not begin as the file of a block", ANEW)
        _, n_points, n_neighbors, samples, checked = HEADER.unpack(begin)
        return samples, (n_points, n_neighbors), checked


def path_of_block(folder: Path, number: int) -> Path:
    """Return the file of a block in the folder of a run."""
    return folder / "blocks" / f"{number:07d}.block"


def _stored(block: Block) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.ascontiguousarray(block.anchors, dtype="<i4"),
        np.ascontiguousarray(block.weights, dtype="<f4"),
    )
