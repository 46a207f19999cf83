"""Processes that try cases, each watched: one that does not come back is ended and replaced."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from fuzz.cases import Case, case_of
from fuzz.checking import BROKEN, Verdict, shrunk, try_case
from fuzz.writing import from_json

PATIENCE = 60.0
"""Seconds of work that the calls of one law may take before they count as never ending."""

STANDSTILL = 600.0
"""Seconds by the clock after which they do so in any case."""

TICK = 1.0
"""Seconds between two looks at the clock."""


@dataclass(frozen=True)
class Job:
    """A case to try: two integers, or the case itself as JSON."""

    seed: int
    number: int
    case: dict[str, Any] | None = None

    def build(self) -> Case:
        """Return the case."""
        if self.case is not None:
            return from_json(self.case)
        return case_of(self.seed, self.number)


@dataclass(frozen=True, eq=False)
class Report:
    """What came of a job: verdicts, and the broken ones with the smallest case that shows them."""

    job: Job
    verdicts: list[Verdict]
    broken: list[tuple[Case, Verdict]]
    stuck: str | None = None


def work(pipe: Connection) -> None:
    """Try the cases that come through a pipe, telling which law is next and what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seen: dict[str, int] = {}
    began = [time.process_time()]
    threading.Thread(target=_watch, args=(began,), daemon=True).start()

    def tell(name: str) -> None:
        began[0] = time.process_time()
        pipe.send(name)

    while (job := pipe.recv()) is not None:
        case = job.build()
        verdicts = try_case(case, tell)
        broken = []
        for verdict in verdicts:
            if verdict.outcome == BROKEN:
                seen[verdict.law] = seen.get(verdict.law, 0) + 1
                tell("shrinking")
                # The first few of a law are made small; the others are only counted.
                few = seen[verdict.law] <= 4
                broken.append(shrunk(case, verdict) if few else (case, verdict))
        pipe.send(Report(job, verdicts, broken))


def _watch(began: list[float]) -> None:
    """End this process when it has worked on one law for too long."""
    while time.process_time() - began[0] < PATIENCE:
        time.sleep(TICK)
    os._exit(1)


class Worker:
    """A process, the job it is at, and since when it has been at which law."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        # Threads of BLAS would only stand in each other's way.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.job: Job | None = None
        self.law, self.since = "start", time.monotonic()

    def give(self, job: Job) -> None:
        """Hand over the next job."""
        self.job, self.since = job, time.monotonic()
        self.pipe.send(job)

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def tried(jobs: Iterator[Job], processes: int) -> Iterator[Report | None]:
    """Yield what comes of jobs until there are none, and None now and then."""
    workers = [Worker() for _ in range(processes)]
    try:
        for worker in workers:
            _next(worker, jobs)
        while any(worker.job is not None for worker in workers):
            busy = {worker.pipe: worker for worker in workers if worker.job is not None}
            for pipe in wait(list(busy), timeout=TICK):
                worker = busy[pipe]  # type: ignore[index]
                try:
                    told = worker.pipe.recv()
                except EOFError:
                    told = None
                if isinstance(told, str):
                    worker.law, worker.since = told, time.monotonic()
                    continue
                if told is None:
                    assert worker.job is not None
                    told = Report(
                        worker.job, [], [], f"ended by itself or by its watch at law {worker.law!r}"
                    )
                    workers[workers.index(worker)] = worker = _replaced(worker)
                yield told
                _next(worker, jobs)
            for place, worker in enumerate(workers):
                if worker.job is not None and time.monotonic() - worker.since > STANDSTILL:
                    yield Report(worker.job, [], [], f"{STANDSTILL:.0f} s at law {worker.law!r}")
                    workers[place] = _replaced(worker)
                    _next(workers[place], jobs)
            yield None
    finally:
        for worker in workers:
            worker.end()


def _replaced(worker: Worker) -> Worker:
    worker.end()
    return Worker()


def _next(worker: Worker, jobs: Iterator[Job]) -> None:
    """Give a worker its next job, if there is one."""
    worker.job = None
    job = next(jobs, None)
    if job is not None:
        worker.give(job)
