"""A model of how long an anchor graph takes on many workers, from constants measured on few.

A fit is a list of passes. In a pass every block of points is worked on once, by whoever holds it:
the search for nearest anchors, then the start, tables and sweeps of the search. Around them is what
one does for all: choosing anchors, and cutting graphs of their size. With n points in B tasks (of
one block each, or of several small ones) on W workers of one core

    seconds = once + Σ over passes (n · seconds per point / W + seconds per pass + B · per task)

where the seconds per point are those of one thread of one process, without any Dask, and the others
are what a scheduler, a driver and their messages add, whatever a block holds.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from time import perf_counter
from typing import Any, NamedTuple

NEAREST = "leastcut-nearest"
"""The pass that searches the nearest anchors of points."""


class Tally:
    """What workers did: seconds and blocks of every pass by name, and seconds of what one did once.

    Parameters
    ----------
    weighs : bool, default=False
        Whether the bytes of what blocks tell are counted, which takes time of its own.
    """

    def __init__(self, weighs: bool = False) -> None:
        self.weighs = weighs
        self.seconds: dict[str, float] = {}
        self.n_points: dict[str, int] = {}
        self.told_bytes: dict[str, int] = {}
        self.once: dict[str, float] = {}

    def add(self, name: str, seconds: float, n_points: int, told: Any = None) -> None:
        """Count a pass over some blocks."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.n_points[name] = self.n_points.get(name, 0) + n_points
        if self.weighs:
            self.told_bytes[name] = self.told_bytes.get(name, 0) + len(pickle.dumps(told))

    def add_once(self, name: str, seconds: float) -> None:
        """Count what one does for all."""
        self.once[name] = self.once.get(name, 0.0) + seconds

    @contextmanager
    def of(self, kind: type) -> Iterator[None]:
        """Count what workers of a kind do."""
        whole = {name: getattr(kind, name) for name in ("run", "total", "once")}
        inside = []  # a total may be made of runs, which are not counted again

        def count(
            method: str, workers: Any, name: str, task: Any, *rest: Any, **options: Any
        ) -> Any:
            begin = perf_counter()
            inside.append(method)
            found = whole[method](workers, name, task, *rest, **options)
            inside.pop()
            seconds = perf_counter() - begin
            if method == "once":
                self.add_once(name, seconds)
            elif not inside:
                # One name may stand for several tasks.
                told = found if method == "total" else found[1]
                self.add(f"{name}: {task.__name__}", seconds, sum(workers.sizes), told)
            return found

        for method in whole:
            setattr(kind, method, partialmethod(_swapped, count, method))
        try:
            yield
        finally:
            for method, own in whole.items():
                setattr(kind, method, own)


def _swapped(workers: Any, count: Any, method: str, *arguments: Any, **options: Any) -> Any:
    return count(method, workers, *arguments, **options)


class Pass(NamedTuple):
    """A kind of pass: how often it is made in a fit, and what it costs."""

    passes: float
    seconds_per_point: float
    seconds_per_pass: float = 0.0
    seconds_per_task: float = 0.0


class Small(NamedTuple):
    """What a cluster of one worker did on few points in some number of tasks."""

    tally: Tally
    n_tasks: int


def passes_of(
    alone: Tally, n: int, few: Small, many: Small, small_n: int, n_chunks: int
) -> dict[str, Pass]:
    """Return the passes of a fit, from one thread on many points and one worker on few.

    Parameters
    ----------
    alone : Tally
        Of one thread on n points.
    n : int
    few, many : Small
        Two runs of a worker, where it is tasks that take the time: in few of them and in many.
    small_n, n_chunks : int
        The points of either, and the chunks they lie in.
    """
    found = {}
    for name, seconds in alone.seconds.items():
        per_point = seconds / alone.n_points[name]
        found[name] = Pass(alone.n_points[name] / n, per_point)
        if name in few.tally.seconds and name in many.tally.seconds:
            # Seconds of a pass beyond those of its points, in few tasks and in many.
            short, long = (
                run.tally.seconds[name] * small_n / run.tally.n_points[name] - per_point * small_n
                for run in (few, many)
            )
            if name == NEAREST:  # one task for every chunk in both
                per_task = 0.5 * (short + long) / n_chunks
                found[name] = found[name]._replace(seconds_per_task=per_task)
                continue
            per_task = (long - short) / (many.n_tasks - few.n_tasks)
            found[name] = found[name]._replace(
                seconds_per_pass=short - few.n_tasks * per_task, seconds_per_task=per_task
            )
    return found


def forecast(
    passes: dict[str, Pass], once: float, n: int, n_tasks: int, n_workers: int
) -> dict[str, float]:
    """Return the seconds of a fit by the model, in all and by what they go to."""
    points = sum(kind.passes * kind.seconds_per_point for kind in passes.values()) * n / n_workers
    scheduling = sum(
        kind.passes * (kind.seconds_per_pass + n_tasks * kind.seconds_per_task)
        for kind in passes.values()
    )
    nearest = passes[NEAREST].seconds_per_point * n / n_workers
    return {
        "seconds": round(once + points + scheduling, 2),
        "nearest_anchors": round(nearest, 2),
        "other_passes": round(points - nearest, 2),
        "scheduling": round(scheduling, 2),
        "once": round(once, 2),
    }
