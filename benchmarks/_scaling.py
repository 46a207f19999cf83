"""A model of the time an anchor graph takes on many workers, from constants measured on few.

A fit is a list of passes. In a pass each block of points is processed once by the worker that holds
it: the search for nearest anchors, then the start, tables and sweeps of the search. The serial rest
is choosing anchors and cutting graphs of their size. With n points in B tasks (one block each, or
several small ones) on W workers with one core

    seconds = once + Σ over passes (n · seconds per point / W + seconds per pass + B · per task)

The seconds per point are those of one thread without Dask. The other constants are the overhead of
the scheduler, the driver and their messages, which does not depend on the size of a block.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from time import perf_counter
from typing import Any, NamedTuple

NEAREST = "leastcut-nearest"
"""The pass that finds the nearest anchors of points."""


class Tally:
    """The work of workers: seconds and blocks of each pass by name, and seconds of serial steps.

    Parameters
    ----------
    weighs : bool, default=False
        Whether the bytes of the results of blocks are counted, which takes time itself.
    """

    def __init__(self, weighs: bool = False) -> None:
        self.weighs = weighs
        self.seconds: dict[str, float] = {}
        self.n_points: dict[str, int] = {}
        self.sent_bytes: dict[str, int] = {}
        self.once: dict[str, float] = {}

    def add(self, name: str, seconds: float, n_points: int, record: Any = None) -> None:
        """Count one pass over blocks."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.n_points[name] = self.n_points.get(name, 0) + n_points
        if self.weighs:
            self.sent_bytes[name] = self.sent_bytes.get(name, 0) + len(pickle.dumps(record))

    def add_once(self, name: str, seconds: float) -> None:
        """Count a serial step."""
        self.once[name] = self.once.get(name, 0.0) + seconds

    @contextmanager
    def of(self, kind: type) -> Iterator[None]:
        """Count the calls of a class of workers."""
        originals = {name: getattr(kind, name) for name in ("run", "total", "once")}
        inside = []  # a total may call runs, which are not counted again

        def count(
            method: str, workers: Any, name: str, task: Any, *rest: Any, **options: Any
        ) -> Any:
            begin = perf_counter()
            inside.append(method)
            result = originals[method](workers, name, task, *rest, **options)
            inside.pop()
            seconds = perf_counter() - begin
            if method == "once":
                self.add_once(name, seconds)
            elif not inside:
                # Several tasks may share one name.
                record = result if method == "total" else result[1]
                self.add(f"{name}: {task.__name__}", seconds, sum(workers.sizes), record)
            return result

        for method in originals:
            setattr(kind, method, partialmethod(_swapped, count, method))
        try:
            yield
        finally:
            for method, original in originals.items():
                setattr(kind, method, original)


def _swapped(workers: Any, count: Any, method: str, *arguments: Any, **options: Any) -> Any:
    return count(method, workers, *arguments, **options)


class Pass(NamedTuple):
    """A kind of pass: the number of passes in a fit, and their cost."""

    passes: float
    seconds_per_point: float
    seconds_per_pass: float = 0.0
    seconds_per_task: float = 0.0


class Small(NamedTuple):
    """A run of a cluster with one worker on few points in a number of tasks."""

    tally: Tally
    n_tasks: int


def passes_of(
    alone: Tally, n: int, few: Small, many: Small, small_n: int, n_chunks: int
) -> dict[str, Pass]:
    """Return the passes of a fit, estimated from one thread and from one worker.

    Parameters
    ----------
    alone : Tally
        One thread on n points.
    n : int
    few, many : Small
        Two runs of one worker dominated by overhead, with few and with many tasks.
    small_n, n_chunks : int
        The points and the chunks of these runs.
    """
    passes = {}
    for name, seconds in alone.seconds.items():
        per_point = seconds / alone.n_points[name]
        passes[name] = Pass(alone.n_points[name] / n, per_point)
        if name in few.tally.seconds and name in many.tally.seconds:
            # Overhead of a pass in seconds, with few and with many tasks.
            short, long = (
                run.tally.seconds[name] * small_n / run.tally.n_points[name] - per_point * small_n
                for run in (few, many)
            )
            if name == NEAREST:  # one task for every chunk in both
                per_task = 0.5 * (short + long) / n_chunks
                passes[name] = passes[name]._replace(seconds_per_task=per_task)
                continue
            per_task = (long - short) / (many.n_tasks - few.n_tasks)
            passes[name] = passes[name]._replace(
                seconds_per_pass=short - few.n_tasks * per_task, seconds_per_task=per_task
            )
    return passes


def forecast(
    passes: dict[str, Pass], once: float, n: int, n_tasks: int, n_workers: int
) -> dict[str, float]:
    """Return the seconds of a fit predicted by the model, in total and by kind."""
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
