"""From chunks of samples to blocks of an anchor graph, which are made and stay on the workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.anchors.blocks import Block
from leastcut.anchors.choose import choose_anchors, sampled_rows
from leastcut.anchors.nearest import NearestAnchors
from leastcut.integrations.dask.inputs import Place, Samples, read
from leastcut.integrations.dask.scheduling import Scheduler
from leastcut.integrations.dask.workers import DaskWorkers
from leastcut.threads import available_cores


def chosen_anchors(samples: Samples, n_anchors: int, seed: int, scheduler: Scheduler) -> np.ndarray:
    """Return anchors: workers send a sample to one of them, and that one chooses.

    Parameters
    ----------
    samples : Samples
    n_anchors : int
        At most so many.
    seed : int
    scheduler : Scheduler

    Returns
    -------
    ndarray of shape (p, n_features)
    """
    rows = sampled_rows(samples.sizes, n_anchors, seed)
    parts = [
        scheduler.task("leastcut-sample", _rows_of, chunk.task, chunk.place, some)
        for chunk, some in zip(samples.chunks, rows, strict=True)
        if some.size
    ]
    task = scheduler.task("leastcut-anchors", _choose, parts, n_anchors, seed)
    (anchors,) = scheduler.fetch(scheduler.keep([task]))
    return np.asarray(anchors)


def connected_workers(
    samples: Samples, nearest: NearestAnchors, scheduler: Scheduler
) -> DaskWorkers:
    """Return the workers with their blocks: all samples with their nearest anchors."""
    shared = scheduler.given("leastcut-nearest-anchors", nearest)
    blocks = [
        scheduler.task("leastcut-nearest", _tie, chunk.task, chunk.place, shared)
        for chunk in samples.chunks
    ]
    return DaskWorkers(scheduler, scheduler.keep(blocks), samples.sizes)


def _rows_of(chunk: Any, place: Place, rows: np.ndarray) -> np.ndarray:
    # A copy: a view would keep the whole chunk.
    return np.asarray(read(chunk, place)[rows])


def _choose(parts: list[np.ndarray], n_anchors: int, seed: int) -> np.ndarray:
    # All others wait for it, so that it may use all cores.
    return choose_anchors(np.concatenate(parts), n_anchors, seed, available_cores())


def _tie(chunk: Any, place: Place, shared: tuple[NearestAnchors]) -> Block:
    return shared[0].block(read(chunk, place))
