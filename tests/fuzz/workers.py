"""Worker processes that check cases; a worker that exceeds its time limit is replaced."""

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
from fuzz.checking import VIOLATED, Verdict, check_case, shrunk
from fuzz.writing import from_json

CPU_LIMIT = 60.0
"""Seconds of CPU time that the calls of one invariant may take."""

CLOCK_LIMIT = 600.0
"""Seconds of wall-clock time that they may take."""

TICK = 1.0
"""Seconds between two checks of the time limits."""


@dataclass(frozen=True)
class Job:
    """A case to check: two integers, or the case as JSON."""

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
    """The verdicts of a job, and its violations with shrunk cases."""

    job: Job
    verdicts: list[Verdict]
    violations: list[tuple[Case, Verdict]]
    stuck: str | None = None


def work(pipe: Connection) -> None:
    """Check the cases received from a pipe; send the names of invariants and the reports."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seen: dict[str, int] = {}
    began = [time.process_time()]
    threading.Thread(target=_watch, args=(began,), daemon=True).start()

    def send(name: str) -> None:
        began[0] = time.process_time()
        pipe.send(name)

    while (job := pipe.recv()) is not None:
        case = job.build()
        verdicts = check_case(case, send)
        violations = []
        for verdict in verdicts:
            if verdict.outcome == VIOLATED:
                seen[verdict.invariant] = seen.get(verdict.invariant, 0) + 1
                send("shrinking")
                # Shrink only the first few violations of an invariant.
                few = seen[verdict.invariant] <= 4
                violations.append(shrunk(case, verdict) if few else (case, verdict))
        pipe.send(Report(job, verdicts, violations))


def _watch(began: list[float]) -> None:
    """Exit this process if one invariant exceeds the CPU time limit."""
    while time.process_time() - began[0] < CPU_LIMIT:
        time.sleep(TICK)
    os._exit(1)


class Worker:
    """A process with its current job, its current invariant and when that began."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # avoid oversubscription by BLAS threads
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.job: Job | None = None
        self.invariant, self.since = "start", time.monotonic()

    def send(self, job: Job) -> None:
        """Send the next job."""
        self.job, self.since = job, time.monotonic()
        self.pipe.send(job)

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_jobs(jobs: Iterator[Job], processes: int) -> Iterator[Report | None]:
    """Yield the reports of all jobs, and None regularly while waiting."""
    workers = [Worker() for _ in range(processes)]
    try:
        for worker in workers:
            _next(worker, jobs)
        while any(worker.job is not None for worker in workers):
            busy = {worker.pipe: worker for worker in workers if worker.job is not None}
            for pipe in wait(list(busy), timeout=TICK):
                worker = busy[pipe]  # type: ignore[index]
                try:
                    message = worker.pipe.recv()
                except EOFError:
                    message = None
                if isinstance(message, str):
                    worker.invariant, worker.since = message, time.monotonic()
                    continue
                if message is None:
                    assert worker.job is not None
                    stuck = f"crashed or exceeded {CPU_LIMIT:.0f} s in {worker.invariant!r}"
                    message = Report(worker.job, [], [], stuck)
                    workers[workers.index(worker)] = worker = _replaced(worker)
                yield message
                _next(worker, jobs)
            for place, worker in enumerate(workers):
                if worker.job is not None and time.monotonic() - worker.since > CLOCK_LIMIT:
                    stuck = f"exceeded {CLOCK_LIMIT:.0f} s in {worker.invariant!r}"
                    yield Report(worker.job, [], [], stuck)
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
    """Send a worker its next job, if there is one."""
    worker.job = None
    job = next(jobs, None)
    if job is not None:
        worker.send(job)
