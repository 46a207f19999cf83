"""A model of how long an anchor graph takes on many workers, from constants measured on few.

A fit is a list of passes. In a pass every block of points is worked on once, by whoever holds it:
ties to the nearest anchors, then the start, tables and sweeps of the search. Around them is what
one does for all: choosing anchors, and cutting graphs of their size. With n points in B blocks on W
workers of one core

    seconds = once + Σ over passes (n · seconds per point / W + B · seconds per block)

where the seconds per point are those of one thread of one process, without any Dask, and the
seconds per block are what a scheduler, a driver and their messages add, whatever a block holds.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

NEAREST = "firstcut-nearest"
"""The pass that ties points to their nearest anchors."""

MASSES = "firstcut-masses"
"""The pass that adds up what anchors have."""


class Tally:
    """What a crew did: seconds and blocks of every pass by name, and seconds of what it did once.

    Parameters
    ----------
    weighs : bool, default=False
        Whether the bytes of what blocks tell are counted, which takes time of its own.
    """

    def __init__(self, weighs: bool = False) -> None:
        self.weighs = weighs
        self.seconds: dict[str, float] = {}
        self.n_blocks: dict[str, int] = {}
        self.told_bytes: dict[str, int] = {}
        self.once: dict[str, float] = {}

    def add(self, name: str, seconds: float, n_blocks: int, told: Any = None) -> None:
        """Count a pass over some blocks."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.n_blocks[name] = self.n_blocks.get(name, 0) + n_blocks
        if self.weighs:
            weight = sum(len(pickle.dumps(part)) for part in told or ())
            self.told_bytes[name] = self.told_bytes.get(name, 0) + weight

    def add_once(self, name: str, seconds: float) -> None:
        """Count what one does for all."""
        self.once[name] = self.once.get(name, 0.0) + seconds

    @contextmanager
    def of(self, kind: type) -> Iterator[None]:
        """Count what crews of a kind do."""
        run, once = kind.run, kind.once  # type: ignore[attr-defined]

        def counted(
            crew: Any, name: str, task: Any, kept: Any, *shared: Any, which: Any = None
        ) -> Any:
            begin = perf_counter()
            found = run(crew, name, task, kept, *shared, which=which)
            n_blocks = len(crew.sizes) if which is None else len(which)
            # One name may stand for several tasks.
            self.add(f"{name}: {task.__name__}", perf_counter() - begin, n_blocks, found[1])
            return found

        def counted_once(crew: Any, name: str, function: Any, *arguments: Any) -> Any:
            begin = perf_counter()
            found = once(crew, name, function, *arguments)
            self.add_once(name, perf_counter() - begin)
            return found

        kind.run, kind.once = counted, counted_once  # type: ignore[attr-defined]
        try:
            yield
        finally:
            kind.run, kind.once = run, once  # type: ignore[attr-defined]


class Pass(NamedTuple):
    """A kind of pass: how often it is made, and what it costs."""

    passes: float
    seconds_per_point: float
    seconds_per_block: float


def passes_of(
    alone: Tally, n: int, n_blocks: int, small: Tally, small_n: int, small_blocks: int
) -> dict[str, Pass]:
    """Return the passes of a fit, from two runs.

    Parameters
    ----------
    alone : Tally
        Of one thread on n points in ``n_blocks`` blocks.
    n, n_blocks : int
    small : Tally
        Of a cluster of one worker on few points in many blocks, where blocks are what takes time.
    small_n, small_blocks : int
    """
    per_point = {
        name: seconds * n_blocks / (alone.n_blocks[name] * n)
        for name, seconds in alone.seconds.items()
    }
    found = {}
    for name, seconds in per_point.items():
        per_block = 0.0
        if name in small.seconds:
            # A cluster ties points while it is asked for their masses.
            own = seconds + (per_point[NEAREST] if name.startswith(MASSES) else 0.0)
            rounds = small.n_blocks[name] / small_blocks
            per_block = max(0.0, small.seconds[name] / rounds - own * small_n) / small_blocks
        found[name] = Pass(alone.n_blocks[name] / n_blocks, seconds, per_block)
    return found


def forecast(
    passes: dict[str, Pass], once: float, n: int, n_blocks: int, n_workers: int
) -> dict[str, float]:
    """Return the seconds of a fit by the model, in all and by what they go to."""
    points = sum(kind.passes * kind.seconds_per_point for kind in passes.values()) * n / n_workers
    blocks = sum(kind.passes * kind.seconds_per_block for kind in passes.values()) * n_blocks
    nearest = passes[NEAREST].seconds_per_point * n / n_workers
    return {
        "seconds": round(once + points + blocks, 2),
        "nearest_anchors": round(nearest, 2),
        "other_passes": round(points - nearest, 2),
        "blocks": round(blocks, 2),
        "once": round(once, 2),
    }
