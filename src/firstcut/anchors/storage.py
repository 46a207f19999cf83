"""Blocks of ties in files, which are read when their turn comes.

They are read as files and not mapped, so that what was read does not stay in memory. A tie takes 8
bytes, in the file and in memory.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from firstcut.anchors.blocks import Block
from firstcut.anchors.files import damaged, read_into, sum_of, write_whole

TIE_BYTES = 8
"""Bytes of a tie: an anchor in 32 bits, a weight in 32."""

HEADER = struct.Struct("<8sQII")
"""What a file of a block begins with: its mark, points, neighbours, and the check sum of both."""

MARK = b"fcblock1"
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
        n_kept: int = 0,
        is_lasting: bool = True,
    ) -> None:
        self.folder = folder if is_lasting else None
        self.sizes, self._n_neighbors, self._n_kept = sizes, n_neighbors, n_kept
        self._blocks = folder / "blocks"
        self._kept: dict[int, Block] = {}
        self._checked: set[int] = set()

    def path(self, number: int) -> Path:
        """Return the file of a block."""
        return self._blocks / f"{number:07d}.block"

    def has(self, number: int) -> bool:
        """Whether a block was written."""
        return self.path(number).exists()

    def save(self, number: int, block: Block) -> None:
        """Write a block."""
        arrays = _stored(block)
        n_points, n_neighbors = block.anchors.shape
        header = HEADER.pack(MARK, n_points, n_neighbors, sum_of(arrays))
        write_whole(self.path(number), [header, *(array.data for array in arrays)])
        self._keep(number, Block(*arrays))

    def load(self, number: int) -> Block:
        """Return a block; what is read for the first time is checked to be what was written."""
        kept = self._kept.get(number)
        return self._keep(number, self._read(number)) if kept is None else kept

    def _keep(self, number: int, block: Block) -> Block:
        if number < self._n_kept:
            self._kept[number] = block
        return block

    def _read(self, number: int) -> Block:
        path = self.path(number)
        shape = self.sizes[number], self._n_neighbors
        remedy = "Remove it and call anchor_graph again with this folder: it is computed anew."
        with open(path, "rb", buffering=0) as file:
            begin = file.read(HEADER.size)
            if len(begin) < HEADER.size or begin[: len(MARK)] != MARK:
                raise damaged(path, "it does not begin as the file of a block", remedy)
            _, n_points, n_neighbors, checked = HEADER.unpack(begin)
            if (n_points, n_neighbors) != shape:
                raise damaged(
                    path, f"it is of shape ({n_points}, {n_neighbors}) and not {shape}", remedy
                )
            arrays = np.empty(shape, dtype="<i4"), np.empty(shape, dtype="<f4")
            if not all(read_into(file, array) for array in arrays) or file.read(1):
                raise damaged(path, "its length is not that of a block", remedy)
        if number not in self._checked and sum_of(arrays) != checked:
            raise damaged(path, "its check sum is wrong", remedy)
        self._checked.add(number)
        return Block(*arrays)


def _stored(block: Block) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.ascontiguousarray(block.anchors, dtype="<i4"),
        np.ascontiguousarray(block.weights, dtype="<f4"),
    )
