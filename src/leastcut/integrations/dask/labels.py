"""Labels as arrays of Dask: those of a fit, which lie on the workers, and those of new samples."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from leastcut.anchors.nearest import NearestAnchors
from leastcut.anchors.table import Table
from leastcut.integrations.dask.inputs import Place, Samples, read
from leastcut.integrations.dask.scheduling import Scheduler, key_of
from leastcut.integrations.dask.workers import Piece

LABEL = np.dtype(np.int32)
"""The type of labels."""


class Rule(NamedTuple):
    """What assigns samples to clusters: their nearest anchors, and the clusters' table."""

    nearest: NearestAnchors
    table: Table

    def labels_of(self, points: np.ndarray) -> np.ndarray:
        """Return the clusters of samples, as int32."""
        return self.table.place(self.nearest.block(points))


def kept_labels(kept: Sequence[Piece], chunks: tuple[int, ...]) -> Any:
    """Return labels that are kept beside blocks as an array.

    Parameters
    ----------
    kept : sequence of Piece
        Those of the chunks that are not empty.
    chunks : tuple of int
        The sizes of all chunks.

    Returns
    -------
    dask.array.Array of shape (n_samples,)
    """
    from dask.array import Array
    from dask.highlevelgraph import HighLevelGraph

    name, parts = key_of("leastcut-labels"), iter(kept)
    tasks = {
        (name, number): _own(next(parts)) if size else (_none,)
        for number, size in enumerate(chunks)
    }
    sources = list({piece.task.key: piece.task for piece in kept}.values())
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=sources)
    return Array(graph, name, chunks=(chunks,), dtype=LABEL)


def new_labels(samples: Samples, rule: Rule, scheduler: Scheduler) -> Any:
    """Return the clusters of samples as an array that is computed when it is asked for."""
    array = samples.array
    shared = scheduler.given("leastcut-predict-rule", rule)
    where = Place(None, array.shape[1], samples.dtype)
    return array.map_blocks(
        _predict,
        where,
        shared,
        dtype=LABEL,
        meta=np.empty(0, LABEL),
        drop_axis=1,
        chunks=(array.chunks[0],),
        name=key_of("leastcut-predict"),
    )


def _predict(chunk: Any, where: Place, shared: tuple[Rule]) -> np.ndarray:
    if len(chunk) == 0:
        return _none()
    return shared[0].labels_of(read(chunk, where))


def _own(piece: Piece) -> tuple[Any, ...]:
    return itemgetter(piece.place), piece.task.key


def _none() -> np.ndarray:
    return np.empty(0, LABEL)
