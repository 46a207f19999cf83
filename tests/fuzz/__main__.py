"""Run the fuzz programme: ``python -m fuzz --minutes 10``, in the folder ``tests``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count

from fuzz import counts, regressions
from fuzz.checking import BROKEN, REFUSED, try_case
from fuzz.invariants import ENDS
from fuzz.workers import Job, Report, tried
from fuzz.writing import as_code

EVERY = 30.0
"""Seconds between two lines of progress."""

MOST_SHOWN = 3
"""Broken cases of one law that are printed as code; the others are counted."""


def main() -> int:
    """Run what the command line says; return 1 where a law was broken."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, help="of the cases; by default the time")
    parser.add_argument("--cases", type=int, help="how many at most")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="write nothing down")
    parser.add_argument("--case", type=int, nargs=2, metavar=("SEED", "NUMBER"), help="only this")
    arguments = parser.parse_args()
    if arguments.case is not None:
        return one_case(*arguments.case)
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    run = Run(seed, arguments.dry)
    try:
        run.go(arguments.minutes, arguments.processes, arguments.cases)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    return run.finish()


def one_case(seed: int, number: int) -> int:
    """Try one case in this process and say what every law said of it."""
    broken = 0
    case = Job(seed, number).build()
    for verdict in try_case(case):
        print(f"{verdict.law}: {verdict.outcome} {verdict.message}")
        if verdict.outcome == BROKEN:
            broken += 1
            print(as_code(case, verdict.law, verdict.message, verdict.code))
    return int(broken > 0)


class Run:
    """One run: what it has counted, and what it has shown."""

    def __init__(self, seed: int, dry: bool) -> None:
        self.seed, self.dry = seed, dry
        self.tally: counts.Tally = defaultdict(Counter)
        self.cases = 0
        self.began = time.monotonic()

    @property
    def violations(self) -> int:
        """How many times any law was broken."""
        return sum(counted["violations"] for counted in self.tally.values())

    def go(self, minutes: float, processes: int, most: int | None) -> None:
        """Try what is kept from before, then new cases until time is over."""
        told = self.began
        for report in tried(self._jobs(minutes, most), processes):
            if report is not None:
                self.take(report)
            if time.monotonic() - told >= EVERY:
                told = time.monotonic()
                print(self._line(), flush=True)

    def take(self, report: Report) -> None:
        """Count a report, and show and keep what broke a law."""
        self.cases += 1
        for verdict in report.verdicts:
            self.tally[verdict.law]["tried"] += 1
            self.tally[verdict.law]["refused"] += verdict.outcome == REFUSED
            self.tally[verdict.law]["violations"] += verdict.outcome == BROKEN
        self.tally[ENDS]["tried"] += 1
        broken = [
            (case, verdict.law, verdict.message, verdict.code) for case, verdict in report.broken
        ]
        if report.stuck is not None:
            self.tally[ENDS]["violations"] += 1
            broken = [(report.job.build(), ENDS, report.stuck, "")]
        for case, law, message, code in broken:
            if self.tally[law]["violations"] <= MOST_SHOWN:
                where = f"# python -m fuzz --case {report.job.seed} {report.job.number}"
                print(f"\n{where}\n{as_code(case, law, message, code)}\n", flush=True)
            if not self.dry:
                regressions.keep(law, case, message)

    def finish(self) -> int:
        """Print the table, write it down, and return what the process exits with."""
        minutes = (time.monotonic() - self.began) / 60
        print(f"{self._line()}\n{counts.plain(self.tally)}", flush=True)
        if not self.dry and self.cases:
            counts.add(self.tally, self.cases, minutes)
        return int(self.violations > 0)

    def _jobs(self, minutes: float, most: int | None) -> Iterator[Job]:
        """Yield all cases that are kept, and new ones while there is time."""
        for entry in regressions.read():
            yield Job(entry["seed"], entry["number"], entry["case"])
        for number in count() if most is None else range(most):
            if time.monotonic() - self.began >= 60 * minutes:
                break
            yield Job(self.seed, number)

    def _line(self) -> str:
        seconds = time.monotonic() - self.began
        refused = sum(counted["refused"] for counted in self.tally.values())
        tries = sum(counted["tried"] for counted in self.tally.values())
        return (
            f"{seconds:6.0f} s, seed {self.seed}: {self.cases:,} cases, {tries:,} laws tried, "
            f"{refused:,} refused, {self.violations:,} violations"
        )


if __name__ == "__main__":
    sys.exit(main())
