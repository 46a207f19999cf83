"""Checkpoints of a search in a folder: an interrupted search resumes after its last saved round.

A checkpoint belongs to one graph, number of clusters, effort and seed, so that a call returns the
same labels regardless of other computations in the folder. It is a single file that is replaced
atomically. If the file is damaged or cannot be written, the search warns and continues without it.
Writing may take longer than a round, so not every round is saved.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leastcut.anchors.run_folder import checksum, read_into, remove_unfinished, write_atomically
from leastcut.validation import warn_caller

SAVING_FRACTION = 0.1  # maximum fraction of the time for saving
MARK = b"lcstate1"
HEADER = struct.Struct("<8sII")
"""First bytes of a file: its mark, the length of the JSON text, the checksum of the rest. The text
is followed by the labels of all points, one array for each name in the text."""

MOST_ARRAYS = 2  # label arrays of a state: the best so far, and the current ones

State = tuple[dict[str, Any], dict[str, list[np.ndarray]]]
"""Facts about a search, and named labels of every block."""


class FolderCheckpoint:
    """A checkpoint of a search in the folder of its anchor graph.

    ``name`` is a file name that identifies the settings, and ``graph`` a checksum of the graph.
    Labels are less than ``n_clusters``.
    """

    def __init__(
        self, folder: Path, name: str, graph: int, sizes: tuple[int, ...], n_clusters: int
    ) -> None:
        self.path = folder / "searches" / f"{name}.search"
        self._graph, self._sizes, self._n_clusters = graph, sizes, n_clusters
        self._next = 0.0

    def load(self) -> State | None:
        """Return the last saved state, or None if there is none or the file is damaged."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                return self._read(file)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            warn_caller(
                f"{self.path} cannot be used: {error}. The search starts from the beginning."
            )
            return None

    def save(self, facts: dict[str, Any], arrays: dict[str, list[np.ndarray]]) -> None:
        """Replace the saved state, unless it is recent."""
        began = time.monotonic()
        if began < self._next:
            return
        content = {"graph": self._graph, "facts": facts, "arrays": list(arrays)}
        text = json.dumps(content).encode()
        labels = [
            np.ascontiguousarray(part, dtype="<i4") for parts in arrays.values() for part in parts
        ]
        header = HEADER.pack(MARK, len(text), _checksum(text, labels))
        try:
            self.path.parent.mkdir(exist_ok=True)
            remove_unfinished(self.path.parent, self.path.name)
            write_atomically(self.path, [header, text, *(part.data for part in labels)])
        except OSError as error:
            warn_caller(
                f"The search continues but cannot be saved: {error}. If it is interrupted, it "
                "starts from the beginning."
            )
            self._next = np.inf
            return
        ended = time.monotonic()
        self._next = ended + (ended - began) / SAVING_FRACTION

    def _read(self, file: Any) -> State | None:
        """Return the state in an open file, or None if it belongs to another graph."""
        header = file.read(HEADER.size)
        if len(header) < HEADER.size or header[: len(MARK)] != MARK:
            raise ValueError("it does not have the header of a search")
        _, length, expected = HEADER.unpack(header)
        ends = np.cumsum(self._sizes)
        n_arrays, rest = divmod(
            os.fstat(file.fileno()).st_size - HEADER.size - length, 4 * ends[-1]
        )
        if rest or not 0 <= n_arrays <= MOST_ARRAYS:
            raise ValueError("it does not have the length of a search")
        text = file.read(length)
        labels = [np.empty(ends[-1], dtype="<i4") for _ in range(n_arrays)]
        if not all(read_into(file, part) for part in labels) or _checksum(text, labels) != expected:
            raise ValueError("its checksum is wrong")
        content = json.loads(text)
        if content["graph"] != self._graph:
            return None
        # Kernels use labels as indices without checks.
        if any(part.min() < 0 or part.max() >= self._n_clusters for part in labels):
            raise ValueError("it has labels of other clusters")
        named = zip(content["arrays"], labels, strict=True)
        return content["facts"], {name: np.split(part, ends[:-1]) for name, part in named}


def _checksum(text: bytes, labels: Sequence[np.ndarray]) -> int:
    return checksum([np.frombuffer(text, dtype=np.uint8), *labels])
