"""The state of a search, kept in a folder: a killed search resumes after its last round.

A state belongs to one graph, number of clusters, effort and seed, so that the same call returns
the same labels whatever else was computed in the folder. It is one file, replaced in one step.
A checkpoint is optional: a file that is damaged, or that cannot be written, gives a warning, and
the search computes what it needs. Writing what a round found may take longer than the round, so
that not every round is saved.
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

from leastcut.anchors.run_folder import read_into, remove_unfinished, sum_of, write_atomically
from leastcut.validation import warn_caller

SHARE = 0.1  # fraction of the time that may go into saving
MARK = b"lcstate1"
HEADER = struct.Struct("<8sII")
"""First bytes of a file: its mark, the length of the JSON text, the check sum of all that follows.
Labels of all points come after the text, once for each name in it."""

MOST_ARRAYS = 2  # labels of a state: the best so far, and those that are worked on

State = tuple[dict[str, Any], dict[str, list[np.ndarray]]]
"""Facts, and by name the labels of every block."""


class FolderCheckpoint:
    """A checkpoint of a search in the folder of its anchor graph.

    ``name`` is a file name for all settings that determine the labels, ``graph`` a check sum of the
    graph, and labels are below ``n_clusters``.
    """

    def __init__(
        self, folder: Path, name: str, graph: int, sizes: tuple[int, ...], n_clusters: int
    ) -> None:
        self.path = folder / "searches" / f"{name}.search"
        self._graph, self._sizes, self._n_clusters = graph, sizes, n_clusters
        self._next = 0.0

    def load(self) -> State | None:
        """Return what was saved last; None if nothing was, or if the file is damaged."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                return self._read(file)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            warn_caller(f"{self.path} cannot be used: {error}. The search begins anew.")
            return None

    def save(self, facts: dict[str, Any], arrays: dict[str, list[np.ndarray]]) -> None:
        """Replace what was saved before, unless that was a short time ago."""
        began = time.monotonic()
        if began < self._next:
            return
        content = {"graph": self._graph, "facts": facts, "arrays": list(arrays)}
        text = json.dumps(content).encode()
        labels = [
            np.ascontiguousarray(part, dtype="<i4") for parts in arrays.values() for part in parts
        ]
        header = HEADER.pack(MARK, len(text), _sum(text, labels))
        try:
            self.path.parent.mkdir(exist_ok=True)
            remove_unfinished(self.path.parent, self.path.name)
            write_atomically(self.path, [header, text, *(part.data for part in labels)])
        except OSError as error:
            warn_caller(
                f"The search cannot be saved and goes on without: {error}. If it is killed, it "
                "begins anew."
            )
            self._next = np.inf
            return
        ended = time.monotonic()
        self._next = ended + (ended - began) / SHARE

    def _read(self, file: Any) -> State | None:
        """Return what an open file holds, None if it belongs to another graph."""
        begin = file.read(HEADER.size)
        if len(begin) < HEADER.size or begin[: len(MARK)] != MARK:
            raise ValueError("it does not begin as the file of a search")
        _, length, checked = HEADER.unpack(begin)
        ends = np.cumsum(self._sizes)
        n_arrays, rest = divmod(
            os.fstat(file.fileno()).st_size - HEADER.size - length, 4 * ends[-1]
        )
        if rest or not 0 <= n_arrays <= MOST_ARRAYS:
            raise ValueError("its length is not that of a search")
        text = file.read(length)
        labels = [np.empty(ends[-1], dtype="<i4") for _ in range(n_arrays)]
        if not all(read_into(file, part) for part in labels) or _sum(text, labels) != checked:
            raise ValueError("its check sum is wrong")
        content = json.loads(text)
        if content["graph"] != self._graph:
            return None
        # Kernels write to tables at the places that labels name.
        if any(part.min() < 0 or part.max() >= self._n_clusters for part in labels):
            raise ValueError("it has labels of other clusters")
        named = zip(content["arrays"], labels, strict=True)
        return content["facts"], {name: np.split(part, ends[:-1]) for name, part in named}


def _sum(text: bytes, labels: Sequence[np.ndarray]) -> int:
    return sum_of([np.frombuffer(text, dtype=np.uint8), *labels])
